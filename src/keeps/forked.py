"""The process that `forks` starts, and what its children give up before they look at what a stranger sent. Nothing here
imports the engine."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
from collections.abc import Callable
from typing import Any, TextIO

CPU_SECONDS, MEMORY_BYTES = 30, 512 << 20
MORE_PATIENT = 5
"""What strangers sent is worked on after what is asked of the service itself, where there are not processors enough."""
_NEWUSER, _NEWNET, _NEWIPC = 0x10000000, 0x40000000, 0x08000000
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_NOBODY = 65_534
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT, _EVERY_ACCESS = 444, 445, 446, (1 << 13) - 1
_READ_FILE, _PATH_BENEATH = 1 << 2, 1


def serve(work: Callable[[dict[str, Any], list[int], TextIO], None]) -> None:
    """Fork for each job: `work` gets it with its open files, and answers in text."""
    door = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # libraries count on the first three being there
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        told, files, _, _ = socket.recv_fds(door, 16, 2)
        if not told:
            return
        if os.fork() == 0:
            door.close()
            run(work, files)
            os._exit(0)
        for each in files:
            os.close(each)


def run(work: Callable[[dict[str, Any], list[int], TextIO], None], files: list[int]) -> None:
    """Do a job in a process that ends with it. The first file is a connection: the job comes over it as JSON, and the
    answer goes back, after a line that says which process this is, so that it can be ended."""
    os.setsid()
    os.nice(MORE_PATIENT)
    with (
        socket.socket(fileno=files[0]) as asking,
        asking.makefile("r", encoding="utf-8") as said,
        asking.makefile("w", encoding="utf-8") as out,
    ):
        print(os.getpid(), file=out, flush=True)
        work(json.load(said), files[1:], out)


def give_up(*, network: bool = False, user: bool = False, file: str | None = None, seconds: int = CPU_SECONDS) -> None:
    """Everything but memory and what is open: no environment, no files, no other program, so many seconds of processor
    time, 512 MiB. `network`: it may connect; `user`: it stays who it is; `file`: the one that it may read."""
    os.environ.clear()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # no threads, of which there may be none
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    apart = _NEWIPC if network else _NEWNET | _NEWIPC
    if os.geteuid() == 0:
        libc.unshare(apart)
        if not user:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    elif not network:
        libc.unshare(_NEWUSER | apart)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGXCPU, _too_long)
    for limit, value in (
        (resource.RLIMIT_CORE, (0, 0)),
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_NPROC, (0, 0)),
        (resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
        (resource.RLIMIT_CPU, (seconds, seconds + 2)),
    ):
        resource.setrlimit(limit, value)
    _close_the_files(libc, file)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _close_the_files(libc: ctypes.CDLL, file: str | None) -> None:
    """Landlock: no file can be opened any more, also not to read, whoever we are, but for one; and no process outside
    be looked into. Kernels before 5.13 have none; there the other limits must do."""
    ruleset = ctypes.c_uint64(_EVERY_ACCESS)
    descriptor = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    if descriptor < 0:
        return
    if file is not None:
        opened = os.open(file, os.O_PATH)
        beneath = _Beneath(_READ_FILE, opened)
        libc.syscall(_LANDLOCK_ADD, descriptor, _PATH_BENEATH, ctypes.byref(beneath), 0)
        os.close(opened)
    libc.syscall(_LANDLOCK_RESTRICT, descriptor, 0)
    os.close(descriptor)


def _too_long(*_: object) -> None:
    raise TimeoutError
