"""Several processes that serve one address.

uvicorn supervises them: one that dies is restarted, and SIGHUP replaces each in turn, so that no request is refused.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable

from prometheus_client import multiprocess
from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from keeps.base.telemetry.metrics import SHARED

START_SECONDS = 120.0


def serve_by_workers(config: Config, listener: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve until a signal. `ready` is called when all workers serve. Return False if they never did."""
    listener.listen(config.backlog)
    with tempfile.TemporaryDirectory(prefix="keeps-metrics-") as folder:
        os.environ[SHARED] = folder
        workers = _Workers(config, [listener], ready)
        workers.run()
    return workers.started


class _Workers(Multiprocess):
    def __init__(self, config: Config, sockets: list[socket.socket], ready: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._ready = ready
        self._pids: set[int] = set()
        self.started = False

    def init_processes(self) -> None:
        super().init_processes()
        self._pids = self._living()
        if all(each.wait_until_ready(START_SECONDS, self.should_exit) for each in self.processes):
            self.started = True
            self._ready()

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
