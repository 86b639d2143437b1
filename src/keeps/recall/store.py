"""Statements of recall."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from keeps.ai.embedder import Floats
from keeps.db.session import Tx
from keeps.db.statements import Condition, Statements
from keeps.memories.store import memory_from_row
from keeps.memories.types import MEMORY
from keeps.recall.conditions import Selection
from keeps.recall.words import Postings, Spot
from keeps_client.models import Memory

QUERIES = Statements("keeps.recall", MEMORY)
Turns = dict[UUID, tuple[list[UUID], list[UUID]]]
"""Of a turn of a conversation, those before it and after it, nearest first."""
_SAID = (
    "memory_ids",
    "sessions",
    "kinds",
    "roles",
    "speakers",
    "begins",
    "ends",
    "expire",
    "updated",
    "importances",
    "layers",
    "access_counts",
    "last_used",
    "openings",
)
"""Of a candidate, in the order of its fields."""
SENTENCE_HEAD = 4
"""Bytes before the numbers of a halfvec, as PostgreSQL sends it."""
PARTS_AT_ONCE = 64
"""So many rows of signs are read at once: 3.4 MB of 384 dimensions."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of `recall_candidates`. `sentence` (as PostgreSQL sends it) and `tokens` are None where there is no
    vector yet."""

    memory_id: UUID
    session_id: str | None
    kind: str
    role: str | None
    speaker: str | None
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    updated_at: datetime
    importance: float
    layer: str
    access_count: int
    last_used_at: datetime
    opening: str
    sentence: bytes | None
    tokens: bytes | None
    spot: Spot | None


async def postings(tx: Tx, words: Sequence[str], selection: Selection, model: str | None = None) -> list[Postings]:
    """What the audiences of this scope have of some words, and how many memories they have; of a model the signs of the
    newest vectors, too, and where those of the others are."""
    who = tx.scope.tenant_id, ["", tx.scope.user_id], list(selection.lives)
    return [
        Postings(**{name: value for name, value in row.items() if value is not None})
        for row in await tx.fetch(QUERIES["recall_words"], *who, list(words), model)
    ]


async def sign_parts(
    tx: Tx, held: Postings, model: str, firsts: Sequence[int]
) -> AsyncGenerator[dict[int, tuple[str, bytes, int]]]:
    """Signs of an audience's vectors, some rows at a time: by the first place of each its version, its entries, and the
    size of one."""
    for start in range(0, len(firsts), PARTS_AT_ONCE):
        where = held.audience, held.life, model, list(firsts[start : start + PARTS_AT_ONCE])
        rows = await tx.fetch(QUERIES["recall_signs"], tx.scope.tenant_id, *where)
        yield {row["first"]: (row["version"], row["packed"], row["size"]) for row in rows}


async def vocabulary(tx: Tx, held: Postings, beginnings: Sequence[str]) -> set[str]:
    """The words in an audience's lists that begin so."""
    where = held.audience, held.life, list(beginnings)
    return {row["word"] for row in await tx.fetch(QUERIES["recall_vocabulary"], tx.scope.tenant_id, *where)}


async def newest_words(tx: Tx, selection: Selection) -> set[str]:
    """The words of the newest memories, which are in no list yet."""
    who = tx.scope.tenant_id, ["", tx.scope.user_id], list(selection.lives)
    rows = await tx.fetch(QUERIES["recall_newest_words"], *who)
    return {word for row in rows for word in row["words"].split(" ") if word}


async def passing_at(tx: Tx, spots: Sequence[Spot], condition: Condition, limit: int) -> list[Spot]:
    """Of the memories at some places those that pass a filter, in their order. `condition`: its values from $6 on."""
    rows = await tx.fetch(
        QUERIES["recall_places_filtered"].where(condition),
        tx.scope.tenant_id,
        *_places(spots),
        limit,
        *condition.values,
    )
    return [spots[row["number"] - 1] for row in rows]


async def near(
    tx: Tx, model: str, sentence: Floats, spots: Sequence[Spot], selection: Selection, limit: int
) -> dict[UUID, float]:
    """Of the memories at some places those that are selected and nearest by cosine similarity."""
    given = (tx.scope.tenant_id, *_places(spots), model, HalfVector(sentence), limit)
    condition = selection.condition(8) or Condition("true")
    rows = await tx.fetch(QUERIES["recall_near"].where(condition), *given, *condition.values)
    return {row["memory_id"]: row["similarity"] for row in rows}


async def speaking_of(tx: Tx, names: Sequence[str], memories: int, now: datetime, limit: int) -> dict[UUID, float]:
    """Memories that mention an entity of one of the names, or one linked to it, with how much that says."""
    rows = await tx.fetch(QUERIES["recall_graph"], tx.scope.tenant_id, list(names), memories, now, limit)
    return {row["memory_id"]: row["score"] for row in rows}


async def with_key(tx: Tx, namespace: str, key: str) -> list[UUID]:
    return [row["memory_id"] for row in await tx.fetch(QUERIES["recall_key"], tx.scope.tenant_id, namespace, key)]


async def candidates(
    tx: Tx, spots: Sequence[Spot], memory_ids: Sequence[UUID], selection: Selection, model: str, expanded: int
) -> tuple[list[Candidate], Turns]:
    """Memories by their ids and at some places, best first, with the turns around the first `expanded`; and of each of
    these that is a turn of a conversation, which those are."""
    condition = selection.condition(9) or Condition("true")
    row = await tx.fetch_row(
        QUERIES["recall_candidates"].where(condition),
        tx.scope.tenant_id,
        *_places(spots),
        list(memory_ids),
        expanded,
        list(selection.lives),
        model,
        *condition.values,
    )
    if row is None or row["memory_ids"] is None:
        return [], {}
    places = zip(row["audiences"], row["lives"], row["places"], strict=True)
    columns: list[Sequence[Any]] = [
        *(row[name] for name in _SAID),
        _cut(row["sentences"], row["sentence_sizes"]),
        _cut(row["tokens"], row["token_sizes"]),
        [None if place is None else Spot(audience, life, place) for audience, life, place in places],
    ]
    found = [Candidate(*each) for each in zip(*columns, strict=True)]
    turns = zip(row["memory_ids"], row["before"], row["after"], strict=True)
    return found, {turn: (_ids(before), _ids(after)) for turn, before, after in turns if before is not None}


async def passing(tx: Tx, memory_ids: Collection[UUID], selection: Selection) -> set[UUID]:
    """Those of the memories that are selected, of some whose lives are."""
    condition = selection.condition(3)
    if condition is None or not memory_ids:
        return set(memory_ids)
    rows = await tx.fetch(
        QUERIES["recall_candidates_filtered"].where(condition), tx.scope.tenant_id, list(memory_ids), *condition.values
    )
    return {row["memory_id"] for row in rows}


async def memories(tx: Tx, memory_ids: Sequence[UUID], now: datetime) -> dict[UUID, Memory]:
    rows = await tx.fetch(QUERIES["recall_memories"], tx.scope.tenant_id, list(memory_ids))
    return {row["memory_id"]: memory_from_row(row, now) for row in rows}


async def as_of(
    tx: Tx, memory_ids: Sequence[UUID], moment: datetime, selection: Selection, *, archived: bool
) -> dict[UUID, Memory]:
    """By the id of the row that was found: the memory as it was known at `moment`."""
    condition = selection.past(5)
    rows = await tx.fetch(
        QUERIES["recall_as_of"].where(condition),
        tx.scope.tenant_id,
        list(memory_ids),
        moment,
        archived,
        *condition.values,
    )
    return {
        row["found_id"]: memory_from_row({name: value for name, value in row.items() if name != "found_id"})
        for row in rows
    }


def _cut(joined: bytes | None, sizes: Sequence[int | None]) -> list[bytes | None]:
    """Values that were sent one after the other, each of a size; None for those that are not there."""
    ends = list(accumulate(size or 0 for size in sizes))
    return [
        None if size is None or joined is None else joined[end - size : end]
        for size, end in zip(sizes, ends, strict=True)
    ]


def _ids(said: str) -> list[UUID]:
    return [UUID(each) for each in said.split()]


def _places(spots: Sequence[Spot]) -> tuple[list[str], list[str], list[int]]:
    return [each.audience for each in spots], [each.life for each in spots], [each.place for each in spots]


def read_sentences(sent: Sequence[bytes]) -> Floats:
    """Sentence vectors as one array, (n, dimensions), from the binary form of halfvec: two 16-bit numbers, then the
    16-bit floats, all big-endian."""
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)[:, 2:].astype(np.float32)
