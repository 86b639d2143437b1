"""The launcher, with what happens to servers: killed, orphaned, pids reused, many openers, odd folders."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import asyncpg
import psutil
import pytest

import keeps
import keeps_client
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.embedded import binaries as programs
from keeps.store.db.embedded import guard as guarding
from keeps.store.db.embedded.binaries import choose_run_user, installed_binaries, usable_binaries
from keeps.store.db.embedded.lease import home_lock, live_leases
from keeps.store.db.embedded.server import running_postmaster
from keeps_client.errors import UnavailableError

from ..conftest import small_disk, until

AS_ROOT = os.geteuid() == 0
OPENER = """
import asyncio, sys
from pathlib import Path
from keeps.store.db.embedded import EmbeddedPostgres
import asyncpg

async def main():
    opened = await EmbeddedPostgres.open(Path(sys.argv[1]))
    connection = await asyncpg.connect(opened.url("postgres"))
    # IF NOT EXISTS alone fails where two make it at once.
    await connection.execute("SELECT pg_advisory_lock(1); CREATE TABLE IF NOT EXISTS marks (pid int)")
    await connection.execute("SELECT pg_advisory_unlock(1); INSERT INTO marks VALUES (pg_backend_pid())")
    await connection.close()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await opened.close()

asyncio.run(main())
"""


def opener(home: Path) -> subprocess.Popen[str]:
    """A process that opens a home, says so, and closes it when its standard input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", OPENER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def finish(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()


async def marks(opened: EmbeddedPostgres) -> int:
    connection = await asyncpg.connect(opened.url("postgres"))
    try:
        return await connection.fetchval("SELECT count(*) FROM marks")
    finally:
        await connection.close()


async def test_it_is_private_durable_and_in_a_fixed_locale(server: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(server.url("postgres"))
    settings = {row["name"]: row["setting"] for row in await connection.fetch("SELECT name, setting FROM pg_settings")}
    database = await connection.fetchrow(
        "SELECT datlocprovider::text, datlocale, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE"
        " datname = 'keeps'"
    )
    lower = await connection.fetchval("SELECT lower('ÄÉΣ')")
    await connection.close()
    assert (settings["fsync"], settings["full_page_writes"], settings["synchronous_commit"]) == ("on", "on", "on")
    assert settings["listen_addresses"] == ""
    assert settings["password_encryption"] == "scram-sha-256"
    assert tuple(database) == ("b", "C.UTF-8", "UTF8")
    assert lower == "äéσ"
    socket = Path(settings["unix_socket_directories"].strip('"'))
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.folder.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((server.home / "secrets.json").stat().st_mode) == 0o600
    hba = [
        line.split()
        for line in (server.folder.data / "pg_hba.conf").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert {line[-1] for line in hba} == {"scram-sha-256"}
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(server.url("keeps_app").replace("://keeps_app:", "://keeps_app:wrong"))


async def test_the_last_one_out_stops_the_server(new_home: Callable[..., Path]) -> None:
    home = new_home()
    first = await EmbeddedPostgres.open(home)
    second = await EmbeddedPostgres.open(home)
    assert len(inspect_home(home).lease_pids) == 2
    await first.close()
    assert running_postmaster(second.folder.data) is not None
    await second.close()
    assert running_postmaster(second.folder.data) is None
    assert inspect_home(home).lease_pids == []


@pytest.mark.load
async def test_many_threads_and_processes_share_one_server(new_home: Callable[..., Path]) -> None:
    home = new_home()
    processes = [opener(home) for _ in range(4)]
    failures: list[BaseException] = []

    def in_a_thread() -> None:
        async def live() -> None:
            async with await EmbeddedPostgres.open(home) as opened:
                connection = await asyncpg.connect(opened.url("keeps_app"))
                await connection.fetchval("SELECT 1")
                await connection.close()

        try:
            asyncio.run(live())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=in_a_thread) for _ in range(6)]
    for thread in threads:
        thread.start()
    for process in processes:
        await asyncio.to_thread(ready, process)
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert failures == []
    report = inspect_home(home)
    assert sorted(report.lease_pids) == sorted(process.pid for process in processes)
    servers = [each for each in psutil.process_iter(["cmdline"]) if str(report.data) in (each.info["cmdline"] or [])]
    assert len(servers) == 1
    for process in processes:
        await asyncio.to_thread(finish, process)
    await until(lambda: inspect_home(home).running_pid is None, "the server stops")


def processes_of(home: Path) -> list[list[str]]:
    """What runs for a home: its server, its guard."""
    found = (each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"]))
    return [command for command in found if any(str(home) in part for part in command) and "-c" not in command[:2]]


async def test_when_all_users_were_killed_nothing_is_left_but_the_rows(new_home: Callable[..., Path]) -> None:
    home = new_home()
    owners = [opener(home) for _ in range(3)]
    for owner in owners:
        await asyncio.to_thread(ready, owner)
    pid = inspect_home(home).running_pid
    kill(owners[0])
    kill(owners[1])
    assert inspect_home(home).lease_pids == [owners[2].pid]
    assert len([each for each in processes_of(home) if "guard.py" in " ".join(each)]) == 1
    assert inspect_home(home).running_pid == pid
    kill(owners[2])
    await until(lambda: not processes_of(home), "server and guard end")
    opened = await EmbeddedPostgres.open(home)
    assert await marks(opened) == 3
    await opened.close()
    await until(lambda: not processes_of(home), "the next guard ends, too")


async def test_a_guard_that_was_killed_is_replaced_by_the_next_user(new_home: Callable[..., Path]) -> None:
    home = new_home()
    async with await EmbeddedPostgres.open(home):
        (guard,) = [each for each in psutil.process_iter(["cmdline"]) if is_guard(each, home)]
        guard.kill()
        await until(lambda: not guard.is_running() or guard.status() == psutil.STATUS_ZOMBIE, "the guard is gone")
        owner = opener(home)
        await asyncio.to_thread(ready, owner)
    kill(owner)
    await until(lambda: inspect_home(home).running_pid is None, "the server stops")


def is_guard(process: psutil.Process, home: Path) -> bool:
    command = process.info["cmdline"] or []
    return command[-1:] == [str(home)] and command[-2].endswith("guard.py")


async def test_a_killed_server_comes_back_with_every_committed_row(new_home: Callable[..., Path]) -> None:
    home = new_home()
    owner = opener(home)
    await asyncio.to_thread(ready, owner)
    pid = inspect_home(home).running_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    kill(owner)
    opened = await EmbeddedPostgres.open(home)
    assert inspect_home(home).running_pid not in (None, pid)
    assert await marks(opened) == 1
    await opened.close()


async def test_a_server_that_recovers_is_waited_for(made_home: Callable[..., Path]) -> None:
    async with await EmbeddedPostgres.open(made_home()) as opened:
        for _ in range(3):
            async with opened.administered() as connection:
                os.kill(connection.get_server_pid(), signal.SIGKILL)  # the server takes that for a crash of all
                with pytest.raises((asyncpg.PostgresError, OSError)):
                    await connection.fetchval("SELECT pg_sleep(60)")
            async with opened.administered() as connection:
                assert await connection.fetchval("SELECT 1") == 1


async def test_a_pid_file_that_names_someone_elses_process_is_not_believed(new_home: Callable[..., Path]) -> None:
    home = new_home()
    opened = await EmbeddedPostgres.open(home)
    data = opened.folder.data
    lines = (data / "postmaster.pid").read_text().split("\n")
    await opened.close()
    # The pid was reused: by a process of the server's own user, which PostgreSQL itself would take for a living server.
    other = subprocess.Popen(choose_run_user().command("/bin/sleep", "600"))
    try:
        for pid in (other.pid, 2**22 - 7):
            (data / "postmaster.pid").write_text("\n".join([str(pid), *lines[1:]]))
            assert inspect_home(home).running_pid is None
            again = await EmbeddedPostgres.open(home)
            assert inspect_home(home).running_pid not in (None, pid)
            await again.close()
        assert other.poll() is None, "somebody else's process was ended"
    finally:
        other.kill()
        other.wait()


async def test_an_initdb_that_was_cut_off_leaves_nothing_behind(new_home: Callable[..., Path]) -> None:
    home = new_home()
    opened = await EmbeddedPostgres.open(home)
    await opened.close()
    place = opened.folder.data.parent
    # As if the process had died in the middle of initdb: a half-made folder, and no data folder.
    opened.folder.user.run("mkdir", "-p", str(place / ".initdb-cutoff" / "data"))
    subprocess.run(["rm", "-rf", str(opened.folder.data)], check=True)
    again = await EmbeddedPostgres.open(home)
    assert not (place / ".initdb-cutoff").exists()
    await again.close()


ODD_NAMES = [
    "with space",
    "quo'te",
    'dou"ble',
    "comma,comma",
    "пам'ять-記憶",
    "x" * 200,
    "deep/er/and/deeper",
    "per%cent",
]


def test_a_guard_whose_server_was_stopped_ends_without_keeps(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "server" / "postgres").mkdir(parents=True)
    guard = tmp_path / "guard.py"
    guard.write_text(Path(guarding.__file__).read_text())

    def ended() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", str(guard), str(home)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended().returncode == 0
    (home / "server" / "postgres" / "postmaster.pid").write_text("1\n")
    assert "No module named 'keeps'" in ended().stderr, "to stop a server it loads Keeps, which is not here"


@pytest.mark.parametrize(
    ("name", "first_start"), [*((name, False) for name in ODD_NAMES), ("a \"b' c, 記憶%", True), ("x" * 200, True)]
)
async def test_odd_folders_work(new_home: Callable[..., Path], template: Path, name: str, first_start: bool) -> None:
    home = new_home() / name
    if not first_start:
        home.parent.mkdir(parents=True)
        subprocess.run(["cp", "--archive", template, home], check=True)
    opened = await EmbeddedPostgres.open(home)
    connection = await asyncpg.connect(opened.url("keeps_app"))
    assert await connection.fetchval("SELECT count(*) FROM keeps.memories") == 0
    await connection.close()
    await opened.close()


async def test_a_home_that_cannot_be_made_says_so(new_home: Callable[..., Path]) -> None:
    parent = new_home()
    parent.mkdir()
    (parent / "file").write_text("")
    with pytest.raises(UnavailableError, match="cannot make KEEPS_HOME"):
        await EmbeddedPostgres.open(parent / "file" / "home")


async def test_a_server_that_cannot_start_says_why(new_home: Callable[..., Path]) -> None:
    home = new_home()
    opened = await EmbeddedPostgres.open(home)
    await opened.close()
    settings = opened.folder.data / "postgresql.auto.conf"
    settings.write_text("no_such_setting = 1\n")
    with pytest.raises(UnavailableError, match="no_such_setting"):
        await EmbeddedPostgres.open(home)
    settings.write_text("")
    for version, told in ((9, "--old-programs postgres-9"), (99, "a newer one")):
        (opened.folder.data / "PG_VERSION").write_text(f"{version}\n")
        with pytest.raises(UnavailableError, match=f"created by PostgreSQL {version}, .*{told}"):
            await EmbeddedPostgres.open(home)


@pytest.mark.skipif(not AS_ROOT, reason="only root mounts a disk")
async def test_a_home_on_a_disk_that_became_read_only_says_so(new_home: Callable[..., Path]) -> None:
    place = new_home("disk")
    with small_disk(place, 200):
        opened = await EmbeddedPostgres.open(place / "home")
        await opened.close()
        remount = ["mount", "-o", "remount,ro", str(place)]
        # The guard of the server ends a little later.
        await until(
            lambda: subprocess.run(remount, capture_output=True, check=False).returncode == 0, "it is read-only"
        )
        with pytest.raises(UnavailableError, match="read-only"):
            await EmbeddedPostgres.open(place / "home")
        assert inspect_home(place / "home").notes == ["the home cannot be written to: Read-only file system"]


async def test_a_server_that_ends_as_soon_as_it_is_ready_says_why(
    new_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does whose log does not go on until the moment that it shall be restored to."""
    home = new_home()
    with monkeypatch.context() as patch:
        patch.setattr("keeps.store.db.embedded.server.socket_folder_of", lambda _: None)
        with pytest.raises(UnavailableError, match=r"ended as soon as it was ready\. Its log ends: "):
            await EmbeddedPostgres.open(home)
    with home_lock(home, 60):
        assert live_leases(home / "leases") == []


@pytest.mark.skipif(not AS_ROOT, reason="only root drops to another user")
async def test_root_runs_the_server_as_another_user_and_changes_no_permission(tmp_path: Path) -> None:
    home = tmp_path / "private"
    home.mkdir(mode=0o700)
    before = [stat.S_IMODE(each.stat().st_mode) for each in (home, *home.parents)]
    opened = await EmbeddedPostgres.open(home)
    report = inspect_home(home)
    assert report.running_pid is not None
    process = psutil.Process(report.running_pid)
    assert 0 not in (*process.uids(), *process.gids())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home, *home.parents)] == before
    assert any("cannot enter the home" in note for note in report.notes)
    groups = (Path("/proc") / str(process.pid) / "status").read_text().split("Groups:")[1].split("\n")[0].split()
    assert "0" not in groups
    await opened.close()
    subprocess.run(["rm", "-rf", str(report.data.parent)], check=True)


@pytest.mark.skipif(not AS_ROOT, reason="only root has users who cannot reach its folders")
@pytest.mark.slow_step("it moves the programs itself")
async def test_programs_that_the_run_user_cannot_reach_are_copied(
    new_home: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "venv"
    private.mkdir(mode=0o700)
    package = installed_binaries().parent
    subprocess.run(["cp", "-r", str(package), f"{package}.libs", str(private)], check=True)
    system = new_home("system")
    monkeypatch.setattr(programs, "SYSTEM_FOLDER", system)
    monkeypatch.setattr(programs, "installed_binaries", lambda: private / package.name / "pginstall")
    used = usable_binaries(choose_run_user())
    assert system in used.parents
    assert usable_binaries(choose_run_user()) == used
    done = subprocess.run(
        choose_run_user().command(str(used / "bin" / "initdb"), "--version"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "PostgreSQL" in done.stdout
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nowhere(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(programs, "distribution", nowhere)
    with pytest.raises(UnavailableError, match="KEEPS_DATABASE_URL"):
        installed_binaries()


def test_the_guard_finds_its_package_from_any_folder(tmp_path: Path) -> None:
    """It is started by its path, so a program that only extends sys.path has a guard, too."""
    source, client = (str(Path(str(module.__file__)).parents[1]) for module in (keeps, keeps_client))
    code = (
        "import pathlib, runpy, sys\n"
        f"sys.path = [{client!r}, *(path for path in sys.path if path != {source!r})]\n"
        "sys.meta_path = [finder for finder in sys.meta_path if 'editable' not in repr(finder).lower()]\n"
        f"guard = runpy.run_path({guarding.__file__!r})\n"
        "print(guard['_stopped'](pathlib.Path(sys.argv[1]), -1))\n"
    )
    command = [sys.executable, "-P", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" not in done.stderr
