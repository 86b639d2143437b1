"""Requests: the log of recalls and contexts, and what each returned."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field, JsonValue

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Id, Page, Wire

RequestKind = Literal["recall", "context"]
Door = Literal["library", "http", "mcp", "cli"]


class RequestQuery(Wire):
    """A selection of requests. `user_id`: another user's, for administrators. `all_users`: the whole tenant's."""

    user_id: Id | None = None
    all_users: bool = False
    kind: RequestKind | None = None
    found_nothing: bool = False
    limit: Hundred = 50
    cursor: Cursor = None


class RequestAt(Wire):
    """One request. `user_id`: another user's, for administrators."""

    request_id: UUID
    user_id: Id | None = None


class LoggedRequest(Wire):
    """One recall or context.

    `hits`: the number of memories in the answer. `left_out`: the number of candidates that were left out of a context.
    `found_nothing`: the answer has no memory, or only weak ones that probably do not answer the question.
    """

    request_id: UUID
    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    kind: RequestKind
    door: Door
    query: str
    asked_at: datetime
    took_ms: float
    hits: int
    left_out: int
    found_nothing: bool


class LoggedHit(Wire):
    """A memory of an answer, by its id: `get(memory_id, as_of=asked_at)` returns its text as it was."""

    memory_id: UUID
    section: str | None = None
    relevance: float | None = None
    reason: str | None = None


class RequestDetail(LoggedRequest):
    """A request with its arguments and its answer (at most 100 memories), without the text of memories."""

    arguments: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    answer: tuple[LoggedHit, ...] = ()
    omitted: tuple[LoggedHit, ...] = ()


LIST_REQUESTS = Endpoint(
    "list_requests",
    "GET",
    "/v1/requests",
    "reader",
    "requests",
    Page[LoggedRequest],
    "List your own recalls and contexts, newest first. Administrators may name another user, or list those of all"
    " users.",
    params=RequestQuery,
)
GET_REQUEST = Endpoint(
    "get_request",
    "GET",
    "/v1/requests/{request_id}",
    "reader",
    "requests",
    RequestDetail,
    "Return one recall or context, with the ids of the memories that it returned.",
    params=RequestAt,
)
