"""No web page of another origin gets through, whatever credentials are asked for; and a connection cannot be used
up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from keeps.base.settings import Settings
from keeps.doors.server import protocol
from keeps.doors.server.app import auth_of
from keeps.doors.server.origins import check_origin
from keeps.engine import Keeps
from keeps_client.errors import ForbiddenError, ValidationFailedError
from tests.serving import JWT_SECRET, serving, token

FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
)


@pytest.fixture(params=["none", "keys", "jwt", "jwt+keys"])
async def any_url(request: pytest.FixtureRequest, keeps: Keeps) -> AsyncIterator[str]:
    more = {"jwt_secret": JWT_SECRET} if "jwt" in request.param else {}
    async with serving(keeps, auth=request.param, **more) as url:
        yield url


@pytest.mark.parametrize("headers", FOREIGN)
async def test_another_origin_neither_reads_nor_writes(any_url: str, tenant: str, headers: dict[str, str]) -> None:
    mine = {**headers, "Authorization": f"Bearer {token(tenant, 'alice', 'admin')}", "Content-Type": "text/plain"}
    async with aiohttp.ClientSession(any_url, headers=mine) as http:
        for method, path in (
            ("POST", "/v1/admin/import"),
            ("POST", "/v1/graph/read"),
            ("POST", "/v1/memories"),
            ("DELETE", "/v1/memory/working/p"),
            ("POST", "/v1/sessions/s/end"),
            ("GET", "/v1/memories"),
            ("GET", "/v1/events/stream"),
        ):
            async with http.request(method, path, data=b"{}" if method == "POST" else None) as answer:
                assert (answer.status, (await answer.json())["code"]) == (403, "forbidden"), path
                assert "Access-Control-Allow-Origin" not in answer.headers


async def test_its_own_pages_and_named_origins_get_through(keeps: Keeps, tenant: str) -> None:
    async with serving(keeps, cors_origins=("https://app.example",)) as url, aiohttp.ClientSession(url) as http:
        for origin in (url, "https://app.example", url.upper().replace("HTTP", "http")):
            headers = {"Origin": origin, "X-Tenant-ID": tenant, "Sec-Fetch-Site": "cross-site"}
            async with http.get("/v1/memories", headers=headers) as answer:
                assert answer.status == 200, origin


def test_what_a_program_sends_has_no_origin() -> None:
    check_origin({"host": "localhost"}, ())
    check_origin({"host": "localhost", "sec-fetch-site": "none"}, ())
    with pytest.raises(ForbiddenError):
        check_origin({"host": "localhost:1", "origin": "http://localhost:1.evil.example"}, ())


def test_every_origin_without_credentials_is_refused_at_the_start() -> None:
    with pytest.raises(ValidationFailedError, match="any web page"):
        auth_of(Settings(home=__import__("pathlib").Path(), cors_origins=("*",)))


async def test_an_import_is_json_lines(server_url: str, tenant: str) -> None:
    async with aiohttp.ClientSession(server_url, headers={"X-Tenant-ID": tenant}) as http:
        for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded", ""):
            async with http.post("/v1/admin/import", data=b"x", headers={"Content-Type": kind}) as answer:
                assert (answer.status, (await answer.json())["code"]) == (422, "validation_failed")


async def _raw(url: str, *parts: bytes, seconds: float = 10.0) -> bytes:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(seconds):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_head_has_a_size(server_url: str) -> None:
    begin = b"GET /v1/memories HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    answer = await _raw(server_url, begin, *[b"x" * 8_192] * 9)
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    answer = await _raw(server_url, b"GET /" + b"x" * 70_000)
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    small = await _raw(server_url, begin + b"x" * 8_000 + b"\r\nConnection: close\r\n\r\n")
    assert small.startswith(b"HTTP/1.1 200 ")


async def test_a_head_has_a_time(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    for begin in (b"", b"GET /v1/memories HTTP/1.1\r\nHost: local"):
        assert (await _raw(server_url, begin)).startswith(b"HTTP/1.1 408 ")
    async with aiohttp.ClientSession(server_url) as http:
        for _ in range(3):  # a connection that is kept open between requests is none that reads a head
            async with http.get("/health") as answer:
                assert answer.status == 200


async def test_a_body_that_pauses_gives_up(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keeps.doors.server.bodies.BODY_SECONDS", 0.2)
    head = (
        b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length:"
        b" 100\r\nConnection: close\r\n"
    )
    for more in (b"", b"Idempotency-Key: k\r\n"):
        answer = await _raw(server_url, head + more + b'\r\n{"content":')
        assert answer.startswith(b"HTTP/1.1 422 ")
        assert b"paused" in answer


async def test_wrong_credentials_are_counted_by_address(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.store.access.rates.WrongCredentials.MOST", 5)
    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET) as url, aiohttp.ClientSession(url) as http:

        async def ask(credential: str) -> Any:
            async with http.get("/v1/memories", headers={"Authorization": f"Bearer {credential}"}) as answer:
                return answer.status, answer.headers.get("Retry-After")

        good = token(tenant, "alice")
        assert (await ask(good))[0] == 200
        assert [(await ask(f"keeps_{number:040}"))[0] for number in range(5)] == [401] * 5
        status, wait = await ask("keeps_" + "x" * 40)
        assert status == 429
        assert 1 <= int(wait) <= 60


async def test_user_id_in_the_query_means_the_header(server_url: str, secured_url: str, tenant: str) -> None:
    async with aiohttp.ClientSession(server_url, headers={"X-Tenant-ID": tenant}) as http:
        body = {"content": "Bob collects stamps.", "tags": None, "metadata": None, "externalId": None}
        async with http.post("/v1/memory/semantic?user_id=bob", json=body) as answer:
            assert (answer.status, (await answer.json())["user_id"]) == (201, "bob")
        for user, count in (("alice", 0), ("bob", 1)):
            async with http.get("/v1/memory/semantic/search", params={"q": "stamps", "userId": user}) as answer:
                assert len(await answer.json()) == count
        async with http.get("/v1/memories?user_id=bob", headers={"X-User-ID": "alice"}) as answer:
            assert answer.status == 403
    credentials = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    async with aiohttp.ClientSession(secured_url, headers=credentials) as http:
        async with http.get("/v1/memories?user_id=bob") as answer:
            assert answer.status == 403
        async with http.get("/v1/memories?user_id=alice") as answer:
            assert answer.status == 200


async def test_a_query_parameter_that_a_route_does_not_know_is_refused_by_name(server_url: str, tenant: str) -> None:
    async with aiohttp.ClientSession(server_url, headers={"X-Tenant-ID": tenant}) as http:
        for path in ("/v1/memories?limits=5", "/v1/memory/plans?statu=active", "/v1/insights?x"):
            async with http.get(path) as answer:
                problem = await answer.json()
                assert (answer.status, problem["code"]) == (422, "validation_failed"), path
                assert path.partition("?")[2].partition("=")[0] in problem["detail"]
        async with http.get("/v1/memories?limit=5&") as answer:
            assert answer.status == 200


async def test_null_for_an_optional_field_is_absent(server_url: str, tenant: str) -> None:
    async with aiohttp.ClientSession(server_url, headers={"X-Tenant-ID": tenant}) as http:
        for path, body in (
            ("/v1/memories", {"content": "x", "tags": None, "metadata": None, "kind": None, "importance": None}),
            ("/v1/recall", {"query": "x", "limit": None, "kinds": None, "tags": None, "tagsMatch": None}),
            (
                "/v1/memory/task-context",
                {"taskId": "t", "eventType": "e", "data": None, "subTasks": None, "userId": None},
            ),
            ("/v1/memory/sessions", {"metadata": None, "name": None}),
        ):
            async with http.post(path, json=body) as answer:
                assert answer.status in (200, 201), await answer.text()
        async with http.post("/v1/memories", json={"content": None}) as answer:
            assert answer.status == 422
        async with http.put("/v1/memory/working/p/k", json={"value": None}) as answer:
            assert (await answer.json())["value"] is None


async def test_the_api_is_described_without_holding_anybody_up(keeps: Keeps) -> None:
    """Describing it takes half a second, at the first request: the watchdog of the tests sees that nobody waits for
    it."""
    async with serving(keeps) as url, aiohttp.ClientSession(url) as http:
        for _ in range(2):
            async with http.get("/openapi.json") as answer:
                assert answer.status == 200
                assert len((await answer.json())["paths"]) > 50


async def test_the_documentation_is_served_from_here(server_url: str) -> None:
    async with aiohttp.ClientSession(server_url) as http:
        async with http.get("/docs") as answer:
            page = await answer.text()
        assert "http://" not in page.replace(server_url, "")
        assert "https://" not in page
        for name in ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png"):
            async with http.get(f"/docs/{name}") as answer:
                assert (answer.status, len(await answer.read()) > 500) == (200, True)


async def test_a_refused_request_says_what_is_left(keeps: Keeps, tenant: str) -> None:
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, reads_per_minute=1) as url:
        headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
        async with aiohttp.ClientSession(url, headers=headers) as http:
            for status in (200, 429):
                async with http.get("/v1/memories") as answer:
                    assert answer.status == status
                    assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("1", "0")


async def test_a_token_with_roles_of_another_vocabulary_is_told_so(secured_url: str, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice', 'memory:write')}"}
    async with aiohttp.ClientSession(secured_url, headers=headers) as http, http.get("/v1/memories") as answer:
        assert answer.status == 403
        assert "reader, writer, admin, operator" in (await answer.json())["detail"]
