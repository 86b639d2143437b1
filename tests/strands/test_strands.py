"""Strands Agents: the store of its MemoryManager, with the package's own agent."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from examples.strands_agent import main
from strands.memory import AddMessagesContext, AggregateMemoryError, MemoryManager
from strands.models import Model
from strands.types.content import Message

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.strands import KeepsMemoryStore, MemoryWriteError
from keeps_client.errors import ForbiddenError, UnavailableError
from strands import Agent
from tests.integrations.conftest import place
from tests.pages.blocks import ROOT, blocks, run_python
from tests.serving import token

__all__ = ["place"]
HENS = "Alice keeps two hens called Ada and Grace."
PEANUTS = "I'm allergic to peanuts. Please remember that."


class Scripted(Model):
    """A model that makes calls one after another, then answers, and what it was sent."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = list(calls)
        self.requests: list[list[Message]] = []
        self.tools: list[str] = []

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *arguments: Any, **named: Any) -> AsyncIterator[dict[str, Any]]:  # type: ignore[override]
        raise NotImplementedError
        yield {}

    async def stream(self, messages: Any, tool_specs: Any = None, *arguments: Any, **named: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        self.requests.append([dict(message) for message in messages])  # type: ignore[misc]
        self.tools = [spec["name"] for spec in tool_specs or ()]
        yield {"messageStart": {"role": "assistant"}}
        if self.calls:
            name, arguments_ = self.calls.pop(0)
            call = {"toolUse": {"name": name, "toolUseId": f"call-{len(self.requests)}"}}
            yield {"contentBlockStart": {"start": call}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments_}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}
            return
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent_of(store: KeepsMemoryStore, model: Model) -> Agent:
    manager = MemoryManager(stores=[store], add_tool_config=True)
    return Agent(model=model, memory_manager=manager, callback_handler=None)


def said(*texts: str) -> list[Message]:
    return [{"role": "user", "content": [{"text": text}]} for text in texts]


@pytest.fixture
async def store(place: dict[str, Any]) -> AsyncIterator[KeepsMemoryStore]:
    async with KeepsMemoryStore(user_id="alice", **place) as opened:
        yield opened


async def contents(keeps: Keeps, tenant: str, user: str = "alice") -> list[str]:
    return [memory.content for memory in (await keeps.memory(Scope(tenant, user)).list(limit=200)).items]


async def test_agent_learns_in_one_conversation_and_knows_in_another(place: dict[str, Any]) -> None:
    async def say(text: str, user: str) -> str:
        model = Scripted()
        async with KeepsMemoryStore(user_id=user, **place) as store:
            agent = agent_of(store, model)
            await agent.invoke_async(text)
            await agent.shutdown_async()
            assert store.failures == {}
        return str(model.requests[-1])

    assert "<memory>" not in await say(PEANUTS, "alice")
    assert "allergic to peanuts" in await say("What must I not eat?", "alice")
    assert "allergic to peanuts" not in await say("What must I not eat?", "bob")


async def test_model_adds_and_searches(store: KeepsMemoryStore, keeps: Keeps, tenant: str) -> None:
    model = Scripted(
        ("add_memory", f'{{"entries": ["{HENS}", "{HENS}"]}}'),
        ("search_memory", '{"query": "What are the hens called?"}'),
        ("add_memory", '{"entries": [""]}'),
    )
    await agent_of(store, model).invoke_async("Go.")
    assert {"search_memory", "add_memory"} <= set(model.tools)
    results = [str(block) for message in model.requests[-1] for block in message["content"] if "toolResult" in block]
    assert "'status': 'success'" in results[0]
    assert HENS in results[1]
    assert "relevance" in results[1]
    assert "content: must not be empty" in results[2]
    assert (await contents(keeps, tenant)).count(HENS) == 1


async def test_search_marks_what_may_only_be_related(store: KeepsMemoryStore) -> None:
    added = await store.add(HENS, {"tags": ["pets"], "importance": 0.9, "from": "letter"})
    assert added["status"] == "created"
    assert (await store.add(HENS))["status"] == "unchanged"
    (entry,) = await store.search("What are the hens called?")
    metadata: dict[str, Any] = entry.metadata or {}
    assert (entry.content, metadata["id"], metadata["tags"]) == (HENS, added["id"], ["pets"])
    assert "weak" not in metadata
    (weak,) = await store.search("Which bus goes to the airport?")
    assert (weak.metadata or {})["weak"] is True
    for text in ("The hens lay brown eggs.", "A hen house stands in the garden."):
        await store.add(text)
    assert len(await store.search("hens", {"max_search_results": 2})) == 2
    assert await store.search(" \x00 ") == []


async def test_min_relevance_leaves_out_the_rest(place: dict[str, Any]) -> None:
    async with KeepsMemoryStore(user_id="alice", min_relevance=0.35, **place) as store:
        await store.add(HENS)
        assert await store.search("Which bus goes to the airport?") == []
        assert len(await store.search("What are the hens called?")) == 1


async def test_messages_are_stored_once(store: KeepsMemoryStore, keeps: Keeps, tenant: str) -> None:
    batch, context = said("ok", PEANUTS, "ok"), AddMessagesContext(sequence_numbers=[0, 1, 4])
    for _ in range(3):
        assert await store.add_messages(batch, context) == 3
    await store.add_messages(said("ok", "later"), AddMessagesContext(sequence_numbers=[4, 5]))
    stored = await contents(keeps, tenant)
    assert stored.count("ok") == 2, "the same word, said twice"
    assert stored.count(PEANUTS) == 1
    assert stored.count("later") == 1
    await store.initialize()
    await store.add_messages(said("ok"), AddMessagesContext(sequence_numbers=[0]))
    assert (await contents(keeps, tenant)).count("ok") == 3, "another agent, which counts from 0 again"


async def test_messages_without_numbers_and_without_text(store: KeepsMemoryStore, keeps: Keeps, tenant: str) -> None:
    await store.add_messages(said("Good morning."))
    strange: list[Any] = [
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "secret"}]}}]},
        {"role": "assistant", "content": [{"text": "a\x00b"}, {"text": "žluťoučký 🐴 \ud800"}]},
        {"role": "user", "content": [{"text": " \x00 "}]},
        {"role": "user", "content": [{"text": "x" * 120_000}]},
        {"role": "user", "content": []},
    ]
    assert await store.add_messages(strange, AddMessagesContext(sequence_numbers=[0, 1, 2, 3, 4])) == 5
    assert await store.add_messages([]) == 0
    stored = await contents(keeps, tenant)
    assert sorted(stored, key=len) == ["Good morning.", "a\ufffdb\nžluťoučký 🐴 \ufffd", "x" * 20_000, "x" * 50_000]
    with pytest.raises(ValueError, match="sequence numbers"):
        await store.add_messages(said("a"), AddMessagesContext(sequence_numbers=[1, 2]))
    many = said(*(f"message {number}" for number in range(250)))
    await store.add_messages(many, AddMessagesContext(sequence_numbers=list(range(10, 260))))
    assert len([text for text in await contents(keeps, tenant) if text.startswith("message ")]) > 190


async def test_messages_that_were_not_stored_are_handed_over_again(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write lands, but its answer is lost: the manager hands the messages over again, and they are there once."""
    async with KeepsMemoryStore(keeps, user_id="alice", tenant_id=tenant) as store:
        store_exchange = type(keeps.memory(Scope(tenant, "alice"))).store_exchange
        lost = 2

        async def answer_lost(self: Any, *arguments: Any, **named: Any) -> Any:
            nonlocal lost
            done = await store_exchange(self, *arguments, **named)
            if lost:
                lost -= 1
                raise UnavailableError("the answer is lost")
            return done

        monkeypatch.setattr("keeps.engine.LocalMemory.store_exchange", answer_lost)
        agent = agent_of(store, Scripted())
        for text in (PEANUTS, "ok", "ok"):
            await agent.invoke_async(text)
            await agent.shutdown_async()
        assert store.failures == {"add_messages": 2}
    stored = await contents(keeps, tenant)
    assert (stored.count(PEANUTS), stored.count("ok"), stored.count("Noted.")) == (1, 2, 3)


async def test_users_and_tenants_are_apart(place: dict[str, Any], tenant: str) -> None:
    async with (
        KeepsMemoryStore(user_id="alice", **place) as alice,
        KeepsMemoryStore(user_id="bob", **place) as bob,
        KeepsMemoryStore(**{**place, "tenant_id": f"{tenant}-2"}, user_id="alice") as elsewhere,
    ):
        await alice.add(HENS)
        await alice.add_messages(said(PEANUTS))
        for other in (bob, elsewhere):
            assert await other.search("What are the hens called?") == []
            assert await other.search("peanuts") == []
            assert (await other.add(HENS))["status"] == "created"
        assert len(await alice.search("hens")) > 1


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    async with KeepsMemoryStore(secured_url, user_id="bob", token=token(tenant, "alice", "writer")) as store:
        with pytest.raises(ForbiddenError):
            await store.search("hens")
        for write in (store.add(HENS), store.add_messages(said(HENS))):
            with pytest.raises(MemoryWriteError, match="not allowed"):
                await write


async def test_agent_goes_on_while_memory_is_away() -> None:
    model = Scripted(("add_memory", f'{{"entries": ["{HENS}"]}}'), ("search_memory", '{"query": "hens"}'))
    async with KeepsMemoryStore("http://127.0.0.1:9", tenant_id="acme", user_id="alice") as store:
        agent = agent_of(store, model)
        assert str(await agent.invoke_async("Go.")).strip() == "Noted."
        await agent.shutdown_async()
        assert "Memory cannot be reached right now" in str(model.requests[-1])
        assert store.failures == {"search": 2, "add": 1, "add_messages": 1}
        with pytest.raises(AggregateMemoryError):
            await MemoryManager(stores=[store]).add(HENS)


async def test_store_that_only_reads(place: dict[str, Any]) -> None:
    async with KeepsMemoryStore(user_id="alice", writable=False, **place) as store:
        model = Scripted()
        agent = Agent(model=model, memory_manager=MemoryManager(stores=[store]), callback_handler=None)
        await agent.invoke_async(PEANUTS)
        await agent.shutdown_async()
        assert await store.search("peanuts") == []
    wrong: tuple[dict[str, Any], ...] = ({"name": " "}, {"max_search_results": 0})
    for given in wrong:
        with pytest.raises(ValueError, match=next(iter(given))):
            KeepsMemoryStore(**place, **given)


@pytest.fixture
def home(made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("strands")))
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow_step("a database of its own is made")
def test_the_example(home: None) -> None:
    model = Scripted()
    assert main(model) == ["Noted.", "Noted."]
    assert "<memory>" not in str(model.requests[0])
    assert "allergic to peanuts" in str(model.requests[1])


@pytest.mark.slow_step("a database of its own is made")
def test_the_page(home: None) -> None:
    """The block of the page that needs this environment."""
    page = ROOT / "docs" / "integrations.md"
    (block,) = [block for block in blocks(page) if "keeps.integrations.strands" in block.code]

    async def run() -> None:
        names: dict[str, Any] = {}
        await run_python(block, names, {}, "")
        done = names["store"].close()
        assert inspect.isawaitable(done)
        await done

    asyncio.run(run())
