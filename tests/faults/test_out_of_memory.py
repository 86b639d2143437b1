"""What the kernel's OOM killer does to PostgreSQL, and what PostgreSQL says when it gets no more memory."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.store.db.embedded import inspect_home
from keeps.store.db.embedded.binaries import choose_run_user
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError
from tests.conftest import until

SCOPE = Scope("acme", "alice")
WRITERS = 8


def _backends(home: Path) -> list[psutil.Process]:
    """The processes that serve connections of the role that serves."""
    server = psutil.Process(inspect_home(home).running_pid)
    found: list[psutil.Process] = []
    for each in server.children():
        with suppress(psutil.NoSuchProcess):
            if "keeps_app" in " ".join(each.cmdline()):
                found.append(each)
    return found


def _limit(process: psutil.Process, address_space: str) -> None:
    """As the user that it runs as, who may change it."""
    done = choose_run_user().run("prlimit", "--pid", str(process.pid), f"--as={address_space}:unlimited")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.load)])
async def test_processes_that_are_killed_under_writers_lose_and_double_nothing(
    made_home: Callable[..., Path], kills: int
) -> None:
    home = made_home("oom")
    keeps = await open_keeps(Settings(home=home, embedder="none"))
    server = inspect_home(home).running_pid
    stop = asyncio.Event()
    told: set[str] = set()
    failed = 0

    async def write(writer: int) -> None:
        nonlocal failed
        memory = keeps.memory(SCOPE)
        number = 0
        while not stop.is_set():
            text = f"Written by {writer}, number {number}."
            number += 1
            try:
                await memory.remember(text)
                told.add(text)
            except UnavailableError:
                failed += 1

    writers = [asyncio.create_task(write(number)) for number in range(WRITERS)]
    for _ in range(kills):
        wanted = len(told) + 50
        await until(lambda wanted=wanted: len(told) >= wanted, "writers go on")
        backends = _backends(home)
        assert backends
        with suppress(psutil.NoSuchProcess):
            backends[0].send_signal(signal.SIGKILL)
    wanted = len(told) + 50
    await until(lambda: len(told) >= wanted, "writers go on after the last kill")
    stop.set()
    await asyncio.gather(*writers)
    assert inspect_home(home).running_pid == server, "PostgreSQL recovers from this by itself"
    memory = keeps.memory(SCOPE)
    page = await memory.list(limit=200)
    held = [each.content for each in page.items]
    while page.next_cursor is not None:
        page = await memory.list(limit=200, cursor=page.next_cursor)
        held += [each.content for each in page.items]
    assert len(held) == len(set(held)), "nothing is there twice"
    assert told <= set(held), "what was acknowledged is there"
    assert len(held) <= len(told) + failed
    assert (await keeps.service(EventService).verify(Scope(SCOPE.tenant_id))).differences == []
    await keeps.close()


@pytest.mark.load
async def test_what_needs_more_memory_than_there_is_says_so_and_the_next_call_works(
    made_home: Callable[..., Path],
) -> None:
    home = made_home("little")
    keeps = await open_keeps(Settings(home=home, embedder="none"))
    memory = keeps.memory(SCOPE)
    await memory.remember("Before.")
    large = [{"content": f"{number} " + f"word{number} " * 5_000} for number in range(100)]
    for each in _backends(home):
        _limit(each, str(each.memory_info().vms + (4 << 20)))
    with pytest.raises(UnavailableError, match=r"ran out of a resource|cannot be reached"):
        await memory.remember_many(large)
    for each in _backends(home):
        _limit(each, "unlimited")
    await memory.remember("After.")
    assert {each.content for each in (await memory.list(limit=200)).items} == {"Before.", "After."}
    assert (await keeps.service(EventService).verify(Scope(SCOPE.tenant_id))).differences == []
    await keeps.close()
