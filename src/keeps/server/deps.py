"""Admission of callers: the only place that checks a role and counts a request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from keeps.access.rates import TooManyError
from keeps.engine import Keeps
from keeps.scope import Scope
from keeps.server.served import admitted
from keeps_client.models import RoleName


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller's scope, and the engine that answers."""

    keeps: Keeps
    scope: Scope


def _needing(role: RoleName) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def admit(request: Request) -> Caller:
        scope: Scope = request.scope["keeps.scope"]
        state = request.app.state
        try:
            reads = request.method == "GET" or role == "reader"
            request.scope["keeps.allowance"] = await admitted(state.rates, scope, role, reads=reads)
        except TooManyError as error:
            request.scope["keeps.allowance"] = error.allowance
            raise
        return Caller(state.keeps, scope)

    return admit


ADMITTING: dict[RoleName, Callable[[Request], Coroutine[Any, Any, Caller]]] = {
    role: _needing(role) for role in ("reader", "writer", "admin", "operator")
}
"""The dependency that admits each role."""
