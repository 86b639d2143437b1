"""What routes ask for: the memory of whoever asks, if the role allows. The one place where a route names its role."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import AfterValidator, BaseModel, TypeAdapter
from starlette.responses import Response

from keeps.access.rates import TooManyError
from keeps.access.roles import require
from keeps.engine import Keeps
from keeps.scope import Scope
from keeps.scoped import ScopedMemory
from keeps.server.edge import SLASH
from keeps.services import Services
from keeps_client.errors import ForbiddenError
from keeps_client.models import Page, RoleName
from keeps_client.models.common import MAX_LIMIT


class Caller:
    """Who asks, and what they may use: services for what concerns the tenant, `memory` for what concerns the user."""

    __slots__ = ("keeps", "scope")

    def __init__(self, keeps: Keeps, scope: Scope) -> None:
        self.keeps = keeps
        self.scope = scope

    @property
    def services(self) -> Services:
        return self.keeps.services

    @property
    def memory(self) -> ScopedMemory:
        return self.keeps.memory(self.scope)


async def _admit(request: Request, role: RoleName, kind: str) -> tuple[Keeps, Scope]:
    scope: Scope = request.scope["keeps.scope"]
    require(scope.roles, role)
    if scope.agent_bound and role in ("admin", "operator"):
        raise ForbiddenError("an agent's token cannot administer, whatever its roles")
    state = request.app.state
    if state.rates is not None:
        try:
            allowance = await state.rates.take(scope, "read" if request.method == "GET" else kind)
        except TooManyError as error:
            request.scope["keeps.allowance"] = error.allowance
            raise
        request.scope["keeps.allowance"] = allowance
    return state.keeps, scope


def _needing(role: RoleName) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def admit(request: Request) -> Caller:
        return Caller(*await _admit(request, role, "write"))

    return admit


async def reading(request: Request) -> ScopedMemory:
    keeps, scope = await _admit(request, "reader", "read")
    return keeps.memory(scope)


async def writing(request: Request) -> ScopedMemory:
    keeps, scope = await _admit(request, "writer", "write")
    return keeps.memory(scope)


administering = _needing("admin")
operating = _needing("operator")
ROLES: dict[object, RoleName] = {reading: "reader", writing: "writer", administering: "admin", operating: "operator"}
"""Which dependency admits which role; a test compares the routes with the table in docs/access.md."""

Reader = Annotated[ScopedMemory, Depends(reading)]
Writer = Annotated[ScopedMemory, Depends(writing)]
Admin = Annotated[Caller, Depends(administering)]
Operator = Annotated[Caller, Depends(operating)]


def _segment(value: str) -> str:
    return value.replace(SLASH, "/")


Segment = Annotated[str, Path(min_length=1, max_length=255), AfterValidator(_segment)]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str | None, Query(max_length=2_000)]


def answer(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A model that is known to be right, written once."""
    return Response(model.__pydantic_serializer__.to_json(model), status, headers, "application/json")


def versioned(model: BaseModel, version: int, status: int = 200) -> Response:
    """The same with its version as an ETag, for If-Match."""
    return answer(model, status, {"ETag": f'"{version}"'})


def answers(adapter: TypeAdapter[Any], found: list[Any]) -> Response:
    return Response(adapter.dump_json(found), media_type="application/json")


def paged(adapter: TypeAdapter[Any], page: Page[Any]) -> Response:
    """The items of a page; the next page's cursor goes into a header."""
    headers = {"X-Next-Cursor": page.next_cursor} if page.next_cursor else None
    return Response(adapter.dump_json(page.items), headers=headers, media_type="application/json")
