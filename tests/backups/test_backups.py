"""A home is backed up under load, restored to a moment, and what was erased since stays erased."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.backups import opening
from keeps.doors.server import gauges
from keeps.engine import Keeps
from keeps.memory.transfer.erased import ErasureNotes, erased_since
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.backups import making
from keeps.operate.backups.folder import SEGMENT, BackupFolder
from keeps.operate.backups.making import create, plan_of, set_up, ship
from keeps.operate.backups.restoring import restore, verify
from keeps.operate.backups.state import Verification
from keeps.store.db.embedded import EmbeddedPostgres, archiving, inspect_home
from keeps.store.db.embedded.archiving import SPOOL
from keeps.store.events.service import EventService
from keeps_client.errors import (
    ConflictError,
    NotConfiguredError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from tests.cli.test_cli import Cli
from tests.conftest import admin, until


async def opened(home: Path) -> Keeps:
    return await open_keeps(Settings(home=home, embedder="none"))


async def contents(home: Path, tenant: str, user: str) -> set[str]:
    async with opening(home) as keeps:
        memory = keeps.memory(Scope(tenant, user))
        assert (await keeps.service(EventService).verify(Scope(tenant))).differences == []
        page = await memory.list(limit=200)
        held = [each.content for each in page.items]
        while page.next_cursor is not None:
            page = await memory.list(limit=200, cursor=page.next_cursor)
            held += [each.content for each in page.items]
        return set(held)


@pytest.mark.parametrize("every_backup", [False, pytest.param(True, marks=pytest.mark.load)])
async def test_a_moment_comes_back_and_the_erased_do_not(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path], every_backup: bool
) -> None:
    home, folder = made_home("backed-up"), tmp_path / "backups"
    set_up(home, folder, tmp_path / "key", utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        alice, bob = keeps.memory(Scope("acme", "alice")), keeps.memory(Scope("acme", "bob"))
        await alice.remember("Before all backups.")
        await bob.remember("I want to be forgotten.")
        await keeps.memory(Scope("globex", "carol")).remember("Globex goes as a whole.")
        stop = asyncio.Event()
        written: list[str] = []

        async def write() -> None:
            while not stop.is_set():
                said = f"Written under load, number {len(written)}."
                await alice.remember(said)
                written.append(said)

        load = asyncio.create_task(write())
        first = await create(server, utc_now)
        before = len(written)
        while len(written) < before + 5:
            await asyncio.sleep(0.01)
        second = await create(server, utc_now)
        await asyncio.sleep(0)
        stop.set()
        await load
        assert (first.kind, second.kind, second.of) == ("full", "incremental", first.name)
        assert second.bytes < first.bytes / 4
        moment = utc_now()
        await alice.remember("After the moment.")
        await keeps.service(TenantService).erase_user(Scope("acme"), "bob")
        await keeps.service(TenantService).erase_tenant(Scope("globex"))
        third = await create(server, utc_now)
        await keeps.close()
    assert not any("bob" in each or "globex" in each for each in (folder / "erased.jsonl").read_text().splitlines())
    assert all(each.suffix in (".sealed", ".json", ".jsonl", "") for each in folder.rglob("*") if each.is_file())
    with pytest.raises(ValidationFailedError, match="encrypted"):
        plan_of(home).model_copy(update={"key_file": None}).opened()
    backups = plan_of(home).opened()

    then = new_home("then")
    found = await restore(backups, then, opening, at=moment)
    assert found.erased_again == 2
    assert await contents(then, "acme", "alice") == {"Before all backups.", *written}
    assert await contents(then, "acme", "bob") == set()
    assert await contents(then, "globex", "carol") == set()

    if every_backup:
        early = new_home("early")
        await restore(backups, early, opening, name=first.name)
        held = await contents(early, "acme", "alice")
        assert "Before all backups." in held
        assert len(held) < len(written), "a backup by name is of its own end, whatever the log says further"

        tried, checked = await verify(backups, new_home("checked"), opening)
        assert (checked.different, tried.backups) == ([], [first.name, second.name, third.name])
        assert tried.memories == len(written) + 2

    with pytest.raises(ConflictError):
        await restore(backups, then, opening)
    with pytest.raises(NotFoundError, match="no backup"):
        await restore(backups, new_home("x"), opening, at=first.began_at - timedelta(hours=1))
    with pytest.raises(NotFoundError, match="nothing written at or after that time"):
        await restore(backups, new_home("y"), opening, at=utc_now() + timedelta(days=1))
    with pytest.raises(NotFoundError):
        await restore(backups, new_home("z"), opening, name="20000101T000000Z")


async def test_first_segment_is_shipped_soon_after_each_start(
    tmp_path: Path, made_home: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpointer sleeps for `checkpoint_timeout` after a start unless it is woken."""
    monkeypatch.setattr(archiving, "ARCHIVE_SECONDS", 1)
    monkeypatch.setattr(making, "SHIP_SECONDS", 0.05)
    home, folder = made_home("soon"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await open_keeps(Settings(home=home, embedder="none")) as keeps:
        await keeps.memory(Scope("acme", "alice")).remember("First.")
        await until(plan_of(home).opened().segments, "the first segment is in the folder")
        server = keeps.database.main.server
        assert server is not None
        pid = inspect_home(home).running_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await server.revive()
        before = len(plan_of(home).opened().segments())
        await keeps.memory(Scope("acme", "alice")).remember("Second.")
        await until(lambda: len(plan_of(home).opened().segments()) > before, "another one after a crash")


async def test_rest_of_the_log_is_shipped_at_the_end(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    home, folder = made_home("end"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now)
    async with await open_keeps(Settings(home=home, embedder="none")) as keeps:
        await keeps.memory(Scope("acme", "alice")).remember("Just before the end.")
    restored = new_home("from-end")
    await restore(plan_of(home).opened(), restored, opening)
    assert await contents(restored, "acme", "alice") == {"Just before the end."}


@pytest.mark.load
async def test_loss_of_the_disk_costs_at_most_a_minute(
    tmp_path: Path, made_home: Callable[[str], Path], new_home: Callable[..., Path]
) -> None:
    """With the intervals of a service: everything is killed a minute after a start, and only the folder is left."""
    home, folder = made_home("lost"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now)
    script = Path(__file__).with_name("writes.py")
    process = await asyncio.create_subprocess_exec(sys.executable, script, home, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    stored: dict[str, float] = {}
    while not stored or time.time() < min(stored.values()) + 62:
        content, stored_at = (await process.stdout.readline()).split()
        stored[content.decode()] = float(stored_at)
    pid = inspect_home(home).running_pid
    assert pid is not None
    process.kill()
    os.kill(pid, signal.SIGKILL)
    killed_at = time.time()
    await process.wait()
    copy, restored = shutil.copytree(folder, tmp_path / "copy"), new_home("from-lost")
    await restore(BackupFolder.open(copy, None), restored, opening)
    survivors = await contents(restored, "acme", "alice")
    lost = [killed_at - stored_at for content, stored_at in stored.items() if content not in survivors]
    assert survivors
    assert max(lost, default=0.0) <= 60


async def test_metrics_show_the_state_of_backups(
    tmp_path: Path, made_home: Callable[[str], Path], new_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(archiving, "ARCHIVE_SECONDS", 1)
    monkeypatch.setattr(making, "SHIP_SECONDS", 0.05)
    home, folder = made_home("measured"), tmp_path / "backups"
    async with await open_keeps(Settings(home=home, embedder="none")) as keeps:
        shown = gauges.Gauges(keeps)

        async def value(name: str, **labels: str) -> float | None:
            await shown.refresh()
            return keeps.metrics.registry.get_sample_value(name, {"cell": "main", **labels})

        assert await value("keeps_backup_last_timestamp_seconds") is None
        assert await value("keeps_disk_free_bytes", place="home")
    set_up(home, folder, None, utc_now())
    async with await open_keeps(Settings(home=home, embedder="none")) as keeps:
        server = keeps.database.main.server
        assert isinstance(server, EmbeddedPostgres)
        shown = gauges.Gauges(keeps)
        assert await value("keeps_backup_last_timestamp_seconds") == 0
        assert await value("keeps_backup_verified_good") is None
        began = time.time()
        await create(server, utc_now)
        made_at = await value("keeps_backup_last_timestamp_seconds")
        assert made_at is not None
        assert began - 1 <= made_at <= time.time()
        assert await value("keeps_disk_free_bytes", place="backups")
        (folder / "wal").rename(folder / "away")
        await keeps.memory(Scope("acme", "alice")).remember("While the folder is away.")
        async with asyncio.timeout(30):
            while not await value("keeps_backup_log_waiting_segments"):
                await asyncio.sleep(0.05)
        assert (await value("keeps_backup_log_waiting_bytes") or 0) >= 16 << 20
        (folder / "away").rename(folder / "wal")
        async with asyncio.timeout(30):
            while await value("keeps_backup_log_waiting_segments"):
                await asyncio.sleep(0.05)
        await verify(plan_of(home).opened(), new_home("good"), opening)
        assert await value("keeps_backup_verified_good") == 1
        for data in folder.glob("*/data.tar.gz"):
            data.write_bytes(b"damaged")
        with pytest.raises(Exception):  # noqa: B017, PT011
            await verify(plan_of(home).opened(), new_home("bad"), opening)
        assert await value("keeps_backup_verified_good") == 0
        assert (await value("keeps_backup_verified_timestamp_seconds") or 0) >= began


def test_at_most_a_minute_waits() -> None:
    assert archiving.ARCHIVE_SECONDS + making.SHIP_SECONDS < 60


async def test_old_ones_go_with_the_log_that_only_they_needed(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    home = made_home("pruned")
    set_up(home, tmp_path / "backups", None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now, full=True)
        await create(server, utc_now)
        last = await create(server, utc_now, full=True)
    backups = plan_of(home).opened()
    before = backups.segments()
    assert backups.prune(30, utc_now())[0] == []
    gone, segments = backups.prune(30, utc_now() + timedelta(days=60))
    assert len(gone) == 2
    assert 0 < segments < len(before)
    assert [each.name for each in backups.backups()] == [last.name]
    assert (await verify(backups, new_home("still"), opening))[1].different == []


async def test_a_folder_that_is_away_loses_nothing_of_the_log(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    home, folder = made_home("away"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now)
        keeps = await opened(home)
        folder.rename(tmp_path / "unmounted")
        await keeps.memory(Scope("acme", "alice")).remember("While the disk was away.")
        async with server.administered() as connection:
            await connection.execute("SELECT pg_switch_wal()")
        spool = server.folder.data.parent / SPOOL

        def waiting() -> set[str]:
            return {each.name for each in spool.iterdir() if SEGMENT.fullmatch(each.name)}

        await until(waiting, "the log is in the spool")
        kept = waiting()
        with pytest.raises(ValidationFailedError, match="not a folder of backups"):
            await create(server, utc_now)
        assert waiting() >= kept
        with pytest.raises(UnavailableError, match="cannot be noted"):
            await keeps.service(TenantService).erase_user(Scope("acme"), "alice")
        assert len((await keeps.memory(Scope("acme", "alice")).list()).items) == 1, "an erasure that is not noted waits"
        (tmp_path / "unmounted").rename(folder)
        await create(server, utc_now)
        assert waiting().isdisjoint(kept)
        assert kept <= set(plan_of(home).opened().segments())
        await keeps.close()
    restored = new_home("back")
    await restore(plan_of(home).opened(), restored, opening)
    assert await contents(restored, "acme", "alice") == {"While the disk was away."}


def test_the_commands(new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]) -> None:
    cli = Cli(made_home("commands"))
    assert "keeps backup on" in cli("backup", "create", code=1).stderr
    cli("remember", "Acme on Tuesday.", "--tenant", "acme", "--user", "alice")
    assert "Keep a copy" in cli("backup", "on", str(tmp_path / "b"), "--key-file", str(tmp_path / "key")).stdout
    assert "No backup yet" in cli("backup", "list").stdout
    made = cli.json("backup", "create")
    assert (made["kind"], made["memories"]) == ("full", 1)
    assert made["name"] in cli("backup", "list").stdout
    cli("remember", "Acme on Wednesday.", "--tenant", "acme", "--user", "alice")
    work = str(new_home("work"))
    done = cli.json("backup", "restore", "--to", work, "--backup", made["name"], "--tenant", "acme", "--as", "tuesday")
    assert (done["stored"], done["failed"]) == (1, 0)
    assert "Acme on Tuesday." in cli("list", "--tenant", "tuesday", "--user", "alice").stdout
    assert not Path(work).exists()
    assert "none verified" in cli("doctor").stdout
    verified = cli("backup", "verify").stdout.replace("\n", " ")
    assert "all tables and indexes are intact" in verified
    assert "3 memories of 2 tenants" in verified
    assert "erased again" not in verified
    checked = cli("doctor").stdout
    assert "1 in" in checked
    assert f"verified {utc_now():%Y-%m}" in checked
    Verification(at=utc_now(), good=False).write(tmp_path / "b")
    assert "is damaged" in cli("doctor", code=1).stdout
    Verification(at=utc_now(), good=True).write(tmp_path / "b")
    assert "is not a time" in cli("backup", "verify", "--at", "Tuesday", code=2).stderr
    assert "encrypted" in cli("backup", "list", "--from", str(tmp_path / "b"), code=2).stderr
    assert "0 backups" in cli("backup", "prune").stdout
    cli("backup", "off")
    assert "keeps backup on" in cli("backup", "list", code=1).stderr
    wrong = cli("backup", "create", code=1, KEEPS_DATABASE_URL="postgresql://keeps_app:x@localhost/keeps")
    assert "pgBackRest" in wrong.stderr


@pytest.mark.load
async def test_killed_half_way_a_backup_does_not_count_and_a_restore_is_not_opened(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    home, folder = made_home("killed"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        await keeps.memory(Scope("acme", "alice")).remember("Kept.")
        await keeps.close()
        environment = {**os.environ, "KEEPS_HOME": str(home)}
        environment.pop("KEEPS_DATABASE_URL", None)
        code = "from keeps.doors.cli.main import main; main()"
        running = subprocess.Popen([sys.executable, "-c", code, "backup", "create"], env=environment)
        while not (partial := list(folder.rglob(".data.tar.gz.partial"))):
            assert running.poll() is None
            await asyncio.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert partial
        assert plan_of(home).opened().backups() == []
        made = await create(server, utc_now)
        assert [each.name for each in plan_of(home).opened().backups()] == [made.name]
        assert list(folder.rglob("*.partial")) == []
    target = new_home("half")
    restoring = subprocess.Popen(
        [sys.executable, "-c", code, "backup", "restore", "--to", str(target)], env=environment
    )
    while not (target / "restoring").exists():
        assert restoring.poll() is None
        await asyncio.sleep(0.002)
    restoring.send_signal(signal.SIGKILL)
    restoring.wait()
    with pytest.raises(UnavailableError, match="was interrupted"):
        await EmbeddedPostgres.open(target)


@pytest.mark.load
async def test_after_a_restore_another_history_begins(
    new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]
) -> None:
    """What was written after the restored moment, and what is written after the restore, never come together."""
    home, folder = made_home("lost"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        alice = keeps.memory(Scope("acme", "alice"))
        await alice.remember("In both histories.")
        first = await create(server, utc_now)
        await alice.remember("Only in the first history.")
        second = await create(server, utc_now)
        await keeps.close()
    old = plan_of(home).opened().segments()
    home.rename(home.with_name("old-home"))
    await restore(BackupFolder.open(folder, None), home, opening, name=first.name)
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        for number in range(30):
            await keeps.memory(Scope("globex", "bob")).remember(f"Only in the second history, {number}.")
        third = await create(server, utc_now)
        assert (third.kind, third.of) == ("full", None), "it goes on from no backup of the other history"
        await ship(server)
        await keeps.close()
    backups = plan_of(home).opened()
    assert set(old) <= set(backups.segments())
    restored, checked = await verify(backups, new_home("new"), opening)
    assert (checked.good, checked.tenants, restored.memories) == (True, 2, 31)
    restored, checked = await verify(backups, new_home("old"), opening, name=second.name)
    assert (checked.good, checked.tenants, restored.memories) == (True, 1, 2)


async def test_damage_is_found(new_home: Callable[..., Path], tmp_path: Path, made_home: Callable[[str], Path]) -> None:
    """A torn page is never backed up as if it were whole; an index that lacks a row is found by trying it out."""
    home = made_home("damaged")
    set_up(home, tmp_path / "backups", None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        async with admin(server, "keeps") as connection:
            path = str(await connection.fetchval("SELECT pg_relation_filepath('keeps.users')"))
            ready = "UPDATE pg_index SET indisready = $1 WHERE indexrelid = 'keeps.memories_promotable'::regclass"
            await connection.execute(ready, False)
            await keeps.memory(Scope("acme", "alice")).remember("Not in an index.", kind="episodic")
            await connection.execute(ready, True)
            await connection.execute("CHECKPOINT")
        await keeps.close()
        await create(server, utc_now)
        file = server.folder.data / path
    _, checked = await verify(plan_of(home).opened(), new_home("checked"), opening)
    assert not checked.good
    assert "memories_promotable" in checked.damaged
    content = bytearray(file.read_bytes())
    content[8_192 - 60 : 8_192 - 20] = b"x" * 40
    file.write_bytes(content)
    async with await EmbeddedPostgres.open(home) as server:
        with pytest.raises(UnavailableError, match="checksum"):
            await create(server, utc_now, full=True)
        async with opening(home) as keeps:
            with pytest.raises(UnavailableError, match="damaged"):
                await keeps.memory(Scope("acme", "alice")).remember("On a damaged page.")
    assert len(plan_of(home).opened().backups()) == 1


def _forged(backup: Path, **changes: object) -> None:
    path = backup / "backup.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
async def made(tmp_path: Path, made_home: Callable[[str], Path]) -> tuple[Path, Path, str]:
    """A home, its folder of backups, and the one that is in it."""
    home, folder = made_home("made"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        await keeps.memory(Scope("acme", "alice")).remember("One.")
        await keeps.close()
        return home, folder, (await create(server, utc_now)).name


async def test_a_folder_from_elsewhere_leads_nowhere(
    made: tuple[Path, Path, str], new_home: Callable[..., Path], tmp_path: Path
) -> None:
    _, folder, name = made
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "backup.json").write_text((folder / name / "backup.json").read_text())
    backups = BackupFolder.open(folder, None)
    for changes in ({"name": "../victim"}, {"of": name, "kind": "incremental"}, {"of": "../victim"}, {"bytes": "x"}):
        kept = (folder / name / "backup.json").read_text()
        _forged(folder / name, **changes)
        assert (backups.backups(), backups.damaged()) == ([], [name])
        assert backups.prune(0, utc_now() + timedelta(days=9))[0] == []
        (folder / name / "backup.json").write_text(kept)
    assert victim.is_dir()
    with backups.reading(name, "home.json.gz") as file:
        held = json.loads(file.read())
    for wrong in (
        "server.location",
        "../../escaped",
        "/etc/escaped",
        "markdown/../../escaped",
        "backup.json",
        "markdown",
    ):
        with backups.writing(name, "home.json.gz") as file:
            file.write(json.dumps({**held, "files": {wrong: base64.b64encode(str(victim).encode()).decode()}}).encode())
        target = new_home("target")
        with pytest.raises(ValidationFailedError, match="not a file of the Markdown memory"):
            await restore(backups, target, opening)
        assert not target.exists()
    assert victim.is_dir()
    with backups.writing(name, "home.json.gz") as file:
        texts = {**held["texts"], "keeps.toml": 'database_url = "postgresql://elsewhere"', "backup.json": "{}"}
        file.write(json.dumps({**held, "texts": texts}).encode())
    target = new_home("target")
    await restore(backups, target, opening)
    assert not (target / "keeps.toml").exists()
    assert not (target / "backup.json").exists()
    assert "elsewhere" in (target / "keeps.toml.from-backup").read_text()


async def test_a_refused_restore_removes_nothing(made: tuple[Path, Path, str], tmp_path: Path) -> None:
    _, folder, _ = made
    backups = BackupFolder.open(folder, None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    for name in (None, "20000101T000000Z"):
        with pytest.raises((ConflictError, NotFoundError)):
            await verify(backups, tmp_path / "mine", opening, name=name)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


async def test_the_seal_cannot_be_taken_off(tmp_path: Path, made_home: Callable[[str], Path]) -> None:
    home, folder, key = made_home("sealed"), tmp_path / "backups", tmp_path / "key"
    set_up(home, folder, key, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        made = await create(server, utc_now)
        about = json.loads((folder / "keeps-backups.json").read_text())
        (folder / "keeps-backups.json").write_text(json.dumps({**about, "sealed": False}))
        with pytest.raises(ValidationFailedError, match="not encrypted"):
            await create(server, utc_now)
        (folder / "keeps-backups.json").write_text(json.dumps(about))
        second = await create(server, utc_now)
    _forged(folder / made.name, memories=7)
    assert plan_of(home).opened().damaged() == [made.name]
    for each in ("manifest.gz.sealed", "home.json.gz.sealed"):
        (folder / made.name / each).rename(folder / second.name / each)
    with (
        pytest.raises(ValidationFailedError, match="renamed"),
        plan_of(home).opened().reading(second.name, "home.json.gz") as moved,
    ):
        moved.read()


async def test_what_is_put_into_the_spool_is_not_followed(made: tuple[Path, Path, str], tmp_path: Path) -> None:
    home, folder, _ = made
    async with await EmbeddedPostgres.open(home) as server:
        spool = server.folder.data.parent / SPOOL
        os.mkfifo(spool / "0000000100000000000000FF")
        with pytest.raises(UnavailableError, match="not a segment"):
            await ship(server)
        (spool / "0000000100000000000000FF").unlink()
        (tmp_path / "secret").write_text("of somebody else")
        (spool / "0000000100000000000000FF").symlink_to(tmp_path / "secret")
        with pytest.raises(OSError, match="symbolic"):
            await ship(server)
        (spool / "0000000100000000000000FF").unlink()
        (spool / "0000000100000000000000FF.partial").write_text("the end of another history")
        await ship(server)
        assert list(spool.iterdir()) == []
        elsewhere = tmp_path / "pg_wal"
        elsewhere.mkdir()
        (elsewhere / "0000000100000000000000AA").write_bytes(b"of another server")
        plan = (home / "backup.json").read_text()
        (home / "backup.json").unlink()
        (spool / "0000000100000000000000FE").write_text("what a server still keeps when backups are off")
        await ship(server)
        assert list(spool.iterdir()) == [], "it would fill the disk"
        (home / "backup.json").write_text(plan)
        spool.rename(spool.with_name("moved"))
        spool.symlink_to(elsewhere)
        with pytest.raises(OSError):  # noqa: PT011  whatever the system says of a link
            await ship(server)
        assert (elsewhere / "0000000100000000000000AA").exists()
        assert not (folder / "wal" / "0000000100000000000000AA.gz").exists()


async def test_an_erasure_is_noted_wherever_there_are_backups(
    made: tuple[Path, Path, str], new_home: Callable[..., Path], tmp_path: Path
) -> None:
    home, folder, _ = made
    for user in ("bob", "carol", "dave"):
        async with opening(home) as keeps:
            await keeps.memory(Scope("acme", user)).remember("Mine.")
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now)
    moment = utc_now()
    with (folder / "erased.jsonl").open("a") as file:
        file.write('{"at": "2026-')  # the end of a note that a crash cut
    set_up(home, tmp_path / "other", None, utc_now())
    async with opening(home) as keeps:
        await keeps.service(TenantService).erase_user(Scope("acme"), "bob")
    (home / "backup.json").unlink()
    async with opening(home) as keeps:
        await keeps.service(TenantService).erase_user(Scope("acme"), "carol")
    restored = new_home("restored")
    found = await restore(BackupFolder.open(folder, None), restored, opening)
    assert found.erased_again == 2
    async with opening(restored) as keeps:
        await keeps.service(TenantService).erase_user(Scope("acme"), "dave")
    again = new_home("again")
    assert (await restore(BackupFolder.open(folder, None), again, opening)).erased_again == 3
    assert erased_since(folder, utc_now()) == frozenset(), "what was wholly erased before is not erased again"
    async with opening(restored) as keeps:
        with pytest.raises(NotFoundError):
            await keeps.service(TenantService).erase_user(Scope("acme"), "nobody")
    assert erased_since(folder, utc_now()) == frozenset(), "whoever is called so later is not erased by a restore"
    ErasureNotes(restored, utc_now).begin("acme", "eve")
    assert len(erased_since(folder, utc_now())) == 1, "what was begun counts"
    assert moment < utc_now()


def test_what_cannot_be_a_folder_of_backups_is_refused(new_home: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ValidationFailedError, match="contains other files"):
        set_up(new_home("a"), tmp_path / "other", None, utc_now())
    first = new_home("first")
    set_up(first, tmp_path / "backups", None, utc_now())
    set_up(first, tmp_path / "backups", None, utc_now())
    with pytest.raises(ValidationFailedError, match="has the backups of"):
        set_up(new_home("second"), tmp_path / "backups", None, utc_now())
    with pytest.raises(ValidationFailedError, match="are not encrypted"):
        set_up(first, tmp_path / "backups", tmp_path / "key", utc_now())
    with pytest.raises(NotConfiguredError):
        plan_of(new_home("none"))
    assert json.loads((first / "backup.json").read_text())["key_file"] is None
