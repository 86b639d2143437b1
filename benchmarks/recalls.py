"""The whole recall of one user, by size: median, 95th percentile, and the share of each stage.

    keeps bench recall [--sizes 700,5000,28000,250000] [--1m] [--json]

Embedding is excluded: vectors come from a table (`benchmarks/speed.py`), questions are known before they are timed.
Memories are turns of conversations of 25; words are as frequent as in a language, and one question in ten holds a word
that nobody wrote. The median is that of a user whose arrays the process holds; beside it that of the first questions,
which the database answers, and the floor: the exact distance of all vectors of the same user, in raw SQL, in turn.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import asyncpg
import numpy as np
from pgvector import HalfVector
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import temporary_folder
from benchmarks.speed import VectorTable, text_of
from keeps import Keeps, Scope
from keeps.memory.recall import store
from keeps.memory.recall.index_source import IndexSource
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.source import DatabaseSource
from keeps.store.db.embedded import EmbeddedPostgres

BATCH, QUESTIONS, TURNS = 500, 200, 25
FROM_DATABASE = 40
"""Number of questions that are asked before the process holds the user's arrays."""
FLOOR = "SELECT memory_id FROM keeps.memory_vectors WHERE tenant_id = $1 ORDER BY embedding <=> $2 LIMIT 10"
STAGES = {
    "words": "words",
    "other_words": "misspelt",
    "vocabularies": "misspelt",
    "nearest": "signs",
    "rows": "candidates",
    "around": "candidates",
}
"""Stages of a recall by the methods of its source."""


def run(sizes: list[int], *, as_json: bool) -> int:
    rows = asyncio.run(_run(sizes))
    if as_json:
        print(json.dumps(rows))
        return 0
    table = Table("memories", "median, ms", "p95, ms", "database, ms", "floor, ms", "first, ms", "ms of each stage")
    for row in rows:
        stages = ", ".join(f"{name} {took:.1f}" for name, took in row["stages"].items())
        numbers = (f"{row[name]:.1f}" for name in ("median", "p95", "database", "floor", "first"))
        table.add_row(f"{row['memories']:,}", *numbers, stages)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 0


async def _run(sizes: list[int]) -> list[dict[str, Any]]:
    embedder = VectorTable()
    with temporary_folder("recalls") as folder:
        async with await EmbeddedPostgres.open(folder / "home") as server:
            url = server.url("keeps_app")
            async with Keeps.open(database_url=url, embedder=embedder) as keeps:
                for size in sizes:
                    await _fill(keeps, embedder, size)
            admin = await asyncpg.connect(server.url("postgres"))
            await admin.execute("VACUUM (ANALYZE)")
            await admin.close()
            rows: list[dict[str, Any]] = []
            for size in sizes:  # each with an engine of its own: its first question finds empty caches
                async with Keeps.open(database_url=url, embedder=embedder) as keeps:
                    rows.append(await _measured(keeps, url, embedder, size))
            return rows


async def _fill(keeps: Keeps, embedder: VectorTable, size: int) -> None:
    memory = keeps.memory(Scope("bench", f"user-{size}"))
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"storing {size:,}", total=size)
        for start in range(0, size, BATCH):
            texts = [text_of(number) for number in range(start, min(start + BATCH, size))]
            embedder.make(texts)
            turns = [
                {"content": text, "kind": "episodic", "role": "user", "session_id": f"s{(start + place) // TURNS}"}
                for place, text in enumerate(texts)
            ]
            await memory.remember_many(turns, index="now")
            progress.advance(bar, BATCH)


async def _measured(keeps: Keeps, url: str, embedder: VectorTable, size: int) -> dict[str, Any]:
    scope = Scope("bench", f"user-{size}")
    memory = keeps.memory(scope)
    questions = [_question(number) for number in range(QUESTIONS)]
    embedder.make(questions)
    started = time.perf_counter()
    await memory.recall(questions[-1])
    first = time.perf_counter() - started
    indexes = keeps.service(AudienceIndexes)
    cold: list[float] = []
    indexes.room, room = 0, indexes.room
    for question in questions[:FROM_DATABASE]:
        started = time.perf_counter()
        await memory.recall(question)
        cold.append(time.perf_counter() - started)
    indexes.room = room
    await _hold(indexes, scope)
    connection = await asyncpg.connect(url)
    await register_vector(connection)
    times: list[float] = []
    floors: list[float] = []
    for question in questions:
        started = time.perf_counter()
        await memory.recall(question)
        times.append(time.perf_counter() - started)
        if len(floors) < 40:
            started = time.perf_counter()
            async with connection.transaction(readonly=True):
                await connection.execute(
                    "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)",
                    scope.tenant_id,
                    scope.user_id,
                )
                await connection.fetch(FLOOR, scope.tenant_id, HalfVector(embedder.vector(question)))
            floors.append(time.perf_counter() - started)
    await connection.close()
    with _stages() as spent:
        started = time.perf_counter()
        for question in questions:
            await memory.recall(question)
        whole = time.perf_counter() - started
    stages = {name: 1e3 * took / QUESTIONS for name, took in spent.items()}
    stages["the rest"] = 1e3 * whole / QUESTIONS - sum(stages.values())
    return {
        "memories": size,
        "median": 1e3 * statistics.median(times),
        "p95": 1e3 * float(np.quantile(times, 0.95)),
        "database": 1e3 * statistics.median(cold),
        "floor": 1e3 * statistics.median(floors),
        "first": 1e3 * first,
        "stages": stages,
    }


def _question(number: int) -> str:
    words = text_of(50_000_000 + number).split(" ")
    return " ".join(([*words[:6], "wrodly"] if number % 10 == 0 else words[:7]) + words[-1:])


async def _hold(indexes: AudienceIndexes, scope: Scope) -> None:
    """Have the arrays of a user read, unless they are too large."""
    for _ in range(2):
        indexes.note(scope)
    await indexes.settle()


@contextmanager
def _stages() -> Generator[dict[str, float]]:
    """Seconds that each stage takes meanwhile."""
    spent: dict[str, float] = defaultdict(float)
    before: list[tuple[Any, str, Any]] = []

    def time_calls(owner: Any, name: str, stage: str) -> None:
        inner = getattr(owner, name)
        before.append((owner, name, inner))

        async def run(*values: Any, **more: Any) -> Any:
            started = time.perf_counter()
            try:
                return await inner(*values, **more)
            finally:
                spent[stage] += time.perf_counter() - started

        setattr(owner, name, run)

    for owner in (DatabaseSource, IndexSource):
        for name, stage in STAGES.items():
            time_calls(owner, name, stage)
    for name in ("hits", "memories"):
        time_calls(store, name, "the hits")
    try:
        yield spent
    finally:
        for owner, name, inner in before:
            setattr(owner, name, inner)
