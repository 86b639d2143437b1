"""Cache sources as vectors and words, to rank them for a question within a millisecond.

Each shelf stores the fingerprint of its rows, which each request reads again.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keeps.base.cache.ttl_cache import TtlCache
from keeps.base.text.words import count_terms
from keeps.models.embedder import Floats
from keeps.store.db.session import Row
from keeps_client.models import Source

MOST_SHELVES, MOST_ON_ONE, KEPT_SECONDS = 64, 2_000, 300.0
WORDS_WEIGHT = 0.02
"""Score added per shared word, multiplied by ln(rarity); a cosine counts in full."""
_HEADER_BYTES = 4
"""Bytes before the numbers of a halfvec in PostgreSQL's binary format."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Sources in order, each with a flag: whether it is the user's own.

    `vectors`: one row per source, zero where there is none yet.
    `rarity`: rarity of each word.
    """

    fingerprint: tuple[object, ...]
    sources: tuple[tuple[Source, bool], ...]
    vectors: Floats | None
    words: tuple[frozenset[str], ...]
    rarity: dict[str, float]

    def best(self, query: str, vector: Floats | None, most: int) -> list[tuple[Source, bool]]:
        asked = count_terms(query).keys()
        scores = np.array([sum(self.rarity[each] for each in asked & words) for words in self.words]) * WORDS_WEIGHT
        if vector is not None and self.vectors is not None:
            scores = scores + self.vectors @ vector
        return [self.sources[at] for at in np.argsort(-scores, kind="stable")[:most]]


def shelf_of(rows: Sequence[Row], user_id: str, fingerprint: tuple[object, ...]) -> Shelf:
    sources = tuple((source_of(row), row["user_id"] == user_id) for row in rows)
    words = tuple(
        frozenset(count_terms(f"{source.name.replace('_', ' ')} {source.name} {source.purpose}"))
        for source, _ in sources
    )
    often = Counter(word for own in words for word in own)
    vectors = [
        None if row["vector"] is None else np.frombuffer(row["vector"], dtype=">f2", offset=_HEADER_BYTES)
        for row in rows
    ]
    size = next((len(vector) for vector in vectors if vector is not None), 0)
    matrix = np.zeros((len(rows), size), dtype=np.float32) if size else None
    if matrix is not None:
        for place, vector in enumerate(vectors):
            if vector is not None:
                matrix[place] = vector
    rarity = {word: math.log((1 + len(rows)) / count) for word, count in often.items()}
    return Shelf(fingerprint, sources, matrix, words, rarity)


def source_of(row: Row) -> Source:
    return Source(
        name=row["name"],
        kind=json.loads(row["value"])["kind"],
        purpose=row["content"],
        visibility=row["visibility"],
        memory_id=row["memory_id"],
        updated_at=row["updated_at"],
    )


class Capabilities:
    """The shelves of recent users."""

    def __init__(self) -> None:
        self._held: TtlCache[tuple[str, str], Shelf] = TtlCache(MOST_SHELVES, KEPT_SECONDS)

    def get(self, who: tuple[str, str], fingerprint: tuple[object, ...]) -> Shelf | None:
        held = self._held.get(who)
        return None if held is None or held.fingerprint != fingerprint else held

    def put(self, who: tuple[str, str], shelf: Shelf) -> None:
        self._held.put(who, shelf)

    def forget(self, tenant_id: str) -> None:
        self._held.drop(lambda each: each[0] == tenant_id)
