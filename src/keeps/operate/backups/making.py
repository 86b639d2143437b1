"""Makes backups of a home while it serves, and ships its log to them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import secrets
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel

from keeps import __version__
from keeps.base.clock import Clock
from keeps.base.telemetry.logs import log
from keeps.memory.transfer.erased import remember_folder
from keeps.operate.backups.folder import NAME, SEGMENT, Backup, BackupFolder
from keeps.operate.backups.programs import administrator, read_from, run, write
from keeps.operate.backups.sealing import new_key, read_key
from keeps.store.db.embedded.archiving import BACKUP_PLAN, SPOOL
from keeps.store.db.embedded.home import EmbeddedPostgres
from keeps.store.db.embedded.server import DataFolder
from keeps.store.db.statements import Statements
from keeps_client.errors import KeepsError, NotConfiguredError, UnavailableError

QUERIES = Statements("keeps.operate.backups")
FULL_AGAIN = timedelta(days=7)
"""Age of the last full backup after which the next one is full, so that chains stay short."""
SHIP_SECONDS = 20.0
MOST_BYTES = 64 << 20
SHIP_FAILURE = "backup-failure.json"


class Plan(BaseModel):
    """The destination of a home's backups. `line`: its history, which ends when a backup replaces the home."""

    folder: Path
    line: str
    key_file: Path | None = None

    @staticmethod
    def of(home: Path) -> Plan | None:
        path = home / BACKUP_PLAN
        return Plan.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None

    def opened(self) -> BackupFolder:
        return BackupFolder.open(self.folder, None if self.key_file is None else read_key(self.key_file))


def set_up(home: Path, folder: Path, key_file: Path | None, now: datetime) -> Plan:
    """Make the server keep its log for backups, from its next start on. Raises ValidationFailedError."""
    before = Plan.of(home)
    line = before.line if before is not None and before.folder == folder.absolute() else secrets.token_hex(8)
    plan = Plan(folder=folder.absolute(), line=line, key_file=None if key_file is None else key_file.absolute())
    key = None
    if plan.key_file is not None:
        key = read_key(plan.key_file) if plan.key_file.exists() else new_key(plan.key_file)
    BackupFolder.make(plan.folder, home, key, now)
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    remember_folder(home, plan.folder)
    (home / BACKUP_PLAN).write_text(plan.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return plan


def plan_of(home: Path) -> Plan:
    """Return the plan of a home. Raises NotConfiguredError if there is none."""
    plan = Plan.of(home)
    if plan is None:
        raise NotConfiguredError(f"{home} has no backups: turn them on with `keeps backup on FOLDER`")
    return plan


async def create(server: EmbeddedPostgres, clock: Clock, *, full: bool = False) -> Backup:
    """Make a backup while the server works: incremental if it can continue an earlier one, else full.

    Raises NotConfiguredError if the home has no plan, UnavailableError when it cannot be written.
    """
    plan = plan_of(server.home)
    folder = await asyncio.to_thread(plan.opened)
    async with server.administered() as connection:
        settings = await connection.fetchrow(QUERIES["server_held"].text)
        assert settings is not None
        alone = full or not settings["archives"]
        made = await asyncio.to_thread(_make, server, folder, clock, dict(settings), full=alone)
        if settings["archives"]:
            await connection.execute(QUERIES["end_segment"].text)
    await ship(server)
    return made


def _base(folder: BackupFolder, line: str, version: str, now: datetime) -> Backup | None:
    """Return the backup that the next one continues, or None.

    It is the last of this history by this major version of PostgreSQL, for a week after a full one.
    """
    held = [each for each in folder.backups() if each.line == line and each.major == version.split(".")[0]]
    full = next((each for each in reversed(held) if each.kind == "full"), None)
    return held[-1] if full is not None and full.ended_at >= now - FULL_AGAIN else None


def _new_name(folder: BackupFolder, began: datetime) -> str:
    """Return a name by the second, after every other: their order is the order of the chain."""
    last = max((each.name for each in folder.path.iterdir() if NAME.fullmatch(each.name)), default="")
    while (name := began.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")) <= last:
        began += timedelta(seconds=1)
    return name


def _make(server: EmbeddedPostgres, folder: BackupFolder, clock: Clock, held: dict[str, Any], *, full: bool) -> Backup:
    user, place = server.folder.user, server.folder.data.parent
    with folder.alone():
        folder.remove_partial()
        # What a backup that was killed left: copies of the data, and a password.
        user.run("/bin/sh", "-c", 'rm -rf -- "$1"/.backup-*', "sh", str(place))
        began = clock()
        line = plan_of(server.home).line
        last = None if full else _base(folder, line, held["version"], began)
        name = _new_name(folder, began)
        (folder.path / name).mkdir(mode=0o700)
        with administrator(server) as (work, connects):
            command = [
                server.folder.binaries / "bin" / "pg_basebackup",
                f"--dbname={connects}",
                f"--pgdata={work / 'data'}",
                "--checkpoint=fast",
                "--wal-method=stream",
                "--no-sync",
            ]
            if last is not None:
                with folder.reading(last.name, "manifest.gz") as manifest:
                    write(user, work / "manifest", manifest.read().decode())
                command.append(f"--incremental={work / 'manifest'}")
            run(user, *command)
            label = run(user, "cat", "--", work / "data" / "backup_label")
            with folder.writing(name, "manifest.gz") as file:
                file.write(run(user, "cat", "--", work / "data" / "backup_manifest").encode())
            with folder.writing(name, "data.tar.gz") as file:
                read_from(user, file, "tar", "-C", work / "data", "-cf", "-", ".")
            _keep_home(server.home, folder, name)
        first = re.search(r"file ([0-9A-F]{24})", label)
        assert first is not None, label
        backup = Backup(
            name=name,
            line=line,
            kind="full" if last is None else "incremental",
            of=None if last is None else last.name,
            began_at=began,
            ended_at=clock(),
            first_segment=first[1],
            bytes=folder.file(name, "data.tar.gz").stat().st_size,
            keeps=__version__,
            postgres=held["version"],
            tenants=held["tenants"],
            memories=held["memories"],
        )
        folder.write_backup(backup)
        return backup


def _keep_home(home: Path, folder: BackupFolder, name: str) -> None:
    """Store the parts of a home outside its database: the passwords of the roles, settings, the Markdown memory."""
    texts = {
        name: (home / name).read_text(encoding="utf-8")
        for name in ("secrets.json", "keeps.toml")
        if (home / name).is_file()
    }
    files = {
        str(file_path.relative_to(home)): base64.b64encode(file_path.read_bytes()).decode()
        for file_path in sorted((home / "markdown").rglob("*"))
        if file_path.is_file() and not file_path.is_symlink()
    }
    with folder.writing(name, "home.json.gz") as file:
        file.write(json.dumps({"texts": texts, "files": files}).encode())


async def ship(server: EmbeddedPostgres) -> int:
    """Ship completed log segments to the backup folder; return their number.

    Without a plan, remove what the server still writes to the spool, since it would fill the disk.
    """
    plan = Plan.of(server.home)
    if plan is not None:
        return await asyncio.to_thread(_ship, plan, server.folder)
    spool = server.folder.data.parent / SPOOL
    if spool.is_dir():
        await asyncio.to_thread(server.folder.user.run, "/bin/sh", "-c", 'rm -f -- "$1"/*', "sh", str(spool))
    return 0


def _ship(plan: Plan, data: DataFolder) -> int:
    """Ship the spool of a plan.

    The spool is in a folder of the server's user, who must not be able to lead root elsewhere: files are read below the
    opened folder, without following links, if they belong to that user.
    """
    try:
        spool = os.open(data.data.parent / SPOOL, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        folder = plan.opened()
        with folder.alone():
            there = set(folder.segments())
            return sum(_shipped(folder, spool, name, data.user.uid, there) for name in sorted(os.listdir(spool)))
    finally:
        os.close(spool)


def _shipped(folder: BackupFolder, spool: int, name: str, owner: int, there: set[str]) -> bool:
    """Ship a file and remove it from the spool; return whether it was new."""
    if name.endswith(".partial"):
        os.unlink(name, dir_fd=spool)  # The end of an abandoned history, which nothing needs.
        return False
    if not SEGMENT.fullmatch(name):
        return False
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=spool)
    with os.fdopen(descriptor, "rb") as segment:
        found = os.fstat(segment.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or found.st_size > MOST_BYTES:
            raise UnavailableError(
                f"{name} in {SPOOL} is not a segment of the log; find out where it came from and remove it"
            )
        content = segment.read()
    new = name not in there
    if new:
        with folder.writing("wal", name + ".gz") as file:
            file.write(content)
    else:
        with folder.reading("wal", name + ".gz") as file:
            if file.read(MOST_BYTES + 1) != content:
                raise UnavailableError(
                    f"{folder.path} has the log of another history ({name} differs): choose another folder with `keeps"
                    " backup on`"
                )
    os.unlink(name, dir_fd=spool)
    return new


class ShipFailure(BaseModel):
    """The reason why a process cannot ship the log, for `keeps doctor`, which may have more rights than that
    process.
    """

    pid: int
    error: str

    @staticmethod
    def of(home: Path) -> ShipFailure | None:
        """Return the last failure of a process that still runs."""
        try:
            failure = ShipFailure.model_validate_json((home / SHIP_FAILURE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return failure if psutil.pid_exists(failure.pid) else None

    def write(self, home: Path) -> None:
        with contextlib.suppress(OSError):
            (home / SHIP_FAILURE).write_text(self.model_dump_json() + "\n", encoding="utf-8")

    @staticmethod
    def clear(home: Path) -> None:
        """Remove the failures of this process and of ended ones."""
        failure = ShipFailure.of(home)
        if failure is None or failure.pid == os.getpid():
            (home / SHIP_FAILURE).unlink(missing_ok=True)


class ShippedServer:
    """An open home whose log is shipped to its backups, while it is open and once more after its server has stopped.

    A failure is logged once; the log waits in the home until shipping works.
    """

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self._failure = ""
        self._task = asyncio.create_task(self._run())

    @classmethod
    async def open(cls, home: Path) -> ShippedServer:
        return cls(await EmbeddedPostgres.open(home))

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self.server.close()
        await self._ship()

    async def _run(self) -> None:
        while True:
            await self._ship()
            await asyncio.sleep(SHIP_SECONDS)

    async def _ship(self) -> None:
        try:
            await ship(self.server)
            ShipFailure.clear(self.server.home)
            self._failure = ""
        except (KeepsError, OSError) as error:
            failure = str(error)
            if failure != self._failure:
                log().error("cannot copy the log to the backups; it waits in the home", error=failure)
            ShipFailure(pid=os.getpid(), error=failure).write(self.server.home)
            self._failure = failure
