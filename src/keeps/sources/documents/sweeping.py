"""Removal of documents that can no longer be restored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from keeps.base.scope import Scope
from keeps.memory.memories.changes import RESTORABLE
from keeps.sources.documents import store
from keeps.store.db.session import Database


async def sweep_user(database: Database, scope: Scope, now: datetime) -> int:
    """Erase the user's documents that were deleted 30 days ago; return their number."""
    removed = 0
    while batch := await _erase_batch(database, scope, now):
        removed += batch
    return removed


async def _erase_batch(database: Database, scope: Scope, now: datetime) -> int:
    overdue: Sequence[UUID] = ()
    async for attempt in database.writing(scope):
        async with attempt as tx:
            overdue = await store.overdue(tx, now - RESTORABLE)
            for document_id in overdue:
                await store.erase(tx, document_id, now)
    return len(overdue)
