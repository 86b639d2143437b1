"""KEEPS_HOME: a folder that holds one database, opened by any number of threads and processes at once.

lock                 held by whoever starts or stops the server
guard.lock           held by the process that stops it when all its users were killed
leases/              one file for each user of the server, locked while that user lives
secrets.json         passwords of the three roles, readable by the owner of the home only
server/              what the server's user owns: postgres/ (the data), postgres.log, socket/
backup.json          where its backups go, if they are made (`keeps backup on`)
server.location      instead of server/, where root's home is private: the folder that has these three
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import asyncpg

from keeps.db.embedded import server as servers
from keeps.db.embedded.archiving import archiving
from keeps.db.embedded.binaries import SYSTEM_FOLDER, RunUser, choose_run_user, open_system_folder, usable_binaries
from keeps.db.embedded.lease import POLL_SECONDS, Lease, home_lock, live_leases
from keeps.db.embedded.server import DataFolder
from keeps.db.provision import DATABASE, provision
from keeps.db.statements import Statements
from keeps.schema.files import HEAD
from keeps.schema.migrate import migrate
from keeps_client.errors import UnavailableError

_PROBE = Statements("keeps.db", file_name="probe.sql")
START_TIMEOUT_SECONDS = 600.0
RESTORING = "restoring"
MAX_SOCKET_PATH_BYTES = 90  # the system's limit is 107, and ".s.PGSQL.5432" comes on top


@dataclass(frozen=True, slots=True)
class HomeReport:
    """What `keeps doctor` and `keeps status` say of a home, without starting anything."""

    home: Path
    data: Path
    exists: bool
    running_pid: int | None
    lease_pids: list[int]
    run_user: str
    binaries: Path
    notes: list[str]


class EmbeddedPostgres:
    """An open home. The server runs as long as one is open, in any process; closing the last one stops it."""

    def __init__(self, home: Path, folder: DataFolder, lease: Lease, passwords: dict[str, str], socket: Path) -> None:
        self.home = home
        self.folder = folder
        self._lease = lease
        self._passwords = passwords
        self._socket = socket

    @classmethod
    async def open(
        cls, home: Path, *, timeout_seconds: float = START_TIMEOUT_SECONDS, restoring: bool = False
    ) -> EmbeddedPostgres:
        """Open a home, making it and starting its server where needed, at the newest schema.

        `restoring`: also one whose restore is not done. Raises UnavailableError, which says what to do, when that is
        impossible.
        """
        if not restoring and (home / RESTORING).exists():
            raise UnavailableError(
                f"a restore into {home} is going on, or was ended half way; remove {home} and repeat it"
            )
        opened = await asyncio.to_thread(cls._open_blocking, home, timeout_seconds)
        try:
            if restoring:
                await opened._replayed()
            await opened._provision(timeout_seconds)
        except BaseException:
            await opened.close()
            raise
        return opened

    @classmethod
    def _open_blocking(cls, home: Path, timeout_seconds: float) -> EmbeddedPostgres:
        home = home.expanduser().absolute()
        user = choose_run_user()
        _make_home(home)
        with home_lock(home, timeout_seconds):
            folder = _data_folder(home, user)
            passwords = _passwords(home)
            if not folder.exists():
                servers.make_data(folder, passwords[servers.SUPERUSER])
            lease = Lease(home / "leases")
            try:
                process = servers.running_postmaster(folder.data)
                if process is None:
                    process = servers.start(
                        folder, _new_socket_folder(folder), timeout_seconds, archiving(home, folder)
                    )
                servers.start_guard(home)
                servers.wait_until_ready(folder, process, timeout_seconds)
            except BaseException:
                lease.release()
                raise
            socket = servers.socket_folder_of(folder.data)
            if socket is None:
                raise UnavailableError(f"the server in {folder.data} listens on no socket; stop it and try again")
            return cls(home, folder, lease, passwords, socket)

    def url(self, role: str, database: str = DATABASE) -> str:
        """A PostgreSQL URL for one of the roles postgres, keeps_owner, keeps_app, over the private socket."""
        return f"postgresql://{role}:{self._passwords[role]}@/{database}?host={quote(str(self._socket), safe='')}"

    @property
    def socket(self) -> Path:
        """The folder of the socket that the server listens on."""
        return self._socket

    def password(self, role: str) -> str:
        return self._passwords[role]

    @property
    def app_url(self) -> str:
        return self.url("keeps_app")

    @asynccontextmanager
    async def administered(self) -> AsyncGenerator[asyncpg.Connection]:
        """A connection as PostgreSQL's administrator, for backups. Raises UnavailableError for what goes wrong."""
        try:
            connection = await asyncpg.connect(self.url(servers.SUPERUSER))
            try:
                yield connection
            finally:
                await connection.close()
        except (asyncpg.PostgresError, OSError) as error:
            raise UnavailableError(f"the database, or its disk, does not let this happen: {error}") from None

    async def _provision(self, timeout_seconds: float) -> None:
        """Make the database, the roles and the schema where they are not there yet."""
        if await self._is_current():
            return
        lock = home_lock(self.home, timeout_seconds)
        await asyncio.to_thread(lock.__enter__)
        try:
            if await self._is_current():
                return
            await provision(self.url(servers.SUPERUSER, "postgres"), self.url(servers.SUPERUSER), self._passwords)
            await migrate(self.url("keeps_owner"))
        finally:
            lock.__exit__(None, None, None)

    async def _replayed(self) -> None:
        """Wait until the log is replayed: a server answers before it can be written to.

        Raises UnavailableError where it ends meanwhile.
        """
        try:
            connection = await asyncpg.connect(self.url(servers.SUPERUSER, "postgres"), timeout=60)
            try:
                while await connection.fetchval(_PROBE["in_recovery"].text):  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(POLL_SECONDS)
            finally:
                await connection.close()
        except (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError):
            tail = servers.log_tail(self.folder.log)
            raise UnavailableError(f"the log could not be replayed. PostgreSQL's own log ends: {tail}") from None

    async def _is_current(self) -> bool:
        try:
            connection = await asyncpg.connect(self.app_url, timeout=60)
        except (
            asyncpg.InvalidCatalogNameError,
            asyncpg.InvalidPasswordError,
            asyncpg.InvalidAuthorizationSpecificationError,
        ):
            return False
        try:
            return await connection.fetchval(_PROBE["schema_version"].text) == HEAD
        except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
            return False
        finally:
            await connection.close()

    async def revive(self) -> None:
        """Start the server again if it is gone: killed, or out of memory. What was committed is there."""
        await asyncio.to_thread(self._revive_blocking)

    def _revive_blocking(self) -> None:
        with home_lock(self.home, START_TIMEOUT_SECONDS):
            process = servers.running_postmaster(self.folder.data)
            if process is None:
                self.folder.user.run("mkdir", "-p", "-m", "700", "--", str(self._socket))
                process = servers.start(
                    self.folder, self._socket, START_TIMEOUT_SECONDS, archiving(self.home, self.folder)
                )
            servers.start_guard(self.home)
            servers.wait_until_ready(self.folder, process, START_TIMEOUT_SECONDS)

    async def close(self) -> None:
        """Give up our claim; stop the server if it was the last one."""
        await asyncio.to_thread(self._close_blocking)

    def _close_blocking(self) -> None:
        with home_lock(self.home, START_TIMEOUT_SECONDS):
            self._lease.release()
            if not live_leases(self.home / "leases"):
                servers.stop(self.folder.data)
                _remove_socket_folder(self._socket)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def prepared_home(home: Path) -> DataFolder:
    """A home without data, for a restore: its folders, of the users that they shall belong to. Nobody else opens it
    until the file RESTORING is gone."""
    home = home.expanduser().absolute()
    user = choose_run_user()
    _make_home(home)
    (home / RESTORING).touch()
    with home_lock(home, START_TIMEOUT_SECONDS):
        return _data_folder(home, user)


def remove_home(home: Path) -> None:
    """A home with all that it holds, and its server. Only for one that was made by us."""
    if not home.is_dir():
        return
    place = _server_place(home)
    if place is not None and (place == home / "server" or place.parent == SYSTEM_FOLDER / "homes"):
        servers.stop(place / "postgres")
        shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


def stop_unused(home: Path, *, then: Callable[[], None]) -> bool:
    """Stop the server unless somebody has a lease. `then`: done before another may start one. False: it is in use."""
    with home_lock(home, START_TIMEOUT_SECONDS):
        place = _server_place(home)
        if live_leases(home / "leases"):
            return False
        if place is not None and servers.running_postmaster(place / "postgres") is not None:
            socket = servers.socket_folder_of(place / "postgres")
            servers.stop(place / "postgres")
            if socket is not None:
                _remove_socket_folder(socket)
        then()
        return True


def inspect_home(home: Path) -> HomeReport:
    """Look at a home without changing or starting anything."""
    home = home.expanduser().absolute()
    user = choose_run_user()
    binaries = usable_binaries(user)
    notes: list[str] = []
    place = _server_place(home)
    if place is None:
        return HomeReport(
            home,
            home / "server" / "postgres",
            exists=False,
            running_pid=None,
            lease_pids=[],
            run_user=user.name,
            binaries=binaries,
            notes=notes,
        )
    data = place / "postgres"
    if home not in place.parents:
        notes.append(f"user {user.name}, as whom PostgreSQL runs, cannot enter the home; the data is in {data}")
    if SYSTEM_FOLDER in binaries.parents:
        notes.append(f"user {user.name} cannot reach the installed programs, so a copy in {binaries} is used")
    process = servers.running_postmaster(data)
    with home_lock(home, 10):
        leases = live_leases(home / "leases")
    exists = (data / "PG_VERSION").is_file()
    return HomeReport(home, data, exists, process.pid if process else None, leases, user.name, binaries, notes)


def _make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o755, parents=True, exist_ok=True)
        _check_ours(home)
        (home / "leases").mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"cannot make KEEPS_HOME {home}: {error.strerror}; choose a folder you may write to"
        ) from None
    _check_ours(home / "leases")
    if not os.access(home, os.W_OK | os.X_OK):
        raise UnavailableError(f"KEEPS_HOME {home} is not yours to write to; choose another folder")


def _check_ours(folder: Path) -> None:
    """As root, only in folders that nobody else can have prepared, or change: links in them would lead root anywhere.

    Raises UnavailableError, which says what to do.
    """
    if os.geteuid() != 0:
        return
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return
    whose = f"belongs to user {found.st_uid}" if found.st_uid else "can be changed by others, or is a link"
    raise UnavailableError(
        f"{folder} {whose}; as root, Keeps uses only folders that are root's alone. Run it as that user, or choose"
        " another KEEPS_HOME"
    )


def _server_place(home: Path) -> Path | None:
    """The folder that the server's user owns, if it was made."""
    location = home / "server.location"
    if location.is_file() and not location.is_symlink():
        return Path(location.read_text(encoding="utf-8").strip())
    server = home / "server"
    return server if server.is_dir() and not server.is_symlink() else None


def _data_folder(home: Path, user: RunUser) -> DataFolder:
    """Where the data is, or shall be: in the home, or where the run user can reach it when root's home is private."""
    place = _server_place(home)
    if place is None:
        place = _make_server_place(home, user)
    owner = place.lstat()
    if not stat.S_ISDIR(owner.st_mode) or (user.switch and owner.st_uid == 0):
        raise UnavailableError(f"{place} is no folder of the user that runs PostgreSQL; choose another KEEPS_HOME")
    if user.switch and owner.st_uid != user.uid:
        user = RunUser(str(owner.st_uid), owner.st_uid, owner.st_gid, switch=True)
    return DataFolder(place / "postgres", place / "postgres.log", usable_binaries(user), user)


def _make_server_place(home: Path, user: RunUser) -> Path:
    if user.can("-x", home):
        place = home / "server"
        place.mkdir(mode=0o700)
        if user.switch:
            os.chown(place, user.uid, user.gid, follow_symlinks=False)
        return place
    open_system_folder(SYSTEM_FOLDER / "homes")
    place = Path(tempfile.mkdtemp(prefix="home-", dir=SYSTEM_FOLDER / "homes"))
    (place / "made-for").write_text(f"{home}\n", encoding="utf-8")
    os.chown(place, user.uid, user.gid, follow_symlinks=False)
    (home / "server.location").write_text(f"{place}\n", encoding="utf-8")
    return place


def _new_socket_folder(folder: DataFolder) -> Path:
    """A folder only the server's user enters; under /tmp where the home's path is too long for a socket."""
    place = folder.data.parent / "socket"
    if len(os.fsencode(place)) <= MAX_SOCKET_PATH_BYTES and "," not in str(place) and '"' not in str(place):
        # As the server's user, in whose folder it is: that user may have put a link there.
        make = '[ -d "$1" ] || mkdir -m 700 -- "$1"; chmod 700 -- "$1"'
        folder.user.run("/bin/sh", "-c", make, "sh", str(place))
        return place
    place = Path(tempfile.mkdtemp(prefix="keeps-", dir="/tmp"))  # noqa: S108
    if folder.user.switch:
        os.chown(place, folder.user.uid, folder.user.gid, follow_symlinks=False)
    return place


def _remove_socket_folder(socket: Path) -> None:
    if socket.parent == Path("/tmp") and socket.name.startswith("keeps-"):  # noqa: S108
        socket.rmdir()


def _passwords(home: Path) -> dict[str, str]:
    path = home / "secrets.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    passwords = {role: secrets.token_urlsafe(24) for role in (servers.SUPERUSER, "keeps_owner", "keeps_app")}
    descriptor, partial = tempfile.mkstemp(prefix=".secrets-", dir=home)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(passwords, file)
        file.flush()
        os.fsync(file.fileno())
    Path(partial).rename(path)
    return passwords
