"""Select vectors that may be nearest by the sign of each number: one bit instead of four bytes. Pure.

Signs are stored in columns of 64 dimensions, so that a question is compared with all vectors of an audience in one
pass per column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keeps.memory.recall.words import Positions
from keeps.models.embedder import Floats

KEPT_FOR_EACH = 8
"""Candidates kept per result; they are compared again by their signs and the question's numbers."""
MANY = 5_000
SIGNS_OF_BYTES = 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) - 1
"""1 and -1 for the bits of each byte, (256, 8)."""
Columns = npt.NDArray[np.uint64]
"""Shape: (words of 64 signs, vectors)."""


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of vectors, each with the place of its memory.

    `parts`: the rows they were read from, by first place, each with the row's version and its number of vectors; the
    vectors of consecutive parts are adjacent.
    """

    places: npt.NDArray[np.int32]
    columns: Columns
    parts: Mapping[int, tuple[str, int]]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.places.nbytes + self.columns.nbytes


def read_signs(packed: bytes, size: int) -> tuple[npt.NDArray[np.int32], Columns]:
    """Return the places and sign columns of packed entries.

    `packed`: entries of `size` bytes, each a place (4 bytes, big-endian) and signs.
    """
    entries = np.frombuffer(packed, dtype=np.dtype([("place", ">i4"), ("signs", "u1", (size - 4,))]))
    words = -(-(size - 4) // 8)
    rows = np.zeros((len(entries), 8 * words), dtype=np.uint8)
    rows[:, : size - 4] = entries["signs"]
    return entries["place"].astype(np.int32), np.ascontiguousarray(rows.view(np.uint64).T)


def joined(before: Signs | None, wanted: Mapping[int, str], read: Mapping[int, tuple[bytes, int]]) -> Signs | None:
    """Return an audience's signs: each part in `wanted` (by version) comes from `before` or from what was just read.

    None if neither contains any of them.
    """
    places: list[npt.NDArray[np.int32]] = []
    columns: list[Columns] = []
    parts: dict[int, tuple[str, int]] = {}
    starts: dict[int, int] = {}
    if before is not None:
        start = 0
        for first, (_, count) in before.parts.items():
            starts[first], start = start, start + count
    for first, version in sorted(wanted.items()):
        if first in read:
            some, signs = read_signs(*read[first])
        elif before is not None and before.parts.get(first, ("", 0))[0] == version:
            part = slice(starts[first], starts[first] + before.parts[first][1])
            some, signs = before.places[part], before.columns[:, part]
        else:
            continue
        if columns and signs.shape[0] != columns[0].shape[0]:
            continue  # The model had the same name but other dimensions.
        places.append(some)
        columns.append(signs)
        parts[first] = version, len(some)
    return Signs(np.concatenate(places), np.concatenate(columns, axis=1), parts) if places else None


class Nearest:
    """Collects the `passing` vectors whose signs agree best with the question's."""

    def __init__(self, question: Floats, passing: int) -> None:
        self._question = question
        self._signs = _words(question > 0)
        self._passing = passing
        self._positions: list[Positions] = []
        self._distances: list[npt.NDArray[np.uint16]] = []
        self._columns: list[Columns] = []

    def see(
        self,
        places: npt.NDArray[np.int32] | Positions,
        columns: Columns,
        start: int,
        allowed: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Compare some vectors with the question.

        `start`: position of place 0. `allowed`: the vectors that may pass; all by default.
        """
        if columns.shape[0] != len(self._signs) or not len(places):
            return
        distances = np.zeros(len(places), dtype=np.uint16)
        for column, signs in zip(columns, self._signs, strict=True):
            distances += np.bitwise_count(column ^ signs)
        if allowed is not None:
            distances, places = distances[allowed], places[allowed]
        likely = self._likely(distances)
        self._positions.append(places[likely].astype(np.int64) + start)
        self._distances.append(distances[likely])
        self._columns.append(columns[:, likely if allowed is None else allowed[likely]])

    def _likely(self, distances: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64] | slice:
        """Return the vectors with the smallest distances, including all ties of the last one."""
        keep = KEPT_FOR_EACH * self._passing
        if len(distances) <= keep:
            return slice(None)
        # Distances are small integers, so counting replaces sorting.
        reached = np.bincount(distances).cumsum()
        return np.flatnonzero(distances <= np.searchsorted(reached, keep)).astype(np.int64)

    def best(self, seen: int = 0) -> Positions:
        """Return the positions that pass, best first. Thousands of them are ranked by their signs alone.

        `seen`: number of vectors that were compared, if only some of them were allowed.
        """
        if not self._positions:
            return np.zeros(0, dtype=np.int64)
        distances = np.concatenate(self._distances)
        likely = self._likely(distances)
        # A part that was folded between two statements may occur twice.
        positions, first = np.unique(np.concatenate(self._positions)[likely], return_index=True)
        if (seen or len(positions)) > MANY and self._passing >= len(positions):
            return positions[np.argsort(distances[likely][first], kind="stable")]
        rows = np.ascontiguousarray(np.concatenate(self._columns, axis=1)[:, likely][:, first].T)
        signs = rows.view(np.uint8)[:, : -(-len(self._question) // 8)]
        agreement = _sums(self._question).take(signs + 256 * np.arange(signs.shape[1])).sum(axis=1)
        return positions[np.argsort(-agreement, kind="stable")[: self._passing]]


def _sums(question: Floats) -> Floats:
    """Return the dot products of the question's numbers with all combinations of eight signs: (bytes, 256)."""
    whole = np.zeros(8 * -(-len(question) // 8), dtype=np.float32)
    whole[: len(question)] = question
    return whole.reshape(-1, 8) @ SIGNS_OF_BYTES.T


def _words(signs: npt.NDArray[np.bool_]) -> Sequence[np.uint64]:
    packed = np.packbits(signs)
    whole = np.zeros(8 * -(-len(packed) // 8), dtype=np.uint8)
    whole[: len(packed)] = packed
    return list(whole.view(np.uint64))
