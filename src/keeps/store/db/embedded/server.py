"""One data folder and its server: make, start, recover, stop. All calls block; make them under `home_lock`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from keeps.store.db.embedded.binaries import ENVIRONMENT, RunUser
from keeps.store.db.embedded.lease import POLL_SECONDS
from keeps.store.db.probe import NO_SIMD
from keeps_client.errors import UnavailableError

SUPERUSER = "postgres"
SETTINGS = {
    # Durable: an acknowledged write survives a power cut.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Private: a socket in a folder of our own, and no TCP.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    # Iterations slow down guessing, and add 2.5 ms to each connection. 24 random bytes cannot be guessed.
    "scram_iterations": "1",
    # Sized for a laptop; many small statements, so no JIT.
    "max_connections": "100",
    "shared_buffers": "256MB",
    "effective_cache_size": "2GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "random_page_cost": "1.1",
    "max_wal_size": "2GB",
    # A tenant may move to another cell by logical replication; a killed move must not fill the disk with log.
    "wal_level": "logical",
    "max_slot_wal_keep_size": "16GB",
    # The first change of a page after a checkpoint logs the whole page; compression reduces this to a third.
    "wal_compression": "pglz",
    "min_wal_size": "128MB",
    "checkpoint_timeout": "15min",
    "autovacuum_naptime": "20s",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    # Values of failing statements may be memories: keep them out of the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
}


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The parts of an embedded server: data, programs, log and user."""

    data: Path
    log: Path
    binaries: Path
    user: RunUser

    def exists(self) -> bool:
        return (self.data / "PG_VERSION").is_file()

    def version(self) -> int:
        """Return the major version of PostgreSQL that made the data. Raises UnavailableError."""
        # The server's user may have put a link in this folder: it is not followed, and its content is not shown.
        try:
            descriptor = os.open(self.data / "PG_VERSION", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return int(file.read(16))
        except (OSError, ValueError):
            raise UnavailableError(f"{self.data / 'PG_VERSION'} does not say which PostgreSQL made the data") from None


def make_data(folder: DataFolder, superuser_password: str, *further: str) -> None:
    """Run initdb in a neighbouring folder and rename it, so that a partial data folder is never used.

    `further` holds additional options of initdb.
    """
    parent = folder.data.parent
    # Run everything as the server's user, who owns the folder: root must not follow links that this user put there.
    folder.user.run("/bin/sh", "-c", 'rm -rf -- "$1"/.initdb-*', "sh", str(parent))
    made = folder.user.run("mktemp", "-d", str(parent / ".initdb-XXXXXXXX"))
    if made.returncode != 0:
        raise UnavailableError(f"cannot write to {parent} as user {folder.user.name}: {made.stderr.strip()[-300:]}")
    partial = Path(made.stdout.strip())
    command = [
        str(folder.binaries / "bin" / "initdb"),
        f"--pgdata={partial / 'data'}",
        f"--username={SUPERUSER}",
        f"--pwfile={partial / 'password'}",
        "--auth=scram-sha-256",
        f"--set=scram_iterations={SETTINGS['scram_iterations']}",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        *further,
    ]
    try:
        folder.user.run("/bin/sh", "-c", 'cat >"$1"', "sh", str(partial / "password"), given=superuser_password + "\n")
        done = folder.user.run(*command)
        if done.returncode == -signal.SIGILL or "signal 4" in done.stderr:
            raise UnavailableError(f"initdb was ended by an illegal instruction: {NO_SIMD}")
        if done.returncode != 0:
            raise UnavailableError(f"could not create a database in {folder.data}: {done.stderr.strip()[-800:]}")
        moved = folder.user.run("mv", "-T", str(partial / "data"), str(folder.data))
        if moved.returncode != 0:
            raise UnavailableError(f"could not create a database in {folder.data}: {moved.stderr.strip()[-300:]}")
    finally:
        folder.user.run("rm", "-rf", "--", str(partial))


def running_postmaster(data: Path) -> psutil.Process | None:
    """Return the server process of this data folder, or None.

    The process named in postmaster.pid counts only if it works in this folder, since process ids are reused.
    """
    try:
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and _works_in(process, data):
            return process
    except (OSError, ValueError, psutil.Error):
        pass
    return None


def start(
    folder: DataFolder, socket_folder: Path, timeout_seconds: float, further: Mapping[str, str]
) -> psutil.Process:
    """Clear the remains of a crash, start the server and return its process at once; `wait_until_ready` follows."""
    _bury_the_dead(folder, socket_folder, timeout_seconds)
    options = {**SETTINGS, **further, "unix_socket_directories": _quoted_list_item(str(socket_folder))}
    command = [str(folder.binaries / "bin" / "postgres"), "-D", str(folder.data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    # The shell leaves it in the background and ends, so the server is a child of init: it outlives us and is never our
    # zombie. A session of its own keeps our terminal's Ctrl-C away from it. The shell opens the log, as the server's
    # user.
    launched: Any = subprocess.run(  # noqa: S603
        folder.user.command(
            "/bin/sh", "-c", 'log=$1; shift; "$@" >>"$log" 2>&1 & echo $!', "sh", str(folder.log), *command
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=ENVIRONMENT,
        umask=0o077,
        start_new_session=True,
        check=True,
    )
    try:
        return psutil.Process(int(launched.stdout))
    except psutil.NoSuchProcess:
        raise UnavailableError(f"PostgreSQL did not start. Its log ends: {log_tail(folder.log)}") from None


def wait_until_ready(folder: DataFolder, server: psutil.Process, timeout_seconds: float) -> Path:
    """Wait until the server accepts connections and return its socket folder.

    Crash recovery may take minutes. Raises UnavailableError with the end of its log when the server dies or is not
    ready in time.
    """
    deadline = time.monotonic() + timeout_seconds
    while _status(folder.data, server.pid) != "ready":
        if not _is_alive(server):
            raise UnavailableError(f"PostgreSQL did not start in {folder.data}. Its log ends: {log_tail(folder.log)}")
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"PostgreSQL in {folder.data} is still starting after {timeout_seconds:.0f} s (crash recovery of a "
                f"large database?); try again later. Its log ends: {log_tail(folder.log)}"
            )
        time.sleep(POLL_SECONDS)
    socket = socket_folder_of(folder.data)
    if socket is None:
        raise UnavailableError(
            f"PostgreSQL in {folder.data} ended as soon as it was ready. Its log ends: {log_tail(folder.log)}"
        )
    return socket


def wake_checkpointer(server: psutil.Process) -> None:
    """Make the checkpointer of a just started server apply `archive_timeout`.

    It starts before recovery ends, when that setting has no effect, and sleeps for `checkpoint_timeout`.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        server.send_signal(signal.SIGHUP)


def start_guard(home: Path) -> None:
    """Start the process that stops the server when all its users were killed, unless one is running."""
    descriptor = os.open(home / "guard.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
    if not sys.executable:
        return  # Python is embedded in another program: the next user of the home handles what remains.
    guard = Path(__file__).with_name("guard.py")
    # Like the server, a child of init in a session of its own.
    subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-P", str(guard), str(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        check=True,
    )


def stop(data: Path, timeout_seconds: float = 60.0) -> None:
    """Stop the server by a fast shutdown, then by an immediate one (safe, it recovers) after a timeout."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        process = running_postmaster(data)
        if process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
        deadline = time.monotonic() + timeout_seconds
        while running_postmaster(data) is not None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def socket_folder_of(data: Path) -> Path | None:
    """Return the folder that the running server listens in, from its postmaster.pid."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        return Path(lines[4]) if lines[4] else None
    except (OSError, IndexError):
        return None


def log_tail(log: Path, characters: int = 600) -> str:
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(0, os.fstat(descriptor).st_size - characters))
            return file.read(characters).decode("utf-8", "replace").strip() or "(empty)"
    except OSError as error:
        return f"(cannot be read: {error})"


def _bury_the_dead(folder: DataFolder, socket_folder: Path, timeout_seconds: float) -> None:
    """Make sure that no process of a killed server works on the data, then remove its lock files.

    PostgreSQL itself refuses to start when the pid was reused by another process of the same user, or is a zombie that
    was not reaped. The files can be removed safely only when no process works in the folder.
    """
    data = folder.data
    deadline = time.monotonic() + timeout_seconds
    terminated = False
    while survivors := [process for process in psutil.process_iter() if _works_in(process, data)]:
        if time.monotonic() > deadline:
            raise UnavailableError(f"processes of a killed server still work in {data}: {[p.pid for p in survivors]}")
        if time.monotonic() > deadline - timeout_seconds + 5 and not terminated:
            terminated = True
            for process in survivors:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGQUIT)
        time.sleep(POLL_SECONDS)
    remove = 'rm -f -- "$1"/postmaster.pid "$2"/.s.PGSQL.*'
    folder.user.run("/bin/sh", "-c", remove, "sh", str(data), str(socket_folder))


def _works_in(process: psutil.Process, data: Path) -> bool:
    try:
        return process.cwd() == os.path.realpath(data) and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def _status(data: Path, pid: int) -> str:
    """Return the last line of postmaster.pid (starting, ready, stopping); empty if the file is not this server's."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        return lines[7].strip() if int(lines[0]) == pid else ""
    except (OSError, IndexError, ValueError):
        return ""


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _quoted_list_item(path: str) -> str:
    """Return a path quoted as one item of a PostgreSQL list setting."""
    return '"' + path.replace('"', '""') + '"'
