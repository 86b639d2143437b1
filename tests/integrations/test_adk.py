"""ADK's own classes with Keeps behind them: what is said is found later by its user in its app, and by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from examples.adk_agent import main
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsSessionService, KeepsTools, register

MOON, HENS = "The moon landing model stands on my desk.", "I keep two hens called Ada and Grace."


def event(text: str, author: str = "user", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, content=types.Content(role=role, parts=[types.Part(text=text)]), **fields)


def session(*events: Event, app: str = "concierge", user: str = "alice", session_id: str = "s1") -> Session:
    return Session(id=session_id, app_name=app, user_id=user, events=list(events))


@pytest.fixture
async def service(place: dict[str, Any]) -> AsyncIterator[KeepsMemoryService]:
    made = KeepsMemoryService(**place)
    yield made
    await made.close()


async def found(service: KeepsMemoryService, query: str, app: str = "concierge", user: str = "alice") -> list[str]:
    answer = await service.search_memory(app_name=app, user_id=user, query=query)
    return [each.content.parts[0].text or "" for each in answer.memories if each.content.parts]


async def test_a_session_is_found_later_each_event_once(service: KeepsMemoryService) -> None:
    said = session(event(HENS), event("What lovely names.", "butler"), event(MOON))
    await service.add_session_to_memory(said)
    said.events.append(event("Grace lays brown eggs."))
    await asyncio.gather(*(service.add_session_to_memory(said) for _ in range(3)))
    assert sorted(await found(service, "hens Ada Grace")).count(HENS) == 1
    assert (await found(service, "What stands on my desk?"))[0] == MOON
    answer = await service.search_memory(app_name="concierge", user_id="alice", query="What are my hens called?")
    entry = answer.memories[0]
    assert entry.content.parts is not None
    assert (entry.author, entry.content.role, entry.content.parts[0].text) == ("user", "user", HENS)
    assert entry.timestamp is not None
    assert datetime.fromisoformat(entry.timestamp).timestamp() == pytest.approx(said.events[0].timestamp, abs=0.001)
    assert service.failures == {}


async def test_a_right_answer_in_other_words_is_found(service: KeepsMemoryService) -> None:
    await service.add_session_to_memory(session(event("I'm allergic to shellfish."), event(MOON)))
    asked = "What food should she avoid?"
    assert "shellfish" in (await found(service, asked))[0]
    answer = await service.search_memory(app_name="concierge", user_id="alice", query=asked)
    assert answer.memories[0].custom_metadata["relevance"] > 0.25
    assert await found(service, "  ") == []


async def test_what_is_no_text_for_others_is_left_out(service: KeepsMemoryService) -> None:
    thought = Event(
        author="butler",
        content=types.Content(
            role="model", parts=[types.Part(text="Hens again!", thought=True), types.Part(text="Your hens are well.")]
        ),
    )
    call = Event(
        author="butler",
        content=types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(name="hens", args={}))]),
    )
    await service.add_session_to_memory(session(thought, call, event("Hens, hen", partial=True), Event(author="user")))
    assert await found(service, "How are the hens?") == ["Your hens are well."]


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (("concierge", "alice"), ("concierge", "bob")),
        (("concierge", "alice"), ("butler", "alice")),
        (("a/b", "c"), ("a", "b/c")),
        (("a", "b"), ("a/b", "b")),
        (("Привет 🌍", "ünï/çødé"), ("Привет 🌎", "ünï/çødé")),
        (("sha-x", "alice"), ("sha-y", "alice")),
    ],
)
async def test_users_and_apps_never_run_together(
    service: KeepsMemoryService, mine: tuple[str, str], other: tuple[str, str]
) -> None:
    await service.add_session_to_memory(session(event(HENS), app=mine[0], user=mine[1]))
    assert await found(service, "hens", *mine) == [HENS]
    assert await found(service, "hens", *other) == []
    (entry,) = (await service.search_memory(app_name=mine[0], user_id=mine[1], query="hens")).memories
    await service.delete_memory(app_name=other[0], user_id=other[1], memory_id=entry.id)
    assert service.failures["delete_memory"] == 1
    assert await found(service, "hens", *mine) == [HENS]


async def test_what_others_share_is_not_what_one_said(service: KeepsMemoryService, keeps: Keeps, tenant: str) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.remember("Alice, send all hens to Bob.", visibility="tenant", metadata={"adk_app": "concierge"})
    await service.add_session_to_memory(session(event(HENS)))
    assert await found(service, "hens") == [HENS]


async def test_what_is_deleted_does_not_come_back(service: KeepsMemoryService) -> None:
    said = session(event(HENS), event(MOON))
    await service.add_session_to_memory(said)
    entry = (await service.search_memory(app_name="concierge", user_id="alice", query="hens")).memories[0]
    await service.delete_memory(app_name="concierge", user_id="alice", memory_id=entry.id)
    await service.add_session_to_memory(said)
    assert HENS not in await found(service, "hens")
    assert await found(service, "moon") == [MOON]
    for nothing in (entry.id, None, "", "memory-12"):  # no error, as in ADK's own services
        await service.delete_memory(app_name="concierge", user_id="alice", memory_id=nothing)
    assert service.failures["delete_memory"] == 4


@pytest.mark.parametrize("way", ["forgotten for good", "forgotten", "expired"])
async def test_what_left_keeps_does_not_come_back(
    service: KeepsMemoryService, keeps: Keeps, tenant: str, way: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    said = session(event(HENS), event(MOON))
    ends = {"ttl_days": 1} if way == "expired" else None
    place = {"app_name": "concierge", "user_id": "alice", "session_id": "s1"}
    await service.add_events_to_memory(events=said.events, custom_metadata=ends, **place)
    for each in (await memory.list()).items:
        # What expired is removed by the worker, as what is forgotten for good is.
        await memory.forget(each.memory_id, hard=way != "forgotten")
    assert await found(service, "hens") == []
    said.events.append(event("Grace lays brown eggs."))
    await service.add_session_to_memory(said)
    assert await found(service, "hens") == ["Grace lays brown eggs."]


async def test_an_event_of_an_earlier_version_is_marked(service: KeepsMemoryService, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    said = session(event(HENS))
    stored = await memory.remember(
        HENS, namespace="adk/concierge", key=said.events[0].id, metadata={"adk_app": "concierge"}
    )
    await service.add_session_to_memory(said)
    assert stored.memory_id is not None
    await memory.forget(stored.memory_id, hard=True)
    await service.add_session_to_memory(said)
    assert await found(service, "hens") == []


@pytest.mark.parametrize("timestamp", [1e18, -1e18, float("nan"), float("inf"), 1.7e12 * 1_000])
async def test_an_impossible_time_costs_no_event(service: KeepsMemoryService, timestamp: float) -> None:
    await service.add_session_to_memory(session(event(MOON), event(HENS, timestamp=timestamp)))
    assert await found(service, "moon") == [MOON, HENS]


async def test_nobody_else_decides_what_is_known(service: KeepsMemoryService, keeps: Keeps, tenant: str) -> None:
    """Neither by what others share, nor by anything that they may write: marks of what was deleted are the user's."""
    bob = keeps.memory(Scope(tenant, "bob"))
    hens, moon = event(HENS), event(MOON)
    await bob.remember("A decoy.", namespace="adk/concierge", key=moon.id, visibility="tenant")
    await service.add_session_to_memory(session(hens))
    entry = (await service.search_memory(app_name="concierge", user_id="alice", query="hens")).memories[0]
    await service.delete_memory(app_name="concierge", user_id="alice", memory_id=entry.id)
    assert await bob.search_items() == []
    await service.add_session_to_memory(session(hens, moon))
    assert await found(service, "moon") == [MOON]
    assert HENS not in await found(service, "hens")


@pytest.mark.parametrize("user", [" alice", "alice ", "\talice", "alice\x7f", "", "x" * 256])
async def test_an_id_that_a_header_would_change_is_nobody(service: KeepsMemoryService, user: str) -> None:
    await service.add_session_to_memory(session(event(HENS)))
    assert await found(service, "hens", "concierge", user) == []
    assert service.failures["search_memory"] == 1


async def test_memories_and_parts_of_a_session_are_stored(service: KeepsMemoryService) -> None:
    await service.add_events_to_memory(
        app_name="concierge", user_id="alice", events=[event(HENS)], custom_metadata={"ttl_days": 30, "mood": "glad"}
    )
    entry = MemoryEntry(
        content=types.Content(parts=[types.Part(text=MOON)]), author="curator", timestamp="1969-07-20T20:17:40+00:00"
    )
    await service.add_memory(app_name="concierge", user_id="alice", memories=[entry])
    kept = (await service.search_memory(app_name="concierge", user_id="alice", query="moon landing")).memories[0]
    assert (kept.author, kept.timestamp) == ("curator", "1969-07-20T20:17:40+00:00")
    hens = (await service.search_memory(app_name="concierge", user_id="alice", query="hens")).memories[0]
    assert hens.custom_metadata["mood"] == "glad"
    assert set(hens.custom_metadata) == {"mood", "relevance"}


async def test_where_memory_is_away_the_agent_goes_on(tenant: str) -> None:
    service = KeepsMemoryService("http://127.0.0.1:9", tenant_id=tenant)
    assert await found(service, "hens") == []
    await service.add_session_to_memory(session(event(HENS)))
    assert service.failures == {"search_memory": 1, "add_events_to_memory": 1}
    await service.close()


async def test_what_cannot_be_stored_costs_no_other(service: KeepsMemoryService) -> None:
    await service.add_session_to_memory(
        session(event("x" * 60_000), event("a\x00b"), event("\ud800"), event(HENS), event("", "butler"))
    )
    assert await found(service, "hens") == [HENS]
    assert service.failures["add_events_to_memory"] == 3
    for query in ("a\x00b", "hens " * 20_000, "\ud800", "🐔", "דג"):
        await service.search_memory(app_name="concierge", user_id="alice", query=query)
    assert await found(service, "hens", user="bob") == []


class Scripted(BaseLlm):
    """A model that says what it is told to say, and shows what it was asked."""

    model: str = "scripted"
    answers: list[types.Part] = []  # noqa: RUF012  pydantic copies it
    asked: list[str] = []  # noqa: RUF012

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request.model_dump_json())
        yield LlmResponse(content=types.Content(role="model", parts=[self.answers.pop(0)]))


def call(name: str, **arguments: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


async def talk(service: KeepsMemoryService, model: Scripted, tools: list[Any], text: str) -> list[Event]:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="butler", model=model, tools=tools, instruction="Help.")
    runner = Runner(agent=agent, app_name="concierge", session_service=sessions, memory_service=service)
    made = await sessions.create_session(app_name="concierge", user_id="alice")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    events = [each async for each in runner.run_async(user_id="alice", session_id=made.id, new_message=message)]
    await runner.close()
    return events


@pytest.mark.slow_step("ADK imports its parts when a runner first runs")
async def test_load_memory_and_preload_memory_in_a_runner(service: KeepsMemoryService) -> None:
    await service.add_session_to_memory(session(event(HENS)))
    model = Scripted(answers=[call("load_memory", query="hens"), types.Part(text="Ada and Grace.")], asked=[])
    events = await talk(service, model, [load_memory], "What are my hens called?")
    assert HENS in model.asked[1]
    assert events[-1].content is not None
    model = Scripted(answers=[types.Part(text="Ada and Grace.")], asked=[])
    await talk(service, model, [PreloadMemoryTool()], "What are my hens called?")
    assert HENS in model.asked[0]


def told(events: list[Event]) -> list[str]:
    return [
        str((part.function_response.response or {}).get("result"))
        for each in events
        for part in (each.content.parts if each.content and each.content.parts else [])
        if part.function_response is not None
    ]


@pytest.mark.slow_step("ADK imports its parts when a runner first runs")
async def test_tools_store_retrieve_and_delete(service: KeepsMemoryService, place: dict[str, Any]) -> None:
    tools = KeepsTools(**place)
    style = {"content": "The user wants APA citations.", "namespace": "preferences", "key": "citation_style"}
    model = Scripted(
        answers=[
            call("store_memory", **style, tags=["formatting", "academic"], importance=0.9),
            call("store_memory", **{**style, "content": "The user wants MLA citations."}, tags=["formatting"]),
            call("store_memory", content="Works on qubits.", namespace="research", key="topic", ttl_days=30),
            call("retrieve_memories", namespace="preferences"),
            call("retrieve_memories", tags=["formatting", "academic"], all_tags=True),
            call("retrieve_memories", min_importance=0.8),
            call("retrieve_memories", query="Which citation style?"),
            call("delete_memory", namespace="preferences", key="citation_style"),
            call("retrieve_memories", query="Which citation style?"),
            call("delete_memory", namespace="preferences", key="citation_style"),
            call("delete_memory"),
            call("store_memory", content="x", namespace="bad name!", key="k"),
            call("retrieve_memories", limit="many", min_importance="very"),
            call("delete_memory", memory_id="../../etc"),
            types.Part(text="Done."),
        ],
        asked=[],
    )
    answers = told(await talk(service, model, [*tools.tools], "Remember my style."))
    assert "tool_context" not in model.asked[0]
    assert [each.partition(":")[0] for each in answers[:3]] == ["Stored", "Replaced", "Stored"]
    assert "MLA" in answers[3]
    assert "APA" not in answers[3]
    assert answers[4] == "No memory matches."
    assert "MLA" in answers[5], "importance stays where it is left out"
    assert "preferences/citation_style: The user wants MLA citations." in answers[6]
    assert answers[7].startswith("Deleted.")
    assert answers[8].startswith("- research/topic: (may be related) Works on qubits.")
    assert "No such memory" in answers[9]
    assert "Give memory_id" in answers[10]
    assert answers[11].startswith("Nothing was done: ")
    assert answers[12].startswith("Nothing was done: ")
    assert "No such memory" in answers[13]
    await tools.close()


@pytest.mark.slow_step("ADK imports its parts when a runner first runs")
async def test_tools_answer_in_a_sentence_where_memory_is_away(service: KeepsMemoryService, tenant: str) -> None:
    tools = KeepsTools("http://127.0.0.1:9", tenant_id=tenant)
    model = Scripted(answers=[call("retrieve_memories", query="hens"), types.Part(text="I cannot say.")], asked=[])
    (answer,) = told(await talk(service, model, [*tools.tools], "What are my hens called?"))
    assert "cannot be reached" in answer
    await tools.close()


async def test_a_uri_names_it(server_url: str, tenant: str) -> None:
    from google.adk.cli.service_registry import get_service_registry

    register()
    made = get_service_registry().create_memory_service(f"keeps:{server_url}", agents_dir=".", tenant_id=tenant)
    assert isinstance(made, KeepsMemoryService)
    await made.add_session_to_memory(session(event(HENS)))
    assert await found(made, "hens") == [HENS]
    await made.close()
    sessions = get_service_registry().create_session_service(f"keeps:{server_url}", agents_dir=".", tenant_id=tenant)
    assert isinstance(sessions, KeepsSessionService)
    begun = await sessions.create_session(app_name="concierge", user_id="alice")
    assert (await sessions.list_sessions(app_name="concierge", user_id="alice")).sessions == [begun]
    await sessions.close()


async def test_a_loop_of_its_own(server_url: str, tenant: str) -> None:
    """ADK's `Runner.run` has each run in a thread with a new loop."""
    service = KeepsMemoryService(server_url, tenant_id=tenant)
    said = session(event(HENS))

    def in_a_thread() -> list[str]:
        async def work() -> list[str]:
            await service.add_session_to_memory(said)
            return await found(service, "hens")

        return asyncio.run(work())

    assert await asyncio.to_thread(in_a_thread) == [HENS]
    assert await asyncio.to_thread(in_a_thread) == [HENS]
    assert await found(service, "hens") == [HENS]
    await service.close()


async def test_a_key_of_one_user_serves_that_user_only(secured_url: str, keeps: Keeps, tenant: str) -> None:
    from tests.serving import token

    service = KeepsMemoryService(secured_url, token=token(tenant, "alice", "writer"))
    await service.add_session_to_memory(session(event(HENS)))
    assert await found(service, "hens") == [HENS]
    with pytest.raises(Exception, match=r"user"):
        await found(service, "hens", user="bob")
    await service.close()


async def test_a_file_of_services_names_it(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.adk.cli.service_registry import get_service_registry, load_services_module

    (tmp_path / "services.yaml").write_text(
        "services:\n  - scheme: remembers\n    type: memory\n    class: keeps.integrations.adk.KeepsMemoryService\n"
    )
    load_services_module(str(tmp_path))
    made = get_service_registry().create_memory_service(f"remembers:{server_url}", agents_dir=str(tmp_path))
    assert isinstance(made, KeepsMemoryService)


@pytest.mark.slow_step("ADK imports its parts when a runner first runs")
async def test_the_example(place: dict[str, Any]) -> None:
    memory, tools, sessions = KeepsMemoryService(**place), KeepsTools(**place), KeepsSessionService(**place)
    model = Scripted(
        answers=[
            call("store_memory", content="Loves the sea.", namespace="preferences", key="sea"),
            types.Part(text="Noted."),
            types.Part(text="No peanuts."),
        ],
        asked=[],
    )
    assert await main(model, memory, tools, sessions) == ["Noted.", "No peanuts."]
    assert "I'm allergic to peanuts" in model.asked[-1], "the second conversation begins with what the first said"
    for each in (memory, tools, sessions):
        await each.close()


@pytest.mark.parametrize("text", ["The passport is at the hotel.", "The passport is in the safe."], ids=["same", "new"])
@pytest.mark.parametrize("ttl_days", [None, 0])
async def test_a_tool_that_leaves_out_the_end_keeps_for_good(
    keeps: Keeps, place: dict[str, Any], tenant: str, text: str, ttl_days: float | None
) -> None:
    tools = KeepsTools(**place)
    context: Any = SimpleNamespace(user_id="alice", session=SimpleNamespace(app_name="app", id="s1", user_id="alice"))
    first = {"tags": ["papers"], "importance": 0.9, "ttl_days": 5}
    assert "Stored" in await tools.store_memory("The passport is at the hotel.", "papers", "passport", context, **first)
    assert "Replaced" in await tools.store_memory(text, "papers", "passport", context, ttl_days=ttl_days)
    (stored,) = await keeps.memory(Scope(tenant, "alice")).list()
    assert (stored.content, stored.expires_at, stored.tags, stored.importance) == (text, None, ("papers",), 0.9)
    await tools.close()


async def test_bare_memory_is_found_again(place: dict[str, Any]) -> None:
    """An entry without metadata knows its app at once, and a repetition changes nothing."""
    service = KeepsMemoryService(**place)
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="Alice keeps two hens.")]))
    for _ in range(2):
        await service.add_memory(app_name="shop", user_id="alice", memories=[entry])
        found = await service.search_memory(app_name="shop", user_id="alice", query="hens")
        assert [each.content.parts[0].text for each in found.memories if each.content.parts] == [
            "Alice keeps two hens."
        ]
    await service.close()
