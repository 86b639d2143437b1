"""Access one memory by id or key, in the database or another provider."""

from __future__ import annotations

from uuid import UUID

from keeps.base.scope import Scope
from keeps.memory.federated.forgetting import Forgetting
from keeps.memory.memories.service import MemoryService
from keeps.memory.providers.shown import ShownEntries
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import Event, Memory, Page, Receipt
from keeps_client.models import memories as api


class FederatedMemories:
    """Reads the database first, then the entries of providers that recall has returned."""

    def __init__(self, memories: MemoryService, forgetting: Forgetting, entries: ShownEntries) -> None:
        self._memories = memories
        self._forgetting = forgetting
        self._entries = entries

    async def list(self, scope: Scope, query: api.MemoryQuery) -> Page[Memory]:
        """Return a page of memories, or the one under a key. Raises ValidationFailedError for half a key."""
        namespace, key = query.namespace, query.key
        if (namespace is None) != (key is None):
            raise ValidationFailedError("give namespace and key together: both name a memory")
        if namespace is not None and key is not None:
            memory = await self._memories.find(scope, namespace, key)
            memory = memory or await self._entries.find(scope, None, namespace, key)
            return Page[Memory].model_construct(items=[memory] if memory else [], next_cursor=None)
        return await self._memories.list(
            scope, filters=query.filters, order=query.order, limit=query.limit, cursor=query.cursor
        )

    async def get(self, scope: Scope, at: api.MemoryAt) -> Memory:
        """Return a memory; with `as_of`, as it was then. Raises NotFoundError."""
        try:
            return await self._memories.get(scope, at.memory_id, as_of=at.as_of)
        except NotFoundError:
            if at.as_of is not None:
                raise
            return await self._entries.get(scope, at.memory_id)

    async def update(self, scope: Scope, at: api.ChangedMemory, change: api.MemoryChange) -> Receipt:
        """Change a memory. Raises NotFoundError, or ConflictError if the stored version differs."""
        try:
            return await self._memories.update(
                scope, at.memory_id, change, if_version=at.if_version, index_now=at.index == "now"
            )
        except NotFoundError:
            return await self._entries.update(scope, at.memory_id, change, if_version=at.if_version)

    async def history(self, scope: Scope, memory_id: UUID) -> list[Event]:
        """Return the events of a memory, oldest first. Raises NotFoundError."""
        try:
            return await self._memories.history(scope, memory_id)
        except NotFoundError:
            return await self._entries.history(scope, memory_id)

    async def forget(
        self,
        scope: Scope,
        *,
        memory_id: UUID | None = None,
        namespace: str | None = None,
        key: str | None = None,
        hard: bool,
        if_version: int | None,
    ) -> Receipt:
        """Forget a memory by its id, or by its namespace and key. Raises NotFoundError or ConflictError."""
        try:
            return await self._forgetting.forget(scope, memory_id, namespace, key, hard=hard, if_version=if_version)
        except NotFoundError:
            if if_version is not None:
                raise  # Provider entries have no versions.
            return await self._entries.forget(scope, memory_id, namespace, key)
