"""What a process keeps of what recall read lately, while somebody asks (ADR 37).

A transaction reads, as its scope, which rows hold an audience's signs and the version of each; what is kept counts only
where the versions are the same. So nobody is answered from what they may not read, nor from what has changed since.
Words that misspelt names are compared with are kept by how far the lists go, for a minute; what they lead to is read
anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence

from keeps.cache.brief import Brief
from keeps.db.session import Tx
from keeps.recall import store
from keeps.recall.misspelt import Vocabulary
from keeps.recall.signs import Signs, joined
from keeps.recall.words import Postings

WORDS_BYTES = 32 * 1024 * 1024
ROOM_BYTES = 128 * 1024 * 1024
"""Of 384 dimensions, the signs of 2.5 million vectors."""
KEPT_SECONDS = 60.0
VECTORS_OF_A_PART = 1_024
MANY_WORDS = 5_000


class KeptSigns:
    """By tenant, audience, part of its life, and the cell whose versions they are."""

    def __init__(self) -> None:
        self._kept: Brief[tuple[str, str, str, str], Signs] = Brief(ROOM_BYTES, KEPT_SECONDS)

    async def of(self, tx: Tx, held: Postings, model: str) -> AsyncGenerator[Signs]:
        """All that are folded into rows: at once, or in parts where they are too many to be kept."""
        wanted = dict(zip(held.part_firsts, held.part_versions, strict=True))
        if not wanted:
            return
        key = tx.scope.tenant_id, held.audience, held.life, tx.cell
        known = self._kept.get(key)
        missing = [
            first
            for first, version in wanted.items()
            if known is None or first not in known.parts or known.parts[first][0] != version
        ]
        if known is not None and not missing and len(known.parts) == len(wanted):
            yield known
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
        if fits and (signs := await asyncio.to_thread(joined, known, wanted, read)) is not None:
            self._kept.put(key, signs, signs.size)
            yield signs

    def forget(self, tenant_id: str) -> None:
        self._kept.drop(lambda key: key[0] == tenant_id)


async def vocabulary_of(words: Collection[str]) -> Vocabulary:
    """Prepared in a thread, where they are many."""
    return await asyncio.to_thread(Vocabulary, words) if len(words) > MANY_WORDS else Vocabulary(words)


class KeptWords:
    """The words in lists, by tenant, audience and part of its life, by how they begin, and by the agent that is bound:
    it may not read those of another."""

    def __init__(self) -> None:
        self._kept: Brief[tuple[str, ...], tuple[int, Vocabulary]] = Brief(WORDS_BYTES, KEPT_SECONDS, renewed=False)

    async def of(self, tx: Tx, held: Postings, beginnings: Sequence[str]) -> Vocabulary:
        key = tx.scope.tenant_id, held.audience, held.life, tx.scope.bound_agent, *beginnings
        known = self._kept.get(key)
        if known is not None and known[0] == held.folded_to:
            return known[1]
        words = await store.vocabulary(tx, held, beginnings) if held.folded_to else set[str]()
        found = await vocabulary_of(words)
        self._kept.put(key, (held.folded_to, found), found.size)
        return found

    def forget(self, tenant_id: str) -> None:
        self._kept.drop(lambda key: key[0] == tenant_id)
