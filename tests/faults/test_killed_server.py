"""Thousands of operations by eight writers, with the server killed in the middle: what was acknowledged is there."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import LocalMemory
from keeps.store.db.embedded import inspect_home
from keeps_client.errors import ConflictError, NotFoundError, UnavailableError

WRITERS = 8


class Ledger:
    """What one writer was told."""

    def __init__(self) -> None:
        self.written: dict[UUID, int] = {}
        self.events: set[UUID] = set()
        self.erased: set[UUID] = set()
        self.lost = 0


async def operate(memory: LocalMemory, name: str, count: int, ledger: Ledger, done: list[int]) -> None:
    choose = random.Random(name)
    ids: list[UUID] = []
    for number in range(count):
        done[0] += 1
        kind = choose.random()
        try:
            if kind < 0.5 or not ids:
                receipt = await memory.remember(f"{name} fact {number}", index="later")
                ids.append(receipt.memory_id)
            elif kind < 0.75:
                receipt = await memory.remember(
                    f"{name} value {number}", namespace="n", key=f"{name}-{choose.randrange(5)}", index="later"
                )
            elif kind < 0.85:
                receipt = await memory.update(choose.choice(ids), importance=choose.random(), index="later")
            elif kind < 0.93:
                receipt = await memory.forget(choose.choice(ids))
            elif kind < 0.98:
                receipt = await memory.restore(choose.choice(ids))
            else:
                gone = choose.choice(ids)
                receipt = await memory.forget(gone, hard=True)
                ids.remove(gone)
                ledger.erased.add(gone)
        except UnavailableError:
            ledger.lost += 1
            continue
        except (NotFoundError, ConflictError):
            continue
        if receipt.event_id is not None:
            ledger.events.add(receipt.event_id)
        if receipt.memory is not None:
            ledger.written[receipt.memory_id] = max(receipt.memory.version, ledger.written.get(receipt.memory_id, 0))


@pytest.mark.parametrize("operations", [600, pytest.param(4_000, marks=pytest.mark.load)])
async def test_no_acknowledged_write_is_lost(made_home: Callable[..., Path], operations: int) -> None:
    home = made_home()
    ledgers = [Ledger() for _ in range(WRITERS)]
    done = [0]
    async with await open_keeps(Settings(home, embedder="none")) as keeps:
        scopes = [Scope("t", f"user-{number % 3}") for number in range(WRITERS)]
        writers = asyncio.gather(
            *(
                operate(keeps.memory(scope), f"w{n}", operations // WRITERS, ledgers[n], done)
                for n, scope in enumerate(scopes)
            )
        )
        while done[0] < operations // 2:
            await asyncio.sleep(0.01)
        pid = inspect_home(home).running_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await writers
        assert inspect_home(home).running_pid != pid, "the kill must be felt"
        stored = {memory_id: version for ledger in ledgers for memory_id, version in ledger.written.items()}
        erased = set[UUID]().union(*(ledger.erased for ledger in ledgers))
        connection = await asyncpg.connect(keeps.admin_url)
        versions = {
            row["memory_id"]: row["version"]
            for row in await connection.fetch("SELECT memory_id, version FROM keeps.memories")
        }
        events = {row["event_id"] for row in await connection.fetch("SELECT event_id FROM keeps.events")}
        orphans = await connection.fetchval(
            "SELECT count(*) FROM keeps.memories AS m WHERE NOT EXISTS (SELECT FROM keeps.events AS e WHERE e.tenant_id"
            " = m.tenant_id AND e.subject = m.memory_id::text AND (e.data->'memory'->>'version')::int = m.version)"
        )
        wordless = await connection.fetchval(
            "SELECT count(*) FROM keeps.memories AS m WHERE NOT EXISTS (SELECT FROM keeps.memory_words AS t WHERE"
            " t.memory_id = m.memory_id)"
        )
        gaps = await connection.fetchval("SELECT max(sequence) - count(*) FROM keeps.events")
        await connection.close()
    lost = sum(ledger.lost for ledger in ledgers)
    # Writes of which nothing was committed yet are done again, so nobody need be told at all.
    assert lost < operations // 10, "it must be over soon"
    missing = [
        memory_id
        for memory_id, version in stored.items()
        if memory_id not in erased and versions.get(memory_id, 0) < version
    ]
    # A hard forgetting whose answer was lost may have happened: at most as many as answers were lost.
    assert len(missing) <= lost
    assert not [memory_id for memory_id in missing if memory_id in versions]
    acknowledged = set[UUID]().union(*(ledger.events for ledger in ledgers))
    assert acknowledged <= events
    assert (orphans, wordless, gaps) == (0, 0, 0)
    assert erased.isdisjoint(versions)
