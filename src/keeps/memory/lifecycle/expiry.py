"""Expire memories: forget those past their end, erase those forgotten 30 days ago, and close undo windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from keeps.base.scope import Scope
from keeps.memory.lifecycle.statements import QUERIES
from keeps.memory.memories import store
from keeps.memory.memories.changes import Changes
from keeps.memory.memories.store import NewMemoryRow
from keeps.memory.memories.types import MemoryRow
from keeps.memory.operations.service import BATCH, UNDO_WINDOW, Change, record
from keeps.part import Run, Sweep
from keeps.store.db.session import Database

RECEIPTS_KEPT = timedelta(days=90)


async def expire_user(database: Database, changes: Changes, sweeps: Sequence[Sweep], scope: Scope, run: Run) -> None:
    """Handle everything that is overdue for one user: memories, notes, receipts, and the rows of other parts."""
    while expired := await _forget(database, scope, run):
        run.counts["expired"] += expired
    while removed := await _erase_memories(database, changes, scope):
        run.counts["removed"] += removed
    for sweep in sweeps:
        if removed := await sweep(scope, run.now):
            run.counts["removed"] += removed
    async for attempt in database.writing(scope):
        async with attempt as tx:
            await tx.execute(QUERIES["session_notes_expire"], scope.tenant_id, scope.user_id, run.now)
            await tx.execute(QUERIES["operation_changes_close"], scope.tenant_id, scope.user_id, run.now - UNDO_WINDOW)
            await tx.execute(QUERIES["operations_forget"], scope.tenant_id, run.now - RECEIPTS_KEPT)


async def _forget(database: Database, scope: Scope, run: Run) -> int:
    """Forget a batch of expired memories. Return their number."""
    changes: list[Change] = []
    async for attempt in database.writing(scope):
        async with attempt as tx:
            rows = await tx.fetch(QUERIES["memories_expired"], scope.tenant_id, scope.user_id, run.now, BATCH)
            changes = [Change(row, row.evolve(deleted_at=run.now)) for row in map(MemoryRow.read, rows)]
            if changes:
                await store.replace(tx, [NewMemoryRow(change.after) for change in changes], "memory.expired", run.now)
                await record(tx, run, changes)
    return len(changes)


async def _erase_memories(database: Database, changes: Changes, scope: Scope) -> int:
    """Erase a batch of the memories that were forgotten 30 days ago. Return their number."""
    removed = 0
    async for attempt in database.writing(scope):
        async with attempt as tx:
            removed = await changes.remove_overdue(tx)
    return removed
