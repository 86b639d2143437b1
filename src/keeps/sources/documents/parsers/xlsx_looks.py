"""Look of an Excel cell, as far as it can hide text: colours of the palette and theme, sizes."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from openpyxl.styles.colors import COLOR_INDEX

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLOTS = "lt1 dk1 lt2 dk2 accent1 accent2 accent3 accent4 accent5 accent6 hlink folHlink".split()
_OFFICE = {"lt1": "FFFFFF", "dk1": "000000", "lt2": "E7E6E6", "dk2": "44546A"}
_NAMED = {"black": "000000", "white": "FFFFFF", "red": "FF0000", "green": "00FF00", "blue": "0000FF"} | {
    "yellow": "FFFF00",
    "magenta": "FF00FF",
    "cyan": "00FFFF",
}
_BLACK, _WHITE = "000000", "FFFFFF"
_LEAST_POINTS, _ALIKE = 2, 5
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a cell. `fill` is None for a pattern."""

    number_format: str
    bold: bool
    colour: str
    fill: str | None
    tiny: bool

    def hides(self, *, colour: str | None = None, tiny: bool | None = None) -> bool:
        """Return whether text of the given colour and size, by default those of the cell, is hidden."""
        return (self.tiny if tiny is None else tiny) or _are_alike(colour or self.colour, self.fill)

    @property
    def is_doubtful(self) -> bool:
        return UNKNOWN in (self.colour, self.fill)


class Palette:
    """The numbered colours of a workbook."""

    def __init__(self, book: Any) -> None:
        self._indexed = list(book._colors or COLOR_INDEX)
        self._theme = [_OFFICE.get(slot, UNKNOWN) for slot in _SLOTS]
        if book.loaded_theme:
            parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
            scheme = next(etree.fromstring(book.loaded_theme, parser).iter(f"{_DRAWING}clrScheme"), None)
            for slot in scheme.iterchildren(etree.Element) if scheme is not None else ():
                name = slot.tag.rpartition("}")[2]
                for colour in slot.iterchildren(etree.Element):
                    if name in _SLOTS:
                        self._theme[_SLOTS.index(name)] = _hexadecimal(colour.get("lastClr") or colour.get("val"))

    def look(self, cell: Any) -> Look:
        font, fill = cell.font, cell.fill
        front = self.colour(font.color, _BLACK) if font is not None else _BLACK
        return Look(
            cell.number_format or "General",
            bool(font and font.b),
            front,
            self._behind(fill),
            font is not None and is_tiny(font.sz),
        )

    def _behind(self, fill: Any) -> str | None:
        kind = getattr(fill, "fill_type", None)
        if kind is None:
            return _WHITE if hasattr(fill, "fgColor") else None  # A gradient.
        front, behind = self.colour(fill.fgColor, _BLACK), self.colour(fill.bgColor, _WHITE)
        return front if kind == "solid" or front == behind else None

    def colour(self, colour: Any, default: str) -> str:
        """Return a colour in hexadecimal, or UNKNOWN."""
        if colour is None or colour.type == "auto":
            return default
        if colour.type == "indexed":
            number = colour.indexed
            if number in (64, 65):
                return _BLACK if number == 64 else _WHITE  # System colours.
            plain = _hexadecimal(self._indexed[number]) if 0 <= number < len(self._indexed) else UNKNOWN
        elif colour.type == "theme":
            plain = self._theme[colour.theme] if 0 <= colour.theme < len(self._theme) else UNKNOWN
        else:
            plain = _hexadecimal(colour.rgb)
        return _tinted(plain, float(colour.tint or 0))


def named(name: str | None) -> str | None:
    """Return the colour named by a number format."""
    return _NAMED.get((name or "").lower())


def is_tiny(points: float | None) -> bool:
    return points is not None and points < _LEAST_POINTS


def _hexadecimal(value: object) -> str:
    text = value[-6:].upper() if isinstance(value, str) else ""
    return text if len(text) == 6 and all(sign in "0123456789ABCDEF" for sign in text) else UNKNOWN


def _tinted(colour: str, tint: float) -> str:
    if not tint or colour == UNKNOWN:
        return colour
    hue, light, saturation = colorsys.rgb_to_hls(*(part / 255 for part in bytes.fromhex(colour)))
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    return "".join(
        f"{round(part * 255):02X}" for part in colorsys.hls_to_rgb(hue, min(max(light, 0.0), 1.0), saturation)
    )


def _are_alike(one: str, other: str | None) -> bool:
    if other is None or UNKNOWN in (one, other):
        return False
    return max(abs(a - b) for a, b in zip(bytes.fromhex(one), bytes.fromhex(other), strict=True)) <= _ALIKE
