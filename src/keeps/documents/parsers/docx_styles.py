"""What a Word file says of its text besides the words: styles by name, and what hides a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from docx.oxml.ns import qn

_OFF = ("0", "false", "off", "none")
_UNREADABLE_HALF_POINTS, _WHITE = 2, 0xFA
_MOST_STYLES_ABOVE = 20


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks, so far as that can hide it."""

    vanished: bool = False
    white: bool = False
    tiny: bool = False
    shaded: bool = False

    @property
    def is_hidden(self) -> bool:
        return self.vanished or self.tiny or (self.white and not self.shaded)


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    name: str = ""
    level: int | None = None
    listed: bool = False


class StyleSheet:
    """The styles of a file, each with those that it is based on."""

    def __init__(self, root: Any | None) -> None:
        self._styles: dict[str, Any] = {}
        for style in root.iterchildren(qn("w:style")) if root is not None else ():
            self._styles[style.get(qn("w:styleId"), "")] = style

    def paragraph(self, style_id: str) -> ParagraphStyle:
        """Return what a paragraph's style says; without a list of styles their ids say what they are."""
        style = self._styles.get(style_id)
        name = (_value(style, "w:name") if style is not None else None) or style_id
        level: int | None = None
        listed = False
        for each in reversed(self._chain(style_id)):
            properties = each.find(qn("w:pPr"))
            if properties is None:
                continue
            outline = outline_level(properties)
            level = outline if outline is not None else level
            listed = listed or properties.find(qn("w:numPr")) is not None
        return ParagraphStyle(name, level, listed)

    def look(self, style_id: str | None, before: Look) -> Look:
        """Return how text of a style looks."""
        for each in reversed(self._chain(style_id or "")):
            before = changed(before, each.find(qn("w:rPr")))
            paragraph = each.find(qn("w:pPr"))
            if paragraph is not None and is_shaded(paragraph):
                before = replace(before, shaded=True)
        return before

    def shades(self, style_id: str) -> bool:
        """Return whether a style of tables puts a colour behind any of their cells."""
        parts = (qn("w:tblPr"), qn("w:tcPr"), qn("w:pPr"), qn("w:rPr"))
        return any(is_shaded(part) for style in self._chain(style_id) for part in style.iter(*parts))

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
            look = replace(look, white=_is_white(value))
        elif child.tag == qn("w:sz"):
            look = replace(look, tiny=value.isdigit() and int(value) <= _UNREADABLE_HALF_POINTS)
        elif child.tag == qn("w:highlight"):
            look = replace(look, shaded=value not in ("none", "white"))
    return replace(look, shaded=True) if is_shaded(properties) else look


def is_shaded(properties: Any) -> bool:
    """Return whether there is a colour behind the text."""
    shade = properties.find(qn("w:shd"))
    if shade is None:
        return False
    fill = shade.get(qn("w:fill"), "auto")
    pattern = shade.get(qn("w:val"), "clear")
    return pattern not in ("clear", "nil") or not (fill == "auto" or _is_white(fill))


def outline_level(properties: Any) -> int | None:
    """Return the level of a heading from 1; None for text."""
    value = _value(properties, "w:outlineLvl") or ""
    return int(value) + 1 if value in tuple("012345678") else None


def _is_white(colour: str) -> bool:
    try:
        number = int(colour, 16)
    except ValueError:
        return False
    return len(colour) == 6 and min(number >> 16, number >> 8 & 0xFF, number & 0xFF) >= _WHITE


def _value(element: Any, name: str) -> str | None:
    child = element.find(qn(name))
    return child.get(qn("w:val")) if child is not None else None
