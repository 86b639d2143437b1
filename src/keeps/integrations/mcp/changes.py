"""Notifications of changed resources, read from the log: those that the watcher may see, from all servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp.server.subscriptions import ServerEvent
from mcp.shared.subscriptions import ResourceUpdated

from keeps.base.telemetry.logs import log
from keeps_client.errors import KeepsError
from keeps_client.memory.whole import Memory

TYPES = ("memory.*", "session.*")
AGAIN_SECONDS = 2.0


class Changes:
    """The SDK's port for notifications. Each watcher reads the log as itself, from the time it began to watch."""

    def __init__(self, memory_of: Callable[[], Memory]) -> None:
        self._memory_of = memory_of
        self._tasks: set[asyncio.Task[None]] = set()

    async def publish(self, event: ServerEvent) -> None:
        """Do nothing: changes are in the log."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        task = asyncio.get_running_loop().create_task(self._tell(self._memory_of(), listener))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def end() -> None:
            task.cancel()

        return end

    async def _tell(self, memory: Memory, listener: Callable[[ServerEvent], None]) -> None:
        after: int | None = None
        while True:
            try:
                async for event in memory.subscribe(after=after, types=TYPES):
                    after = event.sequence
                    listener(ResourceUpdated(uri=f"memory://{event.subject}"))
                    told = event.data.get("memory")
                    session_id = told.get("session_id") if isinstance(told, dict) else None
                    if isinstance(session_id, str):
                        listener(ResourceUpdated(uri=f"session://{session_id}/notes"))
            except KeepsError as error:
                log().warning("cannot send change notifications", error=error.code)
                await asyncio.sleep(AGAIN_SECONDS)
