"""Words that look like another: probably a name that is misspelt. Pure.

Alike are words with many parts of three letters in common, as in PostgreSQL's pg_trgm: two spaces stand before a word
and one after it, and what counts is the stretch of the other word between the first and the last shared part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LOOKS_LIKE = 0.45
MAX_ALIKE = 20
_CONFUSED = ("ckq", "sz", "gj", "iye", "aeo", "fpv", "vw", "xz")
"""Letters at the beginning of names that are written for one another."""


def first_letters(word: str) -> list[str]:
    """With which letters a word may begin that `word` stands for: the first may be wrong, swapped or too much."""
    likely = [word[0], word[1], *(letter for group in _CONFUSED if word[0] in group for letter in group)]
    return list(dict.fromkeys(likely))


def alike(word: str, others: Sequence[str]) -> dict[str, float]:
    """Those of the other words that look like `word`, with how much, 0 to 1."""
    parts = _parts(word)
    if not others:
        return {}
    text = "  " + "   ".join(others) + " "
    letters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    seen = _codes(letters)
    starts = np.cumsum([0, *(len(each) + 3 for each in others[:-1])])
    shared = np.zeros(len(others), dtype=np.int64)
    for part in parts:
        here = np.flatnonzero(seen == _codes(np.array([ord(letter) for letter in part], dtype=np.uint64))[0])
        shared[np.unique(np.searchsorted(starts, here, side="right") - 1)] += 1
    likely = np.flatnonzero(shared >= LOOKS_LIKE * len(parts))
    found = {others[which]: _likeness(parts, others[which]) for which in likely.tolist()}
    best = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return {other: how for other, how in best[:MAX_ALIKE] if how >= LOOKS_LIKE}


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
