"""What can be looked up, kept in memory as vectors and words, to rank it by a question in a millisecond. Each shelf
knows the fingerprint of what it was made of; whoever asks reads that anew."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keeps.ai.embedder import Floats
from keeps.cache.brief import Brief
from keeps.db.session import Row
from keeps.text.words import count_terms
from keeps_client.models import Source

MOST_SHELVES, MOST_ON_ONE, KEPT_SECONDS = 64, 2_000, 300.0
WORDS_WEIGHT = 0.02
"""Of a word that a question and a source share, for each factor e that it is rare by; a cosine counts once."""
_HEADER_BYTES = 4
"""Before the numbers of a halfvec as it is sent."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Sources in order, each with whether it is one's own; their vectors, one a row, zero where there is none yet; how
    rare each word is."""

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
        frozenset(count_terms(f"{each.name.replace('_', ' ')} {each.name} {each.purpose}")) for each, _ in sources
    )
    often = Counter(word for each in words for word in each)
    vectors = [
        None if row["vector"] is None else np.frombuffer(row["vector"], dtype=">f2", offset=_HEADER_BYTES)
        for row in rows
    ]
    size = next((len(each) for each in vectors if each is not None), 0)
    held = np.zeros((len(rows), size), dtype=np.float32) if size else None
    if held is not None:
        for place, each in enumerate(vectors):
            if each is not None:
                held[place] = each
    rarity = {word: math.log((1 + len(rows)) / count) for word, count in often.items()}
    return Shelf(fingerprint, sources, held, words, rarity)


def source_of(row: Row) -> Source:
    return Source(
        name=row["name"],
        kind=json.loads(row["value"])["kind"],
        purpose=row["content"],
        visibility=row["visibility"],
        memory_id=row["memory_id"],
        updated_at=row["updated_at"],
    )


class Shelves:
    """The shelves of those who asked lately."""

    def __init__(self) -> None:
        self._held: Brief[tuple[str, str], Shelf] = Brief(MOST_SHELVES, KEPT_SECONDS)

    def get(self, who: tuple[str, str], fingerprint: tuple[object, ...]) -> Shelf | None:
        held = self._held.get(who)
        return None if held is None or held.fingerprint != fingerprint else held

    def put(self, who: tuple[str, str], shelf: Shelf) -> None:
        self._held.put(who, shelf)

    def forget(self, tenant_id: str) -> None:
        self._held.drop(lambda each: each[0] == tenant_id)
