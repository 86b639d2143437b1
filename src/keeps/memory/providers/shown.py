"""Operations on an entry by the id, or the namespace and key, of a hit."""

from __future__ import annotations

from uuid import UUID

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.providers.hits import id_of, memory_of
from keeps.memory.providers.service import ProviderService
from keeps.store.db.session import Database
from keeps.store.events import store as events
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import Event, Memory, MemoryChange, NewEntry, Receipt

CHANGEABLE = frozenset({"content", "value", "metadata", "content_type"})


class ShownEntries:
    """Entries of providers beside the database, as the memories that recall shows."""

    def __init__(self, database: Database, providers: ProviderService, clock: Clock) -> None:
        self._database = database
        self._providers = providers
        self._clock = clock

    async def find(
        self, scope: Scope, memory_id: UUID | None, namespace: str | None = None, key: str | None = None
    ) -> Memory | None:
        """Return the entry as a memory; None if no provider has it."""
        place = await self._providers.locate(scope, memory_id, namespace, key)
        return None if place is None else memory_of(scope, *place, self._clock)

    async def get(self, scope: Scope, memory_id: UUID) -> Memory:
        """Return the entry as a memory. Raises NotFoundError."""
        memory = await self.find(scope, memory_id)
        if memory is None:
            raise NotFoundError(f"no memory {memory_id}")
        return memory

    async def history(self, scope: Scope, memory_id: UUID) -> list[Event]:
        """Return the events of an entry, oldest first. Raises NotFoundError."""
        memory = await self.get(scope, memory_id)
        async with self._database.scoped(scope) as tx:
            return await events.by_subject(tx, f"{memory.namespace}/{memory.key}")

    async def update(
        self, scope: Scope, memory_id: UUID, change: MemoryChange, *, if_version: int | None = None
    ) -> Receipt:
        """Change the value or the metadata of an entry.

        Raises:
            NotFoundError: There is no such entry.
            ValidationFailedError: The change names a field that entries do not have.
        """
        place = await self._providers.locate(scope, memory_id)
        if place is None:
            raise NotFoundError(f"no memory {memory_id}")
        provider_id, entry = place
        if unknown := sorted(change.model_fields_set - CHANGEABLE) or ["if_version"] * (if_version is not None):
            raise ValidationFailedError(
                f"{unknown[0]} cannot be set: this is an entry of the provider {provider_id}, of which"
                f" {', '.join(sorted(CHANGEABLE))} can change"
            )
        given = change.model_fields_set
        value = change.value if "value" in given else change.content if "content" in given else entry.value
        metadata = dict(change.metadata) if "metadata" in given else dict(entry.metadata)
        kind = change.content_type if "content_type" in given else entry.metadata.get("content_type")
        if kind is not None:
            metadata["content_type"] = kind
        written = await self._providers.write(
            scope, provider_id, entry.key, NewEntry(value=value, metadata=metadata), scope.session_id
        )
        memory = memory_of(scope, provider_id, written, self._clock)
        return Receipt(status="updated", memory_id=memory_id, memory=memory, providers=(provider_id,))

    async def forget(self, scope: Scope, memory_id: UUID | None, namespace: str | None, key: str | None) -> Receipt:
        """Delete an entry permanently. Raises NotFoundError."""
        place = await self._providers.locate(scope, memory_id, namespace, key)
        if place is None:
            raise NotFoundError(f"no memory {memory_id}" if memory_id is not None else f"no memory {namespace}/{key}")
        provider_id, entry = place
        await self._providers.delete(scope, provider_id, entry.key, scope.session_id)
        return Receipt(status="forgotten", memory_id=id_of(scope, provider_id, entry.key), providers=(provider_id,))
