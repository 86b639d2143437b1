"""Styles of a Word file, by name, and formatting that hides a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from docx.oxml.ns import qn

_OFF = ("0", "false", "off", "none")
_UNREADABLE_HALF_POINTS, _ALIKE = 2, 5
_MOST_STYLES_ABOVE = 20


@dataclass(frozen=True, slots=True)
class Look:
    """The parts of a text's look that can hide it."""

    vanished: bool = False
    tiny: bool = False
    colour: str | None = None
    fill: str | None = "FFFFFF"

    @property
    def is_hidden(self) -> bool:
        return self.vanished or self.tiny or _are_alike(self.colour, self.fill)


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    name: str = ""
    level: int | None = None
    list_id: str | None = None
    list_level: int = 0


class StyleSheet:
    """The styles of a file, each with its base styles."""

    def __init__(self, root: Any | None) -> None:
        self._styles: dict[str, Any] = {}
        for style in root.iterchildren(qn("w:style")) if root is not None else ():
            self._styles[style.get(qn("w:styleId"), "")] = style

    def paragraph(self, style_id: str) -> ParagraphStyle:
        """Return the style of a paragraph; in a file without styles its id is the name."""
        style = self._styles.get(style_id)
        name = (_value(style, "w:name") if style is not None else None) or style_id
        level: int | None = None
        list_id, list_level = None, 0
        for each in reversed(self._chain(style_id)):
            properties = each.find(qn("w:pPr"))
            if properties is None:
                continue
            outline = outline_level(properties)
            level = outline if outline is not None else level
            own = numbered(properties)
            if own is not None:
                list_id, list_level = own[0] or list_id, own[1]
        return ParagraphStyle(name, level, list_id, list_level)

    def look(self, style_id: str | None, before: Look) -> Look:
        """Return the look of text in a style."""
        for each in reversed(self._chain(style_id or "")):
            before = changed(before, each.find(qn("w:rPr")))
            paragraph = each.find(qn("w:pPr"))
            before = filled(before, paragraph)
        return before

    def shades(self, style_id: str) -> bool:
        """Return whether a style of tables colours the background of any cells."""
        parts = (qn("w:tblPr"), qn("w:tcPr"), qn("w:pPr"), qn("w:rPr"))
        return any(filled(Look(), part) != Look() for style in self._chain(style_id) for part in style.iter(*parts))

    def _chain(self, style_id: str) -> list[Any]:
        chain: list[Any] = []
        while style_id in self._styles and len(chain) < _MOST_STYLES_ABOVE:
            chain.append(self._styles[style_id])
            style_id = _value(chain[-1], "w:basedOn") or ""
        return chain


def changed(look: Look, properties: Any | None) -> Look:
    """Return a look with the properties of a run (`w:rPr`)."""
    if properties is None:
        return look
    for child in properties:
        value = child.get(qn("w:val"), "")
        if child.tag == qn("w:vanish"):
            look = replace(look, vanished=value.lower() not in _OFF)
        elif child.tag == qn("w:color"):
            look = replace(look, colour=value.upper())
        elif child.tag == qn("w:sz"):
            look = replace(look, tiny=value.isdigit() and int(value) <= _UNREADABLE_HALF_POINTS)
        elif child.tag == qn("w:highlight"):
            look = look if value == "none" else replace(look, fill="FFFFFF" if value == "white" else None)
    return filled(look, properties)


def filled(look: Look, properties: Any | None) -> Look:
    """Return a look with the background colour; None for a pattern."""
    shade = properties.find(qn("w:shd")) if properties is not None else None
    if shade is None or shade.get(qn("w:val")) == "nil":
        return look
    fill = shade.get(qn("w:fill"), "auto").upper()
    if shade.get(qn("w:val"), "clear") != "clear":
        return replace(look, fill=None)
    return look if fill == "AUTO" else replace(look, fill=fill)


def numbered(properties: Any) -> tuple[str, int] | None:
    """Return a paragraph's list and its level in it: list "0" means none, "" the style's own."""
    numbering = properties.find(qn("w:numPr"))
    if numbering is None:
        return None
    level = _value(numbering, "w:ilvl") or ""
    return _value(numbering, "w:numId") or "", int(level) if level.isdigit() else 0


def outline_level(properties: Any) -> int | None:
    """Return the level of a heading from 1; None for text."""
    value = _value(properties, "w:outlineLvl") or ""
    return int(value) + 1 if value in tuple("012345678") else None


def _are_alike(colour: str | None, fill: str | None) -> bool:
    if colour is None or fill is None:
        return False
    try:
        one, other = bytes.fromhex(colour), bytes.fromhex(fill)
    except ValueError:
        return False
    return len(one) == len(other) == 3 and max(abs(a - b) for a, b in zip(one, other, strict=True)) <= _ALIKE


def _value(element: Any, name: str) -> str | None:
    child = element.find(qn(name))
    return child.get(qn("w:val")) if child is not None else None
