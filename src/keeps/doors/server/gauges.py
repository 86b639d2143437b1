"""Metrics read from the database and from disks, at most every 15 seconds."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from prometheus_client import start_http_server

from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import SHARED
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.jobs.worker import JobQueue
from keeps.operate.backups.state import BackupState
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import KeepsError, UnavailableError

Read = Callable[[], Awaitable[None]]
REFRESH_SECONDS = 15.0
OWN_SECONDS = 1.0
"""Seconds after which a worker writes what it has open, for the others of its server."""
ANSWER_SECONDS = 1.0
"""Seconds that a scrape waits for new values; then it gets the last ones."""
DATABASE_SECONDS = 5.0
UP_SECONDS = 2.0
STATUSES = ("queued", "picked", "failed")


class Gauges:
    """Refreshes the gauges that Prometheus reads.

    While the database or a disk does not answer, the last values stay. Close it.
    """

    def __init__(self, keeps: Keeps) -> None:
        self._keeps = keeps
        self._metrics = keeps.metrics
        self._next = 0.0
        self._cells: set[str] = set()
        self._reads = (self._read_cells, self._read_database, self._read_places)
        self._running: dict[Read, asyncio.Task[None]] = {}

    async def refresh(self) -> None:
        self._set_own()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REFRESH_SECONDS
            for read in self._reads:
                if read not in self._running or self._running[read].done():
                    self._running[read] = asyncio.create_task(self._run(read))
        if self._running:
            await asyncio.wait(self._running.values(), timeout=ANSWER_SECONDS)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Write what this process has open while the block runs, since another worker may answer the scrape."""

        async def write() -> None:
            while SHARED in os.environ:
                self._set_own()
                await asyncio.sleep(OWN_SECONDS)

        writing = asyncio.create_task(write())
        try:
            yield
        finally:
            for task in (writing, *self._running.values()):
                task.cancel()
            await asyncio.gather(writing, *self._running.values(), return_exceptions=True)

    def _set_own(self) -> None:
        taken, size = self._keeps.database.cells.connections
        self._metrics.pool.labels("in_use").set(taken)
        self._metrics.pool.labels("size").set(size)

    async def _run(self, read: Read) -> None:
        try:
            await read()
        except (KeepsError, OSError, ValueError):  # Among them TimeoutError.
            return
        except Exception as error:  # noqa: BLE001  a metric that cannot be read must not take the others away
            log().error("metrics cannot be read", error=type(error).__name__)

    async def _read_cells(self) -> None:
        answering = await self._keeps.database.cells.answering(UP_SECONDS)
        for name in self._cells - set(answering):
            self._metrics.state.database_up.remove(name)
        self._cells = set(answering)
        for name, answers in answering.items():
            self._metrics.state.database_up.labels(name).set(answers)

    async def _read_database(self) -> None:
        async with asyncio.timeout(DATABASE_SECONDS):
            pending, lag = await self._keeps.service(Indexer).lag()
            storage = await self._keeps.service(Indexer).storage_bytes()
            behind, oldest = await self._keeps.service(WebhookService).behind()
            queue = await self._keeps.service(JobQueue).status()
        self._metrics.pending.set(pending)
        self._metrics.lag.set(lag)
        self._metrics.storage.set(storage)
        self._metrics.webhooks_behind.set(behind)
        self._metrics.webhook_lag.set(oldest)
        waiting = Counter[str](
            dict.fromkeys(STATUSES, 0)
        )  # Every worker writes all of them: none stays at an old number.
        for each in queue:
            waiting[each.status] += each.jobs
        for status_of_jobs, jobs in waiting.items():
            self._metrics.jobs_queued.labels(status_of_jobs).set(jobs)

    async def _read_places(self) -> None:
        # In a thread without a deadline: a disk that hangs blocks one thread, and nothing is read until it ends.
        for cell, server in self._keeps.database.cells.servers.items():
            if isinstance(server, EmbeddedPostgres):
                await asyncio.to_thread(self._read_place, cell, server)

    def _read_place(self, cell: str, server: EmbeddedPostgres) -> None:
        metrics = self._metrics.state
        metrics.disk_free.labels(cell, "home").set(shutil.disk_usage(server.home).free)
        if (state := BackupState.of(server.home, server.folder.data)) is None:
            return
        metrics.disk_free.labels(cell, "backups").set(state.free_bytes)
        metrics.backup_made.labels(cell).set(state.last_at.timestamp() if state.last_at else 0)
        metrics.log_segments.labels(cell).set(state.waiting_segments)
        metrics.log_bytes.labels(cell).set(state.waiting_bytes)
        metrics.log_seconds.labels(cell).set(state.waiting_seconds)
        verified = state.verified
        metrics.backup_verified.labels(cell).set(verified.at.timestamp() if verified else 0)
        if verified is not None:
            metrics.backup_good.labels(cell).set(verified.good)


@asynccontextmanager
async def serving_metrics(keeps: Keeps, host: str, port: int) -> AsyncGenerator[int]:
    """Serve `/metrics` for an engine without a server, in a separate thread; yield the port.

    Raises UnavailableError.
    """
    try:
        server, thread = start_http_server(port, host, keeps.metrics.registry)
    except OSError as error:
        raise UnavailableError(
            f"metrics cannot be served on {host}:{port} ({error.strerror}); choose another with --metrics-port"
        ) from None
    gauges = Gauges(keeps)

    async def refresh() -> None:
        while True:
            await gauges.refresh()
            await asyncio.sleep(REFRESH_SECONDS)

    async with gauges.running():
        refreshing = asyncio.get_running_loop().create_task(refresh())
        try:
            yield server.server_port
        finally:
            refreshing.cancel()
            await asyncio.gather(refreshing, return_exceptions=True)
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            await asyncio.to_thread(thread.join)
