"""Upgrade of a home from an older PostgreSQL to the installed one.

The data is copied by pg_upgrade and checked; only then is the old data removed.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from keeps.operate.backups.programs import password_file, run, work_folder
from keeps.operate.backups.restoring import Checked, Opening, Progress, check
from keeps.store.db.embedded import server as servers
from keeps.store.db.embedded.archiving import archiving
from keeps.store.db.embedded.binaries import binaries_in, choose_run_user, major_version
from keeps.store.db.embedded.home import START_TIMEOUT_SECONDS, EmbeddedPostgres
from keeps.store.db.embedded.lease import home_lock, live_leases
from keeps.store.db.embedded.places import (
    OLD_DATA,
    UPGRADED,
    data_folder,
    make_home,
    new_socket_folder,
    old_data,
    passwords_of,
    remove_socket_folder,
)
from keeps.store.db.embedded.server import DataFolder
from keeps.store.db.statements import Statements
from keeps_client.errors import ConflictError, NotFoundError, UnavailableError

QUERIES = Statements("keeps.operate.backups")
SPARE_BYTES = 256 << 20
"""Disk space needed besides the copy: catalogues, the log of two servers."""


@dataclass(slots=True)
class Upgraded:
    """The result of an upgrade. `old_data` is the place of the previous data; None if it was removed."""

    before: int
    after: int
    checked: Checked
    old_data: Path | None


async def upgrade(
    home: Path, old_programs: Path, opening: Opening, *, keep_old: bool = False, progress: Progress = lambda _: None
) -> Upgraded:
    """Copy the data into the form of the installed PostgreSQL, and compare every row with the log of events.

    The old data is removed when all rows match, unless `keep_old`. After an interruption the home is either unchanged
    or upgraded; a repeated call does the rest. Nobody may use the home meanwhile. Raises NotFoundError, ConflictError,
    ValidationFailedError, UnavailableError.
    """
    before, old = await asyncio.to_thread(_copy, home, old_programs, progress)
    async with await EmbeddedPostgres.open(home) as server, server.administered() as connection:
        progress("bringing extensions and statistics up to date")
        for row in await connection.fetch(QUERIES["extensions"].text):
            await connection.execute(row["update"])
        await connection.execute(QUERIES["analyze"].text)
        async with opening(home, server.app_url) as keeps:
            checked = await check(keeps, home, progress)
    done = Upgraded(before, major_version(server.folder.binaries), checked, old)
    if checked.good and not keep_old:
        await asyncio.to_thread(run, server.folder.user, "rm", "-rf", "--", old)
        done.old_data = None
    return done


def _copy(home: Path, old_programs: Path, progress: Progress) -> tuple[int, Path]:
    """Copy the data; return the previous version, and the place of the old data."""
    if not home.is_dir():
        raise NotFoundError(f"no home in {home}")
    make_home(home)
    with home_lock(home, START_TIMEOUT_SECONDS):
        if users := live_leases(home / "leases"):
            raise ConflictError(f"{home} is in use by processes {users}: stop them, then try again")
        folder = data_folder(home, choose_run_user())
        if not folder.exists():
            raise NotFoundError(f"no database in {home}")
        version, place, installed = folder.version(), folder.data.parent, major_version(folder.binaries)
        if version >= installed:
            old_places = old_data(place)
            if not old_places:
                raise ConflictError(f"{home} is already on PostgreSQL {version}: nothing to upgrade")
            latest = old_places[-1]  # The upgrade was interrupted after the copy, or the old data was kept.
            return int(latest.name.rpartition("-")[2]), latest
        size = int(run(folder.user, "du", "-sb", "--", folder.data).split()[0])
        free = shutil.disk_usage(place).free
        if free < size + SPARE_BYTES:
            raise UnavailableError(
                f"the data is copied, which takes {(size + SPARE_BYTES) / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are"
                f" free on the disk of {place}"
            )
        progress(f"copying {size / 1e9:,.2f} GB from PostgreSQL {version} to {installed}")
        with binaries_in(old_programs, version, folder.user) as programs:
            _copied(replace(folder, binaries=programs), folder, home)
        # Two steps: a process that opens the home in between completes the second.
        kept_data = place / OLD_DATA.format(version=version)
        run(folder.user, "rm", "-rf", "--", kept_data)
        run(folder.user, "mv", "-T", "--", folder.data, kept_data)
        run(folder.user, "mv", "-T", "--", place / UPGRADED, folder.data)
        return version, kept_data


def _copied(old: DataFolder, new: DataFolder, home: Path) -> None:
    """Make a complete copy of the data in the form of the new version, beside the old."""
    user, place = new.user, new.data.parent
    run(user, "/bin/sh", "-c", 'rm -rf -- "$1"/.upgrade-* "$1/$2"', "sh", place, UPGRADED)
    control = _at_rest(old, home)
    with work_folder(user, place / ".upgrade-XXXXXXXX") as work:
        _pg_upgrade(old, new, work, passwords_of(home)[servers.SUPERUSER], control)
        run(user, "sync", "-f", "--", work)
        run(user, "mv", "-T", "--", work / "data", place / UPGRADED)


def _at_rest(old: DataFolder, home: Path) -> str:
    """Return the output of pg_controldata for data without a server that needs no recovery."""
    servers.stop(old.data)
    program = old.binaries / "bin" / "pg_controldata"
    output = run(old.user, program, old.data)
    if not re.search(r"cluster state: +shut down$", output, re.MULTILINE):
        socket = new_socket_folder(old)
        process = servers.start(old, socket, START_TIMEOUT_SECONDS, archiving(home, old))
        servers.wait_until_ready(old, process, START_TIMEOUT_SECONDS)
        servers.stop(old.data)
        remove_socket_folder(socket)
        output = run(old.user, program, old.data)
    return output


def _pg_upgrade(old: DataFolder, new: DataFolder, work: Path, password: str, control: str) -> None:
    """Make a copy of the old data in the form of the new version, in `work`/data."""
    plain = re.search(r"page checksum version: +0$", control, re.MULTILINE)
    target = DataFolder(work / "data", new.log, new.binaries, new.user)
    servers.make_data(target, password, "--no-data-checksums" if plain else "--data-checksums")
    passwords = password_file(new.user, work, password)
    socket = new_socket_folder(new)
    command = (
        new.binaries / "bin" / "pg_upgrade",
        f"--old-datadir={old.data}",
        f"--new-datadir={target.data}",
        f"--old-bindir={old.binaries / 'bin'}",
        f"--new-bindir={new.binaries / 'bin'}",
        f"--socketdir={socket}",
        f"--username={servers.SUPERUSER}",
        "--jobs=2",
    )
    try:
        # Remaining files are removed with the folder.
        script = 'cd "$1"; PGPASSFILE=$2; export PGPASSFILE; shift 2; exec "$@"'
        run(new.user, "/bin/sh", "-c", script, "sh", work, passwords, *command)
    except UnavailableError as error:
        raise UnavailableError(f"the data is unchanged; pg_upgrade reports: {error.detail}") from None
    finally:
        remove_socket_folder(socket)
