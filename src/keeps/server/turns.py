"""Places for concurrent requests, first by user and then by tenant, so that neither blocks the others."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from keeps.scope import Scope
from keeps.turns import FairSlots
from keeps_client.errors import UnavailableError

TURN_SECONDS = 20.0
USER_ALONE, USER_ALONE_REMOTE = 8, 64
"""Concurrent requests of one user while no other user waits; the second when models are remote."""


class Turns:
    """Places for requests.

    A user first takes one of their own places; otherwise a hundred requests of one user would come before those of
    everybody else in the tenant.
    """

    def __init__(self, tenants: FairSlots, *, user_alone: int, user_beside: int) -> None:
        self._tenants = tenants
        self._users = FairSlots(sys.maxsize, alone=user_alone, beside=user_beside)

    @asynccontextmanager
    async def taken(self, scope: Scope) -> AsyncGenerator[bool]:
        """Hold a place during the block; yield whether the request had to wait. Raises UnavailableError."""
        user = f"{scope.tenant_id}\0{scope.user_id}"
        waited = await _take(self._users, user)
        try:
            waited |= await _take(self._tenants, scope.tenant_id)
            try:
                yield waited
            finally:
                self._tenants.leave(scope.tenant_id)
        finally:
            self._users.leave(user)


async def _take(slots: FairSlots, name: str) -> bool:
    try:
        return await slots.take(name, TURN_SECONDS)
    except TimeoutError:
        raise UnavailableError("too many requests of this tenant are on their way; send it again later") from None
