"""Forget memories in all providers and in the database.

The other providers forget first; then one transaction forgets the memory and everything derived from it. After an
interruption, or if a provider fails, the database still has it all, so a repeated request completes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from keeps.base.scope import Scope
from keeps.memory.conversations.service import ConversationService
from keeps.memory.graph.service import GraphService
from keeps.memory.memories import store
from keeps.memory.memories.answers import RECEIPT
from keeps.memory.memories.keys import COUNT, below
from keeps.memory.memories.reconcile import check_version
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.types import MemoryRow
from keeps.memory.providers.builtin import joined_key
from keeps.memory.providers.hits import id_of
from keeps.memory.providers.service import ProviderService
from keeps.store.db.session import Database
from keeps_client.errors import NotFoundError
from keeps_client.models import KeysChanged, Receipt


class Forgetting:
    """Forgets memories, with everything derived from them, in the database and in all providers."""

    def __init__(
        self,
        database: Database,
        memories: MemoryService,
        exchanges: ConversationService,
        graph: GraphService,
        providers: ProviderService,
        erased: Callable[[str], None],
    ) -> None:
        """`erased`: called with the tenant of permanently removed data."""
        self._erased = erased
        self._database = database
        self._memories = memories
        self._exchanges = exchanges
        self._graph = graph
        self._providers = providers

    async def forget(
        self,
        scope: Scope,
        memory_id: UUID | None,
        namespace: str | None,
        key: str | None,
        *,
        hard: bool,
        if_version: int | None = None,
    ) -> Receipt:
        """Forget a memory in the database and in every provider that has its key; the receipt names them.

        A soft forget hides the memory for 30 days. `hard` removes it, its older truths, everything derived from them,
        their
        vectors, and their content in the log and in stored answers.

        Raises:
            NotFoundError: Nobody has the memory.
            ConflictError: `if_version` is not the stored version.
            UnavailableError: A provider may still have the memory; then the database has it, too.
        """
        memory = await self._memories.known(scope, memory_id, namespace, key)
        if memory is not None:
            check_version(MemoryRow.of(memory), if_version)
        name = joined_key(memory) if memory is not None else _named(namespace, key)
        others, failed = await self._providers.forget(scope, name) if name is not None else ([], [])
        write = self._database.writing(scope, RECEIPT)
        try:
            async for attempt in write:
                async with attempt as tx:
                    stored = await self._memories.stored(tx, memory_id, namespace, key)
                    check_version(stored, if_version)
                    write.result = await self._memories.forget_stored(tx, stored, hard=hard)
                    if stored.kind == "episodic":
                        await self._exchanges.forget_what_was_made(tx, stored, hard=hard)
                    if hard:
                        await self._graph.forget_unspoken(tx)
        except NotFoundError:
            if not others or name is None:
                raise
            gone = id_of(scope, others[0], name)
            return Receipt(status="forgotten", memory_id=gone, providers=tuple(others), failed_providers=tuple(failed))
        if hard:
            self._erased(scope.tenant_id)
        if memory is not None and memory.session_id is not None:
            await self._exchanges.drop_copies(scope, memory.session_id)
        return write.result.model_copy(update={"providers": ("postgres", *others), "failed_providers": tuple(failed)})

    async def forget_keys(self, scope: Scope, namespace: str, key: str, *, hard: bool) -> KeysChanged:
        """Forget the memories of a key and all keys below it, all or none. Raises NotFoundError."""
        async with self._database.scoped(scope) as tx:
            names = await store.keys_below(tx, namespace, key)
        for each in names:
            await self._providers.forget(scope, f"{namespace}/{each}")

        write = self._database.writing(scope, COUNT)
        async for attempt in write:
            async with attempt as tx:
                rows = await below(tx, namespace, key)
                for row in rows:
                    await self._memories.forget_stored(tx, row, hard=hard)
                    if row.kind == "episodic":
                        await self._exchanges.forget_what_was_made(tx, row, hard=hard)
                if hard:
                    await self._graph.forget_unspoken(tx)
                write.result = len(rows)
        if hard:
            self._erased(scope.tenant_id)
        return KeysChanged(changed=write.result)


def _named(namespace: str | None, key: str | None) -> str | None:
    """Return the key by which providers know a memory."""
    return None if namespace is None or key is None else f"{namespace}/{key}"
