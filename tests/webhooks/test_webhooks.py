"""Webhooks against a real HTTP receiver: signed, in order, retried, given up, and never to private addresses."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from aiohttp import web

from keeps.base.addresses import is_public
from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.engine import Keeps
from keeps.store.webhooks.delivery import LEASE, RETRY_SECONDS
from keeps.store.webhooks.resolving import PublicResolver
from keeps.store.webhooks.service import QUERIES, WebhookService
from keeps_client.errors import NotFoundError, UnauthenticatedError, ValidationFailedError
from keeps_client.models import NewWebhook
from keeps_client.webhooks import read_webhook
from tests.writing import in_write


class Receiver:
    """Takes what is posted; `answer` is the status it gives."""

    def __init__(self) -> None:
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.answer = 200
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.taken.append((dict(request.headers), await request.read()))
        return web.Response(status=self.answer, headers={"Location": self.url} if self.answer == 302 else {})


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    app = web.Application()
    app.router.add_post("/", found.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield found
    await runner.cleanup()


@pytest.fixture(scope="module")
async def keeps(server: Any, fresh_database: Any, shared: Any) -> AsyncIterator[Keeps]:
    """On a database of its own, where no other server delivers."""
    async with Keeps.open(database_url=server.url("keeps_app", await fresh_database()), embedder=shared) as opened:
        yield opened


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def webhooks(keeps: Keeps) -> AsyncIterator[tuple[WebhookService, Clock]]:
    clock = Clock()
    service = WebhookService(keeps.database, clock, Metrics(), allow_private=True)
    yield service, clock
    await service.close()


async def drained(service: WebhookService) -> int:
    """Other tests' webhooks share the database: serve until nothing of it moves any more."""
    total = 0
    while done := await service.deliver_due():
        total += done
    return total


async def test_events_arrive_signed_and_in_order(webhooks: Any, receiver: Receiver, keeps: Keeps, tenant: str) -> None:
    service, _ = webhooks
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    await alice.remember("Before the webhook.")
    made = await service.add(alice.scope, NewWebhook(url=receiver.url, types=("memory.*",)))
    assert "secret" not in (await service.list(alice.scope))[0].model_dump()
    for number in range(3):
        await alice.remember(f"Fact {number} of Alice.")
        await bob.remember(f"Fact {number} of Bob.")
        await bob.store("k", number, "p")
    await drained(service)
    found = [read_webhook(made.secret, headers, body) for headers, body in receiver.taken]
    assert [cast("Any", event.data)["memory"]["content"] for event in found] == [
        f"Fact {number} of {who}." for number in range(3) for who in ("Alice", "Bob")
    ]
    assert [event.sequence for event in found] == sorted(event.sequence for event in found)
    headers, body = receiver.taken[0]
    assert (headers["Content-Type"], headers["webhook-id"]) == ("application/cloudevents+json", str(found[0].id))
    for wrong in (body + b" ", body.replace(b"Alice", b"Mallo")):
        with pytest.raises(UnauthenticatedError):
            read_webhook(made.secret, headers, wrong)
    with pytest.raises(UnauthenticatedError):
        read_webhook("whsec_" + base64.b64encode(b"another").decode(), headers, body)
    with pytest.raises(UnauthenticatedError, match="too old"):
        read_webhook(made.secret, headers, body, tolerance_seconds=-1)
    assert await drained(service) == 0, "nothing is sent twice"
    assert (await service.remove(alice.scope, made.webhook_id)).failures == 0
    await alice.remember("After it.")
    await drained(service)
    assert len(receiver.taken) == 6


async def test_failing_receiver_is_retried_then_given_up(
    webhooks: Any, receiver: Receiver, keeps: Keeps, tenant: str
) -> None:
    service, clock = webhooks
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.store("k", 0, "p")
    made = await service.add(alice.scope, NewWebhook(url=receiver.url))
    await alice.store("k", 1, "p")
    await alice.store("k", 2, "p")
    receiver.answer = 500
    for seconds in RETRY_SECONDS:
        await drained(service)
        (held,) = await service.list(alice.scope)
        assert (held.last_error, held.next_attempt_at - clock.now) == ("HTTP 500", timedelta(seconds=seconds))
        clock.now += timedelta(seconds=seconds)
    receiver.answer = 302  # a redirect is not followed: it could lead anywhere
    await service.deliver_due()
    receiver.answer = 204
    await drained(service)
    (failure,) = await service.failures(alice.scope, made.webhook_id)
    assert (failure.sequence, failure.attempts, failure.error) == (2, len(RETRY_SECONDS) + 1, "HTTP 302")
    values = [
        read_webhook(made.secret, headers, body, tolerance_seconds=1e9).data["value"]
        for headers, body in receiver.taken
    ]
    assert values == [1] * (len(RETRY_SECONDS) + 1) + [2], "the next comes after the first is given up, not before"
    await service.retry(alice.scope, made.webhook_id)
    await drained(service)
    assert len(receiver.taken) == len(values) + 2
    assert await service.failures(alice.scope, made.webhook_id) == []
    await service.remove(alice.scope, made.webhook_id)


async def test_webhook_lease_moves_from_dead_server(
    webhooks: Any, receiver: Receiver, keeps: Keeps, tenant: str
) -> None:
    service, clock = webhooks
    alice = keeps.memory(Scope(tenant, "alice"))
    made = await service.add(alice.scope, NewWebhook(url=receiver.url))
    await alice.store("k", 1, "p")

    async def lease(tx: Any) -> Any:
        return await tx.fetch_row(QUERIES["webhook_lease"], tenant, made.webhook_id, clock.now, clock.now + LEASE)

    assert await in_write(keeps.database, alice.scope, lease) is not None, "a server that dies right now"
    await service.deliver_due()
    assert receiver.taken == []
    clock.now += LEASE + timedelta(seconds=1)
    await drained(service)
    assert len(receiver.taken) == 1
    await service.remove(alice.scope, made.webhook_id)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "http://10.0.0.8/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:8765/",
        "http://0.0.0.0/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://100.64.0.1/",
        "http://１２７.０.０.１/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://[::1",
        "http://x:99999/",
        "http://x:abc/",
        "http://xn--<.de/",
        "http://xn--\ufb00/",
        "http://a b/",
        "http://[fe80::1%25eth0]/",
        "ftp://example.com/",
        "https://user:password@example.com/",
        "https:///nowhere",
        "example.com",
    ],
)
async def test_only_public_addresses_are_taken(keeps: Keeps, tenant: str, url: str) -> None:
    with pytest.raises(ValidationFailedError):
        await keeps.service(WebhookService).add(Scope(tenant, "alice"), NewWebhook(url=url))


async def test_private_addresses_are_not_contacted(
    keeps: Keeps, receiver: Receiver, tenant: str, monkeypatch: Any
) -> None:
    clock = Clock()
    alice = keeps.memory(Scope(tenant, "alice"))
    service = WebhookService(keeps.database, clock, Metrics(), allow_private=False)
    port = receiver.url.rsplit(":", 1)[1]

    async def resolve(self: Any, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    made = await service.add(alice.scope, NewWebhook(url=f"http://rebinding.example:{port}"))
    await alice.store("k", 1, "p")
    await service.deliver_due()
    assert receiver.taken == []
    held = {each.webhook_id: each for each in await service.list(alice.scope)}[made.webhook_id]
    assert held.attempts == 1
    with pytest.raises(OSError, match="no public address"):
        await PublicResolver().resolve("rebinding.example")
    await service.remove(alice.scope, made.webhook_id)
    await service.close()


def test_private_and_public_addresses_are_distinguished() -> None:
    assert [
        is_public(each)
        for each in ("93.184.216.34", "2606:2800:220:1::1", "[::1]", "224.0.0.1", "a.localhost", "example.com")
    ] == [
        True,
        True,
        False,
        False,
        False,
        None,
    ]
    for private in (
        "::7f00:1",
        "::ffff:0:127.0.0.1",
        "::ffff:0:8.8.8.8",
        "::10.0.0.1",
        "64:ff9b:1::a00:1",
        "fec0::1",
        "2001::1",
        "[::ffff:10.0.0.1]",
    ):
        assert is_public(private) is False, private


async def test_strangers_do_not_find_a_webhook(webhooks: Any, receiver: Receiver, keeps: Keeps, tenant: str) -> None:
    service, _ = webhooks
    made = await service.add(Scope(tenant, "alice"), NewWebhook(url=receiver.url))
    stranger = Scope(f"{tenant}-other", "alice")
    assert await service.list(stranger) == []
    for attempt in (service.remove, service.retry, service.failures):
        with pytest.raises(NotFoundError):
            await attempt(stranger, made.webhook_id)
    await service.remove(Scope(tenant, "alice"), made.webhook_id)
