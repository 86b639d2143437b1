"""The process that `forks` starts: loads a module once, and forks for each job. It imports nothing of the engine."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

from keeps.base.sandbox.limits import close_descriptors

MORE_PATIENT = 5
"""Niceness of jobs: when processors are scarce, requests to the service itself come first."""
Work = Callable[[dict[str, Any], list[int], TextIO], None]


def main() -> None:
    """Close inherited files before anything else; then run the host module named on the command line."""
    close_descriptors()
    import_module(sys.argv[1]).main()


def serve(work: Work) -> None:
    """Fork for each job. `work` receives the job with its open files, and writes its answer as text."""
    door = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # Libraries expect the first three descriptors to exist.
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        told, files, _, _ = socket.recv_fds(door, 16, 2)
        if not told:
            return
        if os.fork() == 0:
            door.detach()
            close_descriptors(files)
            run(work, files)
            os._exit(0)
        for each in files:
            os.close(each)


def run(work: Work, files: list[int]) -> None:
    """Run one job in a process that ends with it.

    The first file is a connection: the job arrives on it as JSON. The answer is a line with the process id, so that the
    caller can end the process, followed by the output.
    """
    os.setsid()
    os.nice(MORE_PATIENT)
    with (
        socket.socket(fileno=files[0]) as asking,
        asking.makefile("r", encoding="utf-8") as request,
        asking.makefile("w", encoding="utf-8") as out,
    ):
        print(os.getpid(), file=out, flush=True)
        work(json.load(request), files[1:], out)


if __name__ == "__main__":
    main()
