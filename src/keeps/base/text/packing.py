"""Pack the words of a memory in the form that the database stores. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packed:
    """The words of a memory with their counts.

    `words`: distinct words, separated by spaces.
    `counts`: one byte per word, at most 255.
    `total`: sum of the counts.
    """

    words: str
    counts: bytes
    total: int


NO_WORDS = Packed("", b"", 0)


def pack(counts: Counter[str]) -> Packed:
    """Pack counted search terms, which contain no spaces."""
    often = bytes(min(count, 255) for count in counts.values())
    return Packed(" ".join(counts), often, sum(often))
