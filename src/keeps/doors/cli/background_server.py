"""The background process: serves one user's commands on a Unix socket, until nobody asks.

    python -m keeps.doors.cli.background_server HOME

Ends with 0 if another one serves already, with 1 if the database cannot be opened. The variable _KEEPS_BACKGROUND_KEY
has the hash of the settings and code of the command that started it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from keeps import Keeps
from keeps.base.settings import Settings, load_settings
from keeps.base.telemetry.logs import configure_logs
from keeps.doors.cli.background import (
    KEY_VARIABLE,
    POLL_SECONDS,
    START_SECONDS,
    Background,
    background_of,
    is_private,
    process_of,
)
from keeps.doors.cli.hook_server import HookServer
from keeps.doors.server.app import create_app
from keeps.doors.server.protocol import GuardedProtocol
from keeps.store.db.embedded.lease import try_lock
from keeps.store.db.embedded.server import running_postmaster

TICKS = 2
"""Ticks of uvicorn, each a tenth of a second, after which the server looks whether it should end."""
KEPT_SECONDS = 86_400.0
"""Age from which files of processes that ended are removed."""
MOST_BODY_BYTES = 256 << 20
"""Size of a request. The caller is the user whose memory it is, who could open the database as well."""


class Activity:
    """An app that notes when it answered last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._active = 0
        self._last = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        return 0.0 if self._active else time.monotonic() - self._last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_request = scope["type"] == "http"
        self._active += is_request
        try:
            await self._app(scope, receive, send)
        finally:
            self._active -= is_request
            self._last = time.monotonic()


def main(home: str) -> int:
    """Serve until idle, and return the exit code."""
    settings = load_settings(home=home)
    background = background_of(settings)
    if background is None or background.key != os.environ.get(KEY_VARIABLE) or not is_private(background.folder):
        print("this process has other settings, code or another home than the command that started it", file=sys.stderr)
        return 1
    deadline = time.monotonic() + START_SECONDS
    lock = os.open(background.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    while not try_lock(lock):
        if background.answers():
            return 0
        if time.monotonic() > deadline:
            return 1
        time.sleep(POLL_SECONDS)  # Another one is starting, or ending.
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    _remove_unused(background.folder)
    return 0 if uvloop.run(_serve(settings, background)) else 1


def _remove_unused(folder: Path) -> None:
    """Remove the files of processes with other settings or code that ended long ago."""
    for lock in folder.glob("*.lock"):
        if lock.stat().st_mtime < time.time() - KEPT_SECONDS and process_of(lock) is None:
            for path in folder.glob(f"{lock.stem}.*"):
                path.unlink(missing_ok=True)


async def _serve(settings: Settings, background: Background) -> bool:
    """Serve on the socket until idle; return whether it ever did."""
    configure_logs("warning")
    sys.setswitchinterval(0.0005)
    serving = replace(
        settings, host="127.0.0.1", auth="none", cors_origins=(), max_body_bytes=MOST_BODY_BYTES, log_level="warning"
    )
    # keeps serve delivers webhooks, with its own settings for private addresses.
    app = create_app(serving, lambda: Keeps.open(settings.home), webhooks=False, door_name="cli")
    background.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    usual = os.umask(0o077)
    with background.address() as address:
        listener.bind(address)
    os.umask(usual)
    server = _Server(app, background.socket, settings.background_seconds)
    await server.serve([listener])
    return server.started


class _Server(uvicorn.Server):
    """A server that ends when nobody asks any more, or when its socket or the database is gone with the home."""

    def __init__(self, app: Starlette, socket_path: Path, idle_seconds: int) -> None:
        self._activity = Activity(HookServer(app))
        super().__init__(
            uvicorn.Config(
                self._activity,
                http=GuardedProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_graceful_shutdown=30,
            )
        )
        self._app = app
        self._socket_path, self._socket_identity = socket_path, _identity(socket_path)
        self._idle_seconds = idle_seconds
        self._database: MovedDatabase | None = None

    async def on_tick(self, counter: int) -> bool:
        return (counter % TICKS == 0 and self._is_over()) or await super().on_tick(counter)

    def _is_over(self) -> bool:
        if self._database is None:
            self._database = MovedDatabase(self._app.state.keeps)
        gone = self._database.ended() or _identity(self._socket_path) != self._socket_identity
        return gone or self._activity.idle_seconds >= self._idle_seconds


class MovedDatabase:
    """Notices that the data of the embedded database was moved, and ends its server at once.

    The server writes its control file by the path at which it was started: where another database was put in the old
    one's place, a checkpoint would destroy that one. Without a checkpoint it recovers when it is started again.
    """

    def __init__(self, keeps: Keeps) -> None:
        assert keeps.core.server is not None
        self._data = keeps.core.server.folder.data
        self._identity = _identity(self._data)
        self._postmaster = running_postmaster(self._data)

    def ended(self) -> bool:
        """Return whether the data was moved; its server is ended then."""
        if _identity(self._data) == self._identity:
            if self._postmaster is None or not self._postmaster.is_running():  # It was started again after a crash.
                self._postmaster = running_postmaster(self._data)
            return False
        if self._postmaster is not None and self._postmaster.is_running():
            self._postmaster.send_signal(signal.SIGQUIT)
        return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        entry = path.stat()
    except OSError:
        return None
    return entry.st_dev, entry.st_ino


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
