"""Expire memories: forget those past their end, erase those forgotten 30 days ago, and close undo windows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from uuid import UUID

from keeps.databases import store as databases
from keeps.db.session import Database
from keeps.documents import store as documents
from keeps.lifecycle.statements import QUERIES
from keeps.memories import store
from keeps.memories.changes import RESTORABLE, Changes
from keeps.memories.store import Written
from keeps.memories.types import MemoryRow
from keeps.operations.service import BATCH, UNDO_WINDOW, Change, record
from keeps.part import Run
from keeps.scope import Scope

RECEIPTS_KEPT = timedelta(days=90)


async def expire_user(
    database: Database, changes: Changes, scope: Scope, run: Run, sweep: Callable[[Scope], Awaitable[int]]
) -> None:
    """Handle everything that is overdue for one user."""
    while expired := await _forget(database, scope, run):
        run.counts["expired"] += expired
    while removed := await _erase_memories(database, changes, scope):
        run.counts["removed"] += removed
    while removed := await _erase_documents(database, scope, run):
        run.counts["removed"] += removed
    if removed := await sweep(scope):
        run.counts["removed"] += removed
    async for attempt in database.writing(scope):
        async with attempt as tx:
            await tx.execute(QUERIES["session_notes_expire"], scope.tenant_id, scope.user_id, run.now)
            await tx.execute(QUERIES["operation_changes_close"], scope.tenant_id, scope.user_id, run.now - UNDO_WINDOW)
            await databases.forget_audits(tx, run.now - databases.AUDIT_KEPT)
            await tx.execute(QUERIES["operations_forget"], scope.tenant_id, run.now - RECEIPTS_KEPT)


async def _forget(database: Database, scope: Scope, run: Run) -> int:
    """Forget a batch of expired memories. Return their number."""
    changes: list[Change] = []
    async for attempt in database.writing(scope):
        async with attempt as tx:
            rows = await tx.fetch(QUERIES["memories_expired"], scope.tenant_id, scope.user_id, run.now, BATCH)
            changes = [Change(row, row.evolve(deleted_at=run.now)) for row in map(MemoryRow.read, rows)]
            if changes:
                await store.replace(tx, [Written(change.after) for change in changes], "memory.expired", run.now)
                await record(tx, run, changes)
    return len(changes)


async def _erase_memories(database: Database, changes: Changes, scope: Scope) -> int:
    """Erase a batch of the memories that were forgotten 30 days ago. Return their number."""
    removed = 0
    async for attempt in database.writing(scope):
        async with attempt as tx:
            removed = await changes.remove_overdue(tx)
    return removed


async def _erase_documents(database: Database, scope: Scope, run: Run) -> int:
    """Erase a batch of the documents that were deleted 30 days ago. Return their number."""
    documents_overdue: Sequence[UUID] = ()
    async for attempt in database.writing(scope):
        async with attempt as tx:
            documents_overdue = await documents.overdue(tx, run.now - RESTORABLE)
            for document_id in documents_overdue:
                await documents.erase(tx, document_id, run.now)
    return len(documents_overdue)
