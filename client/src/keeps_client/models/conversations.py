"""Exchanges: the messages of a conversation, and its notes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, cast

from pydantic import Field, JsonValue, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Metadata, UtcTime, Wire
from keeps_client.models.memories import Content, Label, Receipt, Role
from keeps_client.models.names import SpaceName
from keeps_client.models.working import StateId

MAX_MESSAGES = 100
NoteKind = Literal["decision", "action_item", "tool_result", "message"]
ActivityKind = Literal["daily_log", "recipe", "task", "heartbeat"]


class Message(Wire):
    """One message. `speaker`: a name, if the role is not enough; `tool`: the tool whose result this is; `occurred_at`:
    default now.
    """

    role: Role
    content: Content
    speaker: Label | None = None
    tool: Label | None = None
    occurred_at: UtcTime | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.content.strip():
            raise ValueError("content contains only whitespace")
        return self


class NewExchange(Wire):
    """Messages of one conversation, in order. `space`: the space that owns them, whose members can find them."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    session_id: StateId
    agent_id: Label | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    space: SpaceName | None = None


class Note(Wire):
    """One note of a recent conversation."""

    kind: NoteKind
    text: str
    role: Role
    at: datetime


class SessionNotes(Wire):
    """Layer 1: the notes of a conversation. `summary` is updated every five messages; `items` are at most 50, oldest
    first.
    """

    session_id: str
    summary: str
    items: tuple[Note, ...]
    message_count: int
    updated_at: datetime
    expires_at: datetime


class ExchangeReceipt(Wire):
    """The result of an exchange: receipts for each message, in order, and for each fact found; and the notes.

    `recalled`: the number of messages that only repeated a context of Keeps and were not stored again (`unchanged`).
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
    "Store messages as short-term memories, extract facts that the user states, and update the notes of the session.",
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
    "Store an agent's own activity as a short-term memory of low importance.",
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
    "Return the notes of a conversation; null if it has no messages.",
    params=SessionId,
)
END_SESSION = Endpoint(
    "end_session",
    "POST",
    "/v1/sessions/{session_id}/end",
    "writer",
    "conversations",
    Receipt,
    "End a conversation. The receipt is for its summary.",
    params=SessionId,
)
