"""The part of the CoALA names for memories."""

from __future__ import annotations

from keeps.memory.knowledge.service import KnowledgeService
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import knowledge as api


def make(core: Core) -> None:
    core.add(KnowledgeService(core.get(MemoryService), core.get(RecallService)))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(KnowledgeService)
    return (
        serves(api.STORE_KNOWLEDGE, lambda s, _, b: service.store(s, b)),
        serves(api.UPSERT_KNOWLEDGE, lambda s, _, b: service.upsert(s, b)),
        serves(
            api.QUERY_KNOWLEDGE,
            lambda s, p, _: service.query(s, p.query, limit=p.limit, public=p.include_public),
        ),
        serves(api.SEARCH_KNOWLEDGE, lambda s, p, _: service.query(s, p.q, limit=p.limit)),
        serves(api.LOG_INTERACTION, lambda s, _, b: service.log(s, b)),
        serves(api.GET_RECENT_HISTORY, lambda s, p, _: service.recent(s, p.agent_id, p.limit)),
        serves(api.SEARCH_INTERACTIONS, lambda s, p, _: service.search_log(s, p.q, p.agent_id, p.limit)),
        serves(api.STORE_SKILL, lambda s, _, b: service.store_skill(s, b)),
        serves(api.GET_RELEVANT_SKILLS, lambda s, p, _: service.skills(s, p.q, p.agent_id, p.limit)),
    )


PART = Part("knowledge", make, endpoints)
