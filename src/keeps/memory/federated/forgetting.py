"""Forget memories in all providers and in the database.

The other providers forget first; then one transaction forgets the memory and everything derived from it. After an
interruption, or if a provider fails, the database still has it all, so a repeated request completes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from keeps.base.clock import Clock
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
from keeps.store.db.session import Database, Tx
from keeps_client.errors import NotFoundError
from keeps_client.models import KeysChanged, Receipt

SUMMARISED_SESSIONS = 20
"""Maximum number of conversations whose summaries one call writes again; those of others are only forgotten."""


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
        clock: Clock,
    ) -> None:
        """`erased`: called with the tenant of permanently removed data."""
        self._erased = erased
        self._clock = clock
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

        A soft forget hides the memory, and facts and summaries derived from it, for 30 days. `hard` removes them, older
        truths, their vectors, and their content in the log and in stored answers.

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
        owners: set[str] = set()
        session_id = None if memory is None else memory.session_id
        try:
            async for attempt in write:
                async with attempt as tx:
                    stored = await self._memories.stored(tx, memory_id, namespace, key)
                    check_version(stored, if_version)
                    session_id, now = stored.session_id, self._clock()
                    write.result = await self._memories.forget_stored(tx, stored, now, hard=hard)
                    remains_in = await _message_of(tx, stored)
                    if stored.kind == "episodic":
                        owners = await self._exchanges.forget_derived(tx, stored, now, hard=hard)
                    if hard:
                        await self._graph.forget_unspoken(tx)
                    write.result = write.result.model_copy(update={"remains_in": remains_in})
        except NotFoundError:
            if not others or name is None:
                raise
            gone = id_of(scope, others[0], name)
            return Receipt(status="forgotten", memory_id=gone, providers=tuple(others), failed_providers=tuple(failed))
        if hard:
            self._erased(scope.tenant_id)
        if session_id is not None:
            await self._exchanges.drop_copies(scope, session_id)
            await self._exchanges.summarise_again(scope, session_id, owners)
        return write.result.model_copy(update={"providers": ("postgres", *others), "failed_providers": tuple(failed)})

    async def restore(self, scope: Scope, memory_id: UUID) -> Receipt:
        """Restore a memory forgotten less than 30 days ago or expired, with what was forgotten together with it.

        Raises NotFoundError, or ConflictError if its key or content is in use again.
        """
        write = self._database.writing(scope, RECEIPT)
        owners: set[str] = set()
        session_id: str | None = None
        async for attempt in write:
            async with attempt as tx:
                stored = await store.lock(tx, memory_id)
                if stored is None:
                    raise NotFoundError(f"no memory {memory_id} that you may restore")
                now = self._clock()
                write.result = await self._memories.restore_stored(tx, stored, now)
                if stored.kind == "episodic" and stored.deleted_at is not None:
                    session_id = stored.session_id
                    owners = await self._exchanges.restore_derived(tx, stored, now)
        if session_id is not None:
            await self._exchanges.drop_copies(scope, session_id)
            await self._exchanges.summarise_again(scope, session_id, owners)
        return self._memories.noticed(scope, write.result)

    async def forget_keys(self, scope: Scope, namespace: str, key: str, *, hard: bool) -> KeysChanged:
        """Forget the memories of a key and all keys below it, all or none. Raises NotFoundError."""
        async with self._database.scoped(scope) as tx:
            names = await store.keys_below(tx, namespace, key)
        for each in names:
            await self._providers.forget(scope, f"{namespace}/{each}")

        write = self._database.writing(scope, COUNT)
        owners: dict[str, set[str]] = {}
        async for attempt in write:
            async with attempt as tx:
                rows, now = await below(tx, namespace, key), self._clock()
                owners.clear()
                for row in rows:
                    await self._memories.forget_stored(tx, row, now, hard=hard)
                    if row.kind == "episodic":
                        of_row = await self._exchanges.forget_derived(tx, row, now, hard=hard)
                        owners.setdefault(row.session_id or "", set()).update(of_row)
                if hard:
                    await self._graph.forget_unspoken(tx)
                write.result = len(rows)
        if hard:
            self._erased(scope.tenant_id)
        owners.pop("", None)
        for session_id in owners:
            await self._exchanges.drop_copies(scope, session_id)
        for session_id, of_session in list(owners.items())[:SUMMARISED_SESSIONS]:
            await self._exchanges.summarise_again(scope, session_id, of_session)
        return KeysChanged(changed=write.result)


async def _message_of(tx: Tx, fact: MemoryRow) -> UUID | None:
    """Return the message that a fact was read in, if it is still remembered; None for other memories."""
    try:
        message = await store.lock(tx, UUID(str(fact.metadata.get("read_in"))))
    except ValueError:
        return None
    return None if message is None or message.deleted_at is not None else message.memory_id


def _named(namespace: str | None, key: str | None) -> str | None:
    """Return the key by which providers know a memory."""
    return None if namespace is None or key is None else f"{namespace}/{key}"
