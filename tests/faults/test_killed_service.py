"""`keeps serve` as a real process, killed without warning."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from keeps_client import MemoryClient
from keeps_client.errors import UnavailableError

KEEPS = Path(sys.executable).parent / "keeps"


async def serve(home: Path, **environment: str) -> tuple[Any, str]:
    process: Any = await asyncio.create_subprocess_exec(
        KEEPS,
        "serve",
        "--port",
        "0",
        "--home",
        str(home),
        env={**os.environ, **environment},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    while line := (await process.stderr.readline()).decode():
        if found := re.search(r"http://\S+", line):
            process.logs = asyncio.create_task(process.stderr.read())  # a pipe that nobody reads keeps its end waiting
            return process, found.group()
    raise AssertionError("the server ended before it served")


async def ended(process: Any, how: signal.Signals) -> int:
    process.send_signal(how)
    code = await process.wait()
    process._transport.close()  # noqa: SLF001
    return code


@pytest.mark.load
async def test_an_append_whose_answer_was_lost_is_not_done_twice(made_home: Callable[..., Path]) -> None:
    """Killed between commit and answer: requests are sent and the server is killed while they are on their way; each is
    then sent again with its key. What was done is done once, and what was not is done now."""
    home = made_home()
    process, url = await serve(home, KEEPS_EMBEDDER="none")
    wanted = [f"item-{number}" for number in range(120)]

    async def append(http: aiohttp.ClientSession, item: str) -> bool:
        body = {"plan_id": "p", "path": "log", "value": item}
        try:
            async with http.post(
                f"{url}/v1/memory/atomic/append", json=body, headers={"Idempotency-Key": item}
            ) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, OSError):
            return False

    acknowledged: set[str] = set()

    async def send(http: aiohttp.ClientSession, item: str) -> None:
        if await append(http, item):
            acknowledged.add(item)
        if len(acknowledged) == 20 and process.returncode is None:
            process.send_signal(signal.SIGKILL)

    async with aiohttp.ClientSession() as http:
        await asyncio.gather(*(send(http, item) for item in wanted))
    await ended(process, signal.SIGKILL) if process.returncode is None else None
    assert 20 <= len(acknowledged) < len(wanted)

    process, url = await serve(home, KEEPS_EMBEDDER="none")
    async with MemoryClient(url) as memory:
        stored = await memory.retrieve("log", "p")
        assert acknowledged <= set(stored), "what was acknowledged is there"
        lost = [item for item in stored if item not in acknowledged]
        async with aiohttp.ClientSession() as http:
            assert all([await append(http, item) for item in wanted])
        assert sorted(await memory.retrieve("log", "p")) == sorted(wanted), f"{len(lost)} were done without an answer"
    assert await ended(process, signal.SIGTERM) in (0, -signal.SIGTERM)


async def test_the_service_drains_before_it_ends(made_home: Callable[..., Path]) -> None:
    process, url = await serve(made_home(), KEEPS_EMBEDDER="none")
    async with MemoryClient(url) as memory:
        await memory.store("k", 0, "p")
        writes = [asyncio.create_task(memory.append_to_list("log", number, "p")) for number in range(30)]
        await asyncio.sleep(0)
        while not any(write.done() for write in writes):
            await asyncio.sleep(0.001)
        code = asyncio.create_task(ended(process, signal.SIGTERM))
        answers = await asyncio.gather(*writes, return_exceptions=True)
    assert await code in (0, -signal.SIGTERM)
    assert all(isinstance(answer, list | UnavailableError) for answer in answers), answers


async def test_the_database_goes_away_under_the_service_and_comes_back(made_home: Callable[..., Path]) -> None:
    home = made_home()
    process, url = await serve(home, KEEPS_EMBEDDER="none")
    async with MemoryClient(url) as memory:
        await memory.store("k", 1, "p")
        from keeps.store.db.embedded import inspect_home

        pid = inspect_home(home).running_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert await memory.retrieve("k", "p") == 1, "the client tries again, and the service has started it again"
        await memory.store("k", 2, "p")
    assert await ended(process, signal.SIGTERM) in (0, -signal.SIGTERM)
