"""Keeps behind a sharding router, with tenants on two PostgreSQLs."""

from __future__ import annotations

import asyncio
import bisect
import itertools
import re
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings, load_settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.checks import run_checks
from keeps.engine import Keeps
from keeps.memory.jobs.worker import Worker
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.db.shards import sharding_key
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.cells.test_cells import Two, on_two
from tests.cli.test_cli import Cli
from tests.conftest import SECRET_KEY, admin, backend, until
from tests.jobs.test_worker import SCHEDULED, scheduled
from tests.lifecycle.conftest import MovingClock
from tests.routers.router import Router, routing
from tests.serving import serving

OPERATOR = frozenset({"operator"})


def lead(key: str) -> str:
    return "ab"[int(key, 16) % 2]


def tenant_of(shard: str) -> str:
    """Return the id of a new tenant that the router leads to a shard."""
    return next(
        each for each in (f"tenant-{uuid4().hex[:12]}" for _ in itertools.count()) if lead(sharding_key(each)) == shard
    )


@pytest.fixture(scope="module")
async def databases(
    server: EmbeddedPostgres, fresh_database: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Two shards; `b` was empty, and `keeps migrate` has prepared it."""
    names = {"a": await fresh_database(), "b": f"keeps_{uuid4().hex[:8]}"}
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {names['b']}")
    admins = " ".join(f"{name}={server.url('postgres', database)}" for name, database in names.items())
    cli = Cli(
        tmp_path_factory.mktemp("home"), **given(server, names, "pgdog"), KEEPS_DATABASE_URL="postgresql://router/keeps"
    )
    assert (
        "KEEPS_CELL_ADMINS names no administrator of the shard b"
        in (await asyncio.to_thread(cli, "migrate", code=2, KEEPS_CELL_ADMINS=admins.split()[0])).stderr
    )
    one = admins.split()[1].partition("=")[2]
    refused = await asyncio.to_thread(cli, "migrate", "--admin-url", one, code=2, KEEPS_CELL_ADMINS=admins)
    assert "the administrators of all shards are needed" in refused.stderr
    done = await asyncio.to_thread(cli, "migrate", KEEPS_CELL_ADMINS=admins)
    assert done.stderr.count("schema is at revision") == 2
    return names


def given(server: EmbeddedPostgres, databases: dict[str, str], engine: str) -> dict[str, str]:
    addresses = (f"{name}={server.url('keeps_app', database)}" for name, database in databases.items())
    return {"KEEPS_ROUTER": engine, "KEEPS_ROUTER_SHARDS": " ".join(addresses), "KEEPS_SECRET_KEYS": SECRET_KEY}


def router_to(server: EmbeddedPostgres, databases: dict[str, str], engine: str = "pgdog") -> Router:
    return Router(engine, {name: backend(server, database) for name, database in databases.items()}, lead)


@pytest.fixture(scope="module", params=["pgdog", "spqr"])
async def router(
    request: pytest.FixtureRequest, server: EmbeddedPostgres, databases: dict[str, str]
) -> AsyncIterator[Router]:
    async with routing(router_to(server, databases, request.param)) as running:
        yield running


@pytest.fixture(scope="module")
def settings(router: Router, server: EmbeddedPostgres, databases: dict[str, str]) -> Settings:
    return load_settings(database_url=router.url, given=given(server, databases, router.engine))


@pytest.fixture(scope="module")
async def routed(settings: Settings, shared: Any) -> AsyncIterator[Keeps]:
    async with await open_keeps(settings, embedder=shared) as keeps:
        yield keeps


async def rows_of(server: EmbeddedPostgres, database: str, tenant_id: str) -> int:
    """Return the number of rows of a tenant in a database, over all tables."""
    rows = 0
    async with admin(server, database) as connection:
        for each in await connection.fetch("SELECT * FROM keeps_cells.tenant_tables() AS name"):
            query = f'SELECT tenant_id FROM keeps."{each["name"]}" WHERE tenant_id = $1'
            rows += len(await connection.fetch(query, tenant_id))
    return rows


async def test_types_have_other_numbers_on_each_shard(server: EmbeddedPostgres, databases: dict[str, str]) -> None:
    numbers: set[object] = set()
    for database in databases.values():
        async with admin(server, database) as connection:
            numbers.add(await connection.fetchval("SELECT 'halfvec'::regtype::oid"))
    assert len(numbers) == 2  # Else the other tests would not find a connection that mixes them up.


@pytest.mark.parametrize("shard", ["a", "b"])
async def test_operations_of_a_tenant_stay_on_its_shard(
    router: Router, routed: Keeps, server: EmbeddedPostgres, databases: dict[str, str], shard: str
) -> None:
    tenant, other = tenant_of(shard), databases["b" if shard == "a" else "a"]
    alice = routed.memory(Scope(tenant, "alice"))
    seen: list[int] = []

    async def follow() -> None:
        async for event in alice.subscribe(after=0):
            seen.append(event.sequence)  # noqa: PERF401  as they come

    following = asyncio.create_task(follow())
    await alice.remember("The harbour is grey.")
    assert [hit.memory.content for hit in (await alice.recall("harbour")).hits] == ["The harbour is grey."]
    assert "harbour" in (await alice.context("What about the harbour?")).text
    await alice.say("My favourite port is Hamburg.", session_id="talk")
    assert (await alice.session_notes("talk")) is not None
    await alice.create_plan(goal_event="move", plan_id="plan")
    assert (await alice.get_plan("plan")).plan_id == "plan"
    await alice.add_document("# Ships\n\nThe ferry leaves at nine.", source="ships.md")
    assert (await alice.search_documents("When does the ferry leave?")).hits
    lines = [line async for line in routed.service(TransferService).export(Scope(tenant, "alice"))]
    assert any("The harbour is grey." in line for line in lines)
    last = await routed.service(TenantService).page("", 1000)
    assert [each.cell for each in last if each.tenant_id == tenant] == [shard]
    await until(lambda: len(seen) >= 3, "events arrive")
    following.cancel()
    assert await rows_of(server, databases[shard], tenant) > 0
    receipt = await routed.service(TenantService).erase_tenant(Scope(tenant, roles=OPERATOR))
    assert receipt.complete
    assert await rows_of(server, databases[shard], tenant) == 0
    assert router.shards_of(sharding_key(tenant)) == {shard}
    assert await rows_of(server, other, tenant) == 0
    assert router.refused == []


async def test_worker_runs_the_jobs_of_both_shards(
    server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any
) -> None:
    databases = {"a": await fresh_database(), "b": await fresh_database()}
    clock = MovingClock()
    tenants = {shard: tenant_of(shard) for shard in databases}
    async with routing(router_to(server, databases)) as router:
        settings = load_settings(database_url=router.url, given=given(server, databases, "pgdog"))
        async with await open_keeps(settings, clock=clock, embedder=shared) as keeps:
            for tenant in tenants.values():
                await keeps.memory(Scope(tenant, "alice")).remember(
                    "The harbour is grey, as so often.", kind="episodic"
                )
            clock.forward(days=10)
            for database in databases.values():
                await scheduled(server, database, clock, hours=-1)
            worker = keeps.service(Worker)
            worker.start()
            assert [await cell.hears() for cell in await keeps.database.cells.all()] == [True, True]
            await until(lambda: worker.done >= 2 * len(SCHEDULED), "every job of both tenants is done")
            for tenant in tenants.values():
                assert (await keeps.memory(Scope(tenant, "alice")).operations(job="decay")).items
            await worker.close()
        assert {shard: router.shards_of(sharding_key(tenant)) for shard, tenant in tenants.items()} == {
            "a": {"a"},
            "b": {"b"},
        }
        assert router.refused == []


async def test_keys_over_http_open_the_tenants_of_both_shards(router: Router, routed: Keeps) -> None:
    async with serving(routed, auth="keys") as url:
        for shard in "ab":
            scope = Scope(tenant_of(shard), "alice", roles=frozenset({"admin"}))
            made = await routed.memory(scope).admin.make_key("program", roles=["writer"])
            headers = {"Authorization": f"Bearer {made.secret}", "X-User-ID": "alice"}
            async with aiohttp.ClientSession(url, headers=headers) as http:
                async with http.post("/v1/memories", json={"content": "Tea at five."}) as answer:
                    assert answer.status == 201
                async with http.get("/v1/memories") as answer:
                    assert [each["content"] for each in (await answer.json())["items"]] == ["Tea at five."]
            assert router.shards_of(sharding_key(scope.tenant_id)) == {shard}
        headers = {"Authorization": "Bearer keeps_unknown"}
        async with aiohttp.ClientSession(url, headers=headers) as http, http.get("/v1/memories") as answer:
            assert answer.status == 401


async def test_process_follows_a_tenant_that_the_router_leads_elsewhere(router: Router, routed: Keeps) -> None:
    alice = routed.memory(Scope(tenant := tenant_of("a"), "alice"))
    assert (await alice.list()).items == []
    before, router.lead = router.lead, lambda key: "b" if key == sharding_key(tenant) else before(key)
    await alice.remember("Written on b.")
    assert [each.content for each in (await alice.list()).items] == ["Written on b."]
    await routed.service(TenantService).erase_tenant(Scope(tenant, roles=OPERATOR))
    router.lead = before


async def test_router_refuses_what_it_cannot_pass(server: EmbeddedPostgres, databases: dict[str, str]) -> None:
    async with routing(router_to(server, databases)) as router:
        connection = await asyncpg.connect(router.url)
        for statement, why in (("SELECT 1", "no sharding key"), ("LISTEN job", "LISTEN")):
            with pytest.raises(asyncpg.FeatureNotSupportedError, match=why):
                await connection.execute(statement)
        async with connection.transaction():
            with pytest.raises(asyncpg.FeatureNotSupportedError, match="no sharding key"):
                await connection.execute("SELECT 1")
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="named prepared statement"):
            await connection.fetch("SELECT $1::int", 1)
        await connection.close()
        assert router.passed == []


async def test_doctor_checks_the_shards_and_the_router(router: Router, settings: Settings) -> None:
    checks = {check.name: check for check in await run_checks(settings)}
    assert checks["router"].state == "ok", checks["router"]
    assert checks["router"].finding == f"{router.engine} leads tenants to their shards: a, b"
    assert "shards" not in checks
    assert "worker" not in checks


async def test_start_fails_where_the_router_leads_tenants_astray(
    router: Router, settings: Settings, routed: Keeps, shared: Any
) -> None:
    await routed.memory(Scope(tenant_of("a"), "alice")).remember("On a.")
    turns = itertools.cycle("ab")
    before = router.lead
    for wrong, why in (
        (lambda _: "b", "leads a tenant of the shard a to b: correct its mapping"),
        (lambda _: next(turns), "leads a new tenant to a, b in turn: give it a default shard"),
    ):
        router.lead = wrong
        with pytest.raises(UnavailableError, match=why):
            await open_keeps(settings, embedder=shared)
    router.lead = before


async def test_start_fails_on_a_database_that_is_no_shard(
    server: EmbeddedPostgres, databases: dict[str, str], shared: Any
) -> None:
    async with routing(router_to(server, databases)) as router:
        given_shards = given(server, {"a": databases["a"]}, "pgdog")
        router.lead = lambda _: "b"
        with pytest.raises(UnavailableError, match="none of KEEPS_ROUTER_SHARDS"):
            await open_keeps(load_settings(database_url=router.url, given=given_shards), embedder=shared)


async def test_a_shard_that_is_away_costs_its_tenants_only(
    server: EmbeddedPostgres, databases: dict[str, str], shared: Any
) -> None:
    async with routing(router_to(server, databases)) as router:
        settings = load_settings(database_url=router.url, given=given(server, databases, "pgdog"))
        async with await open_keeps(settings, embedder=shared) as keeps:
            tenants = {shard: keeps.memory(Scope(tenant_of(shard), "alice")) for shard in databases}
            for alice in tenants.values():
                await alice.remember("Here.")
            router.backends["b"] = backend(server, "no_such_database")
            with pytest.raises(UnavailableError, match="the router refused a transaction: shard b is down"):
                await tenants["b"].list()
            assert len((await tenants["a"].list()).items) == 1
            router.backends["b"] = backend(server, databases["b"])
            assert len((await tenants["b"].list()).items) == 1


@pytest.mark.parametrize("engine", ["pgdog", "spqr"])
async def test_export_of_cells_leads_a_router_to_the_same_tenants(
    server: EmbeddedPostgres, fresh_database: Callable[..., Any], shared: Any, tmp_path: Path, engine: str
) -> None:
    async with on_two(server, fresh_database, shared) as two:
        for number in range(12):
            await two.keeps.memory(Scope(f"tenant-{number}", "alice")).remember(f"Fact {number}.")
        await two.keeps.service(TenantService).erase_tenant(Scope("tenant-11", roles=OPERATOR))
        cells = {each.tenant_id: each.cell for each in await two.keeps.service(TenantService).page("", 100)}
        cli = Cli(
            tmp_path,
            KEEPS_DATABASE_URL=server.url("keeps_app", two.databases["main"]),
            KEEPS_SECRET_KEYS=SECRET_KEY,
            KEEPS_ADMIN_URL=two.admin_url("main"),
        )
        text = (await asyncio.to_thread(cli, "cells", "export", "--format", engine)).stdout
        assert "tenant-" not in text
        assert set(cells.values()) == {"main", "second"}
        leads = READERS[engine](text, two)
        assert {tenant_id: leads(sharding_key(tenant_id)) for tenant_id in cells} == cells
        await _serve_by(leads, server, two, engine, shared)
        # A tenant that the router has placed moves by means of the directory, and the router learns it.
        source = leads(sharding_key("tenant-12"))
        target = "main" if source == "second" else "second"
        await two.cells.add("second", url=server.url("keeps_app", two.databases["second"]))
        assert (await two.cells.move("tenant-12", target, lambda _: None)).source == source
        text = (await asyncio.to_thread(cli, "cells", "export", "--format", engine)).stdout
        assert READERS[engine](text, two)(sharding_key("tenant-12")) == target


async def _serve_by(leads: Callable[[str], str], server: EmbeddedPostgres, two: Two, engine: str, shared: Any) -> None:
    async with AsyncExitStack() as stack:
        router = await stack.enter_async_context(routing(router_to(server, two.databases, engine)))
        router.lead = leads
        half = load_settings(database_url=router.url, given=given(server, {"main": two.databases["main"]}, engine))
        with pytest.raises(UnavailableError, match="directory of cells has second"):
            await open_keeps(half, embedder=shared)
        settings = load_settings(database_url=router.url, given=given(server, two.databases, engine))
        keeps = await stack.enter_async_context(await open_keeps(settings, embedder=shared))
        for number in range(11):
            found = await keeps.memory(Scope(f"tenant-{number}", "alice")).list()
            assert [each.content for each in found.items] == [f"Fact {number}."]
        await keeps.memory(Scope("tenant-11", "alice")).remember("Again.")
        await keeps.memory(Scope("tenant-12", "alice")).remember("New.")
        router.lead = lambda _: "main"
        held = [each.tenant_id for each in await keeps.service(TenantService).page("", 100) if each.cell == "second"]
        with pytest.raises(UnavailableError, match="records that the tenant is in second; correct the router's"):
            await keeps.memory(Scope(held[0], "alice")).list()


def read_pgdog(text: str, two: Two) -> Callable[[str], str]:
    """Return the mapping that `pgdog.toml` says, by the names of shards."""
    names = list(two.databases)
    tables = tomllib.loads(text)
    assert [each["data_type"] for each in tables["sharded_tables"]] == ["varchar"]
    mappings = tables["sharded_mappings"]
    (default,) = [each["shard"] for each in mappings if each["kind"] == "default"]
    shards = {key: each["shard"] for each in mappings if each["kind"] == "list" for key in each["values"]}
    return lambda key: names[shards.get(key, default)]


def read_spqr(text: str, _: Two) -> Callable[[str], str]:
    """Return the mapping that the statements for SPQR's console say."""
    assert "CREATE DISTRIBUTION keeps COLUMN TYPES varchar;" in text
    found = re.findall(r"CREATE KEY RANGE \w+ FROM '([0-9a-f]{64})' ROUTE TO (\w+) FOR DISTRIBUTION keeps;", text)
    assert found == sorted(found)
    bounds = [bound for bound, _ in found]
    return lambda key: found[bisect.bisect_right(bounds, key) - 1][1]


READERS = {"pgdog": read_pgdog, "spqr": read_spqr}


def test_commands_of_cells_say_that_the_router_decides(
    server: EmbeddedPostgres, databases: dict[str, str], tmp_path: Path
) -> None:
    cli = Cli(tmp_path, **given(server, databases, "spqr"), KEEPS_DATABASE_URL="postgresql://router/keeps")
    for command in (
        ("cells", "list"),
        ("cells", "export", "--format", "spqr"),
        ("tenants", "move", "acme", "--to", "b"),
    ):
        assert "spqr leads to the shards of this Keeps" in cli(*command, code=2).stderr


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"KEEPS_ROUTER": ""}, "need each other"),
        ({"KEEPS_ROUTER": "citus"}, "must be one of pgdog, spqr"),
        ({"KEEPS_ROUTER_SHARDS": ""}, "need each other"),
        ({"KEEPS_ROUTER_SHARDS": "postgresql://one/keeps"}, "takes a=postgresql"),
        ({"KEEPS_ROUTER_SHARDS": "a=postgresql://one/keeps a=postgresql://two/keeps"}, "each name once"),
        ({"KEEPS_DATABASE_URL": ""}, "needs KEEPS_DATABASE_URL"),
        ({"KEEPS_WORKER_DATABASE_URL": "postgresql://one/keeps"}, "does not go with KEEPS_ROUTER"),
        ({"KEEPS_READ_DATABASE_URL": "postgresql://one/keeps"}, "does not go with KEEPS_ROUTER"),
    ],
)
def test_settings_that_contradict_a_router_are_refused(changes: dict[str, str], why: str) -> None:
    complete = {
        "KEEPS_DATABASE_URL": "postgresql://router/keeps",
        "KEEPS_ROUTER": "pgdog",
        "KEEPS_ROUTER_SHARDS": "a=postgresql://one/keeps b=postgresql://two/keeps",
    }
    assert load_settings(complete).router_shards[1] == ("b", "postgresql://two/keeps")
    with pytest.raises(ValidationFailedError, match=why):
        load_settings(complete | changes)
