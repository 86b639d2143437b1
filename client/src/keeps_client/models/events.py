"""Events as CloudEvents 1.0."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import JsonValue

from keeps_client.models.common import Wire


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
