"""The words of a memory as the database keeps them. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packed:
    """`words`: each once, with spaces between · `counts`: how often each, a byte a word, at most 255 · `total`: how
    many words that is."""

    words: str
    counts: bytes
    total: int


NO_WORDS = Packed("", b"", 0)


def pack(counts: Counter[str]) -> Packed:
    """Search terms have no spaces inside."""
    often = bytes(min(count, 255) for count in counts.values())
    return Packed(" ".join(counts), often, sum(often))
