"""Expire memories: forget those past their end, erase those forgotten 30 days ago, and close undo windows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from keeps.databases import store as databases
from keeps.db.session import Database, Tx
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

    async def forget(tx: Tx) -> int:
        rows = await tx.fetch(QUERIES["memories_expired"], tx.scope.tenant_id, tx.scope.user_id, run.now, BATCH)
        gone = [Change(row, row.evolve(deleted_at=run.now)) for row in map(MemoryRow.read, rows)]
        if gone:
            await store.replace(tx, [Written(change.after) for change in gone], "memory.expired", run.now)
            await record(tx, run, gone)
        return len(gone)

    async def remove_documents(tx: Tx) -> int:
        gone = await documents.overdue(tx, run.now - RESTORABLE)
        for document in gone:
            await documents.erase(tx, document, run.now)
        return len(gone)

    async def tidy(tx: Tx) -> None:
        await tx.execute(QUERIES["session_notes_expire"], tx.scope.tenant_id, tx.scope.user_id, run.now)
        await tx.execute(
            QUERIES["operation_changes_close"], tx.scope.tenant_id, tx.scope.user_id, run.now - UNDO_WINDOW
        )
        await databases.forget_audits(tx, run.now - databases.AUDIT_KEPT)
        await tx.execute(QUERIES["operations_forget"], tx.scope.tenant_id, run.now - RECEIPTS_KEPT)

    while done := await database.write(scope, forget):
        run.counts["expired"] += done
    while done := await database.write(scope, changes.remove_overdue):
        run.counts["removed"] += done
    while done := await database.write(scope, remove_documents):
        run.counts["removed"] += done
    if done := await sweep(scope):
        run.counts["removed"] += done
    await database.write(scope, tidy)
