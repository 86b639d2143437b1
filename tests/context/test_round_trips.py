"""A context is two round trips where its audiences are held. It says the same as without, and shows no other scope."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.context import reading
from keeps.memory.context.router import ContextRouter
from keeps.memory.indexing.service import Indexer
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.service import RecallService
from keeps.store.db.cell import Cell
from keeps.store.db.session import Database
from keeps.store.db.transaction import Tx
from keeps_client.models import RecallRequest
from tests.embedding import HashedWords
from tests.recall.test_index import START, SetClock, answers, held, memory_of

SAID = [
    {"role": "user", "content": "My name is Alice and I moved to Leeds. I'm allergic to peanuts."},
    {"role": "assistant", "content": "Nice to meet you, Alice."},
    {"role": "user", "content": "We decided to paint the harbour lamp on Friday."},
]
QUESTIONS = (
    "What is the deadline of the budget?",
    "What did we decide yesterday about the harbour?",
    "Who am I and what do you know about me?",
    "List all decisions about the harbour so far",
    "Where does Nina live and when did she see the bridge?",
    "Thanks a lot!",
    "why?",
    "What does the manual say about the tomato engine?",
)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def arrays(app_url: str, clock: SetClock) -> AsyncIterator[Keeps]:
    async with Keeps.open(database_url=app_url, embedder=HashedWords(), clock=clock) as keeps:
        yield keeps


@pytest.fixture
async def plain(app_url: str, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keeps]:
    """An engine that always answers from the database."""
    async with Keeps.open(database_url=app_url, embedder=HashedWords(), clock=clock) as keeps:
        monkeypatch.setattr(keeps.service(AudienceIndexes), "note", lambda _: None)
        yield keeps


async def told(keeps: Keeps, clock: SetClock, scope: Scope, seed: int = 1, memories: int = 80) -> Any:
    chance = random.Random(seed)
    memory = keeps.memory(scope)
    clock.now = START - timedelta(days=1)
    await memory.store_exchange(SAID, session_id="said")
    await memory.end_session("said")
    clock.now = START
    await memory.store_exchange(SAID[:2], session_id="now", agent_id="one")
    await memory.remember_many([memory_of(chance, number) for number in range(memories)], index="now")
    await memory.store_skill("one", "Ask first.", procedure_type="system_prompt", trigger_condition="lamps")
    for number in range(14):
        await memory.add_source(f"source-{number}", kind="api", purpose=f"Numbers of harbour {number}")
    await keeps.service(Indexer).settle(scope)
    return memory


def shown(result: Any) -> dict[str, Any]:
    told = result.model_dump()
    return told | {"took_ms": 0, "router_ms": 0, "sources_ms": sorted(result.sources_ms)}


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts statements by name, and those that begin and end transactions; access counts are not written meanwhile."""
    monkeypatch.setattr("keeps.memory.recall.access.FLUSH_SECONDS", 1_000)
    counted: Counter[str] = Counter()
    ask, fetch, fetch_row, enter = Cell.ask, Tx.fetch, Tx.fetch_row, Tx.enter

    async def asked(self: Cell, tenant_id: str, statement: Any, *values: object) -> Any:
        counted[statement.name] += 1
        return await ask(self, tenant_id, statement, *values)

    async def fetched(self: Tx, statement: Any, *values: object, **more: Any) -> Any:
        counted[statement.name] += 1
        return await fetch(self, statement, *values, **more)

    async def fetched_row(self: Tx, statement: Any, *values: object) -> Any:
        counted[statement.name] += 1
        return await fetch_row(self, statement, *values)

    async def entered(self: Tx, statement: Any) -> Any:
        counted["transaction"] += 2
        return await enter(self, statement)

    monkeypatch.setattr(Cell, "ask", asked)
    monkeypatch.setattr(Tx, "fetch", fetched)
    monkeypatch.setattr(Tx, "fetch_row", fetched_row)
    monkeypatch.setattr(Tx, "enter", entered)
    return counted


async def test_warm_context_is_two_round_trips(
    arrays: Keeps, clock: SetClock, tenant: str, trips: Counter[str]
) -> None:
    scope = Scope(tenant, "alice")
    alice = await told(arrays, clock, scope)
    await alice.add_document(
        "# Manual\n\nThe tomato engine is red.", name="manual.md", visibility="private", media_type="text/markdown"
    )
    await arrays.service(Indexer).settle(scope)
    await held(arrays, scope)
    await alice.context("warm")  # reads the shelf of sources
    for question in QUESTIONS:
        for options in (
            {},
            {"session_id": "now"},
            {"session_id": "new", "agent_id": "one"},
            {"sections": ["documents"]},
        ):
            trips.clear()
            result = await alice.context(question, **options)
            assert not result.degraded
            assert sum(trips.values()) <= 2, (question, options, trips)
    trips.clear()
    assert "Manual (document)" in (await alice.context(QUESTIONS[-1])).text
    assert sum(trips.values()) == 2


async def test_context_from_arrays_says_the_same(
    arrays: Keeps, plain: Keeps, clock: SetClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccessBuffer, "add", lambda *_, **__: None)  # Arrays learn of readings within a minute.
    for number, user in enumerate(("alice", "bob")):
        await told(plain, clock, Scope(tenant, user), number)
        await held(arrays, Scope(tenant, user))
    ways: list[dict[str, Any]] = [{}, {"session_id": "now", "agent_id": "one"}]
    ways.append({"session_id": "said", "budget_tokens": 300})
    for scope in (Scope(tenant, "alice"), Scope(tenant, "bob"), Scope(tenant, "alice", "one", agent_bound=True)):
        for question in QUESTIONS:
            for options in ways:
                expected = await plain.memory(scope).context(question, **options)
                result = await arrays.memory(scope).context(question, **options)
                assert shown(result) == shown(expected), (scope, question, options)


async def test_several_requests_are_answered_as_one_by_one(
    arrays: Keeps, plain: Keeps, clock: SetClock, tenant: str
) -> None:
    scope = Scope(tenant, "alice")
    await told(plain, clock, scope, memories=120)
    await held(arrays, scope)
    query = "What is the deadline of the budget?"
    requests = [
        RecallRequest(query=query, limit=40),
        RecallRequest(query=query, limit=10, kinds=("semantic",)),
        RecallRequest(query=query, limit=5, agent_id="one", min_relevance=0.1),
        RecallRequest(query="przybilski harbuor", limit=40, since=START - timedelta(hours=400), until=START),
        RecallRequest(query=query, scope="persistent", explain=True),
        RecallRequest(query="facts/k3", include_superseded=True),
    ]
    one_by_one = [await answers(plain, scope, request) for request in requests]
    for keeps in (arrays, plain):
        for some in (requests, [*requests, RecallRequest(query=query, tags=("none",))]):  # one that needs the database
            results = await keeps.service(RecallService).recall_all(scope, some, counted=False)
            got = [([hit.model_dump() for hit in result.hits], result.nothing_known) for result in results]
            assert got[: len(requests)] == one_by_one
    assert await arrays.service(RecallService).recall_all(scope, []) == []


async def test_too_many_bytes_at_once_are_read_one_by_one(
    arrays: Keeps, clock: SetClock, tenant: str, monkeypatch: pytest.MonkeyPatch, trips: Counter[str]
) -> None:
    scope = Scope(tenant, "alice")
    memory = arrays.memory(scope)
    for word in ("harbour", "garden"):
        await memory.remember(f"The {word} is old.", metadata={"about": word * 400})
    await held(arrays, scope)
    requests = [RecallRequest(query=word, limit=1) for word in ("harbour", "garden")]
    expected = await arrays.service(RecallService).recall_all(scope, requests)
    monkeypatch.setattr("keeps.memory.recall.store.MOST_WHOLE", 5_000)
    monkeypatch.setattr("keeps.store.db.size_limits.MOST_WHOLE", 5_000)
    trips.clear()
    results = await arrays.service(RecallService).recall_all(scope, requests)
    assert [each.hits for each in results] == [each.hits for each in expected]
    assert trips["recall_hits"] == 3


async def test_too_large_memories_do_not_cost_the_conversation(
    arrays: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = arrays.memory(Scope(tenant, "alice"))
    await memory.store_exchange(SAID, session_id="said")
    for number in range(3):
        await memory.remember(f"Fact {number}.", importance=0.9, metadata={"about": "x" * 3_000})
    monkeypatch.setattr("keeps.store.db.size_limits.MOST_WHOLE", 5_000)
    monkeypatch.setattr(reading, "STATEMENT", reading.QUERIES["context_rows"].within(("value", "metadata"), 5_000))
    result = await memory.context("hello", session_id="said", sections=["session", "long_term"])
    assert "Nice to meet you" in (await memory.context("What did I say?", session_id="said")).text
    assert result.degraded_sources == ("standing",)
    assert result.stable == ""


async def test_context_shows_nothing_of_other_scopes(arrays: Keeps, clock: SetClock, tenant: str) -> None:
    alice = Scope(tenant, "alice")
    await told(arrays, clock, alice, memories=0)
    memory = arrays.memory(alice)
    await memory.remember("Alice keeps the harbour key in a tin.", importance=0.95)
    await memory.store_skill(
        "two", "Never paint the harbour lamp blue.", procedure_type="system_prompt", trigger_condition="paint"
    )
    strangers = [
        Scope(tenant, "bob"),
        Scope(f"{tenant}-other", "alice"),
        Scope(tenant, "alice", "one", agent_bound=True),
        Scope(tenant, "alice", "three", agent_bound=True),
    ]
    for stranger in strangers:
        await arrays.memory(stranger).remember("A harbour is a port.")
    for scope in (alice, *strangers[:2]):
        await held(arrays, scope)
    for question in (*QUESTIONS, "Where is the harbour key?"):
        for session in ("said", "now", "new", None):
            for stranger in strangers:
                result = await arrays.memory(stranger).context(question, session_id=session)
                assert not result.degraded
                said = result.text + result.stable
                assert "blue" not in said, "a skill of another agent"
                if stranger.user_id == "bob" or stranger.tenant_id != tenant:
                    assert not any(word in said for word in ("Leeds", "peanuts", "tin", "paint")), said
                elif stranger.agent_id == "three":
                    assert "We decided to paint" not in result.volatile
    assert "tin" in (await memory.context("Where is the harbour key?")).text


@pytest.mark.parametrize("taken_away", ["private", "forgotten", "erased"])
async def test_revoked_sharing_ends_at_once(arrays: Keeps, plain: Keeps, tenant: str, taken_away: str) -> None:
    alice, bob = (Scope(tenant, name) for name in ("alice", "bob"))
    await arrays.memory(bob).remember("Bob likes tea.")
    shared = await arrays.memory(alice).remember("The launch code is 4711.", visibility="tenant")
    source = await arrays.memory(alice).add_source("launches", kind="api", purpose="Launches by day")
    await held(arrays, bob)
    asked = arrays.memory(bob)
    result = await asked.context("What is the launch code?")
    assert "4711" in result.text
    assert "launches" in result.text
    elsewhere = plain.memory(alice)  # another process
    if taken_away == "private":
        await elsewhere.update(shared.memory_id, visibility="private")
        await elsewhere.add_source("launches", kind="api", purpose="Launches by day", visibility="private")
    else:
        for memory_id in (shared.memory_id, source.memory_id):
            await elsewhere.forget(memory_id, hard=taken_away == "erased")
    result = await asked.context("What is the launch code?")
    assert "4711" not in result.text
    assert "launches" not in result.text


async def test_without_the_shared_reads_what_is_left_is_told(
    arrays: Keeps, clock: SetClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = Scope(tenant, "alice")
    alice = await told(arrays, clock, scope)
    await held(arrays, scope)
    ask = Database.ask

    def failing(name: str, error: type[Exception] | None) -> Any:
        async def asked(self: Database, tenant_id: str, statement: Any, *values: object) -> Any:
            if statement.name == name:
                await (asyncio.sleep(0) if error else asyncio.Event().wait())
                raise error or RuntimeError
            return await ask(self, tenant_id, statement, *values)

        return asked

    for error in (RuntimeError, None):
        monkeypatch.setattr(arrays.service(ContextRouter), "_seconds", 0.5 if error is None else 10.0)
        monkeypatch.setattr(Database, "ask", failing("recall_hits", error))
        result = await alice.context("What is the deadline?", session_id="now")
        assert result.degraded_sources == ("memories",)
        assert "Nice to meet you" in result.text
        monkeypatch.setattr(Database, "ask", failing("context_rows", error))
        result = await alice.context("What is the deadline?", session_id="now")
        assert set(result.degraded_sources) == {"session", "last_session", "knowledge", "standing"}
        assert "deadline" in result.text
