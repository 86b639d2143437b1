"""The part of memories as the database holds them."""

from __future__ import annotations

from keeps.memory.conversations.claims import claims_of
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.counts import MemoryCounts
from keeps.memory.memories.export import EXPORTS
from keeps.memory.memories.keys import MemoryKeys
from keeps.memory.memories.service import MemoryService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import memories as api


def make(core: Core) -> None:
    core.add(
        MemoryService(
            core.database,
            core.introducer,
            core.embedder,
            core.clock,
            notice=core.get(Indexer).notice,
            max_content_characters=core.settings.max_content_characters,
            default_ttl_days=core.settings.default_ttl_days,
            read_claims=claims_of,
        )
    )
    core.add(MemoryKeys(core.database, core.clock))
    core.add(MemoryCounts(core.database, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, keys = core.get(MemoryService), core.get(MemoryKeys)
    return (
        serves(api.REMEMBER, lambda s, p, b: service.remember(s, b, index_now=p.index == "now")),
        serves(api.MOVE_KEYS, lambda s, _, b: keys.move(s, b.namespace, b.key, b.to)),
    )


PART = Part("memories", make, endpoints, exports=EXPORTS)
