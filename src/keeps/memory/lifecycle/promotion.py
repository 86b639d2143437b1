"""Decide which short-term memories are promoted to long-term.

    score = importance + min(0.3, 0.1 · ln(1 + number of recalls)) + 0.05 · retention

A memory is promoted when its score reaches 0.8 and it is an hour old: memories that define or bind a person at once,
ordinary ones after about a dozen recalls, small talk never. The gate is measured on a simulated population (`keeps
bench lifecycle`): a gate that nobody or everybody passes fails the test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from keeps.base.scope import Scope
from keeps.memory.lifecycle.statements import QUERIES
from keeps.memory.memories import store
from keeps.memory.memories.retention import retention
from keeps.memory.memories.store import NewMemoryRow
from keeps.memory.memories.types import MemoryRow
from keeps.memory.operations.service import BATCH, NOWHERE, Change, record
from keeps.part import Run
from keeps.store.db.session import Database, Row, Tx

GATE = 0.8
ACCESS_GAIN, MOST_ACCESS_GAIN = 0.1, 0.3
RECENCY_GAIN = 0.05
MIN_AGE = timedelta(hours=1)
LEAST_IMPORTANCE = GATE - MOST_ACCESS_GAIN - RECENCY_GAIN
"""Minimum importance for promotion; below it, no number of recalls suffices."""
ALONE = GATE - RECENCY_GAIN
"""Minimum importance for promotion without any recall."""


def promotion_score(importance: float, access_count: int, last_used_at: datetime, now: datetime) -> float:
    """Return the promotion score, between 0 and 1.35."""
    read = min(MOST_ACCESS_GAIN, ACCESS_GAIN * math.log1p(access_count))
    return importance + read + RECENCY_GAIN * retention(importance, access_count, last_used_at, now)


def is_promoted(
    importance: float, access_count: int, last_used_at: datetime, created_at: datetime, now: datetime
) -> bool:
    """Return whether a memory is promoted now."""
    return now - created_at >= MIN_AGE and promotion_score(importance, access_count, last_used_at, now) >= GATE


async def promote_user(database: Database, scope: Scope, run: Run) -> None:
    """Promote the memories that pass the gate, in order of ids."""
    after: UUID | None = NOWHERE
    while after is not None:
        rows: list[Row] = []
        promoted = 0
        async for attempt in database.writing(scope):
            async with attempt as tx:
                rows = await tx.fetch(
                    QUERIES["memories_promotable"],
                    scope.tenant_id,
                    scope.user_id,
                    after,
                    ALONE,
                    LEAST_IMPORTANCE,
                    run.now - MIN_AGE,
                    BATCH,
                )
                promoted = await promote(tx, run, await _passing(tx, rows, run))
        if promoted:
            run.counts["promoted"] += promoted
        after = rows[-1]["memory_id"] if rows else None


async def would_promote(tx: Tx, now: datetime) -> list[str]:
    """Return the texts that a run would promote now, in order of ids; at most 2,000."""
    texts: list[str] = []
    after = NOWHERE
    while len(texts) < 2_000:
        rows = await tx.fetch(
            QUERIES["memories_may_pass"],
            tx.scope.tenant_id,
            tx.scope.user_id,
            after,
            ALONE,
            LEAST_IMPORTANCE,
            now - MIN_AGE,
            BATCH,
        )
        texts += [
            row["content"]
            for row in rows
            if is_promoted(row["importance"], row["access_count"], row["last_used_at"], row["created_at"], now)
        ]
        if len(rows) < BATCH:
            break
        after = rows[-1]["memory_id"]
    return texts


async def promote(tx: Tx, run: Run, rows: Sequence[Row]) -> int:
    """Move locked rows to the long-term layer; archived ones are restored."""
    changes: list[Change] = []
    for row in rows:
        before = MemoryRow.read(row)
        changes.append(Change(before, before.evolve(layer="long_term", archived_at=None)))
    if changes:
        await store.replace(tx, [NewMemoryRow(each.after) for each in changes], "memory.promoted", run.now)
        await record(tx, run, changes)
    return len(changes)


async def promotions_undone(tx: Tx, memory_ids: Sequence[UUID]) -> set[UUID]:
    """Return the memories whose promotion was undone: no job promotes them again while the receipt is kept."""
    rows = await tx.fetch(QUERIES["promotions_undone"], tx.scope.tenant_id, list(memory_ids))
    return {row["memory_id"] for row in rows}


async def _passing(tx: Tx, rows: Sequence[Row], run: Run) -> list[Row]:
    passing = [
        row
        for row in rows
        if is_promoted(row["importance"], row["access_count"], row["last_used_at"], row["created_at"], run.now)
    ]
    undone = await promotions_undone(tx, [row["memory_id"] for row in passing]) if passing else set[UUID]()
    return [row for row in passing if row["memory_id"] not in undone]
