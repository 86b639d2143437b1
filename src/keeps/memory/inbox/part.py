"""The part of the inbox: memories that wait for a person."""

from __future__ import annotations

from keeps.memory.inbox.service import InboxService
from keeps.memory.memories.service import MemoryService
from keeps.memory.operations.service import OperationService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import inbox as api


def make(core: Core) -> None:
    core.add(
        InboxService(core.database, core.introducer, core.get(MemoryService), core.get(OperationService), core.clock)
    )


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(InboxService)
    return (
        serves(api.LIST_INBOX, lambda s, p, _: service.page(s, reason=p.reason, limit=p.limit, cursor=p.cursor)),
        serves(api.COUNT_INBOX, lambda s, _p, _b: service.count(s)),
        serves(api.APPROVE_HELD, lambda s, _, b: service.approve(s, b.memory_ids)),
        serves(api.DROP_HELD, lambda s, _, b: service.drop(s, b.memory_ids)),
        serves(api.LIST_TRUSTED_SOURCES, lambda s, _p, _b: service.sources(s)),
        serves(api.TRUST_SOURCE, lambda s, _, b: service.trust_source(s, b.source)),
        serves(api.DISTRUST_SOURCE, lambda s, p, _: service.distrust_source(s, p.source)),
    )


PART = Part("inbox", make, endpoints)
