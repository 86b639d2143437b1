"""A PostgreSQL that hangs, rather than dies: nobody waits for ever, and all goes on when it wakes up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.doors.server import gauges
from keeps.store.db import cell, pool, transaction
from keeps.store.db.embedded import inspect_home
from keeps_client.errors import UnavailableError
from tests.conftest import until
from tests.serving import serving


async def test_reads_end_writes_wait_and_nothing_is_lost(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "READ_SECONDS", 1)
    monkeypatch.setattr(transaction, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(cell, "ACQUIRE_TIMEOUT_SECONDS", 2.0)
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 1.0)
    home = made_home("hanging")
    keeps = await open_keeps(Settings(home=home, embedder="none"))
    memory = keeps.memory(Scope("acme", "alice"))
    await memory.remember("Before it hung.")
    postmaster = psutil.Process(inspect_home(home).running_pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    took: list[float] = []

    async def asked(call: Any) -> BaseException | None:
        began = time.monotonic()
        try:
            await call
        except UnavailableError as error:
            return error
        finally:
            took.append(time.monotonic() - began)
        return None

    for each in processes:
        each.suspend()
    writing = asyncio.create_task(asked(memory.remember("While it hung.")))
    try:
        answers = await asyncio.gather(*(asked(memory.list()) for _ in range(20)), asked(memory.recall("hung")))
    finally:
        for each in processes:
            each.resume()
    assert all(isinstance(each, UnavailableError) for each in answers), answers
    assert max(took) < 30, "an end that is known, on a machine that is busy"
    stored = (
        {"Before it hung."} if isinstance(await writing, UnavailableError) else {"Before it hung.", "While it hung."}
    )
    assert {each.content for each in (await memory.list()).items} == stored, "whole, or not there"
    assert (await memory.recall("hung")).hits
    await keeps.close()


async def test_metrics_are_answered_while_it_hangs(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "REFRESH_SECONDS", 0.0)
    home = made_home("unanswered")
    keeps = await open_keeps(Settings(home=home, embedder="none"))
    await keeps.memory(Scope("acme", "alice")).remember("Before it hung.")
    postmaster = psutil.Process(inspect_home(home).running_pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    async with serving(keeps) as url, aiohttp.ClientSession(url) as http:

        async def scrape() -> dict[str, float]:
            async with asyncio.timeout(5), http.get("/metrics") as answer:
                families = text_string_to_metric_families(await answer.text())
            return {sample.name: sample.value for family in families for sample in family.samples}

        async def until_up_is(up: float) -> dict[str, float]:
            async with asyncio.timeout(30):
                while (sample := await scrape()).get("keeps_database_up") != up:
                    await asyncio.sleep(0.1)
            return sample

        before = await until_up_is(1)
        assert before["keeps_memory_storage_bytes"] > 0
        assert before["keeps_disk_free_bytes"] > 0
        for each in processes:
            each.suspend()
        try:
            during = await until_up_is(0)
            async with asyncio.timeout(10), http.get("/ready") as answer:
                assert answer.status == 503
        finally:
            for each in processes:
                each.resume()
        assert during["keeps_memory_storage_bytes"] == before["keeps_memory_storage_bytes"]
        await until_up_is(1)
        postmaster.kill()
        await until(lambda: not postmaster.is_running(), "the server is gone")
        assert (await scrape())["keeps_memory_storage_bytes"] > 0
        await until_up_is(1)  # A Keeps starts its own server anew.
    await keeps.close()
