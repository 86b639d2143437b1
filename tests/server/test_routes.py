"""Which route answers a request, and what a request without a route or with wrong input gets."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Self
from uuid import UUID

import aiohttp
import pytest
from pydantic import model_validator
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from yarl import URL

from keeps.doors.server.custom_routes import CUSTOM_ROUTES
from keeps.doors.server.parameters import Finding, read_parameters, validation_error
from keeps.doors.server.public_routes import documentation_routes
from keeps.doors.server.router import Route, Router
from keeps.doors.server.routes import operation_routes
from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Wire

SWAGGER_UI = "93b7b0862a80e2786f85b560be7693c2344354ffa7e7e224f850a54349724c31"
"""SHA-256 of swagger-ui-bundle.js as npm publishes it in swagger-ui-dist 5.31.0."""


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("only found, never called")


def route(path: str, *methods: str, uuids: tuple[str, ...] = ()) -> Route:
    return Route(path=path, methods=methods or ("GET",), app=nothing, uuid_names=frozenset(uuids))


def found(router: Router, path: str, method: str = "GET") -> tuple[str, dict[str, Any]] | None:
    match = router.find(method, path)
    return None if match is None else (match[0].path, match[1])


def test_every_operation_has_its_own_route() -> None:
    routes = [*operation_routes(), *CUSTOM_ROUTES]
    router = Router(routes)
    for each in routes:
        path = each.path
        for _, name, is_uuid in each.parameters:
            path = path.replace(f"{{{name}}}", str(UUID(int=1)) if is_uuid else "x")
        match = router.find(each.methods[0], path)
        assert match is not None
        assert match[0] is each
        assert list(match[1]) == [name for _, name, _ in each.parameters]


def test_a_literal_segment_is_preferred_to_a_parameter() -> None:
    router = Router([route("/a/{id}"), route("/a/batch"), route("/a/batch", "POST"), route("/a/{id}/b")])
    assert found(router, "/a/batch") == ("/a/batch", {})
    assert found(router, "/a/{}") == ("/a/{id}", {"id": "{}"})
    assert found(router, "/a/batch/b") == ("/a/{id}/b", {"id": "batch"})


def test_another_method_of_a_literal_segment_hides_no_parameter() -> None:
    router = Router([route("/a/{id}"), route("/a/move", "POST")])
    assert found(router, "/a/move") == ("/a/{id}", {"id": "move"})
    assert sorted(router.at("/a/move")) == ["GET", "POST"]


@pytest.mark.parametrize(
    "text", ["x", "", "00000000-0000-0000-0000-00000000000g", f"{UUID(int=1)}\n", f" {UUID(int=1)}"]
)
def test_only_a_uuid_matches_a_uuid(text: str) -> None:
    router = Router([route("/a/{id}", uuids=("id",))])
    assert found(router, f"/a/{text}") is None
    assert found(router, f"/a/{UUID(int=1).hex.upper()}") == ("/a/{id}", {"id": UUID(int=1)})


@pytest.mark.parametrize("path", ["", "/", "//", "/a", "/a/", "/a//", "//a/b", "/a/b/c", "a/b"])
def test_an_empty_or_missing_segment_matches_nothing(path: str) -> None:
    assert found(Router([route("/a/{id}")]), path) is None


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/recall", "POST"),
        ("HEAD", "/v1/memories", "DELETE, GET, POST"),
        ("OPTIONS", "/v1/memories", "DELETE, GET, POST"),
        ("PURGE", f"/v1/memories/{UUID(int=1)}", "DELETE, GET, PATCH"),
        ("GET", "/v1/memories/batch", "POST"),
        ("POST", "/docs", "GET, HEAD"),
        ("HEAD", "/health", "GET"),
    ],
)
async def test_another_method_is_refused_with_those_that_are_allowed(
    server_url: str, method: str, path: str, allow: str
) -> None:
    async with aiohttp.ClientSession(server_url) as http, http.request(method, path) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, allow)
        if method != "HEAD":
            assert (await answer.json())["detail"] == f"this path does not support {method}, only {allow}"


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/v1/memories/", 307, "/v1/memories"),
        ("/v1/memories//", 307, "/v1/memories"),
        ("/v1/recall/?x=1", 307, "/v1/recall?x=1"),
        ("/docs/", 307, "/docs"),
        ("//v1/memories", 404, None),
        ("/v1//memories", 404, None),
        ("/V1/memories", 404, None),
        ("/v1/memories/not-a-uuid", 404, None),
        ("/v1/memories%0A", 404, None),
        ("/v1%2Fmemories", 404, None),
    ],
)
async def test_a_path_is_taken_literally_but_for_its_last_slash(
    server_url: str, path: str, status: int, location: str | None
) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.get(URL(server_url + path, encoded=True), allow_redirects=False) as answer,
    ):
        assert (answer.status, answer.headers.get("Location", "").removeprefix(server_url)) == (status, location or "")


async def test_a_slash_in_an_id_is_written_with_a_percent(server_url: str, tenant: str) -> None:
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with aiohttp.ClientSession(headers=headers) as http:
        url = URL(f"{server_url}/v1/memory/working/a%2Fb/%2F%E2%82%AC", encoded=True)
        async with http.put(url, json={"value": 1}) as answer:
            item = await answer.json()
            assert (item["plan_id"], item["key"]) == ("a/b", "/€")
        async with http.get(url) as answer:
            assert (answer.status, answer.headers["ETag"]) == (200, '"1"')


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("limit=1&limit=0", "limit: Input should be greater than or equal to 1"),
        ("limit=99999999999999999999999999", "limit: Input should be less than or equal to 200"),
        ("limit=1e1", "limit: must be a whole number"),
        ("order=up", "order: Input should be 'created', 'importance', 'recency' or 'name'"),
        ("filters=[1]", 'filters: a filter is an object such as {"kind": {"eq": "semantic"}}'),
        ("filters=0", 'filters: a filter is an object such as {"kind": {"eq": "semantic"}}'),
        ("filters={", "filters: filters is not JSON"),
        ("filters=" + "1" * 20_001, "filters: String should have at most 20000 characters"),
        ("key=%00", "key: contains a NUL character, which PostgreSQL cannot store; remove it"),
        (
            "limit=x&cursor=%00&key=",
            "key: must not be empty; limit: must be a whole number;"
            " cursor: contains a NUL character, which PostgreSQL cannot store; remove it",
        ),
        (
            "tenant_id=acme",
            "unknown query parameter 'tenant_id'; this route accepts: cursor, filters, key, limit, namespace,"
            " order; the header X-Tenant-ID or the credential identifies the caller",
        ),
        (
            "nope=1",
            "unknown query parameter 'nope'; this route accepts: cursor, filters, key, limit, namespace, order",
        ),
    ],
)
async def test_a_wrong_query_names_each_parameter(server_url: str, query: str, detail: str) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.get(URL(f"{server_url}/v1/memories?{query}", encoded=True)) as answer,
    ):
        assert (answer.status, (await answer.json())["detail"]) == (422, detail)


async def test_of_a_repeated_query_parameter_the_last_counts(server_url: str, tenant: str) -> None:
    async with (
        aiohttp.ClientSession(server_url, headers={"X-Tenant-ID": tenant}) as http,
        http.get("/v1/memories?limit=0&limit=5&=ignored&&") as answer,
    ):
        assert answer.status == 200


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "body: Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]", "body: must be an object"),
        (b"{}", "value: is missing"),
        (
            b'{"value": NaN}',
            "value: is not JSON that can be stored: Out of range float values are not JSON compliant",
        ),
        (b'{"value": 1, "nope": 1}', "nope: is unknown; check the spelling"),
        (b'{"value": 1, "expected_version": 99999999999}', "expected_version: Input should be less than"),
        (b'{"value": "\xff"}', "body: Invalid JSON: invalid unicode code point"),
        (b'{"value": "\\ud800"}', "body: Invalid JSON: "),
    ],
)
async def test_a_wrong_body_is_named(server_url: str, tenant: str, body: bytes, detail: str) -> None:
    headers = {"X-Tenant-ID": tenant, "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(server_url, headers=headers) as http,
        http.put("/v1/memory/working/p/k", data=body) as answer,
    ):
        assert answer.status == 422
        assert (await answer.json())["detail"].startswith(detail)


async def test_of_a_repeated_name_in_a_body_the_last_counts(server_url: str, tenant: str) -> None:
    headers = {"X-Tenant-ID": tenant, "Content-Type": "application/json"}
    body = b'{"value": {"n": 123456789012345678901234567890}, "value": {"n": 123456789012345678901234567891}}'
    async with (
        aiohttp.ClientSession(server_url, headers=headers) as http,
        http.put("/v1/memory/working/p/k", data=body) as answer,
    ):
        assert (answer.status, (await answer.json())["value"]) == (200, {"n": 123456789012345678901234567891})


@pytest.mark.parametrize("version", ['"x"', "W/3x", "99999999999", "*", '"1", "2"', '"-1"'])
async def test_a_wrong_if_match_is_refused(server_url: str, tenant: str, version: str) -> None:
    headers = {"X-Tenant-ID": tenant, "If-Match": version}
    async with (
        aiohttp.ClientSession(server_url, headers=headers) as http,
        http.put("/v1/memory/working/p/k", json={"value": 1}) as answer,
    ):
        assert answer.status == 422
        assert (await answer.json())["errors"][0]["field"] == "if_match"


class Span(Wire):
    first: int = 0
    last: int = 9

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first > self.last:
            raise ValueError("first comes after last")
        return self


@pytest.mark.parametrize(
    ("query", "detail"),
    [("first=5&last=2", "query: first comes after last"), ("first=x&last=2", "first: must be a whole number")],
)
def test_a_rule_over_several_parameters_holds(query: str, detail: str) -> None:
    endpoint = Endpoint("span", "GET", "/span", "reader", "spans", int, "", Span)
    request = Request({"type": "http", "query_string": query.encode(), "path_params": {}, "headers": []})
    findings: list[Finding] = []
    assert read_parameters(endpoint, request, findings) is None
    assert validation_error(findings).detail == detail


def test_the_documentation_runs_the_published_script() -> None:
    """Its package repackages what somebody else publishes, so what it holds is compared."""
    script = files("swagger_ui_bundle").joinpath("vendor/swagger-ui-5.31.0/swagger-ui-bundle.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == SWAGGER_UI


async def test_documentation_without_swagger_ui_lists_the_operations() -> None:
    (page,) = documentation_routes(None)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await page.app({"type": "http", "method": "GET", "path": "/docs", "headers": []}, nothing, send)  # pyright: ignore[reportArgumentType]
    text = sent[1]["body"].decode()
    assert "pip install 'keeps[swagger]'" in text
    assert "<code>POST /v1/memories</code>" in text
    assert "<script" not in text


@pytest.mark.parametrize(
    "path",
    ["/health?" + "aB&" * 20_000, "/v1/memories?" + "=&" * 30_000, "/" + "%2f/" * 15_000],
    ids=["many camel-case names", "many empty names", "many slashes"],
)
async def test_a_url_of_many_parts_is_refused(server_url: str, path: str) -> None:
    async with (
        aiohttp.ClientSession(max_line_size=1 << 17) as http,
        http.get(URL(server_url + path, encoded=True)) as answer,
    ):
        assert answer.status == 422
        assert "at most 200" in (await answer.json())["detail"]
