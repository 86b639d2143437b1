"""Run the statements of recall."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import xor
from types import MappingProxyType
from uuid import UUID

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector

from keeps.base.scope import Scope
from keeps.memory.memories.store import JSON_COLUMNS, memory_from_row
from keeps.memory.memories.types import MEMORY
from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.index import LIVES, LifeCounts
from keeps.memory.recall.misspelt import MOST_WORDS
from keeps.memory.recall.rows import Rows, Turns, read_rows, read_turns
from keeps.memory.recall.words import ENTRY, Layout, Positions, Postings
from keeps.models.embedder import Floats
from keeps.store.db.session import Cell, Database, Row, Tx
from keeps.store.db.size_limits import MOST_WHOLE, check_whole, fetch_whole
from keeps.store.db.statements import Condition, Statements
from keeps_client.models import Memory

QUERIES = Statements("keeps.memory.recall", MEMORY)
_HITS = QUERIES["recall_hits"].within(JSON_COLUMNS, MOST_WHOLE)
Places = tuple[list[str], list[str], list[int]]
"""Audiences, lives and places, in the format of `Layout.places`."""
PLACE_BYTES = 4
"""Size of the memory's place, which precedes the signs of each vector."""
COMMON_FROM, MOST_ENTRIES, NO_LIMIT = 2_500, 50_000, (1 << 31) - 1
"""Length from which the list of a word is skipped if more than half of an audience contains the word, and the entries
of all lists that are read: the longest are skipped beyond. A word of many memories tells little about each.
"""
PARTS_AT_ONCE = 64
"""Number of sign rows that are read at once: 3.4 MB at 384 dimensions."""


async def postings(
    tx: Tx,
    words: Sequence[str],
    selection: Selection,
    vectors: tuple[str, int] | None = None,
    *,
    whole: bool = False,
) -> list[Postings]:
    """Return the postings of some words in each audience of this scope, and its number of memories.

    `vectors`: model and dimensions, to include the newest signs and the versions of the others.
    `whole`: include the long lists of words that most memories contain.
    """
    model, dimensions = vectors or (None, 0)
    size = PLACE_BYTES + -(-dimensions // 8)
    who = tx.scope.tenant_id, selection.scope.audiences, list(selection.lives)
    return [
        Postings(**{name: value for name, value in row.items() if value is not None})
        for row in await tx.fetch(
            QUERIES["recall_words"],
            *who,
            list(words),
            model,
            size,
            ENTRY.itemsize,
            NO_LIMIT if whole else COMMON_FROM,
            NO_LIMIT if whole else MOST_ENTRIES,
        )
    ]


async def sign_parts(
    tx: Tx, held: Postings, model: str, firsts: Sequence[int]
) -> AsyncGenerator[dict[int, tuple[str, bytes, int]]]:
    """Yield the signs of an audience's vectors, some rows at a time.

    Each maps the first place of a row to its version, its entries, and the size of one entry in bytes.
    """
    for start in range(0, len(firsts), PARTS_AT_ONCE):
        where = held.audience, held.life, model, list(firsts[start : start + PARTS_AT_ONCE])
        rows = await tx.fetch(QUERIES["recall_signs"], tx.scope.tenant_id, *where)
        yield {row["first"]: (row["version"], row["packed"], row["size"]) for row in rows}


async def vocabulary(tx: Tx, held: Postings, beginnings: Sequence[str]) -> set[str]:
    """Return the words in an audience's lists that start with one of `beginnings`."""
    where = held.audience, held.life, list(beginnings), MOST_WORDS
    return {row["word"] for row in await tx.fetch(QUERIES["recall_vocabulary"], tx.scope.tenant_id, *where)}


async def newest_words(tx: Tx, selection: Selection) -> set[str]:
    """Return the words of the newest memories, which are not in lists yet."""
    who = tx.scope.tenant_id, selection.scope.audiences, list(selection.lives)
    rows = await tx.fetch(QUERIES["recall_newest_words"], *who)
    return {word for row in rows for word in row["words"].split(" ") if word}


@dataclass(frozen=True, slots=True)
class AudienceState:
    """The database's account of an audience: its version, and the counts of its lives."""

    version: int
    counts: dict[str, LifeCounts]


async def index_state(
    tx: Tx, audiences: Sequence[str], model: str, dimensions: int
) -> tuple[int, dict[str, AudienceState]]:
    """Return the last number of the tenant's log, and the state of each audience."""
    size = PLACE_BYTES + -(-dimensions // 8)
    rows = await tx.fetch(QUERIES["index_state"], tx.scope.tenant_id, list(audiences), model, size)
    states: dict[str, AudienceState] = {}
    for audience in audiences:
        lives = [row for row in rows if row["audience"] == audience]
        version = reduce(xor, (row["version"] for row in lives), 0)
        names = ("memories", "words", "next_place", "vectors")
        counts = {row["life"]: LifeCounts(*(int(row[name]) for name in names)) for row in lives}
        states[audience] = AudienceState(version, counts)
    return max((row["last_sequence"] for row in rows), default=0), states


async def open_spaces(tx: Tx) -> tuple[str, ...]:
    """Return the owners of the spaces that the acting user may read, in order."""
    (row,) = await tx.fetch(QUERIES["open_spaces"])
    return tuple(row["spaces"])


async def index_changes(tx: Tx, audience: str, after: int, limit: int) -> list[UUID] | None:
    """Return the memories of an audience that events after a number of the log are about; None if there are more."""
    changed = [row["memory_id"] for row in await tx.fetch(QUERIES["index_changes"], audience, after, limit)]
    return None if None in changed else changed


async def index_ids(tx: Tx, audience: str) -> npt.NDArray[np.bytes_]:
    """Return the ids of all memories that an index of the audience holds, as values that `numpy.isin` compares."""
    rows = await tx.fetch(QUERIES["index_ids"], tx.scope.tenant_id, audience, LIVES)
    return np.frombuffer(rows[0]["ids"] or b"", dtype="S16")


async def index_rows(
    tx: Tx,
    places: Mapping[tuple[str, str], Sequence[int]],
    memory_ids: Collection[UUID],
    model: str,
) -> Row:
    """Return memories with all that an index holds, by their places or ids."""
    (row,) = await tx.fetch(QUERIES["recall_candidates"], *_wanted(tx, places, memory_ids), LIVES, model, True)
    return row


async def audience_versions(cell: Cell, audiences: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the versions of some tenants' audiences in one cell; those without memories have none."""
    wanted = [tenant_id for tenant_id, _ in audiences], [audience for _, audience in audiences]
    rows = await cell.privileged_read(QUERIES["audience_versions"], *wanted)
    return {(row["tenant_id"], row["audience"]): row["version"] for row in rows}


async def index_readings(tx: Tx, memory_ids: Sequence[UUID]) -> dict[UUID, tuple[int, datetime]]:
    """Return how often some memories were read, and when last."""
    rows = await tx.fetch(QUERIES["index_readings"], tx.scope.tenant_id, list(memory_ids))
    return {row["memory_id"]: (row["access_count"], row["last_accessed_at"]) for row in rows}


async def hits(
    database: Database,
    scope: Scope,
    known_spaces: Sequence[str],
    versions: Sequence[int],
    memory_ids: Sequence[UUID],
    now: datetime,
) -> dict[UUID, Memory] | None:
    """Return the memories that exist, if the scope's audiences still have these versions, else None.

    Also None if `known_spaces` are not the spaces that the user may read.
    """
    who = scope.tenant_id, scope.user_id, scope.bound_agent, scope.acting
    rows = await database.ask(
        scope.tenant_id, _HITS, *who, list(known_spaces), scope.audiences, list(versions), memory_ids
    )
    if rows is None or not rows[0]["current"]:
        return None
    check_whole(rows, JSON_COLUMNS)
    return {row["memory_id"]: memory_from_row(row, now) for row in rows if row["memory_id"] is not None}


async def passing_at(tx: Tx, places: Places, selection: Selection, limit: int) -> list[int]:
    """Return the indexes of the places whose memories pass the filter, in order."""
    condition = selection.condition(6) or Condition("true")
    rows = await tx.fetch(
        QUERIES["recall_places_filtered"].where(condition), tx.scope.tenant_id, *places, limit, *condition.values
    )
    return [row["number"] - 1 for row in rows]


async def near(
    tx: Tx, model: str, sentence: Floats, places: Places, selection: Selection, limit: int
) -> dict[UUID, float]:
    """Return the nearest selected memories at some places, with their cosine similarity."""
    given = (tx.scope.tenant_id, *places, model, HalfVector(sentence), limit)
    condition = selection.condition(8) or Condition("true")
    rows = await tx.fetch(QUERIES["recall_near"].where(condition), *given, *condition.values)
    return {row["memory_id"]: row["similarity"] for row in rows}


async def speaking_of(tx: Tx, names: Sequence[str], memories: int, now: datetime, limit: int) -> dict[UUID, float]:
    """Return memories that mention an entity with one of the names, or one linked to it, with their scores."""
    rows = await tx.fetch(QUERIES["recall_graph"], tx.scope.tenant_id, list(names), memories, now, limit)
    return {row["memory_id"]: row["score"] for row in rows}


async def with_key(tx: Tx, namespace: str, key: str) -> list[UUID]:
    return [row["memory_id"] for row in await tx.fetch(QUERIES["recall_key"], tx.scope.tenant_id, namespace, key)]


@dataclass(frozen=True, slots=True)
class Reading:
    """Options for reading candidates.

    `dimensions`: those of the vectors of `model`, 0 for none. `advice`: read which openings state a preference.
    """

    layout: Layout
    selection: Selection
    model: str
    dimensions: int
    advice: bool


async def candidates(tx: Tx, reading: Reading, positions: Positions, memory_ids: Collection[UUID]) -> Rows:
    """Return the selected memories at some positions and with some ids."""
    places: dict[tuple[str, str], list[int]] = {}
    for audience, life, place in zip(*reading.layout.places(positions), strict=True):
        places.setdefault((audience, life), []).append(place)
    return _rows(await _candidates(tx, reading, places=places, memory_ids=memory_ids), reading)


async def around(tx: Tx, reading: Reading, turns: Sequence[bytes], known: Sequence[bytes]) -> tuple[Rows, Turns]:
    """Return the turns before and after some turns, without those in `known`, and which turns surround each."""
    row = await _candidates(tx, reading, turns=turns, known=known)
    return _rows(row, reading), read_turns(row["turns"])


def _rows(row: Row, reading: Reading) -> Rows:
    return read_rows(dict(row), reading.layout, reading.dimensions, advice=reading.advice)


async def _candidates(
    tx: Tx,
    reading: Reading,
    *,
    places: Mapping[tuple[str, str], Sequence[int]] = MappingProxyType({}),
    memory_ids: Collection[UUID] = (),
    turns: Sequence[bytes] = (),
    known: Sequence[bytes] = (),
) -> Row:
    condition = reading.selection.condition(11) or Condition("true")
    (row,) = await tx.fetch(
        QUERIES["recall_candidates"].where(condition),
        *_wanted(tx, places, memory_ids, turns, known),
        list(reading.selection.lives),
        reading.model,
        False,
        *condition.values,
    )
    return row


def _wanted(
    tx: Tx,
    places: Mapping[tuple[str, str], Sequence[int]],
    memory_ids: Collection[UUID],
    turns: Sequence[bytes] = (),
    known: Sequence[bytes] = (),
) -> tuple[object, ...]:
    """Return the first values of `recall_candidates`."""
    return (
        tx.scope.tenant_id,
        [audience for audience, _ in places],
        [life for _, life in places],
        [_array(map(str, each)) for each in places.values()],
        list(memory_ids),
        _array(each.hex() for each in turns),
        _array(each.hex() for each in known),
    )


async def passing(tx: Tx, memory_ids: Collection[UUID], selection: Selection) -> set[UUID]:
    """Return the memories that pass the condition; their lives must have been selected already."""
    condition = selection.condition(3)
    if condition is None or not memory_ids:
        return set(memory_ids)
    rows = await tx.fetch(
        QUERIES["recall_candidates_filtered"].where(condition), tx.scope.tenant_id, list(memory_ids), *condition.values
    )
    return {row["memory_id"] for row in rows}


async def memories(tx: Tx, memory_ids: Sequence[UUID], now: datetime) -> dict[UUID, Memory]:
    """Return the memories that exist. Raises PayloadTooLargeError if they exceed the limit of one read."""
    rows = await fetch_whole(tx, QUERIES["recall_memories"], tx.scope.tenant_id, list(memory_ids), columns=JSON_COLUMNS)
    return {row["memory_id"]: memory_from_row(row, now) for row in rows}


async def as_of(tx: Tx, rows: Rows, moment: datetime, selection: Selection, *, archived: bool) -> dict[UUID, Memory]:
    """Return memories as they were known at `moment`, by the id of the row that was found."""
    condition = selection.past(5)
    read = await fetch_whole(
        tx,
        QUERIES["recall_as_of"].where(condition),
        tx.scope.tenant_id,
        [UUID(bytes=memory_id) for memory_id in rows.ids()],
        moment,
        archived,
        *condition.values,
        columns=JSON_COLUMNS,
    )
    return {row["found_id"]: memory_from_row(row) for row in read}


def _array(values: Iterable[str]) -> str:
    """Format an array as PostgreSQL text: the driver takes longer to encode hundreds of values one by one."""
    return "{" + ",".join(values) + "}"
