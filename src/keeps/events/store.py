"""Statements on the log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.db.session import Row, Tx
from keeps.db.statements import Statements
from keeps_client.models import Event

QUERIES = Statements("keeps.events")


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append; tenant, user and sequence come from the transaction."""

    event_id: UUID
    type: str
    subject: str
    time: datetime
    visibility: str
    agent_id: str | None
    data: dict[str, Any]


async def append(tx: Tx, events: list[NewEvent]) -> None:
    """Add events to the log of the transaction's tenant, in order."""
    items = [
        {
            "event_id": str(event.event_id),
            "type": event.type,
            "subject": event.subject,
            "time": event.time.isoformat(),
            "visibility": event.visibility,
            "agent_id": event.agent_id,
            "data": event.data,
        }
        for event in events
    ]
    await tx.execute(QUERIES["events_append"], json.dumps(items), tx.scope.tenant_id, tx.scope.user_id)


async def by_subject(tx: Tx, subject: str) -> list[Event]:
    """The events about one thing, oldest first; of more than 10,000 the newest."""
    rows = await tx.fetch(QUERIES["events_by_subject"], tx.scope.tenant_id, subject)
    return [event_from_row(row) for row in reversed(rows)]


def event_from_row(row: Row) -> Event:
    return Event(
        id=row["event_id"],
        source=row["source"],
        type=row["type"],
        subject=row["subject"],
        time=row["time"],
        data=json.loads(row["data"]),
        tenantid=row["tenant_id"],
        userid=row["user_id"],
        agentid=row["agent_id"],
        sequence=row["sequence"],
        traceparent=row["traceparent"],
    )
