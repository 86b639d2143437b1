"""Thaw a tenant: the rows of its bundle come back as they were.

1. One transaction inserts all rows, and the database compares them with the digest that it noted when they left.
   Nobody sees them yet: transactions are still answered that the tenant is frozen.
2. What became overdue meanwhile is removed.
3. The tenant is here; then its bundle is removed, then its entry.

After a crash the next call, or the same command, goes on with the step that was not done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.lifecycle.service import Lifecycle
from keeps.operate.freezing import bundles
from keeps.operate.freezing.directory import Entry, FrozenDirectory
from keeps.operate.freezing.freezing import FREEZER
from keeps.operate.freezing.store import QUERIES
from keeps.operate.freezing.stores import BundleStore
from keeps.store.db.session import Database, Tx
from keeps.store.db.transaction import TryAgainError, thawing
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import KeepsError, NotFoundError, UnavailableError

BUSY_SECONDS = 0.1
"""Seconds between two looks at a thaw of another process."""
Step = Literal["fetched", "filling", "filled", "loaded", "swept", "ended", "removed", "thawed"]
STEPS: tuple[Step, ...] = ("fetched", "filling", "filled", "loaded", "swept", "ended", "removed", "thawed")
Told = Callable[[Step], None]


class Thawer:
    """Thaws tenants. `told`: called after each step."""

    def __init__(
        self,
        database: Database,
        directory: FrozenDirectory,
        lifecycle: Callable[[], Lifecycle],
        clock: Clock,
        told: Told = lambda _: None,
    ) -> None:
        self._database = database
        self._directory = directory
        self._lifecycle = lifecycle
        self._clock = clock
        self._told = told

    async def thaw(self, tenant_id: str, cell: str, store: BundleStore) -> None:
        """Thaw a tenant, or wait for another process that does. It may be thawed already.

        Raises UnavailableError, which says why it cannot be; then it stays frozen.
        """
        while (entry := await self._directory.entry(tenant_id, cell)) is not None:
            match entry.tenant.state:
                case "frozen":
                    if await self._is_busy(entry) or not await self._load(entry, store):
                        await asyncio.sleep(BUSY_SECONDS)
                case "loaded":
                    await self._open(tenant_id, cell)
                case "thawed":
                    await self._clear(entry, store)
                    return
                case "freezing":
                    return

    async def _is_busy(self, entry: Entry) -> bool:
        """Return whether another process thaws the tenant now, before its bundle is fetched in vain."""
        async with self._database.carrying(Scope(str(entry.tenant.tenant_id), FREEZER), entry.tenant.cell) as tx:
            locked = await tx.fetch_row(QUERIES["thaw_lock"])
        return locked is None or locked["state"] == "busy"

    async def _load(self, entry: Entry, store: BundleStore) -> bool:
        """Insert the rows of a bundle. Return False if another process does."""
        bundle = entry.tenant.bundle
        tenant_id = str(entry.tenant.tenant_id)
        async with store.getting(bundle) as path:
            self._told("fetched")
            try:
                async with self._database.carrying(Scope(tenant_id, FREEZER), entry.tenant.cell) as tx:
                    locked = await tx.fetch_row(QUERIES["thaw_lock"])
                    if locked is None or locked["state"] != "frozen":
                        return False
                    self._told("filling")
                    await self._fill(tx, entry, path)
                    await tx.execute(QUERIES["loaded"])
                    self._told("filled")
            except TryAgainError:
                return False
            except KeepsError as error:
                raise UnavailableError(
                    f"tenant {tenant_id} stays frozen: its bundle {bundle}, of schema revision"
                    f" {entry.tenant.revision}, cannot be loaded: {error.detail}"
                ) from error
        self._told("loaded")
        return True

    async def _fill(self, tx: Tx, entry: Entry, path: Path) -> None:
        with bundles.reading(path, entry.key, entry.tenant.bundle) as reader:
            bundles.check_revision(reader, HEAD)
            while (part := await asyncio.to_thread(reader.next)) is not None:
                table, batch = part
                columns = reader.columns.get(table, ())
                await tx.fetch_row(QUERIES["load"], table, list(columns), batch)

    async def _open(self, tenant_id: str, cell: str) -> None:
        """Remove what is overdue, then let callers in."""
        with thawing(tenant_id):
            try:
                await self._lifecycle().run(tenant_id, "expiry")
            except NotFoundError:
                pass
        await self._retire(tenant_id, cell)
        self._told("swept")
        async with self._database.carrying(Scope(tenant_id, FREEZER), cell) as tx:
            await tx.fetch_row(QUERIES["thaw_end"], self._clock().date())
        self._told("ended")

    async def _retire(self, tenant_id: str, cell: str) -> None:
        """Remove events that were removed of the other tenants of the cell."""
        async with self._database.carrying(Scope(tenant_id, FREEZER), cell) as tx:
            row = await tx.fetch_row(QUERIES["retirement"])
        if row is not None and row["before"] is not None:
            await (await self._database.cells.get(cell)).privileged_read(QUERIES["retire"], row["before"])

    async def _clear(self, entry: Entry, store: BundleStore) -> None:
        await self._directory.remove(entry, store)
        self._told("removed")
        async with self._database.carrying(Scope(str(entry.tenant.tenant_id), FREEZER), entry.tenant.cell) as tx:
            await tx.fetch_row(QUERIES["forget"], entry.tenant.bundle)
        self._told("thawed")
