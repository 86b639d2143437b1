"""Measure whether partitions would help one large tenant: the largest tables in several layouts, with the same rows.

    keeps bench partitions --memories 3000000

A tenant has two thirds of the rows, and a hundred others share the rest. The tables are copies of Keeps' own, with
their columns, checks and indexes, and are read as keeps_app under a policy, by prepared statements with generic plans.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import asyncpg
from rich.console import Console
from rich.table import Table

from benchmarks import temporary_folder
from keeps.store.db.embedded import EmbeddedPostgres

MONTHS, PARTS, OTHERS, USERS = 24, 16, 100, 2_000
CALLS, BATCH = 200, 500
TABLES = ("memories", "memory_vectors", "events")
LAYOUTS: dict[str, dict[str, str]] = {
    "as in Keeps": {"events": "RANGE (recorded_at)"},
    "hash of tenant": dict.fromkeys(TABLES, "HASH (tenant_id)"),
    "hash of user": dict.fromkeys(TABLES, "HASH (user_id)"),
    "month": {"memories": "RANGE (memory_id)", "memory_vectors": "RANGE (memory_id)", "events": "RANGE (recorded_at)"},
}
MOMENT = f"timestamptz '2026-01-01' + n * (interval '{MONTHS} months' / $1)"
"""The time at which row n was stored. Ids begin with it, as in Keeps."""
IDENTIFIER = """CAST(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '7'
    || lpad(to_hex(n), 19, '0') AS uuid)"""
ROWS = f"""SELECT n, tenant, moment, {IDENTIFIER} AS id,
        tenant || ' user ' || (n / 3) % CASE tenant WHEN 'large' THEN {USERS} ELSE 10 END AS person
    FROM (SELECT n, CASE WHEN n % 3 < 2 THEN 'large' ELSE 'small ' || n % {OTHERS} END AS tenant, {MOMENT} AS moment
          FROM generate_series($2::bigint, $3::bigint) AS n) AS numbered"""
FILL = {
    "memories": f"""INSERT INTO tried.memories (tenant_id, memory_id, user_id, kind, layer, content, content_type,
            metadata, tags, importance, visibility, content_hash, valid_from, version, created_at, updated_at)
        SELECT tenant, id, person, 'semantic', 'long_term', repeat(md5(n::text) || ' ', 5), 'fact', '{{}}', '{{}}',
            0.45, 'private', sha256(int8send(n)), moment, 1, moment, moment FROM ({ROWS}) AS rows""",
    "memory_vectors": f"""INSERT INTO tried.memory_vectors (tenant_id, memory_id, model, user_id, audience, life,
            embedding)
        SELECT tenant, id, 'x', person, person, 'current', CAST(array_fill((n % 97)::real, ARRAY[384]) AS halfvec)
        FROM ({ROWS}) AS rows""",
    "events": f"""INSERT INTO tried.events (tenant_id, sequence, event_id, type, source, subject, time, user_id,
            visibility, data, recorded_at)
        SELECT tenant, n, id, 'memory.written', 'keeps', id::text, moment, person, 'private',
            jsonb_build_object('memory', repeat(md5(n::text) || ' ', 20)), moment FROM ({ROWS}) AS rows""",
}
SIZE = """SELECT sum(pg_total_relation_size(oid))::float8 / 1e9 FROM pg_class
    WHERE relnamespace = 'tried'::regnamespace AND relkind = 'r'"""
BOUNDS = {
    "recorded_at": "SELECT {first}, {last}",
    "memory_id": "SELECT "
    + ", ".join(
        f"CAST(lpad(to_hex((extract(epoch FROM {{{end}}}) * 1000)::bigint), 12, '0') || repeat('0', 20) AS uuid)"
        for end in ("first", "last")
    ),
}
Seen = list[asyncpg.Record]
"""Rows of memories of the large tenant."""


def _sixty(chance: random.Random, seen: Seen) -> list[UUID]:
    return [row["memory_id"] for row in chance.sample(seen, 60)]


def _user(chance: random.Random, seen: Seen) -> str:
    return chance.choice(seen)["user_id"]


def _number(chance: random.Random, seen: Seen) -> int:
    return chance.randrange(len(seen))


READS: dict[str, tuple[str, Callable[[random.Random, Seen], object]]] = {
    "60 memories by id": (
        "SELECT * FROM tried.memories WHERE tenant_id = 'large' AND memory_id = ANY ($1::uuid[])",
        _sixty,
    ),
    "newest 50 of a user": (
        "SELECT * FROM tried.memories WHERE tenant_id = 'large' AND user_id = $1"
        " ORDER BY created_at DESC, memory_id DESC LIMIT 50",
        _user,
    ),
    "vectors of a user": (
        "SELECT memory_id, embedding::text FROM tried.memory_vectors"
        " WHERE tenant_id = 'large' AND audience = $1 AND life = 'current' AND model = 'x'",
        _user,
    ),
    "500 events after a number": (
        "SELECT * FROM tried.events WHERE tenant_id = 'large' AND sequence > $1 ORDER BY sequence LIMIT 500",
        _number,
    ),
}
"""Statements, and what makes their parameter."""


def run(*, memories: int, as_json: bool, home: Path | None) -> int:
    with temporary_folder("partitions") as folder:
        figures = asyncio.run(_measure(home or folder / "home", memories))
    if as_json:
        print(json.dumps(figures))
        return 0
    table = Table("", *figures, title=f"{memories:,} memories, vectors and events")
    for name in next(iter(figures.values())):
        table.add_row(name, *(f"{layout[name]:,.2f}" for layout in figures.values()))
    Console().print(table)
    return 0


async def _measure(home: Path, memories: int) -> dict[str, dict[str, float]]:
    async with await EmbeddedPostgres.open(home) as server:
        owner = await asyncpg.connect(server.url("postgres"))
        figures: dict[str, dict[str, float]] = {}
        for name, layout in LAYOUTS.items():
            figures[name] = await _layout(server, owner, layout, memories)
            await owner.execute("DROP SCHEMA tried CASCADE")
            await owner.execute("CHECKPOINT")
        await owner.close()
        return figures


async def _layout(
    server: EmbeddedPostgres, owner: asyncpg.Connection, layout: dict[str, str], memories: int
) -> dict[str, float]:
    await owner.execute("CREATE SCHEMA tried; GRANT USAGE ON SCHEMA tried TO keeps_app")
    for table in TABLES:
        await _create(owner, table, layout.get(table))
    figures: dict[str, float] = {}
    step = memories // MONTHS
    for table in TABLES:
        spent = 0.0
        for first in range(0, memories, step):
            spent += await _seconds(lambda: owner.execute(FILL[table], memories, first, first + step - 1))  # noqa: B023
        figures[f"fill {table}, s"] = spent
    figures["vacuum and analyze, s"] = await _seconds(lambda: owner.execute("VACUUM (ANALYZE)"))
    figures["size, GB"] = float(await owner.fetchval(SIZE) or 0)
    seen = await owner.fetch(
        "SELECT memory_id, user_id FROM tried.memories TABLESAMPLE SYSTEM (5) WHERE tenant_id = 'large' LIMIT 20000"
    )
    app = await asyncpg.connect(server.url("keeps_app"))
    await app.execute("SET plan_cache_mode = force_generic_plan; SET app.current_tenant = 'large'")
    chance = random.Random(1)
    for name, (sql, parameter) in READS.items():
        times = [await _seconds(lambda: app.fetch(sql, parameter(chance, seen))) for _ in range(CALLS)]  # noqa: B023
        figures[f"{name}, ms"] = statistics.median(times) * 1e3
        figures[f"{name}, p95 ms"] = statistics.quantiles(times, n=20)[-1] * 1e3
    await app.close()
    firsts = range(memories, memories + 20 * BATCH, BATCH)
    writes = [await _seconds(lambda: _write(owner, memories, first)) for first in firsts]  # noqa: B023
    figures["write 500, ms"] = statistics.median(writes) * 1e3
    figures["erase a tenant, s"] = await _seconds(lambda: _delete(owner, "tenant_id = 'small 1'"))
    month = f"recorded_at < timestamptz '2026-01-01' + interval '{MONTHS} months' / {MONTHS}"
    figures["retire the events of a month, s"] = await _seconds(
        lambda: (
            owner.execute("DROP TABLE tried.events_0")
            if layout.get("events", "").startswith("RANGE")
            else owner.execute(f"DELETE FROM tried.events WHERE {month}")
        )
    )
    figures["vacuum after both, s"] = await _seconds(lambda: owner.execute("VACUUM (ANALYZE)"))
    figures["rebuild an index of memories, s"] = await _seconds(
        lambda: owner.execute("REINDEX INDEX tried.tried_memories_by_owner")
    )
    return figures


async def _create(owner: asyncpg.Connection, table: str, by: str | None) -> None:
    """Create a copy of a table of Keeps, partitioned by `by`; unique indexes that this forbids are plain ones."""
    await owner.execute(
        f"CREATE TABLE tried.{table} (LIKE keeps.{table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        + (f" PARTITION BY {by}" if by else "")
    )
    column = by.split("(")[1].rstrip(")") if by else ""
    if by and by.startswith("HASH"):
        for part in range(PARTS):
            await owner.execute(
                f"CREATE TABLE tried.{table}_{part} PARTITION OF tried.{table}"
                f" FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {part})"
            )
    elif by:
        for month in range(MONTHS + 1):
            first, last = (
                f"timestamptz '2026-01-01' + {each} * (interval '{MONTHS} months' / {MONTHS})"
                for each in (month, month + 1)
            )
            (bounds,) = await owner.fetch(BOUNDS[column].format(first=first, last=last))
            await owner.execute(
                f"CREATE TABLE tried.{table}_{month} PARTITION OF tried.{table}"
                f" FOR VALUES FROM ('{bounds[0]}') TO ('{bounds[1]}')"
            )
    for row in await owner.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'keeps' AND tablename = $1", table
    ):
        made = row["indexdef"].replace(" ONLY", "").replace(f"keeps.{table}", f"tried.{table}")
        made = made.replace(f" {row['indexname']} ", f" tried_{row['indexname']} ")
        columns = made.split(f"tried.{table} ")[1].split(")")[0]
        if column and column not in columns:
            made = made.replace("UNIQUE ", "")
        await owner.execute(made)
    await owner.execute(
        f"ALTER TABLE tried.{table} ENABLE ROW LEVEL SECURITY;"
        f" CREATE POLICY own ON tried.{table} USING (tenant_id = current_setting('app.current_tenant', true));"
        f" GRANT SELECT ON tried.{table} TO keeps_app"
    )


async def _write(owner: asyncpg.Connection, memories: int, first: int) -> None:
    async with owner.transaction():
        for table in TABLES:
            await owner.execute(FILL[table], memories, first, first + BATCH - 1)


async def _delete(owner: asyncpg.Connection, which: str) -> None:
    async with owner.transaction():
        for table in TABLES:
            await owner.execute(f"DELETE FROM tried.{table} WHERE {which}")


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started
