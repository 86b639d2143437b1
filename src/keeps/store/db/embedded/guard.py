"""A process, one for each home, that stops the server after all its users were killed.

It waits by flock(2) for each lease in turn, so it costs no processor time until then. It is started by its path with
nothing imported, so it costs little memory.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path


def watch(home: Path) -> None:
    """Wait until no process has a lease, then stop the server. Returns at once when another guard watches."""
    descriptor = os.open(home / "guard.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    done = False
    while not done:
        for lease in (home / "leases").glob("*-*"):
            _wait_for(lease)
        done = _ended_before(home, descriptor) or _stopped(home, descriptor)


def _wait_for(lease: Path) -> None:
    """Wait until the holder of a lease releases it or dies."""
    try:
        descriptor = os.open(lease, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.close(descriptor)


def _ended_before(home: Path, watching: int) -> bool:
    """Return whether the last user has stopped the server, which is usual, without importing Keeps."""
    descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        # The same lock as home_lock, which a user holds until the server has ended.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        server = home / "server"
        ended = server.is_dir() and not (server / "postgres" / "postmaster.pid").exists()
        if any((home / "leases").glob("*-*")) or not ended:
            return False
        os.close(watching)
        return True
    finally:
        os.close(descriptor)


def _stopped(home: Path, watching: int) -> bool:
    # It was started by its path, without a package.
    sys.path += [str(folder.parent) for folder in Path(__file__).parents if folder.name == "keeps"]
    from keeps.store.db.embedded.home import stop_unused

    # This guard must end before another process can start a server, which gets its own guard.
    return stop_unused(home, then=lambda: os.close(watching))


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
