"""Count memories, page through them by offset, and list their owners, for protocols that need it.

Keeps' own pages use cursors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.memories.filters import compile_filters
from keeps.memory.memories.store import JSON_COLUMNS, QUERIES, memory_from_row
from keeps.store.db.session import Database
from keeps.store.db.size_limits import fetch_whole
from keeps_client.models import Filters, Memory


@dataclass(frozen=True, slots=True)
class Subject:
    """A user, agent, app or run (session) that has memories."""

    type: str
    name: str
    total: int
    first_at: datetime
    last_at: datetime


class MemoryCounts:
    """Counts and lists the user's own current memories, without those shared by others."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def count(self, scope: Scope, filters: Filters | None) -> int:
        """Return the number of memories."""
        condition = compile_filters(filters, first_parameter=4)
        async with self._database.reading(scope) as tx:
            row = await tx.fetch_row(
                QUERIES["memories_count"].where(condition),
                scope.tenant_id,
                scope.user_id,
                self._clock(),
                *condition.values,
            )
        return row["held"] if row else 0

    async def window(
        self, scope: Scope, filters: Filters | None, offset: int, limit: int, *, ever: bool = False
    ) -> list[Memory]:
        """Return memories, newest first, after the first `offset`. `ever`: include forgotten and expired ones."""
        condition, now = compile_filters(filters, first_parameter=7), self._clock()
        async with self._database.reading(scope) as tx:
            rows = await fetch_whole(
                tx,
                QUERIES["memories_window"].where(condition),
                scope.tenant_id,
                scope.user_id,
                now,
                offset,
                limit,
                ever,
                *condition.values,
                columns=JSON_COLUMNS,
            )
        return [memory_from_row(row, now) for row in rows]

    async def owners(self, scope: Scope, memory_ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return the owner of each memory in the tenant. Only for callers that may act for all of its users."""
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["memory_owners"], list(memory_ids))
        return {row["memory_id"]: row["user_id"] for row in rows}

    async def subjects(self, scope: Scope, limit: int) -> list[Subject]:
        """Return the subjects that the user has memories of, last changed first."""
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["memory_subjects"], scope.tenant_id, scope.user_id, limit)
        return [Subject(**row) for row in rows]

    async def subjects_of_tenant(self, scope: Scope, limit: int) -> list[Subject]:
        """Return the subjects of all users of the tenant. Only for administrators."""
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["memory_subjects_of_tenant"], limit)
        return [Subject(**row) for row in rows]
