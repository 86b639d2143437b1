"""The part of webhooks."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.webhooks.service import WebhookService
from keeps_client.models import events as api


def make(core: Core) -> None:
    allow_private = core.settings.webhooks_allow_private
    core.open(WebhookService(core.database, core.clock, core.metrics, allow_private=allow_private))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(WebhookService)
    return (
        serves(api.ADD_WEBHOOK, lambda s, _, b: service.add(s, b)),
        serves(api.LIST_WEBHOOKS, lambda s, _, __: service.list(s)),
        serves(api.REMOVE_WEBHOOK, lambda s, p, _: service.remove(s, p.webhook_id)),
        serves(api.LIST_WEBHOOK_FAILURES, lambda s, p, _: service.failures(s, p.webhook_id)),
        serves(api.RETRY_WEBHOOK, lambda s, p, _: service.retry(s, p.webhook_id)),
    )


PART = Part("webhooks", make, endpoints)
