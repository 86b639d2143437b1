"""Each request is a line of JSON that says who asked and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import structlog

from keeps.doors.server import edge, request_metrics
from keeps.engine import Keeps
from tests.serving import JWT_SECRET, serving, token

Lines = list[Any]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    capture = structlog.testing.LogCapture()
    filtering = structlog.make_filtering_bound_logger(20)
    logger = structlog.wrap_logger(None, processors=[capture], wrapper_class=filtering)
    for module in (edge, request_metrics):
        monkeypatch.setattr(module, "log", lambda: logger)
    yield capture.entries
    assert json.dumps(capture.entries)


async def test_refused_requests_are_logged_with_their_caller(keeps: Keeps, tenant: str, lines: Lines) -> None:
    async with (
        serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, reads_per_minute=1) as url,
        aiohttp.ClientSession() as http,
    ):
        headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
        for path, given in (
            ("/v1/memories?limit=77", {}),
            ("/v1/memories", headers),
            ("/v1/memories", headers),
            ("/health", {}),
            ("/nowhere", headers),
        ):
            async with http.get(url + path, headers=given) as answer:
                await answer.read()
    assert [(each["route"], each["status"]) for each in lines] == [
        ("/v1/memories", 401),
        ("/v1/memories", 200),
        ("/v1/memories", 429),
        ("unknown", 404),
    ]
    assert "tenant_id" not in lines[0]
    assert {(each["tenant_id"], each["user_id"]) for each in lines[1:]} == {(tenant, "alice")}
    assert {each["address"] for each in lines} == {"127.0.0.1"}
    assert {each["log_level"] for each in lines} == {"info"}
    assert "limit=77" not in json.dumps(lines)
    assert all(each["request_id"] and each["ms"] >= 0 for each in lines)
