"""Archive short-term memories that have faded. They are left out of default recall, but kept, and can be restored.

Before archiving, memories that define or bind a person are recognised by meaning and promoted instead (see
keeps.memory.lifecycle.meaning). Facts mentioned in passing are kept, too (see keeps.memory.lifecycle.gist).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.base.text.importance import estimate_importance
from keeps.memory.lifecycle.gist import gists_of
from keeps.memory.lifecycle.meaning import lasting
from keeps.memory.lifecycle.promotion import promote, promotions_undone
from keeps.memory.lifecycle.statements import QUERIES
from keeps.memory.memories import store
from keeps.memory.memories.store import NewMemoryRow
from keeps.memory.memories.types import MemoryRow, new_row
from keeps.memory.operations.service import BATCH, Change, record
from keeps.models.local import MINILM
from keeps.part import Run
from keeps.store.db.session import Database, Row, Tx


async def decay_user(database: Database, scope: Scope, run: Run) -> None:
    """Archive one user's memories whose retention is below 0.3, in batches; promote the lasting ones."""
    while not run.is_over:
        archived = promoted = 0
        async for attempt in database.writing(scope):
            async with attempt as tx:
                archived, promoted = await _batch(tx, run)
        for what, count in (("archived", archived), ("promoted", promoted)):
            if count:
                run.counts[what] += count
        if not archived and not promoted:
            return


async def _batch(tx: Tx, run: Run) -> tuple[int, int]:
    rows = await tx.fetch(QUERIES["memories_faded"], tx.scope.tenant_id, tx.scope.user_id, run.now, BATCH)
    kept = await _lasting(tx, rows)
    return (
        await _archive(tx, run, [row for row in rows if row["memory_id"] not in kept]),
        await promote(tx, run, [row for row in rows if row["memory_id"] in kept]),
    )


async def _lasting(tx: Tx, rows: Sequence[Row]) -> set[object]:
    """Return the ids of the rows with lasting content. Rows whose importance a caller set are not considered."""
    guessed = {
        row["memory_id"]: row["content"]
        for row in rows
        if row["role"] in (None, "user")
        and row["content_type"] != "daily_log"  # The weekly summary keeps those.
        and row["importance"] == estimate_importance(row["content"], row["role"])
    }
    if not guessed:
        return set()
    meanings = await tx.fetch(QUERIES["memory_meanings"], tx.scope.tenant_id, list(guessed), MINILM)
    return {
        row["memory_id"] for row in meanings if lasting(guessed[row["memory_id"]], row["embedding"].to_numpy())
    } - await promotions_undone(tx, list(guessed))


async def _archive(tx: Tx, run: Run, rows: Sequence[Row]) -> int:
    changes = [Change(row, row.evolve(archived_at=run.now)) for row in map(MemoryRow.read, rows)]
    if changes:
        await store.replace(tx, [NewMemoryRow(change.after) for change in changes], "memory.archived", run.now)
        telling = [
            change.after for change in changes if change.after.expires_at is None or change.after.expires_at > run.now
        ]
        gists = [new_row(new, tx.scope, new_id(), run.now).evolve(layer="long_term") for new in gists_of(telling)]
        stored = await store.insert_many(tx, [store.written(row) for row in gists], "") if gists else set[UUID]()
        await record(tx, run, [*changes, *(Change(None, row) for row in gists if row.memory_id in stored)])
    return len(changes)
