"""`keeps import` is killed while it stores a large file, and run again: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from tests.conftest import admin
from tests.faults.test_killed_service import KEEPS

EVERY = 10
"""One of so many messages states a fact."""
STORED = "SELECT count(*) FROM keeps.memories WHERE namespace = 'import'"
FACTS = "SELECT count(*) FROM keeps.memories WHERE namespace = 'facts'"
TWICE = """
SELECT count(*) FROM (
    SELECT FROM keeps.memories WHERE superseded_by IS NULL GROUP BY namespace, key HAVING count(*) > 1
) AS repeated
"""
WITHOUT_FACT = """
SELECT count(*) FROM keeps.memories AS message
WHERE namespace = 'import' AND content LIKE 'I''m allergic to%'
    AND NOT EXISTS (SELECT FROM keeps.memories AS fact WHERE fact.metadata ->> 'read_in' = message.memory_id::text)
"""


def text_of(number: int) -> str:
    return f"I'm allergic to substance{number}." if number % EVERY == 0 else f"Remark {number} about the garden."


def write(path: Path, count: int) -> None:
    with path.open("w") as file:
        for number in range(count):
            moment = f"2024-05-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
            file.write(json.dumps({"role": "user", "content": text_of(number), "timestamp": moment}) + "\n")


@pytest.mark.parametrize(("messages", "before"), [(4_000, 1_000), pytest.param(20_000, 5_000, marks=pytest.mark.load)])
async def test_import_killed_half_way_is_completed_by_the_next(
    server: EmbeddedPostgres, fresh_database: Callable[..., Any], tmp_path: Path, messages: int, before: int
) -> None:
    name, path = await fresh_database(), tmp_path / "chats.jsonl"
    write(path, messages)
    url = server.url("keeps_app", name)
    environment = {"KEEPS_DATABASE_URL": url, "KEEPS_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    async def run() -> asyncio.subprocess.Process:
        arguments = ("import", str(path), "--no-wait", "--json")
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(KEEPS, *arguments, env=environment, stdout=pipe, stderr=pipe)

    async with admin(server, name) as connection:

        async def count(query: str) -> int:
            return await connection.fetchval(query) or 0

        first = await run()
        while await count(STORED) < before:
            assert first.returncode is None
            await asyncio.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        await first.wait()
        stored, learnt = await count(STORED), await count(FACTS)
        assert before <= stored < messages, "it was killed in the middle"
        assert await count(WITHOUT_FACT) == 0, "a message and its fact are stored together"

        output, errors = await (await run()).communicate()
        report = json.loads(output)
        assert report["statuses"] == {"unchanged": stored, "created": messages - stored}, errors.decode()
        assert report["facts"] == messages // EVERY - learnt
        assert (await count(STORED), await count(FACTS)) == (messages, messages // EVERY)
        assert (await count(TWICE), await count(WITHOUT_FACT)) == (0, 0)

        output, _ = await (await run()).communicate()
        report = json.loads(output)
        assert (report["statuses"], report["facts"]) == ({"unchanged": messages}, 0)
    async with Keeps.open(database_url=url, embedder=None) as keeps:
        assert (await keeps.service(EventService).verify(Scope("default", "default"))).equal
