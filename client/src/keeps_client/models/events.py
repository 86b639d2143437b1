"""Events as CloudEvents 1.0."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Limit, Text, UtcTime, Wire
from keeps_client.models.proof import ChainVerification

EventType = Literal[
    "memory.written",
    "memory.superseded",
    "memory.deleted",
    "memory.restored",
    "memory.erased",
    "memory.archived",
    "memory.promoted",
    "memory.expired",
    "memory.indexed",
    "memory.held",
    "memory.approved",
    "memory.linked",
    "memory.unlinked",
    "memory.provider.registered",
    "document.written",
    "document.deleted",
    "document.erased",
    "session.created",
    "session.updated",
    "session.deleted",
    "item.written",
    "item.deleted",
    "transcript.written",
    "transcript.deleted",
    "plan.created",
    "plan.updated",
    "plan.deleted",
    "plan.task.written",
    "plan.task.deleted",
    "plan.state.written",
    "plan.state.deleted",
    "space.written",
    "space.member.written",
    "space.member.removed",
    "budget.warned",
    "budget.reached",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
"""All event types, which are also those to subscribe to."""


class Event(Wire):
    """One thing that happened. `sequence` counts up within a tenant, in the order of commits, without gaps."""

    specversion: Literal["1.0"] = "1.0"
    id: UUID
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: Literal["application/json"] = "application/json"
    data: dict[str, JsonValue]
    tenantid: str
    userid: str
    agentid: str | None = None
    actorid: str | None = None
    """In a space: the user who acted."""
    sequence: int
    traceparent: str | None = None


class Difference(Wire):
    """A row that differs from its events, or a gap in the log.

    `row` names it by its key, a gap by its first and last number; contents are never shown.
    """

    table: str
    row: dict[str, JsonValue]
    problem: str
    columns: list[str]


class Verification(Wire):
    """The result of comparing a tenant's rows with its events, byte by byte, and of verifying the chain of its log.

    `equal`: no row differs, and the chain is intact. `compared`: rows of each table.
    """

    tenant_id: str
    equal: bool
    events: int
    compared: dict[str, int]
    differences: list[Difference]
    chain: ChainVerification


class ReplayedTable(Wire):
    """A table, and its number of rows according to the events."""

    table: str
    rows: int


class LogRetention(Wire):
    """The result of retention: numbers of removed events, and of older ones that replay still needs.

    The removed events are from before `before`.
    """

    before: datetime
    removed: int
    kept: int


EventPattern = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z][a-z0-9_.]*\*?$|^\*$")]
"""A type of event, such as `memory.written`; `memory.*` matches all types with that prefix, `*` every type."""


class NewWebhook(Wire):
    """The URL for a tenant's events, and their types."""

    url: Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
    types: Annotated[tuple[EventPattern, ...], Field(fail_fast=True, min_length=1, max_length=50)] = ("*",)


class Webhook(Wire):
    """A webhook as it is listed. `position`: everything up to it is delivered or given up; `failures`: the number given
    up.
    """

    webhook_id: UUID
    tenant_id: str
    url: str
    types: tuple[str, ...]
    active: bool
    position: int
    attempts: int
    next_attempt_at: datetime
    last_error: str | None = None
    last_delivered_at: datetime | None = None
    created_by: str
    created_at: datetime
    failures: int


class MadeWebhook(Webhook):
    """A new webhook with the secret that signs its deliveries, which is shown only once."""

    secret: str = Field(repr=False)


class WebhookFailure(Wire):
    """An event that a webhook did not accept after all attempts. It is still in the log, under its `sequence`."""

    webhook_id: UUID
    sequence: int
    attempts: int
    error: str
    failed_at: datetime


Names = Annotated[Text | None, Field(max_length=1_000, description="Several, separated by commas.")]


class EventQuery(Wire):
    after: Annotated[int, Field(ge=0, lt=2**63, description="The number of an event.")] = 0
    types: Names = None
    kinds: Names = None
    limit: Limit = 100


class ReplayUntil(Wire):
    until: UtcTime | None = None


class RetireOlder(Wire):
    older_than_days: Annotated[float, Field(ge=30, le=36_500)]


class WebhookId(Wire):
    webhook_id: UUID


LIST_EVENTS = Endpoint(
    "list_events",
    "GET",
    "/v1/events",
    "reader",
    "events",
    list[Event],
    "List events after a number, oldest first: your own, and those of memories that others share. Large "
    "events shorten the page; continue until it is empty.",
    params=EventQuery,
)
VERIFY_EVENTS = Endpoint(
    "verify_events",
    "GET",
    "/v1/admin/events/verify",
    "admin",
    "administration",
    Verification,
    "Compare the tenant's rows with its events, byte by byte, and verify the chain of its log.",
)
REPLAY_EVENTS = Endpoint(
    "replay_events",
    "GET",
    "/v1/admin/events/replay",
    "admin",
    "administration",
    list[ReplayedTable],
    "Count the rows of each table according to the tenant's events, up to a time.",
    params=ReplayUntil,
)
RETIRE_EVENTS = Endpoint(
    "retire_events",
    "POST",
    "/v1/admin/events/retire",
    "operator",
    "administration",
    LogRetention,
    "Remove old events of all tenants that replay does not need. For operators.",
    params=RetireOlder,
    repeatable=False,
)
ADD_WEBHOOK = Endpoint(
    "add_webhook",
    "POST",
    "/v1/admin/webhooks",
    "admin",
    "administration",
    MadeWebhook,
    "Send the tenant's events to a URL, signed. The answer contains the secret, which is shown only once.",
    body=NewWebhook,
    status=201,
    repeatable=False,
)
LIST_WEBHOOKS = Endpoint(
    "list_webhooks",
    "GET",
    "/v1/admin/webhooks",
    "admin",
    "administration",
    list[Webhook],
    "List the tenant's webhooks, newest first, without their secrets.",
)
REMOVE_WEBHOOK = Endpoint(
    "remove_webhook",
    "DELETE",
    "/v1/admin/webhooks/{webhook_id}",
    "admin",
    "administration",
    Webhook,
    "Delete a webhook.",
    params=WebhookId,
)
LIST_WEBHOOK_FAILURES = Endpoint(
    "list_webhook_failures",
    "GET",
    "/v1/admin/webhooks/{webhook_id}/failures",
    "admin",
    "administration",
    list[WebhookFailure],
    "List dead letters: events that the receiver did not accept after all attempts.",
    params=WebhookId,
)
RETRY_WEBHOOK = Endpoint(
    "retry_webhook",
    "POST",
    "/v1/admin/webhooks/{webhook_id}/retry",
    "admin",
    "administration",
    Webhook,
    "Send the dead letters again, and all events after the first of them.",
    params=WebhookId,
)
