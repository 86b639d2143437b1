"""Sources: what can be looked up, as agents are told of it. Each is a memory under a key."""

from __future__ import annotations

import json

from keeps.clock import Clock
from keeps.db.session import Database
from keeps.db.statements import Statements
from keeps.memories.service import MemoryService
from keeps.scope import Scope
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.models import NewMemory, NewSource, Receipt, Source
from keeps_client.validation import one_of

QUERIES = Statements("keeps.context")
NAMESPACE = "sources"


class SourceService:
    """Documents, databases and APIs, with what each is good for."""

    def __init__(self, database: Database, memories: MemoryService, clock: Clock) -> None:
        self._database = database
        self._memories = memories
        self._clock = clock

    async def add(self, scope: Scope, new: NewSource) -> Source:
        """Tell agents of something that can be looked up."""
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
        receipt = await self._memories.remember(scope, memory, index_now=True)
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
        """What can be looked up, with its purpose."""
        return [source for source, _ in await self.known(scope)]

    async def known(self, scope: Scope) -> list[tuple[Source, bool]]:
        """The same, each with whether it is one's own."""
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["sources_known"], scope.tenant_id, scope.user_id, self._clock())
        return [
            (
                Source(
                    name=row["name"],
                    kind=json.loads(row["value"])["kind"],
                    purpose=row["content"],
                    visibility=row["visibility"],
                    memory_id=row["memory_id"],
                    updated_at=row["updated_at"],
                ),
                row["user_id"] == scope.user_id,
            )
            for row in rows
        ]

    async def remove(self, scope: Scope, name: str) -> Receipt:
        """Tell of it no more. Raises NotFoundError."""
        try:
            return await self._memories.forget(scope, None, NAMESPACE, name, hard=False)
        except NotFoundError:
            raise NotFoundError(f"no source {name!r} of yours") from None
