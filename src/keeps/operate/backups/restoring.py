"""Restores a backup into a new home, to its end or to a later moment; and verifies backups that way."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Protocol

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.erased import erased_since, hashed, remember_folder
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.backups.folder import Backup, BackupFolder
from keeps.operate.backups.programs import administrator, run, write_to
from keeps.operate.backups.state import Verification
from keeps.store.db.embedded.binaries import major_version
from keeps.store.db.embedded.home import RESTORING, EmbeddedPostgres, prepared_home, remove_home
from keeps.store.db.statements import Statements
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, NotFoundError, UnavailableError, ValidationFailedError

QUERIES = Statements("keeps.operate.backups")
CLOCKS = timedelta(seconds=5)
"""Margin before the restored moment within which erasures are repeated, too."""
WAL = "wal-restore"
MOST_FROZEN = 1_000_000
_ASKED = (
    "restore_command",
    "recovery_target",
    "recovery_target_time",
    "recovery_target_timeline",
    "recovery_target_action",
)
Progress = Callable[[str], None]


class Opening(Protocol):
    """Opens a home, or the database of one at `url`, independent of the environment."""

    def __call__(self, home: Path, url: str | None = None) -> AbstractAsyncContextManager[Keeps]: ...


@dataclass(slots=True)
class Restored:
    """The result of a restore.

    - `moment`: the time of the last change in it.
    - `erased_again`: users and tenants that were erased since the backup, and erased again.
    """

    home: Path
    backups: list[str]
    moment: datetime
    tenants: int
    memories: int
    erased_again: int = 0


@dataclass(slots=True)
class Checked:
    """The result of a check: tenants whose rows match their log, and damage to the database.

    The damage is found by PostgreSQL's own check of tables and indexes (amcheck).
    """

    tenants: int = 0
    different: list[str] = field(default_factory=list[str])
    damaged: str = ""

    @property
    def good(self) -> bool:
        return not self.different and not self.damaged


async def restore(
    folder: BackupFolder,
    home: Path,
    opening: Opening,
    *,
    name: str | None = None,
    at: datetime | None = None,
    progress: Progress = lambda _: None,
) -> Restored:
    """Restore a home to the end of a backup (`name`), to a moment, or to the end of the log.

    The home must be new. Users who were erased since are erased again. Raises NotFoundError, ConflictError,
    UnavailableError.
    """
    chain = folder.chain(name, at)
    if await asyncio.to_thread(lambda: home.exists() and any(home.iterdir())):
        raise ConflictError(f"{home} is not empty: restore into a new home")
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
    if chain[-1].major != str(installed := major_version(data.binaries)):
        raise UnavailableError(
            f"PostgreSQL {chain[-1].major} made this backup, and {installed} is installed: restore it with a Keeps of"
            f" that time (pip install keeps=={chain[-1].keeps}, into a separate environment), then upgrade the home"
        )
    place, user = data.data.parent, data.user
    with folder.reading(chain[-1].name, "home.json.gz") as file:
        held = json.loads(file.read())
    _bring_home(home, held)
    remember_folder(home, folder.path)
    parts = place / "restore"
    run(user, "mkdir", "-m", "700", "--", str(parts), str(place / WAL))
    for backup in chain:
        progress(f"unpacking {backup.name}")
        run(user, "mkdir", "-m", "700", "--", str(parts / backup.name))
        with folder.reading(backup.name, "data.tar.gz") as file:
            write_to(user, file, "tar", "-C", str(parts / backup.name), "-xf", "-")
    if len(chain) > 1:
        progress("joining the incremental backups")
        combine = str(data.binaries / "bin" / "pg_combinebackup")
        run(user, combine, "-o", str(data.data), *(str(parts / backup.name) for backup in chain))
    else:
        run(user, "mv", "-T", str(parts / chain[0].name), str(data.data))
    run(user, "rm", "-rf", "--", str(parts))
    segments = folder.needed(chain[0].first_segment, histories_only=alone)
    for number, segment in enumerate(segments, 1):
        progress(f"unpacking the log, {number} of {len(segments)}")
        with folder.reading("wal", segment + ".gz") as file:
            write_to(user, file, "/bin/sh", "-c", 'cat >"$1"', "sh", str(place / WAL / segment))
    if at is not None and not any(not segment.endswith(".history") for segment in segments):
        raise NotFoundError(
            f"the log was not archived then; the last backup before ended at {chain[-1].ended_at:%F %T} UTC"
        )
    # A new history begins in any case, so that later writes are never taken for the old log.
    where = str(place / WAL).replace("'", "'\\''").replace("%", "%%")
    wanted = {
        "restore_command": f"cp '{where}'/%f '%p'",
        "recovery_target_timeline": "current",  # Another restore may have begun a history with backups of its own.
        "recovery_target_action": "promote",
    }
    if alone:
        wanted |= {"recovery_target": "immediate"}
    elif at is not None:
        wanted |= {"recovery_target_time": at.isoformat()}
    lines = "".join(f"{key} = '{value.replace(chr(39), chr(39) * 2)}'\n" for key, value in wanted.items())
    run(user, "/bin/sh", "-c", 'cat >>"$1"', "sh", str(data.data / "postgresql.auto.conf"), given=lines)
    run(user, "touch", "--", str(data.data / "recovery.signal"))


def _bring_home(home: Path, held: dict[str, dict[str, str]]) -> None:
    """Restore the parts of a home outside its database.

    Only expected names are written, since a folder of backups may come from elsewhere. Settings are written beside the
    home's own, for a person to review.
    """
    secrets = json.loads(held["texts"]["secrets.json"])
    if not isinstance(secrets, dict) or not all(isinstance(each, str) for each in secrets.values()):
        raise ValidationFailedError("the passwords in this backup cannot be read")
    texts = {"secrets.json": json.dumps(secrets)}
    if "keeps.toml" in held["texts"]:
        texts["keeps.toml.from-backup"] = str(held["texts"]["keeps.toml"])
    for name, text in texts.items():
        _new_file(home / name, text.encode())
    for name, content in held["files"].items():
        parts = PurePosixPath(name).parts
        if parts[:1] != ("markdown",) or len(parts) < 2 or ".." in parts:
            raise ValidationFailedError(f"this backup contains {name!r}, which is not a file of the Markdown memory")
        target = home.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        _new_file(target, base64.b64decode(content))


def _new_file(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


async def _settle(
    folder: BackupFolder, home: Path, opening: Opening, chain: list[Backup], at: datetime | None
) -> Restored:
    """Start the home, replay its log, reset the restore settings, and repeat later erasures."""
    try:
        server = await EmbeddedPostgres.open(home, restoring=True)
    except UnavailableError as error:
        if "before configured recovery target was reached" in error.detail:
            raise NotFoundError(
                "the backed-up log contains nothing written at or after that time; give an earlier time, or none for"
                " the newest state"
            ) from None
        raise
    async with server, server.administered() as connection:
        moment = await connection.fetchval(QUERIES["last_replayed"].text) or chain[-1].ended_at
        for setting in _ASKED:
            await connection.execute(f"ALTER SYSTEM RESET {setting}")
        users = await connection.fetch(QUERIES["everybody"].text)
        named = await connection.fetch(QUERIES["every_tenant"].text)
        server.folder.user.run("rm", "-rf", "--", str(server.folder.data.parent / WAL))
        again = 0
        if gone := erased_since(folder.path, min(moment, at or moment) - CLOCKS):
            tenants = [row["tenant_id"] for row in named]
            async with opening(home, server.app_url) as keeps:
                again = await _erase_again(keeps, folder.about.salt, gone, tenants, [tuple(row) for row in users])
        # An index may be damaged.
        await connection.execute("SET enable_indexscan = off; SET enable_indexonlyscan = off")
        counts = await connection.fetchrow(QUERIES["counts"].text)
        assert counts is not None
    (home / RESTORING).unlink()
    return Restored(home, [backup.name for backup in chain], moment, counts[0], counts[1], again)


async def _erase_again(
    keeps: Keeps, salt: str, gone: frozenset[str], tenants: list[str], users: list[tuple[str, str]]
) -> int:
    count = 0
    frozen = [] if keeps.database.frozen is None else await keeps.database.frozen.page("", MOST_FROZEN)
    for tenant in [*tenants, *(str(entry.tenant_id) for entry in frozen)]:
        if hashed(salt, tenant) in gone:
            await keeps.service(TenantService).erase_tenant(Scope(tenant))
            count += 1
    for tenant, user in users:
        if hashed(salt, tenant, user) in gone and hashed(salt, tenant) not in gone:
            with suppress(NotFoundError):  # The backup has nothing of them.
                await keeps.service(TenantService).erase_user(Scope(tenant), user)
                count += 1
    return count


@asynccontextmanager
async def restored_for_a_while(
    folder: BackupFolder, where: Path, opening: Opening, name: str | None, at: datetime | None, progress: Progress
) -> AsyncGenerator[tuple[Keeps, Restored]]:
    """Restore a home for the duration of a block. Existing files in its place are not touched."""
    found = await restore(folder, where, opening, name=name, at=at, progress=progress)
    try:
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
) -> tuple[Restored, Checked]:
    """Restore a backup to `where`, compare every row of every tenant with its log, and remove it again.

    The folder stores the outcome.
    """
    good = False
    try:
        async with restored_for_a_while(folder, where, opening, name, at, progress) as (keeps, restored):
            checked = await check(keeps, where, progress)
            if checked.tenants != restored.tenants:
                checked.damaged += f"{restored.tenants} tenants are stored, but {checked.tenants} are in the index"
            good = checked.good
            return restored, checked
    finally:
        Verification(at=utc_now(), good=good).write(folder.path)


async def check(keeps: Keeps, home: Path, progress: Progress) -> Checked:
    """Check every table and index of an open home, and compare every row of every tenant with its log."""
    progress("checking tables and indexes")
    checked = Checked(damaged=await _damage(home))
    after = ""
    while page := await keeps.service(TenantService).page(after, 100):
        for tenant in page:
            progress(f"verifying {tenant.tenant_id}")
            checked.tenants += 1
            if (await keeps.service(EventService).verify(Scope(tenant.tenant_id))).differences:
                checked.different.append(tenant.tenant_id)
        after = page[-1].tenant_id
    return checked


async def _damage(home: Path) -> str:
    """Return what pg_amcheck finds in tables and indexes, with each row looked up."""
    async with await EmbeddedPostgres.open(home) as server:
        return await asyncio.to_thread(_checked, server)


def _checked(server: EmbeddedPostgres) -> str:
    with administrator(server) as (_, connects):
        program = str(server.folder.binaries / "bin" / "pg_amcheck")
        maintained = f"--maintenance-db={connects}"
        done = server.folder.user.run(program, "--install-missing", "--heapallindexed", maintained, connects)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[:2_000]
