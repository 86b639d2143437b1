"""The worker, on a database of its own: what is due runs, what fails is tried again and then held, nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, cast

import asyncpg
import pgqueuer  # noqa: F401  loading it takes a fifth of a second, which no step of a test is to take
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.jobs.worker import MAX_ATTEMPTS, JobQueue, Worker, declare_jobs, queue_on
from keeps.memory.lifecycle.service import Lifecycle
from keeps.parts import PARTS
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from keeps_client.errors import KeepsError, NotFoundError, UnavailableError
from tests.conftest import admin, until
from tests.lifecycle.conftest import MovingClock

SCHEDULED = [job for part in PARTS for job in part.jobs if job.period is not None]


@pytest.fixture
async def own_database(server: EmbeddedPostgres, fresh_database: Callable[..., Any]) -> str:
    return await fresh_database()


@pytest.fixture
async def working(server: EmbeddedPostgres, own_database: str, shared: Any, clock: MovingClock) -> AsyncIterator[Keeps]:
    async with Keeps.open(database_url=server.url("keeps_app", own_database), embedder=shared, clock=clock) as opened:
        yield opened


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


async def scheduled(server: EmbeddedPostgres, database: str, clock: MovingClock, hours: float) -> None:
    """The schedule as if every tenant had been made by the test's clock."""
    async with admin(server, database) as connection:
        await connection.execute("UPDATE keeps.tenant_jobs SET due_at = $1", clock.now + timedelta(hours=hours))


async def test_due_job_runs_and_is_rescheduled(
    server: EmbeddedPostgres, own_database: str, working: Keeps, clock: MovingClock
) -> None:
    for number in range(3):
        memory = working.memory(Scope(f"tenant-{number}", "alice"))
        await memory.remember("The harbour is grey today, as so often.", kind="episodic")
    clock.forward(days=10)
    await scheduled(server, own_database, clock, hours=1)
    worker = working.service(Worker)
    worker.start()
    clock.forward(hours=2)
    async with working.database.main.dedicated_connection() as connection:
        await worker.tick(working.database.main, queue_on(connection))
    await until(lambda: worker.done >= 3 * len(SCHEDULED), "every job of three tenants is done")
    await worker.close()
    for number in range(3):
        done = await working.memory(Scope(f"tenant-{number}", "alice")).operations(job="decay")
        assert [each.counts for each in done.items] == [{"archived": 1}]
    async with admin(server, own_database) as connection:
        due = dict(await connection.fetch("SELECT job, min(due_at) FROM keeps.tenant_jobs GROUP BY job"))
    assert due["decay"] == clock.now + timedelta(days=7), "what is archived cannot fade again"
    assert due["consolidation"] == clock.now + timedelta(days=7)
    assert await working.service(JobQueue).status() == []


class _Broken:
    """A lifecycle whose database is never there."""

    def __init__(self) -> None:
        self.asked = 0

    async def run(self, tenant_id: str, job: str, **_: Any) -> None:
        self.asked += 1
        raise UnavailableError(f"no {job} for {tenant_id}")


async def test_failing_job_is_held_until_retry(
    server: EmbeddedPostgres, own_database: str, working: Keeps, clock: MovingClock
) -> None:
    await working.memory(Scope("tenant", "alice")).remember("Something.")
    async with admin(server, own_database) as connection:
        await connection.execute("UPDATE keeps.tenant_jobs SET due_at = 'infinity' WHERE job <> 'decay'")
        await connection.execute("UPDATE keeps.tenant_jobs SET due_at = '-infinity' WHERE job = 'decay'")
    broken = _Broken()
    worker = Worker(working.database, cast("Lifecycle", broken), clock, first_pause=timedelta(milliseconds=1))
    worker.start()
    held = []
    while not held:
        await asyncio.sleep(0.05)
        held = await working.service(JobQueue).held()
    await worker.close()
    assert broken.asked == MAX_ATTEMPTS + 1
    assert [(each.job, each.tenant_id) for each in held] == [("decay", "tenant")]
    with pytest.raises(NotFoundError):
        await working.service(JobQueue).retry(held[0].id + 1)
    assert await working.service(JobQueue).retry(held[0].id) == 1
    working.service(Worker).start()
    await until(lambda: working.service(Worker).done >= 1, "the job runs again")
    await working.service(Worker).close()
    assert await working.service(JobQueue).held() == []


@pytest.mark.meaning
async def test_stopped_run_resumes(
    living: Keeps, clock: MovingClock, tenant: str, server: EmbeddedPostgres, own_database: str
) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    for part in range(3):
        await alice.remember_many(
            [{"content": f"Remark {part}/{number}.", "kind": "episodic"} for number in range(200)]
        )
    clock.forward(days=10)
    first = await living.service(Lifecycle).run(tenant, "decay", seconds=0.0)
    due = "SELECT due_at FROM keeps.tenant_jobs WHERE tenant_id = $1 AND job = 'decay'"
    async with admin(server, own_database) as connection:
        assert await connection.fetchval(due, tenant) == clock.now, "the rest is due at once"
    second = await living.service(Lifecycle).run(tenant, "decay")
    assert first is None or first.counts["archived"] in (200, 400, 600)
    assert (first.counts["archived"] if first else 0) + (second.counts["archived"] if second else 0) == 600
    assert (await living.service(EventService).verify(alice.scope)).equal


@pytest.fixture
async def living(working: Keeps) -> Keeps:
    return working


async def test_the_queue_is_as_pgqueuer_declares_it(raw: asyncpg.Connection) -> None:
    plan = await queue_on(raw).plan_upgrade()
    assert plan.statements == (), "PgQueuer's schema has moved on: a new revision must follow it"


async def test_a_newly_declared_job_is_scheduled_for_every_tenant(
    server: EmbeddedPostgres, own_database: str, working: Keeps
) -> None:
    await working.memory(Scope("old", "alice")).remember("Something.")
    main = working.database.main
    await declare_jobs(main, {"tidy": timedelta(hours=2)})
    await working.memory(Scope("new", "alice")).remember("Something.")
    async with admin(server, own_database) as connection:
        rows = await connection.fetch(
            "SELECT tenant_id, due_at - now() AS pause FROM keeps.tenant_jobs WHERE job = 'tidy'"
        )
        assert {row["tenant_id"] for row in rows} == {"old", "new"}
        assert all(row["pause"] <= timedelta(hours=2) for row in rows)
        before = await connection.fetch("SELECT * FROM keeps.tenant_jobs ORDER BY tenant_id, job")
        await declare_jobs(main, {"tidy": timedelta(hours=2)})
        assert await connection.fetch("SELECT * FROM keeps.tenant_jobs ORDER BY tenant_id, job") == before


async def test_new_tenant_gets_declared_schedule(server: EmbeddedPostgres, own_database: str, working: Keeps) -> None:
    await working.memory(Scope("new", "alice")).remember("Something.")
    async with admin(server, own_database) as connection:
        rows = await connection.fetch("SELECT job FROM keeps.tenant_jobs WHERE tenant_id = 'new'")
    assert {row["job"] for row in rows} == {job.name for job in SCHEDULED}


@pytest.mark.parametrize(
    ("names", "periods"),
    [
        (["decay"], [timedelta(days=400_000)]),
        (["decay"], [timedelta(seconds=1)]),
        (["Not a name"], [timedelta(hours=1)]),
        ([f"job_{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(101)], [timedelta(hours=1)] * 101),
    ],
)
async def test_an_unusable_declaration_of_jobs_is_refused(
    working: Keeps, names: list[str], periods: list[timedelta]
) -> None:
    with pytest.raises(KeepsError):
        await declare_jobs(working.database.main, dict(zip(names, periods, strict=True)))
    await working.memory(Scope("new", "alice")).remember("Something.")
