"""Run an operation in the space that its caller or its body names."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from keeps.base.scope import Scope, in_space
from keeps.base.space_bodies import ITEMS, private
from keeps.memory.spaces.service import SpaceService
from keeps.part import EndpointHandler, Handler
from keeps.store.access.limits import check_grant
from keeps_client.endpoint import Endpoint
from keeps_client.errors import ValidationFailedError


def in_spaces(spaces: SpaceService, served: EndpointHandler) -> Handler:
    """Return the handler of an operation, which first checks the limits of a caller and the membership in a space.

    Row security hides the rows of a space from others; the check says so instead of returning nothing.
    """
    endpoint, handler = served.endpoint, served.handler

    async def handle(scope: Scope, params: Any, body: Any) -> Any:
        if isinstance(body, BaseModel):
            scope, body = _entered(scope, body)
        check_grant(scope, endpoint, body)
        await check_entry(spaces, scope, endpoint)
        in_space = scope.space_id is not None and scope.acting_user is not None
        return await handler(scope, params, private(body) if in_space and isinstance(body, BaseModel) else body)

    return handle


async def check_entry(spaces: SpaceService, scope: Scope, endpoint: Endpoint[Any, Any, Any]) -> None:
    """Raise NotFoundError or ForbiddenError if a caller may not run an operation in the space of the scope.

    Raises ValidationFailedError for an operation that has no meaning in a space. Outside spaces nothing is checked.
    """
    if scope.space_id is None or scope.acting_user is None:
        return
    if endpoint.path.startswith("/v1/admin/"):
        raise ValidationFailedError("administration is outside spaces: leave out X-Space-ID, or for_space()")
    if endpoint.tag != "spaces":
        await spaces.enter(scope, writes=endpoint.role != "reader")


def _entered(scope: Scope, body: BaseModel) -> tuple[Scope, BaseModel]:
    """Return the scope of the space that a body names, and the body without it."""
    items: list[BaseModel] = getattr(body, ITEMS, None) or []
    spaces = {getattr(item, "space", None) for item in (items or [body])}
    if spaces == {None}:
        return scope, body
    if len(spaces) > 1:
        raise ValidationFailedError("space: all items of a batch go into one space, or none")
    if scope.space_id is not None and spaces != {scope.space_id}:
        raise ValidationFailedError("space: the call already works in another space")
    space_id = str(spaces.pop())
    if items:
        body = body.model_copy(update={ITEMS: type(getattr(body, ITEMS))(_without(item) for item in items)})
    return (scope if scope.space_id else in_space(scope, space_id)), body if items else _without(body)


def _without(body: BaseModel) -> BaseModel:
    outside = body.model_copy(update={"space": None})
    outside.model_fields_set.discard("space")
    return outside
