"""What each adapter answers while PostgreSQL is dead, and after: the server is killed under them and brought back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import Message
from anthropic.lib.tools import ToolError
from google.adk.events import Event
from google.genai import types
from langchain_core.messages import HumanMessage
from llama_index.core.llms import ChatMessage
from mcp import Client
from pydantic_ai.exceptions import ToolFailed

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsSessionService
from keeps.integrations.agent_framework import KeepsHistoryProvider
from keeps.integrations.claude import KeepsAsyncMemoryTool
from keeps.integrations.langchain import KeepsChatMessageHistory, KeepsRetriever
from keeps.integrations.langgraph import KeepsStore
from keeps.integrations.llama_index import KeepsMemoryBlock
from keeps.integrations.mcp import memory_server
from keeps.integrations.memory_tools import model_tools
from keeps.integrations.owners import Owners
from keeps.integrations.pydantic_ai_harness import KeepsMemoryStore
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps_client.errors import UnavailableError
from tests.conftest import until
from tests.serving import serving

HENS = "I keep two hens called Ada and Grace."
AWAY = "cannot be reached right now"


@dataclass
class Broken:
    """An engine, served too, whose database a test may kill and bring back."""

    keeps: Keeps
    url: str
    home: Path

    def kill(self) -> None:
        pid = inspect_home(self.home).running_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    async def back(self) -> EmbeddedPostgres:
        opened = await EmbeddedPostgres.open(self.home)
        memory = self.keeps.memory(Scope("default", "nobody"))

        async def answers() -> bool:
            try:
                await memory.recall("hens")
            except UnavailableError:
                return False
            return True

        while not await answers():
            await asyncio.sleep(0.05)
        return opened


@pytest.fixture
async def broken(made_home: Callable[..., Path]) -> AsyncIterator[Broken]:
    home = made_home("broken")
    database = await EmbeddedPostgres.open(home)
    settings = Settings(home, database_url=database.url("keeps_app"), embedder="none")
    async with await open_keeps(settings) as keeps, serving(keeps) as url:
        yield Broken(keeps, url, home)
    await database.close()
    await until(lambda: inspect_home(home).running_pid is None, "the server ends")


AWAY_TO_A_READER = {
    "ADK": "0 entries",
    "ADK's sessions": "UnavailableError",
    "LangGraph": "None",
    "LangChain": "0 documents",
    "chat history": "0 messages",
    "LlamaIndex": "0 characters",
    "Claude": AWAY,
    "MCP": AWAY,
    "tools": AWAY,
    "files": AWAY,
    "Agent Framework": "UnavailableError",
    "mem0": "503",
    "Hindsight": "503",
}
AWAY_TO_A_WRITER = AWAY_TO_A_READER | dict.fromkeys(("LangGraph", "chat history"), "UnavailableError")
AWAY_TO_A_WRITER |= {"LlamaIndex": "0 messages"}


async def test_each_adapter_while_the_database_is_dead_and_after(broken: Broken) -> None:
    keeps = broken.keeps
    alices: dict[str, Any] = {"keeps": keeps, "user_id": "alice"}
    adk, sessions, store = KeepsMemoryService(keeps), KeepsSessionService(keeps), KeepsStore(**alices)
    retriever, history = KeepsRetriever(**alices), KeepsChatMessageHistory("said", **alices)
    claude, block = KeepsAsyncMemoryTool(**alices), KeepsMemoryBlock(**alices)
    sessions_of_agents = KeepsHistoryProvider(**alices)
    files, owners = KeepsMemoryStore(**alices), Owners(keeps)
    path = "/memories/hens.txt"
    tools = {tool.name: tool for tool in model_tools()}

    async def of_tool(name: str, **arguments: Any) -> str:
        """The tools of Pydantic AI, which adds only who is asking."""
        return str(await tools[name].call(owners, "bob", arguments))

    async def of_files(work: Awaitable[object]) -> str:
        try:
            return str(await work)
        except ToolFailed as error:
            return error.message

    async def of_mem0(path: str, **body: Any) -> str:
        async with httpx.AsyncClient(base_url=f"{broken.url}/mem0", headers={"X-User-ID": "alice"}) as http:
            answer = await http.post(path, json=body)
        return f"{len(answer.json()['results'])} results" if answer.is_success else str(answer.status_code)

    async def of_hindsight(path: str, **body: Any) -> str:
        async with httpx.AsyncClient(base_url=f"{broken.url}/hindsight/v1/default/banks/alice") as http:
            answer = await http.post(path, json=body)
        return str(answer.json()) if answer.is_success else str(answer.status_code)

    async def of_mcp(tool: str, **arguments: Any) -> str:
        async with Client(memory_server(lambda: keeps.memory(Scope("default", "alice")))) as client:
            told = await client.call_tool(tool, arguments)
        return str(told.content) if told.is_error else "done"

    async def of_claude(**command: Any) -> str:
        try:
            return str(await claude.call({"path": path, **command}))
        except ToolError as error:
            return str(error)

    async def searched() -> str:
        return f"{len((await adk.search_memory(app_name='app', user_id='alice', query='hens')).memories)} entries"

    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "ADK": searched,
        "ADK's sessions": lambda: sessions.get_session(app_name="app", user_id="alice", session_id="s"),
        "LangGraph": lambda: store.aget(("notes",), "hens"),
        "LangChain": lambda: counted(retriever.ainvoke("hens"), "documents"),
        "chat history": lambda: counted(history.aget_messages(), "messages"),
        "LlamaIndex": lambda: counted(block.aget([ChatMessage("hens")]), "characters"),
        "Claude": lambda: of_claude(command="view"),
        "MCP": lambda: of_mcp("recall", query="hens"),
        "tools": lambda: of_tool("recall", query="hens"),
        "files": lambda: of_files(files.list_paths(limit=10)),
        "Agent Framework": lambda: counted(sessions_of_agents.get_messages("s"), "messages"),
        "mem0": lambda: of_mem0("/v3/memories/search/", query="hens", threshold=0),
        "Hindsight": lambda: of_hindsight("/memories/recall", query="hens"),
    }
    said = Event(author="user", content=types.Content(role="user", parts=[types.Part(text=HENS)]))

    async def added() -> str:
        before = adk.failures["add_events_to_memory"]
        await adk.add_events_to_memory(app_name="app", user_id="alice", events=[said], session_id="s")
        return f"{1 - (adk.failures['add_events_to_memory'] - before)} entries"

    async def put() -> str:
        before = block.failures["aput"]
        await block.aput([ChatMessage(HENS)])
        return f"{1 - (block.failures['aput'] - before)} messages"

    writes: dict[str, Callable[[], Awaitable[object]]] = {
        "ADK": added,
        "ADK's sessions": lambda: sessions.create_session(app_name="app", user_id="alice", session_id="s"),
        "LangGraph": lambda: store.aput(("notes",), "hens", {"text": HENS}),
        "chat history": lambda: history.aadd_messages([HumanMessage(HENS)]),
        "LlamaIndex": put,
        "Claude": lambda: of_claude(command="create", file_text=HENS),
        "MCP": lambda: of_mcp("remember", content=HENS),
        "tools": lambda: of_tool("remember", content=HENS),
        "files": lambda: of_files(files.write("hens.md", HENS, expected_version=None)),
        "Agent Framework": lambda: sessions_of_agents.save_messages("s", [Message("user", [HENS])]),
        "mem0": lambda: of_mem0("/v3/memories/add/", messages=HENS, infer=False),
        "Hindsight": lambda: of_hindsight("/memories", items=[{"content": HENS}]),
    }
    empty = await answers(reads)
    broken.kill()
    for told, wanted in ((await answers(reads), AWAY_TO_A_READER), (await answers(writes), AWAY_TO_A_WRITER)):
        assert {name: what for name, what in told.items() if wanted[name] not in what} == {}
    again = await broken.back()
    assert await answers(reads) == empty, "nothing was half done"
    assert not [name for name, what in (await answers(writes)).items() if AWAY_TO_A_WRITER[name] in what]
    found = await answers(reads)
    assert [name for name in reads if found[name] == empty[name]] == ["MCP"], "each finds what is there now"
    for each in (adk, sessions, claude, files, sessions_of_agents, owners):
        await each.close()
    for each in (store, retriever, history, block):
        await each.aclose()
    await again.close()


async def answers(calls: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, call in calls.items():
        try:
            told[name] = str(await call())
        except UnavailableError as error:
            told[name] = type(error).__name__
    return told


async def counted(found: Awaitable[Sequence[object]], of_what: str) -> str:
    return f"{len(await found)} {of_what}"
