"""Joins words that are broken at the end of a line. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_BROKEN = re.compile(
    r"(?<![^\W_])(?P<before>[^\W_]{1,60})[-\u2010\ufffe][ \t]{0,20}\n[ \t]{0,20}(?P<after>[^\W_]{1,60})"
)
_FIRST_WORD = re.compile(r"\A[ \t\n]{0,99}([^\W\d_]\w{0,60}[.,;:!?)]{0,5})")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_JOINING = frozenset("und oder bzw sowie bis and or to nor et ou y o e en of og och eller".split())
"""Words after a hyphen that stands for the end of a later word: Vor- und Nachteile."""


def without_hyphens(pages: Sequence[str]) -> list[str]:
    """Return pages in which no word is broken at the end of a line or page.

    A hyphen is removed, unless the word occurs elsewhere with it and never without, or it precedes a number, a capital
    letter or a joining word.
    """
    pages = _over_pages(pages)
    wanted = {form for page in pages for found in _BROKEN.finditer(page) for form in _forms(found)}
    written = {form for page in pages for word in _WORD.findall(page) for form in _within(word.lower())} & wanted
    return [_BROKEN.sub(lambda found: _whole(found, written), page) for page in pages]


def _within(compound: str) -> list[str]:
    """Return the words of a compound, and each two neighbours with their hyphen."""
    words = compound.split("-")
    return [*words, *(f"{one}-{other}" for one, other in pairwise(words))]


def _forms(found: re.Match[str]) -> tuple[str, str]:
    before, after = found["before"].lower(), found["after"].lower()
    return f"{before}{after}", f"{before}-{after}"


def _whole(found: re.Match[str], written: set[str]) -> str:
    before, after = found["before"], found["after"]
    if after.lower() in _JOINING:
        return f"{before}- {after}"
    joined, hyphenated = _forms(found)
    compound = found.string[found.start() - 1 : found.start()] == "-"
    ends_a_word = before[-1].isalpha() and after[0].islower()
    keeps = not ends_a_word or compound or (hyphenated in written and joined not in written)
    return f"{before}-{after}" if keeps else f"{before}{after}"


def _over_pages(pages: Sequence[str]) -> list[str]:
    """Return pages with the rest of a broken word moved to the page on which it begins."""
    moved = [page.rstrip() for page in pages]
    for at in range(len(moved) - 1):
        rest = _FIRST_WORD.match(moved[at + 1])
        if rest and rest[1][0].islower() and moved[at].endswith("-") and moved[at][-2:-1].isalnum():
            moved[at] = f"{moved[at]}\n{rest[1]}"
            moved[at + 1] = moved[at + 1][rest.end() :].lstrip(" ")
    return moved
