"""The processes that serve one address: this one, or several.

uvicorn supervises several: one that dies is restarted, and SIGHUP replaces each in turn, so that no request is refused.
"""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable
from types import FrameType

from prometheus_client import multiprocess
from uvicorn import Config, Server
from uvicorn.supervisors import Multiprocess

from keeps.base.telemetry.metrics import SHARED

START_SECONDS = 120.0


def serve_alone(config: Config, listener: socket.socket, ready: Callable[[], None]) -> tuple[bool, bool]:
    """Serve in this process until a signal: see `serve_by_workers`."""
    server = _Server(config, ready)
    server.run([listener])
    return server.started, server.interrupted


def serve_by_workers(config: Config, listener: socket.socket, ready: Callable[[], None]) -> tuple[bool, bool]:
    """Serve until a signal. `ready` is called when all workers serve.

    Return whether they ever did, and whether Ctrl-C ended it.
    """
    listener.listen(config.backlog)
    with tempfile.TemporaryDirectory(prefix="keeps-metrics-") as folder:
        os.environ[SHARED] = folder
        workers = _Workers(config, [listener], ready)
        workers.run()
    return workers.started, workers.interrupted


class _Server(Server):
    def __init__(self, config: Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.interrupted = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGINT:
            super().handle_exit(sig, frame)
            return
        self.force_exit = self.interrupted  # the second one does not wait for requests
        self.interrupted = self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn would leave the database open
            await self.lifespan.shutdown()


class _Workers(Multiprocess):
    def __init__(self, config: Config, sockets: list[socket.socket], ready: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._ready = ready
        self._pids: set[int] = set()
        self.started = self.interrupted = False

    def init_processes(self) -> None:
        super().init_processes()
        self._pids = self._living()
        if all(each.wait_until_ready(START_SECONDS, self.should_exit) for each in self.processes):
            self.started = True
            self._ready()

    def handle_int(self) -> None:
        self.interrupted = True
        super().handle_int()

    def keep_subprocess_alive(self) -> None:
        for each in self.processes:
            # Open at its other end only, so that a worker that dies while it is asked whether it lives ends the wait.
            each.child_conn.close()
        super().keep_subprocess_alive()
        living = self._living()
        for pid in self._pids - living:  # what it counted stays, what it had open does not
            multiprocess.mark_process_dead(pid, os.environ[SHARED])
        self._pids = living

    def _living(self) -> set[int]:
        return {each.pid for each in self.processes if each.pid is not None}
