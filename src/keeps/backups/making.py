"""Making backups of a home while it serves, and taking its log to where they are."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import secrets
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from keeps import __version__
from keeps.backups.folder import NAME, SEGMENT, Backup, BackupFolder, copied
from keeps.backups.sealing import new_key, read_key
from keeps.clock import Clock
from keeps.db.embedded.binaries import ENVIRONMENT
from keeps.db.embedded.home import BACKUP_PLAN, SPOOL, EmbeddedPostgres
from keeps.db.embedded.server import DataFolder
from keeps.db.statements import Statements
from keeps.telemetry.logs import log
from keeps.transfer.erased import remember_folder
from keeps_client.errors import KeepsError, NotConfiguredError, UnavailableError

QUERIES = Statements("keeps.backups")
FULL_AGAIN = timedelta(days=7)
"""After so long a backup is a full one, so that no chain gets long."""
SHIP_SECONDS = 20.0
MOST_BYTES = 64 << 20


class Plan(BaseModel):
    """Where the backups of a home go. `line`: its history, which ends where a backup takes its place."""

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
    """From the server's next start on its log is kept for backups. Raises ValidationFailedError."""
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
    """Raises NotConfiguredError where none was made."""
    plan = Plan.of(home)
    if plan is None:
        raise NotConfiguredError(f"{home} is not backed up yet: keeps backup on FOLDER says where its backups go")
    return plan


async def create(server: EmbeddedPostgres, clock: Clock, *, full: bool = False) -> Backup:
    """A backup, while everybody goes on: incremental where there is one to go on from, else full.

    Raises NotConfiguredError where the home has no plan, UnavailableError where it cannot be written.
    """
    plan = plan_of(server.home)
    folder = await asyncio.to_thread(plan.opened)
    async with server.administered() as connection:
        held = await connection.fetchrow(QUERIES["server_held"].text)
        assert held is not None
        alone = full or not held["archives"]
        made = await asyncio.to_thread(_make, server, folder, clock, dict(held), full=alone)
        if held["archives"]:
            await connection.execute(QUERIES["end_segment"].text)
    await ship(server)
    return made


def _base(folder: BackupFolder, line: str, now: datetime) -> Backup | None:
    """The backup that the next one goes on from: the last of this history, for a week after a full one."""
    held = [each for each in folder.backups() if each.line == line]
    full = next((each for each in reversed(held) if each.kind == "full"), None)
    return held[-1] if full is not None and full.ended_at >= now - FULL_AGAIN else None


def _new_name(folder: BackupFolder, began: datetime) -> str:
    """By the second, and after every other: in this order they go on from each other."""
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
        last = None if full else _base(folder, line, began)
        name = _new_name(folder, began)
        into = folder.path / name
        into.mkdir(mode=0o700)
        work = Path(_done(user.run("mktemp", "-d", str(place / ".backup-XXXXXXXX"))).strip())
        try:
            _given(server, work / "pgpass", f"*:*:*:postgres:{server.password('postgres')}\n".encode())
            where = f"host='{server.socket}' user=postgres passfile='{work / 'pgpass'}'"
            command = [
                str(server.folder.binaries / "bin" / "pg_basebackup"),
                f"--dbname={where}",
                f"--pgdata={work / 'data'}",
                "--checkpoint=fast",
                "--wal-method=stream",
                "--no-sync",
            ]
            if last is not None:
                with folder.reading(last.name, "manifest.gz") as manifest:
                    _given(server, work / "manifest", manifest.read())
                command.append(f"--incremental={work / 'manifest'}")
            _done(user.run(*command), "pg_basebackup")
            label = _done(user.run("cat", "--", str(work / "data" / "backup_label")))
            manifest_text = _done(user.run("cat", "--", str(work / "data" / "backup_manifest")))
            with folder.writing(name, "manifest.gz") as file:
                file.write(manifest_text.encode())
            size = _packed(server, work / "data", folder, name, "data.tar.gz")
            _keep_home(server.home, folder, name)
        finally:
            user.run("rm", "-rf", "--", str(work))
        first = re.search(r"file ([0-9A-F]{24})", label)
        backup = Backup(
            name=name,
            line=line,
            kind="full" if last is None else "incremental",
            of=None if last is None else last.name,
            began_at=began,
            ended_at=clock(),
            first_segment=first[1] if first else "",
            bytes=size,
            keeps=__version__,
            postgres=held["version"],
            tenants=held["tenants"],
            memories=held["memories"],
        )
        folder.write_backup(backup)
        return backup


def _packed(server: EmbeddedPostgres, source: Path, folder: BackupFolder, *name: str) -> int:
    """A folder of the server's user as one file. What it holds is read as that user."""
    command = server.folder.user.command("tar", "-C", str(source), "-cf", "-", ".")
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env=ENVIRONMENT) as packing,  # noqa: S603
        folder.writing(*name) as file,
    ):
        assert packing.stdout is not None
        copied(packing.stdout, file)
        if packing.wait() != 0:
            assert packing.stderr is not None
            raise UnavailableError(f"the backup could not be packed: {packing.stderr.read().decode()[-300:]}")
    return folder.file(*name).stat().st_size


def _keep_home(home: Path, folder: BackupFolder, name: str) -> None:
    """What a home has besides its database: the passwords of the roles, settings, the Markdown memory."""
    held = {
        each: (home / each).read_text(encoding="utf-8")
        for each in ("secrets.json", "keeps.toml")
        if (home / each).is_file()
    }
    files = {
        str(each.relative_to(home)): base64.b64encode(each.read_bytes()).decode()
        for each in sorted((home / "markdown").rglob("*"))
        if each.is_file() and not each.is_symlink()
    }
    with folder.writing(name, "home.json.gz") as file:
        file.write(json.dumps({"texts": held, "files": files}).encode())


async def ship(server: EmbeddedPostgres) -> int:
    """Take the log that is done to the folder of backups; how many segments."""
    plan = Plan.of(server.home)
    return 0 if plan is None else await asyncio.to_thread(_ship, plan, server.folder)


def _ship(plan: Plan, data: DataFolder) -> int:
    """The spool is in a folder of the server's user. What that user puts there leads root nowhere: it is read below the
    folder that was opened, without following links, if it is a file of that user."""
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
    """Whether a file of the spool was new. It is taken out of the spool in any case."""
    if name.endswith(".partial"):
        os.unlink(name, dir_fd=spool)  # the end of a history that was left; nothing needs it
        return False
    if not SEGMENT.fullmatch(name):
        return False
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=spool)
    with os.fdopen(descriptor, "rb") as segment:
        found = os.fstat(segment.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or found.st_size > MOST_BYTES:
            raise UnavailableError(f"{name} in {SPOOL} is no segment of the log; look who put it there, and remove it")
        content = segment.read()
    new = name not in there
    if new:
        with folder.writing("wal", name + ".gz") as file:
            file.write(content)
    else:
        with folder.reading("wal", name + ".gz") as file:
            if file.read(MOST_BYTES + 1) != content:
                raise UnavailableError(
                    f"{folder.path} holds the log of another history ({name} differs): name another folder with keeps"
                    " backup on"
                )
    os.unlink(name, dir_fd=spool)
    return new


class Shipper:
    """Takes the log to the backups for as long as a process serves. What fails is tried again, and said once."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        failed = ""
        while True:
            try:
                await ship(self._server)
                failed = ""
            except (KeepsError, OSError) as error:
                said = str(error)
                if said != failed:
                    log().error("the log cannot be taken to the backups; it waits in the home", error=said)
                failed = said
            await asyncio.sleep(SHIP_SECONDS)


def _given(server: EmbeddedPostgres, path: Path, content: bytes) -> None:
    """A file of the server's user, made as that user."""
    command = server.folder.user.command("/bin/sh", "-c", 'umask 077; cat >"$1"', "sh", str(path))
    done = subprocess.run(command, input=content, capture_output=True, check=False, cwd="/", env=ENVIRONMENT)  # noqa: S603
    if done.returncode != 0:
        raise UnavailableError(f"cannot write {path}: {done.stderr.decode()[-300:]}")


def _done(done: subprocess.CompletedProcess[str], what: str = "a backup") -> str:
    if done.returncode != 0:
        raise UnavailableError(f"{what} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
