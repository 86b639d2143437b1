"""The part of the index of vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from keeps.base.scope import Scope
from keeps.memory.indexing.service import Indexer
from keeps.part import Core, Job, Part, Run


def make(core: Core) -> None:
    indexer = core.open(Indexer(core.database, core.embedder, core.clock))
    if core.server is not None:  # Other databases have a worker.
        indexer.resume()


def _index_user(core: Core) -> Callable[[Scope, Run], Awaitable[None]]:
    indexer = core.get(Indexer)

    async def run(scope: Scope, run: Run) -> None:
        if stored := await indexer.index_user(scope):
            run.counts["indexed"] += stored

    return run


PART = Part("indexing", make, jobs=(Job("index", None, _index_user, undoable=False),))
