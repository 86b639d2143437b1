"""Sessions: conversations that group plans."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, JsonValue

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Page, Wire
from keeps_client.models.conversations import SessionId
from keeps_client.models.memories import Label
from keeps_client.models.tasks import Deleted, Document
from keeps_client.models.working import ExpectedVersion, StateId


class Session(Wire):
    """A stored conversation. `last_interaction` and `last_activity` are the same: the last change of the session, of a
    plan or working memory in it, or the last memory written in it. They are computed on request.
    """

    session_id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    name: str | None = None
    metadata: dict[str, JsonValue]
    plan_count: int
    last_interaction: datetime
    last_activity: datetime
    ended_at: datetime | None = None
    version: int
    created_at: datetime
    updated_at: datetime


class NewSession(Wire):
    """A session to create; without an id, one is generated."""

    session_id: StateId | None = None
    name: Label | None = None
    agent_id: Label | None = None
    metadata: Document = Field(default_factory=dict[str, JsonValue])


class SessionChange(Wire):
    """The fields of a session to change; others stay. Without fields, only its last interaction is updated."""

    name: Label | None = None
    agent_id: Label | None = None
    metadata: Document = Field(default_factory=dict[str, JsonValue])
    expected_version: ExpectedVersion | None = None


class SessionQuery(Wire):
    ended: bool | None = Field(default=None, description="Only ended sessions; with false, only those that are not.")
    limit: Hundred = 20
    cursor: Cursor = None


CREATE_SESSION = Endpoint(
    "create_session",
    "POST",
    "/v1/memory/sessions",
    "writer",
    "sessions",
    Session,
    "Create a session.",
    body=NewSession,
    status=201,
)
LIST_SESSIONS = Endpoint(
    "list_sessions",
    "GET",
    "/v1/memory/sessions",
    "reader",
    "sessions",
    Page[Session],
    "List sessions, newest first. `X-Next-Cursor` has the cursor of the next page.",
    params=SessionQuery,
    bare=True,
)
GET_SESSION = Endpoint(
    "get_session",
    "GET",
    "/v1/memory/sessions/{session_id}",
    "reader",
    "sessions",
    Session,
    "Return a session.",
    params=SessionId,
)
UPDATE_SESSION = Endpoint(
    "update_session",
    "PUT",
    "/v1/memory/sessions/{session_id}",
    "writer",
    "sessions",
    Session,
    "Change the fields that are given. Without fields, only the last interaction is updated.",
    params=SessionId,
    body=SessionChange,
)
DELETE_SESSION = Endpoint(
    "delete_session",
    "DELETE",
    "/v1/memory/sessions/{session_id}",
    "writer",
    "sessions",
    Deleted,
    "Delete a session; its plans stay.",
    params=SessionId,
)
