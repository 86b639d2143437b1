"""Layers that live, over HTTP: conversations and their notes, what jobs did, and undoing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps_client._async.transport import Transport
from keeps_client._requests import call, parsed
from keeps_client.models import (
    ActivityKind,
    ExchangeReceipt,
    Message,
    NewActivity,
    NewExchange,
    Operation,
    OperationDetail,
    Page,
    Receipt,
    SessionNotes,
)
from keeps_client.validation import as_uuid, given, limited, listed, named, validated

EXCHANGE, RECEIPT = TypeAdapter(ExchangeReceipt), TypeAdapter(Receipt)
NOTES: TypeAdapter[SessionNotes | None] = TypeAdapter(SessionNotes | None)
OPERATION, DETAIL, OPERATIONS = TypeAdapter(Operation), TypeAdapter(OperationDetail), TypeAdapter(Page[Operation])


class LayersClient:
    """Conversations, what an agent did by itself, and operations of the tenant."""

    _transport: Transport

    async def store_exchange(
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
        return parsed(EXCHANGE, await self._transport.send(call("POST", "exchanges", body=new)))

    async def session_notes(self, session_id: str) -> SessionNotes | None:
        """What a conversation is about: a rolling summary, decisions, action items, tool results, the last messages. None
        where nothing was said in it. With these a session is resumed, instead of reading all of it again."""
        return parsed(
            NOTES, await self._transport.send(call("GET", "sessions", named("session_id", session_id), "notes"))
        )

    async def end_session(self, session_id: str) -> Receipt:
        """End a conversation. The receipt is of the memory that sums it up; an hour later what matters of it is promoted."""
        return parsed(
            RECEIPT, await self._transport.send(call("POST", "sessions", named("session_id", session_id), "end"))
        )

    async def log_activity(
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
        return parsed(RECEIPT, await self._transport.send(call("POST", "activities", body=new)))

    async def operations(
        self, *, job: str | None = None, status: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Operation]:
        """What background jobs did to this tenant, newest first. `status`: running, completed, failed or undone."""
        query = {
            "job": None if job is None else named("job", job),
            "status": None if status is None else named("status", status),
            "limit": limited(limit),
            "cursor": None if cursor is None else named("cursor", cursor),
        }
        return parsed(OPERATIONS, await self._transport.send(call("GET", "operations", query=query)))

    async def operation(self, operation_id: UUID | str) -> OperationDetail:
        """One operation, with what it did to one's own memories. Raises NotFoundError."""
        return parsed(DETAIL, await self._transport.send(call("GET", "operations", str(as_uuid(operation_id)))))

    async def undo(self, operation_id: UUID | str) -> Operation:
        """Take back what an operation did, for the whole tenant, as one (role admin); what was changed since is left alone.

        Raises ConflictError after 30 days, and NotFoundError.
        """
        return parsed(
            OPERATION, await self._transport.send(call("POST", "operations", str(as_uuid(operation_id)), "undo"))
        )
