"""Restoring a backup into a new home, to its end or to a moment after it; and trying that out."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from gzip import GzipFile
from pathlib import Path
from typing import Protocol

import asyncpg

from keeps.backups.folder import Backup, BackupFolder, copied
from keeps.db.embedded.binaries import ENVIRONMENT
from keeps.db.embedded.home import RESTORING, EmbeddedPostgres, prepared_home, remove_home
from keeps.db.embedded.server import DataFolder
from keeps.engine import Keeps
from keeps.scope import Scope
from keeps.transfer.erased import erased_since, hashed
from keeps_client.errors import ConflictError, NotFoundError, UnavailableError

CLOCKS = timedelta(seconds=5)
"""An erasure so shortly before the restored moment is repeated, too."""
WAL = "wal-restore"
_ASKED = ("restore_command", "recovery_target_time", "recovery_target_action", "recovery_target_timeline")
Progress = Callable[[str], None]


class Opening(Protocol):
    """Opens a home, or the database of one at `url`, whatever the environment names."""

    def __call__(self, home: Path, url: str | None = None) -> AbstractAsyncContextManager[Keeps]: ...


@dataclass(slots=True)
class Restored:
    """What a restore gave. `moment`: of the last thing that is in it. `erased_again`: users, tenants and memories that
    were erased since, and were erased once more."""

    home: Path
    backups: list[str]
    moment: datetime
    tenants: int
    memories: int
    erased_again: int = 0


@dataclass(slots=True)
class Verified:
    """What trying out a backup gave: how many tenants' rows are what their log says."""

    restored: Restored
    tenants: int = 0
    different: list[str] = field(default_factory=list[str])


async def restore(
    folder: BackupFolder,
    home: Path,
    opening: Opening,
    *,
    name: str | None = None,
    at: datetime | None = None,
    progress: Progress = lambda _: None,
) -> Restored:
    """A home as it was at the end of a backup (`name`), at a moment, or as late as the log goes.

    The home must be new. Who was erased since is erased again. Raises NotFoundError, ConflictError, UnavailableError.
    """
    chain = folder.chain(name, at)
    if await asyncio.to_thread(lambda: home.exists() and any(home.iterdir())):
        raise ConflictError(f"{home} is not empty: a backup is restored into a new home")
    alone = name is not None and at is None
    try:
        await asyncio.to_thread(_unpack, folder, home, chain, at, alone=alone, progress=progress)
        progress("replaying the log")
        return await _settle(folder, home, opening, chain, at)
    except BaseException:
        await asyncio.to_thread(remove_home, home)
        raise


def _unpack(
    folder: BackupFolder, home: Path, chain: list[Backup], at: datetime | None, *, alone: bool, progress: Progress
) -> None:
    data = prepared_home(home)
    place, user = data.data.parent, data.user
    parts = place / "restore"
    _ok(user.run("mkdir", "-m", "700", "--", str(parts), str(place / WAL)))
    for each in chain:
        progress(f"unpacking {each.name}")
        _ok(user.run("mkdir", "-m", "700", "--", str(parts / each.name)))
        with folder.reading(each.name, "data.tar.gz") as file:
            _piped(data, file, "tar", "-C", str(parts / each.name), "-xf", "-")
    if len(chain) > 1:
        progress("joining the incremental backups")
        combine = str(data.binaries / "bin" / "pg_combinebackup")
        _ok(user.run(combine, "-o", str(data.data), *(str(parts / each.name) for each in chain)))
    else:
        _ok(user.run("mv", "-T", str(parts / chain[0].name), str(data.data)))
    _ok(user.run("rm", "-rf", "--", str(parts)))
    segments = [] if alone else folder.needed(chain[0].first_segment)
    for number, each in enumerate(segments, 1):
        progress(f"unpacking the log, {number} of {len(segments)}")
        with folder.reading("wal", each + ".gz") as file:
            _piped(data, file, "/bin/sh", "-c", 'cat >"$1"', "sh", str(place / WAL / each))
    if segments:
        where = str(place / WAL).replace("'", "'\\''").replace("%", "%%")
        wanted = {"restore_command": f"cp '{where}'/%f '%p'", "recovery_target_timeline": "latest"}
        if at is not None:
            wanted |= {"recovery_target_time": at.isoformat(), "recovery_target_action": "promote"}
        lines = "".join(f"{key} = '{value.replace(chr(39), chr(39) * 2)}'\n" for key, value in wanted.items())
        auto = str(data.data / "postgresql.auto.conf")
        _ok(user.run("/bin/sh", "-c", 'cat >>"$1"', "sh", auto, given=lines))
        _ok(user.run("touch", "--", str(data.data / "recovery.signal")))
    elif at is not None and at > chain[-1].ended_at + timedelta(minutes=1):
        raise NotFoundError(
            f"the log was not kept then; the last backup before ended at {chain[-1].ended_at:%F %T} UTC"
        )
    with folder.reading(chain[-1].name, "home.json.gz") as file:
        held = json.loads(file.read())
    for name, text in held["texts"].items():
        descriptor = os.open(home / Path(name).name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    for name, content in held["files"].items():
        target = home / name
        if home.resolve() not in target.resolve().parents:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(content))


async def _settle(
    folder: BackupFolder, home: Path, opening: Opening, chain: list[Backup], at: datetime | None
) -> Restored:
    """Start it, let it replay its log, forget how it came, and erase again what was erased since."""
    try:
        server = await EmbeddedPostgres.open(home, restoring=True)
    except UnavailableError as error:
        if "before configured recovery target was reached" in error.detail:
            raise NotFoundError("the log does not go on until that time; name an earlier one, or none") from None
        raise
    async with server:
        connection = await asyncpg.connect(server.url("postgres"))
        try:
            moment = await connection.fetchval("SELECT pg_last_xact_replay_timestamp()") or chain[-1].ended_at
            for each in _ASKED:
                await connection.execute(f"ALTER SYSTEM RESET {each}")
            users = await connection.fetch("SELECT tenant_id, user_id FROM keeps.users")
            named = await connection.fetch("SELECT tenant_id FROM keeps.tenants")
            server.folder.user.run("rm", "-rf", "--", str(server.folder.data.parent / WAL))
            again = 0
            if gone := erased_since(folder.path, min(moment, at or moment) - CLOCKS):
                tenants = [row["tenant_id"] for row in named]
                async with opening(home, server.app_url) as keeps:
                    again = await _erase_again(keeps, folder.about.salt, gone, tenants, [tuple(row) for row in users])
            counts = await connection.fetchrow(
                "SELECT (SELECT count(*) FROM keeps.tenants), (SELECT count(*) FROM keeps.memories)"
            )
            assert counts is not None
        finally:
            await connection.close()
    (home / RESTORING).unlink()
    return Restored(home, [each.name for each in chain], moment, counts[0], counts[1], again)


async def _erase_again(
    keeps: Keeps, salt: str, gone: frozenset[str], tenants: list[str], users: list[tuple[str, str]]
) -> int:
    count = 0
    for tenant in tenants:
        if hashed(salt, tenant) in gone:
            await keeps.tenants.erase_tenant(Scope(tenant))
            count += 1
    for tenant, user in users:
        if hashed(salt, tenant, user) in gone and hashed(salt, tenant) not in gone:
            with suppress(NotFoundError):  # there was nothing of them yet
                await keeps.tenants.erase_user(Scope(tenant), user)
                count += 1
    return count


@asynccontextmanager
async def restored_for_a_while(
    folder: BackupFolder, where: Path, opening: Opening, name: str | None, at: datetime | None, progress: Progress
) -> AsyncGenerator[tuple[Keeps, Restored]]:
    """A home that is removed again."""
    try:
        found = await restore(folder, where, opening, name=name, at=at, progress=progress)
        async with opening(where) as keeps:
            yield keeps, found
    finally:
        await asyncio.to_thread(remove_home, where)


async def verify(
    folder: BackupFolder,
    where: Path,
    opening: Opening,
    *,
    name: str | None = None,
    at: datetime | None = None,
    progress: Progress = lambda _: None,
) -> Verified:
    """Restore it to `where`, compare every row of every tenant with its log, and remove it again."""
    async with restored_for_a_while(folder, where, opening, name, at, progress) as (keeps, found):
        verified = Verified(found)
        after = ""
        while page := await keeps.tenants.page(after, 100):
            for each in page:
                progress(f"verifying {each.tenant_id}")
                verified.tenants += 1
                if (await keeps.events.verify(Scope(each.tenant_id))).differences:
                    verified.different.append(each.tenant_id)
            after = page[-1].tenant_id
        return verified


def _piped(data: DataFolder, source: GzipFile, *command: str) -> None:
    """Bytes into a program that runs as the server's user."""
    with subprocess.Popen(  # noqa: S603
        data.user.command(*command), stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env=ENVIRONMENT
    ) as running:
        assert running.stdin is not None
        try:
            copied(source, running.stdin)
        except BrokenPipeError:
            pass  # what it says tells why
        finally:
            running.stdin.close()
        assert running.stderr is not None
        said = running.stderr.read().decode("utf-8", "replace")
        if running.wait() != 0:
            raise UnavailableError(f"could not be written: {said.strip()[-300:]}")


def _ok(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        raise UnavailableError(f"the backup cannot be restored: {done.stderr.strip()[-500:]}")
