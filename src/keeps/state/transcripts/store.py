"""Run the statements on transcripts. Every function takes the transaction first."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as replaced
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import new_id
from keeps.store.db.session import Tx
from keeps.store.db.size_limits import fetch_page
from keeps.store.db.statements import Statement, Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import NewTranscriptEntry, TranscriptEntry, TranscriptInfo
from keeps_client.models.transcripts import MAX_PART_BYTES

QUERIES = Statements("keeps.state.transcripts")
OF_THE_USER = ""
"""Transcript id of the user's state, which applies to all transcripts of an app."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRow:
    """A row of keeps.transcripts. Each field is a column."""

    tenant_id: str
    user_id: str
    app: str
    transcript_id: str
    row_id: UUID
    agent_id: str | None
    entry_count: int
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def about(self) -> str:
        """The name under which answers about this transcript are stored."""
        return f"transcript:{self.app}\x1f{self.transcript_id}"

    def info(self, state: Mapping[str, JsonValue], user_state: Mapping[str, JsonValue] | None = None) -> TranscriptInfo:
        shown = {name: value for name, value in asdict(self).items() if name != "row_id"}
        return TranscriptInfo.model_construct(**shown, state=state, user_state=user_state)


async def get(tx: Tx, app: str, transcript_id: str) -> TranscriptRow | None:
    row = await tx.fetch_row(QUERIES["transcript_get"], *_who(tx), app, transcript_id)
    return None if row is None else TranscriptRow(**dict(row))


async def page(tx: Tx, app: str, after: tuple[datetime, str] | None, limit: int) -> list[TranscriptRow]:
    rows = await tx.fetch(QUERIES["transcript_list"], *_who(tx), app, *(after or (None, None)), limit)
    return [TranscriptRow(**dict(row)) for row in rows]


async def apps(tx: Tx, after: str, limit: int) -> list[str]:
    return [row["app"] for row in await tx.fetch(QUERIES["transcript_apps"], *_who(tx), after, limit)]


async def owners(tx: Tx, app: str, start: str, limit: int) -> list[str]:
    """Return users of the tenant who have transcripts in an app, from `start` on."""
    return [row["user_id"] for row in await tx.fetch(QUERIES["transcript_owners"], app, start, limit)]


async def insert(tx: Tx, row: TranscriptRow, now: datetime) -> bool:
    """Store a new transcript with its event. Return False if it already exists."""
    image = _image(row)
    if await tx.fetch_row(QUERIES["transcript_insert"], image) is None:
        return False
    await _log(tx, "transcript", [(row.row_id, image)], now, row.agent_id)
    return True


async def replace(tx: Tx, row: TranscriptRow, now: datetime) -> None:
    image = _image(row)
    await tx.execute(QUERIES["transcript_replace"], image)
    await _log(tx, "transcript", [(row.row_id, image)], now, row.agent_id)


async def delete(tx: Tx, row: TranscriptRow, now: datetime) -> None:
    """Delete a transcript with its entries and its state, and redact its events."""
    which = (*_who(tx), row.app, row.transcript_id)
    told = [each["row_id"] for each in await tx.fetch(QUERIES["transcript_rows"], *which)]
    await tx.execute(QUERIES["values_delete"], *which)
    await tx.execute(QUERIES["transcript_delete"], *which)
    await tx.execute(QUERIES["transcript_redact"], row.about, told)
    gone = NewEvent(new_id(), "transcript.deleted", str(row.row_id), now, "private", row.agent_id, {})
    await events.append(tx, [gone])


async def entries(
    tx: Tx, app: str, transcript_id: str, *, after: int, since: datetime | None, last: int | None, limit: int
) -> list[TranscriptEntry]:
    asked = (app, transcript_id, after, since, last, limit, MAX_PART_BYTES)
    rows, _ = await fetch_page(tx, QUERIES["entries_get"], *_who(tx), *asked, limit=limit, columns=("entry",))
    return [
        TranscriptEntry.model_construct(
            position=row["position"], entry_id=row["entry_id"], at=row["at"], entry=_json(row["entry"])
        )
        for row in rows
    ]


async def known(tx: Tx, app: str, transcript_id: str, new: Sequence[NewTranscriptEntry]) -> set[str]:
    """Return the ids of the entries that are already stored unchanged."""
    given = json.dumps([{"entry_id": each.entry_id, "entry": each.entry} for each in new], ensure_ascii=False)
    return {row["entry_id"] for row in await tx.fetch(QUERIES["entries_known"], *_who(tx), app, transcript_id, given)}


async def add_entries(tx: Tx, row: TranscriptRow, new: Sequence[NewTranscriptEntry], now: datetime) -> None:
    """Append entries after the row's `entry_count`."""
    items = [
        {
            "tenant_id": row.tenant_id,
            "user_id": row.user_id,
            "app": row.app,
            "transcript_id": row.transcript_id,
            "position": position,
            "row_id": str(new_id()),
            "agent_id": row.agent_id,
            "entry_id": each.entry_id,
            "at": (each.at or now).isoformat(),
            "entry": each.entry,
        }
        for position, each in enumerate(new, row.entry_count + 1)
    ]
    await _store(tx, "transcript_entry", QUERIES["entries_insert"], items, now, row.agent_id)


async def remove_entries(tx: Tx, row: TranscriptRow, after: int, now: datetime) -> None:
    """Delete the entries after a position, and redact their events."""
    rows = await tx.fetch(QUERIES["entries_delete"], *_who(tx), row.app, row.transcript_id, after)
    gone = [each["row_id"] for each in rows]
    await tx.execute(QUERIES["entries_redact"], gone)
    news = [NewEvent(new_id(), "transcript.deleted", str(each), now, "private", row.agent_id, {}) for each in gone]
    await events.append(tx, news)


async def add_imported(tx: Tx, row: TranscriptRow, position: int, entry: NewTranscriptEntry) -> bool:
    """Store an entry at its original position. Return False if the position is occupied."""
    there = await entries(tx, row.app, row.transcript_id, after=position - 1, since=None, last=None, limit=1)
    if there and there[0].position == position:
        return False
    await add_entries(tx, replaced(row, entry_count=position - 1), [entry], row.updated_at)
    return True


async def states(tx: Tx, app: str, transcript_ids: Collection[str]) -> dict[str, dict[str, JsonValue]]:
    """Return the state of each transcript, and under '' the user's."""
    found: dict[str, dict[str, JsonValue]] = {each: {} for each in transcript_ids}
    for row in await tx.fetch(QUERIES["values_get"], *_who(tx), app, list(transcript_ids)):
        found[row["transcript_id"]][row["key"]] = _json(row["value"])
    return found


async def sizes(tx: Tx, app: str, transcript_ids: Collection[str]) -> dict[str, int]:
    """Return the size in bytes of the state of each transcript that has one."""
    rows = await tx.fetch(QUERIES["values_sizes"], *_who(tx), app, list(transcript_ids))
    return {row["transcript_id"]: row["bytes"] for row in rows}


async def put_values(
    tx: Tx, app: str, transcript_id: str, values: Mapping[str, JsonValue], now: datetime, agent_id: str | None
) -> None:
    """Set keys of a transcript, or of the user."""
    items = [
        {
            "tenant_id": tx.scope.tenant_id,
            "user_id": tx.scope.user_id,
            "app": app,
            "transcript_id": transcript_id,
            "key": key,
            "row_id": str(new_id()),
            "agent_id": agent_id,
            "value": value,
            "updated_at": now.isoformat(),
        }
        for key, value in values.items()
    ]
    await _store(tx, "transcript_value", QUERIES["values_put"], items, now, agent_id)


async def _store(
    tx: Tx, noun: str, statement: Statement, items: Sequence[Mapping[str, object]], now: datetime, agent_id: str | None
) -> None:
    if items:
        stored = await tx.fetch(statement, json.dumps(items, ensure_ascii=False))
        await _log(tx, noun, [(row["row_id"], row["image"]) for row in stored], now, agent_id)


async def _log(tx: Tx, noun: str, images: Sequence[tuple[UUID, str]], now: datetime, agent_id: str | None) -> None:
    await events.append(
        tx,
        [
            NewEvent(
                new_id(),
                "transcript.written",
                str(row_id),
                now,
                "private",
                agent_id,
                {noun: json.loads(image)},
            )
            for row_id, image in images
        ],
    )


def _who(tx: Tx) -> tuple[str, str]:
    return tx.scope.tenant_id, tx.scope.user_id


def _image(row: TranscriptRow) -> str:
    return json.dumps(asdict(row), ensure_ascii=False, default=_plain)


def _json(text: str | None) -> JsonValue:
    """Return a value as JSON text. JSON's null is stored as NULL."""
    return None if text is None else json.loads(text)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
