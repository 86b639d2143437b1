"""The part of memories across the database and other providers."""

from __future__ import annotations

from keeps.memory.conversations.service import ConversationService
from keeps.memory.federated.forgetting import Forgetting
from keeps.memory.federated.service import FederatedMemories
from keeps.memory.graph.service import GraphService
from keeps.memory.memories.service import MemoryService
from keeps.memory.providers.service import ProviderService
from keeps.memory.providers.shown import ShownEntries
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import memories as api


def make(core: Core) -> None:
    memories = core.get(MemoryService)
    conversations, graph, providers = core.get(ConversationService), core.get(GraphService), core.get(ProviderService)
    forgetting = core.add(Forgetting(core.database, memories, conversations, graph, providers, core.erased, core.clock))
    core.add(FederatedMemories(memories, forgetting, core.get(ShownEntries)))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, forgetting = core.get(FederatedMemories), core.get(Forgetting)
    return (
        serves(api.LIST_MEMORIES, lambda s, p, _: service.list(s, p)),
        serves(api.GET_MEMORY, lambda s, p, _: service.get(s, p)),
        serves(api.UPDATE_MEMORY, lambda s, p, b: service.update(s, p, b)),
        serves(api.GET_HISTORY, lambda s, p, _: service.history(s, p.memory_id)),
        serves(
            api.FORGET_MEMORY,
            lambda s, p, _: service.forget(s, memory_id=p.memory_id, hard=p.hard, if_version=p.if_version),
        ),
        serves(
            api.FORGET_KEY,
            lambda s, p, _: service.forget(s, namespace=p.namespace, key=p.key, hard=p.hard, if_version=p.if_version),
        ),
        serves(api.RESTORE_MEMORY, lambda s, p, _: forgetting.restore(s, p.memory_id)),
        serves(api.FORGET_KEYS, lambda s, _, b: forgetting.forget_keys(s, b.namespace, b.key, hard=b.hard)),
    )


PART = Part("federated", make, endpoints)
