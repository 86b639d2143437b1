"""One event loop in a background thread, and the engines that belong to it, for callers without a loop of their own.

Frameworks run tools in loops of their own or in none, and `keeps.Memory` has methods without await. Database
connections belong to one loop, so all of them share this one.
"""

from __future__ import annotations

import asyncio

# Imported later, it would end its executors before `_end` needs them.
import concurrent.futures.thread  # noqa: F401  # pyright: ignore[reportUnusedImport]
import os
import threading
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from keeps.base.settings import Settings
from keeps.engine import Keeps
from keeps_client.errors import ValidationFailedError

ResultT = TypeVar("ResultT")
CLOSE_SECONDS = 20.0
"""Maximum seconds that the end of the program waits for engines to close."""


class Background:
    """A loop in a daemon thread of this process, started when it is first used, and closed when the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._engines = Engines()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop. Raises ValidationFailedError in a fork of the process that started it."""
        with self._lock:
            if self._loop is None:
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="keeps-background", daemon=True)
                self._thread.start()
                # Before the executors shut down, on which closing depends; `atexit` comes after that.
                threading._register_atexit(self._end)  # type: ignore[attr-defined]  # noqa: SLF001
        if os.getpid() != self._process:
            raise ValidationFailedError(
                "this process is a fork of one in which Keeps was open: open it in each worker process, after the fork"
            )
        return self._loop

    def run(self, call: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Await the result of a call in the loop, also inside another running loop, which waits meanwhile."""
        loop = self.loop()
        if threading.current_thread() is self._thread:
            raise ValidationFailedError("code that Keeps calls must use the async methods: it would wait for itself")

        async def waiting() -> ResultT:
            return await call()

        future = asyncio.run_coroutine_threadsafe(waiting(), loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # After Ctrl-C nobody waits for it.
            raise

    async def take(self, settings: Settings, **overrides: Any) -> Keeps:
        """Return the engine of these settings, which all callers in this process share. Runs in the loop."""
        return await self._engines.take(settings, overrides)

    async def leave(self, keeps: Keeps) -> None:
        """Close the engine if nobody else uses it. Runs in the loop."""
        await self._engines.leave(keeps)

    def _end(self) -> None:
        loop = self._loop
        if loop is None or os.getpid() != self._process or not loop.is_running():
            return
        closing = asyncio.run_coroutine_threadsafe(self._engines.close(), loop)
        try:
            closing.result(CLOSE_SECONDS)
        except Exception:  # noqa: BLE001  the program ends
            closing.cancel()


class Engines:
    """Engines by their settings and models, with the number of their users."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._shared: dict[Hashable, Keeps] = {}
        self._users: dict[Keeps, int] = {}

    async def take(self, settings: Settings, overrides: dict[str, Any]) -> Keeps:
        from keeps.bootstrap import open_keeps

        key = settings, tuple((name, id(value)) for name, value in overrides.items())
        async with self._lock:
            if (keeps := self._shared.get(key)) is None:
                keeps = self._shared[key] = await open_keeps(settings, **overrides)
            self._users[keeps] = self._users.get(keeps, 0) + 1
            return keeps

    async def leave(self, keeps: Keeps) -> None:
        async with self._lock:
            self._users[keeps] -= 1
            if self._users[keeps] == 0:
                await self._drop(keeps)

    async def close(self) -> None:
        async with self._lock:
            for keeps in list(self._users):
                await self._drop(keeps)

    async def _drop(self, keeps: Keeps) -> None:
        del self._users[keeps]
        self._shared = {key: engine for key, engine in self._shared.items() if engine is not keeps}
        await keeps.close()


BACKGROUND = Background()
