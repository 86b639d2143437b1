"""Leases of a server: one lock for changes, one locked file for each user of it.

All locks use flock(2), which the kernel releases when a process ends for any reason. A lease that no process holds
therefore belongs to a dead process, and a lock is never stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path

from keeps_client.errors import UnavailableError

POLL_SECONDS = 0.02


@contextlib.contextmanager
def home_lock(folder: Path, timeout_seconds: float) -> Generator[None]:
    """Hold the lock of a home; its holder may start or stop the server, or make the data folder.

    Raises UnavailableError when another process has been starting or recovering for `timeout_seconds`.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + timeout_seconds
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"another process has been starting or stopping the database in {folder} for "
                    f"{timeout_seconds:.0f} s; see {folder / 'postgres.log'}"
                )
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


class Lease:
    """A claim on the server that lasts while this object is open and its process lives."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path = folder / f"{os.getpid()}-{time.monotonic_ns()}-{id(self):x}"
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the claim. Call it under `home_lock`."""
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)


def live_leases(folder: Path) -> list[int]:
    """Return the ids of processes that hold a lease; remove the files of dead ones. Call it under `home_lock`."""
    alive: list[int] = []
    for path in sorted(folder.glob("*-*")) if folder.is_dir() and not folder.is_symlink() else []:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if try_lock(descriptor):
                path.unlink(missing_ok=True)
            else:
                alive.append(int(path.name.split("-")[0]))
        finally:
            os.close(descriptor)
    return alive


def try_lock(descriptor: int) -> bool:
    """Lock an open file, and return whether no other process has it locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
