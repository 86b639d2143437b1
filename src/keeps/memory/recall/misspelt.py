"""Find words that resemble another word and may be a misspelt name. Pure.

Words are similar if they share many trigrams, as in PostgreSQL's pg_trgm: two spaces are added before a word and one
after it. The comparison covers the part of the other word from its first to its last shared trigram.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

LOOKS_LIKE = 0.45
MAX_ALIKE = 20
MOST_WORDS = 50_000
"""Maximum number of words that a word is compared with: the vocabulary of stored texts is unbounded."""
_CONFUSED = ("ckq", "sz", "gj", "iye", "aeo", "fpv", "vw", "xz")
"""Groups of letters that are confused at the beginning of names."""


def first_letters(word: str) -> list[str]:
    """Return the possible first letters of the intended word.

    The first letter may be wrong, swapped or superfluous.
    """
    likely = [word[0], word[1], *(letter for group in _CONFUSED if word[0] in group for letter in group)]
    return list(dict.fromkeys(likely))


class Vocabulary:
    """Words prepared for comparison with others."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = sorted(islice(words, MOST_WORDS))
        text = "  " + "   ".join(self.words) + " "
        letters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
        self.seen = _codes(letters) if self.words else np.zeros(0, dtype=np.uint64)
        lengths = np.fromiter((len(word) + 3 for word in self.words), dtype=np.int64, count=len(self.words))
        self.starts = np.cumsum(lengths) - lengths

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return 1_000 + self.seen.nbytes + self.starts.nbytes + 64 * len(self.words)


def alike(word: str, vocabulary: Vocabulary) -> dict[str, float]:
    """Return the words of a vocabulary that resemble `word`, with their similarity from 0 to 1."""
    parts, others = _parts(word), vocabulary.words
    if not others:
        return {}
    shared = np.zeros(len(others), dtype=np.int64)
    for part in parts:
        here = np.flatnonzero(vocabulary.seen == _codes(np.array([ord(each) for each in part], dtype=np.uint64))[0])
        shared[np.unique(np.searchsorted(vocabulary.starts, here, side="right") - 1)] += 1
    likely = np.flatnonzero(shared >= LOOKS_LIKE * len(parts))
    similarities = {others[which]: _likeness(parts, others[which]) for which in likely.tolist()}
    return likest({other: how for other, how in similarities.items() if how >= LOOKS_LIKE})


def likest(found: Mapping[str, float]) -> dict[str, float]:
    """Return the most similar words, best first."""
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MAX_ALIKE])


def _parts(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def _codes(letters: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Encode each run of three letters as one number."""
    shift = np.uint64(21)
    return (((letters[:-2] << shift) | letters[1:-1]) << shift) | letters[2:]


def _likeness(parts: set[str], other: str) -> float:
    padded = f"  {other} "
    flags = [padded[start : start + 3] in parts for start in range(len(padded) - 2)]
    first, last = flags.index(True), len(flags) - flags[::-1].index(True)
    stretch = {padded[start : start + 3] for start in range(first, last)}
    return len(stretch & parts) / len(stretch | parts)
