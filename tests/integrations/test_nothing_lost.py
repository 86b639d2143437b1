"""What frameworks store is read at their own doors, and in Keeps, as it was given."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}  # read when mem0 is imported

from hindsight_client import Hindsight
from mem0 import AsyncMemoryClient

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsSessionService, KeepsTools
from keeps.integrations.adk.memory import namespace_of
from keeps.integrations.claude import KeepsAsyncMemoryTool
from keeps.integrations.langgraph import KeepsStore
from keeps.integrations.mcp import graph_server, memory_server
from keeps.integrations.pydantic_ai_harness import KeepsMemoryStore
from keeps_client import MemoryClient
from tests.given import AGENTS, APPS, RUNS, TEXTS, USERS, VALUES, Given, Memories, Picker, same, shown
from tests.serving import serving

STEPS = 60
Place = dict[str, Any]


class Doors:
    """What frameworks do with the memories of a tenant, and a plain model of what they stored."""

    def __init__(self, keeps: Keeps, tenant: str, seed: int, mem0: Any, hindsight: Hindsight, place: Place) -> None:
        """`place`: where the adapters find their memories."""
        self.keeps, self.tenant, self.mem0, self.hindsight, self.place = keeps, tenant, mem0, hindsight, place
        self.pick, self.model = Picker(seed), Memories()
        self.store = KeepsStore(user_label=0, **place)
        self.tools = KeepsTools(**place)
        self.service = KeepsMemoryService(**place)
        self.sessions = KeepsSessionService(**place)
        self.notes = KeepsMemoryStore(**place)
        self.pages: dict[tuple[str, str], str] = {}
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.observations: dict[str, list[str]] = {}
        self.events: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
        self.states: dict[tuple[str, str, str], dict[str, Any]] = {}

    async def close(self) -> None:
        await self.store.aclose()
        for each in (self.tools, self.service, self.sessions, self.notes):
            await each.close()

    @asynccontextmanager
    async def graph(self, user: str) -> AsyncIterator[Client]:
        """The server of a graph, over a memory in process or a client's."""
        url = self.place["keeps"]
        async with AsyncExitStack() as stack:
            memory = self.memory(user)
            if isinstance(url, str):
                memory = await stack.enter_async_context(MemoryClient(url, token=self.place["token"], user_id=user))
            yield await stack.enter_async_context(Client(graph_server(lambda: memory)))

    @asynccontextmanager
    async def mcp(self, user: str) -> AsyncIterator[Client]:
        """The server of memories: in process, or as `/mcp` of the HTTP server."""
        url = self.place["keeps"]
        async with AsyncExitStack() as stack:
            if isinstance(url, str):
                headers = {"Authorization": f"Bearer {self.place['token']}", "X-User-ID": user}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
                yield await stack.enter_async_context(Client(streamable_http_client(f"{url}/mcp", http_client=http)))
            else:
                yield await stack.enter_async_context(Client(memory_server(lambda: self.memory(user))))

    def memory(self, user: str) -> Any:
        return self.keeps.memory(Scope(self.tenant, user))

    async def by_mem0(self, user: str) -> None:
        pick = self.pick
        text, app = pick.some(*TEXTS), pick.some(*APPS)
        named = {"agent_id": pick.some(*AGENTS), "run_id": pick.some(*RUNS), "app_id": app}
        metadata = pick.some(None, {"topic": pick.some(*TEXTS), "n": 1})
        categories = pick.some(None, ["style"])
        more = {"metadata": metadata, "categories": categories}
        said = {name: value for name, value in (named | more).items() if value is not None}
        await self.mem0.add(text, user_id=user, infer=False, **said)
        fields: dict[str, Any] = {"content": text, "role": "user"}
        fields |= {"metadata": {**(metadata or {}), **({"app_id": app} if app else {})}}
        fields |= {"agent_id": named["agent_id"]} if named["agent_id"] else {}
        fields |= {"session_id": named["run_id"]} if named["run_id"] else {}
        fields |= {"tags": categories} if categories else {}
        if not metadata and self.model.place(Given(user, None, fields)) in self.model.stored:
            known = self.model.stored[self.model.place(Given(user, None, fields))]
            fields["metadata"] = known["metadata"]
        self.model.write(Given(user, None, fields))

    async def by_hindsight(self, user: str) -> None:
        pick = self.pick
        fields: dict[str, Any] = {"content": pick.some(*TEXTS), "source": "hindsight"}
        fields |= {"tags": pick.some(["style"], ["a", "b"])} if pick.often() else {}
        fields |= {"metadata": {"topic": pick.some(*TEXTS)}} if pick.often() else {}
        document = pick.some(*RUNS)
        given: Any = {name: fields.get(name) for name in ("tags", "metadata")}
        await self.hindsight.aretain(user, fields["content"], document_id=document, update_mode="append", **given)
        fields |= {"session_id": document} if document else {}
        self.model.write(Given(user, None, fields))

    async def by_mcp(self, user: str) -> None:
        pick = self.pick
        fields: dict[str, Any] = {"content": pick.some(*TEXTS)}
        fields |= {"tags": ["t", "u"]} if pick.often() else {}
        fields |= {"importance": pick.some(0.0, 0.75)} if pick.often() else {}
        fields |= {"namespace": "mcp", "key": pick.some(*TEXTS[:3])} if pick.often() else {}
        async with self.mcp(user) as client:
            done = await client.call_tool("remember", fields)
        assert not done.is_error, done
        self.model.write(Given(user, None, fields))

    async def by_adk(self, user: str) -> None:
        pick = self.pick
        name, key, text = pick.some("preferences", "facts"), pick.some("k", TEXTS[4]), pick.some(*TEXTS)
        given: dict[str, Any] = {"importance": pick.some(0.25, 1.0)} if pick.often() else {}
        given |= {"tags": ["t"]} if pick.often() else {}
        context: Any = SimpleNamespace(user_id=user, session=SimpleNamespace(app_name="shop", id="s", user_id=user))
        said = await self.tools.store_memory(text, name, key, context, **given)
        assert said.startswith(("Stored", "Replaced", "Known", "Already stored")), said
        metadata = {"adk_app": "shop", "namespace": name}
        fields = {"content": text, "namespace": namespace_of("shop", name), "key": key, "metadata": metadata}
        self.model.write(Given(user, None, fields | given))

    async def by_adk_memory(self, user: str) -> None:
        pick = self.pick
        text, rest = pick.some(*TEXTS[:4]), pick.some({}, {"topic": pick.some(*TEXTS)})
        entry = MemoryEntry(content=types.Content(parts=[types.Part(text=text)]), custom_metadata=rest)
        await self.service.add_memory(app_name="shop", user_id=user, memories=[entry])
        fields = {"content": text, "namespace": namespace_of("shop"), "metadata": {**rest, "adk_app": "shop"}}
        place = self.model.place(Given(user, None, fields))
        if not rest and place in self.model.stored:
            del fields["metadata"]
        self.model.write(Given(user, None, fields))

    async def by_langgraph(self, user: str) -> None:
        key, value = self.pick.some("k", *TEXTS[:6]), {**self.pick.metadata(), "text": self.pick.some(*TEXTS)}
        await self.store.aput((user, "ключ"), key, value)
        self.items[user, key] = value

    async def by_claude(self, user: str) -> None:
        path, text = (
            self.pick.some("/memories/a.md", "/memories/ünï/b c.txt"),
            "\n".join(self.pick.some(*TEXTS) for _ in "ab"),
        )
        if (user, path) in self.files:
            return
        tool = KeepsAsyncMemoryTool(user_id=user, **self.place)
        await tool.create(Create(command="create", path=path, file_text=text))
        self.files[user, path] = text
        await tool.close()

    async def by_pydantic_ai(self, user: str) -> None:
        """A file of the harness, which is written over."""
        path, text = self.pick.some("main/MEMORY.md", "main/b.md"), "\n".join(self.pick.some(*TEXTS) for _ in "ab")
        store = self.notes.for_user(user)
        file = await store.read(path, max_chars=1)
        await store.write(path, text, expected_version=file and file.version)
        self.pages[user, path] = text

    async def by_graph_server(self, user: str) -> None:
        text = self.pick.some(*TEXTS)
        name = f"{user} 👩‍👩‍👧"
        async with self.graph(user) as client:
            await client.call_tool(
                "create_entities", {"entities": [{"name": name, "entityType": "person", "observations": []}]}
            )
            added = {"entityName": name, "contents": [text]}
            done = await client.call_tool("add_observations", {"observations": [added]})
        assert not done.is_error, done
        held = self.observations.setdefault(user, [])
        held += [text] if text not in held else []

    async def by_adk_session(self, user: str) -> None:
        """Events and state of a conversation, as ADK's runner appends them."""
        pick = self.pick
        app, session_id = pick.some("shop", "blog"), pick.some("s", "ключ 🔑")
        place = user, app, session_id
        if place not in self.states:
            state = {pick.some("a", "ключ"): pick.some(*VALUES)}
            await self.sessions.create_session(app_name=app, user_id=user, session_id=session_id, state=dict(state))
            self.states[place], self.events[place] = state, []
        session = await self.sessions.get_session(app_name=app, user_id=user, session_id=session_id)
        assert session is not None
        text, delta = pick.some(*TEXTS), {pick.some("a", "b", "ключ"): pick.some(*VALUES)}
        event = Event(
            author=pick.some("user", "agent"),
            invocation_id="i",
            content=types.Content(role="user", parts=[types.Part(text=text)]),
            actions=EventActions(state_delta=delta),
        )
        await self.sessions.append_event(session, event)
        self.events[place].append((event.author, text))
        self.states[place] |= delta

    async def check_sessions(self, user: str) -> None:
        for (owner, app, session_id), events in self.events.items():
            if owner == user:
                session = await self.sessions.get_session(app_name=app, user_id=user, session_id=session_id)
                assert session is not None
                assert same(session.state, self.states[owner, app, session_id])
                assert [(each.author, _text_of(each)) for each in session.events] == events

    async def check(self, user: str) -> None:
        memory = self.memory(user)
        await self.check_sessions(user)
        ours = {"mcp", namespace_of("shop", "preferences"), namespace_of("shop", "facts"), namespace_of("shop"), None}
        told = [each for each in await memory.list(limit=200) if each.namespace in ours]
        expected = self.model.of(user)
        for fields in ({"namespace": None, "key": None, **fields} for fields in expected):
            found = [each for each in told if same(shown(each, fields), fields)]
            assert found, f"{fields} is not among {[shown(e, fields) for e in told if e.content == fields['content']]}"
            told.remove(found[0])
        assert not told
        for owner in ("agent_id", "run_id", "app_id"):
            for name in {"agent_id": AGENTS, "run_id": RUNS, "app_id": APPS}[owner][1:]:
                listed = await self.mem0.get_all(filters={"AND": [{"user_id": user}, {owner: name}]}, page_size=200)
                column = {"agent_id": "agent_id", "run_id": "session_id"}.get(owner)
                mine = [
                    fields["content"]
                    for fields in expected
                    if (fields.get(column) if column else fields["metadata"].get("app_id")) == name
                ]
                assert sorted(each["memory"] for each in listed["results"]) == sorted(mine), (owner, name)
        for (holder, key), value in self.items.items():
            if holder == user:
                item = await self.store.aget((user, "ключ"), key)
                assert item is not None
                assert same(item.value, value), key
        for (holder, path), text in self.files.items():
            if holder == user:
                stored = await memory.find("claude", path.removeprefix("/memories/"))
                assert stored is not None
                assert stored.content == text or stored.value == {"text": text}
        for (holder, path), text in self.pages.items():
            if holder == user:
                file = await self.notes.for_user(user).read(path, max_chars=1_000_000)
                assert file is not None
                assert file.content == text
        async with self.graph(user) as client:
            nodes = await client.call_tool("open_nodes", {"names": [f"{user} 👩‍👩‍👧"]})
        entities: Any = (nodes.structured_content or {})["entities"]
        assert [each["observations"] for each in entities] == ([self.observations[user]] if entities else [])


def _text_of(event: Event) -> str | None:
    return event.content.parts[0].text if event.content and event.content.parts else None


@pytest.mark.slow_step("frameworks import their parts when they are first used")
@pytest.mark.parametrize("over", ["process", "HTTP"])
@pytest.mark.parametrize("seed", range(2))
async def test_frameworks_lose_nothing(keeps: Keeps, tenant: str, seed: int, over: str) -> None:
    boss = keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"})))
    key = (await boss.admin.make_key("mem0", roles=("admin",))).secret
    limits = {"reads_per_minute": 1_000_000, "writes_per_minute": 1_000_000}
    async with serving(keeps, auth="keys", **limits) as url:
        mem0 = await asyncio.to_thread(lambda: AsyncMemoryClient(api_key=key, host=f"{url}/mem0"))
        place: Place = {"keeps": url, "token": key} if over == "HTTP" else {"keeps": keeps, "tenant_id": tenant}
        hindsight = Hindsight(base_url=f"{url}/hindsight", api_key=key)
        doors = Doors(keeps, tenant, seed, mem0, hindsight, place)
        ways = [doors.by_mem0] * 3 + [
            doors.by_hindsight,
            doors.by_hindsight,
            doors.by_mcp,
            doors.by_adk,
            doors.by_adk_memory,
            doors.by_adk_session,
            doors.by_langgraph,
            doors.by_claude,
            doors.by_pydantic_ai,
            doors.by_graph_server,
        ]
        for _ in range(STEPS):
            await doors.pick.some(*ways)(doors.pick.some(*USERS))
        for user in USERS:
            await doors.check(user)
        await mem0.async_client.aclose()
        await hindsight.aclose()
        await doors.close()
