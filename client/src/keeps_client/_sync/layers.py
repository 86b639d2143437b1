# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""Layers that live, over HTTP: conversations and their notes, what jobs did, and undoing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps_client._requests import call, parsed
from keeps_client._sync.transport import Transport
from keeps_client.models import (
    ActivityKind,
    ContextRequest,
    ContextResult,
    ExchangeReceipt,
    Insights,
    JunkAudit,
    Memory,
    Message,
    NewActivity,
    NewExchange,
    NewSource,
    Operation,
    OperationDetail,
    Page,
    RecallRequest,
    RecallResult,
    Receipt,
    SessionNotes,
    Source,
)
from keeps_client.models.context import SectionName, SourceKind
from keeps_client.models.memories import Visibility
from keeps_client.validation import as_uuid, given, limited, listed, named, validated

EXCHANGE, RECEIPT = TypeAdapter(ExchangeReceipt), TypeAdapter(Receipt)
NOTES: TypeAdapter[SessionNotes | None] = TypeAdapter(SessionNotes | None)
CONTEXT, RECALLED = TypeAdapter(ContextResult), TypeAdapter(RecallResult)
SOURCE, SOURCES = TypeAdapter(Source), TypeAdapter(list[Source])
INSIGHTS, JUNK = TypeAdapter(Insights), TypeAdapter(JunkAudit)
OPERATION, DETAIL, OPERATIONS = TypeAdapter(Operation), TypeAdapter(OperationDetail), TypeAdapter(Page[Operation])


class LayersClient:
    """Conversations, what an agent did by itself, and operations of the tenant."""

    _transport: Transport

    def store_exchange(
        self,
        messages: Sequence[Message | dict[str, Any]],
        *,
        session_id: str,
        agent_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> ExchangeReceipt:
        """Store what was said: each message as a short-term memory, facts that the user states, and the session's notes.

        At most 100 messages at a time, such as `{"role": "user", "content": "…"}`. All of it is stored, or nothing. What
        only repeats a context that Keeps gave is not stored again.
        """
        new = validated(
            NewExchange,
            {"messages": listed(messages), "session_id": session_id} | given(agent_id=agent_id, metadata=metadata),
        )
        return parsed(EXCHANGE, self._transport.send(call("POST", "exchanges", body=new)))

    def session_notes(self, session_id: str) -> SessionNotes | None:
        """What a conversation is about: a rolling summary, decisions, action items, tool results, the last messages. None
        where nothing was said in it. With these a session is resumed, instead of reading all of it again."""
        return parsed(NOTES, self._transport.send(call("GET", "sessions", named("session_id", session_id), "notes")))

    def end_session(self, session_id: str) -> Receipt:
        """End a conversation. The receipt is of the memory that sums it up; an hour later what matters of it is promoted."""
        return parsed(RECEIPT, self._transport.send(call("POST", "sessions", named("session_id", session_id), "end")))

    def log_activity(
        self,
        content: str,
        *,
        activity: ActivityKind = "daily_log",
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Receipt:
        """Keep what an agent did by itself (`daily_log`, `recipe`, `task`, `heartbeat`): a short-term memory of little weight."""
        new = validated(
            NewActivity,
            {"content": content, "activity": activity}
            | given(session_id=session_id, agent_id=agent_id, metadata=metadata),
        )
        return parsed(RECEIPT, self._transport.send(call("POST", "activities", body=new)))

    def context(
        self,
        query: str,
        *,
        session_id: str | None = None,
        budget_tokens: int = 4_000,
        min_relevance: float | None = None,
        agent_id: str | None = None,
        sections: Sequence[SectionName] | None = None,
        explain: bool = False,
    ) -> ContextResult:
        """What to put into the prompt of `query`: `text` is Markdown within `budget_tokens`, `sections` says what is in it.

        Put `text` before the question; what of it comes back in an exchange is not stored again. `sections`: only these, of
        session, long_term, temporal, conversations, activity, skills, knowledge.
        """
        arguments = {
            "query": query,
            "session_id": session_id,
            "budget_tokens": budget_tokens,
            "min_relevance": min_relevance,
            "agent_id": agent_id,
            "sections": listed(sections),
            "explain": explain,
        }
        return parsed(CONTEXT, self._transport.send(call("POST", "context", body=validated(ContextRequest, arguments))))

    def get_relevant_memories_for_query(self, query: str, *, max_memories: int = 5) -> list[Memory]:
        """The lasting memories that matter most for a question: the context's section of them alone."""
        request = validated(RecallRequest, {"query": query, "limit": max_memories, "layers": ("long_term",)})
        found = parsed(RECALLED, self._transport.send(call("POST", "recall", body=request)))
        return [hit.memory for hit in found.hits]

    def add_source(self, name: str, *, kind: SourceKind, purpose: str, visibility: Visibility = "tenant") -> Source:
        """Tell agents of something that can be looked up (`document`, `database`, `api`) and what it is good for."""
        new = validated(NewSource, {"name": name, "kind": kind, "purpose": purpose, "visibility": visibility})
        return parsed(SOURCE, self._transport.send(call("POST", "sources", body=new)))

    def list_sources(self) -> list[Source]:
        """What can be looked up, as agents are told of it."""
        return parsed(SOURCES, self._transport.send(call("GET", "sources")))

    def remove_source(self, name: str) -> Receipt:
        """Tell of it no more. Raises NotFoundError."""
        return parsed(RECEIPT, self._transport.send(call("DELETE", "sources", named("name", name))))

    def insights(self) -> Insights:
        """One's own memory in numbers: totals, growth, what is used and what is not, decay ahead, junk, storage, index lag."""
        return parsed(INSIGHTS, self._transport.send(call("GET", "insights")))

    def audit_junk(self) -> JunkAudit:
        """What a promotion run would promote now, and the share of small talk and mere questions in it. Changes nothing."""
        return parsed(JUNK, self._transport.send(call("GET", "insights", "junk")))

    def operations(
        self, *, job: str | None = None, status: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Operation]:
        """What background jobs did to this tenant, newest first. `status`: running, completed, failed or undone."""
        query = {
            "job": None if job is None else named("job", job),
            "status": None if status is None else named("status", status),
            "limit": limited(limit),
            "cursor": None if cursor is None else named("cursor", cursor),
        }
        return parsed(OPERATIONS, self._transport.send(call("GET", "operations", query=query)))

    def operation(self, operation_id: UUID | str) -> OperationDetail:
        """One operation, with what it did to one's own memories. Raises NotFoundError."""
        return parsed(
            DETAIL, self._transport.send(call("GET", "operations", str(as_uuid(operation_id, "operation_id"))))
        )

    def undo(self, operation_id: UUID | str) -> Operation:
        """Take back what an operation did, for the whole tenant, as one (role admin); what was changed since is left alone.

        Raises ConflictError after 30 days, and NotFoundError.
        """
        return parsed(
            OPERATION,
            self._transport.send(call("POST", "operations", str(as_uuid(operation_id, "operation_id")), "undo")),
        )
