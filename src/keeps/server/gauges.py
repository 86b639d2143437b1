"""Metrics that are asked of the database, at most every 15 seconds."""

from __future__ import annotations

import time

from keeps.engine import Keeps
from keeps.telemetry.metrics import Metrics
from keeps_client.errors import KeepsError

REFRESH_SECONDS = 15.0


class Gauges:
    """Refreshes what Prometheus reads. Where the database does not answer, the last known values stay."""

    def __init__(self, keeps: Keeps, metrics: Metrics) -> None:
        self._keeps = keeps
        self._metrics = metrics
        self._next = 0.0

    async def refresh(self) -> None:
        pool = self._keeps.database.pool
        self._metrics.pool.labels("in_use").set(pool.taken)
        self._metrics.pool.labels("size").set(pool.size)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        try:
            status = await self._keeps.status()
            self._metrics.storage.set(await self._keeps.storage_bytes())
        except KeepsError:
            return
        self._metrics.pending.set(status.pending)
        self._metrics.lag.set(status.lag_seconds)
