"""The memories of one audience as recall needs them, in arrays that a process holds. Pure.

Rows are only added; a changed memory gets a new row and its old one is marked as gone. So a question that is being
answered keeps what it has read. No contents: an opening is a few flags, a word a number, a name a hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.memory.recall.misspelt import MOST_WORDS, Vocabulary
from keeps.memory.recall.rows import (
    TABLE,
    Packed,
    Rows,
    Table,
    among,
    hashes_of,
    ids_of,
    in_sorted,
    joined,
    moment_of,
    read_rows,
)
from keeps.memory.recall.signs import Columns
from keeps.memory.recall.words import Layout
from keeps.models.embedder import Floats
from keeps.models.token_vectors import TOKEN_BYTES

LIVES = ("archived", "current", "superseded")
"""The lives that an index holds, in the order of their positions. Others are read from the database."""
DETAILS = np.dtype(
    [
        *((name, "i8") for name in ("user", "agent", "kind", "layer", "content_type", "namespace", "key", "tokens_at")),
        *((name, "i4") for name in ("place", "numbered", "length")),
        ("life", "i1"),
        ("trust", "i1"),
        ("vector", "?"),
    ]
)
"""The columns by which rows are found and filtered: hashes, place, length, and where the word vectors begin.

`numbered`: the number of its conversation in the postings. `trust`: the place of its level in LEVELS.
"""
OBJECT_BYTES = 6_000
"""Approximate size of the objects of an index without rows."""
LEAST_TAIL = 4_096
RowNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LifeCounts:
    """Counts of one life of an audience, as the database keeps them.

    `next_place`: the place of its next memory.
    """

    memories: int = 0
    words: int = 0
    next_place: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of words: `holders[starts[i]:starts[i + 1]]` are the rows with the word that has hash i, `times` often.

    `letters`: the words, each followed by a space.
    """

    hashes: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    holders: npt.NDArray[np.int32]
    times: Packed
    letters: Packed


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows to be added, and what becomes of the index with them.

    `entries`: of the lists. `letters`: the new words. `known`: the hashes of all words. `order`: of all turns.
    """

    rows: Rows
    details: Table
    signs: Columns
    entries: Table
    letters: Packed
    known: npt.NDArray[np.int64]
    order: RowNumbers


class Growing:
    """An array that grows along its first axis. `values` is never changed in place, except beyond its end."""

    def __init__(self, dtype: npt.DTypeLike, *shape: int) -> None:
        self._room = np.zeros((64, *shape), dtype=dtype)
        self.values = self._room[:0]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes

    def make_room(self, more: int) -> None:
        """Have room for more rows. May run in a thread, if nothing is added meanwhile."""
        count = len(self.values)
        if count + more > len(self._room):
            room = np.zeros((max(count + more, len(self._room) * 9 // 8), *self._room.shape[1:]), self._room.dtype)
            room[:count] = self.values
            self._room = room

    def add(self, more: npt.NDArray[Any]) -> None:
        self.make_room(len(more))
        count, end = len(self.values), len(self.values) + len(more)
        self._room[count:end] = more
        self.values = self._room[:end]

    def trim(self) -> None:
        """Give back the room for more."""
        self._room = self.values = self._room[: len(self.values)].copy()

    def clear(self) -> None:
        """Overwrite what was held."""
        self._room.fill(0)
        self.values = self._room[:0]


class AudienceIndex:
    """One audience. `version` and `sequence`: what the database said when the arrays were last brought up to date."""

    def __init__(self, audience: str, dimensions: int) -> None:
        self.audience = audience
        self.dimensions = dimensions
        self.version = 0
        self.sequence = 0
        self.counts: Mapping[str, LifeCounts] = {}
        self.views: dict[tuple[str, ...], Any] = {}
        """Views that questions share until the next change, by lives."""
        self._table, self._details = Growing(TABLE), Growing(DETAILS)
        self._sentences = Growing(np.float16, max(dimensions, 1))
        self._tokens = Growing(np.uint8, TOKEN_BYTES)
        self._removed = self._tidied = self._looked = 0
        self.alive: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.places = [np.full(0, -1, dtype=np.int32) for _ in LIVES]
        """The row at each place, by life."""
        self.order: RowNumbers = np.zeros(0, dtype=np.int64)
        """The rows of conversations, by conversation, time and id."""
        self._hashes: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._holders, self._times = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint8)
        self._tail = Growing(np.dtype([("word", "i8"), ("row", "i4"), ("count", "u1")]))
        self._known: npt.NDArray[np.int64] = self._hashes
        self.letters: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        """The words of the audience, each followed by a space; `_known` has their hashes.

        The first `_sorted` letters are in the order of the words.
        """
        self._sorted = 0
        self.signs: Columns = np.zeros((-(-dimensions // 64), 0), dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._table.values)

    def settle(self, version: int, sequence: int, counts: Mapping[str, LifeCounts]) -> None:
        """Note what the database says of the audience, after changes."""
        self.version, self.sequence, self.counts = version, sequence, counts
        self.views = {}

    @property
    def table(self) -> Table:
        return self._table.values

    @property
    def details(self) -> Table:
        return self._details.values

    @property
    def _growing(self) -> tuple[Growing, ...]:
        return self._table, self._details, self._sentences, self._tokens, self._tail

    @property
    def size(self) -> int:
        """Size in bytes."""
        fixed = (
            self.letters,
            self._known,
            self.alive,
            *self.places,
            self.order,
            self._hashes,
            self._starts,
            self._holders,
            self._times,
            self.signs,
        )
        words = sum(vocabulary.size for view in self.views.values() for vocabulary in view.vocabularies.values())
        return OBJECT_BYTES + words + sum(each.nbytes for each in (*self._growing, *fixed))

    def trim(self) -> None:
        """Give back the room for more rows, after the whole audience was read."""
        self.tidy(self.lists())
        for each in self._growing:
            each.trim()

    def clear(self) -> None:
        """Overwrite what was held, so that nothing of it stays in the memory of the process."""
        self.views = {}
        for each in self._growing:
            each.clear()
        for array in (self._hashes, self._known, self._holders, self._times, self.signs, self.letters):
            array.fill(0)
        self.alive = self.alive[:0]

    def read(self, read: Mapping[str, Any]) -> NewRows | None:
        """Return the memories of this audience in a row of `recall_candidates` that was read with all columns.

        May run in a thread, if nothing is added or removed meanwhile.
        """
        rows = read_rows(read, Layout(()), self.dimensions, advice=True, kept=True)
        if not len(rows):
            return None
        mine = [audience == self.audience for audience in read["audiences"]]
        rows = rows.only(np.array(mine))
        read = {name: list(compress(values, mine)) for name, values in read.items() if isinstance(values, list)}
        first, count = len(self), len(rows)
        details = np.zeros(count, dtype=DETAILS)
        for name, column in (("user", "users"), ("agent", "agents"), ("kind", "kinds"), ("layer", "layers")):
            details[name] = hashes_of(read[column])
        details["content_type"], details["namespace"] = hashes_of(read["content_types"]), hashes_of(read["namespaces"])
        details["key"] = hashes_of(read["keys"])
        details["trust"] = read["trusts"]
        details["place"], details["life"] = read["places"], [LIVES.index(life) for life in read["lives"]]
        details["numbered"], details["length"] = read["numbered"], read["lengths"]
        details["vector"] = rows.has_vector
        details["tokens_at"] = len(self._tokens.values) + np.cumsum(rows.token_counts) - rows.token_counts
        signs = np.zeros((count, 8 * self.signs.shape[0]), dtype=np.uint8)
        bits = np.packbits(rows.sentences[:, : self.dimensions] > 0, axis=1)
        signs[:, : bits.shape[1]] = bits
        entries, letters, hashes = self._entries(first, read["words"], read["counts"])
        added = len(rows), len(rows), len(rows), len(rows.tokens), len(entries)
        for each, more in zip(self._growing, added, strict=True):
            each.make_room(more)
        return NewRows(rows, details, signs.view(np.uint64).T, entries, letters, hashes, self._order_with(rows.table))

    def add(self, new: NewRows | None) -> None:
        """Add rows that were just read."""
        if new is None:
            return
        first, rows, life_of = len(self), new.rows, new.details["life"]
        parts = rows.table, new.details, rows.sentences.astype(np.float16), rows.tokens, new.entries
        for each, more in zip(self._growing, parts, strict=True):
            each.add(more)
        self.signs = np.concatenate((self.signs, new.signs), axis=1)
        self.alive = np.concatenate((self.alive, np.ones(len(rows), dtype=bool)))
        for life in range(len(LIVES)):
            of_life = np.flatnonzero(life_of == life)
            self.places[life] = _placed(self.places[life], new.details["place"][of_life], first + of_life)
        if len(new.letters):
            self._known = new.known
            self._spell(self.letters, new.letters)
        self.order = new.order

    def remove(self, rows: npt.NDArray[np.bool_]) -> None:
        """Mark some rows as gone."""
        gone = self.alive & rows
        if gone.any():
            self._removed += 1
            self.alive = self.alive & ~gone
            self.order = self.order[self.alive[self.order]]

    @property
    def is_untidy(self) -> bool:
        """Return whether `tidy` has something to do."""
        return self._tidied < self._removed or len(self._tail.values) > LEAST_TAIL + len(self._holders) // 8

    @property
    def is_wasteful(self) -> bool:
        """Return whether most rows are of memories that are gone or have newer rows."""
        gone = len(self) - int(self.alive.sum())
        return gone > LEAST_TAIL and 2 * gone > len(self)

    def lists(self) -> Lists:
        """Return the lists of words with the new entries, and the words, without the memories that are gone. Pure."""
        tail = self._tail.values
        words = np.concatenate((np.repeat(self._hashes, np.diff(self._starts)), tail["word"]))
        rows, times = np.concatenate((self._holders, tail["row"])), np.concatenate((self._times, tail["count"]))
        keep = self.alive[rows]
        words, rows, times = words[keep], rows[keep], times[keep]
        order = np.argsort(words, kind="stable")
        hashes, starts = np.unique(words[order], return_index=True)
        texts = self.letters.tobytes().decode().split()
        there = in_sorted(self._held_by(self.alive), hashes_of(texts))
        letters = _spelt(sorted(compress(texts, there.tolist())))
        return Lists(hashes, np.append(starts, len(words)).astype(np.int64), rows[order], times[order], letters)

    def tidy(self, lists: Lists) -> None:
        """Replace the lists, and overwrite what was read of memories that are gone. `lists`: of this moment."""
        self._hashes, self._starts, self._holders, self._times = lists.hashes, lists.starts, lists.holders, lists.times
        self._tail = Growing(self._tail.values.dtype)
        self._known = lists.hashes.copy()
        self._spell(lists.letters)
        self._sorted = len(lists.letters)
        gone = np.flatnonzero(~self.alive & (self.table["low"] != 0))
        self.table[gone] = np.zeros(1, dtype=TABLE)
        self._sentences.values[gone] = 0
        self.signs[:, gone] = 0
        starts = self.details["tokens_at"][gone]
        ends = np.append(self.details["tokens_at"], len(self._tokens.values))[gone + 1]
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            self._tokens.values[start:end] = 0
        self._tidied = self._removed

    def fading(self, count: int) -> list[UUID]:
        """Return some short-term memories, whose readings count: the next `count` with each call, around and around."""
        rows = np.flatnonzero(self.alive & self.table["fades"])
        start = self._looked if self._looked < len(rows) else 0
        self._looked = start + count
        return [UUID(bytes=memory_id) for memory_id in ids_of(self.table[rows[start : start + count]])]

    def set_readings(self, readings: Mapping[UUID, tuple[int, datetime]]) -> None:
        """Set how often some memories were read, and when last."""
        table = self.table
        read = np.array([memory_id.bytes for memory_id in readings], dtype="S16")
        for row in np.flatnonzero(self.alive & among(table, read)).tolist():
            (memory_id,) = ids_of(table[row : row + 1])
            count, at = readings[UUID(bytes=memory_id)]
            table["reads"][row], table["used"][row] = count, max(int(table["updated"][row]), moment_of(at))

    def counted(self) -> dict[str, LifeCounts]:
        """Return what the rows add up to, for comparison with what the database counts."""
        details = self.details[self.alive]
        return {
            life: LifeCounts(
                int(of_life.sum()),
                int(details["length"][of_life].sum()),
                0,
                int(details["vector"][of_life].sum()),
            )
            for number, life in enumerate(LIVES)
            if (of_life := details["life"] == number).any()
        }

    def entries(self, wanted: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], RowNumbers, Packed]:
        """Return where words with some hashes occur: the number of the word, the row, how often."""
        which: list[npt.NDArray[np.int64]] = []
        parts: list[slice] = []
        if len(self._hashes):
            at = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
            for number in np.flatnonzero(self._hashes[at] == wanted).tolist():
                part = slice(int(self._starts[at[number]]), int(self._starts[at[number] + 1]))
                which.append(np.full(part.stop - part.start, number, dtype=np.int64))
                parts.append(part)
        tail = self._tail.values
        order = np.argsort(wanted)
        found = np.minimum(np.searchsorted(wanted[order], tail["word"]), max(len(wanted) - 1, 0))
        there = np.flatnonzero(wanted[order][found] == tail["word"]) if len(wanted) else np.zeros(0, dtype=np.int64)
        return (
            np.concatenate([*which, order[found[there]]]),
            np.concatenate([*(self._holders[part] for part in parts), tail["row"][there]]).astype(np.int64),
            np.concatenate([*(self._times[part] for part in parts), tail["count"][there]]),
        )

    def vocabulary(self, selected: npt.NDArray[np.bool_], beginnings: Sequence[str]) -> Vocabulary:
        """Return the words of the selected rows that start with one of `beginnings`."""
        text = b" " + self.letters[: self._sorted].tobytes()
        words: list[str] = []
        for beginning in beginnings:
            first = text.find(b" " + beginning.encode())
            if first >= 0 and len(text) > 1:
                last = text.rfind(b" " + beginning.encode(), 0, len(text) - 1)
                words += text[first + 1 : text.find(b" ", last + 1)].decode().split(" ")[:MOST_WORDS]
        begins = tuple(beginnings)
        words += [word for word in self.letters[self._sorted :].tobytes().decode().split() if word.startswith(begins)]
        return Vocabulary(set(compress(words, in_sorted(self._held_by(selected), hashes_of(words)).tolist())))

    def _held_by(self, selected: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the hashes of the words of the selected rows, ascending."""
        tail = self._tail.values
        rows = np.zeros(len(self), dtype=bool)  # Some may have been added since the rows were selected.
        rows[: len(selected)] = selected
        there = tail["word"][rows[tail["row"]]]
        if len(self._holders):
            there = np.concatenate((self._hashes[np.maximum.reduceat(rows[self._holders], self._starts[:-1])], there))
        return np.unique(there)

    def with_key(self, namespace: str, key: str) -> RowNumbers:
        details = self.details
        wanted = hashes_of((namespace, key))
        named = (details["namespace"] == wanted[0]) & (details["key"] == wanted[1])
        return np.flatnonzero(named & self.alive & (details["life"] != LIVES.index("superseded")))

    def has_layer(self, layer: str) -> bool:
        """Return whether a memory of a layer is held."""
        return bool((self.alive & (self.details["layer"] == hashes_of([layer])[0])).any())

    def sentences_of(self, rows: RowNumbers) -> Floats:
        return self._sentences.values[rows].astype(np.float32)

    def tokens_of(self, rows: RowNumbers) -> list[Packed]:
        starts, counts = self.details["tokens_at"][rows], self.table["tokens"][rows] // TOKEN_BYTES
        tokens = self._tokens.values
        return [tokens[start : start + count] for start, count in zip(starts.tolist(), counts.tolist(), strict=True)]

    def _entries(
        self, first: int, words: Sequence[str], counts: Sequence[bytes]
    ) -> tuple[Table, Packed, npt.NDArray[np.int64]]:
        """Return the entries of new rows, the words that are not known yet, and the hashes of all words."""
        every = " ".join(words).split(" ")
        hashes = hashes_of(every)
        entries = np.zeros(sum(map(len, counts)), dtype=self._tail.values.dtype)
        # A memory without words has an empty text, which is no word.
        named = np.fromiter(map(bool, every), dtype=bool, count=len(every))
        entries["word"] = hashes[named]
        entries["row"] = first + np.repeat(np.arange(len(counts)), [len(each) for each in counts])
        entries["count"] = np.frombuffer(b"".join(counts), dtype=np.uint8)
        unique, at = np.unique(entries["word"], return_index=True)
        known = in_sorted(self._known, unique)
        texts = [word for word in every if word]
        letters = _spelt(texts[place] for place in at[~known].tolist())
        return entries, letters, np.union1d(self._known, unique[~known])

    def _spell(self, *letters: npt.NDArray[np.uint8]) -> None:
        """Replace the words of the audience, and overwrite those before."""
        before, self.letters = self.letters, np.concatenate(letters)
        before.fill(0)

    def _order_with(self, more: Table) -> RowNumbers:
        """Return the rows of conversations in order, with new rows: only their conversations are sorted again."""
        new = np.flatnonzero(more["session"])
        sessions = self.table["session"][self.order]
        changed = in_sorted(np.unique(more["session"][new]), sessions)
        numbers = np.concatenate((self.order[changed], len(self) + new))
        table = joined((self.table[self.order[changed]], more[new]))
        sorted_again = np.lexsort(tuple(table[name] for name in ("low", "high", "begins", "session")))
        at = np.searchsorted(sessions[~changed], table["session"][sorted_again])
        return np.insert(self.order[~changed], at, numbers[sorted_again])


def _spelt(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("".join(f"{word} " for word in words).encode(), dtype=np.uint8)


def _placed(at: npt.NDArray[np.int32], places: npt.NDArray[np.int32], rows: RowNumbers) -> npt.NDArray[np.int32]:
    """Return the rows by place, with some more."""
    if not len(places):
        return at
    grown = np.full(max(len(at), int(places.max()) + 1), -1, dtype=np.int32)
    grown[: len(at)] = at
    grown[places] = rows
    return grown
