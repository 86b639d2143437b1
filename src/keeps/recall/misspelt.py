"""Words that look like another: probably a name that is misspelt. Pure.

Alike are words with many parts of three letters in common, as in PostgreSQL's pg_trgm: two spaces stand before a word
and one after it, and what counts is the stretch of the other word between the first and the last shared part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

LOOKS_LIKE = 0.45
MAX_ALIKE = 20
MOST_WORDS = 50_000
"""With so many a word is compared: of texts that hold more there is no end."""
_CONFUSED = ("ckq", "sz", "gj", "iye", "aeo", "fpv", "vw", "xz")
"""Letters at the beginning of names that are written for one another."""


def first_letters(word: str) -> list[str]:
    """With which letters a word may begin that `word` stands for: the first may be wrong, swapped or too much."""
    likely = [word[0], word[1], *(letter for group in _CONFUSED if word[0] in group for letter in group)]
    return list(dict.fromkeys(likely))


class Vocabulary:
    """Words, prepared to be compared with others."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = sorted(islice(words, MOST_WORDS))
        text = "  " + "   ".join(self.words) + " "
        letters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
        self.seen = _codes(letters) if self.words else np.zeros(0, dtype=np.uint64)
        lengths = np.fromiter((len(each) + 3 for each in self.words), dtype=np.int64, count=len(self.words))
        self.starts = np.cumsum(lengths) - lengths

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 1_000 + self.seen.nbytes + self.starts.nbytes + 64 * len(self.words)


def alike(word: str, vocabulary: Vocabulary) -> dict[str, float]:
    """Those words of a vocabulary that look like `word`, with how much, 0 to 1."""
    parts, others = _parts(word), vocabulary.words
    if not others:
        return {}
    shared = np.zeros(len(others), dtype=np.int64)
    for part in parts:
        here = np.flatnonzero(vocabulary.seen == _codes(np.array([ord(each) for each in part], dtype=np.uint64))[0])
        shared[np.unique(np.searchsorted(vocabulary.starts, here, side="right") - 1)] += 1
    likely = np.flatnonzero(shared >= LOOKS_LIKE * len(parts))
    found = {others[which]: _likeness(parts, others[which]) for which in likely.tolist()}
    return likest({other: how for other, how in found.items() if how >= LOOKS_LIKE})


def likest(found: Mapping[str, float]) -> dict[str, float]:
    """Those that look most like it, best first."""
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MAX_ALIKE])


def _parts(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def _codes(letters: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Each three letters in a row as one number."""
    shift = np.uint64(21)
    return (((letters[:-2] << shift) | letters[1:-1]) << shift) | letters[2:]


def _likeness(parts: set[str], other: str) -> float:
    padded = f"  {other} "
    flags = [padded[start : start + 3] in parts for start in range(len(padded) - 2)]
    first, last = flags.index(True), len(flags) - flags[::-1].index(True)
    stretch = {padded[start : start + 3] for start in range(first, last)}
    return len(stretch & parts) / len(stretch | parts)
