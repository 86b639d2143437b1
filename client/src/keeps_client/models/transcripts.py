"""Transcripts: conversations word for word, as frameworks store them, with their state.

Recall does not search them; exchanges become memories.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Json, Page, Text, UtcTime, Wire, json_within
from keeps_client.models.memories import Label
from keeps_client.models.tasks import Deleted
from keeps_client.models.working import ExpectedVersion, StateId

MAX_ENTRY_BYTES, MAX_ENTRY_VALUES = 4 * 1024 * 1024, 100_000
MAX_STATE_BYTES = 4 * 1024 * 1024
"""Maximum bytes of the state of one transcript, or of a user in one app."""
MAX_PART_BYTES = 4 * 1024 * 1024
"""A part ends with the entry that reaches this size."""
AppName = Annotated[Text, StringConstraints(min_length=1, max_length=200)]
"""The application of the transcripts, 1 to 200 characters."""
State = Annotated[dict[StateId, Json], Field(max_length=1_000)]
"""Keys to set, each to a JSON value of at most 256 KiB."""


class TranscriptEntry(Wire):
    """One entry of a transcript, as its framework writes it. `position` counts from 1."""

    position: int
    entry_id: str
    at: datetime
    entry: JsonValue


class TranscriptInfo(Wire):
    """A transcript with its own state, without its entries. `updated_at`: the time of its last entry. `user_state` is
    set in lists of several users.
    """

    app: str
    transcript_id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    entry_count: int
    state: dict[str, JsonValue]
    user_state: dict[str, JsonValue] | None = None
    version: int
    created_at: datetime
    updated_at: datetime


class Transcript(TranscriptInfo):
    """A transcript, or a part of it: if `next_after` is set, more entries follow. `user_state`: of all transcripts of
    the user in this app. `shared_state`: of all its users, the working memory of the plan `app:<app>`.
    """

    shared_state: dict[str, JsonValue]
    entries: list[TranscriptEntry]
    next_after: int | None = None


class NewStates(Wire):
    """Keys to set: of the transcript, of the user in this app, of all users of this app. Others stay."""

    state: State = Field(default_factory=dict[str, JsonValue])
    user_state: State = Field(default_factory=dict[str, JsonValue])
    shared_state: State = Field(default_factory=dict[str, JsonValue])


class NewTranscript(NewStates):
    """A transcript to create; without an id, one is generated."""

    transcript_id: StateId | None = None
    agent_id: Label | None = None
    at: UtcTime | None = Field(default=None, description="Start time. Default: now")


class NewTranscriptEntry(Wire):
    """An entry to append. Appending the same id and content again has no effect."""

    entry_id: StateId
    at: UtcTime | None = None
    entry: Annotated[JsonValue, AfterValidator(json_within(MAX_ENTRY_BYTES, MAX_ENTRY_VALUES))]


class TranscriptChange(NewStates):
    """Entries to append and keys to set, together or not at all.

    `expected_version` is the version that you read (0: no transcript yet); if others have written since, nothing is
    done. With `create`, a missing transcript is created.
    """

    entries: list[NewTranscriptEntry] = Field(default_factory=list[NewTranscriptEntry], max_length=1_000)
    expected_version: ExpectedVersion | None = None
    create: bool = False


class Appended(Wire):
    """A transcript's position after a write. `appended`: the number of new entries."""

    app: str
    transcript_id: str
    entry_count: int
    appended: int
    version: int
    updated_at: datetime


class RemovedEntry(Wire):
    """The removed entry, or None if there was none, and the version of the transcript without it."""

    app: str
    transcript_id: str
    entry: TranscriptEntry | None
    entry_count: int
    version: int
    updated_at: datetime


class AppOf(Wire):
    app: AppName


class TranscriptOf(AppOf):
    transcript_id: StateId


class TranscriptPart(TranscriptOf):
    last: Annotated[int | None, Field(ge=0, le=1_000_000, description="Maximum number of entries, the last ones")] = (
        None
    )
    since: Annotated[UtcTime | None, Field(description="Only entries at this time or later")] = None
    after: Annotated[int, Field(ge=0, le=2_147_483_647, description="Only entries after this position")] = 0
    limit: Annotated[int, Field(ge=0, le=1_000)] = 1_000


class TranscriptQuery(AppOf):
    limit: Hundred = 100
    cursor: Cursor = None


class AppState(Wire):
    """An app's state outside its transcripts: of the user, and of all users."""

    app: str
    user_state: dict[str, JsonValue]
    shared_state: dict[str, JsonValue]


CREATE_TRANSCRIPT = Endpoint(
    "create_transcript",
    "POST",
    "/v1/transcripts/{app}",
    "writer",
    "transcripts",
    Transcript,
    "Create a transcript. 409 if its id is taken.",
    params=AppOf,
    body=NewTranscript,
    status=201,
)
LIST_TRANSCRIPTS = Endpoint(
    "list_transcripts",
    "GET",
    "/v1/transcripts/{app}",
    "reader",
    "transcripts",
    Page[TranscriptInfo],
    "List the user's transcripts in an app, least recently used first.",
    params=TranscriptQuery,
)
GET_TRANSCRIPT = Endpoint(
    "get_transcript",
    "GET",
    "/v1/transcripts/{app}/{transcript_id}",
    "reader",
    "transcripts",
    Transcript,
    "Return a transcript with its entries, oldest first; `next_after` continues the list.",
    params=TranscriptPart,
)
APPEND_TO_TRANSCRIPT = Endpoint(
    "append_to_transcript",
    "POST",
    "/v1/transcripts/{app}/{transcript_id}/entries",
    "writer",
    "transcripts",
    Appended,
    "Append entries and set state keys, in one transaction. 409 if others wrote since `expected_version`.",
    params=TranscriptOf,
    body=TranscriptChange,
)
REMOVE_LAST_ENTRY = Endpoint(
    "remove_last_entry",
    "DELETE",
    "/v1/transcripts/{app}/{transcript_id}/entries/last",
    "writer",
    "transcripts",
    RemovedEntry,
    "Remove and return the last entry, in one transaction, so that no two callers get the same one. Also removes it"
    " from the log.",
    params=TranscriptOf,
    repeatable=False,
)
CLEAR_TRANSCRIPT = Endpoint(
    "clear_transcript",
    "DELETE",
    "/v1/transcripts/{app}/{transcript_id}/entries",
    "writer",
    "transcripts",
    Appended,
    "Delete all entries, also from the log. The transcript and its state stay.",
    params=TranscriptOf,
)
DELETE_TRANSCRIPT = Endpoint(
    "delete_transcript",
    "DELETE",
    "/v1/transcripts/{app}/{transcript_id}",
    "writer",
    "transcripts",
    Deleted,
    "Delete a transcript and its state at once, also from the log. The states of the user and the app stay.",
    params=TranscriptOf,
)
GET_APP_STATE = Endpoint(
    "get_app_state",
    "GET",
    "/v1/apps/{app}/state",
    "reader",
    "transcripts",
    AppState,
    "Return the state of an app for the user and for all users, apart from transcripts.",
    params=AppOf,
)
LIST_ALL_TRANSCRIPTS = Endpoint(
    "list_all_transcripts",
    "GET",
    "/v1/admin/transcripts/{app}",
    "admin",
    "transcripts",
    Page[TranscriptInfo],
    "List the transcripts of all users of the tenant in an app, user by user.",
    params=TranscriptQuery,
)
