"""Run an operation in the space that its caller or its body names."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from keeps.base.scope import Scope, in_space
from keeps.base.space_bodies import ITEMS, private
from keeps.memory.spaces.service import SpaceService
from keeps.part import EndpointHandler, Handler
from keeps.store.access.limits import check_grant
from keeps_client.errors import ValidationFailedError
from keeps_client.models.spaces import ShareTarget


def in_spaces(spaces: SpaceService, served: EndpointHandler) -> Handler:
    """Return the handler of an operation, which first checks the limits of a caller and the membership in a space.

    Row security hides the rows of a space from others; the check says so instead of returning nothing.
    """
    endpoint, handler = served.endpoint, served.handler

    async def handle(scope: Scope, params: Any, body: Any) -> Any:
        if isinstance(body, BaseModel) and not isinstance(body, ShareTarget):
            scope, body = _entered(scope, body)
        check_grant(scope, endpoint, body)
        if scope.space_id is None or scope.acting_user is None:
            return await handler(scope, params, body)
        if endpoint.tag == "administration":
            raise ValidationFailedError("administration is outside spaces: leave out X-Space-ID, or for_space()")
        if endpoint.tag != "spaces":
            await spaces.check(scope, writes=endpoint.role != "reader")
        return await handler(scope, params, private(body) if isinstance(body, BaseModel) else body)

    return handle


def _entered(scope: Scope, body: BaseModel) -> tuple[Scope, BaseModel]:
    """Return the scope of the space that a body names, and the body without it."""
    items: list[BaseModel] = getattr(body, ITEMS, None) or []
    named = {getattr(each, "space", None) for each in (items or [body])}
    if named == {None}:
        return scope, body
    if len(named) > 1:
        raise ValidationFailedError("space: all items of a batch go into one space, or none")
    if scope.space_id is not None and named != {scope.space_id}:
        raise ValidationFailedError("space: the call already works in another space")
    space_id = str(named.pop())
    if items:
        body = body.model_copy(update={ITEMS: type(getattr(body, ITEMS))(_without(each) for each in items)})
    return (scope if scope.space_id else in_space(scope, space_id)), body if items else _without(body)


def _without(body: BaseModel) -> BaseModel:
    outside = body.model_copy(update={"space": None})
    outside.model_fields_set.discard("space")
    return outside
