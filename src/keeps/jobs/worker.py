"""The worker: finds due jobs by an index, queues them with PgQueuer, and runs each as keeps_app in its own tenant.

A minute's tick takes what is due and queues it; several workers share the queue. PgQueuer leases a job by heartbeat, so
one whose worker was killed is taken up by another; retries with growing pauses; and holds what failed five times as a
dead letter. A job works for at most a minute at a time and then goes to the end of the queue: a tenant with a million
rows keeps none waiting.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from keeps.clock import Clock
from keeps.db.session import Connection, Database
from keeps.db.statements import Statements
from keeps.lifecycle.service import Lifecycle
from keeps.telemetry.logs import log
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.models import HeldJob, QueueStatus
from keeps_client.models.operations import JobName

if TYPE_CHECKING:
    from pgqueuer.adapters.persistence.queries import Queries
    from pgqueuer.core.executors import DatabaseRetryEntrypointExecutor, EntrypointExecutorParameters
    from pgqueuer.models import Job


QUERIES = Statements("keeps.jobs")
QUEUE_SCHEMA = "keeps_jobs"
TICK = "keeps.tick"
TAKEN_AT_ONCE = 5_000
SLICE_SECONDS = 60.0
MAX_ATTEMPTS = 5
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
HEARTBEAT = timedelta(seconds=30)
RECONNECT_SECONDS = 5.0


class Worker:
    """Runs jobs until it is closed. `at_once`: how many, of different tenants or kinds. `first_pause`: before a
    retry."""

    def __init__(
        self,
        database: Database,
        lifecycle: Lifecycle,
        clock: Clock,
        *,
        at_once: int = 4,
        first_pause: timedelta = FIRST_PAUSE,
    ) -> None:
        self._database = database
        self._lifecycle = lifecycle
        self._clock = clock
        self.at_once = at_once
        self._first_pause = first_pause
        self._queuer: Any = None
        self._task: asyncio.Task[None] | None = None
        self.done = 0
        """How many jobs this worker has run."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self.run())

    async def close(self) -> None:
        """Let the jobs at work come to the end of their batch, and stop."""
        if self._task is not None:
            if self._queuer is not None:
                self._queuer.shutdown.set()
                await asyncio.wait({self._task}, timeout=5)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def run(self) -> None:
        """Work until cancelled; when the database goes away, wait for it."""
        logging.getLogger("pgqueuer").setLevel(logging.CRITICAL)  # what matters of it is logged here, as one JSON line
        await asyncio.to_thread(import_module, "pgqueuer")  # it takes a fifth of a second to load
        while True:
            try:
                async with self._database.dedicated_connection() as connection:
                    await self._work(connection)
                return
            except KeepsError as error:
                log().warning("worker", error=error.code)
            except Exception as error:  # noqa: BLE001  one defect must not end background work for good
                log().error("worker", error=type(error).__name__)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def tick(self, queries: Queries) -> int:
        """Queue what is due; how many jobs."""
        due = await self._database.privileged_read(QUERIES["take_due_jobs"], self._clock(), TAKEN_AT_ONCE)
        if due:
            await queries.enqueue(
                [row["job"] for row in due],
                [row["tenant_id"].encode() for row in due],
                [0] * len(due),
                dedupe_key=[f"{row['job']}:{row['tenant_id']}" for row in due],
                on_conflict="skip",
            )
        return len(due)

    async def _work(self, connection: Connection) -> None:
        from pgqueuer import PgQueuer

        queries = queue_on(connection)
        queuer = PgQueuer(queries.driver, queries=queries)
        for job in get_args(JobName):
            queuer.entrypoint(job, on_failure="hold", executor_factory=self._retrying)(partial(self._run, job))
        queuer.schedule(TICK, "* * * * *")(partial(self._ticked, queries))
        self._queuer = queuer
        await self.tick(queries)
        await queuer.run(
            dequeue_timeout=timedelta(seconds=10),
            batch_size=self.at_once // 2,
            max_concurrent_tasks=self.at_once,
            heartbeat_timeout=HEARTBEAT,
            shutdown_on_listener_failure=True,
        )

    async def _ticked(self, queries: Queries, _: object) -> None:
        await self.tick(queries)

    async def _run(self, job: str, queued: Job) -> None:
        tenant_id = (queued.payload or b"").decode()
        try:
            await self._lifecycle.run(tenant_id, job, seconds=SLICE_SECONDS)
        except NotFoundError:
            return  # the tenant was erased meanwhile
        except KeepsError as error:
            log().warning("job failed", job=job, tenant_id=tenant_id, error=error.code, attempt=queued.attempts)
            raise
        except Exception as error:
            log().error("job failed", job=job, tenant_id=tenant_id, error=type(error).__name__, attempt=queued.attempts)
            raise RuntimeError(type(error).__name__) from None  # the queue keeps tracebacks, and they may hold content
        finally:
            self.done += 1

    def _retrying(self, parameters: EntrypointExecutorParameters) -> DatabaseRetryEntrypointExecutor:
        from pgqueuer.core.executors import DatabaseRetryEntrypointExecutor

        return DatabaseRetryEntrypointExecutor(
            parameters, max_attempts=MAX_ATTEMPTS, initial_delay=self._first_pause, max_delay=LONGEST_PAUSE
        )


class JobQueue:
    """What the queue holds, for operators."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def status(self) -> list[QueueStatus]:
        rows = await self._database.privileged_read(QUERIES["queue_counts"])
        return [QueueStatus(**dict(row)) for row in rows]

    async def held(self) -> list[HeldJob]:
        """Dead letters: jobs that failed after all attempts, oldest first, at most 1,000."""
        rows = await self._database.privileged_read(QUERIES["jobs_held"], 1_000)
        return [HeldJob(**dict(row)) for row in rows]

    async def retry(self, job_id: int | None) -> int:
        """Queue a dead letter again, or all of them; how many. Raises NotFoundError."""
        rows = await self._database.privileged_read(QUERIES["job_retry"], job_id)
        if job_id is not None and not rows:
            raise NotFoundError(f"no job {job_id} is held")
        return len(rows)


def queue_on(connection: Connection) -> Queries:
    """PgQueuer's statements on a connection, in the schema that our migrations made."""
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
