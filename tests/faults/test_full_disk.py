"""The disk of a home fills up, also so that PostgreSQL ends and cannot start: it is said, nothing is lost, and all goes
on when there is room."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.operate.backups.making import create, plan_of, set_up
from keeps.store.db import cell
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.embedded.home import remove_home
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError
from tests.conftest import small_disk

MEGABYTE = 1 << 20
SCOPE = Scope("acme", "alice")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")


@pytest.fixture
def disk(new_home: Callable[..., Path]) -> Iterator[Path]:
    """A file system of 260 MB, which the user that runs the server can enter."""
    place = new_home("disk")
    with small_disk(place, 260):
        yield place
        remove_home(place / "home")


class Filler:
    """Takes the room of a disk, but for some."""

    def __init__(self, disk: Path) -> None:
        self._disk, self._path = disk, disk / "filler"

    def fill(self, *, but: int) -> None:
        found = os.statvfs(self._disk)
        with self._path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - but)

    def remove(self) -> None:
        self._path.unlink()


async def _held(keeps: Keeps) -> set[str]:
    memory = keeps.memory(SCOPE)
    page = await memory.list(limit=200)
    held = {each.content for each in page.items}
    while page.next_cursor is not None:
        page = await memory.list(limit=200, cursor=page.next_cursor)
        held |= {each.content for each in page.items}
    return held


@pytest.mark.parametrize(
    "room",
    [
        pytest.param(0, id="no table grows"),
        pytest.param(12 * MEGABYTE, id="no log is written, and PostgreSQL ends", marks=pytest.mark.load),
    ],
)
async def test_what_was_acknowledged_is_there_when_there_is_room_again(
    disk: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell, "DEAD_SECONDS", 0.1)
    home, filler = disk / "home", Filler(disk)
    keeps = await open_keeps(Settings(home=home, embedder="none"))
    memory = keeps.memory(SCOPE)
    told: set[str] = set()
    refused: list[str] = []

    async def write(text: str) -> None:
        try:
            await memory.remember(text)
            told.add(text)
        except UnavailableError as error:
            refused.append(str(error))

    await write("Before.")
    before = inspect_home(home).running_pid
    filler.fill(but=room)
    for number in range(5_000):
        await write(f"While there is no room, {number}. " + f"word{number} " * 300)
        if len(refused) >= 20 and any("disk is full" in each for each in refused):
            break  # a server that ends and starts again is met away, too
    else:
        pytest.fail(f"nobody was told: {set(refused)}")
    assert not any(str(disk) in each for each in refused), "callers are not told where the data is"
    assert (inspect_home(home).running_pid != before) == bool(room)
    filler.remove()

    while "After." not in told:
        await write("After.")
        await asyncio.sleep(0.02)
    assert await _held(keeps) == told
    assert (await keeps.service(EventService).verify(Scope("acme"))).differences == []
    await keeps.close()


async def test_a_server_that_is_met_just_as_it_ended_is_said_to_have_no_room(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It started again, and ended before it was asked anything."""

    async def ended(*_: object) -> None:
        raise asyncpg.CannotConnectNowError("the database system is in recovery mode")

    async with await open_keeps(Settings(home=disk / "home", embedder="none")) as keeps:
        monkeypatch.setattr(keeps.database.main.pool, "acquire", ended)
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await keeps.memory(SCOPE).list()
        Filler(disk).fill(but=MEGABYTE)
        with pytest.raises(UnavailableError, match="disk is full"):
            await keeps.memory(SCOPE).list()


async def test_a_backup_for_which_there_is_no_room_does_not_count(disk: Path) -> None:
    home, filler = disk / "home", Filler(disk)
    set_up(home, disk / "backups", None, utc_now())
    async with await EmbeddedPostgres.open(home) as server:
        keeps = await open_keeps(Settings(home=home, embedder="none"))
        await keeps.memory(SCOPE).remember("Before.")
        filler.fill(but=4 * MEGABYTE)
        with pytest.raises(UnavailableError, match=r"disk|space|No space"):
            await create(server, utc_now)
        filler.remove()
        assert plan_of(home).opened().backups() == []
        made = await create(server, utc_now)
        assert [each.name for each in plan_of(home).opened().backups()] == [made.name]
        assert await _held(keeps) == {"Before."}
        await keeps.close()
