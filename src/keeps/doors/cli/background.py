"""The background process that commands on an embedded home share: found, started and stopped.

Opening the database and loading the model takes seconds, so the first command starts a process that does it once
(`background_server`), and the next ones send their requests to its Unix socket. The process ends when nobody has
asked for KEEPS_BACKGROUND_SECONDS. Its name is a hash of the settings and the installed code: a command with other
settings, or of another version, has a process of its own, so none has to stop another.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keeps
import keeps_client
from keeps.base.settings import Settings

if TYPE_CHECKING:
    import subprocess

FOLDER = "background"
"""Length of a socket's path; the system's limit is 107, or 103."""
MODULE, KEY_VARIABLE = "keeps.doors.cli.background_server", "_KEEPS_BACKGROUND_KEY"
START_SECONDS, STOP_SECONDS, KILL_SECONDS, POLL_SECONDS = 120.0, 35.0, 5.0, 0.02
ELSEWHERE = "http_proxy https_proxy all_proxy no_proxy ssl_cert_file ssl_cert_dir otel_exporter_otlp_headers".split()
"""Variables beside KEEPS_* that change what the process does."""
_PEER = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Background:
    """A background process. `folder`: of its socket. `key`: the hash of its settings and code."""

    home: Path
    folder: Path
    key: str

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.key}.sock"

    @property
    def lock(self) -> Path:
        """Return the file that the process keeps locked; it contains the process id."""
        return self.folder / f"{self.key}.lock"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.key}.log"

    @contextmanager
    def address(self) -> Generator[str]:
        """Provide a path of the socket: on Linux a short one, however long that of the home is."""
        if sys.platform != "linux":
            yield str(self.socket)
            return
        descriptor = os.open(self.folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{descriptor}/{self.socket.name}"
        finally:
            os.close(descriptor)

    def connect(self) -> socket.socket | None:
        """Return a connection to the process; None if it does not listen, or is another user's."""
        if not is_private(self.folder):
            return None
        connection = socket.socket(socket.AF_UNIX)
        try:
            with self.address() as address:
                connection.connect(address)
            if _is_ours(connection):
                connection.setblocking(False)
                return connection
        except OSError:
            pass
        connection.close()
        return None

    def answers(self) -> bool:
        """Return whether the process accepts connections."""
        connection = self.connect()
        if connection is not None:
            connection.close()
        return connection is not None

    async def start(self) -> bool:
        """Start the process unless it runs, and wait until it accepts connections. Return whether it does.

        Of several commands that start it at once, one process stays.
        """
        import asyncio

        if not _make_folder(self.folder):
            return False
        deadline = time.monotonic() + START_SECONDS
        started: subprocess.Popen[bytes] | None = None
        while not self.answers():
            if time.monotonic() > deadline or (started is not None and started.poll() is not None):
                break
            if started is None and process_of(self.lock) is None:
                try:
                    started = self._launch()
                except OSError:
                    return False
            await asyncio.sleep(POLL_SECONDS)
        return self.answers()

    def _launch(self) -> subprocess.Popen[bytes]:
        import subprocess

        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(  # noqa: S603  this interpreter and a module of ours
                [sys.executable, "-m", MODULE, str(self.home)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={**os.environ, KEY_VARIABLE: self.key},
                start_new_session=True,
            )
        finally:
            os.close(log)


def background_of(settings: Settings) -> Background | None:
    """Return the process that serves commands with these settings; None if they work without one."""
    home = settings.home.expanduser().absolute()
    off = settings.database_url is not None or settings.background_seconds == 0
    # As process 1 of a container, a command takes all other processes with it.
    if off or _names_relative_path(settings) or os.getpid() == 1 or not _is_only_ours(home):
        return None
    return Background(home, home / FOLDER, _key(replace(settings, home=home)))


def running(home: Path) -> dict[Path, int]:
    """Return the ids of the processes of a home, by their locked files."""
    if not (_is_only_ours(home) and is_private(home / FOLDER)):
        return {}
    locks = sorted((home / FOLDER).glob("*.lock"))
    return {lock: process for lock in locks if (process := process_of(lock)) is not None and _is_background(process)}


def stop(home: Path) -> list[int]:
    """End the processes of a home after their current requests; return their ids. One that hangs is killed."""
    before = running(home)
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        for process in running(home).values():
            with suppress(ProcessLookupError):
                os.kill(process, number)
        deadline = time.monotonic() + seconds
        while running(home) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
    left = running(home)
    return [process for lock, process in before.items() if left.get(lock) != process]


def process_of(lock: Path) -> int | None:
    """Return the id of the process that holds a lock; None if none does."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(descriptor, 20)
        return int(text) if text.isdigit() else None
    else:
        return None
    finally:
        os.close(descriptor)


def _is_background(process: int) -> bool:
    """Return whether a process is one in the background. In another namespace its id names another process, or none."""
    import psutil

    try:
        return MODULE in psutil.Process(process).cmdline()
    except psutil.Error:
        return False


def _names_relative_path(settings: Settings) -> bool:
    """Return whether a setting names a path in the current folder, which the next command may run elsewhere."""
    models = [model.removeprefix("onnx:") for model in (settings.embedder, settings.reranker) if model[:5] == "onnx:"]
    paths = settings.model_dir, settings.markdown_folder, os.environ.get("KEEPS_CONFIG"), *models
    return any(not Path(path).is_absolute() for path in paths if path)


def _key(settings: Settings) -> str:
    environment = {name: value for name, value in os.environ.items() if name.lower() in ELSEWHERE}
    parts = astuple(settings), sorted(environment.items()), sys.prefix, *map(_stamp, (keeps, keeps_client))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _stamp(package: Any) -> tuple[str, int, int]:
    """Return where a package is, its number of files, and when the last one was changed."""
    root = str(Path(package.__file__).parent)
    changes = [
        os.stat(os.path.join(folder, name)).st_mtime_ns  # noqa: PTH116, PTH118  twice as fast for hundreds of files
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith((".py", ".sql"))
    ]
    return root, len(changes), max(changes)


def _make_folder(folder: Path) -> bool:
    """Make the folder of the sockets; return whether it is only ours."""
    try:
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_private(folder)


def is_private(folder: Path) -> bool:
    """Return whether a folder is ours and nobody else may enter it."""
    try:
        entry = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(entry.st_mode) and entry.st_uid == os.geteuid() and not entry.st_mode & 0o077


def _is_only_ours(home: Path) -> bool:
    """Return whether nobody but this user and root can change what is at a path, as OpenSSH checks it."""
    try:
        real = home.resolve()
        for path in {home, *home.parents, real, *real.parents}:
            with suppress(FileNotFoundError):
                entry = path.lstat()
                others_may_write = entry.st_mode & 0o022 and not stat.S_ISLNK(entry.st_mode)
                if entry.st_uid not in (0, os.geteuid()) or (others_may_write and not entry.st_mode & stat.S_ISVTX):
                    return False
        return not real.exists() or real.stat().st_uid == os.geteuid()
    except (OSError, RuntimeError):  # A link that leads to itself.
        return False


def _is_ours(connection: socket.socket) -> bool:
    """Return whether a process of this user is at the other end."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True  # Only this user enters the folder.
    _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _PEER.size))
    return user == os.geteuid()
