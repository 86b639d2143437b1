"""What recall reads of its candidates: in columns, since hundreds of them are weighed at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import accumulate, compress
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.ai.embedder import Floats
from keeps.recall.words import Layout, Positions

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
"""Of each candidate, as `recall_candidates` packs it. Moments are in microseconds after 2000, as PostgreSQL keeps them;
`sentence` and `tokens` say how many bytes its vectors have, 0 where there are none."""
MOMENTS_FROM = datetime(2000, 1, 1, tzinfo=UTC)
SENTENCE_HEAD = 4
"""Bytes before the numbers of a halfvec, as PostgreSQL sends it."""
Turns = dict[bytes, tuple[Sequence[bytes], Sequence[bytes]]]
"""Of a turn of a conversation, by their ids, those before it and after it, nearest first."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates, each in one place of every column. `sentences` (as PostgreSQL sends them) and `tokens` are empty
    where there is no vector yet. `positions`: in what was read of words, -1 for those that were not there."""

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
        """One of the numbers of all, in the order of this machine."""
        column = self.numbers[name]
        return column.astype(column.dtype.newbyteorder("="))

    def only(self, wanted: npt.NDArray[np.bool_]) -> Rows:
        """Those that are wanted."""
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
    """In microseconds after 2000."""
    return (time - MOMENTS_FROM) // timedelta(microseconds=1)


def read_rows(row: Mapping[str, Any], layout: Layout) -> Rows:
    """From the one row of `recall_candidates`."""
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
    """From groups of five ids: a turn, two before it, two after it; zero where there is none."""
    ids = _cut(packed or b"", [16] * (len(packed or b"") // 16))
    there = [each if any(each) else None for each in ids]
    return {
        ids[start]: (
            [each for each in there[start + 1 : start + 3] if each is not None],
            [each for each in there[start + 3 : start + 5] if each is not None],
        )
        for start in range(0, len(ids), 5)
    }


def read_sentences(sent: Sequence[bytes]) -> Floats:
    """Sentence vectors as one array, (n, dimensions), from the binary form of halfvec: two 16-bit numbers, then the
    16-bit floats, all big-endian."""
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)[:, 2:].astype(np.float32)


def _cut(joined: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Values that were sent one after the other, each of a size."""
    return [joined[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]
