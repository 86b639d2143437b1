"""Run the weekly consolidation: merge near-duplicates, summarise faded memories by week, and flag stale facts.

The originals are kept: duplicates as older versions that name the memory representing them, weeks as archived memories.
All of it can be undone as one operation until the undo window closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.base.text.trust import least, origin_of, trust_of, with_trust
from keeps.memory.lifecycle.duplicates import richer, same_fact
from keeps.memory.lifecycle.statements import QUERIES
from keeps.memory.memories import store
from keeps.memory.memories.changes import Changes
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import Json, MemoryRow, new_row
from keeps.memory.operations.service import BATCH, NOWHERE, Change, record
from keeps.memory.operations.service import QUERIES as RECEIPTS
from keeps.part import Run
from keeps.state.sessions.notes import summarise
from keeps.store.db.session import Database, Row, Tx
from keeps_client.models import NewMemory, Note
from keeps_client.models.names import Trust

LOOKED_BACK = timedelta(days=8)
STALE_AFTER = timedelta(days=180)
SUMMARIES = "summaries"


_TOGETHER = ("namespace", "visibility", "agent_id", "session_id", "app_id")
"""Fields in which merged memories must agree: a memory of one agent, session or app stays theirs."""


async def consolidate_user(database: Database, changes: Changes, scope: Scope, run: Run) -> None:
    """Run all three steps for one user."""
    await _merge(database, changes, scope, run)
    async with database.scoped(scope) as tx:
        weeks = await tx.fetch(QUERIES["clusters_old"], scope.tenant_id, scope.user_id, run.now - LOOKED_BACK)
    for week in weeks:
        summarised = 0
        async for attempt in database.writing(scope):
            async with attempt as tx:
                summarised = await _sum_up(tx, run, week)
        run.counts["summarised"] += summarised
    while not run.is_over:
        stale = 0
        async for attempt in database.writing(scope):
            async with attempt as tx:
                stale = await _flag(tx, run)
        if not stale:
            break
        run.counts["stale"] += stale
    run.counts = +run.counts  # Drop zero counts from the receipt.


async def _merge(database: Database, changes: Changes, scope: Scope, run: Run) -> None:
    after = NOWHERE
    while not run.is_over:
        async with database.scoped(scope) as tx:
            rows = await tx.fetch(
                QUERIES["facts_changed"], scope.tenant_id, scope.user_id, run.now - LOOKED_BACK, after, BATCH
            )
        for row in rows:
            merged = 0
            async for attempt in database.writing(scope):
                async with attempt as tx:
                    merged = await _merge_one(tx, changes, run, row)
            run.counts["merged"] += merged
        if len(rows) < BATCH:
            return
        after = rows[-1]["memory_id"]


async def _merge_one(tx: Tx, changes: Changes, run: Run, row: Row) -> int:
    """Merge a fact with its near-duplicates. Return how many were merged into the one that is kept."""
    alike = await tx.fetch(
        QUERIES["facts_alike"], tx.scope.tenant_id, tx.scope.user_id, row["memory_id"], row["embedding"]
    )
    same = [
        candidate["memory_id"]
        for candidate in alike
        if all(candidate[name] == row[name] for name in _TOGETHER)
        and same_fact(row["content"], candidate["content"], candidate["similarity"])
    ]
    if not same:
        return 0
    rows = await tx.fetch(
        RECEIPTS["memories_lock_many"], tx.scope.tenant_id, tx.scope.user_id, [row["memory_id"], *same]
    )
    facts = [
        candidate
        for candidate in map(MemoryRow.read, rows)
        if candidate.superseded_by is None and candidate.deleted_at is None and _is_own(candidate)
    ]
    if len(facts) < 2 or row["memory_id"] not in {candidate.memory_id for candidate in facts}:
        return 0  # They were already merged, starting from the other one.
    keeper = facts[0]
    for candidate in facts[1:]:
        if not richer(keeper.content, candidate.content):
            keeper = candidate
    others = [candidate for candidate in facts if candidate is not keeper]
    merged = _merged(keeper, others)
    gone = [
        Change(candidate, candidate.evolve(superseded_by=keeper.memory_id, valid_to=max(run.now, candidate.valid_from)))
        for candidate in others
    ]
    await changes.replace(tx, keeper, written(merged), None, run.now)
    await store.replace(tx, [NewMemoryRow(candidate.after) for candidate in gone], "memory.superseded", run.now)
    await record(tx, run, [Change(keeper, merged), *gone])
    return len(gone)


def _is_own(row: MemoryRow) -> bool:
    return origin_of(row.role, row.source, row.metadata) == "own"


def _merged(keeper: MemoryRow, others: list[MemoryRow]) -> MemoryRow:
    """Return the kept memory with the highest importance, all tags, the latest expiry, the least trust, merged ids."""
    ends = [row.expires_at for row in (keeper, *others)]
    before = keeper.metadata.get("merged_from")
    ids: list[Json] = [*(before if isinstance(before, list) else ()), *(str(row.memory_id) for row in others)]
    return keeper.evolve(
        importance=max(row.importance for row in (keeper, *others)),
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        tags=tuple(dict.fromkeys(tag for row in (keeper, *others) for tag in row.tags))[:50],
        metadata=with_trust({**keeper.metadata, "merged_from": ids[-100:]}, _least_trust(keeper, *others)),
    )


def _least_trust(*rows: MemoryRow) -> Trust:
    return least(trust_of(row.role, row.source, row.metadata, row.layer) for row in rows)


async def _sum_up(tx: Tx, run: Run, week: Row) -> int:
    """Store one summary memory for a week of faded memories. Return 0 if there is one already."""
    who = (tx.scope.tenant_id, tx.scope.user_id)
    rows = await tx.fetch(
        QUERIES["cluster_memories"], *who, week["agent_id"], week["content_type"], week["week"], run.now
    )
    if not rows:
        return 0
    notes = [Note(kind="message", text=row["content"], role="user", at=row["valid_from"]) for row in rows]
    lines = await asyncio.to_thread(_summary, notes)
    kind = week["content_type"].replace("_", " ")
    memory = NewMemory(
        content=f"{kind.capitalize()}, week of {week['week']:%Y-%m-%d}: {len(notes)} entries.\n{lines}"[:8_000],
        kind="episodic",
        content_type="summary",
        namespace=SUMMARIES,
        key=f"{week['agent_id']}/{week['content_type']}/{week['week']:%Y-%m-%d}"[:255],
        importance=0.5,
        agent_id=week["agent_id"] or None,
        valid_from=week["week"],
        metadata=with_trust(
            {"summarises": len(notes), "sources": [str(row["memory_id"]) for row in rows]},
            least(trust_of(row["role"], None, {}) for row in rows),
        ),
        expires_at=min((row["expires_at"] for row in rows if row["expires_at"]), default=None),
    )
    summed = new_row(memory, tx.scope, new_id(), run.now)
    if await store.lock_same(tx, summed) is not None or not await store.insert_many(tx, [written(summed)], ""):
        return 0
    await record(tx, run, [Change(None, summed)])
    return 1


def _summary(notes: Sequence[Note]) -> str:
    summary = ""
    for start in range(0, len(notes), 5):
        summary = summarise(summary, notes[start : start + 5])
    return summary or "\n".join(f"- {note.text[:120]}" for note in notes[:10])


async def _flag(tx: Tx, run: Run) -> int:
    rows = await tx.fetch(QUERIES["memories_stale"], tx.scope.tenant_id, tx.scope.user_id, run.now - STALE_AFTER, BATCH)
    day = f"{run.now:%Y-%m-%d}"
    changes = [
        Change(row, row.evolve(metadata={**row.metadata, "stale_since": day})) for row in map(MemoryRow.read, rows)
    ]
    if changes:
        await store.replace(tx, [NewMemoryRow(change.after) for change in changes], "memory.written", run.now)
        await record(tx, run, changes)
    return len(changes)
