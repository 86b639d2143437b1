"""The same questions through every door at its default settings: no right answer is hidden."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types
from hindsight_client import Hindsight
from llama_index.core.llms import ChatMessage
from mcp import Client
from mem0 import AsyncMemoryClient
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsTools
from keeps.integrations.langchain import KeepsRetriever
from keeps.integrations.langgraph import KeepsStore
from keeps.integrations.llama_index import KeepsMemoryBlock
from keeps.integrations.mcp import memory_server
from keeps.integrations.pydantic_ai import KeepsToolset
from keeps.integrations.pydantic_ai_harness import KeepsMemoryStore
from keeps.memory.indexing.service import Indexer
from keeps_client import MemoryClient
from tests.serving import serving

SET = Path(__file__).parents[2] / "benchmarks" / "sets" / "few.jsonl"
STYLES = ("paraphrase", "third", "first")
"""Ways of asking that share few words with the memory."""
QUESTIONS = 48
LEAST_IN_CONTEXT = 47
"""A prompt is cut to what is relevant; every other door returns all that may be related."""
FROM_SHELL = 6


def _people() -> list[dict[str, Any]]:
    people = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    chosen: list[dict[str, Any]] = []
    for person in people:
        asked = [each for each in person["questions"] if each["answers"] and each["style"] in STYLES]
        if person["kind"] == "few" and person["language"] == "en" and asked:
            texts = {memory["id"]: memory["text"] for memory in person["memories"]}
            questions = [(each["query"], [texts[one] for one in each["answers"]]) for each in asked]
            chosen.append({"user": person["person"], "texts": list(texts.values()), "questions": questions})
    return chosen


def _context_of(user: str, app: str) -> Any:
    """What ADK's tools read of their context."""
    return SimpleNamespace(user_id=user, session=SimpleNamespace(app_name=app, id="s1", user_id=user))


def _pydantic_ai(tools: KeepsToolset) -> Any:
    """An agent whose model recalls what it is asked, and answers with the result."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        part: Any = messages[-1].parts[-1]
        if isinstance(part, UserPromptPart):
            return ModelResponse(parts=[ToolCallPart("recall", {"query": part.content})])
        return ModelResponse(parts=[TextPart(str(part.content))])

    return Agent(FunctionModel(answer), deps_type=str, toolsets=[tools])


async def _from_shell(url: str, tenant: str, user: str, question: str) -> str:
    command = "recall", question, "--url", url, "--tenant", tenant, "--user", user, "--json"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from keeps.doors.cli.main import main; main()", *command, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    return told.decode()


@pytest.mark.slow_step("ADK and MCP import their parts when they are first used")
async def test_every_door_tells_the_right_answer(keeps: Keeps, server_url: str, tenant: str) -> None:
    boss = keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"})))
    key = (await boss.admin.make_key("mem0", roles=("admin",))).secret
    place: dict[str, Any] = {"keeps": keeps, "tenant_id": tenant}
    tools, service = KeepsTools(**place), KeepsMemoryService(**place)
    pydantic_ai = _pydantic_ai(KeepsToolset(user_id=lambda ctx: ctx.deps, **place))
    harness = KeepsMemoryStore(**place)
    bounds = {"limit": 10, "max_files": 1_000, "max_chars": 4_000, "max_file_chars": 65_536}
    missed: dict[str, list[str]] = {}
    asked = 0
    async with serving(keeps, auth="keys", reads_per_minute=1_000_000) as mem0_url, KeepsStore(**place) as store:
        mem0 = await asyncio.to_thread(lambda: AsyncMemoryClient(api_key=key, host=f"{mem0_url}/mem0"))
        hindsight = Hindsight(base_url=f"{mem0_url}/hindsight", api_key=key)
        for person in _people():
            user, texts = person["user"], person["texts"]
            memory = keeps.memory(Scope(tenant, user))
            http = MemoryClient(server_url, tenant_id=tenant, user_id=user)
            retriever, block = KeepsRetriever(**place, user_id=user), KeepsMemoryBlock(**place, user_id=user)
            context = _context_of(f"{user}-tools", "app")
            events = [Event(author="user", content=types.UserContent(text)) for text in texts]
            await memory.remember_many([{"content": text} for text in texts], index="now")
            await service.add_session_to_memory(Session(id="s1", app_name="app", user_id=user, events=events))
            for number, text in enumerate(texts):
                await tools.store_memory(text, "told", f"m{number}", context)
                await store.aput((user,), f"m{number}", {"text": text})
                await harness.for_user(f"{user}-files").write(f"m{number}.md", text, expected_version=None)
            for each in (user, f"{user}-tools", f"{user}-files"):
                await keeps.service(Indexer).settle(Scope(tenant, each))
            await keeps.service(Indexer).settle(memory.scope)
            async with Client(memory_server(lambda memory=memory: memory)) as mcp, http:
                for question, answers in person["questions"][: QUESTIONS - asked]:
                    told = {
                        "library": [hit.memory.content for hit in (await memory.recall(question)).hits],
                        "context": (await memory.context(question)).text,
                        "HTTP": [hit.memory.content for hit in (await http.recall(question)).hits],
                        "MCP": str((await mcp.call_tool("recall", {"query": question})).structured_content),
                        "ADK tools": await tools.retrieve_memories(context, question),
                        "ADK memory service": [
                            each.content.parts[0].text
                            for each in (
                                await service.search_memory(app_name="app", user_id=user, query=question)
                            ).memories
                            if each.content.parts
                        ],
                        "Pydantic AI": str((await pydantic_ai.run(question, deps=user)).output),
                        "Pydantic AI's harness": [
                            match.snippet
                            for match in (
                                await harness.for_user(f"{user}-files").search("", question, **bounds)
                            ).matches
                        ],
                        "LangChain": [each.page_content for each in await retriever.ainvoke(question)],
                        "LlamaIndex": await block.aget([ChatMessage(question)]),
                        "LangGraph": [each.value["text"] for each in await store.asearch((user,), query=question)],
                        "mem0": [
                            each["memory"]
                            for each in (await mem0.search(question, filters={"user_id": user}))["results"]
                        ],
                        "Hindsight": [each.text for each in (await hindsight.arecall(user, question)).results],
                    }
                    if asked < FROM_SHELL:
                        told["command line"] = [
                            hit["memory"]["content"]
                            for hit in json.loads(await _from_shell(server_url, tenant, user, question))["hits"]
                        ]
                    asked += 1
                    for door, answer in told.items():
                        if not any(text in answer for text in answers):
                            missed.setdefault(door, []).append(f"{question} ({answers[0]})")
        await mem0.async_client.aclose()
        await hindsight.aclose()
    assert asked == QUESTIONS
    for door in ("context", "LlamaIndex"):
        assert len(missed.pop(door, [])) <= QUESTIONS - LEAST_IN_CONTEXT, door
    assert missed == {}
