"""Frozen tenants of one engine: freeze unused ones, thaw those that are called, answer for them in between."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from keeps.base.clock import Clock
from keeps.base.scope import Scope, check_id
from keeps.base.settings import Settings
from keeps.base.telemetry.logs import log
from keeps.memory.lifecycle.service import Lifecycle
from keeps.operate.freezing.directory import Entry, FrozenDirectory
from keeps.operate.freezing.freezing import FREEZER, Freeze, Freezer
from keeps.operate.freezing.freezing import Told as FreezeTold
from keeps.operate.freezing.store import QUERIES
from keeps.operate.freezing.stores import BundleStore, store_of
from keeps.operate.freezing.thawing import Thawer
from keeps.operate.freezing.thawing import Told as ThawTold
from keeps.operate.freezing.use import UseNotes
from keeps.sources.databases.sealing import KeyRing
from keeps.store.db.frozen import WAKE_SECONDS, FrozenError, FrozenTenant
from keeps.store.db.session import Database
from keeps_client.errors import ConflictError, KeepsError, NotFoundError

THAWS_AT_ONCE = 2
"""Thaws at once in a process, so that jobs still have a connection for long work."""
FAILED_SECONDS = 5.0
"""Seconds after a failed thaw during which calls do not try it again."""
ROUND_SECONDS = 3_600.0
"""Seconds between two looks of the worker for unused tenants."""
ROUND_TENANTS = 1_000
AGAIN = "put the key back, or erase the tenant"
WAIT = "this tenant was not used for a long time, and its data is being brought back; try again in a few seconds"
FAILED = "this tenant is frozen, and its data cannot be brought back now; the log of the server has the reason"


class FreezeService:
    """Freezes and thaws tenants; see `keeps.store.db.frozen.FrozenTenants`."""

    def __init__(
        self, database: Database, settings: Settings, lifecycle: Callable[[], Lifecycle], clock: Clock
    ) -> None:
        self._database = database
        self._settings = settings
        self._lifecycle = lifecycle
        self._clock = clock
        self._directory = FrozenDirectory(database, KeyRing(settings.secret_keys, AGAIN))
        self._notes = UseNotes(database, clock) if settings.frozen_store else None
        self._thaws: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, tuple[float, KeepsError]] = {}
        self._slots = asyncio.Semaphore(THAWS_AT_ONCE)

    # Thaw.

    async def wake(self, tenant_id: str, cell: str, *, patient: bool) -> None:
        """Thaw a tenant that somebody calls, once for all callers of this process.

        Raises FrozenError when that takes longer than WAKE_SECONDS, or is not possible; the reason is in the log.
        """
        until, _ = self._failed.get(tenant_id, (0.0, None))
        if until > monotonic():
            raise FrozenError(FAILED)
        task = self._thaws.get(tenant_id)
        if task is None:
            # Nothing of the call that happens to be first belongs to the thaw: no request, no trace.
            task = asyncio.create_task(self._wake(tenant_id, cell), context=contextvars.Context())
            self._thaws[tenant_id] = task
            task.add_done_callback(lambda done: self._woken(tenant_id, done))
        try:
            async with asyncio.timeout(None if patient else WAKE_SECONDS):
                await asyncio.shield(task)
        except TimeoutError:
            raise FrozenError(WAIT) from None
        except KeepsError:
            raise FrozenError(FAILED) from None

    async def _wake(self, tenant_id: str, cell: str) -> None:
        async with self._slots:
            await self._thaw(tenant_id, cell, lambda _: None)
        log().info("tenant thawed", tenant_id=tenant_id, cell=cell)

    def _woken(self, tenant_id: str, done: asyncio.Task[None]) -> None:
        self._thaws.pop(tenant_id, None)
        self._failed = {each: entry for each, entry in self._failed.items() if entry[0] > monotonic()}
        if done.cancelled() or (error := done.exception()) is None:
            return
        reason = error.detail if isinstance(error, KeepsError) else type(error).__name__
        log().error("a frozen tenant cannot be thawed", tenant_id=tenant_id, reason=reason)
        if isinstance(error, KeepsError):
            self._failed[tenant_id] = monotonic() + FAILED_SECONDS, error

    async def _thaw(self, tenant_id: str, cell: str, told: ThawTold) -> None:
        thawer = Thawer(self._database, self._directory, self._lifecycle, self._clock, told)
        await thawer.thaw(tenant_id, cell, store_of(self._settings))

    async def thaw(self, tenant_id: str, told: ThawTold = lambda _: None) -> FrozenTenant:
        """Thaw a tenant for an operator.

        Raises NotFoundError if it is not frozen, and UnavailableError with the reason if it cannot be thawed.
        """
        check_id("tenant_id", tenant_id)
        entry = await self._directory.find(tenant_id)
        if entry is None or entry.tenant.state == "freezing":
            raise NotFoundError(f"tenant {tenant_id!r} is not frozen; see `keeps tenants frozen`")
        self._failed.pop(tenant_id, None)
        await self._thaw(tenant_id, entry.tenant.cell, told)
        return entry.tenant

    # Freeze.

    async def freeze(
        self, tenant_id: str, *, unused_since: datetime | None = None, told: FreezeTold = lambda _: None
    ) -> Freeze:
        """Freeze a tenant, or finish a freeze that was interrupted.

        Raises NotFoundError for an unknown tenant, and ConflictError if it is frozen, or was used after `unused_since`.
        """
        check_id("tenant_id", tenant_id)
        store = store_of(self._settings)
        cell = (await self._database.cells.trail(tenant_id))[-1]
        await self.clear(tenant_id)
        entry = await self._directory.entry(tenant_id, cell)
        if entry is not None and entry.tenant.state in ("frozen", "loaded"):
            raise ConflictError(f"tenant {tenant_id} is frozen already")
        freezer = Freezer(self._database, self._directory, self._clock, told)
        try:
            return await freezer.freeze(tenant_id, cell, store, unused_since)
        except KeepsError:
            await self._clear_quietly(tenant_id)
            raise

    async def unused(self, days: float, at_most: int) -> list[tuple[str, datetime]]:
        """Return tenants without a call for so many days, the longest unused first, and when they were used last."""
        before = self._unused_since(days)
        found = await self._database.cells.everywhere(QUERIES["unused"], before, at_most)
        rows = [(row["tenant_id"], row["used_at"]) for rows in found.values() for row in rows]
        return sorted(rows, key=lambda each: each[1])[:at_most]

    async def freeze_unused(self, days: float, at_most: int) -> AsyncGenerator[Freeze | KeepsError]:
        """Freeze tenants without a call for so many days, one after another; yield what was done, or why not."""
        since = self._unused_since(days)
        for tenant_id, _ in await self.unused(days, at_most):
            try:
                yield await self.freeze(tenant_id, unused_since=since)
            except KeepsError as error:
                log().warning("a tenant was not frozen", tenant_id=tenant_id, reason=error.detail)
                yield error

    def _unused_since(self, days: float) -> datetime:
        return self._clock() - timedelta(days=days)

    async def run(self) -> None:
        """Freeze unused tenants now and then, in a worker. Returns at once unless KEEPS_FREEZE_AFTER_DAYS is set."""
        if self._settings.freeze_after_days is None:
            return
        while True:
            try:
                async for _ in self.freeze_unused(self._settings.freeze_after_days, ROUND_TENANTS):
                    pass
            except KeepsError as error:
                log().warning("unused tenants were not frozen", reason=error.detail)
            await asyncio.sleep(ROUND_SECONDS)

    # Entries.

    def used(self, tenant_id: str) -> None:
        """Note that a caller uses a tenant. Only where tenants can be frozen."""
        if self._notes is not None:
            self._notes.note(tenant_id)

    async def flush(self) -> None:
        """Write the notes of used tenants now."""
        if self._notes is not None:
            await self._notes.flush()

    async def find_key(self, key_hash: bytes) -> Mapping[str, Any] | None:
        """Return the columns of the API key of a frozen tenant, or None."""
        return await self._directory.find_key(key_hash)

    async def all(self, *, check: bool = False) -> list[FrozenTenant]:
        """Return all entries. `check`: with the reason for those whose bundle is missing."""
        tenants = await self._directory.all()
        if not check or not tenants:
            return tenants
        store = store_of(self._settings)
        return [await _checked(store, tenant) for tenant in tenants]

    async def page(self, after: str, limit: int) -> list[FrozenTenant]:
        """Return frozen tenants by id."""
        frozen = {
            tenant.tenant_id: tenant
            for tenant in await self._directory.all()
            if tenant.state in ("frozen", "loaded") and tenant.tenant_id is not None and tenant.tenant_id > after
        }
        return [frozen[tenant_id] for tenant_id in sorted(frozen)[:limit]]

    async def find(self, tenant_id: str) -> FrozenTenant | None:
        """Return the entry of a frozen tenant; None if it is not frozen."""
        entry = await self._directory.find(tenant_id)
        return entry.tenant if entry is not None and entry.tenant.state in ("frozen", "loaded") else None

    async def reseal(self) -> int:
        """Seal all entries with the newest of KEEPS_SECRET_KEYS; return how many had another key."""
        return await self._directory.reseal()

    # Removal.

    async def erase(self, tenant: FrozenTenant) -> None:
        """Remove the entry of a frozen tenant, without which its bundle cannot be opened, and the bundle."""
        scope = Scope(str(tenant.tenant_id), FREEZER)
        async with self._database.carrying(scope, tenant.cell) as tx:
            row = await tx.fetch_row(QUERIES["erase"], tenant.bundle)
            if row is None or not row["erased"]:
                raise ConflictError(f"tenant {tenant.tenant_id} is being thawed; try again")
            entry = await self._directory.entry(scope.tenant_id, tenant.cell)
            if entry is not None:  # This statement is outside of the transaction, which has not removed it yet.
                await self._directory.remove(entry, store_of(self._settings))

    async def clear(self, tenant_id: str) -> None:
        """Remove a bundle that an interrupted freeze or thaw has left of a tenant whose rows are here."""
        entry = await self._directory.find(tenant_id)
        if entry is not None and entry.tenant.state in ("freezing", "thawed"):
            await self._clear(entry)

    async def _clear(self, entry: Entry) -> None:
        tenant = entry.tenant
        scope = Scope(str(tenant.tenant_id), FREEZER)
        async with self._database.carrying(scope, tenant.cell) as tx:
            # The lock of a freeze that runs is held until it ends, and this one until the bundle is removed.
            row = await tx.fetch_row(QUERIES["forget"], tenant.bundle)
            if row is None or not row["forgotten"]:
                raise ConflictError(f"another process freezes or thaws tenant {tenant.tenant_id}; try again later")
            await self._directory.remove(entry, store_of(self._settings))

    async def _clear_quietly(self, tenant_id: str) -> None:
        try:
            await self.clear(tenant_id)
        except KeepsError as error:
            log().warning("the bundle of a freeze that failed stays", tenant_id=tenant_id, reason=error.detail)

    async def close(self) -> None:
        """Stop thaws, which the next call continues, and write the last notes."""
        thaws = list(self._thaws.values())
        for task in thaws:
            task.cancel()
        await asyncio.gather(*thaws, return_exceptions=True)
        if self._notes is not None:
            await self._notes.close()


async def _checked(store: BundleStore, tenant: FrozenTenant) -> FrozenTenant:
    if tenant.problem is not None or tenant.state != "frozen":
        return tenant
    try:
        there = await store.has(tenant.bundle)
    except KeepsError as error:
        return replace(tenant, problem=error.detail)
    return tenant if there else replace(tenant, problem=f"the bundle {tenant.bundle} is missing")
