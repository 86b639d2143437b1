"""The worker: finds due jobs by an index, queues them with PgQueuer, and runs each as keeps_app in its own tenant.

Every minute it queues what is due; several workers share the queue. PgQueuer leases a job by heartbeat, so that another
worker takes over the job of a killed one; retries with growing pauses; and holds a job that failed five times as a dead
letter. A job works for at most a minute at a time and then goes to the end of the queue, so that a tenant with a
million rows delays no other; while another job of its tenant runs here, for five seconds. Each cell has its own queue.

A job for which its tenant has no work rests: it is due again when it can have some, or after a week. The tenant's next
write or recall ends the rest. So tenants that nobody uses cost next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from keeps.base.clock import Clock
from keeps.base.telemetry.logs import log
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.db.frozen import FrozenError
from keeps.store.db.session import Cell, Connection, Database
from keeps.store.db.statements import Statements
from keeps.store.db.transaction import leaving_frozen
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.models import HeldJob, QueueStatus
from keeps_client.models.operations import JobName

if TYPE_CHECKING:
    from pgqueuer.adapters.persistence.queries import Queries
    from pgqueuer.core.executors import DatabaseRetryEntrypointExecutor, EntrypointExecutorParameters
    from pgqueuer.models import Job


QUERIES = Statements("keeps.memory.jobs")
QUEUE_SCHEMA = "keeps_jobs"
TICK = "keeps.tick"
TAKEN_AT_ONCE = 5_000
SLICE_SECONDS, SHORT_SLICE_SECONDS = 60.0, 5.0
"""Seconds that a job works at a time: the first of a tenant in this worker, and others of the tenant beside it."""
MAX_ATTEMPTS = 5
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
HEARTBEAT = timedelta(seconds=30)
RECONNECT_SECONDS = 5.0
DEAF = (
    "LISTEN does not reach this database, for example behind PgBouncer in transaction mode; set"
    " KEEPS_WORKER_DATABASE_URL to an"
    " address of PostgreSQL itself"
)
LOOK_SECONDS = 15.0
"""Seconds between two checks for added cells."""


class Worker:
    """Runs jobs until it is closed.

    Args:
        at_once: Number of concurrent jobs, of different tenants or kinds.
        first_pause: Pause before the first retry.
        heartbeat: Time without a sign of life after which a job is taken from its worker.
    """

    def __init__(
        self,
        database: Database,
        lifecycle: Lifecycle,
        clock: Clock,
        *,
        at_once: int = 4,
        first_pause: timedelta = FIRST_PAUSE,
        heartbeat: timedelta = HEARTBEAT,
    ) -> None:
        self._database = database
        self._lifecycle = lifecycle
        self._clock = clock
        self.at_once = at_once
        self._first_pause = first_pause
        self._heartbeat = heartbeat
        self._running: Counter[str] = Counter()
        self._queuers: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self.beside: list[Callable[[], Awaitable[None]]] = []
        """Work without a queue that runs as long as the worker."""
        self.done = 0
        """Number of jobs that this worker has run."""

    def start(self) -> None:
        self._closing = False
        self._task = asyncio.get_running_loop().create_task(self.run())

    async def close(self) -> None:
        """Let running jobs finish their batch, then stop."""
        if self._task is not None:
            self._closing = True
            for queuer in self._queuers.values():
                queuer.shutdown.set()
            if self._queuers:
                await asyncio.wait({self._task}, timeout=5)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def run(self) -> None:
        """Process the queue of every cell until cancelled; wait for a database that goes away."""
        logging.getLogger("pgqueuer").setLevel(logging.CRITICAL)  # Its relevant messages are logged here, as JSON.
        await asyncio.to_thread(import_module, "pgqueuer")  # Loading it takes a fifth of a second.
        serving: dict[Cell, asyncio.Task[None]] = {}
        beside = [asyncio.ensure_future(work()) for work in self.beside]
        try:
            while not self._closing:
                try:
                    cells = await self._database.cells.all()
                except KeepsError as error:
                    log().warning("worker", error=error.code)
                    await asyncio.sleep(RECONNECT_SECONDS)
                    continue
                for gone in set(serving) - set(cells):
                    serving.pop(gone).cancel()
                for cell in set(cells) - set(serving):
                    serving[cell] = asyncio.get_running_loop().create_task(self._serve(cell))
                await asyncio.wait(serving.values(), timeout=LOOK_SECONDS)
        finally:
            tasks = [*serving.values(), *beside]
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, cell: Cell) -> None:
        while not self._closing:
            try:
                if not await cell.hears():
                    log().error("worker", cell=cell.name, error="deaf", advice=DEAF)
                async with cell.dedicated_connection() as connection:
                    await self._work(cell, connection)
                return
            except KeepsError as error:
                log().warning("worker", cell=cell.name, error=error.code)
            except Exception as error:  # noqa: BLE001  one defect must not end background work for good
                log().error("worker", cell=cell.name, error=type(error).__name__, **_advice(error))
            finally:
                self._queuers.pop(cell.name, None)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def tick(self, cell: Cell, queries: Queries) -> int:
        """Queue the due jobs of a cell; return their number."""
        due = await cell.privileged_read(QUERIES["take_due_jobs"], self._clock(), TAKEN_AT_ONCE)
        if due:
            await queries.enqueue(
                [row["job"] for row in due],
                [row["tenant_id"].encode() for row in due],
                [0] * len(due),
                dedupe_key=[f"{row['job']}:{row['tenant_id']}" for row in due],
                on_conflict="skip",
            )
        return len(due)

    async def _work(self, cell: Cell, connection: Connection) -> None:
        from pgqueuer import PgQueuer

        queries = queue_on(connection)
        queuer = PgQueuer(queries.driver, queries=queries)
        for job in get_args(JobName):
            queuer.entrypoint(job, on_failure="hold", executor_factory=self._retrying)(partial(self._run, job))
        queuer.schedule(TICK, "* * * * *")(partial(self._ticked, cell, queries))
        self._queuers[cell.name] = queuer
        await self.tick(cell, queries)
        await queuer.run(
            dequeue_timeout=min(timedelta(seconds=10), self._heartbeat),
            batch_size=self.at_once // 2,
            max_concurrent_tasks=self.at_once,
            heartbeat_timeout=self._heartbeat,
            shutdown_on_listener_failure=True,
        )

    async def _ticked(self, cell: Cell, queries: Queries, _: object) -> None:
        await self.tick(cell, queries)

    async def _run(self, job: str, queued: Job) -> None:
        tenant_id = (queued.payload or b"").decode()
        seconds = SHORT_SLICE_SECONDS if self._running[tenant_id] else SLICE_SECONDS
        self._running[tenant_id] += 1
        try:
            with leaving_frozen():
                await self._lifecycle.run(tenant_id, job, seconds=seconds)
        except (NotFoundError, FrozenError):
            return  # The tenant was erased or frozen meanwhile.
        except KeepsError as error:
            log().warning("job failed", job=job, tenant_id=tenant_id, error=error.code, attempt=queued.attempts)
            raise
        except Exception as error:
            log().error("job failed", job=job, tenant_id=tenant_id, error=type(error).__name__, attempt=queued.attempts)
            # The queue stores tracebacks, and the original one may contain content.
            raise RuntimeError(type(error).__name__) from None
        finally:
            self.done += 1
            self._running[tenant_id] -= 1
            if not self._running[tenant_id]:
                del self._running[tenant_id]

    def _retrying(self, parameters: EntrypointExecutorParameters) -> DatabaseRetryEntrypointExecutor:
        from pgqueuer.core.executors import DatabaseRetryEntrypointExecutor

        return DatabaseRetryEntrypointExecutor(
            parameters, max_attempts=MAX_ATTEMPTS, initial_delay=self._first_pause, max_delay=LONGEST_PAUSE
        )


def _advice(error: Exception) -> dict[str, str]:
    """Return advice to an operator about a failure, for the log."""
    from pgqueuer.errors import FailingListenerError

    return {"advice": DEAF} if isinstance(error, FailingListenerError) else {}


async def declare_jobs(cell: Cell, periods: Mapping[str, timedelta]) -> None:
    """Store the periods of jobs in a cell, which schedules them for its tenants, also for those to come."""
    await cell.privileged_read(QUERIES["declare_jobs"], list(periods), list(periods.values()))


class JobQueue:
    """The contents of the queue, for operators."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def status(self) -> list[QueueStatus]:
        found = await self._database.cells.everywhere(QUERIES["queue_counts"])
        counted: dict[tuple[str, str], QueueStatus] = {}
        for status in (QueueStatus(**dict(row)) for rows in found.values() for row in rows):
            before = counted.get((status.job, status.status))
            counted[status.job, status.status] = (
                status
                if before is None
                else status.model_copy(
                    update={"jobs": status.jobs + before.jobs, "oldest": min(status.oldest, before.oldest)}
                )
            )
        return [counted[key] for key in sorted(counted)]

    async def held(self) -> list[HeldJob]:
        """Return the dead letters: jobs that failed after all attempts, oldest first, at most 1,000."""
        found = await self._database.cells.everywhere(QUERIES["jobs_held"], 1_000)
        held = [HeldJob(**dict(row)) for rows in found.values() for row in rows]
        return sorted(held, key=lambda each: each.failed_at)[:1_000]

    async def retry(self, job_id: int | None) -> int:
        """Queue a dead letter again, or all of them; return their number.

        Cells number jobs independently, so an id may match one in each. Raises NotFoundError.
        """
        found = await self._database.cells.everywhere(QUERIES["job_retry"], job_id)
        rows = [row for each in found.values() for row in each]
        if job_id is not None and not rows:
            raise NotFoundError(f"no failed job {job_id}")
        return len(rows)


def queue_on(connection: Connection) -> Queries:
    """Return PgQueuer's statements on a connection, in the schema that our migrations made."""
    from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
    from pgqueuer.adapters.persistence import qb
    from pgqueuer.adapters.persistence.queries import Queries
    from pgqueuer.domain.settings import DBSettings

    settings = DBSettings(db_schema=QUEUE_SCHEMA)
    return Queries(
        AsyncpgDriver(connection),
        qb.QueryBuilderEnvironment(settings),
        qb.QueryQueueBuilder(settings),
        qb.QuerySchedulerBuilder(settings),
    )
