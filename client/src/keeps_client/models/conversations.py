"""Exchanges: what is said in a conversation, and the notes that are kept of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, cast

from pydantic import Field, JsonValue, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Metadata, UtcTime, Wire
from keeps_client.models.memories import Content, Label, Receipt, Role
from keeps_client.models.working import StateId

MAX_MESSAGES = 100
NoteKind = Literal["decision", "action_item", "tool_result", "message"]
ActivityKind = Literal["daily_log", "recipe", "task", "heartbeat"]


class Message(Wire):
    """One message. `speaker`: a name, where a role is not enough; `tool`: of whose result this is; `occurred_at`: now
    if not given."""

    role: Role
    content: Content
    speaker: Label | None = None
    tool: Label | None = None
    occurred_at: UtcTime | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip():
            raise ValueError("content holds only white space")
        return self


class NewExchange(Wire):
    """Messages of one conversation, in the order in which they were said."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    session_id: StateId
    agent_id: Label | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class Note(Wire):
    """One thing to remember of a conversation while it is fresh."""

    kind: NoteKind
    text: str
    role: Role
    at: datetime


class SessionNotes(Wire):
    """Layer 1: what a conversation is about. `summary` rolls on every five messages; `items` are at most 50, oldest
    first."""

    session_id: str
    summary: str
    items: tuple[Note, ...]
    message_count: int
    updated_at: datetime
    expires_at: datetime


class ExchangeReceipt(Wire):
    """The result of an exchange: receipts for each message, in order, and for each fact found; and the notes.

    `recalled`: the number of messages that only repeated what Keeps had said, and were not stored again (`unchanged`).
    """

    session_id: str
    messages: tuple[Receipt, ...]
    facts: tuple[Receipt, ...]
    recalled: int
    notes: SessionNotes


class NewActivity(Wire):
    """An agent's own activity: a line of its daily log, the outcome of a recipe or task, a heartbeat."""

    content: Content
    activity: ActivityKind = "daily_log"
    session_id: StateId | None = None
    agent_id: Label | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class SessionId(Wire):
    session_id: Id


STORE_EXCHANGE = Endpoint(
    "store_exchange",
    "POST",
    "/v1/exchanges",
    "writer",
    "conversations",
    ExchangeReceipt,
    "Store what was said: messages as short-term memories, facts that the user states, and the session's notes.",
    body=NewExchange,
    status=201,
)
LOG_ACTIVITY = Endpoint(
    "log_activity",
    "POST",
    "/v1/activities",
    "writer",
    "conversations",
    Receipt,
    "Keep what an agent did by itself: a short-term memory of little weight.",
    body=NewActivity,
    status=201,
)
SESSION_NOTES: Endpoint[SessionNotes | None, SessionId] = Endpoint(
    "session_notes",
    "GET",
    "/v1/sessions/{session_id}/notes",
    "reader",
    "conversations",
    cast("type[SessionNotes | None]", SessionNotes | None),
    "What a conversation is about; null where nothing was said in it.",
    params=SessionId,
)
END_SESSION = Endpoint(
    "end_session",
    "POST",
    "/v1/sessions/{session_id}/end",
    "writer",
    "conversations",
    Receipt,
    "End a conversation; the receipt is of the memory that sums it up.",
    params=SessionId,
)
