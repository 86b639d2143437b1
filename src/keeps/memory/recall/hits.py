"""Make hits of a ranking and the memories that were read: without repeats, with the later statement of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.base.text.asks import only_asks
from keeps.base.text.changes import (
    ALIKE,
    MOST_CHARACTERS,
    Stated,
    may_differ_in_value,
    places_told,
    replaces,
    stated,
    tells_anew,
    words_in,
)
from keeps.base.text.small_talk import is_small_talk
from keeps.base.text.trust import is_quotation, origin_of
from keeps.base.unchecked import unchecked
from keeps.memory.recall.ranking import Ranking
from keeps_client.models import Explanation, Hit, Memory

MOST_REPEATED = 40
SUMMARIES = ("session_summary", "summary")
COMPARED = 40
"""Number of best hits that are compared with each other."""


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


def descending(hits: Sequence[Hit]) -> list[Hit]:
    """Give a hit that precedes one with a higher score the same score; its explanation names the difference."""
    result = list(hits)
    for place in range(len(result) - 2, -1, -1):
        hit, after = result[place], result[place + 1]
        if hit.score >= after.score:
            continue
        explanation, added = hit.explanation, after.score - hit.score
        if explanation is not None:
            part = Explanation.Part(name="later", raw=None, normalised=added, weight=1.0, points=added)
            explanation = Explanation(parts=[*explanation.parts, part], matched_terms=explanation.matched_terms)
        result[place] = hit.model_copy(update={"score": after.score, "explanation": explanation})
    return result


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
    """Map each of a user's statements among the best hits to the newest later one that probably changes it.

    Long texts tell more than one statement, so none changes another.
    """
    position = ranking.places
    memories = [
        hit.memory
        for hit in hits[:COMPARED]
        if hit.memory.role in (None, "user")
        and origin_of(hit.memory.role, hit.memory.source, hit.memory.metadata) == "own"
        and hit.memory.content_type not in SUMMARIES
        and len(hit.memory.content) <= MOST_CHARACTERS
        and hit.memory_id.bytes in position
    ]
    if len(memories) < 2:
        return {}
    memories.sort(key=lambda memory: memory.valid_from)
    vectors = ranking.candidates.sentences[[position[memory.memory_id.bytes] for memory in memories]]
    similarity = vectors @ vectors.T
    leads = _leads(similarity, [memory.content_type for memory in memories])
    places = [places_told(memory.content) for memory in memories]
    words = [words_in(memory.content) for memory in memories]
    asks = [only_asks(memory.content) for memory in memories]
    read: dict[int, Stated] = {}

    def statement(place: int) -> Stated:
        if place not in read:
            read[place] = stated(memories[place].content)
        return read[place]

    telling = np.array([bool(place) for place in places])
    likely = (similarity >= ALIKE) | np.logical_and.outer(telling, telling)
    newer: dict[UUID, UUID] = {}
    count = len(memories)
    for later, older in ((n, o) for n in reversed(range(count)) for o in np.flatnonzero(likely[:n, n]).tolist()):
        one, other = memories[older], memories[later]
        if (
            one.memory_id not in newer
            and (leads[older, later] >= 0 or places[older] or may_differ_in_value(words[older], words[later]))
            and not asks[older]
            and not asks[later]
            and (one.user_id, one.metadata.get("speaker")) == (other.user_id, other.metadata.get("speaker"))
            and one.valid_from < other.valid_from
            and one.content != other.content
            and replaces(
                statement(older), statement(later), float(similarity[older, later]), float(leads[older, later])
            )
        ):
            newer[one.memory_id] = other.memory_id
    return newer


def _leads(similarity: npt.NDArray[np.float32], types: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return by how much two statements are more similar than either is to any other of its type."""
    of_type = np.array(types)
    beside = np.where(of_type[:, None] == of_type[None, :], similarity, -1.0)
    np.fill_diagonal(beside, -1.0)
    best, second = np.sort(beside, axis=1)[:, -1:], np.sort(beside, axis=1)[:, -2:-1]
    others = np.where(beside == best, second, best)
    return similarity - np.maximum(others, others.T)


def with_newer(hits: Sequence[Hit], newer: Mapping[UUID, UUID], *, first: bool) -> list[Hit]:
    """Name the later statement at each that it changes.

    `first`: put it before that, as relevant as that, if it tells the same with another value.
    """
    result = list(hits)
    for older in hits:
        if older.memory_id not in newer:
            continue
        ids = [hit.memory_id for hit in result]
        at, later = ids.index(older.memory_id), ids.index(newer[older.memory_id])
        result[at] = result[at].model_copy(update={"newer_id": newer[older.memory_id]})
        if first and later > at and tells_anew(stated(older.memory.content), stated(result[later].memory.content)):
            moved = result.pop(later)
            relevance = max((each for each in (moved.relevance, older.relevance) if each is not None), default=None)
            result.insert(at, moved.model_copy(update={"relevance": relevance}))
    return result


def _said(score: float) -> float | None:
    return None if np.isnan(score) else float(score)
