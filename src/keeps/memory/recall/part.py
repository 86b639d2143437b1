"""The part of recall."""

from __future__ import annotations

from keeps.memory.indexing.service import Indexer
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.service import RecallService
from keeps.part import Core, Part


def make(core: Core) -> None:
    embedder = core.embedder
    model, dimensions = ("", 0) if embedder is None else (embedder.model, embedder.dimensions)
    indexes = core.open(AudienceIndexes(core.database, model, dimensions, core.settings.recall_megabytes << 20))
    recall = RecallService(
        core.database,
        core.embedder,
        core.get(AccessBuffer),
        core.clock,
        core.reranker,
        settled=core.get(Indexer).settled,
        indexes=indexes,
        metrics=core.metrics,
        zone=core.zone,
    )
    core.add(recall)
    core.erasure_listeners.append(recall.forget)


def make_access(core: Core) -> None:
    core.open(AccessBuffer(core.database))


ACCESS_PART = Part("access counts", make_access)
PART = Part("recall", make)
