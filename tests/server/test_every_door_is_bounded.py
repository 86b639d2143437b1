"""Every route and mount, from the lists that the server is made of: slow bodies, unread answers, many connections.

What one caller can hold stays bounded and has an end, and others are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
import psutil
import pytest
from benchmarks import served

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.doors.cli.serving import other_protocols
from keeps.doors.console.pages import ROUTES as PAGES
from keeps.doors.server import bodies, byte_budget, open_streams, protocol
from keeps.doors.server.byte_budget import ByteBudget
from keeps.doors.server.custom_routes import CUSTOM_ROUTES
from keeps.doors.server.public_routes import PUBLIC_PATHS, public_routes
from keeps.doors.server.routes import operation_routes
from keeps.engine import Keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.store.access.keys import KeyService
from keeps_client.models import NewKey
from tests.conftest import until
from tests.server.test_bounds import Raw
from tests.serving import JWT_SECRET, serving, token

UNKNOWN = ("GET", "POST", "PUT", "DELETE")
BODY_BYTES = 100_000
AWAY = "http://127.0.0.1:1/v1"
"""A model provider that refuses connections."""
Going = tuple[aiohttp.ClientResponse, asyncio.Task[bytes]]


def doors() -> list[tuple[str, str]]:
    """Method and path of everything that is served; of mounts that say no more, their path and something below it."""
    found: list[tuple[str, str]] = []
    for route in [*operation_routes(), *CUSTOM_ROUTES, *public_routes(), *(route for route, _ in PAGES)]:
        given: Any = route
        path = re.sub(r"\{[^}]*:uuid\}", str(UUID(int=1)), given.path)
        for name in getattr(given, "uuid_names", ()):
            path = path.replace(f"{{{name}}}", str(UUID(int=1)))
        path = re.sub(r"\{[^}]*\}", "x", path)
        found += [(method, path) for method in sorted({*given.methods} - {"HEAD"})]
    for mounted in other_protocols(Settings(home=Path("unused"), openai_upstream=AWAY), console=True):
        for path in mounted.paths:
            found += [(method, path + "x" if path.endswith("/") else path) for method in UNKNOWN]
    found += [("GET", path) for path in sorted(PUBLIC_PATHS)]
    found += [(method, "/v1/nowhere") for method in UNKNOWN]
    return sorted(set(found))


def test_the_lists_hold_every_kind_of_door() -> None:
    paths = {path for _, path in doors()}
    assert {
        "/v1/recall",
        "/v1/admin/import",
        "/v1/events/stream",
        "/ui/memories/new",
        "/metrics",
        "/mem0/x",
        "/hindsight/x",
        "/openai/v1/x",
    } <= paths
    assert len(doors()) > 150


@pytest.fixture
async def impatient(keeps: Keeps, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, ByteBudget]]:
    """A server that waits tenths of seconds, where others wait for 10 to 300 s; and what it counts."""
    counted = ByteBudget()
    monkeypatch.setattr("keeps.doors.server.app.ByteBudget", lambda: counted)
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(bodies, "WHOLE_SECONDS", 1.0)
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.5)
    monkeypatch.setattr(open_streams, "CHECK_SECONDS", 0.1)
    unlimited = {"reads_per_minute": 1_000_000, "writes_per_minute": 1_000_000}
    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET, openai_upstream=AWAY, **unlimited) as url:
        yield url, counted


async def read_to_the_end(client: Raw) -> bytes:
    """What the server sent until it closed the connection, or until it began a stream of events."""
    client.socket.setblocking(False)
    loop = asyncio.get_running_loop()
    received = b""
    try:
        async with asyncio.timeout(30):
            while b"text/event-stream" not in received and (piece := await loop.sock_recv(client.socket, 1 << 16)):
                received += piece
    except ConnectionError:
        pass
    return received


async def cookie_of(url: str, bearer: str) -> str:
    """The console's cookie."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        aiohttp.ClientSession(url, cookie_jar=jar, headers={"Origin": url}) as http,
        http.post("/ui/login", data={"credential": bearer}, allow_redirects=False) as answer,
    ):
        assert answer.status == 303, await answer.text()
        return "; ".join(f"{each.key}={each.value}" for each in jar)


def kind_of(path: str) -> str:
    if path.startswith("/ui/"):
        return "application/x-www-form-urlencoded"
    return {
        "/v1/admin/import": "application/x-ndjson",
        "/v1/documents": "multipart/form-data; boundary=x",
    }.get(path, "application/json")


@pytest.mark.parametrize("role", [pytest.param("reader", marks=pytest.mark.load), "admin"])
async def test_a_slow_body_ends_at_every_door(impatient: tuple[str, ByteBudget], tenant: str, role: str) -> None:
    url, counted = impatient
    bearer = token(tenant, "alice", role)
    cookie = await cookie_of(url, bearer)
    clients: list[tuple[str, Raw]] = []
    for method, path in doors():
        client = Raw(url)
        clients.append((f"{method} {path}", client))
        proof = ["Origin: http://localhost", f"Cookie: {cookie}"] if path.startswith("/ui/") else []
        said = [f"Content-Type: {kind_of(path)}", f"Content-Length: {5 << 20}", "Idempotency-Key: k"]
        client.send(method, path, bearer, *proof, *said, body=b" " * BODY_BYTES)
        await asyncio.sleep(0)
    answers = await asyncio.gather(*(read_to_the_end(client) for _, client in clients))
    unanswered = [
        door for (door, _), answer in zip(clients, answers, strict=True) if not answer.startswith(b"HTTP/1.1")
    ]
    failed = [door for (door, _), answer in zip(clients, answers, strict=True) if answer.startswith(b"HTTP/1.1 500")]
    assert (unanswered, failed) == ([], [])
    for _, client in clients:
        client.close()
    await until(lambda: counted.total == 0, "nothing is held any more")


async def test_bodies_of_hundreds_of_connections_count(
    impatient: tuple[str, ByteBudget], tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no door more is held for a user than one may have."""
    url, counted = impatient
    monkeypatch.setattr(byte_budget, "USER_BYTES", 10 * BODY_BYTES)
    most, take = 0, counted.reserve

    def taken(scope: Scope, size: int) -> None:
        nonlocal most
        take(scope, size)
        most = max(most, counted.total)

    monkeypatch.setattr(counted, "reserve", taken)
    bearer = token(tenant, "alice", "admin")
    clients: list[Raw] = []
    for _ in range(30):
        for method, path in (("POST", "/v1/recall"), ("POST", "/mem0/search"), ("POST", "/v1/admin/import")):
            client = Raw(url)
            clients.append(client)
            said = [f"Content-Type: {kind_of(path)}", f"Content-Length: {5 << 20}", "Idempotency-Key: k"]
            client.send(method, path, bearer, *said, body=b" " * BODY_BYTES)
    answers = await asyncio.gather(*(read_to_the_end(client) for client in clients))
    assert {answer[9:12] for answer in answers} <= {b"503", b"422", b"400"}
    assert BODY_BYTES <= most <= 10 * BODY_BYTES
    for client in clients:
        client.close()
    await until(lambda: counted.total == 0, "nothing is held any more")


async def opened(http: aiohttp.ClientSession, door: tuple[str, str], bearer: str, cookie: str) -> Going:
    """An answer that has begun, and the task that reads it to its end."""
    method, path = door
    headers = {"Authorization": f"Bearer {bearer}"}
    if path.startswith("/ui/"):
        headers = {"Cookie": cookie, "Origin": "http://localhost"}
    answer = await http.request(method, path, headers=headers, json={} if method == "POST" else None)
    return answer, asyncio.create_task(answer.read())


async def endless(http: aiohttp.ClientSession, url: str, bearer: str) -> list[tuple[str, str]]:
    """Doors whose answers go on, found by asking: what has not ended when all else has is a stream."""
    cookie = await cookie_of(url, bearer)
    asked = [door for door in doors() if door[0] == "GET" or (door[0] == "POST" and not door[1].startswith("/ui/"))]
    answers = await asyncio.gather(*(opened(http, door, bearer, cookie) for door in asked))
    tasks = {task for answer, task in answers if answer.content_type != "text/event-stream"}
    going = (await asyncio.wait(tasks, timeout=10))[1]
    found: list[tuple[str, str]] = []
    for door, (answer, task) in zip(asked, answers, strict=True):
        if answer.content_type == "text/event-stream" or task in going:
            found.append(door)
        task.cancel()
        answer.close()
    await asyncio.gather(*(task for _, task in answers), return_exceptions=True)
    return found


@pytest.mark.parametrize("end", ["key", "token", "user", pytest.param("tenant", marks=pytest.mark.load)])
async def test_everything_that_goes_on_ends_with_its_credential(
    impatient: tuple[str, ByteBudget], keeps: Keeps, tenant: str, end: str
) -> None:
    url, _ = impatient
    root = Scope(tenant, "root", roles=frozenset({"admin"}))
    await keeps.memory(Scope(tenant, "alice")).remember("I keep bees.")
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice", roles=("admin",)))
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as http:
        found = await endless(http, url, made.secret)
        assert ("GET", "/v1/events/stream") in found
        cookie = await cookie_of(url, made.secret)
        bearer = token(tenant, "alice", "admin", exp=int(time()) + 3) if end == "token" else made.secret
        going = [await opened(http, door, bearer, cookie) for door in found]
        assert [answer.status for answer, task in going if not task.done()] == [200] * len(found)
        if end == "key":
            await keeps.service(KeyService).revoke(root, made.key_id)
        elif end == "user":
            await keeps.service(TenantService).erase_user(root, "alice")
        elif end == "tenant":
            await keeps.service(TenantService).erase_tenant(root)
        async with asyncio.timeout(13 if end == "token" else 10):
            await asyncio.gather(*(task for _, task in going), return_exceptions=True)
        for answer, _ in going:
            answer.close()


@pytest.mark.load
async def test_hundreds_of_connections_leave_others_their_server(made_home: Callable[..., Path]) -> None:
    """A real `keeps serve`: its memory, its open files, and what another user is answered."""
    environment = {"KEEPS_JWT_SECRET": JWT_SECRET}
    with ExitStack() as opened, served(made_home(), "--auth", "jwt", drained=False, **environment) as url:
        port = str(urlsplit(url).port)
        (process,) = [each for each in psutil.Process().children() if port in each.cmdline()]
        alice, bob = token("loud", "alice", "writer"), token("loud", "bob", "writer")
        async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {alice}"}) as http:
            for start in range(0, 100, 20):
                items = [{"content": f"fact {number}", "value": "x" * 49_000} for number in range(start, start + 20)]
                async with http.post("/v1/memories/batch", json={"items": items, "index": "later"}) as answer:
                    assert answer.status == 201, await answer.text()
        reads = ["/v1/memories?limit=200", "/mem0/memories?top_k=200", "/docs/swagger-ui-bundle.js", "/openapi.json"]
        async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {alice}"}) as http:
            for path in [*reads, "/metrics"]:  # what is made once is made
                async with http.get(path) as answer:
                    assert answer.status == 200, await answer.text()
        await ask_as(url, bob, times=5)
        memory, files = process.memory_info().rss, process.num_fds()
        clients: list[Raw] = []
        big = ["Content-Type: application/json", f"Content-Length: {7 << 20}", "Idempotency-Key: k"]
        for number in range(100):
            for method, path, said, body in (
                ("GET", reads[number % len(reads)], [], b""),
                ("GET", reads[number % len(reads)], ["Accept-Encoding: gzip"], b""),
                ("POST", ("/v1/recall", "/mem0/search", "/nowhere")[number % 3], big, b" " * 200_000),
                ("GET", "/health", [f"x-{each}: {'y' * 300}" for each in range(150)], b""),
            ):
                client = opened.enter_context(closing(Raw(url)))
                client.send(method, path, alice, *said, body=body)
                clients.append(client)
        stop = asyncio.Event()
        hammering = [asyncio.create_task(hammer(url, path, stop)) for path in ("/metrics", "/openapi.json") * 15]
        await ask_as(url, bob, times=20)
        await ask_as(url, token("quiet", "carol", "writer"), times=20)
        stop.set()
        await asyncio.gather(*hammering)
        grown = process.memory_info().rss - memory
        assert grown < 400 << 20, f"{grown >> 20} MiB more"
        assert process.num_fds() - files <= len(clients) + 50
        async with asyncio.timeout(120):
            while process.num_fds() - files > 20:  # all are closed, though no client reads or leaves
                await asyncio.sleep(1)


async def ask_as(url: str, bearer: str, times: int) -> None:
    """Each question is answered within seconds."""
    limit = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {bearer}"}, timeout=limit) as http:
        for number in range(times):
            async with http.post("/v1/memories", json={"content": f"note {number}"}) as answer:
                assert answer.status in (200, 201), await answer.text()
            async with http.post("/v1/recall", json={"query": f"note {number}"}) as answer:
                assert answer.status == 200, await answer.text()


async def hammer(url: str, path: str, stop: asyncio.Event) -> None:
    async with aiohttp.ClientSession(url) as http:
        while not stop.is_set():
            async with http.get(path) as answer:
                await answer.read()
