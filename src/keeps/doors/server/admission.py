"""Admission of callers: the only place that checks a role and counts a request."""

from __future__ import annotations

from starlette.requests import Request

from keeps.base.scope import Scope
from keeps.store.access.rates import Allowance, Rates, TooManyError
from keeps.store.access.roles import require
from keeps_client.models import RoleName


async def admit(rates: Rates | None, scope: Scope, role: RoleName, *, reads: bool) -> Allowance | None:
    """Return the rest of a caller's rate. Raises ForbiddenError for a missing role, and TooManyError."""
    require(scope, role)
    return None if rates is None else await rates.take(scope, "read" if reads else "write")


async def admit_request(request: Request, role: RoleName) -> Scope:
    """Return the caller's scope, and record the rest of their rate for the response."""
    scope: Scope = request.scope["keeps.scope"]
    reads = request.method == "GET" or role == "reader"
    try:
        request.scope["keeps.allowance"] = await admit(request.app.state.rates, scope, role, reads=reads)
    except TooManyError as error:
        request.scope["keeps.allowance"] = error.allowance
        raise
    return scope
