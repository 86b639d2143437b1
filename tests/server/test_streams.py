"""Server-sent events as bytes: ids, resuming, heartbeats, slow readers, access."""

from __future__ import annotations

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.doors.server import event_stream
from keeps.engine import Keeps
from keeps.store.events.service import EventService
from tests.conftest import until
from tests.serving import serving, token


def headers_of(tenant: str, user: str = "alice") -> dict[str, str]:
    return {"X-Tenant-ID": tenant, "X-User-ID": user}


async def test_an_event_is_a_block_with_its_number(server_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Line one.\nLine two: 🙂")
    await memory.store("k", 1, "p")
    async with (
        aiohttp.ClientSession(headers=headers_of(tenant)) as http,
        http.get(f"{server_url}/v1/events/stream", headers={"Last-Event-ID": "1"}) as answer,
    ):
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        block = (await answer.content.readuntil(b"\n\n")).decode()
        assert block.startswith("id: 2\nevent: plan.state.written\ndata: {")
        assert await answer.content.readuntil(b"\n\n") == b"id: 2\n\n"


async def test_what_is_filtered_out_still_moves_the_number(server_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).store("k", 1, "p")
    async with (
        aiohttp.ClientSession(headers=headers_of(tenant)) as http,
        http.get(f"{server_url}/v1/events/stream", params={"after": "0", "types": "memory.*"}) as answer,
    ):
        assert await answer.content.readuntil(b"\n\n") == b"id: 1\n\n"


async def test_a_wrong_position_is_a_problem_not_a_stream(server_url: str, tenant: str) -> None:
    async with aiohttp.ClientSession(headers=headers_of(tenant)) as http:
        for wrong in ("9", "-1", "x"):
            async with http.get(f"{server_url}/v1/events/stream", headers={"Last-Event-ID": wrong}) as answer:
                assert (answer.status, (await answer.json(content_type=None))["code"]) == (422, "validation_failed")


async def test_too_many_streams_of_a_user_are_refused(server_url: str, tenant: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("keeps.store.events.feed.MAX_OF_A_USER", 1)
    async with (
        aiohttp.ClientSession(headers=headers_of(tenant)) as http,
        http.get(f"{server_url}/v1/events/stream") as one,
    ):
        await one.content.readuntil(b"\n\n")
        async with http.get(f"{server_url}/v1/events/stream") as two:
            assert (two.status, two.headers["Retry-After"]) == (429, "5")


async def test_a_stream_ends_after_a_while_so_that_access_is_asked_again(
    server_url: str, tenant: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(event_stream, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.05)
    async with (
        aiohttp.ClientSession(headers=headers_of(tenant)) as http,
        http.get(f"{server_url}/v1/events/stream") as one,
    ):
        body = await one.read()
    assert body.count(b"id: 0\n\n") >= 2, "heartbeats"


async def test_a_reader_that_leaves_is_forgotten(keeps: Keeps, server_url: str, tenant: str) -> None:
    feed = keeps.service(EventService)._feed
    before = len(feed._open)
    async with aiohttp.ClientSession(headers=headers_of(tenant)) as http:
        answer = await http.get(f"{server_url}/v1/events/stream")
        await answer.content.readuntil(b"\n\n")
        assert len(feed._open) == before + 1
        answer.close()
    await until(lambda: len(feed._open) == before, "the subscription ends with its reader")


async def test_a_slow_reader_is_cut_off_and_nobody_else_waits(keeps: Keeps, tenant: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(event_stream, "STALL_SECONDS", 1.0)
    memory = keeps.memory(Scope(tenant, "alice"))
    async with serving(keeps) as url:
        parts = urlsplit(url)
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.connect((parts.hostname, parts.port))
        request = (
            f"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: localhost\r\nX-Tenant-ID: {tenant}\r\nX-User-ID:"
            " alice\r\n\r\n"
        )
        slow.sendall(request.encode())
        feed = keeps.service(EventService)._feed
        await until(lambda: any(each.scope.tenant_id == tenant for each in feed._open), "the slow reader is there")
        text = "x" * 240_000
        for number in range(60):
            await memory.store("k", f"{number} {text}", "p")
        async with (
            aiohttp.ClientSession(headers=headers_of(tenant), read_bufsize=1 << 20) as http,
            http.get(f"{url}/v1/events/stream", params={"after": "0"}) as fast,
        ):
            seen = 0
            while seen < 60:
                seen += (await fast.content.readuntil(b"\n\n")).count(b"event: ")
        assert seen == 60
        await until(lambda: not any(each.scope.tenant_id == tenant for each in feed._open), "the slow one is cut off")
        slow.settimeout(10)
        received = b""
        while piece := await asyncio.to_thread(slow.recv, 1 << 20):
            received += piece
        slow.close()
        whole = [block for block in received.split(b"\n\n") if block.count(b"\ndata: ") == 1 and block.endswith(b"}")]
        assert 0 < len(whole) < 60
        last = int(whole[-1].rpartition(b"id: ")[2].partition(b"\n")[0])
        found = page = await memory.events(after=last, limit=200)
        while page:
            page = await memory.events(after=page[-1].sequence, limit=200)
            found = [*found, *page]
        assert [event.sequence for event in found] == list(range(last + 1, 61)), "it can go on where it was"


@pytest.mark.parametrize("path", ["events", "events/stream"])
async def test_events_ask_for_credentials(secured_url: str, path: str, tenant: str) -> None:
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{secured_url}/v1/{path}") as answer:
            assert answer.status == 401
        headers = {"Authorization": f"Bearer {token(tenant, 'alice', 'reader')}"}
        async with http.get(f"{secured_url}/v1/{path}", headers=headers) as answer:
            assert answer.status == 200
            answer.close()


async def test_an_event_belongs_to_the_trace_of_its_request(server_url: str, keeps: Keeps, tenant: str) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with aiohttp.ClientSession(headers=headers_of(tenant)) as http:
        for given in (parent, "nonsense", None):
            headers = {"traceparent": given} if given else {}
            body = {"content": f"traced {given}"}
            async with http.post(f"{server_url}/v1/memories", json=body, headers=headers) as answer:
                assert answer.status == 201
    events = await keeps.memory(Scope(tenant, "alice")).events()
    assert [event.traceparent for event in events] == [parent, None, None]


async def test_a_fact_corrected_twice_answers_three_ways_over_http(server_url: str, tenant: str) -> None:
    moments: list[str] = []
    async with aiohttp.ClientSession(headers=headers_of(tenant)) as http:
        for text in ("Alice lives in Leeds.", "Alice lives in Lisbon.", "Alice lives in Lagos."):
            body = {"content": text, "namespace": "profile", "key": "home"}
            async with http.post(f"{server_url}/v1/memories", json=body) as answer:
                moments.append((await answer.json())["memory"]["updated_at"])
        found = []
        for moment in moments:
            async with http.post(
                f"{server_url}/v1/recall", json={"query": "where does Alice live?", "asOf": moment}
            ) as answer:
                found.append([hit["memory"]["content"] for hit in (await answer.json())["hits"]])
    assert found == [["Alice lives in Leeds."], ["Alice lives in Lisbon."], ["Alice lives in Lagos."]]
