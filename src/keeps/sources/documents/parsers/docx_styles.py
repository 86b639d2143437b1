"""Styles of a Word file by name, and the look of text, as far as it can hide the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from docx.oxml.ns import qn

from keeps.sources.documents.parsers.docx_colours import (
    AUTO,
    BLACK,
    UNKNOWN,
    WHITE,
    Colour,
    Theme,
    are_alike,
    highlight,
    mixed,
)

_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_OFF = ("0", "false", "off", "none")
_LEAST_HALF_POINTS, _LEAST_WIDTH_PERCENT, _LEAST_LINE_TWIPS = 4, 10, 40
_DOUBTFUL_SPACING_TWIPS, _DOUBTFUL_RISE_HALF_POINTS, _DOUBTFUL_PLACE_TWIPS = -100, 400, 5_000
_TRANSPARENT = 95_000
"""Transparency, out of 100,000, above which text is invisible."""
_MOST_STYLES_ABOVE = 20
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(pt|mm|cm|in|pc|pi|%)?")
_POINTS = {"pt": 1.0, "mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0, "pc": 12.0, "pi": 12.0}


@dataclass(frozen=True, slots=True)
class Look:
    """Look of a run of text, as far as it can hide the text.

    Attributes:
        tiny: The letters are too small.
        narrow: The letters are too narrow.
        flat: The line is too low.
        fill: The colour behind the text; None if unknown.
        text_fill: The colour of the effect "fill", which takes precedence over `colour`; "" without one.
        doubt: The reason why visibility cannot be determined.
    """

    vanished: bool = False
    tiny: bool = False
    narrow: bool = False
    flat: bool = False
    clear: bool = False
    colour: Colour = AUTO
    text_fill: Colour = ""
    fill: Colour | None = WHITE
    doubt: str = ""

    @property
    def is_hidden(self) -> bool:
        if self.vanished or self.tiny or self.narrow or self.flat or self.clear:
            return True
        return self.fill is not None and are_alike(self.text_fill or self.colour, self.fill)

    @property
    def why_doubtful(self) -> str:
        """Return why this visible text may be hidden after all."""
        if UNKNOWN in (self.text_fill or self.colour, self.fill):
            return "a colour is unknown"
        return self.doubt


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    name: str = ""
    level: int | None = None
    list_id: str | None = None
    list_level: int = 0


class StyleSheet:
    """The styles of a file, each with the styles that it is based on."""

    def __init__(self, root: Any | None, theme: Theme | None = None) -> None:
        self.theme = theme or Theme()
        self._styles: dict[str, Any] = {}
        self._defaults: dict[str, str] = {}
        self._paragraphs: dict[str, ParagraphStyle] = {}
        self._looks: dict[tuple[str, Look], Look] = {}
        self._shades: dict[str, bool] = {}
        self._conditions: dict[str, bool] = {}
        for style in root.iterchildren(qn("w:style")) if root is not None else ():
            style_id = style.get(qn("w:styleId"), "")
            self._styles[style_id] = style
            if style.get(qn("w:default"), "0").lower() not in _OFF:
                self._defaults.setdefault(style.get(qn("w:type"), ""), style_id)
        self.page = Look()
        defaults = root.find(qn("w:docDefaults")) if root is not None else None
        if defaults is not None:
            self.page = self.paragraph_look(self.page, defaults.find(f"{qn('w:pPrDefault')}/{qn('w:pPr')}"))
            self.page = self.run_look(self.page, defaults.find(f"{qn('w:rPrDefault')}/{qn('w:rPr')}"))
        self._always_vanished = self.page.vanished

    def paragraph(self, style_id: str) -> ParagraphStyle:
        """Return the properties of a paragraph's style; without a list of styles, those that its id suggests."""
        if style_id not in self._paragraphs:
            self._paragraphs[style_id] = self._paragraph(style_id)
        return self._paragraphs[style_id]

    def _paragraph(self, style_id: str) -> ParagraphStyle:
        used = self._used(style_id, "paragraph")
        style = self._styles.get(used)
        name = (_value(style, "w:name") if style is not None else None) or used
        level: int | None = None
        list_id, list_level = None, 0
        for each in reversed(self._chain(used)):
            properties = each.find(qn("w:pPr"))
            if properties is None:
                continue
            outline = outline_level(properties)
            level = outline if outline is not None else level
            own = numbered(properties)
            if own is not None:
                list_id, list_level = own[0] or list_id, own[1]
        return ParagraphStyle(name, level, list_id, list_level)

    def look(self, style_id: str, before: Look, kind: str) -> Look:
        """Return the look of text in a style; without an id, in the default style of a kind."""
        used = self._used(style_id, kind)
        if used not in self._styles:
            return before
        key = used, before
        if key not in self._looks:
            self._looks[key] = self._look(used, before)
        return self._looks[key]

    def _look(self, style_id: str, before: Look) -> Look:
        after = replace(before, vanished=False)
        for style in reversed(self._chain(style_id)):
            after = self.run_look(after, style.find(qn("w:rPr")))
            after = self.paragraph_look(after, style.find(qn("w:pPr")))
        # Two levels of styles that both hide text show it. Styles cannot show text hidden by the file's defaults.
        return replace(after, vanished=self._always_vanished or before.vanished != after.vanished)

    def table(self, style_id: str, before: Look) -> Look:
        """Return the look of text in a table style, before cells and paragraphs override it."""
        used = self._used(style_id, "table")
        look = self.look(used, before, "table")
        if self._shades_cells(used):
            look = replace(look, fill=None)
        if self._hides_some_cells(used):
            look = replace(look, doubt="a table style hides some cells")
        return look

    def _shades_cells(self, style_id: str) -> bool:
        if style_id not in self._shades:
            parts = (qn("w:tblPr"), qn("w:tcPr"), qn("w:pPr"), qn("w:rPr"))
            fills = (self.filled(Look(), part).fill for style in self._chain(style_id) for part in style.iter(*parts))
            self._shades[style_id] = any(fill != WHITE for fill in fills)
        return self._shades[style_id]

    def _hides_some_cells(self, style_id: str) -> bool:
        """Return whether a style hides text in cells at certain places, such as the first row."""
        if style_id not in self._conditions:
            before = Look(fill=None if self._shades_cells(style_id) else WHITE)
            self._conditions[style_id] = any(
                self.run_look(before, part.find(qn("w:rPr"))).is_hidden
                for style in self._chain(style_id)
                for part in style.iterchildren(qn("w:tblStylePr"))
            )
        return self._conditions[style_id]

    def run_look(self, look: Look, properties: Any | None) -> Look:
        """Return a look with the properties of a run (`w:rPr`)."""
        if properties is None or len(properties) == 0:
            return look
        marked: Colour | None = None
        changes: dict[str, Any] = {}
        for child in properties:
            value = child.get(_VAL, "")
            if child.tag == _VANISH:
                changes["vanished"] = value.lower() not in _OFF
            elif child.tag == _COLOUR:
                changes["colour"] = self.theme.colour(child, *_COLOUR_NAMES)
            elif child.tag == _SIZE:
                changes["tiny"] = _half_points(value, 24) < _LEAST_HALF_POINTS
            elif child.tag == _WIDTH:
                changes["narrow"] = _number(value, 100) < _LEAST_WIDTH_PERCENT
            elif child.tag == _HIGHLIGHT:
                marked = highlight(value) if value != "none" else None
            elif child.tag == _SPACING:
                if _half_points(value, 0, bare=0.1) < _DOUBTFUL_SPACING_TWIPS / 10:
                    changes["doubt"] = "letters overlap"
            elif child.tag == _POSITION:
                if abs(_half_points(value, 0)) > _DOUBTFUL_RISE_HALF_POINTS:
                    changes["doubt"] = "letters are far above or below their line"
            elif child.tag == f"{_W14}textFill":
                changes |= self._text_fill(child, properties)
        look = self.filled(replace(look, **changes) if changes else look, properties)
        if marked is None:
            return look
        if marked == BLACK and (look.text_fill or look.colour) == AUTO:
            return replace(look, fill=marked, doubt="text without a colour is on a black highlight")
        return replace(look, fill=marked)

    def _text_fill(self, fill: Any, properties: Any) -> dict[str, Any]:
        """Return the changes by the effect "fill" of letters. Letters without a fill may still have an outline."""
        outline = properties.find(f"{_W14}textOutline")
        if outline is not None and outline.find(f"{_W14}noFill") is None and len(outline):
            return {"text_fill": "", "clear": False, "colour": AUTO}
        if fill.find(f"{_W14}noFill") is not None:
            return {"clear": True}
        solid = fill.find(f"{_W14}solidFill")
        colour = solid[0] if solid is not None and len(solid) else None
        if colour is None:
            return {"text_fill": "", "clear": False, "colour": AUTO}  # A gradient.
        name = colour.get(f"{_W14}val", "")
        is_theme = colour.tag == f"{_W14}schemeClr"
        changes = [child for child in colour if child.tag != f"{_W14}alpha"]
        value = UNKNOWN if changes and is_theme else self.theme.named(name) if is_theme else highlight(name)
        alpha = colour.find(f"{_W14}alpha")
        clear = alpha is not None and _number(alpha.get(f"{_W14}val", "0"), 0) >= _TRANSPARENT
        return {"text_fill": value, "clear": clear}

    def paragraph_look(self, look: Look, properties: Any | None) -> Look:
        """Return a look with the properties of a paragraph (`w:pPr`)."""
        if properties is None or _PARAGRAPH_LOOKS.isdisjoint([child.tag for child in properties]):
            return look
        spacing, indent, frame = (properties.find(name) for name in (_SPACING, _INDENT, _FRAME))
        if spacing is not None and spacing.get(qn("w:lineRule")):
            exact = spacing.get(qn("w:lineRule")) == "exact"
            look = replace(look, flat=exact and _number(spacing.get(qn("w:line")), 240) < _LEAST_LINE_TWIPS)
        places = (
            [indent.get(qn(name)) for name in ("w:left", "w:start", "w:right", "w:end")] if indent is not None else []
        )
        places += [frame.get(qn(name)) for name in ("w:x", "w:y")] if frame is not None else []
        if any(_number(place, 0) < -_DOUBTFUL_PLACE_TWIPS for place in places):
            look = replace(look, doubt="a paragraph starts outside its page")
        return self.filled(look, properties)

    def filled(self, look: Look, properties: Any | None) -> Look:
        """Return a look with the colour behind the text."""
        shade = properties.find(_SHADE) if properties is not None else None
        if shade is None:
            return look
        pattern = shade.get(_VAL, "clear")
        fill = self.theme.colour(shade, "w:fill", "w:themeFill", "w:themeFillTint", "w:themeFillShade")
        if pattern in ("nil", "clear"):
            return look if fill == AUTO or pattern == "nil" else replace(look, fill=fill)
        front = self.theme.colour(shade, *_COLOUR_NAMES_OF_SHADE)
        percent = 100.0 if pattern == "solid" else _number(pattern.removeprefix("pct"), -1)
        front = BLACK if front == AUTO else front
        behind = (look.fill or UNKNOWN) if fill == AUTO else fill
        if percent == 100:
            return replace(look, fill=front)
        if percent < 0 and front != behind:  # A stripe pattern.
            return replace(look, fill=None)
        return replace(look, fill=mixed(front, behind, max(percent, 0)) if behind != UNKNOWN else None)

    def _used(self, style_id: str, kind: str) -> str:
        return style_id if style_id in self._styles else self._defaults.get(kind, style_id) or style_id

    def _chain(self, style_id: str) -> list[Any]:
        chain: list[Any] = []
        while style_id in self._styles and len(chain) < _MOST_STYLES_ABOVE:
            chain.append(self._styles[style_id])
            style_id = _value(chain[-1], "w:basedOn") or ""
        return chain


_VAL, _VANISH, _COLOUR, _SIZE, _WIDTH = (qn(f"w:{name}") for name in ("val", "vanish", "color", "sz", "w"))
_HIGHLIGHT, _SPACING, _POSITION, _SHADE = (qn(f"w:{name}") for name in ("highlight", "spacing", "position", "shd"))
_INDENT, _FRAME = qn("w:ind"), qn("w:framePr")
_PARAGRAPH_LOOKS = frozenset((_SPACING, _INDENT, _FRAME, _SHADE))
_COLOUR_NAMES = ("w:val", "w:themeColor", "w:themeTint", "w:themeShade")
_COLOUR_NAMES_OF_SHADE = ("w:color", "w:themeColor", "w:themeTint", "w:themeShade")


def numbered(properties: Any) -> tuple[str, int] | None:
    """Return a paragraph's list and its level in it: list "0" is none, "" is the style's list."""
    numbering = properties.find(qn("w:numPr"))
    if numbering is None:
        return None
    level = _value(numbering, "w:ilvl") or ""
    return _value(numbering, "w:numId") or "", int(level) if level.isdigit() else 0


def outline_level(properties: Any) -> int | None:
    """Return the level of a heading from 1; None for text."""
    value = _value(properties, "w:outlineLvl") or ""
    return int(value) + 1 if value in tuple("012345678") else None


def is_low(row_properties: Any) -> bool:
    """Return whether a row is too low for its text to be seen."""
    height = row_properties.find(qn("w:trHeight"))
    if height is None:
        return False
    exact = height.get(qn("w:hRule")) == "exact"
    return exact and _number(height.get(_VAL), 240) < _LEAST_LINE_TWIPS


def _half_points(value: str, default: float, *, bare: float = 1.0) -> float:
    """Return a size in half-points; a number without a unit is a multiple of `bare` half-points."""
    match = _LENGTH.fullmatch(value.strip())
    if not match:
        return default
    return float(match[1]) * (2 * _POINTS[match[2]] if match[2] in _POINTS else bare)


def _number(value: str | None, default: float) -> float:
    match = _LENGTH.fullmatch((value or "").strip())
    return float(match[1]) * (20 * _POINTS[match[2]] if match[2] in _POINTS else 1) if match else default


def _value(element: Any, name: str) -> str | None:
    child = element.find(qn(name))
    return child.get(qn("w:val")) if child is not None else None
