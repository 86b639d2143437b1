"""Bring the index up to date: in the background of an open engine, or at once by `keeps reindex`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cachetools import LRUCache, TTLCache

from keeps.base.clock import Clock
from keeps.base.fairness import acting_for
from keeps.base.scope import Scope
from keeps.memory.indexing import store
from keeps.memory.indexing.store import Counts, UserId
from keeps.models.embedder import Embedder, Embedding
from keeps.state.items import store as items
from keeps.store.db.session import Database, taking_long
from keeps_client.errors import KeepsError

BATCH = 64
RETRY_SECONDS = 5.0
SETTLE_SECONDS = 3.0
IN_VAIN_SECONDS, MOST_IN_VAIN = 30.0, 10_000
MOST_COMPLETE = 10_000


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of the index.

    Attributes:
        pending: Number of memories and items without a vector of the model.
        lag_seconds: Age of the oldest of them that waits for its first vector; 0 if none does. After a change of the
            model, those that have a vector of the model before do not wait: `keeps reindex` makes theirs.
    """

    model: str
    pending: int
    lag_seconds: float
    counts: Counts


class Indexer:
    """Embeds memories and items without a vector.

    Recall continues meanwhile: by words, or with the vectors of the previous model.
    """

    def __init__(self, database: Database, embedder: Embedder | None, clock: Clock) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._waiting: dict[tuple[str, str], Scope] = {}
        self._current: tuple[str, str] | None = None
        self._batch_ended = asyncio.Event()
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._resuming: asyncio.Task[None] | None = None
        self._in_vain: TTLCache[tuple[str, str], bool] = TTLCache(MOST_IN_VAIN, IN_VAIN_SECONDS)
        self._complete: LRUCache[tuple[str, str], bool] = LRUCache(MOST_COMPLETE)
        """Users of whom everything without a vector of this model has been queued."""

    def notice(self, scope: Scope) -> None:
        """Queue a user who has something to index."""
        if self._embedder is None:
            return
        self._waiting[scope.tenant_id, scope.user_id] = Scope(scope.tenant_id, scope.user_id)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def resume(self) -> None:
        """Queue, in the background, the users whose memories an earlier process left without vectors."""
        if self._embedder is not None:
            self._resuming = asyncio.get_running_loop().create_task(self._resume())

    async def settle(self, scope: Scope) -> None:
        """Wait until everything queued for this user is indexed, or the indexer is closed."""
        user = scope.tenant_id, scope.user_id
        while self._task is not None and not self._task.done() and (user == self._current or user in self._waiting):
            await self._batch_ended.wait()

    async def settled(self, scope: Scope, seconds: float) -> bool:
        """Wait up to `seconds` for this user's queue. Return whether it was indexed in that time.

        After a wait in vain the user does not wait again for a while, so that a long queue delays only one answer.
        """
        user = scope.tenant_id, scope.user_id
        if user != self._current and user not in self._waiting:
            return False
        if user in self._in_vain:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self.settle(scope)
        except TimeoutError:
            self._in_vain[user] = True
            return False
        return True

    async def index_user(self, scope: Scope, progress: Callable[[int], None] | None = None) -> int:
        """Index everything that one user has waiting. Return the number of vectors stored."""
        if self._embedder is None:
            return 0
        await self._queue(scope, self._embedder)
        stored = 0
        while (done := await self._index_batch(scope, self._embedder)) is not None:
            stored += done
            if progress:
                progress(done)
        return stored

    async def rebuild(self, scope: Scope) -> int:
        """Drop and rebuild a user's vectors. Return the number stored. Reads use words meanwhile."""
        if self._embedder is None:
            return 0
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await store.delete_vectors(tx)
        return await self.index_user(scope)

    async def _queue(self, scope: Scope, embedder: Embedder) -> None:
        """Queue what has no vector of this model: after a change of the model, or of the vectors."""
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await store.queue_memories(tx, embedder.model)
                await items.queue(tx, embedder.model)
        self._complete[scope.tenant_id, scope.user_id] = True

    async def _index_batch(self, scope: Scope, embedder: Embedder) -> int | None:
        """Index one batch; return None if nothing waits. Batches never overlap, so that nothing is embedded twice."""
        async with self._turn:
            async with self._database.scoped(scope) as tx:
                memories, forgotten = await store.memories_to_index(tx, BATCH)
            if not memories and not forgotten:
                return await self._index_items(scope, embedder)
            with acting_for(scope.tenant_id):
                embeddings = await embedder.embed([memory.text for memory in memories]) if memories else []
            stored = 0
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    stored = await store.insert_vectors(
                        tx, embedder.model, memories, embeddings, forgotten, self._clock()
                    )
            return stored

    async def _index_items(self, scope: Scope, embedder: Embedder) -> int | None:
        """Index one batch of items, each by all of its texts; return None if nothing waits."""
        async with self._database.scoped(scope) as tx:
            waiting = await items.to_index(tx, BATCH)
        if not waiting:
            return None
        texts = [(number, field, text) for number, each in enumerate(waiting) for field, text in each.texts.items()]
        with acting_for(scope.tenant_id):
            embeddings = await embedder.embed([text for _, _, text in texts])
        by_item: list[dict[str, Embedding]] = [{} for _ in waiting]
        for (number, field, _), embedding in zip(texts, embeddings, strict=True):
            by_item[number][field] = embedding
        stored = 0
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                stored = await items.insert_vectors(tx, embedder.model, waiting, by_item)
        return stored

    async def users_to_index(self, after: UserId = ("", "")) -> tuple[list[UserId], UserId | None]:
        """Return a page of the users with something to index, and the user to go on after; None at the end."""
        if self._embedder is None:
            return [], None
        return await store.users_to_index(self._database, self._embedder.model, after)

    async def index_all(self, progress: Callable[[int], None] | None = None) -> int:
        """Index everything that all users have waiting. Return the number of vectors stored."""
        stored, before = 0, -1
        while stored > before:  # More may arrive meanwhile.
            before = stored
            after: UserId | None = ("", "")
            while after is not None:
                users, after = await self.users_to_index(after)
                for tenant_id, user_id in users:
                    stored += await self.index_user(Scope(tenant_id, user_id), progress)
        return stored

    async def waiting_of(self, scope: Scope) -> int:
        """Return how many memories and items of a user wait for a vector."""
        async with self._database.scoped(scope) as tx:
            return await store.waiting_of_user(tx)

    async def drop_other_models(self) -> None:
        """Delete the vectors of earlier models; call it when the new ones are complete."""
        if self._embedder is None:
            return
        model = self._embedder.model
        for tenant_id, user_id in await store.users_with_other_models(self._database, model):
            async for attempt in self._database.writing(Scope(tenant_id, user_id)):
                async with attempt as tx:
                    await store.delete_other_models(tx, model)
                    await items.delete_other_models(tx, model)

    async def lag(self) -> tuple[int, float]:
        """Return how many memories and items have no vector of the model, and the age in seconds of the oldest.

        The age is that of the oldest that waits for its first vector. Both are read from counters and an index.
        """
        if self._embedder is None:
            return 0, 0.0
        missing, since = await store.missing(self._database, self._embedder.model)
        return missing, max(0.0, (self._clock() - since).total_seconds()) if since else 0.0

    async def status(self) -> IndexStatus:
        """Return the state of the index over all tenants, from counters."""
        pending, lag = await self.lag()
        return IndexStatus(
            model=self._embedder.model if self._embedder else "none",
            pending=pending,
            lag_seconds=lag,
            counts=await store.counts(self._database),
        )

    async def server_version(self) -> str:
        return await store.server_version(self._database)

    async def storage_bytes(self) -> int:
        return await store.storage_bytes(self._database)

    async def close(self) -> None:
        """Wait some seconds for queued memories to be indexed; a worker or the next process handles the rest."""
        if self._resuming is not None:
            self._resuming.cancel()
            await asyncio.gather(self._resuming, return_exceptions=True)
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=SETTLE_SECONDS)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._batch_ended.set()  # The task may have ended before its first step.

    async def _resume(self) -> None:
        with suppress(KeepsError):  # The next process tries again.
            for tenant_id, user_id in await store.users_waiting(self._database):
                self.notice(Scope(tenant_id, user_id))

    async def _next_batch(self, scope: Scope) -> int | None:
        if self._embedder is None:
            return None
        if (scope.tenant_id, scope.user_id) not in self._complete:
            await self._queue(scope, self._embedder)
        return await self._index_batch(scope, self._embedder)

    async def _run(self) -> None:
        while self._waiting:
            user, scope = next(iter(self._waiting.items()))
            del self._waiting[user]
            self._current = user
            try:
                # Index one batch per user in turn, so that no user waits for another's ten thousand memories.
                with taking_long():
                    done = await self._next_batch(scope)
                if done is not None:
                    self._waiting.setdefault(user, scope)
            except KeepsError:
                # If the database or the model is unavailable, the queue stays in the database; try again later.
                self._waiting.setdefault(user, scope)
                self._wake.clear()
                try:
                    await asyncio.wait_for(self._wake.wait(), RETRY_SECONDS)
                except TimeoutError:
                    pass
            finally:
                self._current = None
                self._batch_ended.set()
                self._batch_ended = asyncio.Event()
