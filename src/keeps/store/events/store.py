"""Statements on the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.base.scope import Scope
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import MOST_WHOLE, fetch_page
from keeps.store.db.statements import Statements
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Event
from keeps_client.models.events import EventType
from keeps_client.models.proof import EventContents, EventLink

QUERIES = Statements("keeps.store.events")
MOST_OF_A_SUBJECT = 1_000
_MOST_ON_THE_LOOP, _STEP = 1 << 15, 50
"""Characters of an event that is read on the event loop, and events read before others have a turn."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append; tenant, user and sequence come from the transaction."""

    event_id: UUID
    type: EventType
    subject: str
    time: datetime
    visibility: str
    agent_id: str | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reach:
    """The last number of a log, the last that retention removed, and the time up to which it did."""

    last_sequence: int
    retired_sequence: int
    retired_until: datetime | None


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last number of a log, the last that retention removed, and the hash of the last event."""

    last_sequence: int
    retired_sequence: int
    chain_hash: bytes | None


async def chain_head(tx: Tx) -> ChainHead:
    row = await tx.fetch_row(QUERIES["chain_head"], tx.scope.tenant_id)
    return ChainHead(0, 0, None) if row is None else ChainHead(**dict(row))


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
    """Return the events about one subject, oldest first; beyond 1,000, or the size of an answer, only the newest."""
    asked = (tx.scope.tenant_id, subject)
    newest, _ = await fetch_page(
        tx, QUERIES["events_by_subject"], *asked, limit=MOST_OF_A_SUBJECT, columns=("data",), most=MOST_WHOLE
    )
    return await _events(reversed(newest))


async def reach(tx: Tx) -> Reach:
    """Return the reach of the log of the transaction's tenant."""
    row = await tx.fetch_row(QUERIES["events_reach"], tx.scope.tenant_id)
    return Reach(0, 0, None) if row is None else Reach(**dict(row))


async def after(
    tx: Tx, position: int, until: int, *, types: Sequence[str] | None, kinds: Sequence[str] | None, limit: int
) -> tuple[list[Event], bool]:
    """Return the events after `position` up to `until` that the scope may see, in order, and whether there may be more.

    `types` may end in `*`.
    """
    patterns = None if types is None else [_pattern(each) for each in types]
    wanted = None if kinds is None else list(kinds)
    asked = (tx.scope.tenant_id, position, until, patterns, wanted, limit + 1)
    kept, more = await fetch_page(tx, QUERIES["events_after"], *asked, limit=limit, columns=("data",))
    return await _events(kept), more


async def of_all_users(tx: Tx, position: int, limit: int) -> tuple[list[Event], int]:
    """Return the next events of the whole tenant, each read as its own user, and the number that they reach.

    Erased users have no events left to read.
    """
    owners = await tx.fetch(QUERIES["event_owners"], position, limit)
    events: list[Event] = []
    for user_id in dict.fromkeys(row["user_id"] for row in owners if row["user_id"]):
        await tx.become(Scope(tx.scope.tenant_id, user_id))
        sequences = [row["sequence"] for row in owners if row["user_id"] == user_id]
        events += await _events(await tx.fetch(QUERIES["events_of"], tx.scope.tenant_id, sequences))
    return sorted(events, key=lambda event: event.sequence), owners[-1]["sequence"] if owners else position


async def chain_of_all_users(tx: Tx, position: int, limit: int, *, contents: bool) -> list[EventLink]:
    """Return the next links of the tenant's chain, with the contents of each read as its own user."""
    rows = await tx.fetch(QUERIES["chain_events"], position, limit)
    tenant_id, own, reached = tx.scope.tenant_id, dict[int, Row](), rows[-1]["sequence"] if rows else position
    for user_id in dict.fromkeys(row["user_id"] for row in rows if row["user_id"] and contents):
        await tx.become(Scope(tenant_id, user_id))
        sequences = [row["sequence"] for row in rows if row["user_id"] == user_id]
        page, more = await fetch_page(
            tx, QUERIES["event_contents"], tenant_id, sequences, limit=limit, columns=("data",)
        )
        own.update((row["sequence"], row) for row in page)
        reached = min(reached, page[-1]["sequence"]) if more else reached
    rows = [row for row in rows if row["sequence"] <= reached]
    return [_link(tenant_id, row, own.get(row["sequence"], row)) for row in rows]


def _link(tenant_id: str, row: Row, contents: Row) -> EventLink:
    return EventLink(
        tenant_id=tenant_id,
        sequence=row["sequence"],
        event_id=row["event_id"],
        type=row["type"],
        source=row["source"],
        time=row["time"],
        recorded_at=row["recorded_at"],
        contents_hash=_hex(row["contents_hash"]),
        previous_hash=_hex(row["previous_hash"]),
        redacted=row["state"] in ("redacted", "hidden"),
        contents=None
        if contents["data"] is None
        else EventContents(
            salt=_hex(contents["salt"]) or "",
            subject=contents["subject"],
            user_id=contents["user_id"],
            agent_id=contents["agent_id"],
            visibility=contents["visibility"],
            traceparent=contents["traceparent"],
            data=contents["data"],
        ),
    )


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


async def check_reachable(tx: Tx, moment: datetime) -> None:
    """Raise ValidationFailedError if the log no longer describes the state at `moment`."""
    known = await reach(tx)
    if known.retired_until is not None and moment < known.retired_until:
        raise ValidationFailedError(f"the log is kept from {known.retired_until.isoformat()} on; as_of is earlier")


def _pattern(kind: str) -> str:
    """Return a type as a LIKE pattern, in which only a final `*` is a wildcard."""
    plain = kind.removesuffix("*").replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return plain + "%" if kind.endswith("*") else plain


async def _events(rows: Iterable[Row]) -> list[Event]:
    """Convert rows to events; long ones in a thread, since an entry of a transcript may hold 100,000 values."""
    events: list[Event] = []
    for row in rows:
        long = len(row["data"]) > _MOST_ON_THE_LOOP
        events.append(await asyncio.to_thread(event_from_row, row) if long else event_from_row(row))
        if len(events) % _STEP == 0:
            await asyncio.sleep(0)
    return events


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
        actorid=row["actor_id"],
        sequence=row["sequence"],
        traceparent=row["traceparent"],
    )
