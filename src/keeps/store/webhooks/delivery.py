"""Sends events to webhooks: in order, at least once, signed by Standard Webhooks, retried, and finally given up.

A webhook is leased to one server at a time. Its position advances after each accepted event, so a killed server repeats
at most one event; the event's id, in the header `webhook-id`, identifies a repetition.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from uuid import UUID

from keeps.base.addresses import host_of, is_public
from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps.store.db.session import Database, Row
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps_client.errors import KeepsError
from keeps_client.models import Event

if TYPE_CHECKING:
    import aiohttp

POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 10.0
LEASE = timedelta(seconds=60)
AT_ONCE, BATCH = 64, 100
TURN_SECONDS = 30.0
"""Seconds for which a webhook is served before waiting ones get its place."""
RETRY_SECONDS = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600)
"""Pauses after consecutive failures; after the last, the event becomes a dead letter."""


def new_secret() -> str:
    """Return a random secret to sign with, as Standard Webhooks writes it."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def is_secret(text: str) -> bool:
    """Return whether a text is a secret of Standard Webhooks."""
    try:
        return text.startswith("whsec_") and len(base64.b64decode(text.removeprefix("whsec_"), validate=True)) >= 24
    except ValueError:
        return False


def signed_headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver verifies a body."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, message_id, timestamp, body),
    }


def signature(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """Return `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body` (https://www.standardwebhooks.com)."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((event_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class Delivery:
    """Finds webhooks with pending events, over all tenants, and serves each as its own tenant."""

    def __init__(
        self, database: Database, clock: Clock, queries: Statements, metrics: Metrics, *, allow_private: bool
    ) -> None:
        self._database = database
        self._clock = clock
        self._queries = queries
        self._metrics = metrics
        self._allow_private = allow_private
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._serving: dict[UUID, asyncio.Task[int]] = {}

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        running: list[asyncio.Task[Any]] = [*self._serving.values(), *([self._task] if self._task else [])]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None  # A restarted service opens another session.

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._begin_due()
            except KeepsError:
                continue  # The database is away; due events stay due.
            except Exception as error:  # noqa: BLE001  one defect must not end deliveries for good
                log().error("webhooks", error=type(error).__name__)

    async def deliver_due(self) -> int:
        """Serve what is due now completely; return the number of accepted events."""
        return sum(await asyncio.gather(*await self._begin_due()))

    async def _begin_due(self) -> list[asyncio.Task[int]]:
        """Start serving what is due, each webhook in its own task, so that one that hangs delays no other."""
        free = AT_ONCE - len(self._serving)
        if free <= 0:
            return []
        begun: list[asyncio.Task[int]] = []
        found = await self._database.cells.everywhere(
            self._queries["webhooks_due"], self._clock(), free, seconds=TIMEOUT_SECONDS
        )
        for row in [row for rows in zip_longest(*found.values()) for row in rows if row is not None][:free]:
            webhook_id = row["webhook_id"]
            if webhook_id in self._serving:
                continue
            task = asyncio.get_running_loop().create_task(self._guarded(row["tenant_id"], webhook_id))
            self._serving[webhook_id] = task
            task.add_done_callback(lambda _, served=webhook_id: self._serving.pop(served, None))
            begun.append(task)
        return begun

    async def _guarded(self, tenant_id: str, webhook_id: UUID) -> int:
        try:
            return await self._serve(tenant_id, webhook_id)
        except KeepsError:
            return 0  # The database is away; due events stay due.
        except Exception as error:  # noqa: BLE001  one defect must not end deliveries for good
            log().error("webhooks", error=type(error).__name__)
            return 0

    async def _serve(self, tenant_id: str, webhook_id: UUID) -> int:
        scope = Scope(tenant_id, "keeps.webhooks")
        now = self._clock()
        webhook: Row | None = None
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                webhook = await tx.fetch_row(self._queries["webhook_lease"], tenant_id, webhook_id, now, now + LEASE)
        if webhook is None:
            return 0
        async with self._database.scoped(scope) as tx:
            batch, until = await events.of_all_users(tx, webhook["position"], BATCH)
        wanted = [event for event in batch if any(_matches(each, event.type) for each in webhook["types"])]
        attempts = webhook["attempts"]
        ends_at = time.monotonic() + TURN_SECONDS
        for taken, event in enumerate(wanted):
            if time.monotonic() > ends_at:
                await self._release(scope, webhook_id, 0, self._clock(), None)
                return taken
            error = await self._post(webhook, event)
            if error is not None:
                await self._failed(scope, webhook_id, event, attempts + 1, error)
                return taken
            attempts = 0
            self._metrics.deliveries.labels("taken").inc()
            self._metrics.delivery_lag.observe(max(0.0, (self._clock() - event.time).total_seconds()))
            await self._moved(scope, webhook_id, event.sequence, self._clock())
        await self._moved(scope, webhook_id, until, None)
        await self._release(scope, webhook_id, 0, self._clock(), None)
        return len(wanted)

    async def _post(self, held: Row, event: Event) -> str | None:
        """Send one event; return the error, or None."""
        body = event.model_dump_json().encode()
        timestamp = int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/cloudevents+json",
            "User-Agent": "Keeps",
            **signed_headers(held["secret"], str(event.id), timestamp, body),
        }
        host = host_of(held["url"])
        if host is None or (not self._allow_private and is_public(host) is False):
            return "not a public address"
        import aiohttp

        try:
            async with self._opened().post(held["url"], data=body, headers=headers, allow_redirects=False) as response:
                return None if 200 <= response.status < 300 else f"HTTP {response.status}"
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return type(error).__name__

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        from keeps.store.webhooks.resolving import PublicResolver

        if self._session is None:
            resolver = None if self._allow_private else PublicResolver()
            connector = aiohttp.TCPConnector(resolver=resolver, limit=AT_ONCE)
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)
        return self._session

    async def _failed(self, scope: Scope, webhook_id: UUID, event: Event, attempts: int, error: str) -> None:
        now = self._clock()
        self._metrics.deliveries.labels("retried" if attempts <= len(RETRY_SECONDS) else "given_up").inc()
        if attempts <= len(RETRY_SECONDS):
            again = now + timedelta(seconds=RETRY_SECONDS[attempts - 1])
            await self._release(scope, webhook_id, attempts, again, error)
            return
        await self._execute(scope, "webhook_give_up", webhook_id, event.sequence, attempts, error, now)
        await self._moved(scope, webhook_id, event.sequence, None)
        await self._release(scope, webhook_id, 0, now, error)

    async def _moved(self, scope: Scope, webhook_id: UUID, position: int, delivered_at: datetime | None) -> None:
        await self._execute(scope, "webhook_moved", webhook_id, position, self._clock() + LEASE, delivered_at)

    async def _release(self, scope: Scope, webhook_id: UUID, attempts: int, again: datetime, error: str | None) -> None:
        await self._execute(scope, "webhook_release", webhook_id, attempts, again, error)

    async def _execute(self, scope: Scope, name: str, webhook_id: UUID, *values: object) -> None:
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await tx.execute(self._queries[name], scope.tenant_id, webhook_id, *values)


def _matches(wanted: str, kind: str) -> bool:
    return kind.startswith(wanted[:-1]) if wanted.endswith("*") else kind == wanted
