"""Note the day on which each tenant was used last, so that unused ones are found. No call waits for it."""

from __future__ import annotations

import asyncio
from datetime import UTC, date

from cachetools import LRUCache

from keeps.base.clock import Clock
from keeps.base.telemetry.logs import log
from keeps.operate.freezing.store import QUERIES
from keeps.store.db.session import Database
from keeps_client.errors import KeepsError

FLUSH_SECONDS = 10.0
CACHED = 100_000


class UseNotes:
    """Tenants that were used today, of which each is written once a day. A crash loses at most FLUSH_SECONDS."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._noted: LRUCache[str, date] = LRUCache(CACHED)
        self._waiting: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def note(self, tenant_id: str) -> None:
        today = self._clock().astimezone(UTC).date()
        if self._noted.get(tenant_id) == today:
            return
        self._noted[tenant_id] = today
        self._waiting.add(tenant_id)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._flush_later())

    async def flush(self) -> None:
        """Write the waiting notes; those that cannot be written are forgotten until the next call of their tenant."""
        waiting, self._waiting = sorted(self._waiting), set()
        if not waiting:
            return
        try:
            await self._database.cells.everywhere(QUERIES["note_use"], waiting, self._clock().astimezone(UTC).date())
        except KeepsError as error:
            log().warning("the use of tenants was not noted", error=error.code)
            for tenant_id in waiting:
                self._noted.pop(tenant_id, None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def _flush_later(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        await self.flush()
