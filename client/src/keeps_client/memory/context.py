"""What goes into a prompt, what can be looked up, and what a memory says about itself."""

from __future__ import annotations

from collections.abc import Sequence

from keeps_client.memory.base import Doing
from keeps_client.models import ContextResult, Insights, JunkAudit, Receipt, Source
from keeps_client.models.context import (
    ADD_SOURCE,
    BUILD_CONTEXT,
    LIST_SOURCES,
    REMOVE_SOURCE,
    SectionName,
    SourceKind,
)
from keeps_client.models.insights import AUDIT_JUNK, GET_INSIGHTS
from keeps_client.models.memories import Visibility


class Context(Doing):
    """What is told of a memory."""

    async def context(
        self,
        query: str,
        *,
        session_id: str | None = None,
        budget_tokens: int = 4_000,
        min_relevance: float | None = None,
        agent_id: str | None = None,
        sections: Sequence[SectionName] | None = None,
        timezone: str | None = None,
        explain: bool = False,
    ) -> ContextResult:
        """What to put into the prompt of `query`: `text` is Markdown within `budget_tokens`, `sections` says what is in
        it.

        Put `text` before the question; what of it comes back in an exchange is not stored again. `sections`: only
        these, of session, long_term, temporal, conversations, activity, skills, knowledge, and of documents, which are
        told of only when asked for. `timezone`: where the user lives, by its IANA name ("Europe/Berlin"), or the UTC
        offset of the message ("+02:00"); "yesterday" and the days in the text are days there.
        """
        return await self._do(
            BUILD_CONTEXT,
            query=query,
            session_id=session_id,
            budget_tokens=budget_tokens,
            min_relevance=min_relevance,
            agent_id=agent_id,
            sections=sections,
            timezone=timezone,
            explain=explain,
        )

    async def add_source(
        self, name: str, *, kind: SourceKind, purpose: str, visibility: Visibility = "tenant"
    ) -> Source:
        """Tell agents of something that can be looked up (`document`, `database`, `api`) and what it is good for."""
        return await self._do(ADD_SOURCE, name=name, kind=kind, purpose=purpose, visibility=visibility)

    async def list_sources(self) -> list[Source]:
        """What can be looked up, as agents are told of it."""
        return await self._do(LIST_SOURCES)

    async def remove_source(self, name: str) -> Receipt:
        """Tell of it no more. Raises NotFoundError."""
        return await self._do(REMOVE_SOURCE, name=name)

    async def insights(self) -> Insights:
        """One's own memory in numbers: totals, growth, what is used and what is not, decay ahead, junk, storage, index
        lag."""
        return await self._do(GET_INSIGHTS)

    async def audit_junk(self) -> JunkAudit:
        """What a promotion run would promote now, and the share of small talk and mere questions in it. Changes
        nothing."""
        return await self._do(AUDIT_JUNK)
