"""Read-only copies of the main cell. Each read sees everything that was committed when it began."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from cachetools import LRUCache, TTLCache

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.store.db.cell import MAIN, Cell
from keeps.store.db.pool import Pool
from keeps.store.db.statements import Statements
from keeps.store.db.transaction import ENTER_STANDBY, Tx, takes_long
from keeps_client.errors import KeepsError

_REACHED = Statements("keeps.store.db")["reached"]
UNKNOWN = [-1]
TENANTS = 200_000
"""Number of tenants whose log position is cached."""
ASKING = 4
"""Connections reserved for asking the leader for a tenant's log position."""
LAG_SECONDS = 1.0
"""Seconds during which a tenant that is ahead of the standbys is read from the leader."""
REACHED_SECONDS = 2.0
"""Seconds to wait for the main cell before a standby answers from what it has."""


class Standbys:
    """Selects a standby for a read. `leader` is the cell that is written to, `copies` are its standbys."""

    def __init__(self, leader: Pool, copies: Sequence[Pool]) -> None:
        self._leader = Cell(MAIN, leader.apart(ASKING))
        self._copies = deque(Cell(MAIN, each) for each in copies)
        self._reached: LRUCache[str, list[int]] = LRUCache(TENANTS)
        self._written: LRUCache[str, None] = LRUCache(TENANTS)
        self._lagging: TTLCache[str, None] = TTLCache(TENANTS, LAG_SECONDS)

    @property
    def cells(self) -> list[Cell]:
        return list(self._copies)

    def wrote(self, tenant_id: str) -> None:
        """Forget the cached log position of a tenant after a write of this process."""
        self._written[tenant_id] = None

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in (self._leader, *self._copies)))

    async def begin(self, scope: Scope) -> Tx | None:
        """Begin a transaction on a standby that has caught up with the tenant; None if there is none."""
        if takes_long() or scope.tenant_id in self._lagging:
            return None
        wanted = await self._wanted(scope.tenant_id)
        if wanted is None:
            return None
        for _ in range(len(self._copies)):
            standby = self._copies[0]
            self._copies.rotate(1)
            if not standby.away and (tx := await self._as_far(standby, scope, wanted)) is not None:
                return tx
        return None

    async def _as_far(self, standby: Cell, scope: Scope, wanted: list[int]) -> Tx | None:
        """Begin a transaction on this standby; return None and skip it for a while if it is behind."""
        for pause in (0.005, 0.02, 0.0):
            try:
                tx = await standby.begin(scope, ENTER_STANDBY)
            except KeepsError as error:
                log().warning("a standby is unreachable", error=error.code)
                break
            if isinstance(tx, str):
                return None  # The tenant is in another cell.
            if tx.reached is None:
                await tx.leave()
                return None  # The tenant is new, or its existence is unknown.
            further = tx.reached[-1] == wanted[-1] and tx.reached[0] > wanted[0]  # The tenant was not erased since.
            if further or tx.reached == wanted or wanted == UNKNOWN:
                return tx
            await tx.leave()
            await asyncio.sleep(pause)
        else:
            self._lagging[scope.tenant_id] = None
            return None
        standby.missed()
        return None

    async def _wanted(self, tenant_id: str) -> list[int] | None:
        """Return the tenant's log position; if the leader does not answer, the last one that this process knows."""
        if not self._leader.away:
            try:
                (row,) = await self._leader.privileged_read(_REACHED, tenant_id, seconds=REACHED_SECONDS)
            except KeepsError:
                self._leader.missed()
            else:
                self._written.pop(tenant_id, None)
                self._reached.pop(tenant_id, None)
                if row["reached"] is not None:
                    self._reached[tenant_id] = row["reached"]
                return row["reached"]
        # What was written here since it was last asked may not be there yet.
        return None if tenant_id in self._written else self._reached.get(tenant_id, UNKNOWN)
