"""Convert memories to items with CoALA names. Pure."""

from __future__ import annotations

from keeps_client.models import EpisodicItem, Hit, Memory, ProceduralItem, SemanticItem

EXTERNAL = "external"
"""The namespace of facts that have an `external_id`."""


def semantic_item(memory: Memory, hit: Hit | None = None) -> SemanticItem:
    return SemanticItem.model_construct(
        id=str(memory.memory_id),
        tenant_id=memory.tenant_id,
        user_id=memory.user_id,
        content=memory.content,
        external_id=memory.key if memory.namespace == EXTERNAL else None,
        is_public=memory.visibility == "tenant",
        metadata=memory.metadata,
        tags=list(memory.tags),
        source=memory.source,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        score=hit and hit.relevance,
        similarity=hit and hit.similarity,
    )


def episodic_item(memory: Memory, hit: Hit | None = None) -> EpisodicItem:
    return EpisodicItem.model_construct(
        id=str(memory.memory_id),
        tenant_id=memory.tenant_id,
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        role=memory.role,
        content=memory.content,
        metadata=memory.metadata,
        created_at=memory.created_at,
        score=hit and hit.relevance,
        similarity=hit and hit.similarity,
    )


def procedural_item(memory: Memory, hit: Hit | None = None) -> ProceduralItem:
    return ProceduralItem.model_construct(
        id=str(memory.memory_id),
        tenant_id=memory.tenant_id,
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        trigger_condition=memory.trigger_condition,
        procedure_type=memory.procedure_type,
        content=memory.content,
        created_at=memory.created_at,
        score=hit and hit.relevance,
        similarity=hit and hit.similarity,
    )
