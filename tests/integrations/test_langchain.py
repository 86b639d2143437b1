"""LangChain's own tests of retrievers, and a chat's history, with Keeps behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.langchain import KeepsChatMessageHistory, KeepsRetriever
from keeps.integrations.owners import Owners
from keeps_client.errors import ForbiddenError, KeepsError
from tests.serving import token

HENS = "Alice keeps two hens called Ada and Grace."


@pytest.fixture
def home(made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("langchain")))
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow_step("a database of its own is made for each")
class TestLangChainsOwn(RetrieversIntegrationTests):
    """In a process without a loop of its own: the engine is opened beside it."""

    @pytest.fixture(autouse=True)
    def _filled(self, home: None) -> Any:
        owners = Owners()
        for text in (
            HENS,
            "The hens lay brown eggs.",
            "A hen house stands in the garden.",
            "The ferry leaves at nine.",
        ):
            owners.now(owners.ask("alice", lambda memory, text=text: memory.remember(text)))
        yield
        owners.close_now()

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return KeepsRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"user_id": "alice"}

    @property
    def retriever_query_example(self) -> str:
        return "What are the hens called?"


@pytest.fixture
async def alice(keeps: Keeps, tenant: str) -> Any:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(HENS, tags=["pets"], metadata={"from": "letter"})
    await memory.add_document("# Leave\n\nLeave is asked for by Friday.", title="Handbook", source="handbook.md")
    return memory


async def test_memories_and_documents_are_found(place: dict[str, Any], alice: Any) -> None:
    retriever = KeepsRetriever(**place, user_id="alice")
    found, *_ = await retriever.ainvoke("What are the hens called?")
    assert (found.page_content, found.metadata["tags"], found.metadata["from"]) == (HENS, ["pets"], "letter")
    assert found.metadata["relevance"] > 0.5
    far, *_ = await retriever.ainvoke("What must she not forget to feed?")
    assert (far.page_content, far.metadata["archived"]) == (HENS, False)
    strict = KeepsRetriever(**place, user_id="alice", min_relevance=0.35)
    assert await strict.ainvoke("Which bus goes to the airport?") == []
    await strict.aclose()
    assert await retriever.ainvoke("  ") == []
    assert await retriever.ainvoke("hens", k=1)
    await retriever.aclose()
    documents = KeepsRetriever(**place, user_id="alice", source="documents")
    (passage, *_) = await documents.ainvoke("By when must leave be asked for?")
    assert (passage.metadata["title"], passage.metadata["source"]) == ("Handbook", "handbook.md")
    await documents.aclose()


async def test_the_user_may_come_with_the_call(place: dict[str, Any], alice: Any) -> None:
    retriever = KeepsRetriever(**place)
    question = "What are the hens called?"

    async def ask(said: str) -> list[str]:
        """The hens; the organisation's documents are everybody's."""
        return [each.page_content for each in await retriever.ainvoke(said) if each.page_content == HENS]

    chain = RunnableLambda(ask)
    assert await ask(question) == []
    assert await chain.ainvoke(question, {"configurable": {"user_id": "alice"}}) == [HENS]
    assert await chain.ainvoke(question, {"configurable": {"user_id": "bob"}}) == []
    await retriever.aclose()


async def test_another_tenant_and_another_user(secured_url: str, alice: Any, tenant: str) -> None:
    retriever = KeepsRetriever(keeps=secured_url, token=token(f"{tenant}-other", "alice"))
    assert await retriever.ainvoke("What are the hens called?") == []
    await retriever.aclose()
    bound = KeepsRetriever(keeps=secured_url, token=token(tenant, "bob"), user_id="alice")
    with pytest.raises(ForbiddenError):
        await bound.ainvoke("What are the hens called?")
    await bound.aclose()


async def test_where_memory_is_away_nothing_is_found() -> None:
    retriever = KeepsRetriever(keeps="http://127.0.0.1:9", tenant_id="acme", user_id="alice")
    assert await retriever.ainvoke("hens") == []
    assert retriever.failures == {"retrieve": 1}
    await retriever.aclose()
    history = KeepsChatMessageHistory("s", "http://127.0.0.1:9", tenant_id="acme")
    assert await history.aget_messages() == []
    assert history.failures == {"messages": 1}
    with pytest.raises(KeepsError):
        await history.aadd_messages([HumanMessage("hello")])
    await history.aclose()


@pytest.fixture
async def history(place: dict[str, Any]) -> AsyncIterator[KeepsChatMessageHistory]:
    made = KeepsChatMessageHistory("s/1", **place, user_id="alice")
    yield made
    await made.aclose()


async def test_messages_come_back_as_they_are(history: KeepsChatMessageHistory, place: dict[str, Any]) -> None:
    assert await history.aget_messages() == []
    said: list[BaseMessage] = [
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "žluťoučký 🐴"}], id="m1", additional_kwargs={"x": [1]}),
        AIMessage("", tool_calls=[{"name": "find", "args": {"q": "hens"}, "id": "c1"}]),
        ToolMessage("two", tool_call_id="c1", artifact={"n": 2}),
    ]
    await history.aadd_messages(said[:2])
    await history.aadd_messages(said[2:])
    await history.aadd_messages([])
    assert await history.aget_messages() == said
    other = KeepsChatMessageHistory("s/1", **place, user_id="bob")
    assert await other.aget_messages() == []
    await other.aclose()
    await history.aclear()
    await history.aclear()
    assert await history.aget_messages() == []


async def test_two_that_add_at_once_lose_none(history: KeepsChatMessageHistory) -> None:
    await asyncio.gather(*(history.aadd_messages([HumanMessage(str(n))]) for n in range(20)))
    assert sorted(int(str(each.text)) for each in await history.aget_messages()) == list(range(20))


async def test_what_is_said_may_become_memory(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    history = KeepsChatMessageHistory("s", **place, user_id="alice", remember=True)
    await history.aadd_messages([HumanMessage("I keep two hens called Ada and Grace."), AIMessage("What names!")])
    found = await keeps.memory(Scope(tenant, "alice")).recall("What are the hens called?")
    assert "Ada" in found.hits[0].memory.content
    await history.aclose()


@pytest.mark.slow_step("a database of its own is made")
def test_a_history_without_await(home: None) -> None:
    history = KeepsChatMessageHistory("s", user_id="alice")
    history.add_user_message("Hello.")
    history.add_ai_message("Good morning.")
    assert [each.text for each in history.messages] == ["Hello.", "Good morning."]
    history.clear()
    assert history.messages == []
    history.close()
