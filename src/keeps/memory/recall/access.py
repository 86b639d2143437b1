"""Access counts, buffered in memory and written in batches: recall itself never writes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from keeps.base.door import is_looking
from keeps.base.scope import Scope
from keeps.memory.memories import store
from keeps.store.db.session import Database, Tx
from keeps_client.errors import KeepsError
from keeps_client.models import Hit
from keeps_client.models.recall import WEAK_RELEVANCE

FLUSH_SECONDS = 5.0
MAX_BUFFERED = 10_000
REVIVED_AT_ONCE = 100
"""Maximum number of a user's memories revived in one transaction; the others are revived when they are read again."""


class AccessBuffer:
    """Counts accesses per memory and takes relevant archived memories out of the archive.

    Bounded: beyond 10,000 memories further accesses are dropped, since they only guide decay.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reads: dict[tuple[str, str], dict[UUID, tuple[int, datetime]]] = {}
        self._archived: dict[tuple[str, str], set[UUID]] = {}
        self._size = 0
        self._task: asyncio.Task[None] | None = None

    def add(
        self, scope: Scope, memory_ids: Iterable[UUID], at: datetime, *, archived: Collection[UUID] = frozenset()
    ) -> None:
        """Count an access to each memory, unless the console looks.

        `archived`: the memories among them to revive when the counts are written.
        """
        if is_looking():
            return
        reads = self._reads.setdefault((scope.tenant_id, scope.user_id), {})
        for memory_id in memory_ids:
            if memory_id in reads:
                reads[memory_id] = (reads[memory_id][0] + 1, at)
            elif self._size < MAX_BUFFERED:
                reads[memory_id] = (1, at)
                self._size += 1
                if memory_id in archived:
                    self._archived.setdefault((scope.tenant_id, scope.user_id), set()).add(memory_id)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._flush_later())

    def add_hits(self, scope: Scope, hits: Iterable[Hit], at: datetime) -> None:
        """Count an access to each relevant hit, and revive the archived ones. Irrelevant hits keep fading."""
        relevant = {
            hit.memory_id: hit.memory for hit in hits if hit.relevance is None or hit.relevance >= WEAK_RELEVANCE
        }
        archived = {memory_id for memory_id, memory in relevant.items() if memory.archived_at is not None}
        self.add(scope, relevant, at, archived=archived)

    async def flush(self) -> None:
        """Write the counts so far. Counts that cannot be written are dropped."""
        reads, self._reads, self._size = self._reads, {}, 0
        archived, self._archived = self._archived, {}
        for (tenant_id, user_id), counted in reads.items():
            revived = archived.get((tenant_id, user_id), set[UUID]())
            if counted:
                try:
                    async for attempt in self._database.writing(Scope(tenant_id, user_id)):
                        async with attempt as tx:
                            await _write(tx, counted, revived)
                except KeepsError:
                    continue

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _flush_later(self) -> None:
        while self._size:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()


async def _write(tx: Tx, counted: dict[UUID, tuple[int, datetime]], archived: Collection[UUID]) -> None:
    await store.count_access(tx, counted)
    if archived:
        await store.revive(tx, sorted(archived)[:REVIVED_AT_ONCE], max(at for _, at in counted.values()))
