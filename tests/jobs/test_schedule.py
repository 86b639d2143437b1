"""Due jobs are found by an index, whatever the number of tenants; jobs rest where nobody writes; all get a turn."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import asyncpg
import pgqueuer  # noqa: F401  loading it takes a fifth of a second, which no step of a test is to take
import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.jobs.worker import SHORT_SLICE_SECONDS, SLICE_SECONDS, Worker
from keeps.memory.lifecycle.service import LONGEST_REST, Lifecycle
from keeps.memory.recall.access import AccessBuffer
from keeps.store.db.embedded import EmbeddedPostgres
from tests.conftest import admin, until
from tests.lifecycle.conftest import MovingClock

DYING = Path(__file__).with_name("dying.py")
HOURLY = ("sessions", "promotion", "decay", "storage")
TENANTS, ACTIVE = 5_000, 50
POPULATION = f"""
    SET session_replication_role = replica;
    INSERT INTO keeps.tenants (tenant_id, jobs_rest)
    SELECT 'tenant-' || n, n > {ACTIVE} FROM generate_series(1, {TENANTS}) AS n;
    INSERT INTO keeps.users (tenant_id, user_id) SELECT 'tenant-' || n, 'alice' FROM generate_series(1, {TENANTS}) AS n;
    INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at)
    SELECT 'tenant-' || n, job, CASE WHEN n <= {ACTIVE} THEN now() - n * interval '1 second'
                                     ELSE now() + random() * interval '7 days' + interval '1 hour' END
    FROM generate_series(1, {TENANTS}) AS n CROSS JOIN unnest(ARRAY['sessions', 'promotion', 'decay']) AS job;
    ANALYZE keeps.tenants, keeps.users, keeps.tenant_jobs;
"""


@pytest.fixture
async def own_database(fresh_database: Callable[..., Any]) -> str:
    return await fresh_database()


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
async def working(server: EmbeddedPostgres, own_database: str, shared: Any, clock: MovingClock) -> AsyncIterator[Keeps]:
    async with Keeps.open(database_url=server.url("keeps_app", own_database), embedder=shared, clock=clock) as opened:
        yield opened


@pytest.fixture
async def raw(server: EmbeddedPostgres, own_database: str) -> AsyncIterator[asyncpg.Connection]:
    async with admin(server, own_database) as connection:
        yield connection


async def due(raw: asyncpg.Connection, tenant_id: str = "acme") -> dict[str, datetime]:
    return dict(await raw.fetch("SELECT job, due_at FROM keeps.tenant_jobs WHERE tenant_id = $1", tenant_id))


async def run_all(keeps: Keeps, jobs: tuple[str, ...] = (*HOURLY, "expiry", "counts")) -> None:
    for job in jobs:
        await keeps.service(Lifecycle).run("acme", job)


async def test_jobs_without_work_rest_and_the_next_write_wakes_them(
    working: Keeps, raw: asyncpg.Connection, clock: MovingClock
) -> None:
    alice = working.memory(Scope("acme", "alice"))
    await alice.remember("Tea at five.")
    clock.forward(hours=2)
    await run_all(working)
    assert {job: at for job, at in (await due(raw)).items() if job != "consolidation"} == dict.fromkeys(
        (*HOURLY, "expiry", "counts"), clock.now + LONGEST_REST
    )
    before: datetime = (await raw.fetch("SELECT now()"))[0][0]
    await raw.execute("UPDATE keeps.tenant_jobs SET due_at = now() + interval '7 days'")
    await alice.remember("Coffee at six.")
    woken = await due(raw)
    assert all(before < woken[job] <= before + timedelta(hours=1, minutes=1) for job in HOURLY)
    assert not await raw.fetchval("SELECT jobs_rest FROM keeps.tenants")
    await alice.remember("Water at seven.")
    assert await due(raw) == woken, "a tenant whose jobs do not rest pays nothing"


async def test_a_job_rests_until_it_can_have_work(working: Keeps, raw: asyncpg.Connection, clock: MovingClock) -> None:
    alice = working.memory(Scope("acme", "alice"))
    ends = clock.now + timedelta(days=3)
    await alice.remember("The offer ends.", expires_at=ends)
    await alice.remember("The harbour is grey today, as so often.", kind="episodic")
    await run_all(working, ("promotion",))
    assert (await due(raw))["promotion"] == clock.now + timedelta(hours=1), "it is not an hour old"
    clock.forward(hours=2)
    await run_all(working)
    schedule = await due(raw)
    fades: datetime = (
        await raw.fetch(
            "SELECT keeps.fades_at(importance, 0, updated_at) FROM keeps.memories WHERE layer = 'short_term'"
        )
    )[0][0]
    assert schedule["expiry"] == ends
    assert schedule["decay"] == min(fades, clock.now + LONGEST_REST)
    assert schedule["sessions"] == clock.now + LONGEST_REST
    clock.forward(days=8)
    await run_all(working, ("expiry", "decay"))
    assert await raw.fetchval("SELECT count(*) FROM keeps.memories WHERE deleted_at IS NOT NULL") == 1
    assert await raw.fetchval("SELECT count(*) FROM keeps.memories WHERE archived_at IS NOT NULL") == 1


async def test_a_recall_wakes_jobs_too(working: Keeps, raw: asyncpg.Connection, clock: MovingClock) -> None:
    alice = working.memory(Scope("acme", "alice"))
    await alice.remember("The harbour is grey today.", kind="episodic")
    clock.forward(hours=2)
    await run_all(working)
    assert await raw.fetchval("SELECT jobs_rest FROM keeps.tenants")
    await alice.recall("harbour")
    await working.service(AccessBuffer).flush()
    assert not await raw.fetchval("SELECT jobs_rest FROM keeps.tenants")


async def _reads(raw: asyncpg.Connection) -> Counter[str]:
    """Return the rows that this connection has read of each table, by scans and by indexes."""
    rows = await raw.fetch(
        "SELECT relname::text AS name, sum(seq_tup_read + idx_tup_fetch)::integer AS read"
        " FROM pg_stat_xact_user_tables WHERE schemaname IN ('keeps', 'keeps_jobs') GROUP BY relname"
    )
    return Counter({row["name"]: row["read"] for row in rows})


async def test_finding_due_jobs_reads_only_what_is_due(
    server: EmbeddedPostgres, own_database: str, raw: asyncpg.Connection
) -> None:
    await raw.execute(POPULATION)
    app = await asyncpg.connect(server.url("keeps_app", own_database))
    try:
        async with app.transaction():
            found = await app.fetch("SELECT * FROM keeps.take_due_jobs(now(), 10000)")
            read = await _reads(app)
            assert len(found) == 3 * ACTIVE
            assert read["tenant_jobs"] <= 3 * 3 * ACTIVE, (
                "found, locked and rescheduled: not one row of those that rest"
            )
            assert read["tenants"] == 0
            await app.execute("SELECT * FROM keeps.take_due_jobs(now(), 10000)")
            assert (await _reads(app) - read)["tenant_jobs"] <= 3 * ACTIVE, "what was taken is not due"
    finally:
        await app.close()


async def test_a_tenant_with_much_to_do_hides_no_other(raw: asyncpg.Connection) -> None:
    await raw.execute(
        "SET session_replication_role = replica;"
        "INSERT INTO keeps.tenants (tenant_id) VALUES ('crowd'), ('single');"
        "INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id, noticed_at)"
        " SELECT 'crowd', gen_random_uuid(), 'alice', now() - interval '1 day' FROM generate_series(1, 10000);"
        "INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id, noticed_at)"
        " VALUES ('single', gen_random_uuid(), 'alice', now() - interval '2 minutes');"
        "INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at)"
        " SELECT 'crowd', job, now() - interval '1 hour'"
        " FROM unnest(ARRAY['sessions', 'promotion', 'decay', 'storage']) AS job;"
        "INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at) VALUES ('single', 'decay', now() - interval '1 minute')"
    )
    async with raw.transaction():
        taken = [tuple(row) for row in await raw.fetch("SELECT * FROM keeps.take_due_jobs(now(), 100)")]
        read = await _reads(raw)
    assert [tenant for tenant, _ in taken[:4]] == ["crowd", "single", "crowd", "single"]
    assert {job for tenant, job in taken if tenant == "single"} == {"decay", "index"}
    assert len(taken) == 4 + 1 + 2
    assert read["memory_pending"] <= 12, "the rows of a tenant are not read one by one"


class _Recording:
    """A lifecycle that only records what runs. `before`: awaited in each run."""

    def __init__(self, before: Callable[[], Any] | None = None) -> None:
        self.runs: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[tuple[str, str], float] = {}
        self._before = before

    async def run(self, tenant_id: str, job: str, *, seconds: float) -> None:
        self.runs[tenant_id, job] += 1
        self.seconds[tenant_id, job] = seconds
        if self._before is not None:
            await self._before()


async def test_two_workers_run_each_job_once(working: Keeps, raw: asyncpg.Connection) -> None:
    await raw.execute(POPULATION)
    both = asyncio.Barrier(2)
    met = False

    async def meet() -> None:
        nonlocal met
        if not met:  # so that each worker has at least one
            await both.wait()
            met = True

    records = [_Recording(meet), _Recording(meet)]
    workers = [Worker(working.database, cast("Lifecycle", record), utc_now, at_once=2) for record in records]
    for worker in workers:
        worker.start()
    await until(lambda: sum(worker.done for worker in workers) >= 3 * ACTIVE, "every due job is done")
    for worker in workers:
        await worker.close()
    runs = records[0].runs + records[1].runs
    assert len(runs) == 3 * ACTIVE
    assert set(runs.values()) == {1}
    assert await raw.fetchval("SELECT count(*) FROM keeps_jobs.pgqueuer") == 0


async def test_further_jobs_of_a_tenant_have_short_slices(working: Keeps, raw: asyncpg.Connection) -> None:
    await raw.execute(
        "SET session_replication_role = replica; INSERT INTO keeps.tenants (tenant_id) VALUES ('crowd'), ('single');"
        "INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at) VALUES ('crowd', 'decay', '-infinity'),"
        " ('crowd', 'sessions', '-infinity'), ('crowd', 'storage', '-infinity'), ('single', 'decay', now())"
    )
    all_at_once = asyncio.Barrier(4)

    async def meet() -> None:
        await all_at_once.wait()

    record = _Recording(meet)
    worker = Worker(working.database, cast("Lifecycle", record), lambda: utc_now() + timedelta(seconds=1))
    worker.start()
    await until(lambda: worker.done >= 4, "all four run")
    await worker.close()
    assert record.seconds["single", "decay"] == SLICE_SECONDS
    of_crowd = [seconds for (tenant, _), seconds in record.seconds.items() if tenant == "crowd"]
    assert sorted(of_crowd) == [SHORT_SLICE_SECONDS, SHORT_SLICE_SECONDS, SLICE_SECONDS]


async def test_jobs_of_a_killed_worker_run_elsewhere(
    server: EmbeddedPostgres, own_database: str, working: Keeps, raw: asyncpg.Connection
) -> None:
    await raw.execute(
        "SET session_replication_role = replica; INSERT INTO keeps.tenants (tenant_id) VALUES ('acme');"
        "INSERT INTO keeps.tenant_jobs (tenant_id, job, due_at) VALUES ('acme', 'decay', '-infinity')"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        DYING,
        server.url("keeps_app", own_database),
        env={**os.environ, "PYTHONPATH": str(DYING.parents[2]), "KEEPS_EMBEDDER": "none"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"acme decay\n"
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    assert await raw.fetchval("SELECT status::text FROM keeps_jobs.pgqueuer") == "picked"
    record = _Recording()
    worker = Worker(
        working.database,
        cast("Lifecycle", record),
        utc_now,
        heartbeat=timedelta(seconds=1),
    )
    worker.start()
    await until(lambda: worker.done >= 1, "the job runs here")
    await worker.close()
    assert record.runs == {("acme", "decay"): 1}
