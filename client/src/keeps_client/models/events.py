"""Events as CloudEvents 1.0."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Limit, Text, UtcTime, Wire

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
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
"""Every type that is written, and that can be subscribed to."""


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
    sequence: int
    traceparent: str | None = None


class Difference(Wire):
    """A row that is not what its events tell, or a gap in the log.

    `row` names it by its key, a gap by its first and last number; contents are never shown.
    """

    table: str
    row: dict[str, JsonValue]
    problem: str
    columns: list[str]


class Verification(Wire):
    """The result of comparing a tenant's rows with its events, byte by byte. `compared`: rows of each table."""

    tenant_id: str
    equal: bool
    events: int
    compared: dict[str, int]
    differences: list[Difference]


class ReplayedTable(Wire):
    """A table, and how many rows the events tell."""

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
"""A type of event, such as `memory.written`; `memory.*` stands for all that begin so, `*` for every one."""


class NewWebhook(Wire):
    """The URL for a tenant's events, and their types."""

    url: Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
    types: Annotated[tuple[EventPattern, ...], Field(fail_fast=True, min_length=1, max_length=50)] = ("*",)


class Webhook(Wire):
    """A webhook as it is listed. `position`: everything up to it is delivered or given up; `failures`: how many
    were."""

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
    """A new webhook with the secret that signs its deliveries, which is shown this once."""

    secret: str = Field(repr=False)


class WebhookFailure(Wire):
    """An event that a webhook did not take after all attempts. It is still in the log, under its `sequence`."""

    webhook_id: UUID
    sequence: int
    attempts: int
    error: str
    failed_at: datetime


Names = Annotated[Text | None, Field(max_length=1_000, description="Several, with commas between them.")]


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
    "Events after a number, oldest first: one's own, and those of memories that others share. Where they hold much,"
    " fewer than `limit` come: the last is reached when none do.",
    params=EventQuery,
)
VERIFY_EVENTS = Endpoint(
    "verify_events",
    "GET",
    "/v1/admin/events/verify",
    "admin",
    "administration",
    Verification,
    "Whether the tenant's rows are, to the byte, what its events tell.",
)
REPLAY_EVENTS = Endpoint(
    "replay_events",
    "GET",
    "/v1/admin/events/replay",
    "admin",
    "administration",
    list[ReplayedTable],
    "How many rows of each table the tenant's events tell, up to a time.",
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
    "Send the tenant's events to a URL, signed. The answer holds the secret, which is shown this once.",
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
    "The tenant's webhooks, newest first, without their secrets.",
)
REMOVE_WEBHOOK = Endpoint(
    "remove_webhook",
    "DELETE",
    "/v1/admin/webhooks/{webhook_id}",
    "admin",
    "administration",
    Webhook,
    "Send no more to it.",
    params=WebhookId,
)
LIST_WEBHOOK_FAILURES = Endpoint(
    "list_webhook_failures",
    "GET",
    "/v1/admin/webhooks/{webhook_id}/failures",
    "admin",
    "administration",
    list[WebhookFailure],
    "Dead letters: events that it did not take after all attempts.",
    params=WebhookId,
)
RETRY_WEBHOOK = Endpoint(
    "retry_webhook",
    "POST",
    "/v1/admin/webhooks/{webhook_id}/retry",
    "admin",
    "administration",
    Webhook,
    "Send its dead letters again, and what came after the first of them.",
    params=WebhookId,
)
