"""The OpenAI-compatible proxy, by the `openai` package and a scripted provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import openai
import pytest

from keeps.base.scope import Scope
from keeps.doors.server import open_streams
from keeps.engine import Keeps
from keeps.integrations.openai_proxy import mount, passing, storing
from keeps.memory.conversations.service import CONTEXT_BEGIN, CONTEXT_END
from keeps_client.errors import UnavailableError
from keeps_client.models.context import BUILD_CONTEXT
from tests.conftest import until
from tests.scripted_provider import KEY, Provider, providing
from tests.serving import JWT_SECRET, serving, token

SYSTEM = "You are a cook."
PEANUTS = "Alice is allergic to peanuts."


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with providing() as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time for models to load on a busy machine."""
    monkeypatch.setattr(mount, "MEMORY_SECONDS", 20.0)


@pytest.fixture
async def proxy(keeps: Keeps, provider: Provider) -> AsyncIterator[str]:
    """The address of a server with the proxy, tokens and keys."""
    async with serving(
        keeps,
        auth="jwt+keys",
        jwt_secret=JWT_SECRET,
        openai_upstream=provider.url,
        openai_api_key=KEY,
        reads_per_minute=1_000_000,
        writes_per_minute=1_000_000,
    ) as url:
        yield url


@pytest.fixture
async def clients() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


class Clients:
    """Makes clients of the `openai` package, without retries."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._url, self._stack = url, stack

    async def client(self, secret: str, **headers: str) -> openai.AsyncOpenAI:
        return await self._stack.enter_async_context(
            openai.AsyncOpenAI(
                base_url=f"{self._url}/openai/v1", api_key=secret, default_headers=headers, max_retries=0
            )
        )


@pytest.fixture
def made(proxy: str, clients: AsyncExitStack) -> Clients:
    return Clients(proxy, clients)


@pytest.fixture
async def alice(made: Clients, tenant: str) -> openai.AsyncOpenAI:
    return await made.client(token(tenant, "alice"))


async def key(keeps: Keeps, tenant: str, user_id: str | None = None, *roles: Any) -> str:
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    return (await root.admin.make_key("app", user_id=user_id, roles=roles or ("writer",))).secret


async def messages(keeps: Keeps, tenant: str, count: int, user: str = "alice") -> list[tuple[str | None, str]]:
    """The stored messages of a user, oldest first, once there are `count`."""
    memory = keeps.memory(Scope(tenant, user))
    deadline = asyncio.get_running_loop().time() + 20
    while True:
        page = await memory.list(limit=200)
        stored = [(each.role, each.content) for each in reversed(page.items) if each.content_type == "message"]
        if len(stored) >= count or asyncio.get_running_loop().time() > deadline:
            return stored
        await asyncio.sleep(0.02)


async def sessions(keeps: Keeps, tenant: str, user: str = "alice") -> set[str | None]:
    page = await keeps.memory(Scope(tenant, user)).list(limit=200)
    return {each.session_id for each in page.items if each.content_type == "message"}


async def metric(url: str, name: str) -> float:
    """The value of a series of /metrics, which is cached for a second."""
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


async def metric_reaches(url: str, name: str, value: float) -> None:
    async with asyncio.timeout(10):
        while await metric(url, name) < value:
            await asyncio.sleep(0.1)


def ask(text: str, *, system: str | None = SYSTEM) -> list[Any]:
    leading = [] if system is None else [{"role": "system", "content": system}]
    return [*leading, {"role": "user", "content": text}]


async def chat(client: openai.AsyncOpenAI, text: str, **more: Any) -> Any:
    return await client.chat.completions.create(model="m", messages=ask(text), **more)


async def test_context_surrounds_the_conversation(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(PEANUTS, importance=0.9)
    await memory.remember("Alice ordered green curry on Friday.", importance=0.2)
    answer = await chat(alice, "What curry did I order?")
    assert answer.choices[0].message.content == "Noted."
    system, user = provider.last.body["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith(f"{SYSTEM}\n\n{CONTEXT_BEGIN}")
    assert PEANUTS in system["content"]
    assert "curry" not in system["content"]
    assert user["content"].startswith(CONTEXT_BEGIN)
    assert "green curry" in user["content"]
    assert user["content"].endswith(f"{CONTEXT_END}\n\nWhat curry did I order?")


async def test_stable_part_is_the_same_for_the_next_question(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember(PEANUTS, importance=0.9)
    await chat(alice, "What is for dinner?")
    await chat(alice, "And for lunch?")
    first, second = (request.body["messages"][0] for request in provider.received)
    assert first == second
    assert PEANUTS in first["content"]


async def test_request_without_instructions_gets_some(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember(PEANUTS, importance=0.9)
    await alice.chat.completions.create(model="m", messages=ask("Dinner?", system=None))
    system, user = provider.last.body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert PEANUTS in system["content"]


async def test_everything_else_stays_to_the_byte(proxy: str, keeps: Keeps, tenant: str, provider: Provider) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember(PEANUTS, importance=0.9)
    odd = (
        b'{ "unknown" : 1e999, "n":1.0 ,"tools":[{"type":"function","function":{"name":"f","parameters":{ }}}],\n'
        b'"messages":[{"role":"developer","content":"A\\ud83d \\u00e9"},{"role":"user","content":[ '
        b'{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"Dinner?"}]},'
        b'{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",'
        b'"arguments":"{ }"}}]},{"role":"tool","tool_call_id":"1","content":"x"}],'
        b'"model":"m","other":12345678901234567890.5}'
    )
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{proxy}/openai/v1/chat/completions", data=odd, headers=headers) as answer,
    ):
        assert answer.status == 200
    sent = provider.last.raw
    body = provider.last.body
    stable = body["messages"][0]["content"].partition(" é")[2]
    part = body["messages"][1]["content"][0]
    assert PEANUTS in stable
    assert part["type"] == "text"
    volatile = json.dumps(part, separators=(",", ":")).encode() + b","
    assert sent.replace(json.dumps(stable)[1:-1].encode(), b"").replace(volatile, b"") == odd
    assert await messages(keeps, tenant, 2) == [("user", "Dinner?"), ("assistant", "Noted.")]


async def test_stream_passes_to_the_byte_and_is_stored(
    proxy: str, alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    provider.text = "Green curry, as on Friday."
    stream = await chat(alice, "What did I order?", stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == provider.text
    assert await messages(keeps, tenant, 2) == [("user", "What did I order?"), ("assistant", provider.text)]
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    body = {"model": "m", "messages": ask("Again?"), "stream": True}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{proxy}/openai/v1/chat/completions", json=body) as answer,
    ):
        assert answer.content_type == "text/event-stream"
        assert await answer.read() == provider.sent


async def test_first_piece_of_a_stream_arrives_before_the_second(alice: openai.AsyncOpenAI, provider: Provider) -> None:
    provider.gate.clear()
    stream = await chat(alice, "Hello.", stream=True)
    first = await anext(aiter(stream))
    assert first.choices[0].delta.content == "Not"
    provider.gate.set()
    assert [chunk.choices[0].delta.content async for chunk in stream] == ["ed."]


async def test_growing_chat_is_one_session_stored_once(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    history = ask("My hens are Ada and Grace.")
    await alice.chat.completions.create(model="m", messages=history)
    await messages(keeps, tenant, 2)
    await alice.chat.completions.create(model="m", messages=history)  # sent again
    history += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Name them again."}]
    provider.text = "Ada and Grace."
    history[0]["content"] = "You are a cook. It is 12:01."
    await alice.chat.completions.create(model="m", messages=history)
    stored = await messages(keeps, tenant, 4)
    assert stored == [
        ("user", "My hens are Ada and Grace."),
        ("assistant", "Noted."),
        ("user", "Name them again."),
        ("assistant", "Ada and Grace."),
    ]
    assert len(await sessions(keeps, tenant)) == 1


async def test_tool_loop_stores_the_question_once(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    tool: Any = {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
    }
    provider.message = {"content": None, "tool_calls": [call]}
    history = ask("Will it rain?")
    answer: Any = await alice.chat.completions.create(model="m", messages=history, tools=[tool])
    assert answer.choices[0].message.tool_calls[0].function.name == "weather"
    assert provider.last.body["tools"] == [tool]
    provider.message = {}
    history += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "rain"}]
    await alice.chat.completions.create(model="m", messages=history, tools=[tool])
    assert await messages(keeps, tenant, 2) == [("user", "Will it rain?"), ("assistant", "Noted.")]


async def test_session_comes_from_a_header_or_metadata(made: Clients, keeps: Keeps, tenant: str) -> None:
    client = await made.client(token(tenant, "alice"), **{"X-Session-ID": "friday"})
    await chat(client, "One.")
    plain = await made.client(token(tenant, "alice"))
    await chat(plain, "Two.", metadata={"session_id": "monday"})
    await messages(keeps, tenant, 4)
    assert await sessions(keeps, tenant) == {"friday", "monday"}


async def test_users_of_one_application_are_kept_apart(
    made: Clients, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    app = await made.client(await key(keeps, tenant))
    await keeps.memory(Scope(tenant, "alice")).remember(PEANUTS, importance=0.9)
    await chat(app, "Dinner?", user="alice")
    assert PEANUTS in provider.last.raw.decode()
    await chat(app, "Dinner?", safety_identifier="bob")
    assert b"peanuts" not in provider.last.raw
    carol = app.with_options(default_headers={"X-User-ID": "carol"})
    await chat(carol, "Supper?", user="a-hash-for-the-provider")
    assert provider.last.body["user"] == "a-hash-for-the-provider"
    for user, text in (("alice", "Dinner?"), ("bob", "Dinner?"), ("carol", "Supper?")):
        assert await messages(keeps, tenant, 2, user) == [("user", text), ("assistant", "Noted.")]


async def test_key_of_one_user_names_no_other(made: Clients, keeps: Keeps, tenant: str, provider: Provider) -> None:
    bound = await made.client(await key(keeps, tenant, "alice"))
    for more in ({"user": "bob"}, {"safety_identifier": "bob"}, {"extra_headers": {"X-User-ID": "bob"}}):
        with pytest.raises(openai.PermissionDeniedError):
            await chat(bound, "Dinner?", **more)
    assert provider.received == []
    await chat(bound, "Dinner?", user="alice")


async def test_key_of_any_user_must_name_one(made: Clients, keeps: Keeps, tenant: str, provider: Provider) -> None:
    app = await made.client(await key(keeps, tenant))
    with pytest.raises(openai.BadRequestError, match="name one"):
        await chat(app, "Dinner?")
    assert provider.received == []


async def test_callers_need_a_role_and_a_valid_key(
    made: Clients, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    reader = await made.client(await key(keeps, tenant, "alice", "reader"))
    with pytest.raises(openai.PermissionDeniedError):
        await chat(reader, "Dinner?")
    with pytest.raises(openai.AuthenticationError):
        await chat(await made.client("keeps_unknown"), "Dinner?")
    assert provider.received == []
    assert [model.id async for model in await reader.models.list()] == ["m"]


@pytest.mark.parametrize("how", ["failed", "slow"])
async def test_request_passes_unchanged_without_memory(
    how: str, proxy: str, keeps: Keeps, tenant: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*arguments: Any, **named: Any) -> None:
        if how == "failed":
            raise UnavailableError("the database is away")
        await asyncio.Event().wait()

    monkeypatch.setitem(keeps.handlers, BUILD_CONTEXT, away)
    monkeypatch.setattr(mount, "MEMORY_SECONDS", 0.2)
    raw = b'{"model": "m",   "messages":[{"role":"user","content":"Hello."}]}'
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{proxy}/openai/v1/chat/completions", data=raw) as answer,
    ):
        assert answer.status == 200
    assert provider.last.raw == raw
    await metric_reaches(proxy, f'keeps_openai_contexts_total{{outcome="{how}"}}', 1)


async def test_errors_of_the_provider_pass_unchanged(proxy: str, keeps: Keeps, tenant: str, provider: Provider) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    provider.status, provider.headers = 429, {"Retry-After": "7", "Set-Cookie": "a=b", "OpenAI-Organization": "o"}
    body = {"model": "m", "messages": ask("Hello.")}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{proxy}/openai/v1/chat/completions", json=body) as answer,
    ):
        assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
        assert await answer.read() == provider.error
        assert {"Set-Cookie", "OpenAI-Organization"}.isdisjoint(answer.headers)
    assert await messages(keeps, tenant, 0) == []


async def test_key_of_the_operator_stays_on_the_server(
    alice: openai.AsyncOpenAI, provider: Provider, tenant: str
) -> None:
    await chat(alice, "Hello.", extra_headers={"Idempotency-Key": "k", "OpenAI-Organization": "x", "Cookie": "a=b"})
    headers = {name.lower(): value for name, value in provider.last.headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert {"cookie", "idempotency-key", "openai-organization", "x-user-id"}.isdisjoint(headers)
    provider.status, provider.error = 400, f'{{"error":{{"message":"{KEY} is wrong"}}}}'.encode()
    with pytest.raises(openai.BadRequestError) as refused:
        await chat(alice, "Hello.")
    assert KEY not in str(refused.value)
    provider.status = 401
    with pytest.raises(openai.InternalServerError) as failed:
        await chat(alice, "Hello.")
    assert failed.value.status_code == 502
    assert KEY not in str(failed.value)


async def test_redirect_is_not_followed(alice: openai.AsyncOpenAI, provider: Provider) -> None:
    provider.status, provider.headers = 307, {"Location": f"{provider.url}/elsewhere"}
    with pytest.raises(openai.InternalServerError, match="redirect"):
        await chat(alice, "Hello.")
    assert len(provider.received) == 1


async def test_provider_that_is_away_is_an_error(keeps: Keeps, tenant: str, clients: AsyncExitStack) -> None:
    async with serving(keeps, openai_upstream="http://127.0.0.1:1/v1") as url:
        client = await Clients(url, clients).client("none", **{"X-Tenant-ID": tenant, "X-User-ID": "alice"})
        with pytest.raises(openai.InternalServerError, match="cannot be reached"):
            await chat(client, "Hello.")


async def test_client_that_leaves_ends_the_call_and_is_stored(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    provider.gate.clear()
    provider.text = "Half an answer."
    stream = await chat(alice, "Tell me all.", stream=True)
    await anext(aiter(stream))
    await stream.close()
    await until(lambda: provider.left, "the call of the provider ends")
    assert await messages(keeps, tenant, 2) == [("user", "Tell me all."), ("assistant", "Half an")]
    page = await keeps.memory(Scope(tenant, "alice")).list()
    assert {each.role: each.metadata.get("partial") for each in page.items} == {"user": None, "assistant": True}


async def test_client_that_leaves_before_the_answer_ends_the_call(
    alice: openai.AsyncOpenAI, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()

    async def never(self: Provider) -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1

    monkeypatch.setattr(Provider, "_chat", never)
    monkeypatch.setattr(Provider, "_stream", lambda self, request, pieces: never(self))
    task = asyncio.create_task(chat(alice, "Hello.", stream=True))
    await waits.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: provider.left, "the call of the provider ends")


async def test_stream_that_the_provider_cuts_is_incomplete(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    provider.gate.clear()
    provider.cut = True
    stream = await chat(alice, "Tell me.", stream=True)
    chunks = aiter(stream)
    await anext(chunks)
    provider.gate.set()
    with pytest.raises(openai.APIConnectionError):
        await anext(chunks)
    assert await messages(keeps, tenant, 2) == [("user", "Tell me."), ("assistant", "Not")]


async def test_stream_for_a_user_of_the_body_outlives_checks(
    made: Clients, keeps: Keeps, tenant: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = asyncio.Event()
    check = open_streams.OpenStreams._check_once

    async def counted(self: Any, *arguments: Any) -> None:
        await check(self, *arguments)
        if self._streams:
            checked.set()

    monkeypatch.setattr(open_streams.OpenStreams, "_check_once", counted)
    app = await made.client(await key(keeps, tenant))
    provider.gate.clear()
    stream = await chat(app, "Hello.", stream=True, user="alice")
    await anext(aiter(stream))
    await checked.wait()
    provider.gate.set()
    assert [chunk.choices[0].delta.content async for chunk in stream] == ["ed."]


async def test_revoked_key_ends_a_stream_unstored(
    made: Clients, keeps: Keeps, tenant: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "CHECK_SECONDS", 0.1)
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    secret = await root.admin.make_key("app", user_id="alice", roles=("writer",))
    client = await made.client(secret.secret)
    provider.gate.clear()
    stream = await chat(client, "Hello.", stream=True)
    await anext(aiter(stream))
    await root.admin.revoke_key(secret.key_id)
    await until(lambda: provider.left, "the call of the provider ends")
    assert await messages(keeps, tenant, 0) == []


async def test_concurrent_calls_keep_their_users(made: Clients, keeps: Keeps, tenant: str, provider: Provider) -> None:
    app = await made.client(await key(keeps, tenant))
    users = [f"user-{number}" for number in range(8)]
    for user in users:
        await keeps.memory(Scope(tenant, user)).remember(f"The favourite word of {user} is w{user}w.", importance=0.9)
    await asyncio.gather(*(chat(app, f"I am {user}.", user=user, stream=n % 2 == 0) for n, user in enumerate(users)))
    for request in provider.received:
        user = request.body["user"]
        assert [other for other in users if f"w{other}w" in request.raw.decode()] == [user]


async def test_too_many_calls_are_refused(
    alice: openai.AsyncOpenAI, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keeps.integrations.openai_proxy import upstream

    monkeypatch.setattr(upstream, "WAIT_SECONDS", 0.1)
    provider.gate.clear()
    streams = [await chat(alice, f"Hello {n}.", stream=True) for n in range(upstream.USER_CALLS)]
    with pytest.raises(openai.InternalServerError) as refused:
        await chat(alice, "One more.")
    assert (refused.value.status_code, refused.value.response.headers["retry-after"]) == (503, "1")
    provider.gate.set()
    for stream in streams:
        await stream.close()


async def test_server_that_stops_ends_streams_and_stores_them(
    keeps: Keeps, tenant: str, provider: Provider, clients: AsyncExitStack
) -> None:
    provider.gate.clear()
    async with serving(keeps, openai_upstream=provider.url) as url:
        client = await Clients(url, clients).client("none", **{"X-Tenant-ID": tenant, "X-User-ID": "alice"})
        stream = await chat(client, "Tell me.", stream=True)
        await anext(aiter(stream))
    assert await messages(keeps, tenant, 0) == [("user", "Tell me."), ("assistant", "Not")]


async def test_long_answer_passes_without_being_stored(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "HELD_BYTES", 1_000)
    provider.text = "long " * 20_000
    answer = await chat(alice, "Hello.")
    assert answer.choices[0].message.content == provider.text
    assert await messages(keeps, tenant, 1) == [("user", "Hello.")]


async def test_exchange_that_finds_no_room_is_dropped_and_counted(
    proxy: str, alice: openai.AsyncOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MOST_WAITING", 0)
    await chat(alice, "Hello.")
    await metric_reaches(proxy, 'keeps_openai_exchanges_total{outcome="dropped"}', 1)


async def test_bodies_that_two_readers_read_differently_are_refused(
    proxy: str, tenant: str, provider: Provider
) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}", "Content-Type": "application/json"}
    bodies = (
        b'{"previous_response_id":"a","input":"x","previous_response_id":null}',
        '{"input":"x"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"input":"x"}',
        b"[1]",
        b"",
        b'{"input":"x"} {}',
    )
    async with aiohttp.ClientSession(headers=headers) as http:
        for body in bodies:
            async with http.post(f"{proxy}/openai/v1/responses", data=body) as answer:
                assert (answer.status, (await answer.json())["error"]["type"]) == (400, "invalid_request_error")
    assert provider.received == []


async def test_other_paths_are_refused_with_advice(alice: openai.AsyncOpenAI, provider: Provider) -> None:
    with pytest.raises(openai.NotFoundError, match="send other requests to the model provider itself"):
        await alice.embeddings.create(model="m", input="x")
    with pytest.raises(openai.NotFoundError):
        await alice.responses.retrieve("resp_1")
    assert provider.received == []


async def test_server_without_a_provider_has_no_proxy(secured_url: str, tenant: str) -> None:
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token(tenant, 'alice')}"}) as http,
        http.get(f"{secured_url}/openai/v1/models") as answer,
    ):
        assert answer.status == 404


async def test_response_gets_the_context_in_its_instructions(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(PEANUTS, importance=0.9)
    await memory.remember("Alice ordered green curry on Friday.", importance=0.2)
    answer = await alice.responses.create(model="m", instructions=SYSTEM, input="What curry did I order?")
    assert answer.output_text == "Noted."
    body = provider.last.body
    assert body["input"] == "What curry did I order?", "the provider stores the input"
    assert body["instructions"].startswith(f"{SYSTEM}\n\n{CONTEXT_BEGIN}")
    assert PEANUTS in body["instructions"]
    assert "green curry" in body["instructions"]
    assert await messages(keeps, tenant, 2) == [("user", "What curry did I order?"), ("assistant", "Noted.")]


async def test_response_that_is_not_stored_gets_the_context_in_its_input(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(PEANUTS, importance=0.9)
    await memory.remember("Alice ordered green curry on Friday.", importance=0.2)
    said: Any = [
        {"role": "developer", "content": SYSTEM},
        {"role": "user", "content": [{"type": "input_text", "text": "What curry did I order?"}]},
    ]
    stream = await alice.responses.create(model="m", input=said, store=False, stream=True)
    assert [event.type async for event in stream][-1] == "response.completed"
    developer, user = provider.last.body["input"]
    assert PEANUTS in developer["content"]
    assert "green curry" in user["content"][0]["text"]
    assert await messages(keeps, tenant, 2) == [("user", "What curry did I order?"), ("assistant", "Noted.")]


async def test_chain_of_responses_is_one_session_of_its_user(
    made: Clients, alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember(PEANUTS, importance=0.9)
    first = await alice.responses.create(model="m", input="Plan a dinner.")
    async for event in await alice.responses.create(
        model="m", input="For two.", previous_response_id=first.id, stream=True
    ):
        if event.type == "response.completed":
            second = event.response.id
    output: Any = [{"type": "function_call_output", "call_id": "1", "output": "x"}]
    await alice.responses.create(model="m", input=output, previous_response_id=second)
    assert PEANUTS in provider.last.body["instructions"], "a result of a tool continues the question"
    await messages(keeps, tenant, 5)
    assert len(await sessions(keeps, tenant)) == 1
    reference: Any = {"type": "item_reference", "id": first.output[0].id}
    again: Any = [reference, {"type": "item_reference", "id": "msg_2"}, {"role": "user", "content": "Thanks."}]
    await alice.responses.create(model="m", input=again, extra_headers={"X-Session-ID": "other"})
    calls = len(provider.received)
    bob = await made.client(token(tenant, "bob"))
    with pytest.raises(openai.BadRequestError, match="no such id of this user"):
        await bob.responses.create(model="m", input="What did she plan?", previous_response_id=first.id)
    for unnamed in (reference, {"id": reference["id"]}):
        said: Any = [unnamed, {"role": "user", "content": "What was it?"}]
        with pytest.raises(openai.BadRequestError, match="no such id of this user"):
            await bob.responses.create(model="m", input=said)
    assert len(provider.received) == calls


async def test_conversation_belongs_to_the_user_who_created_it(
    made: Clients, alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str
) -> None:
    conversation = await alice.conversations.create()
    for _ in range(2):
        await alice.responses.create(model="m", input="Yes.", conversation=conversation.id)
    assert len(await messages(keeps, tenant, 3)) >= 3
    assert await sessions(keeps, tenant) == {conversation.id}
    bob = await made.client(token(tenant, "bob"))
    spellings: list[Any] = [conversation.id, {"id": conversation.id}]
    for named in spellings:
        with pytest.raises(openai.BadRequestError, match="no such id of this user"):
            await bob.responses.create(model="m", input="Hello.", conversation=named)


async def test_texts_that_cannot_be_stored_are_repaired(
    alice: openai.AsyncOpenAI, keeps: Keeps, tenant: str, provider: Provider
) -> None:
    provider.text = "nul \x00 and half \ud83d"
    await chat(alice, "x\x00y")
    assert await messages(keeps, tenant, 2) == [("user", "x\ufffdy"), ("assistant", "nul \ufffd and half \ufffd")]


async def test_nothing_secret_is_logged(
    lines: Any, alice: openai.AsyncOpenAI, keeps: Keeps, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    import structlog

    logger = structlog.wrap_logger(None, processors=[_Into(lines)], wrapper_class=structlog.BoundLogger)
    for module in (mount, storing):
        monkeypatch.setattr(module, "log", lambda: logger)

    async def away(*arguments: Any, **named: Any) -> None:
        raise UnavailableError("a secret text")

    monkeypatch.setitem(keeps.handlers, BUILD_CONTEXT, away)
    await chat(alice, "Words of Alice.")
    provider.status = 401
    with pytest.raises(openai.InternalServerError):
        await chat(alice, "Words of Alice.")
    logged = json.dumps(lines)
    assert "passed without its context" in logged
    for secret in (KEY, "Words of Alice", "Noted", "a secret text", "eyJ"):
        assert secret not in logged


class _Into:
    """A processor that appends lines to a list."""

    def __init__(self, lines: list[Any]) -> None:
        self._lines = lines

    def __call__(self, logger: Any, name: str, event: Any) -> Any:
        import structlog

        self._lines.append({**event, "log_level": name})
        raise structlog.DropEvent
