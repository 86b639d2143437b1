"""The part of documents."""

from __future__ import annotations

from functools import partial

from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.sources.documents.export import EXPORTS
from keeps.sources.documents.service import DocumentService
from keeps.sources.documents.sweeping import sweep_user
from keeps_client.models import documents as api


def make(core: Core) -> None:
    core.open(
        DocumentService(
            core.database,
            core.introducer,
            core.get(RecallService),
            core.get(Indexer),
            core.clock,
            core.metrics,
            model=core.get(MemoryService).model,
        )
    )
    core.sweeps.append(partial(sweep_user, core.database))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(DocumentService)
    return (
        serves(api.LIST_DOCUMENTS, lambda s, p, _: service.list(s, p)),
        serves(api.GET_DOCUMENT, lambda s, p, _: service.get(s, p.document_id)),
        serves(api.READ_DOCUMENT, lambda s, p, _: service.text(s, p.document_id, p.start, p.length)),
        serves(api.DELETE_DOCUMENT, lambda s, p, _: service.delete(s, p.document_id, hard=p.hard)),
        serves(api.SEARCH_DOCUMENTS, lambda s, _, b: service.search(s, b)),
    )


PART = Part("documents", make, endpoints, exports=EXPORTS)
