"""Subscribers over kill -9 of the server, over its restart, and over kill -9 of a subscriber: none lost, none
doubled."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keeps_client import MemoryClient
from keeps_client.errors import KeepsError
from tests.faults.test_killed_service import KEEPS, ended

READER = """
import asyncio, json, sys
from keeps_client import MemoryClient

async def main():
    url, path = sys.argv[1:]
    try:
        last = json.loads(open(path).read().splitlines()[-1])[0]
    except (OSError, IndexError):
        last = 0
    async with MemoryClient(url) as memory:
        with open(path, "a") as seen:
            async for event in memory.subscribe(after=last):
                seen.write(json.dumps([event.sequence, event.data["item"]]) + "\\n")
                seen.flush()

asyncio.run(main())
"""


async def served(home: Path, port: int) -> Any:
    process: Any = await asyncio.create_subprocess_exec(
        KEEPS,
        "serve",
        "--port",
        str(port),
        "--home",
        str(home),
        env={"KEEPS_EMBEDDER": "none", "PATH": "/usr/bin:/bin"},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    while b"http://" not in (line := await process.stderr.readline()):
        assert line, "the server ended before it served"
    process.logs = asyncio.create_task(process.stderr.read())  # a pipe that nobody reads keeps its end waiting
    return process


async def reading(url: str, path: Path) -> Any:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", READER, url, str(path))


def seen_in(path: Path) -> list[tuple[int, str]]:
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.load
async def test_no_event_is_lost_or_doubled(made_home: Callable[..., Path], tmp_path: Path) -> None:
    home = made_home()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = await served(home, port)
    steady, killed = tmp_path / "steady", tmp_path / "killed"
    readers = [await reading(url, steady), await reading(url, killed)]
    sent = 0
    go_on = True

    async def write(number: int) -> int:
        done = 0
        async with MemoryClient(url) as memory:
            while go_on:
                try:
                    await memory.append_to_list(f"log-{number}", f"{number}-{done}", "plan")
                    done += 1
                except KeepsError:
                    await asyncio.sleep(0.05)
        return done

    writers = [asyncio.create_task(write(number)) for number in range(4)]

    async def reach(path: Path, more: int) -> None:
        aim = len(seen_in(path)) + more
        for _ in range(1_500):
            if len(seen_in(path)) >= aim:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"{path.name} stands at {len(seen_in(path))}, not {aim}")

    await reach(steady, 60)
    await ended(process, signal.SIGKILL)
    process = await served(home, port)
    await reach(steady, 60)
    await ended(readers[1], signal.SIGKILL)
    await reach(steady, 60)
    readers[1] = await reading(url, killed)
    await reach(killed, 60)
    assert await ended(process, signal.SIGTERM) in (0, -signal.SIGTERM)
    process = await served(home, port)
    await reach(steady, 60)
    go_on = False
    sent = sum(await asyncio.gather(*writers))
    async with MemoryClient(url) as memory:
        log: list[tuple[int, str]] = []
        while page := await memory.events(after=log[-1][0] if log else 0, limit=200):
            log += [(event.sequence, str(event.data["item"])) for event in page]
    for path in (steady, killed):
        for _ in range(1_500):
            if len(seen_in(path)) >= len(log):
                break
            await asyncio.sleep(0.02)
    for reader in readers:
        await ended(reader, signal.SIGKILL)
    assert await ended(process, signal.SIGTERM) in (0, -signal.SIGTERM)
    assert [sequence for sequence, _ in log] == list(range(1, len(log) + 1))
    assert len(log) >= sent > 200
    assert seen_in(steady) == log
    assert seen_in(killed) == log
    print(
        f"sent {sent}, in the log {len(log)}, received {len(seen_in(steady))} and {len(seen_in(killed))}, doubled 0,"
        " lost 0"
    )
