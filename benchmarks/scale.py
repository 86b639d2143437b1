"""Hourly jobs at scale: many tenants, many short-term rows, one worker on this machine.

    keeps bench scale [--tenants 10000] [--rows 1000000]

Rows are written by the real engine (vectors are random: nothing is searched). Then every hourly job of every tenant is
due at once, after weeks in which nothing ran: the worst hour there is; and an hour later once more, as any other hour.
One tenant's decay is undone, and its rows are compared with those before, and with its events. Exit code 1 where an
hour was not enough, or something differs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
import psutil
from rich.console import Console
from rich.progress import Progress

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.memory.indexing.service import Indexer
from keeps.memory.jobs.worker import JobQueue, Worker, queue_on
from keeps.models.embedder import Embedding, QueryEmbedding
from keeps.store.events.service import EventService

HOURLY = ("sessions", "promotion", "decay", "storage")
START = datetime(2026, 1, 5, tzinfo=UTC)
WORDS = (
    "harbour boat morning coffee ticket meeting garden budget train letter window invoice recipe holiday kitchen engine"
    " market report".split()
)


class _Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class _Random:
    """Unit vectors of no meaning."""

    model, dimensions = "random", 384

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        found = self._random.standard_normal((len(texts), 384)).astype(np.float32)
        return [Embedding(each, None) for each in found / np.linalg.norm(found, axis=1, keepdims=True)]

    async def embed_query(self, text: str) -> QueryEmbedding:
        (each,) = await self.embed([text])
        return QueryEmbedding(each.sentence, None, ())

    async def close(self) -> None: ...


def run(*, tenants: int, rows: int, as_json: bool, home: Path | None) -> int:
    with temporary_folder("scale") as temporary:
        told = asyncio.run(_measure(home or temporary, tenants, rows))
    print(json.dumps(told, indent=None if as_json else 2, default=str))
    fits = told["worst_hour_seconds"] < 3_600 and told["usual_hour_seconds"] < 3_600
    return 0 if fits and told["undo_exact"] and told["verified"] else 1


async def _measure(home: Path, tenants: int, rows: int) -> dict[str, Any]:
    clock = _Clock()
    told: dict[str, Any] = {"tenants": tenants, "rows": rows}
    async with Keeps.open(home, embedder=_Random(), clock=clock) as keeps:
        admin = await asyncpg.connect(keeps.admin_url)
        if await admin.fetchval("SELECT count(*) FROM keeps.tenants") < tenants:
            started = time.perf_counter()
            await _fill(keeps, clock, tenants, rows)
            told["fill_rows_per_second"] = round(rows / (time.perf_counter() - started))
        await admin.execute("ANALYZE")
        clock.now = START + timedelta(days=21)
        told["short_term"] = await admin.fetchval(
            "SELECT count(*) FROM keeps.memories WHERE layer = 'short_term' AND archived_at IS NULL"
        )
        chosen = "tenant-00007"
        before = await _picture(admin, chosen)
        told["worst_hour_seconds"], told["worst_hour"] = await _hour(keeps, admin, clock)
        clock.now += timedelta(hours=1)
        told["usual_hour_seconds"], told["usual_hour"] = await _hour(keeps, admin, clock)
        memory = keeps.memory(Scope(chosen, "user"))
        started = time.perf_counter()
        for operation in (await memory.operations(limit=200)).items:
            if operation.undoable:
                await memory.undo(operation.operation_id)
        told["undo_seconds"] = round(time.perf_counter() - started, 2)
        told["undo_exact"] = await _picture(admin, chosen) == before
        told["verified"] = (await keeps.service(EventService).verify(memory.scope)).equal
        told["database_gb"] = round(await keeps.service(Indexer).storage_bytes() / 1e9, 2)
        await admin.close()
    return told


async def _fill(keeps: Keeps, clock: _Clock, tenants: int, rows: int) -> None:
    """As many rows for each tenant, written on random days of two weeks; one tenant in a hundred has twenty times as
    many."""
    choose = random.Random(7)
    weights = [20 if number % 100 == 0 else 1 for number in range(tenants)]
    share = rows / sum(weights)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("filling", total=rows)

        async def one(number: int) -> None:
            memory = keeps.memory(Scope(f"tenant-{number:05}", "user"))
            left = max(1, round(share * weights[number]))
            while left > 0:
                batch = [
                    {
                        "content": f"{' '.join(choose.choices(WORDS, k=12))} {number} {left} {position}",
                        "kind": "episodic",
                        "role": "user",
                        "importance": choose.choice((0.2, 0.3, 0.4, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8)),
                    }
                    for position in range(min(left, 500))
                ]
                clock.now = START + timedelta(days=choose.random() * 14)
                await memory.remember_many(batch, index="now")
                left -= len(batch)
                progress.advance(task, len(batch))

        for start in range(0, tenants, 4):
            await asyncio.gather(*(one(number) for number in range(start, min(start + 4, tenants))))


async def _hour(keeps: Keeps, admin: asyncpg.Connection, clock: _Clock) -> tuple[float, dict[str, Any]]:
    """Every hourly job of every tenant is due now: how long the worker takes, what it does, and its memory."""
    await admin.execute("UPDATE keeps.tenant_jobs SET due_at = $1 WHERE job = ANY ($2)", clock.now, list(HOURLY))
    await admin.execute("UPDATE keeps.tenant_jobs SET due_at = 'infinity' WHERE NOT job = ANY ($1)", list(HOURLY))
    worker = keeps.service(Worker)
    done_before, process, peak = worker.done, psutil.Process(os.getpid()), 0
    started = time.perf_counter()
    worker.start()
    async with keeps.database.main.dedicated_connection() as connection:
        queries = queue_on(connection)
        while await worker.tick(keeps.database.main, queries):
            pass
        while await admin.fetchval("SELECT count(*) FROM keeps_jobs.pgqueuer WHERE status IN ('queued', 'picked')"):
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.5)
    seconds = time.perf_counter() - started
    await worker.close()
    counts = await admin.fetch(
        "SELECT job, key, sum(value::bigint) AS done FROM keeps.operations CROSS JOIN jsonb_each_text(counts) WHERE"
        " started_at = $1 GROUP BY 1, 2",
        clock.now,
    )
    return round(seconds, 1), {
        "jobs": worker.done - done_before,
        "jobs_per_second": round((worker.done - done_before) / seconds, 1),
        "peak_mb": peak >> 20,
        "held": len(await keeps.service(JobQueue).held()),
        **{f"{row['job']}.{row['key']}": int(row["done"]) for row in counts},
    }


async def _picture(admin: asyncpg.Connection, tenant: str) -> str:
    """A hash of all rows of a tenant's memories, to the byte."""
    rows = await admin.fetch(
        "SELECT memories::text FROM keeps.memories WHERE tenant_id = $1 ORDER BY memory_id", tenant
    )
    return hashlib.sha256("\n".join(row[0] for row in rows).encode()).hexdigest()
