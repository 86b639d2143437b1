"""Cache signs that the database answered with recently, for audiences that are too large for arrays (ADR 37).

A transaction reads, under its own scope, which rows contain an audience's signs and the version of each. Cached signs
are used only if the versions match, so no request is answered from rows that it may not read or that have changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from keeps.base.cache.ttl_cache import TtlCache
from keeps.memory.recall import store
from keeps.memory.recall.signs import Signs, joined
from keeps.memory.recall.words import Postings
from keeps.store.db.session import Tx

ROOM_BYTES = 128 * 1024 * 1024
"""Enough for the signs of 2.5 million vectors of 384 dimensions."""
KEPT_SECONDS = 60.0
VECTORS_OF_A_PART = 1_024


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
