"""Many tenants of which few are used: what the statements of the worker and of operators read to find what is due.

    keeps bench tenants [--tenants 100000] [--active 1000]

The population is written by SQL: a user, a memory and a schedule for each tenant; all but the active ones rest.
Rows and pages (8 kB) that each statement reads do not depend on the machine; milliseconds do. Then a worker runs all
jobs that are due in an hour. Exit code 1 if finding them reads more than three rows of the schedule for each.
"""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import asyncpg

from benchmarks import temporary_folder
from keeps import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.jobs.worker import JobQueue, Worker, queue_on

POPULATION = """
SET session_replication_role = replica;
INSERT INTO keeps.tenants (tenant_id, memory_count, memory_bytes, last_sequence, jobs_rest)
SELECT 'tenant-' || n, 1, 140, 1, n > {active} FROM generate_series(1, {tenants}) AS n;
INSERT INTO keeps.users (tenant_id, user_id) SELECT 'tenant-' || n, 'alice' FROM generate_series(1, {tenants}) AS n;
INSERT INTO keeps.memories (tenant_id, memory_id, user_id, kind, layer, namespace, content, content_type, importance,
    visibility, content_hash, valid_from, created_at, updated_at, version, metadata, tags)
SELECT 'tenant-' || n, gen_random_uuid(), 'alice', 'semantic', 'long_term', 'facts', 'Fact ' || n, 'text', 0.5,
    'private', sha256(n::text::bytea), now() - interval '30 days', now() - interval '30 days',
    now() - interval '30 days', 1, '{{}}', '{{}}'
FROM generate_series(1, {tenants}) AS n;
INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at)
SELECT 'tenant-' || n, job, now() + CASE WHEN n <= {active} THEN random() * interval '1 hour'
                                         ELSE interval '1 hour' + random() * interval '7 days' END
FROM generate_series(1, {tenants}) AS n
CROSS JOIN unnest(ARRAY['sessions', 'promotion', 'decay', 'storage', 'expiry', 'consolidation']) AS job;
INSERT INTO keeps.storage_samples (tenant_id, day, memories, bytes, events)
SELECT 'tenant-' || n, current_date, 1, 140, 1 FROM generate_series(1, {tenants}) AS n;
INSERT INTO keeps.webhooks (tenant_id, webhook_id, url, types, secret, active, position, next_attempt_at, created_by,
    created_at)
SELECT 'tenant-' || n, gen_random_uuid(), 'https://example.com', '{{}}', 'x', true, 1, now() - interval '1 day',
    'alice', now()
FROM generate_series(1, {active}) AS n;
SET session_replication_role = origin;
VACUUM ANALYZE;
"""
STATEMENTS = {
    "a minute's due jobs, all tenants but the active ones at rest": (
        "SELECT * FROM keeps.take_due_jobs($1::timestamptz + interval '1 minute', 5000)"
    ),
    "an hour's due jobs": "SELECT * FROM keeps.take_due_jobs($1::timestamptz + interval '1 hour', 5000)",
    "due jobs as if no job could rest, at most 5,000": (
        "SELECT * FROM keeps.take_due_jobs($1::timestamptz + interval '8 days', 5000)"
    ),
    "webhooks with something to send": "SELECT * FROM keeps.webhooks_due($1::timestamptz, 64)",
    "metrics: webhooks behind": "SELECT * FROM keeps.webhooks_behind() WHERE $1::timestamptz IS NOT NULL",
    "metrics: memories without a vector": "SELECT * FROM keeps.index_waiting() WHERE $1::timestamptz IS NOT NULL",
    "rebalance: sizes": (
        "SELECT tenant_id, memory_count FROM keeps.tenants WHERE keeps.elsewhere(tenant_id) IS NULL"
        " AND $1::timestamptz IS NOT NULL"
    ),
}


def run(*, tenants: int, active: int, as_json: bool, home: Path | None) -> int:
    with temporary_folder("tenants") as temporary:
        measured = asyncio.run(_measure(home or temporary, tenants, active))
    print(json.dumps(measured, indent=None if as_json else 2, default=str))
    return 0 if measured["statements"]["an hour's due jobs"]["rows_of_the_schedule"] <= 3 * 6 * active else 1


async def _measure(home: Path, tenants: int, active: int) -> dict[str, Any]:
    async with Keeps.open(home) as keeps:
        admin = await asyncpg.connect(keeps.admin_url)
        started = time.perf_counter()
        for statement in POPULATION.format(tenants=tenants, active=active).split(";\n"):
            if statement.strip():
                await admin.execute(statement)
        filled = time.perf_counter() - started
        statements = {name: await _explained(admin, text) for name, text in STATEMENTS.items()}
        hour = await _hour(keeps, admin)
        bytes_used = await keeps.service(Indexer).storage_bytes()
        await admin.close()
    return {
        "tenants": tenants,
        "active": active,
        "fill_seconds": round(filled, 1),
        "statements": statements,
        "hour": hour,
        "database_mb": bytes_used >> 20,
    }


async def _explained(admin: asyncpg.Connection, text: str) -> dict[str, Any]:
    """Run a statement three times, each rolled back; return its rows, pages and the least milliseconds."""
    runs: list[dict[str, Any]] = []
    for _ in range(3):
        transaction = admin.transaction()
        await transaction.start()
        before = await _schedule_reads(admin)
        statement = text.replace("$1", f"'{datetime.now(UTC).isoformat()}'")
        ((plan,),) = await admin.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
        reads = await _schedule_reads(admin) - before
        await transaction.rollback()
        (top,) = json.loads(plan)
        runs.append(
            {
                "rows": top["Plan"]["Actual Rows"],
                "rows_of_the_schedule": reads,
                "pages": top["Plan"]["Shared Hit Blocks"] + top["Plan"]["Shared Read Blocks"],
                "ms": round(top["Execution Time"], 1),
            }
        )
    return min(runs, key=lambda each: each["ms"])


async def _schedule_reads(admin: asyncpg.Connection) -> int:
    ((reads,),) = await admin.fetch(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'tenant_jobs'"
    )
    return reads


async def _hour(keeps: Keeps, admin: asyncpg.Connection) -> dict[str, Any]:
    """Run every job that is due within an hour."""
    await asyncio.to_thread(import_module, "pgqueuer")  # A worker loads it in a thread, and so does `queue_on`.
    worker = keeps.service(Worker)
    ends = datetime.now(UTC) + timedelta(hours=1)
    ((due,),) = await admin.fetch("SELECT count(*) FROM keeps.tenant_jobs WHERE due_at <= $1", ends)
    await admin.execute("UPDATE keeps.tenant_jobs SET due_at = now() WHERE due_at <= $1", ends)
    started = time.perf_counter()
    worker.start()
    async with keeps.database.main.dedicated_connection() as connection:
        queries = queue_on(connection)
        while worker.done < due:
            await worker.tick(keeps.database.main, queries)
            await asyncio.sleep(0.5)
    seconds = time.perf_counter() - started
    await worker.close()
    return {
        "jobs": worker.done,
        "seconds": round(seconds, 1),
        "jobs_per_second": round(worker.done / seconds),
        "held": len(await keeps.service(JobQueue).held()),
        "tenants_at_rest_after": await admin.fetchval("SELECT count(*) FROM keeps.tenants WHERE jobs_rest"),
    }
