"""Working memory: put, get, append, increment, delete; nothing is lost when two agents write at once."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import TypeAdapter

from keeps.clock import Clock, new_id
from keeps.cursors import read_name, write_name
from keeps.db.session import Database, Tx
from keeps.events import store as events
from keeps.events.store import NewEvent
from keeps.scope import Scope
from keeps.tenants.service import Introducer
from keeps.working import store
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import (
    AtomicAppend,
    AtomicIncrement,
    AtomicResult,
    NewWorkingItem,
    Page,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
)

SWEEP_SECONDS = 60.0
ResultT = TypeVar("ResultT")
ITEM, RESULT, KEYS = TypeAdapter(WorkingItem), TypeAdapter(AtomicResult), TypeAdapter(list[str])


class WorkingService:
    """The key-value state of plans, shared by the agents of a tenant."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock
        self._swept: dict[str, float] = {}

    async def put(self, scope: Scope, plan_id: str, new: NewWorkingItem) -> WorkingItem:
        """Store a value. Raises ConflictError, which carries what is there, when `expected_version` is not."""

        async def work(tx: Tx) -> WorkingItem:
            now = self._clock()
            expires_at = None if new.ttl_seconds is None else now + timedelta(seconds=new.ttl_seconds)
            stored = await store.put(
                tx, plan_id, new.key, new.value, expires_at=expires_at, now=now, expected=new.expected_version
            )
            if stored is None:
                held = await store.get(tx, plan_id, new.key, now)
                raise ConflictError(
                    f"{new.key!r} has version {held.version if held else 0}, not {new.expected_version}",
                    current_version=held.version if held else 0,
                    current=held.value if held else None,
                )
            return stored

        return await self._write(scope, work, ITEM)

    async def find(self, scope: Scope, plan_id: str, key: str) -> WorkingItem | None:
        async with self._database.scoped(scope) as tx:
            return await store.get(tx, plan_id, key, self._clock())

    async def page(self, scope: Scope, plan_id: str, limit: int, cursor: str | None) -> Page[WorkingItem]:
        """The keys of a plan, by key."""
        async with self._database.scoped(scope) as tx:
            items = await store.page(tx, plan_id, self._clock(), read_name(cursor) if cursor else "", limit + 1)
        more = len(items) > limit
        return Page(items=items[:limit], next_cursor=write_name(items[limit - 1].key) if more else None)

    async def append(self, scope: Scope, new: AtomicAppend) -> AtomicResult:
        """Append to a list in one statement. Raises ValidationFailedError where something else is there."""

        async def work(tx: Tx) -> AtomicResult:
            key, path, now = await self._place(tx, new.plan_id, new.path)
            return await store.append(tx, new.plan_id, key, path, new.value, now)

        return await self._write(scope, work, RESULT)

    async def increment(self, scope: Scope, new: AtomicIncrement) -> AtomicResult:
        """Add to a number in one statement. Raises ValidationFailedError where something else is there."""

        async def work(tx: Tx) -> AtomicResult:
            key, path, now = await self._place(tx, new.plan_id, new.path)
            return await store.increment(tx, new.plan_id, key, path, new.delta, now)

        return await self._write(scope, work, RESULT)

    async def delete(self, scope: Scope, plan_id: str, key: str) -> WorkingDeleted:
        """Remove a key, its value, and its values in the log, now. Raises NotFoundError where there is none."""
        if not await self._remove(scope, plan_id, key):
            raise NotFoundError(f"plan {plan_id!r} has no key {key!r}")
        return WorkingDeleted(deleted=True, message=f"key {key!r} is deleted")

    async def clear(self, scope: Scope, plan_id: str) -> WorkingCleared:
        """Remove all keys of a plan, their values, and their values in the log, now."""
        count = len(await self._remove(scope, plan_id, None))
        return WorkingCleared(
            count_deleted=count, message=f"{count} keys are deleted" if count else "there were no keys"
        )

    async def _write(
        self, scope: Scope, work: Callable[[Tx], Awaitable[ResultT]], answer: TypeAdapter[ResultT]
    ) -> ResultT:
        """A write; before it, at most once a minute, what is over goes from the tenant's table and log."""

        async def sweeping(tx: Tx) -> ResultT:
            if time.monotonic() >= self._swept.get(scope.tenant_id, 0.0):
                if len(self._swept) >= 10_000:
                    self._swept.clear()
                self._swept[scope.tenant_id] = time.monotonic() + SWEEP_SECONDS
                await store.sweep(tx, self._clock())
            return await work(tx)

        return await self._introducer.write(scope, sweeping, answer=answer)

    async def _remove(self, scope: Scope, plan_id: str, key: str | None) -> list[str]:
        async def work(tx: Tx) -> list[str]:
            now = self._clock()
            keys = await store.delete(tx, plan_id, key, now)
            await events.append(tx, [_deleted(tx, plan_id, each, now) for each in keys])
            return keys

        return await self._database.write(scope, work, answer=KEYS)

    async def _place(self, tx: Tx, plan_id: str, path: str) -> tuple[str, list[str], datetime]:
        """A path begins with a key; one that has points in it is meant whole where it is there."""
        now = self._clock()
        if "." not in path or await store.get(tx, plan_id, path[:255], now) is not None:
            return path, [], now
        key, *rest = path.split(".")
        return key or path, rest if key else [], now


def _deleted(tx: Tx, plan_id: str, key: str, now: datetime) -> NewEvent:
    data: dict[str, Any] = {"plan_id": plan_id, "key": key}
    return NewEvent(new_id(), "plan.state.deleted", plan_id, now, "private", tx.scope.agent_id, data)
