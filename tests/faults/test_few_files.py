"""A service that may open no more files: who is connected is served, who comes later is turned away, or waits, and then
all goes on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import psutil

from .test_killed_service import ended, serve

FURTHER, CALLERS = 10, 60


async def _remember(http: aiohttp.ClientSession, text: str) -> int:
    """The status; 0 where the connection was ended instead."""
    try:
        async with http.post("/v1/memories", json={"content": text}) as answer:
            await answer.read()
            return answer.status
    except aiohttp.ClientConnectionError:
        return 0


async def test_who_is_connected_is_served_and_the_rest_when_there_is_room(made_home: Callable[..., Path]) -> None:
    process, url = await serve(made_home(), KEEPS_EMBEDDER="none")
    service = psutil.Process(process.pid)
    parts = urlsplit(url)
    idle: list[Any] = []
    async with aiohttp.ClientSession(url) as early:
        assert await _remember(early, "Before.") == 201
        most = service.num_fds() + FURTHER
        service.rlimit(psutil.RLIMIT_NOFILE, (most, most))
        for _ in range(CALLERS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
            idle.append(writer)
        async with aiohttp.ClientSession(url) as late:
            waits = asyncio.create_task(_remember(late, "Of somebody who came later."))
            told = [f"While no more can be opened, {number}." for number in range(20)]
            assert {await _remember(early, text) for text in told} == {201}
            assert service.num_fds() <= most
            for writer in idle:
                writer.close()
            assert await waits in (0, 201)
            while await _remember(late, "After.") != 201:
                await asyncio.sleep(0.05)
        async with early.get("/v1/memories", params={"limit": 100}) as answer:
            held = {each["content"] for each in (await answer.json())["items"]}
    assert {"Before.", *told, "After."} <= held
    await ended(process, signal.SIGTERM)
