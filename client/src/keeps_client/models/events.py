"""Events as CloudEvents 1.0."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.models.common import Text, Wire

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
    "session.created",
    "session.updated",
    "session.deleted",
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
    """A row that is not what its events tell. `row` names it by its key; contents are never shown."""

    table: str
    row: dict[str, JsonValue]
    problem: str
    columns: list[str]


class Verification(Wire):
    """Whether the stored rows of a tenant are, to the byte, what its events tell. `compared`: rows of each table."""

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
    """What retention did: events recorded before `before` that are gone, and those that replay still needs."""

    before: datetime
    removed: int
    kept: int


EventPattern = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z][a-z0-9_.]*\*?$|^\*$")]
"""A type of event, such as `memory.written`; `memory.*` stands for all that begin so, `*` for every one."""


class NewWebhook(Wire):
    """Where to send a tenant's events, and which."""

    url: Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
    types: Annotated[tuple[EventPattern, ...], Field(min_length=1, max_length=50)] = ("*",)


class Webhook(Wire):
    """A webhook as it is listed. `position`: everything up to it is delivered or given up; `failures`: how many were."""

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

    secret: str


class WebhookFailure(Wire):
    """An event that a webhook did not take after all attempts. It is still in the log, under its `sequence`."""

    webhook_id: UUID
    sequence: int
    attempts: int
    error: str
    failed_at: datetime
