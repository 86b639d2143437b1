"""Make hits of a ranking and the memories that were read: without repeats, with the later statement of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from keeps.base.text.asks import only_asks
from keeps.base.text.changes import is_of_another
from keeps.base.text.small_talk import is_small_talk
from keeps.base.text.trust import is_quotation, origin_of
from keeps.base.text.words import terms_of
from keeps.base.unchecked import unchecked
from keeps.memory.recall.ranking import Ranking
from keeps_client.models import Hit, Memory

MOST_REPEATED = 40
SUMMARIES = ("session_summary", "summary")
COMPARED, COMPARED_CHARACTERS = 40, 400
"""Number of best hits that are compared with each other, and the characters of each that are compared."""
SAME_MATTER_SIMILARITY = 0.55
"""Similarity that 22 of 30 statements have to the one that they change, and 20 of 70,000 pairs of unrelated ones."""


def hits_of(ranking: Ranking, memories: Mapping[UUID, Memory], end: int) -> list[Hit]:
    """Return the best memories that still exist, as hits."""
    request = ranking.request
    return [
        unchecked(
            Hit,
            {
                "memory": memories[memory_id],
                "score": float(ranking.total[position]),
                "relevance": _said(ranking.relevance[position]),
                "similarity": _said(ranking.similarity[position]),
                "provider_id": "vector" if request.scope == "indexed" else "postgres",
                "tier": ranking.tier(position),
                "explanation": ranking.explanation(position, memories[memory_id].content) if request.explain else None,
                "passage": None,
                "newer_id": None,
            },
        )
        for memory_id, position in zip(ranking.first(end), ranking.order, strict=False)
        if memory_id in memories
    ]


def end_of_first(ranking: Ranking, limit: int) -> int:
    """Return how many of the best contain `limit` distinct openings, so that enough remain without repeats."""
    openings: set[int] = set()
    hashes = ranking.rows.table["opening"]
    for end, position in enumerate(ranking.order[: limit + MOST_REPEATED]):
        if len(openings) == limit:
            return end
        openings.add(int(hashes[position]))
    return limit + MOST_REPEATED


def without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Drop repeated statements, keeping the best.

    A quoted fact and the message that consists of it count as one statement.
    """
    is_quoted: dict[tuple[str, str], bool] = {}
    first: list[Hit] = []
    for hit in hits:
        statement, quotation = (hit.memory.user_id, hit.memory.content), is_quotation(hit.memory.metadata)
        if statement in is_quoted and (quotation or is_quoted[statement]):
            continue
        is_quoted[statement] = quotation or is_quoted.get(statement, False)
        first.append(hit)
    return first


def without_small_talk(hits: Sequence[Hit], query: str) -> list[Hit]:
    """Drop messages such as "Noted." unless there is nothing else, or the query is one itself."""
    telling = [hit for hit in hits if hit.memory.content_type != "message" or not is_small_talk(hit.memory.content)]
    return telling if telling and not is_small_talk(query) else list(hits)


def later_statements(hits: Sequence[Hit], ranking: Ranking) -> dict[UUID, UUID]:
    """Map each of a user's statements among the best hits to the newest later one about the same matter."""
    position = ranking.places
    stated = [
        hit.memory
        for hit in hits[:COMPARED]
        if hit.memory.role in (None, "user")
        and origin_of(hit.memory.role, hit.memory.source, hit.memory.metadata) == "own"
        and hit.memory.content_type not in SUMMARIES
        and hit.memory_id.bytes in position
    ]
    if len(stated) < 2:
        return {}
    stated.sort(key=lambda memory: memory.valid_from)
    vectors = ranking.candidates.sentences[[position[memory.memory_id.bytes] for memory in stated]]
    similar = np.argwhere(np.triu(vectors @ vectors.T >= SAME_MATTER_SIMILARITY, 1)).tolist()
    terms: dict[int, frozenset[str]] = {}
    for place in {place for pair in similar for place in pair}:
        content = stated[place].content
        terms[place] = frozenset() if only_asks(content) else frozenset(terms_of(content[:COMPARED_CHARACTERS]))
    newer: dict[UUID, UUID] = {}
    for older, later in similar:
        one, other = stated[older], stated[later]
        if (
            one.user_id == other.user_id
            and one.valid_from < other.valid_from
            and one.content != other.content
            and terms[older] & terms[later]
            and not is_of_another(one.content[:COMPARED_CHARACTERS], other.content[:COMPARED_CHARACTERS])
        ):
            newer[one.memory_id] = other.memory_id
    return newer


def _said(score: float) -> float | None:
    return None if np.isnan(score) else float(score)
