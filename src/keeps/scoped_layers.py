"""Layers that live, for one scope: conversations and their notes, what jobs did, and undoing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from keeps.context.router import SOURCES
from keeps.services import Scoped
from keeps_client.errors import NotFoundError
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
    NewMemory,
    NewSource,
    Operation,
    OperationDetail,
    Page,
    RecallRequest,
    Receipt,
    SessionNotes,
    Source,
)
from keeps_client.models.context import SectionName, SourceKind
from keeps_client.models.memories import Visibility
from keeps_client.validation import as_uuid, given, limited, listed, named, one_of, validated


class ScopedLayers(Scoped):
    """Conversations, what an agent did by itself, and operations of the tenant."""

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
        return await self.services.exchanges.store(self.scope, new)

    async def session_notes(self, session_id: str) -> SessionNotes | None:
        """What a conversation is about: a rolling summary, decisions, action items, tool results, the last messages. None
        where nothing was said in it. With these a session is resumed, instead of reading all of it again."""
        return await self.services.exchanges.notes(self.scope, named("session_id", session_id))

    async def end_session(self, session_id: str) -> Receipt:
        """End a conversation. The receipt is of the memory that sums it up; an hour later what matters of it is promoted."""
        return await self.services.exchanges.end(self.scope, named("session_id", session_id))

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
        return await self.services.exchanges.log_activity(self.scope, new)

    async def context(
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
        return await self.services.router.context(self.scope, validated(ContextRequest, arguments))

    async def get_relevant_memories_for_query(self, query: str, *, max_memories: int = 5) -> list[Memory]:
        """The lasting memories that matter most for a question: the context's section of them alone."""
        request = validated(RecallRequest, {"query": query, "limit": max_memories, "layers": ("long_term",)})
        return [hit.memory for hit in (await self.services.providers.recall(self.scope, request)).hits]

    async def add_source(
        self, name: str, *, kind: SourceKind, purpose: str, visibility: Visibility = "tenant"
    ) -> Source:
        """Tell agents of something that can be looked up (`document`, `database`, `api`) and what it is good for."""
        new = validated(NewSource, {"name": name, "kind": kind, "purpose": purpose, "visibility": visibility})
        memory = validated(NewMemory, {
            "content": new.purpose, "namespace": SOURCES, "key": new.name, "value": {"kind": new.kind}, "content_type": "source",
            "visibility": new.visibility, "importance": 0.5,
        })  # fmt: skip
        receipt = await self.services.memories.remember(self.scope, memory, index_now=True)
        stored = one_of(receipt.memory, "the source was not stored")
        return Source(
            name=new.name,
            kind=new.kind,
            purpose=new.purpose,
            visibility=stored.visibility,
            memory_id=stored.memory_id,
            updated_at=stored.updated_at,
        )

    async def list_sources(self) -> list[Source]:
        """What can be looked up, as agents are told of it."""
        return await self.services.router.sources(self.scope)

    async def remove_source(self, name: str) -> Receipt:
        """Tell of it no more. Raises NotFoundError."""
        try:
            return await self.services.memories.forget(self.scope, None, SOURCES, named("name", name), hard=False)
        except NotFoundError:
            raise NotFoundError(f"no source {name!r} of yours") from None

    async def insights(self) -> Insights:
        """One's own memory in numbers: totals, growth, what is used and what is not, decay ahead, junk, storage, index lag."""
        return await self.services.insights.insights(self.scope)

    async def audit_junk(self) -> JunkAudit:
        """What a promotion run would promote now, and the share of small talk and mere questions in it. Changes nothing."""
        return await self.services.insights.audit_junk(self.scope)

    async def operations(
        self, *, job: str | None = None, status: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Operation]:
        """What background jobs did to this tenant, newest first. `status`: running, completed, failed or undone."""
        return await self.services.operations.page(
            self.scope,
            job=None if job is None else named("job", job),
            status=None if status is None else named("status", status),
            limit=limited(limit),
            cursor=None if cursor is None else named("cursor", cursor),
        )

    async def operation(self, operation_id: UUID | str) -> OperationDetail:
        """One operation, with what it did to one's own memories. Raises NotFoundError."""
        return await self.services.operations.get(self.scope, as_uuid(operation_id, "operation_id"))

    async def undo(self, operation_id: UUID | str) -> Operation:
        """Take back what an operation did, for the whole tenant, as one; what was changed since is left alone.

        Raises ConflictError after 30 days, and NotFoundError.
        """
        return await self.services.operations.undo(self.scope, as_uuid(operation_id, "operation_id"))
