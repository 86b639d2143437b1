"""/v1/events: pages of the log, and the log as it grows; /v1/admin/webhooks, /v1/admin/events."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Admin, Limit, Operator, Reader, answer, answers
from keeps.server.lean import LeanRoute
from keeps.server.streams import EventStream
from keeps_client.models import (
    Event,
    LogRetention,
    MadeWebhook,
    NewWebhook,
    ReplayedTable,
    Verification,
    Webhook,
    WebhookFailure,
)
from keeps_client.models.common import UtcTime
from keeps_client.validation import event_types, memory_kinds

router = APIRouter(prefix="/v1", route_class=LeanRoute)
EVENTS, TABLES = TypeAdapter(list[Event]), TypeAdapter(list[ReplayedTable])
WEBHOOKS, FAILURES = TypeAdapter(list[Webhook]), TypeAdapter(list[WebhookFailure])
Names = Annotated[str | None, Query(max_length=1_000, description="Several, with commas between them.")]
Sequence = Annotated[int, Query(ge=0, lt=2**63, description="The number of an event.")]


@router.get("/events", tags=["events"], response_model=list[Event])
async def list_events(
    memory: Reader, after: Sequence = 0, types: Names = None, kinds: Names = None, limit: Limit = 100
) -> Response:
    """Events after a number, oldest first: one's own, and those of memories that others share."""
    return answers(EVENTS, await memory.events(after=after, types=_split(types), kinds=_split(kinds), limit=limit))


@router.get("/events/stream", tags=["events"], response_class=Response)
async def stream_events(
    memory: Reader,
    types: Names = None,
    kinds: Names = None,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    last_event_id: Annotated[int | None, Header(ge=0, lt=2**63)] = None,
) -> Response:
    """Events as they happen, as server-sent events. `Last-Event-ID` (or `after`) resumes; without it: those to come."""
    start = after if last_event_id is None else last_event_id
    subscription = memory.services.events.subscription(
        memory.scope, after=start, types=event_types(_split(types)), kinds=memory_kinds(_split(kinds))
    )
    return EventStream(subscription)


@router.get("/admin/events/verify", tags=["administration"], response_model=Verification)
async def verify_events(caller: Admin) -> Response:
    """Whether the tenant's rows are, to the byte, what its events tell."""
    return answer(await caller.services.events.verify(caller.scope))


@router.get("/admin/events/replay", tags=["administration"], response_model=list[ReplayedTable])
async def replay_events(caller: Admin, until: Annotated[UtcTime | None, Query()] = None) -> Response:
    """How many rows of each table the tenant's events tell, up to a time."""
    return answers(TABLES, await caller.services.events.replay(caller.scope, until))


@router.post("/admin/events/retire", tags=["administration"], response_model=LogRetention)
async def retire_events(caller: Operator, older_than_days: Annotated[float, Query(ge=30, le=36_500)]) -> Response:
    """Remove old events of all tenants that replay does not need. For operators."""
    return answer(await caller.services.events.retire(older_than_days))


@router.post("/admin/webhooks", tags=["administration"], status_code=201, response_model=MadeWebhook)
async def add_webhook(new: NewWebhook, caller: Admin) -> Response:
    """Send the tenant's events to a URL, signed. The answer holds the secret, which is shown this once."""
    return answer(await caller.services.webhooks.add(caller.scope, new), 201)


@router.get("/admin/webhooks", tags=["administration"], response_model=list[Webhook])
async def list_webhooks(caller: Admin) -> Response:
    """The tenant's webhooks, newest first, without their secrets."""
    return answers(WEBHOOKS, await caller.services.webhooks.list(caller.scope))


@router.delete("/admin/webhooks/{webhook_id:uuid}", tags=["administration"], response_model=Webhook)
async def remove_webhook(webhook_id: UUID, caller: Admin) -> Response:
    """Send no more to it."""
    return answer(await caller.services.webhooks.remove(caller.scope, webhook_id))


@router.get("/admin/webhooks/{webhook_id:uuid}/failures", tags=["administration"], response_model=list[WebhookFailure])
async def list_webhook_failures(webhook_id: UUID, caller: Admin) -> Response:
    """Dead letters: events that it did not take after all attempts."""
    return answers(FAILURES, await caller.services.webhooks.failures(caller.scope, webhook_id))


@router.post("/admin/webhooks/{webhook_id:uuid}/retry", tags=["administration"], response_model=Webhook)
async def retry_webhook(webhook_id: UUID, caller: Admin) -> Response:
    """Send its dead letters again, and what came after the first of them."""
    return answer(await caller.services.webhooks.retry(caller.scope, webhook_id))


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [each.strip() for each in names.split(",") if each.strip()]
