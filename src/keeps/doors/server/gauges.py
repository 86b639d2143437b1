"""Metrics read from the database, at most every 15 seconds."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from prometheus_client import start_http_server

from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.jobs.worker import JobQueue
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import KeepsError, UnavailableError

REFRESH_SECONDS = 15.0


class Gauges:
    """Refreshes the gauges that Prometheus reads. While the database does not answer, the last values stay."""

    def __init__(self, keeps: Keeps) -> None:
        self._keeps = keeps
        self._metrics = keeps.metrics
        self._next = 0.0
        self._statuses: set[str] = set()

    async def refresh(self) -> None:
        taken, size = self._keeps.database.cells.connections
        self._metrics.pool.labels("in_use").set(taken)
        self._metrics.pool.labels("size").set(size)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        try:
            pending, lag = await self._keeps.service(Indexer).lag()
            storage = await self._keeps.service(Indexer).storage_bytes()
            behind, oldest = await self._keeps.service(WebhookService).behind()
            queue = await self._keeps.service(JobQueue).status()
        except KeepsError:
            return
        self._metrics.storage.set(storage)
        self._metrics.webhooks_behind.set(behind)
        self._metrics.webhook_lag.set(oldest)
        waiting = Counter(dict.fromkeys(self._statuses, 0))
        for each in queue:
            waiting[each.status] += each.jobs
        for status_of_jobs, jobs in waiting.items():
            self._metrics.jobs_queued.labels(status_of_jobs).set(jobs)
        self._statuses = set(waiting)
        self._metrics.pending.set(pending)
        self._metrics.lag.set(lag)


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

    refreshing = asyncio.get_running_loop().create_task(refresh())
    try:
        yield server.server_port
    finally:
        refreshing.cancel()
        await asyncio.gather(refreshing, return_exceptions=True)
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        await asyncio.to_thread(thread.join)
