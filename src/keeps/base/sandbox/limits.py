"""Confinement of processes that handle untrusted input: rights, namespaces, limits, Landlock, seccomp.

`python -I -m keeps.base.sandbox.limits` confines itself and prints as JSON which kernel limits are in force, for
`keeps doctor`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from keeps.base.sandbox import seccomp

CPU_SECONDS, MEMORY_BYTES = 30, 512 << 20
_NEWUSER, _NEWNET, _NEWIPC = 0x10000000, 0x40000000, 0x08000000
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_NOBODY = 65_534
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT, _LANDLOCK_VERSION = 444, 445, 446, 1
_FILES_BY_VERSION = ((5, 16), (3, 15), (2, 14), (1, 13))
"""Pairs of a Landlock version and the number of kinds of file access that it controls."""
_READ_FILE, _PATH_BENEATH = 1 << 2, 1
_CONNECT_TCP, _ANY_TCP, _NETWORK_PORT = 1 << 1, 0b11, 2
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_NETWORK_VERSION, _SCOPE_VERSION = 4, 6


class SandboxError(Exception):
    """The machine lacks a confinement that the work requires."""


@dataclass(frozen=True, slots=True)
class Walls:
    """The kernel limits in force for this process."""

    namespaces: bool
    landlock: int
    """The version in use; 0 without Landlock."""
    seccomp: bool


def close_descriptors(kept: Collection[int] = ()) -> None:
    """Close all open files except the first three and `kept`.

    A parent with an event loop of its own may have let this process inherit its files.
    """
    for name in os.listdir(open_descriptors()):
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):  # The descriptor of the listing itself is closed already.
                os.close(int(name))


def keep_descriptors() -> None:
    """Prevent programs started from here from inheriting any open file but the first three."""
    for name in os.listdir(open_descriptors()):
        if int(name) > 2:
            with suppress(OSError):
                os.set_inheritable(int(name), False)


def open_descriptors() -> Path:
    """Return the folder that lists this process's open files."""
    return Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")


def confine(
    *, port: int | None = None, user: bool = False, files: Sequence[str] = (), seconds: int = CPU_SECONDS
) -> Walls:
    """Give up everything but memory and open files: environment, other files, other programs, and unlimited time.

    Args:
        port: The only TCP port that may be connected to. None: no network.
        user: Keep the user; otherwise root becomes nobody.
        files: The only files that may be read. Links are followed for the first only.
        seconds: Limit of processor time.

    Raises:
        SandboxError: Neither namespaces nor seccomp can close the network on this Linux.
    """
    os.environ.clear()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # Threads may be forbidden.
    if sys.platform != "linux":
        _limit(seconds)
        return Walls(namespaces=False, landlock=0, seccomp=False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    apart = _NEWIPC if port is not None else _NEWNET | _NEWIPC
    if os.geteuid() == 0:
        namespaces = libc.unshare(apart) == 0
        if not user:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    else:
        namespaces = port is None and libc.unshare(_NEWUSER | apart) == 0
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    _limit(seconds)
    landlock = _close_files(libc, files, port)
    filtered = seccomp.install(libc, network=port is not None, files=bool(files))
    if port is None and not (namespaces or filtered):
        raise SandboxError(
            "this machine lets the process that reads it keep the network; allow seccomp or unshare (keeps doctor)"
        )
    return Walls(namespaces, landlock, filtered)


def _limit(seconds: int) -> None:
    signal.signal(signal.SIGXCPU, _raise_timeout)
    for limit, value in (
        (resource.RLIMIT_CORE, (0, 0)),
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_NPROC, (0, 0)),
        (resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
        (resource.RLIMIT_CPU, (seconds, seconds + 2)),
    ):
        resource.setrlimit(limit, value)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _FileRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def _close_files(libc: ctypes.CDLL, files: Sequence[str], port: int | None) -> int:
    """Forbid, by Landlock, opening files, connecting, and reaching other processes, except for `files` and `port`.

    Returns:
        The version of Landlock; 0 if the kernel has none (before 5.13). Network rules need version 4 (Linux 6.7).
    """
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return 0
    kinds = next(kinds for since, kinds in _FILES_BY_VERSION if version >= since)
    size = 24 if version >= _SCOPE_VERSION else 16 if version >= _NETWORK_VERSION else 8
    ruleset = _Ruleset((1 << kinds) - 1, _ANY_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    descriptor = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), size, 0)
    if descriptor < 0:
        return 0
    for number, file in enumerate(files):
        opened = os.open(file, os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if number else 0))
        beneath = _FileRule(_READ_FILE, opened)
        libc.syscall(_LANDLOCK_ADD, descriptor, _PATH_BENEATH, ctypes.byref(beneath), 0)
        os.close(opened)
    if port is not None and version >= _NETWORK_VERSION:
        connect = _PortRule(_CONNECT_TCP, port)
        libc.syscall(_LANDLOCK_ADD, descriptor, _NETWORK_PORT, ctypes.byref(connect), 0)
    restricted = libc.syscall(_LANDLOCK_RESTRICT, descriptor, 0) == 0
    os.close(descriptor)
    return version if restricted else 0


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    try:
        walls = asdict(confine())
    except SandboxError as error:
        walls = {"refused": str(error)}
    print(json.dumps(walls))
