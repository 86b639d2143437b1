"""Cache signs and words that recall read recently, while requests arrive (ADR 37).

A transaction reads, under its own scope, which rows contain an audience's signs and the version of each. Cached signs
are used only if the versions match, so no request is answered from rows that it may not read or that have changed.
Words that are compared with misspelt names are cached for a minute, by the extent of the lists. Their postings are
always read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence

from keeps.base.cache.ttl_cache import TtlCache
from keeps.memory.recall import store
from keeps.memory.recall.misspelt import Vocabulary
from keeps.memory.recall.signs import Signs, joined
from keeps.memory.recall.words import Postings
from keeps.store.db.session import Tx

WORDS_BYTES = 32 * 1024 * 1024
ROOM_BYTES = 128 * 1024 * 1024
"""Enough for the signs of 2.5 million vectors of 384 dimensions."""
KEPT_SECONDS = 60.0
VECTORS_OF_A_PART = 1_024
MANY_WORDS = 5_000


class SignsCache:
    """Cached signs, by tenant, audience, life, and the cell that the versions belong to."""

    def __init__(self) -> None:
        self._kept: TtlCache[tuple[str, str, str, str], Signs] = TtlCache(ROOM_BYTES, KEPT_SECONDS)

    async def of(self, tx: Tx, held: Postings, model: str) -> AsyncGenerator[Signs]:
        """Yield all signs stored in rows: at once, or in parts if there are too many to cache."""
        wanted = dict(zip(held.part_firsts, held.part_versions, strict=True))
        if not wanted:
            return
        key = tx.scope.tenant_id, held.audience, held.life, tx.cell
        cached = self._kept.get(key)
        missing = [
            first
            for first, version in wanted.items()
            if cached is None or first not in cached.parts or cached.parts[first][0] != version
        ]
        if cached is not None and not missing and len(cached.parts) == len(wanted):
            yield cached
            return
        fits = len(wanted) * VECTORS_OF_A_PART * held.sign_size <= ROOM_BYTES
        read: dict[int, tuple[bytes, int]] = {}
        async for parts in store.sign_parts(tx, held, model, missing):
            new = {first: (packed, size) for first, (_, packed, size) in parts.items()}
            versions = {first: version for first, (version, _, _) in parts.items()}
            if fits:
                wanted |= versions
                read |= new
            elif (some := joined(None, versions, new)) is not None:
                yield some
        if fits and (signs := await asyncio.to_thread(joined, cached, wanted, read)) is not None:
            self._kept.put(key, signs, signs.size)
            yield signs

    def forget(self, tenant_id: str) -> None:
        self._kept.drop(lambda key: key[0] == tenant_id)


async def vocabulary_of(words: Collection[str]) -> Vocabulary:
    """Prepare the words for comparison, in a thread if there are many."""
    return await asyncio.to_thread(Vocabulary, words) if len(words) > MANY_WORDS else Vocabulary(words)


class WordsCache:
    """Cached words of lists, by tenant, audience, life, first letters and bound agent.

    The agent is part of the key because it may not read another agent's words.
    """

    def __init__(self) -> None:
        self._kept: TtlCache[tuple[str, ...], tuple[int, Vocabulary]] = TtlCache(
            WORDS_BYTES, KEPT_SECONDS, renewed=False
        )

    async def of(self, tx: Tx, held: Postings, beginnings: Sequence[str]) -> Vocabulary:
        key = tx.scope.tenant_id, held.audience, held.life, tx.scope.bound_agent, *beginnings
        cached = self._kept.get(key)
        if cached is not None and cached[0] == held.folded_to:
            return cached[1]
        words = await store.vocabulary(tx, held, beginnings) if held.folded_to else set[str]()
        vocabulary = await vocabulary_of(words)
        self._kept.put(key, (held.folded_to, vocabulary), vocabulary.size)
        return vocabulary

    def forget(self, tenant_id: str) -> None:
        self._kept.drop(lambda key: key[0] == tenant_id)
