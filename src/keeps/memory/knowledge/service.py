"""Store and search knowledge, interactions and skills: memories of one kind each, in terms of agent frameworks."""

from __future__ import annotations

from typing import Any

from keeps.base.scope import Scope
from keeps.memory.knowledge.items import EXTERNAL, episodic_item, procedural_item, semantic_item
from keeps.memory.lifecycle.duplicates import same_fact
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    EpisodicItem,
    Hit,
    KnowledgeUpsert,
    Memory,
    MemoryChange,
    NewInteraction,
    NewKnowledge,
    NewMemory,
    NewSkill,
    ProceduralItem,
    RecallRequest,
    SemanticItem,
    Upserted,
)
from keeps_client.validation import one_of

COMPARED = 10
"""Number of facts that `upsert` compares with the new one, nearest first."""


class KnowledgeService:
    """Knowledge, interactions and skills of a scope. If no agent is named, the asking agent is used."""

    def __init__(self, memories: MemoryService, recall: RecallService) -> None:
        self._memories = memories
        self._recall = recall

    async def store(self, scope: Scope, new: NewKnowledge) -> SemanticItem:
        """Store a fact; with an `external_id`, in place of the stored one.

        Clients of the source documents send every field, even unset ones. Therefore empty fields keep the stored
        values, and so does a fact without an `external_id` that is not public.
        """
        public = new.is_public if new.public is None else new.public
        fields: dict[str, Any] = {"content": new.content} | {
            name: value
            for name, value in (("metadata", new.metadata), ("tags", new.tags), ("source", new.source))
            if value
        }
        if public or (new.external_id and {"is_public", "public"} & new.model_fields_set):
            fields["visibility"] = "tenant" if public else "private"
        if new.external_id:
            fields |= {"namespace": EXTERNAL, "key": new.external_id}
        return semantic_item(await self._stored(scope, fields))

    async def upsert(self, scope: Scope, new: KnowledgeUpsert) -> Upserted:
        """Store a fact, or replace the user's own nearest fact if it is similar enough and says the same."""
        nearest = next(
            (
                memory
                for memory, similarity in await self._recall.most_similar(scope, new.content, COMPARED)
                if _is_of(scope, memory) and same_fact(memory.content, new.content, similarity, new.dedupe_threshold)
            ),
            None,
        )
        fields: dict[str, Any] = {"content": new.content} | ({"metadata": new.metadata} if new.metadata else {})
        if nearest is not None:
            receipt = await self._memories.update(
                scope, nearest.memory_id, validated(MemoryChange, fields), if_version=None, index_now=True
            )
        else:
            receipt = await self._memories.remember(scope, validated(NewMemory, fields), index_now=True)
        # Use the receipt's status: a repeated request that had created a fact now finds its own fact.
        return Upserted(status="created" if receipt.status == "created" else "updated", id=str(receipt.memory_id))

    async def query(self, scope: Scope, query: str, *, limit: int, public: bool = True) -> list[SemanticItem]:
        """Return the facts that best answer a query, best first."""
        found = await self._found(
            scope, query=query, limit=limit, kinds=("semantic",), scope="all" if public else "own"
        )
        return [semantic_item(hit.memory, hit) for hit in found]

    async def log(self, scope: Scope, new: NewInteraction) -> EpisodicItem:
        """Store an interaction, private to this user and agent."""
        fields: dict[str, Any] = {
            "content": new.content,
            "kind": "episodic",
            "content_type": "interaction",
            "role": new.role,
            "agent_id": _agent(scope, new.agent_id),
            "metadata": new.metadata,
            "session_id": new.session_id,
            "valid_from": self._memories.now(),
        }
        return episodic_item(await self._stored(scope, fields))

    async def recent(self, scope: Scope, agent_id: str | None, limit: int) -> list[EpisodicItem]:
        """Return an agent's latest interactions, newest first."""
        wanted: list[Any] = [
            {"kind": {"eq": "episodic"}},
            {"agent_id": {"eq": _agent(scope, agent_id)}},
            {"user_id": {"eq": scope.user_id}},
        ]
        page = await self._memories.list(scope, filters={"AND": wanted}, limit=limit, cursor=None)
        return [episodic_item(memory) for memory in page.items]

    async def search_log(self, scope: Scope, query: str, agent_id: str | None, limit: int) -> list[EpisodicItem]:
        """Return an agent's interactions that best answer a query, best first."""
        agent = _agent(scope, agent_id)
        found = await self._found(scope, query=query, limit=limit, kinds=("episodic",), agent_id=agent, scope="own")
        return [episodic_item(hit.memory, hit) for hit in found]

    async def store_skill(self, scope: Scope, new: NewSkill) -> ProceduralItem:
        """Store a prompt or an example for an agent, with its trigger."""
        fields: dict[str, Any] = {
            "content": new.content,
            "kind": "procedural",
            "content_type": "skill",
            "agent_id": _agent(scope, new.agent_id),
            "procedure_type": new.procedure_type,
            "trigger_condition": new.trigger_condition,
        }
        return procedural_item(await self._stored(scope, fields))

    async def skills(self, scope: Scope, query: str, agent_id: str | None, limit: int) -> list[ProceduralItem]:
        """Return an agent's skills that fit best, best first."""
        agent = _agent(scope, agent_id)
        found = await self._found(scope, query=query, limit=limit, kinds=("procedural",), agent_id=agent, scope="own")
        return [procedural_item(hit.memory, hit) for hit in found]

    async def _found(self, asked: Scope, **wanted: object) -> list[Hit]:
        return (await self._recall.recall(asked, validated(RecallRequest, wanted))).hits

    async def _stored(self, scope: Scope, fields: dict[str, object]) -> Memory:
        receipt = await self._memories.remember(scope, validated(NewMemory, fields), index_now=True)
        return one_of(receipt.memory, "it no longer exists")


def _agent(scope: Scope, agent_id: str | None) -> str:
    """Return the named agent, else the asking one. Raises ValidationFailedError if there is neither."""
    agent = scope.agent_id if agent_id is None else agent_id
    if agent is None:
        raise ValidationFailedError("agent_id: name an agent, or act as one (X-Agent-ID, or a token of an agent)")
    return agent


def _is_of(scope: Scope, memory: Memory) -> bool:
    """Return whether a memory belongs to no agent or session, or to the agent and session that ask."""
    return memory.agent_id in (None, scope.agent_id) and memory.session_id in (None, scope.session_id)
