"""Memories under their CoALA names: knowledge, interactions, skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keeps_client.memory.base import Doing
from keeps_client.models import EpisodicItem, ProceduralItem, SemanticItem, Upserted
from keeps_client.models.knowledge import (
    GET_RECENT_HISTORY,
    GET_RELEVANT_SKILLS,
    LOG_INTERACTION,
    QUERY_KNOWLEDGE,
    SEARCH_INTERACTIONS,
    SEARCH_KNOWLEDGE,
    STORE_KNOWLEDGE,
    STORE_SKILL,
    UPSERT_KNOWLEDGE,
)
from keeps_client.models.memories import ProcedureType, Role


class Knowledge(Doing):
    """Facts, events and skills. Without `agent_id`, the caller's agent is used."""

    async def store_knowledge(
        self,
        content: str,
        *,
        external_id: str | None = None,
        is_public: bool = False,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] | None = None,
        source: str | None = None,
    ) -> SemanticItem:
        """Store a fact. `is_public` shares it with the tenant; a fact with the same `external_id` is replaced."""
        return await self._do(
            STORE_KNOWLEDGE,
            content=content,
            external_id=external_id,
            is_public=is_public or None,  # Fields not given keep their stored values.
            metadata=metadata,
            tags=tags,
            source=source,
        )

    async def upsert_knowledge(
        self, content: str, *, metadata: Mapping[str, object] | None = None, dedupe_threshold: float = 0.95
    ) -> Upserted:
        """Store a fact, or replace one of your own that is similar and has the same words.

        `dedupe_threshold` is the lowest similarity (cosine). The words matter because sentences about the left and the
        right knee are similar but not the same fact.
        """
        return await self._do(UPSERT_KNOWLEDGE, content=content, metadata=metadata, dedupe_threshold=dedupe_threshold)

    async def query_knowledge(self, query: str, *, limit: int = 5, include_public: bool = True) -> list[SemanticItem]:
        """Return the facts that best answer the query, best first: your own and those that the tenant shares."""
        return await self._do(QUERY_KNOWLEDGE, query=query, limit=limit, include_public=include_public)

    async def search_knowledge(self, query: str, *, limit: int = 5) -> list[SemanticItem]:
        """Return the facts that best answer the query, best first."""
        return await self._do(SEARCH_KNOWLEDGE, q=query, limit=limit)

    async def log_interaction(
        self,
        agent_id: str | None = None,
        role: Role | None = None,
        content: str | None = None,
        *,
        metadata: Mapping[str, object] | None = None,
        session_id: str | None = None,
    ) -> EpisodicItem:
        """Store an interaction, private to this user and agent; `role` and `content` are required."""
        return await self._do(
            LOG_INTERACTION, agent_id=agent_id, role=role, content=content, metadata=metadata, session_id=session_id
        )

    async def get_recent_history(self, agent_id: str | None = None, *, limit: int = 10) -> list[EpisodicItem]:
        """Return the latest interactions of this agent, newest first."""
        return await self._do(GET_RECENT_HISTORY, agent_id=agent_id, limit=limit)

    async def search_interactions(
        self, agent_id: str | None = None, query: str | None = None, *, limit: int = 5
    ) -> list[EpisodicItem]:
        """Return this agent's interactions that best answer `query`, which is required, best first."""
        return await self._do(SEARCH_INTERACTIONS, agent_id=agent_id, q=query, limit=limit)

    async def store_skill(
        self,
        agent_id: str | None = None,
        content: str | None = None,
        *,
        procedure_type: ProcedureType,
        trigger_condition: str | None = None,
    ) -> ProceduralItem:
        """Store a prompt or example (`content`, required) for an agent, with the condition when it applies."""
        return await self._do(
            STORE_SKILL,
            agent_id=agent_id,
            content=content,
            procedure_type=procedure_type,
            trigger_condition=trigger_condition,
        )

    async def get_relevant_skills(
        self, agent_id: str | None = None, context: str | None = None, *, limit: int = 3
    ) -> list[ProceduralItem]:
        """Return the skills of an agent that best fit `context`, which is required, best first."""
        return await self._do(GET_RELEVANT_SKILLS, agent_id=agent_id, q=context, limit=limit)
