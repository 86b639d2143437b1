"""Slots for concurrent requests, first by user and then by tenant, so that neither blocks the others."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from keeps.base.fairness import FairSlots
from keeps.base.scope import Scope
from keeps_client.errors import UnavailableError

WAIT_SECONDS = 20.0
TOTAL_SLOTS, TENANT_SLOTS = 256, 64
"""Concurrent requests in all, and of one tenant while no other tenant waits.

Each request takes its share of the one processor that runs the event loop, so a tenant that sends a hundred waits only
for its own.
"""
SHARED_SLOTS, SHARED_SLOTS_REMOTE = 2, 16
"""Concurrent requests of one tenant while others wait; the second when models are remote, since requests mostly wait
for those.
"""
USER_SLOTS, USER_SLOTS_REMOTE = 8, 64
"""Concurrent requests of one user while no other user waits; the second when models are remote."""
MORE_WRITES = 8
"""Concurrent writes of one user beyond USER_SLOTS. As many wait for the database, which stores them together, while
the others are read and prepared.
"""


class ConcurrencyLimits:
    """Slots for requests.

    A user first takes one of their own slots; otherwise a hundred requests of one user would come before those of
    everybody else in the tenant.
    """

    def __init__(self, *, remote_models: bool) -> None:
        shared = SHARED_SLOTS_REMOTE if remote_models else SHARED_SLOTS
        self._tenants = tenant_slots(shared)
        alone = USER_SLOTS_REMOTE if remote_models else USER_SLOTS
        self._users = FairSlots(sys.maxsize, alone=alone, beside=shared)

    @asynccontextmanager
    async def slot(self, scope: Scope, *, writes: bool = False) -> AsyncGenerator[bool]:
        """Hold a slot during the block; yield whether the request had to wait. Raises UnavailableError."""
        user = f"{scope.tenant_id}\0{scope.acting}"
        waited = await _take(self._users, user, more=MORE_WRITES if writes else 0)
        try:
            waited |= await _take(self._tenants, scope.tenant_id)
            try:
                yield waited
            finally:
                self._tenants.leave(scope.tenant_id)
        finally:
            self._users.leave(user)


def tenant_slots(shared: int) -> FairSlots:
    return FairSlots(TOTAL_SLOTS, alone=TENANT_SLOTS, beside=shared)


async def _take(slots: FairSlots, name: str, more: int = 0) -> bool:
    try:
        return await slots.take(name, WAIT_SECONDS, more=more)
    except TimeoutError:
        raise UnavailableError("too many requests of this tenant are in progress; try again later") from None
