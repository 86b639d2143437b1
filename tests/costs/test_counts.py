"""Calls of models are counted exactly: answers, failures, repetitions, concurrent calls, embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai  # noqa: F401  loaded before the loop runs: it takes a third of a second
import pytest
from aiohttp import web

from keeps.base.budgets import Price
from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps.models.openai import OpenAIEmbedder
from keeps.store.costs.spend import Spend
from keeps.store.events.service import EventService
from keeps_client.errors import ForbiddenError, NotFoundError, UnavailableError
from keeps_client.models import CostLine, MemoryCost
from tests.conftest import admin as superuser
from tests.lifecycle.conftest import MovingClock
from tests.scripted_llm import Script

SAID = [{"role": "user", "content": "I grew up by the sea, in Whitby, and keep two hens."}]
HOME = {"message": 1, "entity": "user", "attribute": "home town", "value": "Whitby", "confidence": 0.9}
Opener = Callable[..., Any]


@pytest.fixture
async def opened(app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock) -> AsyncIterator[Keeps]:
    async with opener(app_url, shared, tmp_path, script, clock)() as keeps:
        yield keeps


def opener(app_url: str, embedder: Any, home: Path, script: Script, clock: MovingClock) -> Opener:
    @asynccontextmanager
    async def make(**settings: Any) -> AsyncIterator[Keeps]:
        chosen = Settings(home=home, database_url=app_url, llm_base_url=script.url, llm_model="m", **settings)
        async with await open_keeps(chosen, embedder=embedder, clock=clock) as keeps:
            yield keeps

    return make


def admin_of(keeps: Keeps, tenant: str, role: str = "admin") -> Any:
    return keeps.memory(Scope(tenant, "root", roles=frozenset({role}))).admin


async def read_graph(keeps: Keeps, tenant: str, user: str = "alice") -> None:
    alice = keeps.memory(Scope(tenant, user))
    await alice.remember(f"Alice of {user} works at Acme in Lisbon.")
    await alice.read_entities()


def counts(line: CostLine) -> tuple[int, int, int, int]:
    return line.calls, line.failed, line.prompt_tokens, line.completion_tokens


async def test_an_answer_is_one_call(opened: Keeps, script: Script, tenant: str) -> None:
    await read_graph(opened, tenant)
    costs = await admin_of(opened, tenant).costs(by="job")
    assert [(line.name, *counts(line)) for line in costs.lines] == [("graph", 1, 0, 90, 10)]
    assert costs.total.seconds > 0
    assert costs.llm == "m"
    by_model = await admin_of(opened, tenant).costs(by="model")
    assert [(line.name, *counts(line)) for line in by_model.lines] == [("m", 1, 0, 90, 10)]


async def test_an_invalid_answer_is_a_failed_call_with_tokens(opened: Keeps, script: Script, tenant: str) -> None:
    script.answers = ["no JSON", {}]
    await read_graph(opened, tenant)
    assert counts((await admin_of(opened, tenant).costs()).total) == (2, 1, 180, 20)


async def test_repeated_requests_are_counted(opened: Keeps, script: Script, tenant: str) -> None:
    script.answers = [503, {}]
    await read_graph(opened, tenant)
    assert len(script.asked) == 2
    assert counts((await admin_of(opened, tenant).costs()).total) == (2, 1, 90, 10)


@pytest.mark.parametrize(("status", "requests"), [(500, 3), (403, 1)])
async def test_failures_are_counted_without_tokens(
    opened: Keeps, script: Script, tenant: str, status: int, requests: int
) -> None:
    script.answers = [status]
    await read_graph(opened, tenant)
    assert len(script.asked) == requests
    assert counts((await admin_of(opened, tenant).costs()).total) == (requests, requests, 0, 0)


async def test_a_refused_option_is_a_failed_call(opened: Keeps, script: Script, tenant: str) -> None:
    script.refused = ["temperature"]
    await read_graph(opened, tenant)
    assert counts((await admin_of(opened, tenant).costs()).total) == (2, 1, 90, 10)


async def test_unreachable_llm_is_counted(opened: Keeps, script: Script, tenant: str) -> None:
    chat = opened.core.chat
    assert chat is not None
    chat._client.base_url = "http://127.0.0.1:9/v1"  # type: ignore[attr-defined]
    await read_graph(opened, tenant)
    assert counts((await admin_of(opened, tenant).costs()).total) == (3, 3, 0, 0)


async def test_concurrent_calls_of_tenants_are_counted_apart(opened: Keeps, script: Script, tenant: str) -> None:
    script.pause_seconds = 0.05
    tenants = [f"{tenant}-{number}" for number in range(4)]
    users = [(one, f"user{number}") for one in tenants for number in range(3)]
    await asyncio.gather(*(read_graph(opened, *each) for each in users))
    assert len(script.asked) == 12
    for one in tenants:
        assert counts((await admin_of(opened, one).costs()).total) == (3, 0, 270, 30)


async def test_two_processes_add_up(
    app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock, tenant: str
) -> None:
    make = opener(app_url, shared, tmp_path, script, clock)
    async with make() as one, make() as two:
        await asyncio.gather(*(read_graph(each, tenant, user) for each, user in ((one, "alice"), (two, "bob"))))
        await asyncio.gather(one.core.usage.flush(), two.core.usage.flush())
        assert counts((await admin_of(one, tenant).costs()).total) == (2, 0, 180, 20)
        assert (await one.memory(Scope(tenant, "alice")).insights()).llm_tokens == {"graph": 200}


async def test_counts_are_written_at_the_end(
    app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock, tenant: str
) -> None:
    make = opener(app_url, shared, tmp_path, script, clock)
    async with make() as keeps:
        await read_graph(keeps, tenant)
    async with make() as keeps:
        assert counts((await admin_of(keeps, tenant).costs()).total) == (1, 0, 90, 10)


async def test_counts_wait_for_the_database(opened: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await opened.memory(Scope(tenant, "alice")).remember("Something.")
    opened.core.usage.note(tenant, "graph", "m", "llm", Spend(1, 0, 5, 5))
    with monkeypatch.context() as patched:
        patched.setattr(opened.core.usage._database, "writing", unavailable)
        assert not await opened.core.usage.flush()
        opened.core.usage.note(tenant, "graph", "m", "llm", Spend(1, 1, 0, 0))
    assert await opened.core.usage.flush()
    assert counts((await admin_of(opened, tenant).costs()).total) == (2, 1, 5, 5)


def unavailable(*_: object) -> None:
    raise UnavailableError("away")


async def test_erased_tenant_does_not_come_back(opened: Keeps, script: Script, tenant: str) -> None:
    await read_graph(opened, tenant)
    await admin_of(opened, tenant).erase_tenant(tenant)
    opened.core.usage.note(tenant, "graph", "m", "llm", Spend(1, 0, 5, 5))
    assert await opened.core.usage.flush()
    everything = await admin_of(opened, "operators", "operator").costs(by="tenant")
    assert tenant not in {line.name for line in everything.lines}


async def test_prices_make_costs(
    app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock, tenant: str
) -> None:
    make = opener(app_url, shared, tmp_path, script, clock)
    async with make(llm_prices=(Price("m", 2.0, 10.0),)) as keeps:
        await read_graph(keeps, tenant)
        keeps.core.usage.note(tenant, "graph", "other", "llm", Spend(1, 0, 7, 0))
        costs = await admin_of(keeps, tenant).costs(by="model")
        assert [(line.name, line.cost) for line in costs.lines] == [("m", 0.00028), ("other", None)]
        assert costs.total.cost == 0.00028
        assert costs.unpriced == ("other",)


async def test_each_tenant_sees_its_own(opened: Keeps, script: Script, tenant: str) -> None:
    other = f"{tenant}-other"
    await read_graph(opened, tenant)
    assert (await admin_of(opened, other).costs()).lines == ()
    with pytest.raises(NotFoundError):
        await admin_of(opened, other).costs(tenant_id=tenant)
    for asked in ({"all_tenants": True}, {"by": "tenant"}):
        with pytest.raises(ForbiddenError):
            await admin_of(opened, other).costs(**asked)
    operator = admin_of(opened, other, "operator")
    assert counts((await operator.costs(tenant_id=tenant)).total) == (1, 0, 90, 10)
    by_tenant = {line.name: counts(line) for line in (await operator.costs(by="tenant")).lines}
    assert by_tenant[tenant] == (1, 0, 90, 10)


async def test_days_are_counted_apart(opened: Keeps, script: Script, clock: MovingClock, tenant: str) -> None:
    await read_graph(opened, tenant)
    first = clock().date()
    clock.forward(hours=24)
    await read_graph(opened, tenant, "bob")
    costs = await admin_of(opened, tenant).costs()
    assert [line.name for line in costs.lines] == [str(first), str(clock().date())]
    assert counts((await admin_of(opened, tenant).costs(since=clock().date())).total) == (1, 0, 90, 10)


async def test_tokens_of_an_earlier_release_are_shown(
    opened: Keeps, server: Any, script: Script, clock: MovingClock, tenant: str
) -> None:
    """Its servers write llm_usage alone, also while newer ones run beside them."""
    await read_graph(opened, tenant)
    await opened.core.usage.flush()
    async with superuser(server, "keeps_test") as connection:
        await connection.execute(
            "INSERT INTO keeps.llm_usage (tenant_id, day, job, tokens) VALUES ($1, $2, 'graph', 40) ON CONFLICT"
            " (tenant_id, day, job) DO UPDATE SET tokens = llm_usage.tokens + EXCLUDED.tokens",
            tenant,
            clock().date(),
        )
    by_model = {line.name: counts(line) for line in (await admin_of(opened, tenant).costs(by="model")).lines}
    assert by_model == {"m": (1, 0, 90, 10), "": (0, 0, 40, 0)}
    assert (await opened.memory(Scope(tenant, "alice")).insights()).llm_tokens == {"graph": 140}


async def test_memories_say_what_they_cost(opened: Keeps, script: Script, clock: MovingClock, tenant: str) -> None:
    script.answers = [{"facts": [HOME], "summary": "She keeps hens by the sea."}]
    alice = opened.memory(Scope(tenant, "alice"))
    await alice.store_exchange(SAID, session_id="s1")
    await alice.end_session("s1")
    clock.forward(hours=2)
    await opened.service(Lifecycle).run(tenant, "sessions")
    by_llm = MemoryCost(job="sessions", model="m", calls=1, tokens=100, memories=2)
    items = (await alice.list(limit=50)).items
    made = {each.content_type for each in items if MemoryCost.of(each.metadata) == by_llm}
    assert made == {"fact", "session_summary"}
    assert sum("llm" in each.metadata for each in items) == 2
    assert (await opened.service(EventService).verify(Scope(tenant, "alice", roles=frozenset({"admin"})))).equal


async def test_entities_say_what_they_cost(opened: Keeps, script: Script, tenant: str) -> None:
    script.answers = [{"entities": [{"text": 1, "name": "Lisbon", "type": "city"}]}]
    await read_graph(opened, tenant)
    entities = (await opened.memory(Scope(tenant, "alice")).list_entities()).items
    costs = {each.name: MemoryCost.of(each.properties) for each in entities}
    assert costs["Lisbon"] == MemoryCost(job="graph", model="m", calls=1, tokens=100, memories=1)
    assert set(costs) > {"Lisbon"}
    assert sum(each is not None for each in costs.values()) == 1, "rules found the others"


def test_cost_of_a_memory_is_read_with_care() -> None:
    assert MemoryCost.of({}) is None
    assert MemoryCost.of({"llm": "mine"}) is None


@pytest.mark.parametrize(
    ("tokens", "written", "counted"), [(100, 10, (90, 10)), (None, None, (0, 0)), (-5, 3, (0, 0)), ("9", 1, (0, 0))]
)
def test_whatever_a_server_says_of_tokens_is_bounded(tokens: Any, written: Any, counted: tuple[int, int]) -> None:
    spend = Spend()
    spend(tokens, written)
    assert (spend.prompt_tokens, spend.completion_tokens) == counted


class EmbeddingServer:
    """An embedding model behind OpenAI's API. `statuses`: of the next answers; then it answers well."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.requests = 0
        self.url = ""

    async def embed(self, request: web.Request) -> web.Response:
        self.requests += 1
        if self.statuses:
            return web.json_response({"error": {"message": "no"}}, status=self.statuses.pop(0))
        texts = (await request.json())["input"]
        data = [{"object": "embedding", "index": at, "embedding": [1.0, 0.5, at]} for at in range(len(texts))]
        usage = {"prompt_tokens": 7 * len(texts), "total_tokens": 7 * len(texts)}
        return web.json_response({"object": "list", "model": "e", "data": data, "usage": usage})


@pytest.fixture
async def embedding_server() -> AsyncIterator[EmbeddingServer]:
    served = EmbeddingServer()
    app = web.Application()
    app.router.add_post("/v1/embeddings", served.embed)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield served
    await runner.cleanup()


async def test_embeddings_over_the_network_are_counted(
    app_url: str, tmp_path: Path, script: Script, clock: MovingClock, tenant: str, embedding_server: EmbeddingServer
) -> None:
    embedder = OpenAIEmbedder("e", base_url=embedding_server.url, api_key="k", dimensions=3)
    async with opener(app_url, embedder, tmp_path, script, clock)() as keeps:
        alice = keeps.memory(Scope(tenant, "alice"))
        await alice.remember("Alice keeps two hens.", index="now")
        embedding_server.statuses = [503]
        await alice.recall("Which animals?")
        costs = await admin_of(keeps, tenant).costs(by="job")
        lines = {line.name: counts(line) for line in costs.lines}
        assert lines["index"] == (1, 0, 7, 0)
        assert lines["recall"][:2] == (2, 1)
        assert costs.total.calls == embedding_server.requests
        assert (await alice.insights()).llm_tokens == {}
