"""A loud tenant waits for itself: what another asks comes before the rest of its queue. Counted, not timed."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.serving import token

LOUD = 60
LONG = "The harvest of field {n} was weighed on a rainy morning and written into the book of the farm. " * 40


async def _post(http: aiohttp.ClientSession, who: str, path: str, body: dict[str, Any]) -> int:
    headers = {"Authorization": f"Bearer {token(who, 'alice', 'writer')}"}
    async with http.post(path, json=body, headers=headers) as answer:
        await answer.read()
        return answer.status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/recall", lambda n: {"query": LONG.format(n=n)[:9_000], "limit": 50}),
        ("/v1/exchanges", lambda n: {"session_id": f"s{n}", "messages": [{"role": "user", "content": LONG.format(n=each)} for each in range(20)]}),
    ],
)  # fmt: skip
async def test_a_quiet_tenant_is_answered_while_a_loud_one_waits(
    secured_url: str, tenant: str, path: str, body: Any
) -> None:
    quiet = f"{tenant}-quiet"
    async with aiohttp.ClientSession(secured_url, connector=aiohttp.TCPConnector(limit=0)) as http:
        assert await _post(http, quiet, "/v1/memories", {"content": "Tea is served at five."}) == 201
        loud = [asyncio.create_task(_post(http, tenant, path, body(n))) for n in range(LOUD)]
        await asyncio.sleep(0)  # all of them are on their way before the quiet tenant asks
        assert await _post(http, quiet, "/v1/recall", {"query": "when is tea?"}) == 200
        assert await _post(http, quiet, "/v1/memories", {"content": "Tea is served at six."}) == 201
        waiting = sum(not each.done() for each in loud)
        assert waiting > 0, "the loud tenant's queue was served before the quiet one's two requests"
        assert {await each for each in loud} <= {200, 201, 429, 503}
        print(f"{path}: {waiting} of {LOUD} still waited")
