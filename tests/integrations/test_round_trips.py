"""What mem0's clients and MCP's graph tools stored is the same after export and import into another tenant."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}  # read when mem0 is imported

import httpx
from mem0 import MemoryClient as Mem0Client

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.mcp import graph_server
from keeps_client import MemoryClient
from tests.integrations.test_graph_tools import all_of, entity, relation
from tests.integrations.test_mcp import call
from tests.integrations.test_mem0 import key_of
from tests.serving import serving

TEXTS = (
    "I keep two hens.",
    "žluťoučký kůň 🐴",
    "a\u2028b",
    "النص بالعربية",
    'tab\tand \\ and "quotes"',
    "e\u0301 ﬁ Ａ",
)
NAMES = ("Clara", "知る", "Project Alpha", "O'Brien; DROP", "Zoë", "a/b c")


@pytest.fixture(scope="module")
async def served(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps, auth="keys", reads_per_minute=1_000_000, writes_per_minute=1_000_000) as url:
        yield url


async def moved(url: str, source: str, target: str) -> None:
    """Export all of a tenant and import it into another, through the server."""
    async with MemoryClient(url, token=source, user_id="boss") as one, MemoryClient(url, token=target) as other:
        summary = await other.for_user("boss").admin.import_lines(await one.admin.export_lines())
        assert (summary.failed, summary.errors) == (0, [])


def stored(url: str, key: str, user: str) -> list[dict[str, Any]]:
    """All of a user as mem0's client tells it, without what names the tenant's rows."""
    with httpx.Client(timeout=30) as http:
        client = Mem0Client(api_key=key, host=f"{url}/mem0", client=http)
        found = client.get_all(filters={"user_id": user}, page_size=100)["results"]
    return sorted(found, key=lambda each: each["id"])


def fill(url: str, key: str, chooser: random.Random) -> None:
    with httpx.Client(timeout=30) as http:
        client = Mem0Client(api_key=key, host=f"{url}/mem0", client=http)
        for number in range(12):
            ids: dict[str, Any] = {"user_id": chooser.choice(("alice", "bob"))}
            ids |= chooser.choice(({}, {"agent_id": "chef"}, {"app_id": "web", "run_id": "r"}))
            metadata = chooser.choice((None, {"n": number, "deep": {"a": [None, 0.1, "é"]}}))
            told = [{"role": "user", "content": f"{chooser.choice(TEXTS)} {number}"}]
            given: dict[str, Any] = {} if metadata is None else {"metadata": metadata}
            client.add(told, infer=False, **ids, **given)


@pytest.mark.parametrize("seed", range(2))
async def test_what_mem0_stored_comes_back(keeps: Keeps, served: str, tenant: str, seed: int) -> None:
    one, other = await key_of(keeps, tenant, "admin"), await key_of(keeps, f"{tenant}-2", "admin")
    await asyncio.to_thread(fill, served, one, random.Random(seed))
    await moved(served, one, other)
    for user in ("alice", "bob"):
        before, after = [await asyncio.to_thread(stored, served, key, user) for key in (one, other)]
        assert before
        assert after == before


@pytest.mark.parametrize("seed", range(2))
async def test_what_the_graph_tools_stored_comes_back(keeps: Keeps, served: str, tenant: str, seed: int) -> None:
    chooser = random.Random(seed)
    one, other = await key_of(keeps, tenant, "admin"), await key_of(keeps, f"{tenant}-2", "admin")
    graphs = []
    for number, name in enumerate((tenant, f"{tenant}-2")):
        scope = Scope(name, "alice")
        async with Client(graph_server(lambda scope=scope: keeps.memory(scope))) as graph:
            if number == 0:
                entities = [
                    entity(each, *chooser.sample(TEXTS, 3), kind=chooser.choice(("person", "Ding"))) for each in NAMES
                ]
                await call(graph, "create_entities", entities=entities)
                kinds = ("likes", "работает с", "likes a lot", "likes (a lot)")
                pairs = [(chooser.choice(NAMES), chooser.choice(kinds), chooser.choice(NAMES)) for _ in range(12)]
                wanted = [relation(*each) for each in dict.fromkeys(pairs) if each[0] != each[2]]
                await call(graph, "create_relations", relations=wanted)
            else:
                await moved(served, one, other)
            found = await all_of(graph, "open_nodes", names=list(NAMES))
            graphs.append({kind: sorted(map(repr, parts)) for kind, parts in found.items()})
    assert graphs[0]["entities"]
    assert graphs[0]["relations"]
    assert graphs[1] == graphs[0]
