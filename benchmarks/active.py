"""Contexts of many users over HTTP: some are active at a time, the others rest in the database.

    keeps bench active [--users 2000] [--active 200] [--clients 64]

Users have 500 memories each, twenty in a tenant. First the clients ask as fast as they are answered; then questions
arrive at 60 % of that rate, at random moments, as they do from people. Told are the times of those, from arrival, and
the memory of the server's process. Embedding is excluded: vectors come from a table.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
import psutil

from benchmarks import temporary_folder
from benchmarks.http import QUESTIONS, _Connection, _post, _service
from benchmarks.speed import VectorTable
from benchmarks.volume import USERS, _copy, _name, _write
from keeps import Keeps
from keeps.store.db.embedded import EmbeddedPostgres

LOAD, WARM_SECONDS, SECONDS = 0.6, 90.0, 60.0


def run(*, users: int, active: int, clients: int, as_json: bool, home: Path | None) -> int:
    import uvloop

    with temporary_folder("active") as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(_run(home or folder / "home", users, active, clients))
    if as_json:
        print(json.dumps(result))
        return 0
    print(
        f"{result['users']:,} users, {active} active, {clients} clients: {result['most']:.0f} contexts/s at most;"
        f" at {result['rate']:.0f}/s p50 {result['p50']:.1f} ms, p95 {result['p95']:.1f}, p99 {result['p99']:.1f};"
        f" memory of the server {result['megabytes']:.0f} MB"
    )
    return 0


async def _run(home: Path, users: int, active: int, clients: int) -> dict[str, Any]:
    tenants = max(1, users // USERS)
    async with await EmbeddedPostgres.open(home) as server:
        url = server.url("keeps_app", "keeps")
        owner = await asyncpg.connect(server.url("postgres", "keeps"))
        embedder = VectorTable()
        async with Keeps.open(database_url=url, embedder=embedder) as keeps:
            if not await owner.fetchval("SELECT count(*) FROM keeps.tenants"):
                await _write(keeps, embedder, large=0)
                await _copy(owner, tenants)
                await owner.execute("VACUUM (ANALYZE)")
        await owner.close()
        chosen = random.Random(1)
        asking_users = chosen.sample(
            [(_name(number // USERS), f"user-{number % USERS}") for number in range(users)], active
        )

        def question() -> bytes:
            tenant, user = chosen.choice(asking_users)
            body = {"query": chosen.choice(QUESTIONS), "budget_tokens": 2_000}
            return _post("/v1/context", body, user=user, tenant=tenant)

        async with _service("keeps", url) as port:
            connections = [await _Connection.open(port) for _ in range(clients)]
            await _as_fast_as_possible(connections, question, WARM_SECONDS)
            most = await _as_fast_as_possible(connections, question, SECONDS)
            times = await _arriving(connections, question, LOAD * most)
            megabytes = max(
                process.memory_info().rss / 1e6
                for process in psutil.Process().children(recursive=True)
                if "benchmarks.http" in " ".join(process.cmdline())
            )
            for connection in connections:
                connection.close()
    p50, p95, p99 = 1e3 * np.quantile(times, (0.5, 0.95, 0.99))
    return {
        "users": tenants * USERS,
        "most": most,
        "rate": LOAD * most,
        "p50": float(p50),
        "p95": float(p95),
        "p99": float(p99),
        "megabytes": megabytes,
    }


async def _as_fast_as_possible(connections: list[Any], question: Callable[[], bytes], seconds: float) -> float:
    """Return the answers per second if each connection asks again at once."""
    done, ends = 0, time.perf_counter() + seconds

    async def client(connection: Any) -> None:
        nonlocal done
        while time.perf_counter() < ends:
            await connection.ask(question())
            done += 1

    await asyncio.gather(*map(client, connections))
    return done / seconds


async def _arriving(connections: list[Any], question: Callable[[], bytes], rate: float) -> list[float]:
    """Return the seconds from the arrival of each question to its answer; a question waits for a free connection."""
    free: asyncio.Queue[Any] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(connection)
    times: list[float] = []
    pauses = random.Random(2)

    async def ask(arrived: float) -> None:
        connection = await free.get()
        await connection.ask(question())
        free.put_nowait(connection)
        times.append(time.perf_counter() - arrived)

    started = arrives = time.perf_counter()
    async with asyncio.TaskGroup() as asking:
        while arrives < started + SECONDS:
            arrives += pauses.expovariate(rate)
            await asyncio.sleep(arrives - time.perf_counter())
            asking.create_task(ask(arrives))
    return times
