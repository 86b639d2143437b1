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
from keeps.recall.words import Spot

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
    where there is no vector yet."""

    ids: list[bytes] = field(default_factory=list[bytes])
    numbers: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, dtype=NUMBERS))
    sessions: list[str | None] = field(default_factory=list[str | None])
    roles: list[str | None] = field(default_factory=list[str | None])
    speakers: list[str | None] = field(default_factory=list[str | None])
    openings: list[str] = field(default_factory=list[str])
    fades: list[bool] = field(default_factory=list[bool])
    sentences: list[bytes] = field(default_factory=list[bytes])
    tokens: list[bytes] = field(default_factory=list[bytes])
    spots: list[Spot | None] = field(default_factory=list[Spot | None])

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
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        numbers = columns.pop("numbers")[wanted]
        return Rows(**{name: list(compress(column, chosen)) for name, column in columns.items()}, numbers=numbers)

    def and_those(self, others: Rows) -> Rows:
        columns = {each.name: getattr(self, each.name) + getattr(others, each.name) for each in fields(self)[2:]}
        return Rows(self.ids + others.ids, np.concatenate((self.numbers, others.numbers)), **columns)

    def memory_id(self, position: int) -> UUID:
        return UUID(bytes=self.ids[position])

    def begins_at(self, position: int) -> datetime:
        return MOMENTS_FROM + timedelta(microseconds=int(self.numbers["begins"][position]))


def moment_of(time: datetime) -> int:
    """In microseconds after 2000."""
    return (time - MOMENTS_FROM) // timedelta(microseconds=1)


def read_rows(row: Mapping[str, Any]) -> Rows:
    """From the one row of `recall_candidates`."""
    numbers = np.frombuffer(row["numbers"] or b"", dtype=NUMBERS)
    if not len(numbers):
        return Rows()
    places = zip(row["audiences"], row["lives"], row["places"], strict=True)
    return Rows(
        _cut(numbers["id"].tobytes(), [16] * len(numbers)),
        numbers,
        row["sessions"],
        row["roles"],
        row["speakers"],
        row["openings"],
        row["fades"],
        _cut(row["sentences"] or b"", numbers["sentence"].tolist()),
        _cut(row["tokens"] or b"", numbers["tokens"].tolist()),
        [None if place is None else Spot(audience, life, place) for audience, life, place in places],
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
