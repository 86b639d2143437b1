"""Which vectors may be nearest, from the sign of each of their numbers: a bit in place of four bytes. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keeps.ai.embedder import Floats
from keeps.recall.words import Positions

KEPT_FOR_EACH = 8
"""So many times those that pass are compared once more by their signs and the numbers of the question."""
MANY = 5_000


@dataclass(frozen=True, slots=True)
class Near:
    """The best by signs, best first. `estimates`: of their cosine similarity, low but in order."""

    positions: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    estimates: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


class Nearest:
    """The vectors whose signs agree best with those of a question, of all that are shown to it. `passing`: how many."""

    def __init__(self, question: Floats, passing: int) -> None:
        self._question = question
        self._signs = np.packbits(question > 0)
        self._passing = passing
        self._positions: Positions = np.zeros(0, dtype=np.int64)
        self._distances = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, len(self._signs)), dtype=np.uint8)

    def see(self, packed: bytes, size: int, start: int) -> None:
        """`packed`: entries of a place (4 bytes, big-endian) and signs · `start`: the position of the first place."""
        entries = np.frombuffer(packed, dtype=np.dtype([("place", ">i4"), ("signs", "u1", (size - 4,))]))
        if size - 4 != len(self._signs):
            return
        rows = np.ascontiguousarray(entries["signs"])
        self._positions = np.concatenate([self._positions, entries["place"].astype(np.int64) + start])
        self._distances = np.concatenate([self._distances, _distances(rows, self._signs)])
        self._rows = np.concatenate([self._rows, rows])
        keep = KEPT_FOR_EACH * self._passing
        if len(self._distances) > keep:
            best = np.argpartition(self._distances, keep)[:keep]
            self._positions, self._distances, self._rows = (
                self._positions[best],
                self._distances[best],
                self._rows[best],
            )

    def best(self) -> Near:
        """Those that pass, best first. Of thousands all by their signs alone."""
        passing, dimensions = self._passing, len(self._question)
        if len(self._positions) > MANY and passing >= len(self._positions):
            order = np.argsort(self._distances, kind="stable")
            return Near(self._positions[order], 1 - 2 * self._distances[order] / dimensions)
        signs = np.unpackbits(self._rows, axis=1, count=dimensions).astype(np.float32)
        agreement = (2 * signs - 1) @ self._question / dimensions**0.5
        order = np.argsort(-agreement, kind="stable")[:passing]
        return Near(self._positions[order], agreement[order].astype(np.float64))


def _distances(rows: npt.NDArray[np.uint8], signs: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """How many signs differ."""
    wide = np.uint64 if rows.shape[1] % 8 == 0 else np.uint8
    return np.bitwise_count(rows.view(wide) ^ signs.view(wide)).sum(axis=1, dtype=np.int64)
