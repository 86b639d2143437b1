"""A loud tenant waits for itself: what another asks is answered. Counted, not timed; `keeps bench neighbour`
measures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from benchmarks import served
from benchmarks.neighbour import LOUD, Quiet, apart

from keeps.base.defaults import DEFAULT_USER_ID
from keeps.base.fairness import FairSlots
from keeps.base.scope import Scope
from keeps.doors.server.concurrency import USER_SLOTS
from keeps.engine import Keeps
from tests.conftest import until
from tests.serving import serving

CALLERS = 30
LONG = "The harvest of field {n} was weighed on a rainy morning and written into the book of the farm. " * 40


@pytest.mark.load
async def test_beside_the_worst_requests_nothing_of_another_tenant_fails(made_home: Callable[..., Path]) -> None:
    """Callers of batches, traversals, streams, appends, long questions, conversations; and webhooks that hang."""

    async def ask(url: str) -> dict[str, dict[str, int]]:
        quiet = Quiet(url, "quiet")
        await quiet.prepare()
        async with apart(url, "loud", CALLERS) as statuses:
            took, failed = await quiet.ask(times=20)
            assert failed == []
            assert (len(took["recall"]), len(took["get"])) == (20, 20)
        return statuses

    with served(made_home(), "--auth", "none", drained=False, KEEPS_WEBHOOKS_ALLOW_PRIVATE="true") as url:
        statuses = await ask(url)
    assert set(statuses) == set(LOUD)
    answered = {int(status) for told in statuses.values() for status in told}
    assert answered <= {200, 201, 503}, "who is loud waits, or is told to come again"


@pytest.fixture
def one_place(monkeypatch: pytest.MonkeyPatch) -> list[FairSlots]:
    """The places of each server that is made: one, for all tenants."""
    made: list[FairSlots] = []

    def make(*_: Any, **__: Any) -> FairSlots:
        made.append(FairSlots(1, alone=1, beside=1))
        return made[-1]

    monkeypatch.setattr("keeps.doors.server.concurrency.tenant_slots", make)
    return made


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/recall", lambda n: {"query": LONG.format(n=n)[:9_000], "limit": 50}),
        (
            "/v1/memories/batch",
            lambda n: {"items": [{"content": LONG.format(n=f"{n}.{each}")[:900]} for each in range(4)], "index": "now"},
        ),
        (
            "/v1/exchanges",
            lambda n: {
                "session_id": f"s{n}",
                "messages": [{"role": "user", "content": LONG.format(n=each)} for each in range(4)],
            },
        ),
    ],
)
async def test_a_quiet_tenant_is_answered_while_a_loud_one_waits(
    keeps: Keeps, tenant: str, one_place: list[FairSlots], path: str, body: Any
) -> None:
    """The loud tenant asked first; who came last is served before most of its queue."""
    quiet = f"{tenant}-quiet"
    async with serving(keeps) as url, aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as http:
        (slots,) = one_place
        await slots.take("somebody else", 1)
        loud = [asyncio.create_task(_post(http, tenant, path, body(n), user=f"u{n}")) for n in range(CALLERS)]
        await until(lambda: len(slots._waiting.get(tenant, ())) == CALLERS, "the loud tenant's requests wait")
        asked = [
            asyncio.create_task(_post(http, quiet, "/v1/memories", {"content": "Tea is served at five."})),
            asyncio.create_task(_post(http, quiet, "/v1/recall", {"query": "when is tea?"})),
        ]
        await until(lambda: len(slots._waiting.get(quiet, ())) == len(asked), "the quiet tenant's requests wait")
        slots.leave("somebody else")
        assert await asyncio.gather(*asked) == [201, 200]
        assert len(slots._waiting.get(tenant, ())) > CALLERS // 2, "most of the loud tenant's queue was served first"
        assert set(await asyncio.gather(*loud)) <= {200, 201, 429, 503}


async def _post(
    http: aiohttp.ClientSession, tenant: str, path: str, body: dict[str, Any], user: str = DEFAULT_USER_ID
) -> int:
    async with http.post(path, json=body, headers={"X-Tenant-ID": tenant, "X-User-ID": user}) as answer:
        await answer.read()
        return answer.status


async def test_a_quiet_user_waits_behind_few_of_a_loud_one(
    keeps: Keeps, tenant: str, one_place: list[FairSlots]
) -> None:
    """In the same tenant: only a few of the loud user's requests stand before the tenant's places."""
    async with serving(keeps) as url, aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as http:
        (slots,) = one_place
        await slots.take(tenant, 1)
        ask = {"query": "when is tea?"}
        loud = [asyncio.create_task(_post(http, tenant, "/v1/recall", ask, user="loud")) for _ in range(CALLERS)]
        await until(lambda: len(slots._waiting.get(tenant, ())) == USER_SLOTS, "as many wait as one user may")
        quiet = asyncio.create_task(_post(http, tenant, "/v1/recall", ask, user="quiet"))
        await until(lambda: len(slots._waiting.get(tenant, ())) == USER_SLOTS + 1, "the quiet user's waits next")
        slots.leave(tenant)
        assert await quiet == 200
        assert sum(not each.done() for each in loud) > CALLERS // 2
        assert set(await asyncio.gather(*loud)) == {200}


async def test_who_hung_up_while_waiting_is_not_served(keeps: Keeps, tenant: str, one_place: list[FairSlots]) -> None:
    async with serving(keeps) as url:
        (slots,) = one_place
        await slots.take("somebody else", 1)
        host, port = url.removeprefix("http://").split(":")
        for number, name in enumerate((b"nobody", b"some body")):
            body = b'{"content": "For %s."}' % name
            reader, writer = await asyncio.open_connection(host, int(port))
            head = (
                f"POST /v1/memories HTTP/1.1\r\nHost: {host}\r\nX-Tenant-ID: {tenant}\r\nContent-Type:"
                f" application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await until(lambda wanted=number + 1: len(slots._waiting.get(tenant, ())) == wanted, "the request waits")
            if name == b"nobody":
                writer.transport.abort()
        slots.leave("somebody else")
        assert (await reader.readline()).startswith(b"HTTP/1.1 201")
        writer.close()
        await until(lambda: not slots.taken, "both are over")
    memory = keeps.memory(Scope(tenant, DEFAULT_USER_ID))
    assert [each.content for each in (await memory.list()).items] == ["For some body."]


async def test_who_sends_slowly_holds_no_place(keeps: Keeps, tenant: str, one_place: list[FairSlots]) -> None:
    """A body that drips is read before a place is taken, also where the route has no use for it."""
    async with serving(keeps) as url:
        (slots,) = one_place
        await slots.take(tenant, 1)
        host, port = url.removeprefix("http://").split(":")
        writers = []
        for method, path in (("GET", "/v1/memories"), ("POST", "/v1/recall"), ("POST", "/v1/admin/import")):
            _, writer = await asyncio.open_connection(host, int(port))
            kind = "application/x-ndjson" if path.endswith("import") else "application/json"
            writer.write(
                f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-Tenant-ID: {tenant}\r\nContent-Type:"
                f" {kind}\r\nContent-Length: 1000\r\n\r\n{{".encode()
            )
            writers.append(writer)
        headers = {"X-Tenant-ID": tenant}
        async with aiohttp.ClientSession(url, headers=headers) as http:
            asked = asyncio.create_task(_status(http, "/v1/memories"))
            await until(lambda: sum(map(len, slots._waiting.values())) == 1, "only the request that is whole waits")
            slots.leave(tenant)
            assert await asked == 200
            assert await _status(http, "/v1/memories") == 200
        for writer in writers:
            writer.close()


async def _status(http: aiohttp.ClientSession, path: str) -> int:
    async with http.get(path) as answer:
        await answer.read()
        return answer.status
