"""Tenants on several PostgreSQLs: where they come to be, how they move while they are used, what one away costs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import asyncpg
import pytest
import structlog

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.jobs.worker import Worker
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.cells.moving import Progress, Step
from keeps.operate.cells.opening import CellOpener
from keeps.operate.cells.service import CellService
from keeps.operate.cells.store import QUERIES
from keeps.store.access import store
from keeps.store.access.keys import hash_of
from keeps.store.db import cells as cells_module
from keeps.store.db.cells import Cells
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.embedded.binaries import installed_binaries
from keeps.store.db.embedded.server import SETTINGS
from keeps.store.db.statements import Statement
from keeps.store.events.service import EventService
from keeps.store.tenants.counts import TenantCounts
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import (
    ConflictError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from tests.cli.test_cli import Cli, kept_running
from tests.conftest import SECRET_KEY, admin, thrown_away, until

MOVER = Path(__file__).with_name("mover.py")


@dataclass
class Two:
    """A Keeps on two cells. `databases`: their names on the server of the run."""

    keeps: Keeps
    cells: CellService
    server: EmbeddedPostgres
    databases: dict[str, str]

    def admin_url(self, cell: str) -> str:
        return self.server.url("postgres", self.databases[cell])

    async def rows_of(self, tenant_id: str) -> dict[str, int]:
        """Return the number of rows of a tenant in each cell, over all tables."""
        found = dict.fromkeys(self.databases, 0)
        for cell, name in self.databases.items():
            async with admin(self.server, name) as connection:
                for each in await connection.fetch("SELECT * FROM keeps_cells.tenant_tables() AS name"):
                    counted = await connection.fetchrow(
                        f'SELECT count(*) AS held FROM keeps."{each["name"]}" WHERE tenant_id = $1', tenant_id
                    )
                    found[cell] += 0 if counted is None else counted["held"]
        return found

    async def objects(self) -> list[str]:
        """Return the publications, subscriptions and replication slots of both cells."""
        found: list[str] = []
        for name in self.databases.values():
            async with admin(self.server, name) as connection:
                rows = await connection.fetch(
                    "SELECT 'publication ' || pubname AS what FROM pg_publication UNION ALL SELECT 'subscription ' ||"
                    " subname FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname ="
                    " current_database()) UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots WHERE"
                    " database = current_database()"
                )
                found += [row["what"] for row in rows]
        return found


async def opened(server: EmbeddedPostgres, database: str, shared: Any) -> Keeps:
    settings = load_settings(
        database_url=server.url("keeps_app", database), given={"KEEPS_SECRET_KEYS": SECRET_KEY, "KEEPS_POOL_SIZE": "4"}
    )
    return await open_keeps(settings, embedder=shared)


@asynccontextmanager
async def on_two(server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any) -> AsyncGenerator[Two]:
    databases = {"main": await fresh_database(), "second": await fresh_database()}
    async with await opened(server, databases["main"], shared) as keeps:
        settings = load_settings(
            database_url=server.url("keeps_app", databases["main"]), given={"KEEPS_SECRET_KEYS": SECRET_KEY}
        )
        admins = {name: server.url("postgres", database) for name, database in databases.items()}
        cells = CellService(keeps, settings, admins)
        await cells.add("second", url=server.url("keeps_app", databases["second"]))
        yield Two(keeps, cells, server, databases)


@pytest.fixture
async def two(server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any) -> AsyncIterator[Two]:
    async with on_two(server, fresh_database, shared) as made:
        yield made


@pytest.fixture(scope="module")
async def kept(server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any) -> AsyncIterator[Two]:
    """One for many tests, each with a tenant of its own."""
    async with on_two(server, fresh_database, shared) as made:
        yield made


async def test_new_tenants_go_where_the_weights_say_and_stay_there(two: Two) -> None:
    for number in range(40):
        await two.keeps.memory(Scope(f"tenant-{number}", "alice")).remember("The harbour is grey.")
    held = {each.name: each.tenants for each in await two.cells.list()}
    assert sum(each or 0 for each in held.values()) == 40
    assert min(each or 0 for each in held.values()) > 5
    listed = await two.keeps.service(TenantService).page("", 100)
    assert [each.tenant_id for each in listed] == sorted(f"tenant-{number}" for number in range(40))
    assert {each.cell for each in listed} == {"main", "second"}
    assert (await two.keeps.status()).counts.memories == 40
    await two.cells.set_weight("second", 0)
    for number in range(40, 50):
        await two.keeps.memory(Scope(f"tenant-{number}", "alice")).remember("The harbour is grey.")
    for number in range(50):
        found = await two.keeps.memory(Scope(f"tenant-{number}", "alice")).recall("harbour")
        assert [hit.memory.content for hit in found.hits] == ["The harbour is grey."]
    assert len(await two.cells.tenants("second")) == held["second"]


async def test_a_tenant_that_is_erased_and_comes_again_comes_to_the_same_cell(
    two: Two, server: EmbeddedPostgres, shared: Any
) -> None:
    await two.cells.set_weight("main", 0)
    memory = two.keeps.memory(Scope("acme", "alice"))
    await memory.remember("One.")
    async with await opened(server, two.databases["main"], shared) as other:
        elsewhere = other.memory(Scope("acme", "alice"))
        await elsewhere.remember("Two.")
        receipt = await two.keeps.service(TenantService).erase_tenant(Scope("acme", roles=frozenset({"operator"})))
        assert receipt.complete
        await two.cells.set_weight("second", 0)
        await elsewhere.remember("Three.")
    assert [each.content for each in (await memory.list()).items] == ["Three."]
    assert (await two.rows_of("acme"))["main"] == 0


def nobody(_: Progress) -> None: ...


@pytest.mark.parametrize("moves", [1, pytest.param(3, marks=pytest.mark.load)])
async def test_a_move_under_writers_loses_and_doubles_nothing(
    two: Two, server: EmbeddedPostgres, shared: Any, moves: int
) -> None:
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    for number in range(20):
        await alice.remember(f"Before {number}.")
    await alice.create_plan(goal_event="move", plan_id="plan")
    seen: list[int] = []
    stop = asyncio.Event()
    async with await opened(server, two.databases["main"], shared) as other:
        acknowledged: list[str] = []

        async def write(keeps: Keeps, name: str) -> None:
            number = 0
            while not stop.is_set():
                await keeps.memory(Scope("acme", name)).remember(f"{name} {number}")
                acknowledged.append(f"{name} {number}")
                number += 1

        async def read() -> None:
            while not stop.is_set():
                assert len((await alice.recall("before", limit=30)).hits) >= 20

        async def follow() -> None:
            async for event in other.memory(Scope("acme", "alice")).subscribe(after=0):
                seen.append(event.sequence)  # noqa: PERF401  as they come

        following = asyncio.create_task(follow())
        tasks = [asyncio.create_task(each) for each in (write(two.keeps, "bob"), write(other, "carol"), read())]
        for target in ("second", "main", "second")[:moves]:
            done = await two.cells.move("acme", target, nobody)
            assert done.left == {}
            assert done.rows["memories"] >= 20
        stop.set()
        await asyncio.gather(*tasks)
        last = await alice.remember("After.")
        while not seen or seen[-1] < (await two.keeps.service(EventService).last_sequence(alice.scope)):
            await asyncio.sleep(0.02)
        following.cancel()
        stored = [each["content"] for name in ("bob", "carol") for each in await _contents(two, "second", name)]
    assert (await TenantCounts(two.keeps.database, two.keeps.metrics).check(alice.scope, weigh=True)).wrong == []
    assert sorted(stored) == sorted(acknowledged)
    assert len(set(acknowledged)) == len(acknowledged) > 10
    assert seen == sorted(set(seen))
    assert str(last.memory_id)
    verified = await two.keeps.service(EventService).verify(alice.scope)
    assert verified.equal, verified.differences
    async with admin(server, two.databases["second"]) as connection:
        gaps = await connection.fetchval("SELECT count(*) - max(sequence) FROM keeps.events WHERE tenant_id = 'acme'")
    assert gaps == 0
    assert (await two.rows_of("acme"))["main"] == 0
    assert await two.objects() == []
    assert await two.cells.left_over() == []


async def _contents(two: Two, cell: str, user_id: str) -> list[Any]:
    async with admin(two.server, two.databases[cell]) as connection:
        return await connection.fetch(
            "SELECT content FROM keeps.memories WHERE tenant_id = 'acme' AND user_id = $1", user_id
        )


@pytest.mark.parametrize(
    ("source", "step"),
    [
        ("main", "decided"),
        ("second", "copied"),
        *(pytest.param("main", step, marks=pytest.mark.load) for step in get_args(Step) if step != "decided"),
        *(pytest.param("second", step, marks=pytest.mark.load) for step in ("cut off", "decided")),
    ],
)
async def test_a_move_that_is_killed_goes_back_or_on(kept: Two, tenant: str, source: str, step: str) -> None:
    two = kept
    target = "second" if source == "main" else "main"
    await two.cells.set_weight(source, 1)
    await two.cells.set_weight(target, 0)
    alice = two.keeps.memory(Scope(tenant, "alice"))
    for number in range(5):
        await alice.remember(f"Fact {number}.")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        MOVER,
        step,
        tenant,
        source,
        two.admin_url(source),
        target,
        two.admin_url(target),
        two.admin_url("main"),
        env={**os.environ, "PYTHONPATH": str(MOVER.parents[2])},
    )
    assert await process.wait() == -signal.SIGKILL
    if step == "decided":  # each says that it is in the other, until somebody goes on
        with pytest.raises(ConflictError, match="was interrupted"):
            await two.cells.move(tenant, target, nobody, dry_run=True)
    else:
        await alice.remember("Written in between.")
        assert len((await alice.list()).items) == 6
    done = await two.cells.move(tenant, target, nobody)
    assert done.left == {}
    await alice.remember("Written after.")
    held = await two.rows_of(tenant)
    assert held[source] == 0
    contents = [each.content for each in (await alice.list(limit=100)).items]
    expected = {*(f"Fact {number}." for number in range(5)), "Written after."}
    expected |= {"Written in between."} if step != "decided" else set()
    assert set(contents) == expected
    assert len(contents) == len(expected)
    assert (await two.keeps.service(EventService).verify(alice.scope)).equal
    assert (await TenantCounts(two.keeps.database, two.keeps.metrics).check(alice.scope, weigh=True)).wrong == []
    assert await two.objects() == []
    assert await two.cells.left_over() == []
    assert (await two.cells.move(tenant, target, nobody)).source == target


@pytest.mark.parametrize(("end", "step"), [("second", "copying"), pytest.param("main", "held", marks=pytest.mark.load)])
async def test_a_server_that_is_killed_during_a_move_loses_nothing(
    made_home: Callable[[str], Path], shared: Any, end: str, step: str
) -> None:
    homes = {"main": made_home("first"), "second": made_home("second")}
    settings = load_settings(home=homes["main"], given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    async with await open_keeps(settings, embedder=shared) as keeps:
        cells = CellService(keeps, settings, {})
        await cells.add("second", home=homes["second"], weight=0)
        alice = keeps.memory(Scope("acme", "alice"))
        for number in range(5):
            await alice.remember(f"Fact {number}.")

        def told(progress: Progress) -> None:
            if progress.step == step:
                pid = inspect_home(homes[end]).running_pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(UnavailableError):
            await cells.move("acme", "second", told)
        while True:
            try:
                await alice.remember("Written after.")
                break
            except UnavailableError:
                await asyncio.sleep(0.1)
        done: Progress | None = None
        while done is None:
            try:
                done = await cells.move("acme", "second", nobody)
            except UnavailableError:
                await cells.list()  # a server of our own that is gone is brought back by whoever asks it
        assert done.left == {}
        found = [each.content for each in (await alice.list()).items]
        assert set(found) == {*(f"Fact {number}." for number in range(5)), "Written after."}
        assert len(found) == 6
        assert (await keeps.service(EventService).verify(alice.scope)).equal
        assert {each.name: each.tenants for each in await cells.list()} == {"main": 0, "second": 1}
        assert await cells.left_over() == []


async def test_a_move_can_be_given_up(two: Two) -> None:
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("One.")

    class Ended(BaseException): ...

    def told(progress: Progress) -> None:
        if progress.step == "caught up":
            raise Ended

    with pytest.raises(Ended):
        await two.cells.move("acme", "second", told)
    assert [(each.cell, each.arriving) for each in await two.cells.left_over()] == [("second", True)]
    await two.cells.give_up("acme", "second")
    assert await two.objects() == []
    held = await two.rows_of("acme")
    assert (held["second"], await two.cells.left_over()) == (0, [])
    assert [each.content for each in (await alice.list()).items] == ["One."]


async def test_a_move_that_waits_for_another_s_transaction_can_be_given_up(two: Two) -> None:
    """A table's slot is made when all that began before has ended, and cannot be dropped meanwhile."""
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("One.")

    class Ended(BaseException): ...

    def told(progress: Progress) -> None:
        if progress.step == "copying":
            raise Ended

    with pytest.raises(Ended):
        await two.cells.move("acme", "second", told)
    main = two.databases["main"]
    async with admin(two.server, main) as looking, admin(two.server, main) as other, other.transaction():
        await other.fetchval("SELECT pg_current_xact_id()")
        waits = (
            "SELECT FROM pg_stat_activity WHERE starts_with(query, 'CREATE_REPLICATION_SLOT') AND wait_event ="
            " 'transactionid'"
        )
        async with asyncio.timeout(30):
            while not await looking.fetch(waits):
                await asyncio.sleep(0.02)
            await two.cells.give_up("acme", "second")
    assert await two.objects() == []
    assert [each.content for each in (await alice.list()).items] == ["One."]


async def test_a_slot_that_is_taken_right_when_it_is_dropped_is_dropped_later(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed move may still be connected: its slot was free when it was checked, and is not when it is dropped."""
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("One.")
    slot = "keeps_move_" + hashlib.sha256(b"acme").hexdigest()[:24]
    looks = 0

    class Late:
        """At its first look it sees a free slot."""

        def __getitem__(self, name: str) -> Statement:
            nonlocal looks
            looks += name == "slots_of"
            found = QUERIES[name]
            if name == "slots_of" and looks == 1:
                return replace(found, text=found.text.replace("active_pid", "NULL::integer AS active_pid"))
            return found

    async with admin(two.server, two.databases["main"]) as looking:
        await looking.fetch("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", slot)
        receiver = await asyncio.create_subprocess_exec(
            installed_binaries() / "bin" / "pg_recvlogical",
            *("--start", "--no-loop", "--file", os.devnull, "--slot", slot),
            *("--option", "proto_version=1", "--option", "publication_names=none"),
            *("--dbname", two.admin_url("main")),
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(30):
            while not await looking.fetch("SELECT FROM pg_replication_slots WHERE active_pid IS NOT NULL"):
                await asyncio.sleep(0.02)
        monkeypatch.setattr("keeps.operate.cells.copying.QUERIES", Late())
        await two.cells.give_up("acme", "second")
        assert await receiver.wait() == 1
    assert looks > 1
    assert await two.objects() == []


async def test_a_transaction_that_does_not_end_is_named(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("One.")
    monkeypatch.setattr("keeps.operate.cells.copying.WAIT_FOR_TRANSACTIONS", "300")
    async with admin(two.server, two.databases["main"]) as other, other.transaction():
        await other.fetchval("SELECT pg_current_xact_id()")
        pid = await other.fetchval("SELECT pg_backend_pid()")
        with pytest.raises(UnavailableError, match=f"process {pid} of postgres in {two.databases['main']} goes on"):
            await two.cells.move("acme", "second", nobody)
    assert await two.objects() == []
    assert (await two.cells.move("acme", "second", nobody)).left == {}
    assert [each.content for each in (await alice.list()).items] == ["One."]


async def test_a_move_that_cannot_be_done_says_why_and_changes_nothing(two: Two, server: EmbeddedPostgres) -> None:
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("One.")
    with pytest.raises(NotFoundError, match="no cell"):
        await two.cells.move("acme", "third", nobody)
    with pytest.raises(ValidationFailedError, match="no tenant"):
        await two.cells.move("nobody", "second", nobody)
    without = CellService(two.keeps, load_settings(given={"KEEPS_SECRET_KEYS": SECRET_KEY}), {})
    with pytest.raises(ValidationFailedError, match="--admin main="):
        await without.move("acme", "second", nobody)
    app = {name: server.url("keeps_app", database) for name, database in two.databases.items()}
    with pytest.raises((ValidationFailedError, UnavailableError)):
        await CellService(two.keeps, load_settings(given={"KEEPS_SECRET_KEYS": SECRET_KEY}), app).move(
            "acme", "second", nobody
        )
    async with admin(server, two.databases["second"]) as connection:
        await connection.execute("INSERT INTO keeps.tenants (tenant_id) VALUES ('acme')")
    with pytest.raises(ConflictError, match="no copy of a move"):
        await two.cells.move("acme", "second", nobody)
    again = await two.cells.move("acme", "main", nobody, dry_run=True)
    assert (again.source, again.rows) == ("main", {})
    assert [each.content for each in (await alice.list()).items] == ["One."]
    assert await two.objects() == []


async def test_a_cell_that_is_away_costs_its_own_tenants_only(two: Two, server: EmbeddedPostgres, shared: Any) -> None:
    await two.cells.set_weight("second", 0)
    here = two.keeps.memory(Scope("here", "alice"))
    await here.remember("Here.")
    key = (await here.admin.make_key("program")).secret
    await two.cells.set_weight("second", 1)
    await two.cells.set_weight("main", 0)
    there = two.keeps.memory(Scope("there", "alice"))
    await there.remember("There.")
    lost = (await there.admin.make_key("program")).secret

    async with admin(server) as connection:
        name = two.databases["second"]
        await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
    with pytest.raises(UnavailableError):
        await there.recall("there")
    assert [hit.memory.content for hit in (await here.recall("here")).hits] == ["Here."]
    await here.remember("More.")
    assert (await two.keeps.status()).counts.memories == 2
    assert [each.tenant_id for each in await two.keeps.service(TenantService).page("", 10)] == ["here"]
    assert await two.keeps.service(WebhookService).deliver_due() == 0
    assert (await two.keeps.service(WebhookService).behind())[0] == 0
    found = await store.find(two.keeps.database, hash_of(key))
    assert found is not None
    with pytest.raises(UnavailableError, match="a part of the database is unavailable"):
        await store.find(two.keeps.database, hash_of(lost))
    problems = {each.name: each.problem for each in await two.cells.list()}
    assert problems["main"] is None
    assert problems["second"] is not None
    async with await opened(server, two.databases["main"], shared) as begun_meanwhile:
        assert len((await begun_meanwhile.memory(here.scope).recall("here")).hits) == 2
    async with admin(server) as connection:
        await connection.execute(f"ALTER DATABASE {two.databases['second']} ALLOW_CONNECTIONS true")
    assert [hit.memory.content for hit in (await there.recall("there")).hits] == ["There."]


async def test_a_tenant_that_left_a_cell_which_then_died_is_found(
    two: Two, server: EmbeddedPostgres, shared: Any
) -> None:
    await two.cells.set_weight("main", 0)
    memory = two.keeps.memory(Scope("acme", "alice"))
    await memory.remember("It moved.")
    async with await opened(server, two.databases["main"], shared) as other:
        there = other.memory(memory.scope)
        assert len((await there.list()).items) == 1
        await two.cells.move("acme", "main", nobody)
        async with admin(server) as connection:
            name = two.databases["second"]
            await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        assert len((await there.list()).items) == 1
        await there.remember("And goes on.")


async def test_a_second_mover_cannot_take_back_what_the_first_decides(two: Two) -> None:
    """The first has lost its lock, as when a firewall drops a connection that nothing is said on."""
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    for number in range(5):
        await alice.remember(f"Fact {number}.")
    loop = asyncio.get_running_loop()
    rivals: list[asyncio.Task[None]] = []

    def told(progress: Progress) -> None:
        if progress.step == "caught up":
            rivals.append(loop.create_task(rival()))

    async def rival() -> None:
        async with admin(two.server, two.databases["main"]) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()"
            )
        with suppress(KeepsError):
            await two.cells.give_up("acme", "second")

    with suppress(KeepsError):
        await two.cells.move("acme", "second", told)
    await asyncio.gather(*rivals)
    with suppress(KeepsError):
        await two.cells.move("acme", "second", nobody)
    assert len((await alice.list()).items) == 5
    await two.cells.move("acme", "second", nobody)
    assert len((await alice.list()).items) == 5
    assert (await two.keeps.service(EventService).verify(alice.scope)).equal
    assert await two.objects() == []


async def test_nothing_is_erased_that_the_other_cell_has_not(two: Two) -> None:
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("The only copy.")

    class Ended(BaseException): ...

    def told(progress: Progress) -> None:
        if progress.step == "cleaned":
            raise Ended

    with pytest.raises(Ended):
        await two.cells.move("acme", "second", told)
    for erase in (
        two.keeps.service(TenantService).erase_user(alice.scope, "alice"),
        two.keeps.service(TenantService).erase_tenant(Scope("acme", roles=frozenset({"operator"}))),
    ):
        with pytest.raises(ConflictError, match="rows are left in the cell main"):
            await erase
    for restored in ("UPDATE keeps.tenants SET last_sequence = last_sequence - 1", "DELETE FROM keeps.tenants"):
        async with admin(two.server, two.databases["second"]) as connection:  # as if restored to a time before
            await connection.execute(f"SET session_replication_role = replica; {restored}")
        with pytest.raises(ConflictError, match="nothing was erased"):
            await two.cells.move("acme", "second", nobody)
        assert (await two.rows_of("acme"))["main"] > 0


async def test_what_a_restored_cell_brings_back_is_named_and_erased_and_opens_no_door(
    two: Two, server: EmbeddedPostgres, shared: Any
) -> None:
    await two.cells.set_weight("main", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("Before.")
    key = await alice.admin.make_key("program")
    await two.keeps.close()
    second = two.databases["second"]
    settings = load_settings(
        database_url=server.url("keeps_app", two.databases["main"]), given={"KEEPS_SECRET_KEYS": SECRET_KEY}
    )
    admins = {name: server.url("postgres", database) for name, database in two.databases.items()}
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {second}_then TEMPLATE {second}")
        async with await opened(server, two.databases["main"], shared) as keeps:
            await CellService(keeps, settings, admins).move("acme", "main", nobody)
            await keeps.memory(alice.scope).admin.revoke_key(key.key_id)
        await connection.execute(f"DROP DATABASE {second} WITH (FORCE)")
        await connection.execute(f"ALTER DATABASE {second}_then RENAME TO {second}")  # as a restore does
    async with await opened(server, two.databases["main"], shared) as keeps:
        cells = CellService(keeps, settings, admins)
        await cells.move("acme", "main", nobody, dry_run=True)
        assert [(each.cell, each.is_in) for each in await cells.left_over()] == [("second", "main")]
        found = await store.find(keeps.database, hash_of(key.secret))
        assert found is not None
        assert found["revoked_at"] is not None
        await cells.move("acme", "main", nobody)
        assert await cells.left_over() == []
        assert len((await keeps.memory(alice.scope).list()).items) == 1


async def test_a_tenant_that_came_back_and_was_erased_can_come_again(two: Two) -> None:
    await two.cells.set_weight("second", 0)
    memory = two.keeps.memory(Scope("acme", "alice"))
    await memory.remember("One.")
    for cell in ("second", "main"):
        await two.cells.move("acme", cell, nobody)
    await two.keeps.service(TenantService).erase_tenant(Scope("acme", roles=frozenset({"operator"})))
    await two.cells.set_weight("second", 1)
    await two.cells.set_weight("main", 0)
    await two.keeps.memory(Scope("acme", "bob")).remember("Two.")
    assert [each.tenant_id for each in await two.keeps.service(TenantService).page("", 10)] == ["acme"]
    assert await two.cells.left_over() == []


async def test_a_cell_is_not_taken_out_while_somebody_may_come_or_go_by_it(
    two: Two, server: EmbeddedPostgres, fresh_database: Callable[..., Any]
) -> None:
    with pytest.raises(ConflictError, match="gets new ones"):
        await two.cells.remove("second")
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope("acme", "alice"))
    await alice.remember("It goes on.")
    third = await fresh_database()
    await two.cells.add("third", url=server.url("keeps_app", third), weight=0)
    two.databases["third"] = third
    admins = {name: server.url("postgres", database) for name, database in two.databases.items()}
    two.cells = CellService(two.keeps, load_settings(given={"KEEPS_SECRET_KEYS": SECRET_KEY}), admins)
    await two.cells.move("acme", "second", nobody)

    class Ended(BaseException): ...

    def told(progress: Progress) -> None:
        if progress.step == "opened":
            raise Ended

    with pytest.raises(Ended):
        await two.cells.move("acme", "third", told)
    with pytest.raises(ConflictError, match="is incomplete"):
        await two.cells.remove("second")
    await two.cells.move("acme", "third", nobody)
    await two.cells.remove("second")
    assert [each.content for each in (await alice.list()).items] == ["It goes on."]
    with pytest.raises(ConflictError, match="was a cell"):
        await two.cells.add("again", url=server.url("keeps_app", two.databases["second"]))


async def test_adding_a_cell_changes_no_password_of_a_server_in_use(two: Two) -> None:
    with pytest.raises(ConflictError, match="keeps_app already exists on this server"):
        await two.cells.add("third", admin_url=two.admin_url("second"))
    await two.keeps.memory(Scope("acme", "alice")).remember("Still served.")


async def test_what_serves_cannot_read_or_write_the_directory(two: Two, server: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(server.url("keeps_app", two.databases["main"]))
    for statement in (
        "SELECT * FROM keeps_cells.placements",
        "SELECT * FROM keeps_cells.cells",
        "INSERT INTO keeps_cells.placements VALUES (sha256('x'), 'second')",
        "UPDATE keeps_cells.cells SET weight = 0",
        "DELETE FROM keeps_cells.placements",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    (row,) = await connection.fetch("SELECT name, address FROM keeps.list_cells() WHERE name = 'second'")
    assert two.databases["second"].encode() not in row["address"]
    await connection.close()


async def test_a_keeps_of_its_own_becomes_a_cell_with_its_tenants(
    two: Two, server: EmbeddedPostgres, shared: Any, fresh_database: Callable[..., Any]
) -> None:
    name = await fresh_database()
    async with await opened(server, name, shared) as alone:
        await alone.memory(Scope("from-before", "alice")).remember("It was alone.")
    await two.cells.add("third", url=server.url("keeps_app", name))
    two.databases["third"] = name
    moved = two.keeps.memory(Scope("from-before", "alice"))
    assert [each.content for each in (await moved.list()).items] == ["It was alone."]
    with pytest.raises(ConflictError, match="has tenants"):
        await two.cells.remove("third")
    with pytest.raises(ConflictError, match="is already the cell third"):
        await two.cells.add("fourth", url=server.url("keeps_app", name))
    twice = await fresh_database()
    async with await opened(server, twice, shared) as alone:
        await alone.memory(Scope("from-before", "alice")).remember("Another of this name.")
    with pytest.raises(ConflictError, match="from-before"):
        await two.cells.add("fourth", url=server.url("keeps_app", twice))


async def test_without_a_key_to_seal_no_cell_is_added(
    two: Two, server: EmbeddedPostgres, fresh_database: Callable[..., Any]
) -> None:
    bare = CellService(two.keeps, load_settings(), {"main": two.admin_url("main")})
    with pytest.raises(NotConfiguredError):
        await bare.add("third", url=server.url("keeps_app", await fresh_database()))


async def test_a_drained_cell_is_taken_out(two: Two) -> None:
    await two.cells.set_weight("main", 0)
    tenants = [f"tenant-{uuid4().hex[:8]}" for _ in range(3)]
    for each in tenants:
        await two.keeps.memory(Scope(each, "alice")).remember("Here to leave.")
    await two.cells.set_weight("second", 0)
    await two.cells.set_weight("main", 1)
    for each in await two.cells.tenants("second"):
        assert await two.cells.choose("second") == "main"
        await two.cells.move(each, "main", nobody)
    await two.cells.remove("second")
    assert [each.name for each in await two.cells.list()] == ["main"]
    for each in tenants:
        assert len((await two.keeps.memory(Scope(each, "alice")).list()).items) == 1


async def test_jobs_run_in_every_cell(two: Two, server: EmbeddedPostgres) -> None:
    await two.cells.set_weight("second", 0)
    await two.keeps.memory(Scope("here", "alice")).remember("Here.")
    await two.cells.set_weight("second", 1)
    await two.cells.set_weight("main", 0)
    await two.keeps.memory(Scope("there", "alice")).remember("There.")
    for name in two.databases.values():
        async with admin(server, name) as connection:
            await connection.execute("UPDATE keeps.tenant_jobs SET due_at = '-infinity' WHERE job = 'decay'")
    two.keeps.service(Worker).start()
    await until(lambda: two.keeps.service(Worker).done >= 2, "a job of each tenant is done")
    await two.keeps.service(Worker).close()
    for name in two.databases.values():
        async with admin(server, name) as connection:
            assert await connection.fetchval("SELECT min(due_at) > now() FROM keeps.tenant_jobs WHERE job = 'decay'")


def test_the_commands_make_a_cell_move_a_tenant_and_take_the_cell_out(made_home: Callable[[str], Path]) -> None:
    cli, second = Cli(made_home("first")), made_home("second")
    cli.environment |= {"KEEPS_EMBEDDER": "none", "KEEPS_SECRET_KEYS": SECRET_KEY}
    with kept_running(cli.home), kept_running(second):
        _move_by_commands(cli, second)


def _move_by_commands(cli: Cli, second: Path) -> None:
    cli("remember", "Alice lives in Leeds.", "--tenant", "acme")
    assert "All tenants are here" in cli("cells", "list").stdout
    assert "0 tenants, weight 0" in cli("cells", "add", "eu", "--folder", str(second), "--weight", "0").stdout
    assert cli("cells", "add", "Bad Name", "--folder", str(second), code=2).stderr
    assert "can move from main to eu" in cli("tenants", "move", "acme", "--to", "eu", "--dry-run").stdout
    moved = cli.json("tenants", "move", "acme", "--to", "eu")
    assert (moved["step"], moved["left"]) == ("erased", {})
    assert "acme is already in eu" in cli("tenants", "move", "acme", "--to", "eu").stdout
    assert "Leeds" in cli("recall", "Leeds", "--tenant", "acme").stdout
    assert [each["cell"] for each in cli.json("tenants", "list")] == ["eu"]
    assert {each["name"]: each["tenants"] for each in cli.json("cells", "list")} == {"main": 0, "eu": 1}
    assert "main: 0 tenants, eu: 1 tenants" in cli("doctor").stdout
    assert "is empty" in cli("cells", "drain", "eu", "--move").stdout
    cli("cells", "delete", "eu")
    assert [each["name"] for each in cli.json("cells", "list")] == ["main"]
    assert "Leeds" in cli("recall", "Leeds", "--tenant", "acme").stdout


def test_lost_key_is_replaced_by_adding_a_cell_again(made_home: Callable[[str], Path]) -> None:
    cli, second, third = Cli(made_home("first")), made_home("second"), made_home("third")
    cli.environment |= {"KEEPS_SECRET_KEYS": SECRET_KEY}
    with kept_running(cli.home), kept_running(second), kept_running(third):
        cli("remember", "Alice lives in Leeds.", "--tenant", "acme")
        cli("cells", "add", "eu", "--folder", str(second), "--weight", "0")
        cli("cells", "add", "us", "--folder", str(third), "--weight", "0")
        cli("tenants", "move", "acme", "--to", "eu")
        cli.environment |= {"KEEPS_SECRET_KEYS": "another key of at least 32 characters"}
        assert "keeps cells add NAME" in " ".join(cli("cells", "list", code=1).stdout.split())
        assert "Its tenants could not be counted" in cli("cells", "drain", "eu").stdout
        assert "has 1 tenants in the cell eu" in cli("cells", "delete", "eu", code=1).stderr
        cli("cells", "drain", "eu", "--move", code=1)
        cli("cells", "delete", "us")
        assert "1 tenants, weight 1" in cli("cells", "add", "eu", "--folder", str(second)).stdout
        assert "Leeds" in cli("recall", "Leeds", "--tenant", "acme").stdout
        cli("cells", "drain", "eu", "--move")
        cli("cells", "delete", "eu")
        assert [each["name"] for each in cli.json("cells", "list")] == ["main"]


async def test_reason_of_a_closed_cell_is_logged_once(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    without = CellOpener(load_settings(given={"KEEPS_SECRET_KEYS": "another key of at least 32 characters"}), {})
    closed = Cells(two.keeps.database.main, without)
    capture = structlog.testing.LogCapture()
    logger = structlog.make_filtering_bound_logger(0)
    monkeypatch.setattr(
        cells_module, "log", lambda: structlog.wrap_logger(None, processors=[capture], wrapper_class=logger)
    )
    for _ in range(3):
        assert [each.name for each in await closed.all()] == ["main"]
    (line,) = capture.entries
    assert (line["event"], line["cell"]) == ("a cell cannot be opened", "second")
    assert "is not in KEEPS_SECRET_KEYS" in line["reason"]


async def test_a_move_that_was_killed_does_not_keep_the_log_for_ever(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A move that lost what it needs reports that there is nothing to wait for."""
    assert SETTINGS["max_slot_wal_keep_size"] == "16GB"
    monkeypatch.setitem(SETTINGS, "max_slot_wal_keep_size", "1MB")
    async with thrown_away(made_home("slots")) as server, admin(server, "keeps") as connection:
        await connection.execute("SELECT pg_create_logical_replication_slot('left', 'pgoutput')")
        assert await connection.fetchval(QUERIES["behind"].text, "left", None) is not None
        for _ in range(4):
            await connection.execute("SELECT pg_logical_emit_message(true, 'x', 'x'), pg_switch_wal()")
        await connection.execute("CHECKPOINT")
        assert await connection.fetchval("SELECT wal_status FROM pg_replication_slots") == "lost"
        assert await connection.fetchrow(QUERIES["behind"].text, "left", None) is None


async def test_arrays_of_a_moved_tenant_are_read_anew(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are held for a cell: what is written after the move is found, what was forgotten there is not."""
    monkeypatch.setattr("keeps.memory.recall.indexes.REST", 0)
    memory = two.keeps.memory(Scope("acme", "alice"))
    kept = await memory.remember("The harbour keeps a boat.")
    indexes = two.keeps.service(AudienceIndexes)
    for target in ("second", "main"):
        for _ in range(2):
            assert (await memory.recall("What does the harbour keep?")).hits
            await indexes.settle()
        await two.cells.move("acme", target, nobody)
        added = await memory.remember(f"The harbour keeps a ship of {target}.")
        await memory.forget(added.memory_id if target == "main" else kept.memory_id)
        for _ in range(3):
            found = {hit.memory.content for hit in (await memory.recall("What does the harbour keep?")).hits}
            assert found == {"The harbour keeps a ship of second."}
            await indexes.settle()
        with indexes.reading(memory.scope) as both:
            assert both is not None
        assert {key[0] for key in indexes._held} >= {target}  # noqa: SLF001
