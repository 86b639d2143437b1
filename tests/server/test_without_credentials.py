"""A server that asks for no credentials answers only this machine, and ignores no credential silently."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from keeps.engine import Keeps
from tests.server.conftest import Lines
from tests.serving import serving

PASSED_ON = (
    {"X-Forwarded-For": "203.0.113.9"},
    {"X-Forwarded-Port": "443"},
    {"CF-Connecting-IP": "203.0.113.9"},
    {"True-Client-IP": "203.0.113.9"},
    {"Forwarded": "for=203.0.113.9"},
    {"X-Real-IP": "203.0.113.9"},
    {"X-Forwarded-Proto": "https"},
    {"Via": "1.1 cache.example"},
)
PATHS = ("/v1/memories", "/mem0/v1/ping/", "/hindsight/version", "/ui/", "/v1/admin/tenants")


async def _get(url: str, path: str = "/v1/memories", **headers: str) -> tuple[int, dict[str, Any]]:
    ask = {"Accept": "application/json", **headers}
    async with aiohttp.ClientSession(url) as http, http.get(path, headers=ask) as answer:
        return answer.status, await answer.json() if "json" in answer.content_type else {}


@pytest.mark.parametrize("headers", PASSED_ON, ids=lambda headers: next(iter(headers)))
async def test_request_from_a_proxy_is_refused(server_url: str, headers: dict[str, str]) -> None:
    for path in PATHS:
        status, problem = await _get(server_url, path, **headers)
        assert (status, problem["code"]) == (403, "forbidden"), path
        assert "KEEPS_AUTH=keys" in problem["detail"]
        assert "203.0.113.9" not in problem["detail"]
    assert (await _get(server_url, "/health", **headers))[0] == 200


async def _nginx_by_default(url: str) -> bytes:
    """Return the answer to a request as nginx sends it to a `proxy_pass` without further configuration."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /v1/memories HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_unconfigured_nginx_is_refused(server_url: str) -> None:
    assert b" 403 " in (await _nginx_by_default(server_url)).partition(b"\r\n")[0]


async def test_setting_allows_a_proxy(keeps: Keeps) -> None:
    async with serving(keeps, proxy_without_auth=True) as url:
        assert (await _get(url, **PASSED_ON[0]))[0] == 200
        assert b" 200 " in (await _nginx_by_default(url)).partition(b"\r\n")[0]


async def test_proxy_passes_to_a_server_with_credentials(secured_url: str) -> None:
    assert (await _get(secured_url, **PASSED_ON[0]))[1]["code"] == "unauthenticated"


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
async def test_api_key_is_refused_without_credentials(server_url: str, header: str) -> None:
    key = "keeps_" + "k" * 40
    headers = {header: f"Bearer {key}" if header == "Authorization" else key, "X-User-ID": "alice"}
    status, problem = await _get(server_url, **headers)
    assert (status, problem["code"]) == (401, "unauthenticated")
    assert "--auth keys" in problem["detail"]
    assert key not in str(problem)


async def test_other_credentials_are_ignored_with_one_warning(keeps: Keeps, lines: Lines) -> None:
    async with serving(keeps) as url:
        for _ in range(3):
            assert (await _get(url, Authorization="Token any-key-of-mem0"))[0] == 200
    warnings = [line for line in lines if line["log_level"] == "warning"]
    assert len(warnings) == 1
    assert "KEEPS_AUTH=none" in warnings[0]["event"]
    assert "any-key" not in str(warnings)
