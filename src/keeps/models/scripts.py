"""Detect the scripts that a model knows, from its vocabulary. Pure."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from unicodedata import category, name

_KNOWN_PIECES, _KNOWN_HAN = 300, 2_000
"""Minimum number of multi-letter pieces, or of Han characters, in the vocabulary of a model that knows a script."""


def bare(piece: str) -> str:
    """Return a vocabulary piece without the mark for the beginning or the continuation of a word."""
    return piece.removeprefix("##").removeprefix("\u2581").removeprefix("\u0120")


def scripts_of(vocabulary: dict[str, int]) -> frozenset[str]:
    """Return the scripts that a vocabulary covers, by Unicode's names."""
    pieces: Counter[str] = Counter()
    han = 0
    for piece in vocabulary:
        word = bare(piece)
        if word and all(letter.isalpha() or category(letter)[0] == "M" for letter in word):
            script = _script(word[0])
            pieces[script] += len(word) > 1
            han += script == "CJK"
    return frozenset({script for script, count in pieces.items() if count >= _KNOWN_PIECES}) | (
        {"CJK"} if han >= _KNOWN_HAN else set[str]()
    )


def is_written_in(text: str, scripts: frozenset[str]) -> bool:
    """Return whether half of a text's letters are in these scripts; true for ASCII and for texts without letters."""
    if text.isascii():
        return True
    letters = [_script(letter) for letter in text if letter.isalpha()]
    return 2 * sum(script in scripts for script in letters) >= len(letters)


@lru_cache(maxsize=10_000)
def _script(letter: str) -> str:
    return name(letter, "").split(" ", 1)[0]
