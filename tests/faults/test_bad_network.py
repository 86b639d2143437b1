"""Between Keeps and PostgreSQL: answers that come late, or in half, or not at all, and connections that are reset.
Writers go on; what they were told is true, once, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.store.db import cell, pool, transaction
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError
from tests.conftest import until

WRITERS = 8


class Network:
    """A stretch of network, in which every connection can be spoilt."""

    def __init__(self, to: Path) -> None:
        self._to = to
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.delay_seconds = 0.0
        self.deaf = asyncio.Event()
        """While set, what PostgreSQL answers goes nowhere, and neither side is told."""
        self.cut_after: int | None = None
        """The next answer ends after so many bytes, with its connection."""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward, back = await asyncio.open_unix_connection(str(self._to))
        self._writers |= {writer, back}
        for flow in (self._flow(reader, back, answers=False), self._flow(onward, writer, answers=True)):
            task = asyncio.create_task(flow)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _flow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                if answers and self.deaf.is_set():
                    continue
                if answers and self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)  # the fault itself: nothing is waited for
                if answers and self.cut_after is not None:
                    writer.write(data[: self.cut_after])
                    self.cut_after = None
                    break
                writer.write(data)
                await writer.drain()
        writer.close()

    def reset(self) -> None:
        """All connections, at once, without a goodbye."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def close(self) -> None:
        self.reset()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def _through(url: str, folder: Path) -> AsyncIterator[tuple[Network, str]]:
    """A network to the server at `url`, and the URL through it."""
    parts = urlsplit(url)
    network = Network(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432")
    server = await asyncio.start_unix_server(network.connected, folder / ".s.PGSQL.5432")
    try:
        yield network, parts._replace(query=f"host={quote(str(folder), safe='')}").geturl()
    finally:
        server.close()
        await network.close()


@pytest.fixture
async def spoilt(app_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Keeps, Network]]:
    monkeypatch.setattr(transaction, "READ_SECONDS", 2)
    monkeypatch.setattr(transaction, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(cell, "ACQUIRE_TIMEOUT_SECONDS", 5.0)
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 2.0)
    async with _through(app_url, tmp_path) as (network, url):
        keeps = await open_keeps(Settings(home=tmp_path / "home", database_url=url, embedder="none"))
        yield keeps, network
        await keeps.close()


class Told:
    """What eight writers were told, while they went on."""

    def __init__(self, keeps: Keeps, tenant: str) -> None:
        self._keeps, self._tenant = keeps, tenant
        self.stored: set[str] = set()
        self.failed = 0
        self.longest = 0.0
        self._stop = asyncio.Event()

    async def _write(self, writer: int) -> None:
        memory = self._keeps.memory(Scope(self._tenant, f"user-{writer % 3}"))
        number = 0
        while not self._stop.is_set():
            text = f"Written by {writer}, number {number}."
            number += 1
            began = time.monotonic()
            try:
                await memory.remember(text)
                self.stored.add(text)
            except UnavailableError:
                self.failed += 1
            self.longest = max(self.longest, time.monotonic() - began)

    async def more(self, count: int = 40) -> None:
        wanted = len(self.stored) + count
        await until(lambda: len(self.stored) >= wanted, f"{count} more are stored")

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        writers = [asyncio.create_task(self._write(number)) for number in range(WRITERS)]
        yield
        self._stop.set()
        await asyncio.gather(*writers)


async def _all(keeps: Keeps, tenant: str) -> list[str]:
    held: list[str] = []
    for user in range(3):
        memory = keeps.memory(Scope(tenant, f"user-{user}"))
        cursor: Any = None
        while True:
            page = await memory.list(limit=200, cursor=cursor)
            held += [each.content for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    return held


@pytest.mark.parametrize("faults", [4, pytest.param(20, marks=pytest.mark.load)])
async def test_writers_go_on_through_resets_and_answers_cut_in_half(
    spoilt: tuple[Keeps, Network], tenant: str, faults: int
) -> None:
    keeps, network = spoilt
    told = Told(keeps, tenant)
    async with told.writing():
        for number in range(faults):
            await told.more()
            if number % 2:
                network.reset()
            else:
                network.cut_after = 3 * number
                await until(lambda: network.cut_after is None, "an answer was cut")
        await told.more()
    held = await _all(keeps, tenant)
    assert len(held) == len(set(held)), "nothing is there twice"
    assert told.stored <= set(held), "what was acknowledged is there"
    assert len(held) <= len(told.stored) + told.failed
    assert (await keeps.service(EventService).verify(Scope(tenant))).differences == []


@pytest.mark.load
async def test_late_answers_are_waited_for_and_answers_that_never_come_are_not(
    spoilt: tuple[Keeps, Network], tenant: str
) -> None:
    keeps, network = spoilt
    told = Told(keeps, tenant)
    memory = keeps.memory(Scope(tenant, "user-0"))
    network.delay_seconds = 0.1
    async with told.writing():
        await told.more(10)
        network.delay_seconds = 0.0
        await told.more()
        assert told.failed == 0
        network.deaf.set()
        with pytest.raises(UnavailableError):
            await memory.list()
        network.deaf.clear()
        network.reset()
        await told.more()
    assert told.longest < 60, "an end that is known, on a machine that is busy"
    held = await _all(keeps, tenant)
    assert len(held) == len(set(held))
    assert told.stored <= set(held)
    assert (await keeps.service(EventService).verify(Scope(tenant))).differences == []
