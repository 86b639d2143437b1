"""Colours of a Word file: hexadecimal, by name, or of its theme with a tint or shade. Pure but for the theme's XML."""

from __future__ import annotations

import colorsys
from typing import Any, Final

from docx.oxml.ns import qn
from tinycss2.color3 import RGBA, parse_color

Colour = str
"""Six hexadecimal digits, or AUTO, or UNKNOWN."""
AUTO: Final = "auto"
UNKNOWN: Final = "unknown"
BLACK, WHITE = "000000", "FFFFFF"
_ALIKE = 5
_THEME = {"lt1": WHITE, "dk1": BLACK, "lt2": "E7E6E6", "dk2": "44546A"}
_SLOTS = {
    "background1": "lt1",
    "text1": "dk1",
    "background2": "lt2",
    "text2": "dk2",
    "light1": "lt1",
    "dark1": "dk1",
    "light2": "lt2",
    "dark2": "dk2",
    "bg1": "lt1",
    "tx1": "dk1",
    "bg2": "lt2",
    "tx2": "dk2",
    "hyperlink": "hlink",
    "followedHyperlink": "folHlink",
}
_HIGHLIGHTS = {"darkYellow": "808000", "lightGray": "C0C0C0", "darkGray": "808080", "green": "00FF00"} | {
    "darkBlue": "000080",
    "darkCyan": "008080",
    "darkGreen": "008000",
    "darkMagenta": "800080",
    "darkRed": "800000",
}


class Theme:
    """The colours of a file's theme, by their place in it.

    Args:
        root: The theme part.
        mapping: `w:clrSchemeMapping` of the settings, which exchanges places.
    """

    def __init__(self, root: Any | None = None, mapping: Any | None = None) -> None:
        self._colours = dict(_THEME)
        self._slots = dict(_SLOTS)
        scheme = next(root.iter(qn("a:clrScheme")), None) if root is not None else None
        for slot in scheme if scheme is not None else ():
            for colour in slot:
                value = colour.get("lastClr") or colour.get("val") or ""
                self._colours[slot.tag.rpartition("}")[2]] = from_text(value)
        if mapping is not None:
            for short, name in (("bg1", "background1"), ("t1", "text1"), ("bg2", "background2"), ("t2", "text2")):
                mapped = mapping.get(qn(f"w:{short}"))
                if mapped in _SLOTS:
                    self._slots[name] = _SLOTS[mapped]

    def colour(self, element: Any, value: str, theme: str, tint: str, shade: str) -> Colour:
        """Return the colour named by the attributes of an element; a theme colour takes precedence."""
        name = element.get(qn(theme))
        if not name or name == "none":
            return from_text(element.get(qn(value)) or AUTO)
        base = self.named(name)
        if len(base) != 6:
            return base
        return _tinted(base, element.get(qn(tint)), element.get(qn(shade)))

    def named(self, name: str) -> Colour:
        return self._colours.get(self._slots.get(name, name), UNKNOWN)


def from_text(value: str) -> Colour:
    """Return a colour written as RRGGBB, #RRGGBB, a name or `auto`."""
    value = value.strip()
    if value.lower() == AUTO:
        return AUTO
    if len(value) == 6 and _is_hexadecimal(value):
        return value.upper()
    parsed = parse_color(value)
    if not isinstance(parsed, RGBA):
        return UNKNOWN
    return "".join(f"{round(part * 255):02X}" for part in parsed[:3])


def highlight(name: str) -> Colour:
    """Return the colour of a highlight pen."""
    return _HIGHLIGHTS.get(name) or from_text(name)


def mixed(front: Colour, behind: Colour, percent: float) -> Colour:
    """Return the mean colour of a pattern that covers `percent` of its background."""
    if UNKNOWN in (front, behind):
        return UNKNOWN
    pairs = zip(bytes.fromhex(front), bytes.fromhex(behind), strict=True)
    return "".join(f"{round(a * percent / 100 + b * (100 - percent) / 100):02X}" for a, b in pairs)


def are_alike(one: Colour, other: Colour) -> bool:
    """Return whether two colours look the same."""
    if not (_is_hexadecimal(one) and _is_hexadecimal(other)):
        return False
    return max(abs(a - b) for a, b in zip(bytes.fromhex(one), bytes.fromhex(other), strict=True)) <= _ALIKE


def _is_hexadecimal(value: str) -> bool:
    return len(value) == 6 and all(sign in "0123456789abcdefABCDEF" for sign in value)


def _tinted(colour: Colour, tint: str | None, shade: str | None) -> Colour:
    """Apply a tint (towards white) and a shade (towards black), each a byte in hexadecimal."""
    red, green, blue = (part / 255 for part in bytes.fromhex(colour))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    try:
        if tint:
            share = int(tint, 16) / 255
            light = light * share + 1 - share
        if shade:
            light *= int(shade, 16) / 255
    except ValueError:
        return UNKNOWN
    light = min(max(light, 0.0), 1.0)
    return "".join(f"{round(part * 255):02X}" for part in colorsys.hls_to_rgb(hue, light, saturation))
