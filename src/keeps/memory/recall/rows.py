"""Candidates as recall reads them: in columns, since hundreds are weighed at once. Pure.

Texts become numbers where they are read: names of conversations and openings are compared by `hash`, which differs
from process to process, and what ranking asks of an opening is a flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate, compress
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.base.text.asks import only_asks
from keeps.base.text.words import words_of
from keeps.memory.recall.cues import states_preference
from keeps.memory.recall.updates import statement_key
from keeps.memory.recall.words import Layout, Positions
from keeps.models.embedder import Floats
from keeps.models.token_vectors import TOKEN_BYTES

NUMBERS = np.dtype(
    [
        ("high", ">u8"),
        ("low", ">u8"),
        ("begins", ">i8"),
        ("ends", ">i8"),
        ("expires", ">i8"),
        ("updated", ">i8"),
        ("used", ">i8"),
        ("importance", ">f8"),
        ("reads", ">i8"),
        ("sentence", ">i4"),
        ("tokens", ">i4"),
    ]
)
"""One candidate, as `recall_candidates` packs it.

`high` and `low` are the halves of its id. Moments are in microseconds after 2000, as in PostgreSQL.
`sentence` and `tokens` are the sizes of its vectors in bytes, 0 without a vector.
"""
NAME_PARTS, LEAST_LETTERS = 4, 3
"""Number of parts of a speaker's name that a question may mention, and the letters that a part has at least."""
TABLE = np.dtype(
    [
        *((name, NUMBERS[name].newbyteorder("=")) for name in NUMBERS.names or ()),
        ("session", "i8"),
        ("opening", "i8"),
        ("statement", "i8"),
        ("speaker", "i8", (NAME_PARTS,)),
        ("assistant", "?"),
        ("fades", "?"),
        ("archived", "?"),
        ("asks", "?"),
        ("states", "?"),
        ("question", "?"),
    ]
)
"""The columns that ranking reads of each candidate.

`session`, `opening` and the parts of `speaker` are hashes, 0 for none; `statement` is `statement_key` of the opening.
`asks`, `states`, `question`: the opening only asks, states a preference, contains a question mark.
"""
MOMENTS_FROM = datetime(2000, 1, 1, tzinfo=UTC)
SENTENCE_HEAD = 4
"""Bytes before the numbers of a halfvec in PostgreSQL's binary format."""
BESIDE = 2
"""Number of turns before and after a turn of a conversation that are read with it."""
Turns = npt.NDArray[np.bytes_]
"""Ids of turns in their order, (n, 2 * BESIDE + 1): those before a turn, the turn, those after; empty for none."""
Table = npt.NDArray[np.void]
Packed = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates: each has the same index in every column.

    `sentences`: (n, dimensions), zero where there is no vector of these dimensions.
    `tokens`: the packed word vectors of all, one after the other; `table["tokens"]` has the bytes of each.
    `openings`: empty where `table` has the statement of each.
    `positions`: positions in the postings that were read, -1 for memories outside them.
    """

    table: Table = field(default_factory=lambda: np.zeros(0, dtype=TABLE))
    positions: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sentences: Floats = field(default_factory=lambda: np.zeros((0, 1), dtype=np.float32))
    has_vector: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    tokens: Packed = field(default_factory=lambda: np.zeros((0, TOKEN_BYTES), dtype=np.uint8))
    openings: list[str] = field(default_factory=list[str])

    def __len__(self) -> int:
        return len(self.table)

    @property
    def token_counts(self) -> npt.NDArray[np.int64]:
        return (self.table["tokens"] // TOKEN_BYTES).astype(np.int64)

    def ids(self) -> list[bytes]:
        return ids_of(self.table)

    def only(self, wanted: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows at which `wanted` is true."""
        if wanted.all():
            return self
        return Rows(
            self.table[wanted],
            self.positions[wanted],
            self.sentences[wanted],
            self.has_vector[wanted],
            self.tokens[np.repeat(wanted, self.token_counts)],
            list(compress(self.openings, wanted.tolist())),
        )

    def in_order(self, order: npt.NDArray[np.intp]) -> Rows:
        """Return the rows in another order."""
        counts = self.token_counts
        ends = np.cumsum(counts)
        tokens = [self.tokens[ends[at] - counts[at] : ends[at]] for at in order.tolist()]
        return Rows(
            self.table[order],
            self.positions[order],
            self.sentences[order],
            self.has_vector[order],
            np.concatenate(tokens),
            [self.openings[at] for at in order.tolist()] if self.openings else [],
        )

    def and_those(self, *others: Rows) -> Rows:
        """Return these rows and those of others, in their order."""
        parts = [self, *(part for part in others if len(part))]
        if len(parts) == 1:
            return self
        return Rows(
            joined([part.table for part in parts]),
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.sentences for part in parts]),
            np.concatenate([part.has_vector for part in parts]),
            np.concatenate([part.tokens for part in parts]),
            [opening for part in parts for opening in part.openings],
        )

    def statements(self, positions: Sequence[int]) -> list[int]:
        """Return the `statement_key` of some candidates."""
        if self.openings:
            return [statement_key(self.openings[position]) for position in positions]
        return self.table["statement"][np.array(positions, dtype=np.int64)].tolist()

    def tokens_of(self, position: int) -> Packed:
        """Return the packed word vectors of one candidate."""
        end = int(self.token_counts[: position + 1].sum())
        return self.tokens[end - int(self.token_counts[position]) : end]

    def memory_id(self, position: int) -> UUID:
        return UUID(int=int(self.table["high"][position]) << 64 | int(self.table["low"][position]))

    def begins_at(self, position: int) -> datetime:
        return MOMENTS_FROM + timedelta(microseconds=int(self.table["begins"][position]))


def moment_of(time: datetime) -> int:
    """Return a time in microseconds after 2000."""
    return (time - MOMENTS_FROM) // timedelta(microseconds=1)


def keys_of(table: Table) -> npt.NDArray[np.bytes_]:
    """Return the ids of rows, as values that numpy compares and sorts like the ids."""
    halves = np.empty((len(table), 2), dtype=">u8")
    halves[:, 0], halves[:, 1] = table["high"], table["low"]
    return halves.view("S16").ravel()


def ids_of(table: Table) -> list[bytes]:
    """Return the ids of rows, as bytes."""
    return cut(keys_of(table).tobytes(), [16] * len(table))


def among(table: Table, keys: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bool_]:
    """Return which rows have one of some ids. `numpy.isin` sorts all rows; this does not."""
    if not len(keys):
        return np.zeros(len(table), dtype=bool)
    halves = np.unique(keys).view(">u8").reshape(-1, 2).astype(np.uint64)
    halves = halves[np.argsort(halves[:, 1], kind="stable")]
    if len(np.unique(halves[:, 1])) < len(halves):
        return np.isin(keys_of(table), keys)
    found = np.minimum(np.searchsorted(halves[:, 1], table["low"]), len(halves) - 1)
    return (halves[found, 1] == table["low"]) & (halves[found, 0] == table["high"])


def in_sorted(values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which of `wanted` are among some sorted values."""
    if not len(values):
        return np.zeros(len(wanted), dtype=bool)
    return values[np.minimum(np.searchsorted(values, wanted), len(values) - 1)] == wanted


def no_turns(count: int) -> Turns:
    return np.zeros((count, 2 * BESIDE + 1), dtype="S16")


def joined(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables: `numpy.concatenate` compares all fields of each first."""
    raw = f"V{tables[0].dtype.itemsize}"
    return np.concatenate([table.view(raw) for table in tables]).view(tables[0].dtype)


def hashes_of(texts: Iterable[str | None]) -> npt.NDArray[np.int64]:
    """Return a number for each text, 0 for None."""
    return np.fromiter((0 if text is None else hash(text) or 1 for text in texts), dtype=np.int64)


def name_parts(words: Iterable[str]) -> list[int]:
    """Return a number for each word that a question may mention as part of a name."""
    return [hash(word) or 1 for word in words if len(word) >= LEAST_LETTERS]


def read_rows(row: Mapping[str, Any], layout: Layout, dimensions: int, *, advice: bool, kept: bool = False) -> Rows:
    """Read the one row of `recall_candidates`.

    `dimensions`: those of the vectors to read, 0 for none.
    `advice`: read which openings state a preference. `kept`: read all that any question needs, and no openings.
    """
    numbers = np.frombuffer(row["numbers"] or b"", dtype=NUMBERS)
    if not len(numbers):
        return Rows(sentences=np.zeros((0, max(dimensions, 1)), dtype=np.float32))
    table = np.zeros(len(numbers), dtype=TABLE)
    for name in NUMBERS.names or ():
        table[name] = numbers[name]
    openings, roles = row["openings"], row["roles"]
    table["session"] = hashes_of(row["sessions"])
    table["opening"] = hashes_of(openings)
    if kept:
        table["statement"] = np.fromiter(map(statement_key, openings), dtype=np.int64)
    if kept or advice:
        table["states"] = list(map(states_preference, openings, roles))
    table["speaker"] = _speakers(row["speakers"])
    table["assistant"] = [role == "assistant" for role in roles]
    table["fades"], table["archived"] = row["fades"], row["archived"]
    table["asks"] = list(map(only_asks, openings))
    table["question"] = ["?" in opening for opening in openings]
    sentences = np.zeros((len(table), max(dimensions, 1)), dtype=np.float32)
    # An earlier model with the same name may have produced vectors of another size.
    has_vector = table["sentence"] == SENTENCE_HEAD + 2 * dimensions
    if has_vector.all():
        sentences[:] = read_sentences([row["sentences"]], len(table))
    elif has_vector.any():
        vectors = cut(row["sentences"], table["sentence"].tolist())
        some = [vectors[each] for each in np.flatnonzero(has_vector).tolist()]
        sentences[has_vector] = read_sentences(some, len(some))
    tokens = np.frombuffer(row["tokens"] or b"", dtype=np.uint8).reshape(-1, TOKEN_BYTES)
    positions = layout.positions(row["audiences"], row["lives"], row["places"])
    return Rows(table, positions, sentences, has_vector, tokens, [] if kept else openings)


def read_turns(packed: bytes | None) -> Turns:
    """Read groups of five ids: a turn, the two before it, the two after it, nearest first; zero where there is none."""
    return np.frombuffer(packed or b"", dtype="S16").reshape(-1, 2 * BESIDE + 1)[:, [2, 1, 0, 3, 4]]


def read_sentences(sent: Sequence[bytes], count: int) -> Floats:
    """Return sentence vectors as one array, (count, dimensions), from the binary format of halfvec.

    Each is two 16-bit numbers, then the 16-bit floats, all big-endian.
    """
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(count, -1)[:, 2:].astype(np.float32)


def cut(joined: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Split concatenated values of the given sizes."""
    return [joined[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def _speakers(names: Sequence[str | None]) -> npt.NDArray[np.int64]:
    """Return the numbers of the parts of each speaker's name, (n, NAME_PARTS)."""
    parts: dict[str | None, list[int]] = {}
    for name in set(names):
        found = name_parts(words_of(name or ""))[:NAME_PARTS]
        parts[name] = found + [0] * (NAME_PARTS - len(found))
    return np.array([parts[name] for name in names], dtype=np.int64).reshape(-1, NAME_PARTS)
