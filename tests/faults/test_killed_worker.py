"""A worker is killed in the middle of its work: whole batches are done, nothing is half done, and the next one goes
on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from tests.conftest import admin
from tests.faults.test_killed_service import KEEPS
from tests.lifecycle.conftest import MovingClock

ROWS = 2_000


@pytest.mark.load
async def test_killed_in_the_middle_of_a_job_and_gone_on(
    server: EmbeddedPostgres, fresh_database: Callable[..., Any]
) -> None:
    name = await fresh_database()
    url = server.url("keeps_app", name)
    async with Keeps.open(database_url=url, embedder=None, clock=MovingClock()) as keeps:
        alice = keeps.memory(Scope("tenant", "alice"))
        for start in range(0, ROWS, 1_000):
            await alice.remember_many(
                [
                    {"content": f"Remark {start + number}.", "kind": "episodic", "importance": 0.5}
                    for number in range(1_000)
                ]
            )

    async def run() -> asyncio.subprocess.Process:
        environment = {"KEEPS_DATABASE_URL": url, "KEEPS_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}
        return await asyncio.create_subprocess_exec(
            KEEPS, "run-job", "decay", env=environment, stdout=asyncio.subprocess.PIPE
        )

    async with admin(server, name) as connection:

        async def archived() -> int:
            return await connection.fetchval("SELECT count(*) FROM keeps.memories WHERE archived_at IS NOT NULL") or 0

        worker = await run()
        while not await archived():
            await asyncio.sleep(0.01)
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
        done = await archived()
        assert 0 < done < ROWS, "it was killed in the middle"
        told = await connection.fetchval("SELECT count(*) FROM keeps.events WHERE type = 'memory.archived'")
        changes = await connection.fetchval("SELECT count(*) FROM keeps.operation_changes")
        assert (told, changes) == (done, done), "row, event and what undoing needs are there together"
        output, _ = await (await run()).communicate()
        assert f"{ROWS - done:,} archived" in output.decode()
        assert await archived() == ROWS
    async with Keeps.open(database_url=url, embedder=None) as keeps:
        alice = keeps.memory(Scope("tenant", "alice"))
        operations = (await alice.operations()).items
        assert {each.status for each in operations} == {"running", "completed"}, "the killed run's receipt says so"
        assert (await keeps.service(EventService).verify(alice.scope)).equal
