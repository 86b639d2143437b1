"""Working memory: put, get, append, increment, delete. Concurrent writes of agents lose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cachetools import TTLCache
from pydantic import JsonValue

from keeps.base.clock import Clock, new_id, utc_now
from keeps.base.cursors import read_name, write_name
from keeps.base.scope import Scope
from keeps.state.working import store
from keeps.store.db.answers import Answer, StoredAnswer, about_plan_state, plain
from keeps.store.db.session import Database, Tx
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import (
    AtomicAppend,
    AtomicChange,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    AtomicResult,
    NewWorkingItem,
    Page,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
)
from keeps_client.validation import one_of

SWEEP_SECONDS = 60.0
ResultT = TypeVar("ResultT")


async def _item(tx: Tx, found: dict[str, Any]) -> WorkingItem:
    held = await store.get(tx, found["plan_id"], found["key"], utc_now())
    if held is None:
        raise NotFoundError(f"plan {found['plan_id']!r} has no key {found['key']!r}")
    return held


async def _result(tx: Tx, found: dict[str, Any]) -> AtomicResult:
    """Return the stored result of a change if it is a number, else the current value at its path."""
    if found["value"] is not None:
        return AtomicResult.model_validate(found)
    item = await _item(tx, found)
    parts = found["path"][len(found["key"]) + 1 :].split(".") if found["path"] != found["key"] else []
    try:
        value = _at(item.value, parts)
    except (LookupError, ValueError):
        raise NotFoundError(
            f"this was already done; {found['path']!r} has changed since and no longer exists"
        ) from None
    return AtomicResult.model_validate({**found, "value": value, "version": item.version})


def _at(value: JsonValue, parts: Sequence[str]) -> JsonValue:
    """Return the value at a path into JSON. Raises LookupError or ValueError if there is none."""
    for part in parts:
        match value:
            case list():
                value = value[int(part)]
            case dict():
                value = value[part]
            case _:
                raise LookupError(part)
    return value


def _number(value: JsonValue) -> JsonValue:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


ITEM: Answer[WorkingItem] = Answer(
    lambda item: StoredAnswer({"plan_id": item.plan_id, "key": item.key}, about_plan_state(item.plan_id, item.key)),
    _item,
)
RESULT: Answer[AtomicResult] = Answer(
    lambda done: StoredAnswer(
        {**done.model_dump(mode="json"), "value": _number(done.value)}, about_plan_state(done.plan_id, done.key)
    ),
    _result,
)
COUNT = plain(int)


class WorkingService:
    """The key-value state of plans, shared by the agents of a tenant."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock
        self._swept: TTLCache[str, None] = TTLCache(10_000, SWEEP_SECONDS)

    async def put(self, scope: Scope, plan_id: str, new: NewWorkingItem) -> WorkingItem:
        """Store a value. Raises ConflictError with the current value if its version is not `expected_version`."""
        write = self._introducer.writing(scope, ITEM)
        async for attempt in write:
            async with attempt as tx:
                await self._sweep(tx)
                now = self._clock()
                stored = await store.put(
                    tx,
                    plan_id,
                    new.key,
                    new.value,
                    expires_at=_expiry(new, now),
                    now=now,
                    expected=new.expected_version,
                    workflow=new.workflow,
                )
                if stored is None:
                    _check(new, await store.get(tx, plan_id, new.key, now))
                    raise AssertionError("a put without a row found another version")
                write.result = stored
        return write.result

    async def find(self, scope: Scope, plan_id: str, key: str) -> WorkingItem | None:
        async with self._database.scoped(scope) as tx:
            return await store.get(tx, plan_id, key, self._clock())

    async def get(self, scope: Scope, plan_id: str, key: str) -> WorkingItem:
        """Return one key with its version. Raises NotFoundError."""
        return one_of(await self.find(scope, plan_id, key), f"plan {plan_id!r} has no key {key!r}")

    async def page(
        self, scope: Scope, plan_id: str, limit: int, cursor: str | None, *, values: bool = True
    ) -> Page[WorkingItem]:
        """Return one page of a plan's keys, in order; without `values` each value is None."""
        async with self._database.scoped(scope) as tx:
            after = read_name(cursor) if cursor else ""
            items, more = await store.page(tx, plan_id, self._clock(), after, limit, values=values)
        return Page(items=items, next_cursor=write_name(items[-1].key) if more else None)

    async def change(self, scope: Scope, new: AtomicChange) -> AtomicResult:
        """Append, extend, merge or increment in one statement.

        Raises ValidationFailedError if the stored value has another type.
        """
        operation, operand = _operation(new)
        write = self._introducer.writing(scope, RESULT)
        async for attempt in write:
            async with attempt as tx:
                await self._sweep(tx)
                key, path, now = await self._place(tx, new)
                write.result = await store.change(
                    tx, new.plan_id, key, path, operation, operand, now, workflow=new.workflow
                )
        return write.result

    async def delete(self, scope: Scope, plan_id: str, key: str) -> WorkingDeleted:
        """Delete a key and its value, and redact its events, immediately. Raises NotFoundError if there is none."""
        if not await self._remove(scope, plan_id, key):
            raise NotFoundError(f"plan {plan_id!r} has no key {key!r}")
        return WorkingDeleted(deleted=True, message=f"key {key!r} is deleted")

    async def clear(self, scope: Scope, plan_id: str, *, workflow: bool = False) -> WorkingCleared:
        """Delete all keys of a plan, or those made by a workflow, and redact their events, immediately."""
        count = await self._remove(scope, plan_id, None, workflow=workflow)
        return WorkingCleared(
            count_deleted=count, message=f"{count} keys are deleted" if count else "there were no keys"
        )

    async def _sweep(self, tx: Tx) -> None:
        """Remove expired values from the tenant's table and log, at most once a minute."""
        tenant_id = tx.scope.tenant_id
        if tenant_id not in self._swept:
            self._swept[tenant_id] = None
            await store.sweep(tx, self._clock())

    async def _remove(self, scope: Scope, plan_id: str, key: str | None, *, workflow: bool = False) -> int:
        write = self._database.writing(scope, COUNT)
        async for attempt in write:
            async with attempt as tx:
                now = self._clock()
                keys = await store.delete(tx, plan_id, key, now, workflow=workflow)
                await events.append(tx, [_deleted(tx, plan_id, each, now) for each in keys])
                write.result = len(keys)
        return write.result

    async def _place(self, tx: Tx, new: AtomicChange) -> tuple[str, list[str], datetime]:
        """Split a path into its key and the rest. A key that contains dots is used whole if it exists."""
        now = self._clock()
        path = new.path
        if new.whole or "." not in path or await store.get(tx, new.plan_id, path[:255], now) is not None:
            return path, [], now
        key, *rest = path.split(".")
        return key or path, rest if key else [], now


def _check(new: NewWorkingItem, held: WorkingItem | None) -> None:
    version = held.version if held else 0
    if new.expected_version not in (None, version):
        raise ConflictError(
            f"{new.key!r} has version {version}, not {new.expected_version}",
            current_version=version,
            current=held.value if held else None,
        )


def _expiry(new: NewWorkingItem, now: datetime) -> datetime | None:
    return None if new.ttl_seconds is None else now + timedelta(seconds=new.ttl_seconds)


def _operation(new: AtomicChange) -> tuple[str, JsonValue]:
    match new:
        case AtomicAppend():
            return "append", new.value
        case AtomicExtend():
            return "extend", new.values
        case AtomicMerge():
            return "merge", new.changes
        case AtomicIncrement():
            return "increment", new.delta
        case _:
            raise AssertionError("an atomic change is one of four")


def _deleted(tx: Tx, plan_id: str, key: str, now: datetime) -> NewEvent:
    data: dict[str, Any] = {"plan_id": plan_id, "key": key}
    return NewEvent(new_id(), "plan.state.deleted", plan_id, now, "private", tx.scope.agent_id, data)
