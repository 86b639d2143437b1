"""Administration of webhooks: add, list, remove, retry. The routes check roles."""

from __future__ import annotations

from uuid import UUID

from keeps.base.addresses import host_of, is_public
from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.store.db.session import Database, Row
from keeps.store.db.statements import Statement, Statements
from keeps.store.tenants.store import ensure_tenant
from keeps.store.webhooks.delivery import Delivery, new_secret
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import MadeWebhook, NewWebhook, Webhook, WebhookFailure
from keeps_client.validation import event_types

QUERIES = Statements("keeps.store.webhooks")
MAX_WEBHOOKS = 20


class WebhookService:
    """The webhooks of a tenant. `allow_private` also permits loopback and private addresses."""

    def __init__(self, database: Database, clock: Clock, metrics: Metrics, *, allow_private: bool) -> None:
        self._database = database
        self._clock = clock
        self._allow_private = allow_private
        self._delivery = Delivery(database, clock, QUERIES, metrics, allow_private=allow_private)

    async def add(self, scope: Scope, new: NewWebhook) -> MadeWebhook:
        """Send the tenant's events to a URL from now on.

        The answer has the secret that signs them, which is shown only once.
        """
        if new.types != ("*",):
            event_types(new.types)
        host = host_of(new.url)
        if host is None:
            raise ValidationFailedError("url must be http:// or https://, name a host, and contain no user or password")
        if not self._allow_private and is_public(host) is False:
            raise ValidationFailedError(
                f"{host} is not a public address; KEEPS_WEBHOOKS_ALLOW_PRIVATE=true allows it, if you run this server"
            )
        secret = new_secret()
        webhook_id, now = new_id(), self._clock()
        await self._database.place(scope.tenant_id)
        row: Row | None = None
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await ensure_tenant(tx)
                row = await tx.fetch_row(
                    QUERIES["webhook_insert"],
                    scope.tenant_id,
                    webhook_id,
                    new.url,
                    list(new.types),
                    secret,
                    scope.user_id,
                    now,
                    MAX_WEBHOOKS,
                )
        if row is None:
            raise ValidationFailedError(f"a tenant has at most {MAX_WEBHOOKS} webhooks; remove one first")
        return MadeWebhook(
            webhook_id=webhook_id,
            tenant_id=scope.tenant_id,
            url=new.url,
            types=new.types,
            active=True,
            position=row["position"],
            attempts=0,
            next_attempt_at=now,
            created_by=scope.user_id,
            created_at=now,
            failures=0,
            secret=secret,
        )

    async def list(self, scope: Scope) -> list[Webhook]:
        """Return the tenant's webhooks, newest first, without their secrets."""
        async with self._database.scoped(scope) as tx:
            return [Webhook(**dict(row)) for row in await tx.fetch(QUERIES["webhook_list"], scope.tenant_id)]

    async def failures(self, scope: Scope, webhook_id: UUID) -> list[WebhookFailure]:
        """Return the events that were given up, newest first. Raises NotFoundError."""
        if webhook_id not in {each.webhook_id for each in await self.list(scope)}:
            raise NotFoundError(f"no webhook {webhook_id}")
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["webhook_failures"], scope.tenant_id, webhook_id)
        return [WebhookFailure(**dict(row)) for row in rows]

    async def remove(self, scope: Scope, webhook_id: UUID) -> Webhook:
        """Remove a webhook. Raises NotFoundError."""
        return await self._change(scope, webhook_id, QUERIES["webhook_delete"])

    async def retry(self, scope: Scope, webhook_id: UUID) -> Webhook:
        """Send its dead letters again, and all events after the first of them. Raises NotFoundError."""
        return await self._change(scope, webhook_id, QUERIES["webhook_retry"], self._clock())

    def start(self) -> None:
        """Start delivery in the background, until `close`."""
        self._delivery.start()

    async def deliver_due(self) -> int:
        """Deliver what is due now; return the number of delivered events."""
        return await self._delivery.deliver_due()

    async def behind(self) -> tuple[int, float]:
        """Return the number of webhooks with pending events over all tenants, and the oldest event's wait in
        seconds.
        """
        found = await self._database.cells.everywhere(QUERIES["webhooks_behind"])
        rows = [row for each in found.values() for row in each]
        return sum(row["behind"] for row in rows), max(row["seconds"] for row in rows)

    async def close(self) -> None:
        await self._delivery.close()

    async def _change(self, scope: Scope, webhook_id: UUID, statement: Statement, *values: object) -> Webhook:
        """Run a statement on a webhook; return it as it was before. Raises NotFoundError."""
        webhook = {each.webhook_id: each for each in await self.list(scope)}.get(webhook_id)
        row: Row | None = None
        if webhook is not None:
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    row = await tx.fetch_row(statement, scope.tenant_id, webhook_id, *values)
        if webhook is None or row is None:
            raise NotFoundError(f"no webhook {webhook_id}")
        return webhook
