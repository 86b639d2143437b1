"""Words that go on in the next line, put together again. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BROKEN = re.compile(r"(?P<before>[^\W_]+(?:-[^\W_]+)*)[-\u2010\ufffe][ \t]*\n[ \t]*(?P<after>[^\W_]+)")
_OVER_A_PAGE = re.compile(r"[^\W_]-\s*\Z")
_FIRST_WORD = re.compile(r"\s*([^\W\d_][\w]*[.,;:!?)]*)")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_JOINING = frozenset("und oder bzw sowie bis and or to nor et ou y o e en of og och eller".split())
"""Words after which a hyphen stands for the end of a word that follows: Vor- und Nachteile."""


def without_hyphens(pages: Sequence[str]) -> list[str]:
    """Return pages in which no word is broken at the end of a line or page.

    A hyphen goes, unless the word is written with it elsewhere and never without, or it stands before a number, a
    capital letter or a joining word.
    """
    pages = _over_pages(pages)
    wanted = {form for page in pages for found in _BROKEN.finditer(page) for form in _forms(found)}
    written = {word for page in pages for word in map(str.lower, _WORD.findall(page)) if word in wanted}
    return [_BROKEN.sub(lambda found: _whole(found, written), page) for page in pages]


def _forms(found: re.Match[str]) -> tuple[str, str]:
    before, after = found["before"].lower(), found["after"].lower()
    return f"{before}{after}", f"{before}-{after}"


def _whole(found: re.Match[str], written: set[str]) -> str:
    before, after = found["before"], found["after"]
    if after.lower() in _JOINING:
        return f"{before}- {after}"
    joined, hyphenated = _forms(found)
    keeps = not (before[-1].isalpha() and after[0].islower()) or (hyphenated in written and joined not in written)
    return f"{before}-{after}" if keeps else f"{before}{after}"


def _over_pages(pages: Sequence[str]) -> list[str]:
    """Return pages with the rest of a broken word moved to the page on which it begins."""
    moved = [page.rstrip() for page in pages]
    for at in range(len(moved) - 1):
        rest = _FIRST_WORD.match(moved[at + 1])
        if rest and rest[1][0].islower() and _OVER_A_PAGE.search(moved[at]):
            moved[at] = f"{moved[at]}\n{rest[1]}"
            moved[at + 1] = moved[at + 1][rest.end() :].lstrip(" ")
    return moved
