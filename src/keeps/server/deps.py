"""Who may call: the one place where a role is asked for, and a request is counted."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from keeps.access.rates import TooManyError
from keeps.access.roles import require
from keeps.engine import Keeps
from keeps.scope import Scope
from keeps_client.errors import ForbiddenError
from keeps_client.models import RoleName


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the engine that answers."""

    keeps: Keeps
    scope: Scope


def _needing(role: RoleName) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def admit(request: Request) -> Caller:
        scope: Scope = request.scope["keeps.scope"]
        require(scope.roles, role)
        if scope.agent_bound and role in ("admin", "operator"):
            raise ForbiddenError("an agent's token cannot administer, whatever its roles")
        state = request.app.state
        if state.rates is not None:
            kind = "read" if request.method == "GET" or role == "reader" else "write"
            try:
                allowance = await state.rates.take(scope, kind)
            except TooManyError as error:
                request.scope["keeps.allowance"] = error.allowance
                raise
            request.scope["keeps.allowance"] = allowance
        return Caller(state.keeps, scope)

    return admit


ADMITTING: dict[RoleName, Callable[[Request], Coroutine[Any, Any, Caller]]] = {
    role: _needing(role) for role in ("reader", "writer", "admin", "operator")
}
"""What admits a role."""
