"""Histories of sessions as transcripts: items as JSON, in parts that one write takes and one answer holds."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import NewTranscriptEntry, TranscriptEntry

ITEMS_AT_ONCE, CHARACTERS_AT_ONCE = 500, 3_000_000
"""Number of items that one write appends, and of their characters, below the limit of a request's body."""


def new_entry(item: object, entry_id: str | None = None) -> NewTranscriptEntry:
    """Return an item as an entry: JSON text, which a database stores as it is.

    The order of keys, numbers, and characters such as NUL stay.
    """
    text = json.dumps(item, ensure_ascii=True)
    return validated(NewTranscriptEntry, {"entry_id": entry_id or str(uuid.uuid4()), "entry": text})


def item_of(entry: TranscriptEntry) -> Any:
    """Return the item of an entry that `new_entry` made."""
    return json.loads(str(entry.entry))


async def read_entries(
    memory: Memory, app: str, session_id: str, *, last: int | None = None
) -> tuple[list[TranscriptEntry], int]:
    """Return the entries of a session, oldest first, or the last few, and its version: 0 if there is none."""
    try:
        part = await memory.get_transcript(app, session_id, last=last)
        entries = list(part.entries)
        while part.next_after is not None:
            part = await memory.get_transcript(app, session_id, after=part.next_after)
            entries += part.entries
    except NotFoundError:
        return [], 0
    return entries, part.version


async def append_entries(
    memory: Memory,
    app: str,
    session_id: str,
    entries: Sequence[NewTranscriptEntry],
    *,
    expected_version: int | None = None,
) -> None:
    """Append entries to a session, in parts. Raises ConflictError, before anything is stored, for another version."""
    for part in _parts(entries):
        appended = await memory.append_to_transcript(
            app, session_id, part, create=True, expected_version=expected_version
        )
        expected_version = None if expected_version is None else appended.version


async def delete_session(memory: Memory, app: str, session_id: str) -> None:
    """Erase the history of a session, if there is one."""
    try:
        await memory.delete_transcript(app, session_id)
    except NotFoundError:
        return


def _parts(entries: Sequence[NewTranscriptEntry]) -> list[list[NewTranscriptEntry]]:
    """Return the entries in parts that one write takes."""
    parts: list[list[NewTranscriptEntry]] = []
    characters = CHARACTERS_AT_ONCE
    for entry in entries:
        size = len(str(entry.entry))
        characters += size
        if characters > CHARACTERS_AT_ONCE or len(parts[-1]) == ITEMS_AT_ONCE:
            parts.append([])
            characters = size
        parts[-1].append(entry)
    return parts
