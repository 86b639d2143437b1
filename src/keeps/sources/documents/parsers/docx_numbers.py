"""Numbers of the items and headings of a Word file, which stores only rules for counting them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from docx.oxml.ns import qn

BULLET = "- "
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ((9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_MOST = 5_000


@dataclass(slots=True)
class _List:
    levels: dict[int, Any]
    counts: dict[int, int] = field(default_factory=dict[int, int])


class Numbering:
    """Counts the items of each list, in document order."""

    def __init__(self, root: Any | None) -> None:
        self._lists: dict[str, _List] = {}
        if root is None:
            return
        abstract = {
            each.get(qn("w:abstractNumId"), ""): _List(_levels(each)) for each in root.iterchildren(qn("w:abstractNum"))
        }
        for number in root.iterchildren(qn("w:num")):
            reference = number.find(qn("w:abstractNumId"))
            shared = abstract.get(reference.get(qn("w:val"), "")) if reference is not None else None
            if shared is not None:
                restarts = number.find(qn("w:lvlOverride")) is not None
                self._lists[number.get(qn("w:numId"), "")] = _List(shared.levels) if restarts else shared

    def before(self, list_id: str, level: int) -> str:
        """Count an item. Return its marker: a number as it is shown, or a dash."""
        item_list = self._lists.get(list_id)
        if item_list is None or level not in item_list.levels:
            return BULLET
        for deeper in [each for each in item_list.counts if each > level]:
            del item_list.counts[deeper]
        item_list.counts[level] = item_list.counts.get(level, _value(item_list.levels[level], "w:start", 1) - 1) + 1
        kind = _text(item_list.levels[level], "w:numFmt") or "decimal"
        template = _text(item_list.levels[level], "w:lvlText") or ""
        if kind in ("bullet", "none") or not _PLACE.search(template):
            return BULLET
        return _PLACE.sub(lambda place: self._shown(item_list, int(place[1]) - 1), template) + " "

    @staticmethod
    def _shown(found: _List, level: int) -> str:
        if level not in found.levels:
            return ""
        count = found.counts.get(level, _value(found.levels[level], "w:start", 1))
        return _written(count, _text(found.levels[level], "w:numFmt") or "decimal")


def _levels(abstract: Any) -> dict[int, Any]:
    return {
        int(level.get(qn("w:ilvl"))): level
        for level in abstract.iterchildren(qn("w:lvl"))
        if level.get(qn("w:ilvl"), "").isdigit()
    }


def _written(count: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter") and 0 < count <= 26:
        return chr(ord("a" if kind == "lowerLetter" else "A") + count - 1)
    if kind in ("lowerRoman", "upperRoman") and 0 < count < _MOST:
        roman = ""
        for value, sign in (*_ROMAN, *_ROMAN_ONES):
            roman += sign * (count // value)
            count %= value
        return roman if kind == "lowerRoman" else roman.upper()
    return f"{count:02}" if kind == "decimalZero" else str(count)


def _text(level: Any, name: str) -> str | None:
    child = level.find(qn(name))
    return child.get(qn("w:val")) if child is not None else None


def _value(level: Any, name: str, default: int) -> int:
    text = _text(level, name) or ""
    return int(text) if text.isdigit() else default
