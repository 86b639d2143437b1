"""A home is backed up under load, restored to a moment, and what was erased since stays erased."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from keeps.backups.making import create, plan_of, set_up, ship
from keeps.backups.restoring import restore, verify
from keeps.bootstrap import open_keeps
from keeps.cli.backups import opening
from keeps.clock import utc_now
from keeps.db.embedded import EmbeddedPostgres
from keeps.db.embedded.home import SPOOL
from keeps.engine import Keeps
from keeps.scope import Scope
from keeps.settings import Settings
from keeps_client.errors import (
    ConflictError,
    NotConfiguredError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from tests.cli.test_cli import Cli


async def opened(home: Path) -> Keeps:
    return await open_keeps(Settings(home=home, embedder="none"))


async def contents(home: Path, tenant: str, user: str) -> set[str]:
    async with opening(home) as keeps:
        memory = keeps.memory(Scope(tenant, user))
        assert (await keeps.events.verify(Scope(tenant))).differences == []
        page = await memory.list(limit=200)
        held = [each.content for each in page.items]
        while page.next_cursor is not None:
            page = await memory.list(limit=200, cursor=page.next_cursor)
            held += [each.content for each in page.items]
        return set(held)


@pytest.mark.parametrize("sealed", [True, False])
async def test_a_moment_comes_back_and_the_erased_do_not(
    new_home: Callable[..., Path], tmp_path: Path, sealed: bool
) -> None:
    home, folder = new_home("backed-up"), tmp_path / "backups"
    key = tmp_path / "key" if sealed else None
    set_up(home, folder, key, utc_now())
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
        await keeps.tenants.erase_user(Scope("acme"), "bob")
        await keeps.tenants.erase_tenant(Scope("globex"))
        third = await create(server, utc_now)
        await keeps.close()
    assert not any("bob" in each or "globex" in each for each in (folder / "erased.jsonl").read_text().splitlines())
    if sealed:
        assert all(each.suffix in (".sealed", ".json", ".jsonl", "") for each in folder.rglob("*") if each.is_file())
        with pytest.raises(ValidationFailedError, match="sealed"):
            plan_of(home).model_copy(update={"key_file": None}).opened()
    backups = plan_of(home).opened()

    then = new_home("then")
    found = await restore(backups, then, opening, at=moment)
    assert found.erased_again == 2
    assert await contents(then, "acme", "alice") == {"Before all backups.", *written}
    assert await contents(then, "acme", "bob") == set()
    assert await contents(then, "globex", "carol") == set()

    early = new_home("early")
    await restore(backups, early, opening, name=first.name)
    held = await contents(early, "acme", "alice")
    assert "Before all backups." in held
    assert len(held) < len(written), "a backup by name is of its own end, whatever the log says further"

    checked = await verify(backups, new_home("checked"), opening)
    assert (checked.different, checked.restored.backups) == ([], [first.name, second.name, third.name])
    assert checked.restored.memories == len(written) + 2

    with pytest.raises(ConflictError):
        await restore(backups, then, opening)
    with pytest.raises(NotFoundError, match="no backup"):
        await restore(backups, new_home("x"), opening, at=first.began_at - timedelta(hours=1))
    with pytest.raises(NotFoundError, match="does not go on until"):
        await restore(backups, new_home("y"), opening, at=utc_now() + timedelta(days=1))
    with pytest.raises(NotFoundError):
        await restore(backups, new_home("z"), opening, name="20000101T000000Z")


async def test_old_ones_go_with_the_log_that_only_they_needed(new_home: Callable[..., Path], tmp_path: Path) -> None:
    home = new_home("pruned")
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
    assert (await verify(backups, new_home("still"), opening)).different == []


async def test_a_folder_that_is_away_loses_nothing_of_the_log(new_home: Callable[..., Path], tmp_path: Path) -> None:
    home, folder = new_home("away"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        await create(server, utc_now)
        keeps = await opened(home)
        folder.rename(tmp_path / "unmounted")
        await keeps.memory(Scope("acme", "alice")).remember("While the disk was away.")
        with pytest.raises(ValidationFailedError, match="no folder of backups"):
            await create(server, utc_now)
        with pytest.raises((ValidationFailedError, OSError)):
            await keeps.tenants.erase_user(Scope("acme"), "alice")
        assert len((await keeps.memory(Scope("acme", "alice")).list()).items) == 1, "an erasure that is not noted waits"
        (tmp_path / "unmounted").rename(folder)
        await create(server, utc_now)
        await keeps.close()
    await ship(home, server.folder.data.parent)
    assert list((server.folder.data.parent / SPOOL).iterdir()) == []
    restored = new_home("back")
    await restore(plan_of(home).opened(), restored, opening)
    assert await contents(restored, "acme", "alice") == {"While the disk was away."}


def test_the_commands(new_home: Callable[..., Path], tmp_path: Path) -> None:
    cli = Cli(new_home("commands"))
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
    assert "every row is" in cli("backup", "verify").stdout
    assert "1 in" in cli("doctor").stdout
    assert "is no time" in cli("backup", "verify", "--at", "Tuesday", code=2).stderr
    assert "sealed" in cli("backup", "list", "--from", str(tmp_path / "b"), code=2).stderr
    assert "0 backups" in cli("backup", "prune").stdout
    cli("backup", "off")
    assert "keeps backup on" in cli("backup", "list", code=1).stderr
    wrong = cli("backup", "create", code=1, KEEPS_DATABASE_URL="postgresql://keeps_app:x@localhost/keeps")
    assert "pgBackRest" in wrong.stderr.replace("\n", "")


async def test_killed_half_way_a_backup_does_not_count_and_a_restore_is_not_opened(
    new_home: Callable[..., Path], tmp_path: Path
) -> None:
    home, folder = new_home("killed"), tmp_path / "backups"
    set_up(home, folder, None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await opened(home)
        await keeps.memory(Scope("acme", "alice")).remember("Kept.")
        await keeps.close()
        environment = {**os.environ, "KEEPS_HOME": str(home)}
        environment.pop("KEEPS_DATABASE_URL", None)
        code = "from keeps.cli.main import main; main()"
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
    with pytest.raises(UnavailableError, match="ended half way"):
        await EmbeddedPostgres.open(target)


def test_what_cannot_be_a_folder_of_backups_is_refused(new_home: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ValidationFailedError, match="holds something else"):
        set_up(new_home("a"), tmp_path / "other", None, utc_now())
    first = new_home("first")
    set_up(first, tmp_path / "backups", None, utc_now())
    set_up(first, tmp_path / "backups", None, utc_now())
    with pytest.raises(ValidationFailedError, match="holds the backups of"):
        set_up(new_home("second"), tmp_path / "backups", None, utc_now())
    with pytest.raises(ValidationFailedError, match="not sealed"):
        set_up(first, tmp_path / "backups", tmp_path / "key", utc_now())
    with pytest.raises(NotConfiguredError):
        plan_of(new_home("none"))
    assert json.loads((first / "backup.json").read_text())["key_file"] is None
