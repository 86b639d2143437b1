"""Find the memories that contain the words of a question, from lists of postings. Pure.

An audience numbers its memories: each has a place in each part of its life. Audiences that a transaction reads are
laid end to end, so one number, the position, identifies a memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from keeps.base.text.words import terms_of
from keeps.memory.recall.bm25 import Scores, TextMatches

ENTRY = np.dtype([("place", ">i4"), ("session", ">i4"), ("length", ">u2"), ("count", "u1")])
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Postings:
    """Postings of some words in one audience and one part of its life.

    `packed`: the lists, one after the other.
    `common_counts`: how many memories contain each word whose list was not read, since many do.
    `folded_to`: first place of the newest memories, which are not in lists yet and come with all their words.
    `signs`: signs of the newest vectors, `sign_size` bytes each, including the place.
    `part_firsts`, `part_versions`: the rows that contain the signs of the other vectors.
    `archived`: one of the audiences has archived memories.
    """

    audience: str
    life: str
    memories: int
    words: int
    next_place: int
    folded_to: int = 0
    list_words: Sequence[str] = ()
    list_sizes: Sequence[int] = ()
    packed: bytes = b""
    common_words: Sequence[str] = ()
    common_counts: Sequence[int] = ()
    new_places: Sequence[int] = ()
    new_sessions: Sequence[int] = ()
    new_lengths: Sequence[int] = ()
    new_words: Sequence[str] = ()
    new_counts: Sequence[bytes] = ()
    sign_size: int = 0
    signs: bytes = b""
    part_firsts: Sequence[int] = ()
    part_versions: Sequence[str] = ()
    archived: bool = False


class Layout:
    """Audiences laid end to end."""

    def __init__(self, held: Sequence[Postings]) -> None:
        self._held = [(each.audience, each.life) for each in held]
        ends = np.cumsum([0, *(each.next_place for each in held)])
        self._starts: Positions = ends[:-1].astype(np.int64)
        self._ends = dict(zip(self._held, pairwise(ends.tolist()), strict=True))

    def parts(self) -> list[tuple[str, str, int]]:
        """Return each audience and life, with the position at which it begins."""
        return [(*who, start) for who, start in zip(self._held, self._starts.tolist(), strict=True)]

    def same(self, other: Layout) -> bool:
        """Return whether positions mean the same in both: memories may have been added between two statements."""
        return self._held == other._held and bool((self._starts == other._starts).all())

    def places(self, positions: Positions) -> tuple[list[str], list[str], list[int]]:
        """Return the audience, the life and the place of each position."""
        of = np.searchsorted(self._starts, positions, side="right") - 1
        parts = [self._held[which] for which in of.tolist()]
        places = (positions - self._starts[of]).tolist()
        return [audience for audience, _ in parts], [life for _, life in parts], places

    def positions(
        self, audiences: Iterable[str | None], lives: Iterable[str | None], places: Iterable[int | None]
    ) -> Positions:
        """Return the positions of memories at some places; -1 for places that are missing or not read."""
        ends = self._ends

        def position(audience: str | None, life: str | None, place: int | None) -> int:
            start, end = ends.get((audience or "", life or ""), (0, 0))
            return start + place if place is not None and start + place < end else -1

        return np.array(list(map(position, audiences, lives, places)), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class WordMatches:
    """Memories that contain words of a question.

    `memories`, `words`: number of memories in the audience, and of their words.
    `positions`: of the memories, ascending; row i of `matches` belongs to position i.
    `left_out`: how many memories contain each term that most contain, and are not in `matches` for it.
    """

    memories: int
    words: int
    positions: Positions
    matches: TextMatches
    left_out: Scores


@dataclass(slots=True)
class WordScores:
    """Memories by text, ascending by position, with the scores of each and of its conversation."""

    positions: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    text: Scores = field(default_factory=lambda: np.zeros(0))
    session: Scores = field(default_factory=lambda: np.zeros(0))

    def best(self, depth: int) -> Positions:
        """Return the `depth` best positions, best first; the older first among equals."""
        rows = np.arange(len(self.text))
        if len(rows) > depth:
            rows = np.flatnonzero(self.text >= np.partition(self.text, len(rows) - depth)[len(rows) - depth])
        return self.positions[rows[np.argsort(-self.text[rows], kind="stable")][:depth]]

    def at(self, wanted: Positions) -> tuple[Scores, Scores]:
        """Return the scores of some memories and of their conversations; 0 for a memory without matching words."""
        if not len(self.positions) or not len(wanted):
            return np.zeros(len(wanted)), np.zeros(len(wanted))
        found = np.minimum(np.searchsorted(self.positions, wanted), len(self.positions) - 1)
        there = self.positions[found] == wanted
        return np.where(there, self.text[found], 0.0), np.where(there, self.session[found], 0.0)

    def add(self, positions: Positions, points: Scores) -> None:
        """Add points to the text scores of some memories (each once); some may be new here."""
        together = np.union1d(self.positions, positions)
        text, session = np.zeros(len(together)), np.zeros(len(together))
        existing = np.searchsorted(together, self.positions)
        text[existing], session[existing] = self.text, self.session
        text[np.searchsorted(together, positions)] += points
        self.positions, self.text, self.session = together, text, session


@dataclass(frozen=True, slots=True)
class Holders:
    """The words of a question that each memory contains. Row i of `matches` belongs to position i.

    `left_out`: words that were not searched since most memories contain them.
    """

    terms: Sequence[str] = ()
    positions: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    matches: TextMatches | None = None
    left_out: frozenset[str] = frozenset()

    def words_at(self, position: int, text: str) -> list[str]:
        """Return the words that the memory at a position contains, in the order of the question.

        `text`: the text in which `left_out` words are searched.
        """
        contained = self.left_out.intersection(terms_of(text)) if self.left_out else set[str]()
        row = int(np.searchsorted(self.positions, position))
        if self.matches is not None and row < len(self.positions) and self.positions[row] == position:
            contained = contained.union(
                self.terms[int(term)] for term in self.matches.columns[self.matches.rows == row]
            )
        return [term for term in self.terms if term in contained]


def read_matches(held: Sequence[Postings], terms: Sequence[str]) -> WordMatches:
    """Return the memories that contain one of the words, and their counts, without very common words."""
    column = {term: number for number, term in enumerate(terms)}
    parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.void]]] = []
    starts: list[int] = []
    start = 0
    for audience in held:
        lists = np.frombuffer(audience.packed, dtype=ENTRY)
        sizes = np.array(audience.list_sizes, dtype=np.int64) // ENTRY.itemsize
        of = np.repeat(np.array([column[word] for word in audience.list_words], dtype=np.int64), sizes)
        rarer = {word: number for word, number in column.items() if word not in audience.common_words}
        for part in ((of, lists), _new_entries(audience, rarer)):
            if len(part[0]):
                parts.append(part)
                starts.append(start)
        start += audience.next_place
    left_out = left_out_of(held, terms)
    memories, words = sum(audience.memories for audience in held), sum(audience.words for audience in held)
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        positions, matches = matches_of(len(terms), none, none, none, none, none, 0)
        return WordMatches(memories, words, positions, matches, left_out)
    which = np.concatenate([columns for columns, _ in parts])
    where = np.concatenate([some["place"] + np.int64(begin) for (_, some), begin in zip(parts, starts, strict=True)])
    entries = np.concatenate([some for _, some in parts])
    positions, matches = matches_of(
        len(terms), which, where, entries["session"], entries["length"], entries["count"], start
    )
    return WordMatches(memories, words, positions, matches, left_out)


def matches_of(
    terms: int,
    which: npt.NDArray[np.int64],
    where: Positions,
    session: npt.NDArray[Any],
    length: npt.NDArray[Any],
    count: npt.NDArray[Any],
    size: int,
) -> tuple[Positions, TextMatches]:
    """Return the memories of some entries, ascending by position, and the entries by memory.

    Entry i: the memory at position `where[i]` contains term `which[i]`, `count[i]` times. `size`: number of positions.
    """
    order = np.argsort(which.astype(np.uint8), kind="stable")  # Sums of floats depend on the order.
    which, where = which[order], where[order]
    unique, row = _numbered(where, size)
    lengths: npt.NDArray[np.float64] = np.zeros(len(unique))
    lengths[row] = length[order]
    sessions: npt.NDArray[np.int64] = np.zeros(len(unique), dtype=np.int64)
    sessions[row] = session[order]
    return unique, TextMatches(terms, row, which, count[order].astype(np.float64), lengths, sessions)


def left_out_of(held: Sequence[Postings], terms: Sequence[str]) -> Scores:
    """Return how many memories contain each term whose list was not read."""
    entries = dict.fromkeys(terms, 0)
    for audience in held:
        for word, count in zip(audience.common_words, audience.common_counts, strict=True):
            entries[word] += int(count)
    return np.array(list(entries.values()), dtype=np.float64)


def _new_entries(held: Postings, column: dict[str, int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.void]]:
    """Return the entries of memories that are not in lists yet."""
    words = " ".join(held.new_words).split(" ")
    columns = np.fromiter(map(column.get, words, repeat(-1)), dtype=np.int64, count=len(words))
    there = np.flatnonzero(columns >= 0)
    # Each memory has one count per word.
    memory = np.repeat(np.arange(len(held.new_counts)), [len(each) for each in held.new_counts])[there]
    entries = np.empty(len(there), dtype=ENTRY)
    entries["place"] = np.array(held.new_places, dtype=np.int64)[memory]
    entries["session"] = np.array(held.new_sessions, dtype=np.int64)[memory]
    entries["length"] = np.minimum(np.array(held.new_lengths, dtype=np.int64)[memory], 32_767)
    entries["count"] = np.frombuffer(b"".join(held.new_counts), dtype=np.uint8)[there]
    return columns[there], entries


def _numbered(positions: Positions, size: int) -> tuple[Positions, npt.NDArray[np.int64]]:
    """Return the distinct positions, ascending, and the index of each given position among them.

    Avoids sorting if the range of positions is small.
    """
    if size > 16 * len(positions) + 100_000:
        unique, inverse = np.unique(positions, return_inverse=True)
        return unique, inverse.astype(np.int64)
    seen = np.zeros(size, dtype=bool)
    seen[positions] = True
    unique = np.flatnonzero(seen).astype(np.int64)
    number = np.zeros(size, dtype=np.int32)
    number[unique] = np.arange(len(unique), dtype=np.int32)
    return unique, number[positions].astype(np.int64)
