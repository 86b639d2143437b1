"""What one caller can hold: bodies on their way, answers that are not read, connections."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from keeps.base.fairness import FairSlots
from keeps.base.scope import Scope
from keeps.doors.server import bodies, byte_budget, protocol
from keeps.doors.server.byte_budget import ByteBudget
from keeps.doors.server.cached_response import CachedResponse
from keeps.engine import Keeps
from keeps_client.errors import UnavailableError
from tests.conftest import until
from tests.serving import JWT_SECRET, serving, token

TEXT = "x" * 49_000
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
ENTRY = json.dumps({"entries": [{"entry_id": "e", "entry": [[number] for number in range(36_000)]}]}).encode()


@pytest.fixture
def made_held(monkeypatch: pytest.MonkeyPatch) -> list[ByteBudget]:
    """The counters of each server that the test makes."""
    made: list[ByteBudget] = []

    def make() -> ByteBudget:
        made.append(ByteBudget())
        return made[-1]

    monkeypatch.setattr("keeps.doors.server.app.ByteBudget", make)
    return made


@pytest.fixture
async def url(keeps: Keeps, made_held: list[ByteBudget]) -> AsyncIterator[str]:
    assert made_held == []
    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET) as address:
        yield address


class Raw:
    """A client that sends what it is told and reads nothing by itself."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.connect((parts.hostname, parts.port))

    def send(self, method: str, path: str, bearer: str = "", *headers: str, body: bytes = b"") -> None:
        given = [f"Authorization: Bearer {bearer}"] if bearer else []
        head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *given, *headers])
        self.socket.sendall(head.encode() + b"\r\n\r\n" + body)

    async def read(self) -> bytes:
        """All until the server closes the connection."""
        self.socket.settimeout(20)
        pieces: list[bytes] = []
        try:
            while piece := await asyncio.to_thread(self.socket.recv, 1 << 20):
                pieces.append(piece)
        except ConnectionResetError:
            pass
        return b"".join(pieces)

    async def status(self) -> int:
        self.socket.settimeout(20)
        return int((await asyncio.to_thread(self.socket.recv, 12))[9:12])

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def raw(url: str) -> Iterator[Any]:
    made: list[Raw] = []

    def connect() -> Raw:
        made.append(Raw(url))
        return made[-1]

    yield connect
    for each in made:
        each.close()


async def fill(keeps: Keeps, tenant: str, count: int = 100) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    for start in range(0, count, 20):
        items = [{"content": f"{number} {TEXT}"} for number in range(start, start + 20)]
        await memory.remember_many(items, index="later")


async def test_an_answer_that_nobody_reads_ends(
    url: str, raw: Any, keeps: Keeps, tenant: str, made_held: list[ByteBudget], monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(keeps, tenant)
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.3)
    client = raw()
    client.send("GET", "/v1/memories?limit=200", token(tenant, "alice", "reader"))
    await until(lambda: made_held[0].total > 0, "the answer counts")
    await until(lambda: made_held[0].total == 0, "it is given up")
    assert len(await client.read()) < 4_000_000


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/memories?limit=200",
        "/mem0/memories?top_k=200&user_id=alice",
        "/hindsight/v1/default/banks/alice/memories/list?limit=200",
    ],
)
async def test_a_user_holds_only_so_many_unread_bytes(
    url: str, raw: Any, keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, path: str, encoding: str
) -> None:
    """Their size in memory counts, also where little of it is sent."""
    await fill(keeps, tenant)
    monkeypatch.setattr(byte_budget, "USER_BYTES", 1_000_000)
    bearer = token(tenant, "alice", "reader")
    client = raw()
    client.send("GET", path, bearer, f"Accept-Encoding: {encoding}")
    assert await client.status() == 503
    headers = {"Authorization": f"Bearer {bearer}", "Accept-Encoding": encoding}
    async with aiohttp.ClientSession(url, headers=headers) as http, http.get("/v1/memories?limit=1") as answer:
        assert answer.status == 200, "what is short is answered"


def test_one_user_cannot_use_up_what_a_tenant_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_budget, "USER_BYTES", 10)
    monkeypatch.setattr(byte_budget, "TENANT_BYTES", 15)
    monkeypatch.setattr(byte_budget, "TOTAL_BYTES", 20)
    counted = ByteBudget()
    alice, bob, carol = Scope("t", "alice"), Scope("t", "bob"), Scope("u", "carol")
    with counted.reserved(alice, 10):
        with pytest.raises(UnavailableError, match="for you"):
            counted.reserve(alice, 1)
        counted.reserve(bob, 5)
        with pytest.raises(UnavailableError, match="this tenant"):
            counted.reserve(bob, 1)
        counted.reserve(carol, 5)
        with pytest.raises(UnavailableError, match="all tenants"):
            counted.reserve(carol, 1)
    counted.release(bob, 5)
    counted.release(carol, 5)
    assert (counted.total, counted._users, counted._tenants) == (0, {}, {})


BODIES = [
    ("POST", "/v1/memories", "application/json"),
    ("POST", "/v1/recall", "application/json"),
    ("POST", "/v1/admin/import", "application/x-ndjson"),
    ("POST", "/mem0/v3/memories/add/", "application/json"),
    ("PUT", "/mem0/v1/batch/", "application/json"),
    ("POST", "/hindsight/v1/default/banks/alice/memories", "application/json"),
    ("POST", "/hindsight/v1/default/banks/alice/memories/recall", "application/json"),
]


@pytest.mark.parametrize("key", ["", "Idempotency-Key: k"])
@pytest.mark.parametrize(("method", "path", "kind"), BODIES)
async def test_every_body_counts_for_its_user(
    url: str, raw: Any, tenant: str, made_held: list[ByteBudget], method: str, path: str, kind: str, key: str
) -> None:
    headers = [f"Content-Type: {kind}", "Content-Length: 5000000", *filter(None, [key])]
    client = raw()
    client.send(method, path, token(tenant, "alice", "admin"), *headers, body=b" " * 100_000)
    await until(lambda: made_held[0].total == 100_000, "the body counts while it comes")
    client.close()
    await until(lambda: made_held[0].total == 0, "and no more when its sender is gone")


@pytest.mark.parametrize("key", ["", "Idempotency-Key: k"])
@pytest.mark.parametrize(
    ("method", "path", "role", "status"),
    [
        ("POST", "/v1/memories", "reader", 403),
        ("POST", "/mem0/v3/memories/add/", "reader", 403),
        ("POST", "/hindsight/v1/default/banks/alice/memories", "reader", 403),
        ("POST", "/hindsight/v1/default/banks/bob/memories", "writer", 403),
        ("POST", "/nowhere", "writer", 404),
        ("DELETE", "/nowhere", "writer", 404),
        ("POST", "/mem0/nowhere", "reader", 403),
    ],
)
async def test_a_body_is_not_read_before_its_sender_is_admitted(
    raw: Any, tenant: str, method: str, path: str, role: str, status: int, key: str
) -> None:
    client = raw()
    headers = ["Content-Type: application/json", "Content-Length: 5000000", *filter(None, [key])]
    client.send(method, path, token(tenant, "alice", role), *headers)
    assert await client.status() == status


async def test_a_body_is_not_read_over_the_rate(keeps: Keeps, tenant: str) -> None:
    bearer = token(tenant, "alice")
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, writes_per_minute=1) as url:
        for path in ("/v1/memories", "/mem0/memories", "/hindsight/v1/default/banks/alice/memories"):
            for expected in (None, 429):
                client = Raw(url)
                client.send("POST", path, bearer, "Content-Type: application/json", "Content-Length: 5000000")
                if expected is not None:
                    assert await client.status() == expected
                client.close()


async def test_a_body_that_drips_has_an_end(raw: Any, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "WHOLE_SECONDS", 0.2)
    for path in ("/v1/memories", "/mem0/memories", "/hindsight/v1/default/banks/alice/memories"):
        client = raw()
        headers = ("Content-Type: application/json", "Content-Length: 5000000", "Idempotency-Key: k")
        client.send("POST", path, token(tenant, "alice"), *headers, body=b"{")
        assert await client.status() in (400, 422)


async def test_what_follows_a_refused_body_has_an_end(raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server reads what is left of a refused body, but not for ever."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    client = raw()
    client.send("POST", "/v1/memories", "", "Content-Length: 5000000", body=b"{")
    assert b" 401 " in await client.read()


@pytest.mark.parametrize("count", [protocol.MAX_HEADERS - 1, protocol.MAX_HEADERS + 10])
async def test_a_head_has_only_so_many_headers(raw: Any, count: int) -> None:
    client = raw()
    client.send("GET", "/health", "", *(f"x-{number}: 1" for number in range(count - 1)))
    assert await client.status() == (200 if count < protocol.MAX_HEADERS else 431)


async def test_requests_sent_ahead_of_their_answers_are_few(raw: Any, url: str) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    polite, flood = raw(), raw()
    polite.socket.sendall(request * 20)
    flood.socket.sendall(request * (protocol.MAX_PIPELINED + 100))
    assert (await flood.read()).count(b"HTTP/1.1 200") < protocol.MAX_PIPELINED
    polite.socket.settimeout(10)
    received = b""
    while received.count(b"HTTP/1.1 200") < 20:
        received += await asyncio.to_thread(polite.socket.recv, 1 << 16)


@pytest.mark.parametrize("path", ["/metrics", "/openapi.json", "/docs/swagger-ui-bundle.js"])
async def test_what_anybody_may_read_is_made_once(keeps: Keeps, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keeps.doors.server.app.METRICS_SECONDS", 60.0)
    made: list[int] = []
    original = CachedResponse._compressed
    monkeypatch.setattr(CachedResponse, "_compressed", lambda kept: made.append(1) or original(kept))
    async with serving(keeps) as url, aiohttp.ClientSession(url) as http:

        async def read(encoding: str) -> bytes:
            async with http.get(path, headers={"Accept-Encoding": encoding}) as answer:
                assert (answer.status, answer.headers.get("Content-Encoding", "identity")) == (200, encoding)
                return await answer.read()

        read_at_once = await asyncio.gather(*(read(encoding) for encoding in ("gzip", "identity") * 10))
    assert (len(set(read_at_once)), len(made)) == (1, 1)


async def test_answers_are_kept_by_nobody(url: str, tenant: str) -> None:
    bearer = token(tenant, "alice", "admin")
    paths = ["/v1/memories", "/v1/nowhere", "/nowhere", "/v1/admin/export", "/mem0/v1/ping/", "/health", "/metrics"]
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {bearer}"}) as http:
        for path in paths:
            async with http.get(path) as answer:
                assert answer.headers["Cache-Control"] == "no-store", path
                assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        async with http.get("/ui/login") as answer:
            assert answer.headers.getall("X-Content-Type-Options") == ["nosniff"]
    async with aiohttp.ClientSession(url) as http, http.get("/v1/memories") as answer:
        assert (answer.status, answer.headers["Cache-Control"]) == (401, "no-store")


FORMS = {
    "empty fields": b"&" * (1 << 20),
    "many fields": b"a=1&" * 100_000,
    "escapes": b"a=" + b"%41" * 340_000,
}


@pytest.mark.parametrize("form", FORMS)
async def test_a_hostile_form_holds_nobody_up(keeps: Keeps, tenant: str, form: str) -> None:
    """Parsing it in one step fails the test."""
    async with (
        serving(keeps) as url,
        aiohttp.ClientSession(url, headers=browser(url)) as http,
        http.post("/ui/memories/new", data=io.BytesIO(FORMS[form]), headers=URLENCODED) as answer,
    ):
        assert answer.status == 422, await answer.text()


async def test_a_form_is_short_unless_it_has_a_file(keeps: Keeps) -> None:
    async with serving(keeps) as url, aiohttp.ClientSession(url, headers=browser(url)) as http:
        async with http.post(
            "/ui/memories/new", data=io.BytesIO(b"a=" + b"x" * (2 << 20)), headers=URLENCODED
        ) as answer:
            assert answer.status == 413
        lines = (
            b'{"type": "nothing at all, which takes some room in a line of its own, so that the body is long"}\n'
            * 15_000
        )
        form = aiohttp.FormData({"dry_run": "1"})
        form.add_field("file", io.BytesIO(lines), filename="export.jsonl")
        async with http.post("/ui/memories/import", data=form) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_slow_forms_hold_no_place(keeps: Keeps, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = FairSlots(1, alone=1, beside=1)
    monkeypatch.setattr("keeps.doors.server.concurrency.tenant_slots", lambda _: slots)
    async with serving(keeps) as url:
        slow = [Raw(url) for _ in range(4)]
        for client in slow:
            headers = [f"{name}: {value}" for name, value in browser("http://localhost").items()]
            client.send("POST", "/ui/memories/new", "", f"Content-Type: {kind}", "Content-Length: 900", *headers)
        async with aiohttp.ClientSession(url) as http:
            for path in ("/v1/memories", "/ui/memories"):
                async with http.get(path) as answer:
                    assert answer.status == 200
        for client in slow:
            client.close()


def browser(url: str) -> dict[str, str]:
    """What a browser says of a form of this server."""
    return {"Origin": url, "Sec-Fetch-Site": "same-origin"}


async def test_a_transcript_entry_of_many_values_holds_nobody_up(url: str, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(url, headers=headers) as http:
        async with http.post("/v1/transcripts/app", json={"transcript_id": "t"}) as answer:
            assert answer.status == 201
        async with http.post("/v1/transcripts/app/t/entries", data=ENTRY) as answer:
            assert answer.status == 200, await answer.text()
        for path in ("/v1/transcripts/app/t", "/v1/events?after=0&types=transcript.*"):
            async with http.get(path) as answer:
                assert (answer.status, len(await answer.read()) > 250_000) == (200, True), path
