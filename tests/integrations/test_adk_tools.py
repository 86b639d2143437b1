"""What ADK's tools answer: budgets, categories, ids as lines show them, and errors that only people can mend."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsSessionService, KeepsTools
from keeps.integrations.adk.memory import namespace_of
from keeps.integrations.budgets import tokens
from keeps.integrations.owners import Owners
from tests.integrations.test_adk import HENS, Scripted, call, event, session
from tests.serving import JWT_SECRET, serving, token

CONTEXT: Any = SimpleNamespace(
    user_id="alice", agent_name="butler", session=SimpleNamespace(app_name="concierge", id="s1", user_id="alice")
)


class Silent(Scripted):
    """A scripted model that does not show what it was asked: that may be no text."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content(role="model", parts=[self.answers.pop(0)]))


@pytest.fixture
async def tools(place: dict[str, Any]) -> AsyncIterator[KeepsTools]:
    made = KeepsTools(**place)
    yield made
    await made.close()


async def test_values_of_a_wrong_type(tools: KeepsTools) -> None:
    assert "Stored" in await tools.store_memory(HENS, "facts", 7, CONTEXT, tags="food", importance="0.9")
    assert "facts/7" in await tools.retrieve_memories(CONTEXT, tags="food")
    assert await tools.retrieve_memories(CONTEXT, tags="f") == "No memory matches."
    assert "facts/7" in await tools.retrieve_memories(CONTEXT, query=5, min_importance="0.7", limit="3")
    assert "min_importance: must be" in await tools.retrieve_memories(CONTEXT, min_importance=7)
    assert "importance" in await tools.store_memory(HENS, "facts", "k", CONTEXT, importance=90)
    assert "ttl_days" in await tools.store_memory(HENS, "facts", "k", CONTEXT, ttl_days=-1)
    assert "memory_id: '123' is not an id" in await tools.delete_memory(CONTEXT, memory_id=123)
    assert "hard_delete: must be true or false" in await tools.delete_memory(CONTEXT, "x", hard_delete="maybe")
    assert "permanently" in await tools.delete_memory(CONTEXT, namespace="facts", key=7, hard_delete="true")


async def test_an_answer_keeps_its_budget(tools: KeepsTools) -> None:
    for number in range(4):
        await tools.store_memory(f"Number {number} of the long texts. " + "word " * 300, "long", f"k{number}", CONTEXT)
    for arguments, budget in (({"max_tokens": 300}, 300), ({"max_tokens": "600", "query": "long"}, 600)):
        said = await tools.retrieve_memories(CONTEXT, **arguments)
        assert tokens(said) <= budget
        assert "are truncated" in said
        assert "max_tokens" in said
    assert "more match" in await tools.retrieve_memories(CONTEXT, max_tokens=200)
    assert 150 < tokens(await tools.retrieve_memories(CONTEXT, limit=1, max_tokens=300)) <= 300
    assert "truncated" not in await tools.retrieve_memories(CONTEXT)
    await tools.store_memory("Short.", "short", "k", CONTEXT)
    assert "truncated" not in await tools.retrieve_memories(CONTEXT, namespace="short")


async def test_ids_as_lines_show_them(tools: KeepsTools, place: dict[str, Any]) -> None:
    service = KeepsMemoryService(**place)
    said = session(event(HENS), event("Grace lays brown eggs."), event("Ada is grey."), event("Both sleep."))
    await service.add_session_to_memory(said)
    ids = [each.id for each in said.events]
    assert f"conversation/{ids[0]}" in await tools.retrieve_memories(CONTEXT, namespace="conversation")
    assert await tools.delete_memory(CONTEXT, memory_id=f"conversation/{ids[0]}") == (
        "Deleted. It can be restored for 30 days."
    )
    assert "Deleted" in await tools.delete_memory(CONTEXT, namespace="conversation", key=ids[1])
    assert "Deleted" in await tools.delete_memory(CONTEXT, memory_id=ids[2])
    (line,) = (await tools.retrieve_memories(CONTEXT)).splitlines()
    assert "Deleted" in await tools.delete_memory(CONTEXT, memory_id=line[line.index("id ") : -1])
    await service.add_session_to_memory(said)
    assert await tools.retrieve_memories(CONTEXT) == "No memory matches."
    await tools.store_memory(HENS, "pets/hens", "Ada/Grace", CONTEXT)
    assert "Deleted" in await tools.delete_memory(CONTEXT, memory_id="pets/hens/Ada/Grace")
    assert "No such memory" in await tools.delete_memory(CONTEXT, memory_id="pets/hens/Ada/Grace")
    await service.close()


@pytest.mark.parametrize("namespace", ["x" * 87, "y" * 100, "sha-x"])
async def test_a_long_category_is_one_of_its_own(tools: KeepsTools, namespace: str) -> None:
    assert f"Stored: {namespace}/k" in await tools.store_memory(HENS, namespace, "k", CONTEXT)
    assert HENS in await tools.retrieve_memories(CONTEXT, namespace=namespace)
    assert await tools.retrieve_memories(CONTEXT, namespace=namespace[:-1]) == "No memory matches."
    assert "Deleted" in await tools.delete_memory(CONTEXT, namespace=namespace, key="k")
    long = namespace_of("concierge", "x" * 90)
    assert len(long) <= 100
    assert namespace_of("concierge", long.rpartition("/")[2]) != long


@pytest.mark.parametrize("namespace", ["", " ", "z" * 101, "no good!"])
async def test_a_category_that_is_none_is_refused_by_name(tools: KeepsTools, namespace: str) -> None:
    said = await tools.store_memory(HENS, namespace, "k", CONTEXT)
    assert said.startswith("Nothing was done: namespace: ")


async def test_where_and_by_whom_is_stored(tools: KeepsTools, keeps: Keeps, tenant: str) -> None:
    await tools.store_memory(HENS, "facts", "hens", CONTEXT)
    (stored,) = await keeps.memory(Scope(tenant, "alice")).list()
    assert (stored.session_id, stored.agent_id) == ("s1", "butler")


async def test_errors_that_no_model_can_mend(keeps: Keeps, tenant: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, writes_per_minute=1) as url:
        cases = {
            "another user's": (token(tenant, "bob"), "tell the user"),
            "a reader's": (token(tenant, "alice", "reader"), "tell the user"),
            "a wrong one": ("nonsense", "tell the user"),
            "one with few writes": (token(tenant, "alice"), "call again"),
        }
        for name, (secret, advice) in cases.items():
            tools = KeepsTools(url, token=secret)
            with caplog.at_level(logging.WARNING, logger="keeps.integrations"):
                for key in ("one", "two"):
                    said = await tools.store_memory(HENS, "facts", key, CONTEXT)
            assert advice in said, (name, said)
            assert "Change" not in said, (name, said)
            assert tools.failures["store_memory"] >= 1, name
            assert "store_memory" in caplog.text
            caplog.clear()
            await tools.close()


async def test_the_environment_names_the_tenant(keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_TENANT_ID", f"{tenant}-env")
    assert Owners(keeps, tenant_id=tenant).tenant_id == tenant
    tools = KeepsTools(keeps)
    await tools.store_memory(HENS, "facts", "hens", CONTEXT)
    monkeypatch.setenv("KEEPS_TENANT_ID", f"{tenant}-other")
    other = KeepsTools(keeps)
    assert await other.retrieve_memories(CONTEXT) == "No memory matches."
    assert len(await keeps.memory(Scope(f"{tenant}-env", "alice")).list()) == 1
    monkeypatch.setenv("KEEPS_TENANT_ID", "")
    assert Owners(keeps).tenant_id is None


@pytest.mark.slow_step("ADK imports its parts when a runner first runs")
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
async def test_a_run_goes_on_after_text_that_cannot_be_stored(
    tools: KeepsTools, place: dict[str, Any], text: str
) -> None:
    answers = [
        call("retrieve_memories", query=text),
        call("store_memory", content="x", namespace="n", key="k", tags=[text]),
        types.Part(text=f"Done {text}."),
    ]
    agent = LlmAgent(name="butler", model=Silent(answers=answers, asked=[]), tools=[*tools.tools])
    async with KeepsSessionService(**place) as sessions:
        runner = Runner(agent=agent, app_name="concierge", session_service=sessions)
        made = await sessions.create_session(app_name="concierge", user_id="alice", state={text: text})
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events = [each async for each in runner.run_async(user_id="alice", session_id=made.id, new_message=message)]
        assert len(events) == 5
        read = await sessions.get_session(app_name="concierge", user_id="alice", session_id=made.id)
        assert read is not None
        assert [each.id for each in read.events[1:]] == [each.id for each in events]
        assert read.state["a\ufffdb"] == "a\ufffdb"
        await runner.close()


@pytest.mark.parametrize("timestamp", [1e18, math.nan, math.inf])
async def test_a_session_keeps_events_of_impossible_times(place: dict[str, Any], timestamp: float) -> None:
    async with KeepsSessionService(**place) as sessions:
        made = await sessions.create_session(app_name="app", user_id="alice")
        await sessions.append_event(made, event(HENS, timestamp=timestamp))
        read = await sessions.get_session(app_name="app", user_id="alice", session_id=made.id)
        assert read is not None
        assert len(read.events) == 1
        assert math.isfinite(read.events[0].timestamp)


@pytest.mark.parametrize("session_id", ["", "  ", "\t"])
async def test_a_blank_session_id_is_none(place: dict[str, Any], session_id: str) -> None:
    async with KeepsSessionService(**place) as sessions:
        made = await sessions.create_session(app_name="app", user_id="alice", session_id=session_id)
        assert made.id.strip()
        assert await sessions.get_session(app_name="app", user_id="alice", session_id=session_id) is None
        await sessions.delete_session(app_name="app", user_id="alice", session_id=session_id)
        read = await sessions.get_session(app_name="app", user_id="alice", session_id=f" {made.id} ")
        assert read is not None
        await sessions.delete_session(app_name="app", user_id="alice", session_id=f" {made.id} ")
        assert await sessions.get_session(app_name="app", user_id="alice", session_id=made.id) is None
