# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Context for prompts, sources, and statistics of memories."""

from __future__ import annotations

from collections.abc import Sequence

from keeps_client._sync.base import Doing
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
    """Methods for prompts, sources and statistics."""

    def context(
        self,
        query: str,
        *,
        session_id: str | None = None,
        budget_tokens: int = 4_000,
        min_relevance: float | None = None,
        agent_id: str | None = None,
        spaces: Sequence[str] | None = None,
        sections: Sequence[SectionName] | None = None,
        timezone: str | None = None,
        explain: bool = False,
    ) -> ContextResult:
        """Return the context for a prompt: `text` is Markdown within `budget_tokens`, `sections` its parts.

        Put `stable` at the start of the prompt and `volatile` before the message. `text` is the whole context as one
        part; if an exchange sends parts of it back, they are not stored again. `sections`: only these, of session,
        long_term, temporal, conversations, activity, skills, knowledge, and of documents, which are included only on
        request. `timezone`: the user's time zone, as an IANA name ("Europe/Berlin") or a UTC offset ("+02:00");
        "yesterday" and the dates in the text refer to it. `spaces`: only these of your spaces; all by default.
        """
        return self._do(
            BUILD_CONTEXT,
            query=query,
            session_id=session_id,
            budget_tokens=budget_tokens,
            min_relevance=min_relevance,
            agent_id=agent_id,
            spaces=spaces,
            sections=sections,
            timezone=timezone,
            explain=explain,
        )

    def add_source(self, name: str, *, kind: SourceKind, purpose: str, visibility: Visibility = "tenant") -> Source:
        """Add a source that agents can look up (`document`, `database`, `api`), with its purpose."""
        return self._do(ADD_SOURCE, name=name, kind=kind, purpose=purpose, visibility=visibility)

    def list_sources(self) -> list[Source]:
        """Return the sources that agents can look up."""
        return self._do(LIST_SOURCES)

    def remove_source(self, name: str) -> Receipt:
        """Remove a source. Raises NotFoundError."""
        return self._do(REMOVE_SOURCE, name=name)

    def insights(self) -> Insights:
        """Return statistics of your own memories: totals, growth, usage, expected decay, junk, storage, index lag."""
        return self._do(GET_INSIGHTS)

    def audit_junk(self) -> JunkAudit:
        """Return what a promotion run would promote now, and the share of small talk and mere questions in it.

        It changes nothing.
        """
        return self._do(AUDIT_JUNK)
