"""Bodies on their way: what a tenant holds at once is bounded, and costs no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import pytest

from keeps.doors.server.bodies import message_at_hand
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


async def test_message_at_hand_takes_nothing_that_has_not_come() -> None:
    messages: asyncio.Queue[Any] = asyncio.Queue()
    assert message_at_hand(messages.get) is None
    messages.put_nowait({"type": "http.disconnect"})
    assert message_at_hand(messages.get) == {"type": "http.disconnect"}
    waiting = asyncio.create_task(messages.get())
    await asyncio.sleep(0)
    assert message_at_hand(messages.get) is None
    messages.put_nowait({"type": "http.request"})
    assert await waiting == {"type": "http.request"}, "the one who gave up is not served first"
