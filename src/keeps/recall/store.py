"""Statements of recall."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from keeps.ai.embedder import Floats
from keeps.db.fitting import fetch_whole
from keeps.db.session import Tx
from keeps.db.statements import Condition, Statements
from keeps.memories.store import JSON_COLUMNS, memory_from_row
from keeps.memories.types import MEMORY
from keeps.recall.conditions import Selection
from keeps.recall.rows import Rows, Turns, read_rows, read_turns
from keeps.recall.words import ENTRY, Layout, Positions, Postings
from keeps_client.models import Memory

QUERIES = Statements("keeps.recall", MEMORY)
Places = tuple[list[str], list[str], list[int]]
"""Audiences, lives and places, as `Layout.places` gives them."""
PLACE_BYTES = 4
"""Before the signs of each vector is the place of its memory."""
COMMON_FROM, MOST_ENTRIES = 2_500, (1 << 31) - 1
"""Of a word that more than half of an audience holds, a list of so many memories is read all the same."""
PARTS_AT_ONCE = 64
"""So many rows of signs are read at once: 3.4 MB of 384 dimensions."""


async def postings(
    tx: Tx,
    words: Sequence[str],
    selection: Selection,
    vectors: tuple[str, int] | None = None,
    *,
    whole: bool = False,
) -> list[Postings]:
    """What the audiences of this scope have of some words, and how many memories they have; of `vectors` (their model
    and dimensions) the signs of the newest, too, and where those of the others are. `whole`: with long lists of words
    that most memories hold."""
    model, dimensions = vectors or (None, 0)
    size = PLACE_BYTES + -(-dimensions // 8)
    who = tx.scope.tenant_id, ["", tx.scope.user_id], list(selection.lives)
    return [
        Postings(**{name: value for name, value in row.items() if value is not None})
        for row in await tx.fetch(
            QUERIES["recall_words"],
            *who,
            list(words),
            model,
            size,
            ENTRY.itemsize,
            MOST_ENTRIES if whole else COMMON_FROM,
        )
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


async def passing_at(tx: Tx, places: Places, condition: Condition, limit: int) -> list[int]:
    """Of the memories at some places which pass a filter, in their order. `condition`: its values from $6 on."""
    rows = await tx.fetch(
        QUERIES["recall_places_filtered"].where(condition), tx.scope.tenant_id, *places, limit, *condition.values
    )
    return [row["number"] - 1 for row in rows]


async def near(
    tx: Tx, model: str, sentence: Floats, places: Places, selection: Selection, limit: int
) -> dict[UUID, float]:
    """Of the memories at some places those that are selected and nearest by cosine similarity."""
    given = (tx.scope.tenant_id, *places, model, HalfVector(sentence), limit)
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
    tx: Tx, layout: Layout, positions: Positions, memory_ids: Collection[UUID], selection: Selection, model: str
) -> Rows:
    """Memories at some positions, and by their ids: those that are selected."""
    places: dict[tuple[str, str], list[int]] = {}
    for audience, life, place in zip(*layout.places(positions), strict=True):
        places.setdefault((audience, life), []).append(place)
    row = await _candidates(tx, places, memory_ids, (), (), selection, model)
    return Rows() if row is None else read_rows(row, layout)


async def around(
    tx: Tx, layout: Layout, turns: Sequence[bytes], known: Sequence[bytes], selection: Selection, model: str
) -> tuple[Rows, Turns]:
    """The turns before and after some others, without those that are known; and which those are of each."""
    row = await _candidates(tx, {}, (), turns, known, selection, model)
    return (Rows(), {}) if row is None else (read_rows(row, layout), read_turns(row["turns"]))


async def _candidates(
    tx: Tx,
    places: Mapping[tuple[str, str], Sequence[int]],
    memory_ids: Collection[UUID],
    turns: Sequence[bytes],
    known: Sequence[bytes],
    selection: Selection,
    model: str,
) -> dict[str, Any] | None:
    condition = selection.condition(10) or Condition("true")
    row = await tx.fetch_row(
        QUERIES["recall_candidates"].where(condition),
        tx.scope.tenant_id,
        [audience for audience, _ in places],
        [life for _, life in places],
        [_array(map(str, each)) for each in places.values()],
        list(memory_ids),
        _array(each.hex() for each in turns),
        _array(each.hex() for each in known),
        list(selection.lives),
        model,
        *condition.values,
    )
    return None if row is None else dict(row)


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
    """Those that are there. Raises PayloadTooLargeError where they hold more than is read at once."""
    rows = await fetch_whole(tx, QUERIES["recall_memories"], tx.scope.tenant_id, list(memory_ids), columns=JSON_COLUMNS)
    return {row["memory_id"]: memory_from_row(row, now) for row in rows}


async def as_of(
    tx: Tx, memory_ids: Sequence[UUID], moment: datetime, selection: Selection, *, archived: bool
) -> dict[UUID, Memory]:
    """By the id of the row that was found: the memory as it was known at `moment`."""
    condition = selection.past(5)
    rows = await fetch_whole(
        tx,
        QUERIES["recall_as_of"].where(condition),
        tx.scope.tenant_id,
        list(memory_ids),
        moment,
        archived,
        *condition.values,
        columns=JSON_COLUMNS,
    )
    return {
        row["found_id"]: memory_from_row({name: value for name, value in row.items() if name != "found_id"})
        for row in rows
    }


def _array(values: Iterable[str]) -> str:
    """An array as PostgreSQL writes it: to look at each of hundreds of values takes the driver longer."""
    return "{" + ",".join(values) + "}"
