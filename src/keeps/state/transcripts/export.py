"""Export of transcripts, their entries and state."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, TypeAdapter

from keeps.state.transcripts import store
from keeps.state.transcripts.store import TranscriptRow
from keeps.store.db.errors import MissingError
from keeps.store.db.session import Tx
from keeps.store.export import Export, JsonRow, check_as_new
from keeps_client.checked import validated
from keeps_client.models import NewStates, NewTranscript, NewTranscriptEntry
from keeps_client.models.transcripts import AppOf, TranscriptOf

_TRANSCRIPT = TypeAdapter(TranscriptRow)
_POSITION: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=1, le=2_000_000_000, strict=True)])


def _read_transcript(row: JsonRow) -> TranscriptRow:
    check_as_new(NewTranscript, row)
    validated(AppOf, {"app": row["app"]})
    return _TRANSCRIPT.validate_python(row)


async def _add_transcript(tx: Tx, transcript: TranscriptRow) -> bool:
    return await store.insert(tx, transcript, transcript.updated_at)


def _read_entry(row: JsonRow) -> tuple[TranscriptOf, int, NewTranscriptEntry]:
    transcript = validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")})
    entry = NewTranscriptEntry.model_validate({name: row[name] for name in ("entry_id", "at", "entry")})
    return transcript, _POSITION.validate_python(row["position"]), entry


async def _add_entry(tx: Tx, read: tuple[TranscriptOf, int, NewTranscriptEntry]) -> bool:
    of, position, entry = read
    transcript = await store.get(tx, of.app, of.transcript_id)
    if transcript is None or position > transcript.entry_count:
        raise MissingError("belongs to a transcript that does not exist, or that continued differently")
    return await store.add_imported(tx, transcript, position, entry)


def _read_value(row: JsonRow) -> JsonRow:
    validated(AppOf, {"app": row["app"]})
    if row["transcript_id"] != "":
        validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")})
    state = NewStates.model_validate({"state": {row["key"]: row["value"]}}).state
    return {**row, "state": state, "updated_at": datetime.fromisoformat(row["updated_at"])}


async def _add_value(tx: Tx, row: JsonRow) -> bool:
    app, transcript_id = row["app"], row["transcript_id"]
    if transcript_id and await store.get(tx, app, transcript_id) is None:
        raise MissingError("is the state of a transcript that does not exist; import that first")
    states = await store.states(tx, app, [transcript_id])
    if row["key"] in states[transcript_id]:
        return False
    await store.put_values(tx, app, transcript_id, row["state"], row["updated_at"], row.get("agent_id"))
    return True


EXPORTS = (
    Export(
        "transcript",
        store.QUERIES["export_transcripts"],
        {"app": "", "transcript_id": ""},
        _read_transcript,
        _add_transcript,
    ),
    Export(
        "transcript_entry",
        store.QUERIES["export_transcript_entries"],
        {"app": "", "transcript_id": "", "position": 0},
        _read_entry,
        _add_entry,
    ),
    Export(
        "transcript_value",
        store.QUERIES["export_transcript_values"],
        {"app": "", "transcript_id": "", "key": ""},
        _read_value,
        _add_value,
    ),
)
