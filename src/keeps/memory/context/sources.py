"""Manage sources: places to look things up, which agents see. Each is a memory under a key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.context.capabilities import MOST_ON_ONE, Capabilities, shelf_of, source_of
from keeps.memory.context.reading import QUERIES
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.store.db.session import Database
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.models import NewMemory, NewSource, Receipt, Source
from keeps_client.validation import one_of

NAMESPACE, TOOLS = "sources", "tools"
TOLD, MOST_LISTED = 12, 1_000
"""Maximum number of sources in a context, and in a list."""
ASKED = "Which tool, database or document answers: "
"""Prefix that brings a question's vector closer to the purposes of sources.

Of 100 questions to 900 sources, the right one is among the first 12 for 92, without the prefix for 86 (keeps bench
awareness).
"""


@dataclass(frozen=True, slots=True)
class Fitting:
    """Sources, each with a flag: whether it is the user's own.

    `best`: best match for the question first.
    `first`: the first by name.
    """

    best: list[tuple[Source, bool]]
    first: Sequence[tuple[Source, bool]]


class SourceService:
    """Manages documents, databases and APIs, with the purpose of each."""

    def __init__(self, database: Database, memories: MemoryService, recall: RecallService, clock: Clock) -> None:
        self._recall = recall
        self.model = memories.model
        self._shelves = Capabilities()
        self._database = database
        self._memories = memories
        self._clock = clock

    def forget(self, tenant_id: str) -> None:
        """Drop everything cached for a tenant."""
        self._shelves.forget(tenant_id)

    async def add(self, scope: Scope, new: NewSource) -> Source:
        """Add a source, which agents see."""
        memory = validated(
            NewMemory,
            {
                "content": new.purpose,
                "namespace": NAMESPACE,
                "key": new.name,
                "value": {"kind": new.kind},
                "content_type": "source",
                "visibility": new.visibility,
                "importance": 0.5,
            },
        )
        receipt = await self._memories.remember(scope, memory, index_now=True, source=True)
        stored = one_of(receipt.memory, "the source was not stored")
        return Source(
            name=new.name,
            kind=new.kind,
            purpose=new.purpose,
            visibility=stored.visibility,
            memory_id=stored.memory_id,
            updated_at=stored.updated_at,
        )

    async def list(self, scope: Scope) -> list[Source]:
        """Return the sources with their purposes."""
        return await self._known(scope)

    async def fitting(self, scope: Scope, query: str, fingerprint: tuple[object, ...]) -> Fitting:
        """Return the sources that fit a question, including tools. `fingerprint`: that of the stored sources."""
        who = scope.tenant_id, scope.user_id
        if not fingerprint[0]:
            return Fitting([], ())
        shelf = self._shelves.get(who, fingerprint)
        if shelf is None:
            async with self._database.scoped(scope) as tx:
                rows = await tx.fetch(QUERIES["sources_shelf"], *who, self._clock(), MOST_ON_ONE, self.model)
            shelf = await asyncio.to_thread(shelf_of, rows, scope.user_id, fingerprint)
            self._shelves.put(who, shelf)
        # If all sources fit, words order them; otherwise they are searched by meaning, too.
        vector = None if len(shelf.sources) <= TOLD else await self._recall.vector(scope, ASKED + query)
        return Fitting(shelf.best(query, vector, TOLD), shelf.sources[:TOLD])

    async def _known(self, scope: Scope) -> list[Source]:
        async with self._database.scoped(scope) as tx:
            who = scope.tenant_id, scope.user_id, self._clock()
            return [source_of(row) for row in await tx.fetch(QUERIES["sources_known"], *who, MOST_LISTED)]

    async def remove(self, scope: Scope, name: str) -> Receipt:
        """Remove a source. Raises NotFoundError."""
        try:
            return await self._memories.forget(scope, None, NAMESPACE, name, hard=False)
        except NotFoundError:
            raise NotFoundError(f"you have no source {name!r}") from None
