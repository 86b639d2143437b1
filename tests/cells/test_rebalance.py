"""Cells are balanced while their tenants are used: nothing is lost or doubled, whenever it is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.cells import rebalancing
from keeps.operate.cells.rebalancing import RebalanceProgress, Rebalancer, Unfinished
from keeps.operate.cells.service import CellService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError
from tests.cells.test_cells import Two, opened
from tests.cli.test_cli import Cli, kept_running
from tests.conftest import SECRET_KEY, admin, until

REBALANCER = Path(__file__).with_name("rebalancer.py")
NAMES = ("main", "second", "third")


@asynccontextmanager
async def on_three(server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any) -> AsyncGenerator[Two]:
    databases = {name: await fresh_database() for name in NAMES}
    async with await opened(server, databases["main"], shared) as keeps:
        settings = load_settings(
            database_url=server.url("keeps_app", databases["main"]), given={"KEEPS_SECRET_KEYS": SECRET_KEY}
        )
        admins = {name: server.url("postgres", database) for name, database in databases.items()}
        cells = CellService(keeps, settings, admins)
        for name in NAMES[1:]:
            await cells.add(name, url=server.url("keeps_app", databases[name]), weight=0)
        yield Two(keeps, cells, server, databases)


@pytest.fixture(scope="module")
async def kept(server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any) -> AsyncIterator[Two]:
    async with on_three(server, fresh_database, shared) as made:
        yield made


@pytest.fixture
async def three(kept: Two) -> AsyncIterator[Two]:
    """Three cells without tenants, which take none but `main`."""
    yield kept
    for name, database in kept.databases.items():
        await kept.cells.set_weight(name, int(name == "main"))
        async with admin(kept.server, database) as connection:
            await connection.execute(
                "SET session_replication_role = replica; TRUNCATE keeps.tenants CASCADE;"
                " TRUNCATE keeps_cells.placements"
            )


@pytest.fixture
def names(tenant: str) -> list[str]:
    """Names of tenants that no other test uses, in the order of their sizes in a test."""
    return [f"{tenant}-{number:02}" for number in range(30)]


async def populate(three: Two, names: list[str], sizes: list[int]) -> dict[str, set[str]]:
    """Make a tenant of each size in the main cell, then let all cells take tenants. Return their memories."""
    made: dict[str, set[str]] = {}
    for name, size in zip(names, sizes, strict=False):
        contents = [f"Fact {each} of {name}." for each in range(size)]
        await three.keeps.memory(Scope(name, "alice")).remember_many([{"content": each} for each in contents])
        made[name] = set(contents)
    for name in NAMES:
        await three.cells.set_weight(name, 1)
    return made


def rebalancer(three: Two, told: Callable[[RebalanceProgress], None] = lambda _: None, **options: Any) -> Rebalancer:
    options.setdefault("most_active", 1_000)
    return Rebalancer(three.cells, utc_now, told, **options)


async def places(three: Two) -> dict[str, list[str]]:
    """Return the cells in which each tenant has rows."""
    cells: dict[str, list[str]] = {}
    for name, database in three.databases.items():
        async with admin(three.server, database) as connection:
            for row in await connection.fetch("SELECT tenant_id FROM keeps.tenants"):
                cells.setdefault(row["tenant_id"], []).append(name)
    return cells


async def check_whole(three: Two, made: dict[str, set[str]]) -> None:
    """Check that every tenant is in one cell with all its memories, and that no move left anything."""
    found = await places(three)
    assert {tenant: len(cells) for tenant, cells in found.items()} == dict.fromkeys(made, 1)
    for tenant, contents in made.items():
        async with admin(three.server, three.databases[found[tenant][0]]) as connection:
            rows = await connection.fetch("SELECT content FROM keeps.memories WHERE tenant_id = $1", tenant)
        assert sorted(row["content"] for row in rows) == sorted(contents)
        assert (await three.keeps.service(EventService).verify(Scope(tenant, "alice"))).equal
    assert await three.objects() == []
    assert await three.cells.left_over() == []


async def test_a_dry_run_shows_the_plan_and_changes_nothing(three: Two, names: list[str]) -> None:
    made = await populate(three, names, [6, 5, 4, 3, 2, 1])
    before = await places(three)
    done = await rebalancer(three).look()
    assert done.plan.moves
    assert done.plan.balanced
    assert done.after is None
    assert await places(three) == before
    await check_whole(three, made)
    limited = await rebalancer(three, at_most=1).look()
    assert limited.plan.moves == done.plan.moves[:1]
    assert "--at-most" in limited.plan.reason


@pytest.mark.parametrize(
    ("sizes", "writers"),
    [([5, 5, 4], 2), pytest.param([60, 40, 40, 30, 20, 10, 5], 6, marks=pytest.mark.load)],
)
async def test_a_rebalance_under_load_loses_and_doubles_nothing(
    three: Two, names: list[str], server: EmbeddedPostgres, shared: Any, sizes: list[int], writers: int
) -> None:
    made = await populate(three, names, sizes)
    stop = asyncio.Event()
    steps: list[str] = []
    async with await opened(server, three.databases["main"], shared) as other:

        async def write(number: int) -> None:
            keeps = (three.keeps, other)[number % 2]
            count = 0
            while not stop.is_set():
                tenant = names[(number + count) % len(sizes)]
                content = f"Writer {number} wrote {count}."
                await keeps.memory(Scope(tenant, "alice")).remember(content)
                assert content not in made[tenant]
                made[tenant].add(content)
                count += 1

        async def read() -> None:
            while not stop.is_set():
                for tenant in list(made):
                    assert (await other.memory(Scope(tenant, "alice")).recall("fact")).hits

        tasks = [asyncio.create_task(write(number)) for number in range(writers)] + [asyncio.create_task(read())]
        done = await rebalancer(three, lambda progress: steps.append(progress.state)).run()
        stop.set()
        await asyncio.gather(*tasks)
    assert done.moved == list(done.plan.moves)
    assert len(done.moved) >= 2
    assert set(steps) == {"moving"}
    await check_whole(three, made)


async def _killed(three: Two, step: str, number: int) -> None:
    """Run a rebalance that is killed at a step of its move `number`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        REBALANCER,
        step,
        str(number),
        three.server.url("keeps_app", three.databases["main"]),
        SECRET_KEY,
        json.dumps({name: three.admin_url(name) for name in NAMES}),
        env={**os.environ, "PYTHONPATH": str(REBALANCER.parents[2])},
    )
    assert await process.wait() == -signal.SIGKILL


KILLED_AT = ("checked", "copying", "held", "decided", "erased")
"""Steps of a move at which a rebalance is killed. The tests of a move go through all of them."""


@pytest.mark.load
@pytest.mark.parametrize(("step", "number"), [*((step, 1) for step in KILLED_AT), ("copying", 2), ("decided", 2)])
async def test_a_killed_rebalance_is_resumed(three: Two, names: list[str], step: str, number: int) -> None:
    made = await populate(three, names, [4, 4, 2, 2])
    await _killed(three, step, number)
    unfinished = (await rebalancer(three).look()).unfinished
    # At its first and its last step, a move has left nothing that has to be finished.
    assert len(unfinished) == (0 if step in ("checked", "erased") else 1)
    done = await rebalancer(three).run()
    assert done.unfinished == unfinished
    for each in unfinished:
        assert (await places(three))[each.tenant_id] == [each.target]
    assert done.after is not None
    assert done.after.balanced
    assert (await rebalancer(three).look()).unfinished == []
    await check_whole(three, made)


async def test_a_move_that_was_killed_before_its_first_row_is_finished(three: Two, names: list[str]) -> None:
    made = await populate(three, names, [3, 2])
    await three.cells.set_weight("third", 0)
    await _killed(three, "marked", 1)
    assert await three.cells.left_over() == [], "no row has arrived"
    (move,) = (await rebalancer(three).look()).unfinished
    assert move == Unfinished(names[1], "second"), "the largest that fits"
    assert (await rebalancer(three).run()).unfinished == [move]
    assert (await places(three))[names[1]] == ["second"]
    await check_whole(three, made)


async def test_moves_wait_while_a_server_is_busy(three: Two, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = await populate(three, names, [3, 2, 1])
    monkeypatch.setattr(rebalancing, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(rebalancing, "SAMPLE_SECONDS", 0.01)
    reports: list[RebalanceProgress] = []
    async with admin(three.server, three.databases["second"]) as busy:
        at_work = asyncio.create_task(busy.execute("SELECT pg_sleep(600)"))
        running = asyncio.create_task(rebalancer(three, reports.append, most_active=1).run())
        await until(lambda: len(reports) >= 3, "it says that it waits")
        assert {progress.state for progress in reports} == {"waiting"}
        assert reports[0].detail == "main: 1 statements at work"
        assert not running.done()
        at_work.cancel()
        await asyncio.gather(at_work, return_exceptions=True)
    await until(running.done, "the moves are done")
    assert (await running).moved
    await check_whole(three, made)


async def test_tenants_that_are_gone_are_left_out(three: Two, names: list[str]) -> None:
    made = await populate(three, names, [4, 3, 3])
    first, second = (await rebalancer(three).look()).plan.moves
    started = asyncio.Event()

    def told(progress: RebalanceProgress) -> None:
        started.set()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(rebalancer(three, told).run())
        await started.wait()
        erased = Scope(second.tenant_id, roles=frozenset({"operator"}))
        assert (await three.keeps.service(TenantService).erase_tenant(erased)).complete
    done = running.result()
    assert (done.moved, done.skipped) == ([first], [second])
    del made[second.tenant_id]
    await check_whole(three, made)


async def test_size_and_load_come_from_counters(three: Two, names: list[str]) -> None:
    await populate(three, names, [5, 1])
    async with admin(three.server, three.databases["main"]) as connection:
        # The first tenant was busy long ago. The second had two requests in the last seven days.
        await connection.execute(
            "INSERT INTO keeps.storage_samples (tenant_id, day, memories, bytes, events) SELECT tenant_id, now() -"
            " interval '8 days', 0, 0, last_sequence FROM keeps.tenants WHERE tenant_id = $1",
            names[0],
        )
        for number in range(3):
            await connection.execute(
                "INSERT INTO keeps.requests (tenant_id, request_id, user_id, kind, door, query, arguments, asked_at,"
                " took_ms, hits, left_out, found_nothing, answer, omitted) VALUES ($1, (lpad(to_hex((extract("
                "epoch FROM now() - $2::interval) * 1000)::bigint), 12, '0') || '70008000' || lpad($3::text, 12,"
                " '0'))::uuid, 'alice', 'recall', 'library', '', '{}', now(), 1, 0, 0, false, '[]', '[]')",
                names[1],
                timedelta(days=4 * number),
                str(number),
            )
    by_load = (await rebalancer(three, by="load").look()).plan
    assert by_load.cells[0].amount == 0 + 1 + 2, "one write and two requests of the second tenant"
    by_size = (await rebalancer(three, by="size").look()).plan
    texts = sum(len(f"Fact {number} of {names[0]}.") for number in (0, 1, 2, 3, 4, 0))
    expected = 6 * (rebalancing.MEMORY_BYTES + rebalancing.EVENT_BYTES) + texts
    assert expected <= by_size.cells[0].amount < 1.1 * expected


async def test_one_rebalance_at_a_time(three: Two, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    await populate(three, names, [1])
    monkeypatch.setattr(rebalancing, "ENDING_SECONDS", 0.1)
    async with admin(three.server, three.databases["main"]) as other:
        await other.execute("SELECT pg_advisory_lock(hashtextextended('keeps.rebalance', 0))")
        with pytest.raises(ConflictError, match="already being balanced"):
            await rebalancer(three).run()


async def test_a_single_cell_has_nothing_to_balance(three: Two) -> None:
    with pytest.raises(ConflictError, match="fewer than two cells"):
        await rebalancer(three).look()


async def test_the_command_shows_the_plan_and_moves(made_home: Callable[[str], Path], shared: Any) -> None:
    cli, second = Cli(made_home("first")), made_home("second")
    cli.environment |= {"KEEPS_SECRET_KEYS": SECRET_KEY}
    with kept_running(cli.home), kept_running(second):
        settings = load_settings(home=cli.home, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
        async with await open_keeps(settings, embedder=shared) as keeps:
            cells = CellService(keeps, settings, {})
            await cells.add("second", home=second, weight=0)
            for number in range(4):
                await keeps.memory(Scope(f"tenant-{number}", "alice")).remember("Tea at five.")
            await cells.set_weight("second", 1)
        shown = await asyncio.to_thread(cli, "cells", "rebalance", "--dry-run")
        assert "2 moves would bring the cells within 10 %" in shown.stdout
        done = await asyncio.to_thread(cli.json, "cells", "rebalance", "--at-most", "5", "--pause-at", "1000")
        assert done["balanced"]
        assert len(done["moved"]) == 2
        assert {cell["name"]: cell["tenants"] for cell in done["now"]} == {"main": 2, "second": 2}
