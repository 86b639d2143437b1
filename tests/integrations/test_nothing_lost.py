"""What frameworks store is read at their own doors, and in Keeps, as it was given."""

from __future__ import annotations

import asyncio
import os
import tempfile
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types
from mcp import Client

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}  # read when mem0 is imported

from mem0 import AsyncMemoryClient

from keeps.engine import Keeps
from keeps.integrations.adk import KeepsMemoryService, KeepsTools
from keeps.integrations.adk.memory import namespace_of
from keeps.integrations.claude import KeepsAsyncMemoryTool
from keeps.integrations.langgraph import KeepsStore
from keeps.integrations.mcp import graph_server, memory_server
from keeps.scope import Scope
from tests.given import AGENTS, APPS, RUNS, TEXTS, USERS, Given, Memories, Picker, same, shown
from tests.serving import serving

STEPS = 60


class Doors:
    """What frameworks do with the memories of a tenant, and a plain model of what they stored."""

    def __init__(self, keeps: Keeps, tenant: str, seed: int, mem0: Any, store: KeepsStore) -> None:
        self.keeps, self.tenant, self.mem0, self.store = keeps, tenant, mem0, store
        self.pick, self.model = Picker(seed), Memories()
        self.tools = KeepsTools(keeps=keeps, tenant_id=tenant)
        self.service = KeepsMemoryService(keeps=keeps, tenant_id=tenant)
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.observations: dict[str, list[str]] = {}

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

    async def by_mcp(self, user: str) -> None:
        pick = self.pick
        fields: dict[str, Any] = {"content": pick.some(*TEXTS)}
        fields |= {"tags": ["t", "u"]} if pick.often() else {}
        fields |= {"importance": pick.some(0.0, 0.75)} if pick.often() else {}
        fields |= {"namespace": "mcp", "key": pick.some(*TEXTS[:3])} if pick.often() else {}
        async with Client(memory_server(lambda: self.memory(user))) as client:
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
        assert said.startswith(("Stored", "Replaced", "Known")), said
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
        tool = KeepsAsyncMemoryTool(user_id=user, keeps=self.keeps, tenant_id=self.tenant)
        await tool.create(Create(command="create", path=path, file_text=text))
        self.files[user, path] = text
        await tool.close()

    async def by_graph_server(self, user: str) -> None:
        text = self.pick.some(*TEXTS)
        name = f"{user} 👩‍👩‍👧"
        async with Client(graph_server(lambda: self.memory(user))) as client:
            await client.call_tool(
                "create_entities", {"entities": [{"name": name, "entityType": "person", "observations": []}]}
            )
            added = {"entityName": name, "contents": [text]}
            done = await client.call_tool("add_observations", {"observations": [added]})
        assert not done.is_error, done
        held = self.observations.setdefault(user, [])
        held += [text] if text not in held else []

    async def check(self, user: str) -> None:
        memory = self.memory(user)
        ours = {"mcp", namespace_of("shop", "preferences"), namespace_of("shop", "facts"), namespace_of("shop"), None}
        told = [each for each in await memory.list(limit=200) if each.namespace in ours]
        expected = self.model.of(user)
        for fields in expected:
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
        async with Client(graph_server(lambda: memory)) as client:
            nodes = await client.call_tool("open_nodes", {"names": [f"{user} 👩‍👩‍👧"]})
        entities: Any = (nodes.structured_content or {})["entities"]
        assert [each["observations"] for each in entities] == ([self.observations[user]] if entities else [])


@pytest.mark.slow_step("frameworks import their parts when they are first used")
@pytest.mark.parametrize("seed", range(2))
async def test_frameworks_lose_nothing(keeps: Keeps, tenant: str, seed: int) -> None:
    boss = keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"})))
    key = (await boss.admin.make_key("mem0", roles=("admin",))).secret
    limits = {"reads_per_minute": 1_000_000, "writes_per_minute": 1_000_000}
    async with serving(keeps, auth="keys", **limits) as url, KeepsStore(keeps=keeps, tenant_id=tenant) as store:
        mem0 = await asyncio.to_thread(lambda: AsyncMemoryClient(api_key=key, host=f"{url}/mem0"))
        doors = Doors(keeps, tenant, seed, mem0, store)
        ways = [doors.by_mem0] * 3 + [
            doors.by_mcp,
            doors.by_adk,
            doors.by_adk_memory,
            doors.by_langgraph,
            doors.by_claude,
        ]
        for _ in range(STEPS):
            await doors.pick.some(*ways, doors.by_graph_server)(doors.pick.some(*USERS))
        for user in USERS:
            await doors.check(user)
        await mem0.async_client.aclose()
