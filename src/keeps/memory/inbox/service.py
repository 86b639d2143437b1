"""The inbox: list the memories that wait, approve or drop them, and trust a source.

Each decision is an operation with a receipt, so it can be undone as a whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from uuid import UUID

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.scope import Scope
from keeps.base.text.trust import source_of
from keeps.memory.memories import store
from keeps.memory.memories.changes import Changes
from keeps.memory.memories.screening import held
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import MEMORY, MemoryRow, new_row
from keeps.memory.operations.service import BATCH, NOWHERE, Change, OperationService, record
from keeps.memory.operations.service import QUERIES as RECEIPTS
from keeps.part import Run
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statements
from keeps.store.tenants.service import Introducer
from keeps_client.checked import validated
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError
from keeps_client.models import HeldMemory, InboxCount, NewMemory, Operation, Page, TrustedSource
from keeps_client.models.names import HeldFor
from keeps_client.validation import same_json

QUERIES = Statements("keeps.memory.inbox", MEMORY)
JOB = "inbox"
NAMESPACE = "inbox"
TRUSTED_SOURCE = "trusted_source"
"""Content type of the row that says that memories of a source do not wait."""
MOST_COUNTED = 1_000


class InboxService:
    """Memories that wait, of one user. An agent's token may see them, but not decide."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        memories: MemoryService,
        operations: OperationService,
        clock: Clock,
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._memories = memories
        self._operations = operations
        self._clock = clock
        self._changes = Changes("", clock)

    async def page(self, scope: Scope, *, reason: HeldFor | None, limit: int, cursor: str | None) -> Page[HeldMemory]:
        """Return one page of the memories that wait, newest first."""
        after = read_cursor_of_id(cursor) or (None, None)
        who = scope.tenant_id, scope.user_id
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["inbox_page"], *who, *after, reason, limit + 1)
        shown = [MemoryRow.read(row) for row in rows[:limit]]
        last = shown[-1] if len(rows) > limit else None
        return Page(
            items=[_shown(row) for row in shown],
            next_cursor=write_cursor(last.created_at, str(last.memory_id)) if last else None,
        )

    async def count(self, scope: Scope) -> InboxCount:
        """Return how many memories wait, at most 1,000, by reason."""
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["inbox_count"], scope.tenant_id, scope.user_id, MOST_COUNTED)
        reasons = {row["held_for"]: row["memories"] for row in rows}
        return InboxCount(waiting=sum(reasons.values()), reasons=reasons)

    async def approve(self, scope: Scope, memory_ids: Sequence[UUID]) -> Operation:
        """Take memories out of the inbox: from now on they are found.

        Raises NotFoundError if one does not wait, ConflictError for a passage whose document was deleted.
        """
        return await self._decide(scope, memory_ids, approved=True)

    async def drop(self, scope: Scope, memory_ids: Sequence[UUID]) -> Operation:
        """Forget memories that wait; they are deleted after 30 days. Raises NotFoundError if one does not wait."""
        return await self._decide(scope, memory_ids, approved=False)

    async def trust_source(self, scope: Scope, source: str) -> Operation:
        """Approve what waits from a source, and let its later memories in at once."""
        _check_person(scope)
        name = source_of(None, source, {})
        run = self._run(scope)
        write = self._introducer.writing(scope)
        async for attempt in write:
            async with attempt as tx:
                run.counts.clear()
                changes: list[Change] = []
                if not await self._sources(tx, name):
                    row = self._trusted(scope, name)
                    await store.insert_many(tx, [written(row)], "")
                    changes.append(Change(None, row))
                    run.counts["trusted_sources"] += 1
                await self._record(tx, run, changes)
                async for rows in _waiting(tx):
                    of_source = [row for row in rows if _source(row) == name]
                    without = await _without_document(tx, of_source)
                    of_source = [row for row in of_source if row.memory_id not in without]
                    await self._record(tx, run, await self._approved(tx, run, of_source))
                await self._finish(tx, run)
        return await self._operation(scope, run)

    async def sources(self, scope: Scope) -> list[TrustedSource]:
        """Return the sources whose memories do not wait."""
        async with self._database.scoped(scope) as tx:
            rows = await self._sources(tx, None)
        return [TrustedSource(source=row.key or "", trusted_at=row.created_at) for row in rows]

    async def distrust_source(self, scope: Scope, source: str) -> TrustedSource:
        """Let later memories of a source wait again, if they have to. Raises NotFoundError if it is not trusted."""
        _check_person(scope)
        name = source_of(None, source, {})
        gone: Sequence[MemoryRow] = ()
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                gone = await self._sources(tx, name)
                if gone:
                    await self._changes.erase(tx, gone)
        if not gone:
            raise NotFoundError(f"the source {name!r} is not trusted")
        return TrustedSource(source=name, trusted_at=gone[0].created_at)

    async def _decide(self, scope: Scope, memory_ids: Sequence[UUID], *, approved: bool) -> Operation:
        _check_person(scope)
        run = self._run(scope)
        wanted = sorted(set(memory_ids))
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                run.counts.clear()
                who = tx.scope.tenant_id, tx.scope.user_id
                rows = await tx.fetch(QUERIES["inbox_lock"], *who, wanted, NOWHERE, len(wanted))
                if missing := set(wanted) - {row["memory_id"] for row in rows}:
                    raise NotFoundError(f"no memory {min(missing)} waits in your inbox")
                waiting = [MemoryRow.read(row) for row in rows]
                if approved and (without := await _without_document(tx, waiting)):
                    raise ConflictError(
                        f"memory {min(without)} is a passage of a document that was deleted; add the document again, or"
                        " drop the passage"
                    )
                changes = await (self._approved(tx, run, waiting) if approved else self._dropped(tx, run, waiting))
                await self._record(tx, run, changes)
                await self._finish(tx, run)
        return await self._operation(scope, run)

    async def _approved(self, tx: Tx, run: Run, rows: Collection[MemoryRow]) -> list[Change]:
        """Store each as if it was written now. A current memory of its key is superseded; a known text is dropped."""
        changes: list[Change] = []
        for row in rows:
            alive = row.evolve(held_for=None, deleted_at=None)
            stored = await store.lock_same(tx, alive)
            if stored is not None and (
                alive.key is None or same_json((stored.content, stored.value), (row.content, row.value))
            ):
                changes += await self._dropped(tx, run, [row])
                continue
            if stored is not None:
                older = stored.evolve(superseded_by=row.memory_id, valid_to=max(run.now, stored.valid_from))
                await store.replace(tx, [NewMemoryRow(older)], "memory.superseded", run.now)
                changes.append(Change(stored, older))
            await store.replace(tx, [NewMemoryRow(alive)], "memory.approved", run.now)
            await store.drop_vectors(tx, alive)
            changes.append(Change(row, alive))
            run.counts["approved"] += 1
        return changes

    async def _dropped(self, tx: Tx, run: Run, rows: Collection[MemoryRow]) -> list[Change]:
        changes = [Change(row, row.evolve(held_for=None, deleted_at=run.now)) for row in rows]
        if changes:
            await store.replace(tx, [NewMemoryRow(change.after) for change in changes], "memory.deleted", run.now)
            run.counts["dropped"] += len(changes)
        return changes

    async def _record(self, tx: Tx, run: Run, changes: Sequence[Change]) -> None:
        if changes:
            await record(tx, run, changes)

    async def _finish(self, tx: Tx, run: Run) -> None:
        """Store the receipt in the transaction of its changes."""
        await tx.execute(
            RECEIPTS["operation_finish"],
            run.tenant_id,
            run.operation_id,
            run.job,
            run.now,
            "completed",
            json.dumps(run.counts),
            None,
            run.now,
        )

    async def _operation(self, scope: Scope, run: Run) -> Operation:
        detail = await self._operations.get(scope, run.operation_id)
        for change in detail.changes:
            if "held_for" in change.after and change.after["held_for"] is None:
                self._memories.notice(scope)
                break
        return Operation(**detail.model_dump(exclude={"changes"}))

    async def _sources(self, tx: Tx, name: str | None) -> list[MemoryRow]:
        rows = await tx.fetch(QUERIES["inbox_sources"], tx.scope.tenant_id, tx.scope.user_id, name)
        return [MemoryRow.read(row) for row in rows]

    def _run(self, scope: Scope) -> Run:
        return Run(new_id(), scope.tenant_id, JOB, self._clock(), counts=Counter())

    def _trusted(self, scope: Scope, name: str) -> MemoryRow:
        new = validated(
            NewMemory,
            {
                "content": f"Memories from {name} do not wait in the inbox.",
                "namespace": NAMESPACE,
                "key": name,
                "content_type": TRUSTED_SOURCE,
                "importance": 0.0,
            },
        )
        return held(new_row(new, scope, new_id(), self._clock()), "trusted_source")


async def _waiting(tx: Tx) -> AsyncIterator[list[MemoryRow]]:
    """Yield all of the user's memories that wait, locked, in batches."""
    after = NOWHERE
    while True:
        rows = await tx.fetch(QUERIES["inbox_lock"], tx.scope.tenant_id, tx.scope.user_id, None, after, BATCH)
        if rows:
            yield [MemoryRow.read(row) for row in rows]
        if len(rows) < BATCH:
            return
        after = rows[-1]["memory_id"]


async def _without_document(tx: Tx, rows: Collection[MemoryRow]) -> set[UUID]:
    """Return the passages among some rows whose documents were deleted."""
    passages = [row.memory_id for row in rows if row.layer == "knowledge"]
    if not passages:
        return set()
    found = await tx.fetch(QUERIES["inbox_without_document"], tx.scope.tenant_id, passages)
    return {row["memory_id"] for row in found}


def _check_person(scope: Scope) -> None:
    if scope.agent_bound:
        raise ForbiddenError("an agent's token cannot decide what its user's inbox lets in; use a token of the user")


def _source(row: MemoryRow) -> str:
    return source_of(row.role, row.source, row.metadata)


def _shown(row: MemoryRow) -> HeldMemory:
    assert row.held_for is not None
    return HeldMemory(held_for=row.held_for, source=_source(row), memory=row.as_memory())
