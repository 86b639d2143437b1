"""`keeps serve --workers 2`: one address, whichever worker answers, dies, or is replaced."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import aiohttp
import psutil
import pytest

from keeps_client import MemoryClient
from tests.cli.test_cli import Cli
from tests.cli.test_service import Served

HEADERS = {"X-Tenant-ID": "acme", "X-User-ID": "alice"}


@pytest.fixture(scope="module")
def served(made_home: Callable[..., Path]) -> Iterator[Served]:
    service = Served(Cli(made_home("workers")), "--workers", "2", KEEPS_EMBEDDER="none")
    yield service
    service.stop()
    assert service.process.returncode == 0


def workers_of(served: Served) -> set[int]:
    """The processes that serve: not those that start others or read documents."""
    found: set[int] = set()
    for each in psutil.Process(served.process.pid).children():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):  # it may end while it is looked at
            if each.status() != psutil.STATUS_ZOMBIE and "spawn_main" in " ".join(each.cmdline()):
                found.add(each.pid)
    return found


async def until_there_are(served: Served, count: int, *, but: int | None = None) -> set[int]:
    """Waits for so many workers that answer, none of them `but`."""
    async with asyncio.timeout(60):
        while True:
            there = workers_of(served)
            if len(there) == count and but not in there:
                return there
            await asyncio.sleep(0.1)


async def counted(session: aiohttp.ClientSession, url: str) -> float:
    async with session.get(f"{url}/metrics") as answer:
        text = await answer.text()
    series = r'^keeps_http_requests_total\{method="GET",route="/v1/memories",status="200"\} (\S+)$'
    found = re.findall(series, text, re.MULTILINE)
    assert len(found) <= 1, "one series, however many workers"
    return float(found[0]) if found else 0.0


def test_the_banner_says_how_many(served: Served) -> None:
    assert json.loads(served.banner.splitlines()[-1])["workers"] == 2


async def test_what_both_counted_is_one_number(served: Served) -> None:
    async with aiohttp.ClientSession(headers=HEADERS) as session:
        before = await counted(session, served.url)
        pids: set[int] = set()
        for _ in range(8):  # a connection of its own each, so that both workers answer
            async with aiohttp.ClientSession(headers=HEADERS) as other:
                for _ in range(5):
                    async with other.get(f"{served.url}/v1/memories") as answer:
                        assert answer.status == 200
        pids |= workers_of(served)
        assert len(pids) == 2
        async with asyncio.timeout(30):  # an answer is counted after it was sent, and the metrics may be a second old
            while (now := await counted(session, served.url)) - before < 40:
                await asyncio.sleep(0.1)
        assert now - before == 40


async def test_gauges_are_the_sum_of_all_workers(served: Served) -> None:
    """Whichever worker answers, requests and connections of both count."""

    async def gauges() -> tuple[float, float]:
        async with aiohttp.ClientSession() as session, session.get(f"{served.url}/metrics") as answer:
            text = await answer.text()
        series = ("keeps_http_requests_in_flight", r'keeps_db_pool_connections\{state="size"\}')
        in_flight, size = (re.findall(rf"^{name} (\S+)$", text, re.MULTILINE) for name in series)
        return float(in_flight[0]), float(size[0])

    async with AsyncExitStack() as streams:
        for _ in range(3):
            session = await streams.enter_async_context(aiohttp.ClientSession(headers=HEADERS))
            await streams.enter_async_context(session.get(f"{served.url}/v1/events/stream"))
        async with asyncio.timeout(30):  # what was exposed last may be a second old
            while {await gauges() for _ in range(16)} != {(4.0, 20.0)}:  # three streams and this request
                await asyncio.sleep(0.1)


@pytest.mark.load
async def test_a_worker_that_is_killed_comes_back_and_nothing_stored_is_lost(served: Served) -> None:
    (first, *_) = await until_there_are(served, 2)
    stored: list[str] = []
    ended = asyncio.Event()

    async def write(number: int) -> None:
        async with MemoryClient(served.url, tenant_id="acme", user_id=f"user-{number}") as memory:
            while not ended.is_set():
                receipt = await memory.remember(f"note {len(stored)} of {number}", index="later")
                stored.append(str(receipt.memory_id))

    writers = [asyncio.create_task(write(number)) for number in range(8)]
    async with asyncio.timeout(60):
        while len(stored) < 50:
            await asyncio.sleep(0.01)
    os.kill(first, signal.SIGKILL)
    await until_there_are(served, 2, but=first)
    more = len(stored) + 50
    async with asyncio.timeout(60):
        while len(stored) < more:
            await asyncio.sleep(0.01)
    ended.set()
    await asyncio.gather(*writers)
    async with aiohttp.ClientSession() as session:
        kept = 0
        for number in range(8):
            who = {"X-Tenant-ID": "acme", "X-User-ID": f"user-{number}"}
            cursor = ""
            while True:
                async with session.get(f"{served.url}/v1/memories?limit=200{cursor}", headers=who) as answer:
                    page = await answer.json()
                kept += len(page["items"])
                if not page["next_cursor"]:
                    break
                cursor = f"&cursor={page['next_cursor']}"
    assert kept == len(set(stored)), "each that was acknowledged, once"


async def test_a_worker_that_dies_while_it_is_asked_whether_it_lives_comes_back_at_once(served: Served) -> None:
    (first, *_) = await until_there_are(served, 2)
    os.kill(first, signal.SIGSTOP)  # so it gives no answer
    waited = 0
    async with asyncio.timeout(30):
        while waited < 50:  # the other one answers sooner
            waiting = "poll" in Path(f"/proc/{served.process.pid}/wchan").read_text()
            waited = waited + 1 if waiting else 0
            await asyncio.sleep(0.01)
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(30):  # it is asked for a minute
        await until_there_are(served, 2, but=first)


@pytest.mark.load
async def test_replacing_the_workers_refuses_no_request(served: Served) -> None:
    before = await until_there_are(served, 2)
    statuses: list[int] = []
    ended = asyncio.Event()

    async def ask() -> None:
        while not ended.is_set():
            async with (
                aiohttp.ClientSession(headers=HEADERS) as session,
                session.get(f"{served.url}/v1/memories") as answer,
            ):
                statuses.append(answer.status)

    askers = [asyncio.create_task(ask()) for _ in range(4)]
    served.process.send_signal(signal.SIGHUP)
    async with asyncio.timeout(90):
        while workers_of(served) & before or len(workers_of(served)) != 2:
            await asyncio.sleep(0.1)
    ended.set()
    await asyncio.gather(*askers)
    assert set(statuses) == {200}
    assert len(statuses) > 20


def test_stream_of_a_program_is_json_alone(made_home: Callable[..., Path]) -> None:
    cli = Cli(made_home("json"))
    service = Served(cli)
    service.process.terminate()
    assert service.process.stderr is not None
    lines = [json.loads(line) for line in (service.banner + service.process.stderr.read()).splitlines()]
    service.stop()
    assert lines[0]["event"].startswith("Keeps serves http://127.0.0.1:")
