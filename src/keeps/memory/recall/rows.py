"""Candidates as recall reads them: in columns, since hundreds are weighed at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import accumulate, compress
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.memory.recall.words import Layout, Positions
from keeps.models.embedder import Floats

NUMBERS = np.dtype(
    [
        ("id", "V16"),
        ("begins", ">i8"),
        ("ends", ">i8"),
        ("expires", ">i8"),
        ("used", ">i8"),
        ("importance", ">f8"),
        ("reads", ">i8"),
        ("sentence", ">i4"),
        ("tokens", ">i4"),
    ]
)
"""One candidate, as `recall_candidates` packs it.

Moments are in microseconds after 2000, as in PostgreSQL.
`sentence` and `tokens` are the sizes of its vectors in bytes, 0 without a vector.
"""
MOMENTS_FROM = datetime(2000, 1, 1, tzinfo=UTC)
SENTENCE_HEAD = 4
"""Bytes before the numbers of a halfvec in PostgreSQL's binary format."""
Turns = dict[bytes, tuple[Sequence[bytes], Sequence[bytes]]]
"""For each turn of a conversation, the ids of the turns before and after it, nearest first."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates: each has the same index in every column.

    `sentences` (in PostgreSQL's binary format) and `tokens` are empty where there is no vector yet.
    `positions`: positions in the postings that were read, -1 for memories outside them.
    """

    ids: list[bytes] = field(default_factory=list[bytes])
    numbers: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, dtype=NUMBERS))
    positions: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sessions: list[str | None] = field(default_factory=list[str | None])
    roles: list[str | None] = field(default_factory=list[str | None])
    speakers: list[str | None] = field(default_factory=list[str | None])
    openings: list[str] = field(default_factory=list[str])
    fades: list[bool] = field(default_factory=list[bool])
    archived: list[bool] = field(default_factory=list[bool])
    sentences: list[bytes] = field(default_factory=list[bytes])
    tokens: list[bytes] = field(default_factory=list[bytes])

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, name: str) -> npt.NDArray[Any]:
        """Return one numeric column, in native byte order."""
        column = self.numbers[name]
        return column.astype(column.dtype.newbyteorder("="))

    def only(self, wanted: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows at which `wanted` is true."""
        if wanted.all():
            return self
        chosen = wanted.tolist()

        def some(column: Any) -> Any:
            return column[wanted] if isinstance(column, np.ndarray) else list(compress(column, chosen))

        return Rows(**{each.name: some(getattr(self, each.name)) for each in fields(self)})

    def and_those(self, others: Rows) -> Rows:
        def both(one: Any, other: Any) -> Any:
            return np.concatenate((one, other)) if isinstance(one, np.ndarray) else one + other

        return Rows(**{each.name: both(getattr(self, each.name), getattr(others, each.name)) for each in fields(self)})

    def memory_id(self, position: int) -> UUID:
        return UUID(bytes=self.ids[position])

    def begins_at(self, position: int) -> datetime:
        return MOMENTS_FROM + timedelta(microseconds=int(self.numbers["begins"][position]))


def moment_of(time: datetime) -> int:
    """Return a time in microseconds after 2000."""
    return (time - MOMENTS_FROM) // timedelta(microseconds=1)


def read_rows(row: Mapping[str, Any], layout: Layout) -> Rows:
    """Read the one row of `recall_candidates`."""
    numbers = np.frombuffer(row["numbers"] or b"", dtype=NUMBERS)
    if not len(numbers):
        return Rows()
    return Rows(
        _cut(numbers["id"].tobytes(), [16] * len(numbers)),
        numbers,
        layout.positions(row["audiences"], row["lives"], row["places"]),
        row["sessions"],
        row["roles"],
        row["speakers"],
        row["openings"],
        row["fades"],
        row["archived"],
        _cut(row["sentences"] or b"", numbers["sentence"].tolist()),
        _cut(row["tokens"] or b"", numbers["tokens"].tolist()),
    )


def read_turns(packed: bytes | None) -> Turns:
    """Read groups of five ids: a turn, the two before it, the two after it; zero where there is none."""
    ids = _cut(packed or b"", [16] * (len(packed or b"") // 16))
    there = [turn_id if any(turn_id) else None for turn_id in ids]
    return {
        ids[start]: (
            [turn_id for turn_id in there[start + 1 : start + 3] if turn_id is not None],
            [turn_id for turn_id in there[start + 3 : start + 5] if turn_id is not None],
        )
        for start in range(0, len(ids), 5)
    }


def read_sentences(sent: Sequence[bytes]) -> Floats:
    """Return sentence vectors as one array, (n, dimensions), from the binary format of halfvec.

    Each is two 16-bit numbers, then the 16-bit floats, all big-endian.
    """
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)[:, 2:].astype(np.float32)


def _cut(joined: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Split concatenated values of the given sizes."""
    return [joined[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]
