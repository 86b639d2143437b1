"""A database of millions of memories on one machine: what slows down, by how much, and how large it gets.

    keeps bench scale --memories 3000000

One tenant is written by the real engine: 20 users of 500 memories, and one of 10,000. Its calls are timed. Then the
owner of the tables copies its rows to as many further tenants as it takes, the database is vacuumed, and the same calls
are timed again, each of a tenant chosen at random, so that what it reads is seldom in memory. The ratio tells what size
costs: the calls are the same, and so are the rows that they find.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import temporary_folder
from benchmarks.speed import VectorTable, text_of
from keeps import Keeps, Scope
from keeps.memory.indexing import store
from keeps.memory.indexing.service import Indexer
from keeps.memory.jobs.worker import JobQueue
from keeps.memory.transfer.erasure import TenantService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService

USERS, MEMORIES, LARGE = 20, 500, 10_000
PER_TENANT = USERS * MEMORIES + LARGE
BATCH, CALLS = 500, 200
COLUMNS = """SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = ('keeps.' || $1)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      AND attname <> 'tenant_id'"""
SIZES = """SELECT relname AS name, reltuples::bigint AS rows,
        pg_table_size(oid) AS table, pg_indexes_size(oid) AS indexes
    FROM pg_class WHERE relnamespace = 'keeps'::regnamespace AND relkind = 'r'
    ORDER BY pg_total_relation_size(oid) DESC LIMIT 8"""


def run(*, memories: int, as_json: bool, home: Path | None) -> int:
    with temporary_folder("volume") as folder:
        told = asyncio.run(_measure(home or folder / "home", max(1, memories // PER_TENANT)))
    if as_json:
        print(json.dumps(told))
        return 0
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(
        f"{told['memories']:,} memories of {told['tenants']:,} tenants: {told['bytes'] / 1e9:.1f} GB,"
        f" {told['bytes'] / told['memories'] / 1e3:.1f} kB each; copied in {told['copied_seconds']:.0f} s, vacuumed in"
        f" {told['vacuum_seconds']:.0f} s"
    )
    table = Table("call", "alone, ms", "p95", f"beside {told['memories']:,}, ms", "p95", "ratio")
    for name, (alone, beside) in told["calls"].items():
        numbers = (f"{each:,.1f}" for each in (*alone, *beside))
        table.add_row(name, *numbers, f"{beside[0] / alone[0]:.1f}")
    console.print(table)
    table = Table("table", "rows", "table, GB", "indexes, GB")
    for each in told["sizes"]:
        table.add_row(each["name"], f"{each['rows']:,}", f"{each['table'] / 1e9:.2f}", f"{each['indexes'] / 1e9:.2f}")
    console.print(table)
    return 0


async def _measure(home: Path, tenants: int) -> dict[str, Any]:
    embedder = VectorTable()
    async with await EmbeddedPostgres.open(home) as server:
        owner = await asyncpg.connect(server.url("postgres"))
        async with Keeps.open(database_url=server.url("keeps_app"), embedder=embedder) as keeps:
            await _write(keeps, embedder)
            await owner.execute("VACUUM (ANALYZE)")
            alone = await _calls(keeps, embedder, [_name(0)])
        started = time.perf_counter()
        await _copy(owner, tenants)
        copied = time.perf_counter() - started
        started = time.perf_counter()
        await owner.execute("VACUUM (ANALYZE)")
        vacuum = time.perf_counter() - started
        async with Keeps.open(database_url=server.url("keeps_app"), embedder=embedder) as keeps:
            beside = await _calls(keeps, embedder, [_name(number) for number in range(tenants)])
        told = {
            "tenants": tenants,
            "memories": tenants * PER_TENANT,
            "bytes": await owner.fetchval("SELECT pg_database_size(current_database())"),
            "copied_seconds": copied,
            "vacuum_seconds": vacuum,
            "calls": {name: (alone[name], beside[name]) for name in alone},
            "sizes": [dict(row) for row in await owner.fetch(SIZES)],
        }
        await owner.close()
        return told


def _name(number: int) -> str:
    return f"tenant-{number:05}"


async def _write(keeps: Keeps, embedder: VectorTable, large: int = LARGE) -> None:
    """Store the first tenant by the engine: users, and one with `large` memories."""
    users = {f"user-{number}": MEMORIES for number in range(USERS)} | {"large": large}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("storing", total=sum(users.values()))
        written = 0
        for user, count in users.items():
            for _ in range(0, count, BATCH):
                texts = [text_of(written + each) for each in range(BATCH)]
                embedder.make(texts)
                await keeps.memory(Scope(_name(0), user)).remember_many(
                    [{"content": text} for text in texts], index="now"
                )
                written += BATCH
                progress.advance(bar, BATCH)


async def _copy(owner: asyncpg.Connection, tenants: int) -> None:
    """All rows of the first tenant, to the others, as they are: no trigger runs."""
    tables = [row[0] for row in await owner.fetch("SELECT keeps_cells.tenant_tables()")]
    columns = {table: await owner.fetchval(COLUMNS, table) for table in tables}
    await owner.execute("SET session_replication_role = replica")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("copying", total=tenants)
        for number in range(1, tenants):
            async with owner.transaction():
                for table, names in columns.items():
                    # Names come from the catalogue of the database that this benchmark made.
                    copy = (
                        f"INSERT INTO keeps.{table} (tenant_id, {names})"  # noqa: S608
                        f" OVERRIDING SYSTEM VALUE SELECT $1, {names} FROM keeps.{table} WHERE tenant_id = $2"
                    )
                    await owner.execute(copy, _name(number), _name(0))
            progress.advance(bar)


async def _calls(keeps: Keeps, embedder: VectorTable, tenants: list[str]) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile of each call, in milliseconds; of what looks at all tenants, of three."""
    chosen = random.Random(1)
    database = keeps.database

    def memory(user: str = "") -> Any:
        return keeps.memory(Scope(chosen.choice(tenants), user or f"user-{chosen.randrange(USERS)}"))

    questions = [text_of(60_000_000 + number) for number in range(CALLS)]
    told: dict[str, tuple[float, float]] = {}

    async def time_it(name: str, call: Callable[[int], Awaitable[object]], times: int = CALLS) -> None:
        took: list[float] = []
        for number in range(times):
            started = time.perf_counter()
            await call(number)
            took.append(1e3 * (time.perf_counter() - started))
        told[name] = (statistics.median(took), float(np.quantile(took, 0.95)))

    embedder.make(questions)
    await time_it("recall, 500 memories", lambda n: memory().recall(questions[n]))
    await time_it("recall, 10,000 memories", lambda n: memory("large").recall(questions[n]))
    await time_it("list, newest first", lambda _: memory().list(limit=50))
    written = [text_of(70_000_000 + number) for number in range(CALLS)]
    embedder.make(written)
    await time_it("remember", lambda n: memory().remember(written[n], index="now"))
    await time_it("verify a tenant", lambda _: keeps.service(EventService).verify(Scope(chosen.choice(tenants))), 3)
    await time_it("all tenants: waiting for a vector", lambda _: keeps.service(Indexer).lag(), 3)
    await time_it(
        "all tenants: vectors of other models", lambda _: store.users_with_other_models(database, embedder.model), 3
    )
    await time_it("all tenants: without a vector", lambda _: keeps.service(Indexer).users_to_index(), 3)
    await time_it("all tenants: counts", lambda _: store.counts(database), 3)
    await time_it("all tenants: a page of 100", lambda _: keeps.service(TenantService).page("", 100), 3)
    await time_it("all tenants: jobs that are due", lambda _: keeps.service(JobQueue).status(), 3)
    return told
