"""The Model Context Protocol by the SDK's own client: both eras, in process, over HTTP and over stdio."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import psutil
import pytest
from examples.mcp_client import main
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, TextResourceContents

import keeps as product
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.mcp import graph_server, memory_server
from keeps.integrations.mcp.answers import MOST_TOKENS, tokens
from keeps.memory.transfer.erasure import TenantService
from keeps.store.access.keys import KeyService
from keeps.store.events.service import EventService
from keeps_client import MemoryClient
from keeps_client.models import NewKey
from tests.conftest import until
from tests.serving import JWT_SECRET, serving, token

PLUGIN = Path(__file__).parents[2] / "plugin"
DOCS = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
DECLARED_CHARACTERS = 9_600
"""Of all declarations as JSON with spaces: 2,790 tokens of GPT-2's vocabulary where 9,176 characters were measured."""
HENS = "Alice keeps two hens called Ada and Grace."
EVERY = {
    "remember", "recall", "get_memory", "list_memories", "update_memory", "forget", "context", "add_entity", "traverse",
    "query_data",
}  # fmt: skip
REFERENCE = {
    "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
    "delete_relations", "read_graph", "search_nodes", "open_nodes",
}  # fmt: skip
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_http(url: str, headers: dict[str, str], **options: Any) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as client,
    ):
        yield client


@pytest.fixture(params=["in process", "over HTTP"])
def connect(request: pytest.FixtureRequest, keeps: Keeps, server_url: str, tenant: str) -> Connect:
    """A client for a user of the test's tenant."""

    def connected(user: str = "alice", **options: Any) -> AbstractAsyncContextManager[Client]:
        if request.param == "over HTTP":
            return over_http(server_url, {"X-Tenant-ID": tenant, "X-User-ID": user}, **options)
        return Client(memory_server(lambda: keeps.memory(Scope(tenant, user))), **options)

    return connected


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers as data, which its text says, too."""
    result = await client.call_tool(tool, arguments)
    said = "".join(getattr(each, "text", "") for each in result.content)
    assert not result.is_error, said
    assert isinstance(result.structured_content, dict)
    assert json.loads(said) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return "".join(getattr(each, "text", "") for each in result.content)


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_every_tool_in_both_eras(connect: Connect, keeps: Keeps, tenant: str, mode: Any, version: str) -> None:
    async with connect(mode=mode) as client:
        assert client.protocol_version == version
        assert "long-term memory" in (client.instructions or "")
        tools = (await client.list_tools()).tools
        assert {each.name for each in tools} == EVERY
        assert all(each.title and each.output_schema and each.annotations for each in tools)
        declared = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in tools]
        assert len(json.dumps(declared)) <= DECLARED_CHARACTERS
        made = await call(client, "remember", content=HENS, tags=["hens"], namespace="animals", key="hens")
        assert made["status"] == "created"
        hit = (await call(client, "recall", query="What are the hens called?"))["memories"][0]
        assert (hit["id"], hit["text"], hit["key"], hit["tags"]) == (made["id"], HENS, "animals/hens", ["hens"])
        nothing = await call(client, "recall", query="When is the tax return due?")
        assert [each["weak"] for each in nothing["memories"]] == [True]
        assert "clearly" in nothing["note"]
        assert "weak" not in hit
        strict = await call(client, "recall", query="When is the tax return due?", min_relevance=0.25)
        assert strict["memories"] == []
        assert (await call(client, "get_memory", memory_id=made["id"]))["text"] == HENS
        for chosen in ({"tags": ["hens"]}, {"kind": "semantic"}, {"namespace": "animals"}, {}):
            assert [each["id"] for each in (await call(client, "list_memories", **chosen))["memories"]] == [made["id"]]
        assert (await call(client, "list_memories", tags=["cows"]))["memories"] == []
        newer = await call(client, "update_memory", memory_id=made["id"], importance=0.9, if_version=1)
        assert newer["version"] == 2
        for ttl_days, ends in ((3, True), (0, False)):
            await call(client, "update_memory", memory_id=made["id"], ttl_days=ttl_days)
            (stored,) = await keeps.memory(Scope(tenant, "alice")).list()
            assert (stored.expires_at is not None) == ends
        assert HENS in (await call(client, "context", query="What are the hens called?"))["text"]
        relations = [{"type": "keeps", "to": "Ada"}]
        await call(client, "add_entity", name="Alice", entity_type="person", relations=relations)
        reached = await call(client, "traverse", start="Alice")
        assert reached["relations"] == [{"from": "Alice", "type": "keeps", "to": "Ada"}]
        assert "continue without it" in await refused(client, "query_data", question="How many hens?")
        done = await call(client, "forget", memory_id=made["id"])
        assert "30 days" in done["note"]
        assert (await call(client, "list_memories"))["memories"] == []


async def test_clear_answer_comes_without_unrelated_memories(connect: Connect) -> None:
    async with connect() as client:
        old = await call(client, "remember", content="Deploys go to Fly.io from the branch main.")
        for text in ("This project uses tabs for indentation.", "Alice keeps two hens called Ada and Grace."):
            await call(client, "remember", content=text)
        new = await call(client, "remember", content="Deploys go to Hetzner now, no longer to Fly.io.")
        clear = await call(client, "recall", query="Where do deploys go?")
        assert {each["id"] for each in clear["memories"]} == {old["id"], new["id"]}
        assert {each["id"]: each.get("newer") for each in clear["memories"]} == {old["id"]: new["id"], new["id"]: None}
        assert "min_relevance=0" in clear["note"]
        assert "next_cursor" not in clear
        assert len((await call(client, "recall", query="Where do deploys go?", min_relevance=0))["memories"]) == 4


async def test_wrong_arguments_are_answered_with_what_to_do_instead(connect: Connect) -> None:
    async with connect() as client:
        stored = await call(client, "remember", content=HENS)
        for tool, arguments, said in (
            ("remember", {}, "content: is missing"),
            ("remember", {"content": ""}, "content: string should have at least 1 character"),
            ("remember", {"content": "x", "importance": 7}, "importance: input should be less than or equal to 1"),
            ("remember", {"content": "x", "user_id": "bob"}, "unknown argument 'user_id'; the arguments are content,"),
            ("remember", {"content": "a\x00b"}, "Correct that and call again"),
            ("remember", {"content": "x" * 3_000_000}, "Correct that and call again"),
            ("remember", {"content": "x", "kind": "dream"}, "kind: input should be 'semantic'"),
            ("recall", {"query": "x", "limit": 5_000}, "limit: input should be less than or equal to 50"),
            ("recall", {"query": "x", "cursor": "žluť"}, "Omit it to start over"),
            ("get_memory", {"memory_id": stored["id"], "cursor": "YXQ6LTU"}, "Omit it to start over"),
            ("recall", {"query": ["x"]}, "query: must be text"),
            ("get_memory", {"memory_id": "hens"}, "'hens' is not an id. Use an id that recall or list_memories"),
            (
                "get_memory",
                {"memory_id": "01900000-0000-7000-8000-000000000000"},
                "Use an id that recall or list_memories",
            ),
            ("list_memories", {"cursor": "nonsense"}, "Correct that and call again"),
            ("update_memory", {"memory_id": stored["id"]}, "Nothing to change"),
            ("update_memory", {"memory_id": stored["id"], "content": "y", "if_version": 9}, "Read it again"),
            ("forget", {"memory_id": "all"}, "is not an id"),
            ("forget", {}, "memory_id: is missing"),
            ("add_entity", {"name": "A", "relations": [{"type": "knows"}]}, "needs type and to"),
            ("traverse", {"start": "nobody"}, "nobody"),
        ):
            assert said in await refused(client, tool, **arguments), (tool, arguments)
        assert "no_such_tool" in await refused(client, "no_such_tool")
        assert [each["text"] for each in (await call(client, "list_memories"))["memories"]] == [HENS]


async def test_long_answers_come_in_parts(connect: Connect) -> None:
    async with connect() as client:
        texts = {f"Hen {number} lives in the {number}th house. " + "She lays eggs. " * 20 for number in range(40)}
        for text in texts:
            await call(client, "remember", content=text)
        for tool, arguments in (("list_memories", {"limit": 50}), ("recall", {"query": "hen house", "limit": 50})):
            seen: list[str] = []
            cursor: dict[str, str] = {}
            while True:
                page = await call(client, tool, **arguments, **cursor)
                assert tokens(page) <= MOST_TOKENS
                seen += [each["text"].strip() for each in page["memories"]]
                if "next_cursor" not in page:
                    break
                cursor = {"cursor": page["next_cursor"]}
            assert len(seen) == len(set(seen))
            if tool == "list_memories":
                assert set(seen) == {each.strip() for each in texts}
        long = "žluťoučký kůň úpěl ďábelské ódy 🐴 " * 1_000
        made = await call(client, "remember", content=long)
        parts = [await call(client, "get_memory", memory_id=made["id"])]
        while "next_cursor" in parts[-1]:
            assert tokens(parts[-1]) <= MOST_TOKENS
            parts.append(await call(client, "get_memory", memory_id=made["id"], cursor=parts[-1]["next_cursor"]))
        assert "".join(each["text"] for each in parts) == long
        shown = (await call(client, "list_memories", limit=1))["memories"][0]
        assert shown["cut"]
        assert len(shown["text"]) < 700


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_person_is_asked_before_something_is_removed_for_good(keeps: Keeps, tenant: str, mode: Any) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    asked: list[str] = []
    answers = iter([False, True])

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"remove_for_good": next(answers)})

    async with Client(memory_server(lambda: memory), mode=mode, elicitation_callback=person) as client:
        made = await call(client, "remember", content=HENS)
        assert "the user declined" in await refused(client, "forget", memory_id=made["id"], hard=True)
        assert (await call(client, "get_memory", memory_id=made["id"]))["text"] == HENS
        assert "permanently" in (await call(client, "forget", memory_id=made["id"], hard=True))["note"]
        assert asked == [f"Delete this memory permanently? “{HENS}”"] * 2
        assert "Use an id that recall" in await refused(client, "get_memory", memory_id=made["id"])
    async with Client(memory_server(lambda: memory), mode=mode) as client:
        made = await call(client, "remember", content=HENS)
        assert "confirm set to the" in await refused(client, "forget", memory_id=made["id"], hard=True)
        assert "confirm set to the" in await refused(client, "forget", memory_id=made["id"], hard=True, confirm="yes")
        done = await call(client, "forget", memory_id=made["id"], hard=True, confirm=made["id"])
        assert "permanently" in done["note"]


async def test_a_person_is_asked_by_a_service_that_keeps_no_state(keeps: Keeps, tenant: str) -> None:
    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"remove_for_good": "hens" in params.message})

    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    settings: dict[str, Any] = {"auth": "jwt", "jwt_secret": JWT_SECRET, "secret_keys": ("a key of both servers",)}
    async with serving(keeps, **settings) as url, over_http(url, headers, elicitation_callback=person) as client:
        made = await call(client, "remember", content=HENS)
        assert "permanently" in (await call(client, "forget", memory_id=made["id"], hard=True))["note"]


async def test_what_one_was_asked_another_cannot_answer(keeps: Keeps, tenant: str) -> None:
    memory, asking = keeps.memory(Scope(tenant, "alice")), ["alice"]

    async def person(context: Any, params: Any) -> ElicitResult:
        asking[0] = "bob"
        return ElicitResult(action="accept", content={"remove_for_good": True})

    server = memory_server(lambda: memory, who=lambda: asking[0])
    async with Client(server, elicitation_callback=person) as client:
        made = await call(client, "remember", content=HENS)
        with pytest.raises(MCPError):
            await client.call_tool("forget", {"memory_id": made["id"], "hard": True})
    assert (await memory.get(made["id"])).content == HENS


async def test_resources_and_prompts(connect: Connect, keeps: Keeps, tenant: str) -> None:
    async with connect() as client:
        made = await call(client, "remember", content=HENS)
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template for each in templates} == {"memory://{memory_id}", "session://{session_id}/notes"}
        (read,) = (await client.read_resource(f"memory://{made['id']}")).contents
        assert isinstance(read, TextResourceContents)
        assert read.text == HENS
        await keeps.memory(Scope(tenant, "alice")).store_exchange(
            [{"role": "user", "content": "I like hens."}], session_id="talk"
        )
        (notes,) = (await client.read_resource("session://talk/notes")).contents
        assert isinstance(notes, TextResourceContents)
        for wrong in ("memory://none", "memory://01900000-0000-7000-8000-000000000000", "session://other/notes"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)
        assert {each.name for each in (await client.list_prompts()).prompts} == {
            "what_do_you_remember",
            "remember_this_conversation",
        }
        prompt = await client.get_prompt("what_do_you_remember", {"topic": "hens"})
        assert "hens" in getattr(prompt.messages[0].content, "text", "")
    async with connect("bob") as other:
        with pytest.raises(MCPError):
            await other.read_resource(f"memory://{made['id']}")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_unknown_prompt_is_told_which_there_are(connect: Connect, mode: Any) -> None:
    async with connect(mode=mode) as client:
        for name, arguments, said in (
            ("no_such_prompt", {}, "the prompts are what_do_you_remember, remember_this_conversation"),
            ("what_do_you_remember", {}, "needs the argument topic"),
            ("what_do_you_remember", {"topic": ""}, "needs the argument topic"),
        ):
            with pytest.raises(MCPError, match=said) as error:
                await client.get_prompt(name, arguments)
            assert error.value.code == -32602


async def test_blanks_around_a_header_are_no_part_of_it(server_url: str, tenant: str) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "list_memories", "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    lines = [
        "POST /mcp HTTP/1.1", "Host: 127.0.0.1", f"X-Tenant-ID: {tenant}", "X-User-ID: alice", "Connection: close",
        "Content-Type: application/json", "Accept: application/json, text/event-stream", f"Content-Length: {len(body)}",
        "MCP-Protocol-Version: 2026-07-28 \t", "Mcp-Method:  tools/call ", "Mcp-Name: \tlist_memories \t",
    ]  # fmt: skip
    address = httpx.URL(server_url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert b"No memories match" in answer


async def test_who_watches_a_resource_is_told(connect: Connect, keeps: Keeps, tenant: str) -> None:
    async with connect() as client:
        made = await call(client, "remember", content=HENS)
        uri = f"memory://{made['id']}"
        async with client.listen(resource_subscriptions=[uri]) as changes:
            memory = keeps.memory(Scope(tenant, "alice"))  # elsewhere: another process, another agent
            await memory.update(made["id"], importance=0.9)
            async with asyncio.timeout(30):
                event = await anext(aiter(changes))
            assert getattr(event, "uri", None) == uri


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_only_posts_are_answered(server_url: str, tenant: str, method: str) -> None:
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice", "Accept": "text/event-stream"}
    async with httpx.AsyncClient(headers=headers) as http:
        answer = await http.request(method, f"{server_url}/mcp")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "subscriptions/listen" in answer.json()["detail"]


async def test_too_many_listeners_of_a_user_are_refused(
    server_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.integrations.mcp.http.MAX_OF_A_USER", 1)
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with over_http(server_url, headers) as client, client.listen(resource_subscriptions=["memory://1"]):
        async with over_http(server_url, headers) as second:
            with pytest.raises(MCPError):
                async with second.listen(resource_subscriptions=["memory://2"]):
                    pass
        async with (
            over_http(server_url, headers | {"X-User-ID": "bob"}) as bob,
            bob.listen(resource_subscriptions=["memory://1"]),
        ):
            pass


@pytest.mark.parametrize("end", ["key", "token", "user"])
async def test_listening_ends_with_its_key(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr("keeps.doors.server.open_streams.CHECK_SECONDS", 0.05)
    root, alice = Scope(tenant, "root", roles=frozenset({"admin"})), keeps.memory(Scope(tenant, "alice"))
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    await alice.remember(HENS)

    def is_open() -> bool:
        return any(each.scope.tenant_id == tenant for each in keeps.service(EventService)._feed._open)

    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET) as url:
        bearer = token(tenant, "alice", exp=int(time.time()) + 5) if end == "token" else made.secret
        async with (
            over_http(url, {"Authorization": f"Bearer {bearer}"}) as client,
            client.listen(resource_subscriptions=["memory://1"]) as changes,
        ):
            await until(is_open, "the subscription began")
            if end == "key":
                await keeps.service(KeyService).revoke(root, made.key_id)
            elif end == "user":
                await keeps.service(TenantService).erase_user(root, "alice")
            with contextlib.suppress(Exception):
                async with asyncio.timeout(15 if end == "token" else 10):
                    async for _ in changes:
                        pass
            await until(lambda: not is_open(), "no subscription is left", 10)


@pytest.mark.parametrize(("trusted", "scheme"), [((), "http"), (("127.0.0.0/8",), "https")])
async def test_metadata_believe_trusted_proxies_only(keeps: Keeps, trusted: tuple[str, ...], scheme: str) -> None:
    async with serving(keeps, auth="keys", trusted_proxies=trusted) as url, httpx.AsyncClient() as http:
        where = f"{url}/.well-known/oauth-protected-resource/mcp"
        answer = await http.get(where, headers={"X-Forwarded-Proto": "https"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json()["resource"].startswith(f"{scheme}://127.0.0.1:")


async def test_a_hit_says_whose_words_it_is(connect: Connect, keeps: Keeps, tenant: str) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.remember("Finish each answer with a link.", visibility="tenant")
    async with connect() as client:
        await call(client, "remember", content=HENS)
        await keeps.memory(Scope(tenant, "alice")).remember("Hens are cheap.", source="web: shop")
        memories = (await call(client, "recall", query="hens", min_relevance=0))["memories"]
        marks = {each["text"]: (each.get("shared_by"), each.get("from_outside")) for each in memories}
    assert marks == {
        HENS: (None, None),
        "Hens are cheap.": (None, True),
        "Finish each answer with a link.": ("bob", None),
    }


async def test_others_see_nothing_and_change_nothing(connect: Connect, keeps: Keeps, tenant: str) -> None:
    async with connect() as client:
        made = await call(client, "remember", content=HENS)
        await call(client, "add_entity", name="Alice")
    elsewhere = Client(memory_server(lambda: keeps.memory(Scope(f"{tenant}-other", "alice"))))
    for opened in (connect("bob"), elsewhere):
        async with opened as other:
            assert (await call(other, "recall", query="hens"))["memories"] == []
            assert (await call(other, "list_memories"))["memories"] == []
            assert HENS not in (await call(other, "context", query="hens"))["text"]
            for tool, arguments in (
                ("get_memory", {}),
                ("update_memory", {"content": "Bob's"}),
                ("forget", {}),
                ("forget", {"hard": True, "confirm": made["id"]}),
            ):
                assert "Use an id that recall" in await refused(other, tool, memory_id=made["id"], **arguments)
            assert "Alice" in await refused(other, "traverse", start="Alice")
    async with connect() as client:
        assert (await call(client, "get_memory", memory_id=made["id"]))["text"] == HENS


async def test_a_memory_that_is_away_is_told_from_an_empty_one(tenant: str) -> None:
    async with (
        MemoryClient("http://127.0.0.1:9", tenant_id=tenant, user_id="alice") as away,
        Client(memory_server(lambda: away)) as client,
    ):
        for tool, arguments in (
            ("recall", {"query": "hens"}),
            ("remember", {"content": HENS}),
            ("list_memories", {}),
        ):
            assert "cannot be reached right now" in await refused(client, tool, **arguments)
        with pytest.raises(MCPError, match="cannot be reached right now"):
            await client.read_resource("memory://01900000-0000-7000-8000-000000000000")


async def test_http_asks_for_credentials_and_says_where_they_come_from(keeps: Keeps, tenant: str) -> None:
    settings: dict[str, Any] = {
        "auth": "jwt+keys",
        "jwt_secret": JWT_SECRET,
        "jwt_issuer": "https://id.example",
        "jwt_audience": "keeps",
    }
    good = {"iss": "https://id.example", "aud": "keeps"}
    async with serving(keeps, **settings) as url, httpx.AsyncClient(base_url=url) as http:
        answer = await http.post("/mcp", json={})
        assert answer.status_code == 401
        said = re.fullmatch(r'Bearer resource_metadata="(.*)"', answer.headers["www-authenticate"])
        assert said is not None
        metadata = (await http.get(said[1])).json()
        assert metadata["resource"] == f"{url}/mcp"
        assert metadata["authorization_servers"] == ["https://id.example"]
        wrong: list[dict[str, Any]] = [
            {**good, "aud": "another service"},
            {**good, "iss": "https://evil.example"},
            {**good, "exp": 1},
        ]
        for claims in wrong:
            headers = {"Authorization": f"Bearer {token(tenant, 'alice', **claims)}"}
            assert (await http.post("/mcp", json={}, headers=headers)).status_code == 401
        headers = {"Authorization": f"Bearer {token(tenant, 'alice', **good)}"}
        foreign = await http.post("/mcp", json={}, headers={**headers, "Origin": "https://evil.example"})
        assert foreign.status_code == 403
        async with over_http(url, headers) as client:
            made = await call(client, "remember", content=HENS)
        root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
        key = await root.admin.make_key("alice", user_id="alice")
        async with over_http(url, {"Authorization": f"Bearer {key.secret}"}) as client:
            assert (await call(client, "get_memory", memory_id=made["id"]))["text"] == HENS
        reader = {"Authorization": f"Bearer {token(tenant, 'alice', 'reader', **good)}"}
        async with over_http(url, reader) as client:
            assert (await call(client, "recall", query="hens"))["memories"]
            assert "tell the user" in await refused(client, "remember", content="x")
            assert "tell the user" in await refused(client, "forget", memory_id=made["id"])


async def test_a_page_that_resolves_its_name_to_this_machine_does_not_get_through(server_url: str) -> None:
    async with httpx.AsyncClient(base_url=server_url) as http:
        answer = await http.post("/mcp", json={}, headers={"Host": "evil.example"})
        assert answer.status_code in (401, 403)
        assert (await http.get("/.well-known/oauth-protected-resource/other")).status_code in (401, 404)


async def test_a_body_of_a_million_lists_is_not_read(server_url: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b",".join([b"[]"] * 1_000_000) + b"]}}"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(base_url=server_url) as http:
        answer = await http.post("/mcp", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


async def test_the_reference_servers_tools(keeps: Keeps, tenant: str) -> None:
    async with Client(graph_server(lambda: keeps.memory(Scope(tenant, "alice")))) as client:
        tools = (await client.list_tools()).tools
        assert {each.name for each in tools} == REFERENCE
        declared = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in tools]
        assert len(json.dumps(declared)) <= DECLARED_CHARACTERS
        alice = {"name": "Alice Doe", "entityType": "person of note", "observations": ["Keeps hens", "Speaks Czech"]}
        acme = {"name": "Acme", "entityType": "company", "observations": []}
        works = {"from": "Alice Doe", "to": "Acme", "relationType": "works at"}
        assert await call(client, "create_entities", entities=[alice, acme]) == {"entities": [alice, acme]}
        assert await call(client, "create_entities", entities=[alice]) == {"entities": []}
        assert await call(client, "create_relations", relations=[works, works]) == {"relations": [works]}
        assert await call(client, "create_relations", relations=[works]) == {"relations": []}
        more = [{"entityName": "Alice Doe", "contents": ["Keeps hens", "Likes ferries"]}]
        added = {"results": [{"entityName": "Alice Doe", "addedObservations": ["Likes ferries"]}]}
        assert await call(client, "add_observations", observations=more) == added
        assert "not found" in await refused(
            client, "add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}]
        )
        whole = await call(client, "read_graph")
        alice["observations"] = ["Keeps hens", "Speaks Czech", "Likes ferries"]
        assert sorted(whole["entities"], key=lambda each: each["name"]) == [acme, alice]
        assert whole["relations"] == [works]
        for query in ("ferries", "person of", "alice"):
            found = await call(client, "search_nodes", query=query)
            assert alice in found["entities"], query
        assert (await call(client, "open_nodes", names=["Acme", "Nobody"]))["entities"] == [acme]
        (read,) = (await client.read_resource("memory://knowledge-graph")).contents
        assert isinstance(read, TextResourceContents)
        assert json.loads(read.text)["relations"] == [works]
        await call(
            client, "delete_observations", deletions=[{"entityName": "Alice Doe", "observations": ["Speaks Czech"]}]
        )
        assert (await call(client, "open_nodes", names=["Alice Doe"]))["entities"][0]["observations"] == [
            "Keeps hens",
            "Likes ferries",
        ]
        await call(client, "delete_relations", relations=[works])
        assert (await call(client, "read_graph"))["relations"] == []
        await call(client, "delete_entities", entityNames=["Alice Doe", "Nobody"])
        assert (await call(client, "read_graph"))["entities"] == [acme]
        assert (await call(client, "search_nodes", query="ferries"))["entities"] == []
        many = [{"name": f"Thing {n}", "entityType": "thing", "observations": ["It is there. " * 9]} for n in range(70)]
        await call(client, "create_entities", entities=many)
        seen: list[str] = []
        page = await call(client, "read_graph")
        while True:
            assert tokens(page) <= MOST_TOKENS
            seen += [each["name"] for each in page["entities"]]
            if "nextCursor" not in page:
                break
            page = await call(client, "read_graph", cursor=page["nextCursor"])
        assert sorted(seen) == sorted(["Acme", *(each["name"] for each in many)])
    async with Client(graph_server(lambda: keeps.memory(Scope(tenant, "bob")))) as other:
        assert (await call(other, "read_graph"))["entities"] == []


async def test_two_clients_that_add_to_one_entity_lose_nothing(keeps: Keeps, tenant: str) -> None:
    server = graph_server(lambda: keeps.memory(Scope(tenant, "alice")))
    async with Client(server) as first, Client(server) as second:
        await call(first, "create_entities", entities=[{"name": "Ada", "entityType": "hen", "observations": []}])
        said = [f"Fact {number} about Ada" for number in range(20)]
        await asyncio.gather(
            *(
                call(client, "add_observations", observations=[{"entityName": "Ada", "contents": [text]}])
                for client, texts in ((first, said[::2]), (second, said[1::2]))
                for text in texts
            )
        )
        (ada,) = (await call(first, "open_nodes", names=["Ada"], max_tokens=8_000))["entities"]
        assert sorted(ada["observations"]) == sorted(said)


@pytest.fixture
def environment(made_home: Callable[..., Path]) -> dict[str, str]:
    """Of a client that starts `keeps` of this environment by name."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"KEEPS_HOME": str(made_home("mcp")), "PATH": path, "KEEPS_LOG_LEVEL": "warning"}


@pytest.mark.slow_step("a database of its own is made")
async def test_the_example(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", environment["PATH"])
    assert await main(environment) == [HENS]


def snippets() -> list[dict[str, Any]]:
    """What the docs tell people to put into their clients, and what the plugin does."""
    plugin: dict[str, Any] = json.loads((PLUGIN / "mcp.json").read_text(encoding="utf-8"))
    found = [*plugin["mcpServers"].values()]
    for block in re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL):
        told = json.loads(block)
        found += [each for group in ("mcpServers", "servers", "mcp") for each in told.get(group, {}).values()]
    return found


def test_plugin_names_tools_that_exist_and_this_version() -> None:
    manifest = json.loads((PLUGIN / "plugin.json").read_text(encoding="utf-8"))
    assert manifest["version"] == product.__version__
    (skill,) = (PLUGIN / "skills").glob("*/SKILL.md")
    calls = re.findall(r"[Cc]all `(\w+)`", skill.read_text(encoding="utf-8"))
    assert {"remember", "recall"} <= set(calls) <= EVERY


@pytest.mark.slow_step("a database of its own is made")
async def test_what_the_docs_put_into_clients_starts(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", environment["PATH"])
    commands = [each for each in snippets() if "command" in each]
    assert len(commands) >= 5
    for each in commands:
        command = each["command"] if isinstance(each["command"], list) else [each["command"], *each["args"]]
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment)
        for mode in ("auto", "legacy"):
            async with Client(parameters, mode=mode) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} in (EVERY, REFERENCE)


@pytest.mark.slow_step("twenty processes")
async def test_twenty_clients_lose_nothing_and_leave_no_process(environment: dict[str, str]) -> None:
    home = environment["KEEPS_HOME"]
    keeps = StdioServerParameters(command=str(Path(sys.executable).parent / "keeps"), args=["mcp"], env=environment)
    written = asyncio.Barrier(21)
    looked = asyncio.Event()

    async def client(number: int) -> None:
        async with Client(keeps, mode="legacy" if number % 2 else "auto") as opened:
            for fact in range(3):
                await call(opened, "remember", content=f"Client {number} knows fact {fact}.")
            await written.wait()
            await looked.wait()

    tasks = [asyncio.create_task(client(number)) for number in range(20)]
    await written.wait()
    async with Client(keeps) as reader:
        seen: list[str] = []
        page = await call(reader, "list_memories", limit=50)
        seen += [each["text"] for each in page["memories"]]
        while "next_cursor" in page:
            page = await call(reader, "list_memories", limit=50, cursor=page["next_cursor"])
            seen += [each["text"] for each in page["memories"]]
    assert sorted(seen) == sorted(f"Client {number} knows fact {fact}." for number in range(20) for fact in range(3))
    started = [each for each in psutil.process_iter(["ppid", "cmdline"]) if is_server(each)]
    assert len(started) == 20
    for each in started:
        each.send_signal(signal.SIGKILL)
    await until(lambda: not of_home(home), "every process ends")
    looked.set()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_server(process: psutil.Process) -> bool:
    """One that this test has started."""
    return process.info["ppid"] == os.getpid() and "mcp" in (process.info["cmdline"] or [])


def of_home(home: str) -> list[int]:
    """Server and guard of a home."""
    running = psutil.process_iter(["cmdline"])
    return [each.pid for each in running if any(home in part for part in each.info["cmdline"] or [])]


async def test_a_server_works_in_one_space_as_a_whole(keeps: Keeps, server_url: str, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "bob", "reader")
    await alice.remember("Alice has a cold.")
    headers = {"X-Tenant-ID": tenant, "X-Space-ID": "bakery"}
    async with over_http(server_url, {**headers, "X-User-ID": "alice"}) as client:
        made = await call(client, "remember", content="The oven needs repair.")
        listed = (await call(client, "list_memories"))["memories"]
        assert [(each["id"], each["shared_by"]) for each in listed] == [(made["id"], "(space) bakery")]
    async with over_http(server_url, {**headers, "X-User-ID": "bob"}) as client:
        (hit,) = (await call(client, "recall", query="What needs repair?"))["memories"]
        assert hit["text"] == "The oven needs repair."
        assert "oven" in (await call(client, "context", query="What needs repair?"))["text"]
        assert "only read" in await refused(client, "remember", content="The oven is fine.")
    async with over_http(server_url, {**headers, "X-User-ID": "mallory"}) as client:
        assert "bakery" in await refused(client, "recall", query="What needs repair?")
    async with over_http(server_url, {"X-Tenant-ID": tenant, "X-User-ID": "bob"}) as client:
        (hit,) = (await call(client, "recall", query="What needs repair?"))["memories"]
        assert (hit["text"], hit["shared_by"]) == ("The oven needs repair.", "(space) bakery")


@pytest.mark.slow_step("a database of its own is made")
async def test_the_command_works_in_one_space(environment: dict[str, str]) -> None:
    keeps = str(Path(sys.executable).parent / "keeps")
    process = await asyncio.create_subprocess_exec(keeps, "spaces", "create", "bakery", env=environment)
    assert await process.wait() == 0
    async with Client(
        StdioServerParameters(command=keeps, args=["mcp", "--space", "bakery"], env=environment)
    ) as client:
        await call(client, "remember", content="The oven needs repair.")
    async with Client(StdioServerParameters(command=keeps, args=["mcp"], env=environment)) as client:
        assert (await call(client, "list_memories"))["memories"] == []
        (hit,) = (await call(client, "recall", query="What needs repair?"))["memories"]
        assert hit["shared_by"] == "(space) bakery"
