"""Operations: the receipt of each run of a job, and undoing a run as a whole.

Each change is recorded in its own transaction, with the previous values of the changed fields. Undoing restores them if
the memory is still as the operation left it; later changes are kept, and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from keeps.base.clock import Clock
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.scope import JOB_USER_ID, Scope
from keeps.memory.memories import store
from keeps.memory.memories.changes import Changes
from keeps.memory.memories.store import NewMemoryRow
from keeps.memory.memories.types import MEMORY, Json, MemoryRow
from keeps.part import Run
from keeps.store.db.session import Database, Row, Tx, taking_long
from keeps.store.db.statements import Statements
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import Operation, OperationChange, OperationDetail, Page

QUERIES = Statements("keeps.memory.operations", MEMORY)
UNDO_WINDOW = timedelta(days=30)
DECISIONS = "inbox"
"""The name of operations of a person: what they decided about memories in the inbox."""
BATCH = 200
NOWHERE = UUID(int=0)
RESTORED = {
    "layer",
    "archived_at",
    "deleted_at",
    "superseded_by",
    "valid_to",
    "importance",
    "tags",
    "metadata",
    "held_for",
}
"""Fields that jobs change, and so the only ones that undoing restores; other recorded values are ignored."""


@dataclass(frozen=True, slots=True)
class Change:
    """A memory after a job changed it. `before` is None if the job created it."""

    before: MemoryRow | None
    after: MemoryRow


async def record(tx: Tx, run: Run, changes: Sequence[Change]) -> None:
    """Record changes for undoing, in the transaction that makes them."""
    pairs = [_difference(change) for change in changes]
    await tx.execute(QUERIES["operation_start"], tx.scope.tenant_id, run.operation_id, run.job, run.now)
    await tx.execute(
        QUERIES["operation_changes_insert"],
        tx.scope.tenant_id,
        run.operation_id,
        [change.after.memory_id for change in changes],
        [None if before is None else json.dumps(before) for before, _ in pairs],
        [json.dumps(after) for _, after in pairs],
        tx.scope.user_id,
    )


class OperationService:
    """The receipts of operations, and undoing operations."""

    def __init__(self, database: Database, clock: Clock, undoable: frozenset[str]) -> None:
        self._database = database
        self._clock = clock
        self._undoable = undoable
        self._changes = Changes("", clock)

    async def finish(
        self, run: Run, due_at: datetime | None, error: str | None = None, *, latest: datetime | None = None
    ) -> Operation | None:
        """Close the receipt, and reschedule the job.

        Returns None if nothing was done; then no receipt is stored. `latest`: when the job is due if the tenant has no
        work for it by then.
        """
        row: Row | None = None
        async for attempt in self._database.writing(Scope(run.tenant_id, JOB_USER_ID)):
            async with attempt as tx:
                if due_at is not None:
                    await tx.fetch(QUERIES["job_reschedule"], run.job, run.now, due_at, latest or due_at)
                if error is not None or run.counts:
                    row = await tx.fetch_row(
                        QUERIES["operation_finish"],
                        run.tenant_id,
                        run.operation_id,
                        run.job,
                        run.now,
                        "completed" if error is None else "failed",
                        json.dumps(run.counts),
                        error,
                        self._clock(),
                    )
        return None if row is None else self.operation_of(row)

    async def page(
        self, scope: Scope, *, job: str | None, status: str | None, limit: int, cursor: str | None
    ) -> Page[Operation]:
        """Return one page of the tenant's operations, newest first."""
        after = read_cursor_of_id(cursor) or (None, None)
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["operations_page"], scope.tenant_id, job, status, *after, limit + 1)
        found = [self.operation_of(row) for row in rows[:limit]]
        more = len(rows) > limit
        cursor = write_cursor(found[-1].started_at, str(found[-1].operation_id)) if more else None
        return Page(items=found, next_cursor=cursor)

    async def get(self, scope: Scope, operation_id: UUID) -> OperationDetail:
        """Return one operation, with its changes to the user's memories."""
        async with self._database.scoped(scope) as tx:
            row = await tx.fetch_row(QUERIES["operation_get"], scope.tenant_id, operation_id)
            if row is None:
                raise NotFoundError(f"no operation {operation_id}")
            changes = await self._changes_of(tx, operation_id, NOWHERE, 1_000)
        operation = self.operation_of(row)
        return OperationDetail(**operation.model_dump(), changes=tuple(changes))

    async def undo(self, scope: Scope, operation_id: UUID) -> Operation:
        """Undo an operation for the whole tenant. Raises ConflictError if it can no longer be undone."""
        with taking_long():
            return await self._undo(scope, operation_id)

    async def _undo(self, scope: Scope, operation_id: UUID) -> Operation:
        done: Counter[str] = Counter()
        async with self._database.scoped(scope) as tx:
            row = await tx.fetch_row(QUERIES["operation_get"], scope.tenant_id, operation_id)
        if row is None:
            raise NotFoundError(f"no operation {operation_id}")
        operation = self.operation_of(row)
        if operation.status == "undone":
            return operation
        if not operation.undoable:
            raise ConflictError(self._why_not(operation))
        after = ""
        while users := await self._users(scope, after):
            for user_id in users:
                user = Scope(scope.tenant_id, user_id)
                if operation.job == DECISIONS:
                    # What waits again first: a memory that it had superseded gets its key back.
                    await self._undo_user(user, operation_id, done, hiding=True)
                await self._undo_user(user, operation_id, done, hiding=False)
            after = users[-1]
        counts = json.dumps({**operation.counts, **done})
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await tx.execute(
                    QUERIES["operation_undone"], scope.tenant_id, operation_id, self._clock(), scope.user_id, counts
                )
                row = await tx.fetch_row(QUERIES["operation_get"], scope.tenant_id, operation_id)
        if row is None:
            raise NotFoundError(f"no operation {operation_id}")
        return self.operation_of(row)

    async def _users(self, scope: Scope, after: str) -> list[str]:
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["users_due"], "all", self._clock(), after, 1_000)
        return [row["user_id"] for row in rows]

    async def _undo_user(self, scope: Scope, operation_id: UUID, done: Counter[str], *, hiding: bool) -> None:
        after: UUID | None = NOWHERE
        while after is not None:
            last: UUID | None = None
            counted: Counter[str] = Counter()
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    last, counted = await self._undo_batch(tx, operation_id, after, hiding=hiding)
            done.update(counted)
            after = last

    async def _undo_batch(
        self, tx: Tx, operation_id: UUID, after: UUID, *, hiding: bool
    ) -> tuple[UUID | None, Counter[str]]:
        counted: Counter[str] = Counter()
        every = await self._changes_of(tx, operation_id, after, BATCH)
        if not every:
            return None, counted
        changes = [change for change in every if _hides(change) == hiding]
        rows = await tx.fetch(
            QUERIES["memories_lock_many"], tx.scope.tenant_id, tx.scope.user_id, [each.memory_id for each in changes]
        )
        current = {row.memory_id: row for row in map(MemoryRow.read, rows)}
        back: list[NewMemoryRow] = []
        made: list[MemoryRow] = []
        for change in changes:
            row = current.get(change.memory_id)
            if row is None or row.as_json(tuple(change.after)) != change.after:
                counted["changed_since"] += 1
            elif change.before is None:
                made.append(row)
            elif set(change.before) <= RESTORED:
                back.append(NewMemoryRow(row.with_json(change.before)))
        if back:
            await store.replace(tx, back, "memory.restored", self._clock())
        if made:
            await self._changes.erase(tx, made)
        if back or made:
            counted["undone"] += len(back) + len(made)
        return every[-1].memory_id, counted

    async def _changes_of(self, tx: Tx, operation_id: UUID, after: UUID, limit: int) -> list[OperationChange]:
        rows = await tx.fetch(
            QUERIES["operation_changes_of"], tx.scope.tenant_id, tx.scope.user_id, operation_id, after, limit
        )
        return [
            OperationChange(
                memory_id=row["memory_id"],
                before=None if row["before"] is None else json.loads(row["before"]),
                after=json.loads(row["after"]),
            )
            for row in rows
        ]

    def operation_of(self, row: Row) -> Operation:
        """Return a row of keeps.operations."""
        values = {**dict(row), "counts": json.loads(row["counts"])}
        fresh = self._clock() - row["started_at"] < UNDO_WINDOW
        undoable = (
            fresh
            and row["job"] in self._undoable
            and row["status"] in ("completed", "failed")
            and bool(values["counts"])
        )
        return Operation(**values, undoable=undoable)

    def _why_not(self, operation: Operation) -> str:
        if operation.status == "running":
            return f"operation {operation.operation_id} is still running"
        if operation.job not in self._undoable:
            return f"the job {operation.job} cannot be undone: it changes no memory"
        if not operation.counts:
            return f"operation {operation.operation_id} changed nothing"
        return f"operation {operation.operation_id} is older than {UNDO_WINDOW.days} days"


def _hides(change: OperationChange) -> bool:
    """Return whether undoing a change lets its memory wait in the inbox again."""
    return change.before is not None and change.before.get("held_for") is not None


def _difference(change: Change) -> tuple[dict[str, Json] | None, dict[str, Json]]:
    after = change.after.as_json()
    if change.before is None:
        return None, {"version": change.after.version}
    before = change.before.as_json()
    names = [name for name, value in after.items() if before[name] != value]
    return {name: before[name] for name in names}, {name: after[name] for name in names}
