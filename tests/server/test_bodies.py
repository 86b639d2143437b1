"""Bodies on their way: what a tenant holds at once is bounded, and costs no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import aiohttp
import pytest

from tests.serving import token


async def test_a_user_who_sends_much_and_slowly_waits_alone(
    secured_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.doors.server.byte_budget.USER_BYTES", 3_000)
    body = json.dumps({"content": "x" * 2_000}).encode()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncGenerator[bytes]:
        yield body[:-1]
        begun.set()
        await go_on.wait()
        yield body[-1:]

    async def sent(who: str, data: object) -> int:
        headers = {"Authorization": f"Bearer {token(tenant, who)}", "Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession(secured_url, headers=headers) as http,
            http.post("/v1/memories", data=data) as answer,
        ):
            await answer.read()
            return answer.status

    async with asyncio.TaskGroup() as group:
        slow = group.create_task(sent("alice", slowly()))
        await begun.wait()
        refused = await sent("alice", body)
        while refused != 503:  # its bytes are on their way
            refused = await sent("alice", body)
        assert await sent("bob", body) == 201
        go_on.set()
    assert slow.result() in (200, 201)
    assert await sent("alice", body) in (200, 201), "what is done with counts no more"
