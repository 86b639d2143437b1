"""The part of items, which agent frameworks store."""

from __future__ import annotations

from keeps.memory.indexing.service import Indexer
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.items.export import EXPORTS
from keeps.state.items.service import ItemService
from keeps_client.models import items as api


def make(core: Core) -> None:
    notice = core.get(Indexer).notice
    service = core.add(ItemService(core.database, core.introducer, core.embedder, core.clock, notice))
    core.sweeps.append(service.sweep_user)


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(ItemService)
    return (
        serves(api.BATCH_ITEMS, lambda s, _, b: service.batch(s, b)),
        serves(api.READ_ITEMS, lambda s, _, b: service.read(s, b)),
        serves(api.LIST_ALL_NAMESPACES, lambda s, p, _: service.all_namespaces(s, p.limit, p.after)),
    )


PART = Part("items", make, endpoints, exports=EXPORTS)
