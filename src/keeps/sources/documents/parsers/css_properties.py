"""CSS properties that can hide text: longhands, variables, and equivalent attributes."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import tinycss2

from keeps.sources.documents.parsers.css_values import colour, legacy_colour

_LOGICAL = {
    "inset-inline-start": "left",
    "inset-inline-end": "right",
    "inset-block-start": "top",
    "inset-block-end": "bottom",
    "margin-inline-start": "margin-left",
    "margin-inline-end": "margin-right",
    "margin-block-start": "margin-top",
    "margin-block-end": "margin-bottom",
    "block-size": "height",
    "inline-size": "width",
    "max-block-size": "max-height",
    "max-inline-size": "max-width",
    "min-block-size": "min-height",
    "min-inline-size": "min-width",
    "overflow-block": "overflow-y",
    "overflow-inline": "overflow-x",
    "-webkit-transform": "transform",
    "-webkit-filter": "filter",
    "-webkit-clip-path": "clip-path",
    "-webkit-mask": "mask-image",
    "-webkit-mask-image": "mask-image",
    "mask": "mask-image",
    "-webkit-animation": "animation",
    "animation-name": "animation",
}
_SIDES = ("top", "right", "bottom", "left")
FOUR_SIDES = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1), 4: (0, 1, 2, 3)}
"""For one to four values, the index of the value for the top, right, bottom and left."""
_PAIRS = {
    "inset-inline": ("left", "right"),
    "inset-block": ("top", "bottom"),
    "margin-inline": ("margin-left", "margin-right"),
    "margin-block": ("margin-top", "margin-bottom"),
}
RELEVANT = frozenset(
    "display visibility opacity font-size font color -webkit-text-fill-color background background-color"
    " background-image background-clip -webkit-background-clip position left right top bottom inset margin margin-left"
    " margin-right margin-top margin-bottom text-indent letter-spacing line-height height max-height min-height width"
    " max-width min-width overflow overflow-x overflow-y contain clip clip-path transform translate scale rotate zoom"
    " filter mask-image mix-blend-mode content-visibility fill stroke animation".split()
) | {*_LOGICAL, *_PAIRS}
UNSURE = "?"
"""Key for properties of an element that cannot be determined."""
_DECIDING = frozenset(
    "display visibility opacity font-size color -webkit-text-fill-color content-visibility transform".split()
)
_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,100})\s*(?:,((?:[^()]|\([^()]{0,200}\)){0,300}))?\)")
_MOST_ROUNDS, _MOST_CHARACTERS = 5, 1_000
_SVG = frozenset(("fill", "opacity", "font-size", "display", "visibility"))
_SVG_TAGS = frozenset("svg g text tspan textpath a switch foreignobject use".split())


def longhands(name: str, value: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the longhands of a declaration, in lower case, with escapes and comments resolved."""
    name = _LOGICAL.get(name, name)
    parts = [token for token in value if token.type not in ("comment", "whitespace")]
    text = tinycss2.serialize([token for token in value if token.type != "comment"]).strip().lower()[:_MOST_CHARACTERS]
    if len(parts) == 1 and parts[0].type == "ident":
        text = parts[0].lower_value
    if "var(" in text:
        yield name, text
    elif name == "font":
        sizes = [token for token in parts if token.type in ("dimension", "percentage", "number", "function")]
        if sizes and sizes[0].type == "number" and sizes[0].value >= 100 and len(sizes) > 1:
            sizes = sizes[1:]  # The font weight precedes the size.
        if sizes:
            yield "font-size", tinycss2.serialize(sizes[:1]).lower()
    elif name == "background":
        pictures = [token for token in parts if _paints(token)]
        yield "background-image", tinycss2.serialize(pictures).lower() if pictures else "none"
        colours = [token for token in parts if _is_colour(token)]
        yield "background-color", tinycss2.serialize(colours[-1:]).lower() if colours else "transparent"
    elif name in ("inset", "margin"):
        texts = [tinycss2.serialize([token]).lower() for token in parts][:4]
        for side, at in zip(_SIDES, FOUR_SIDES.get(len(texts), ()), strict=False):
            yield side if name == "inset" else f"margin-{side}", texts[at]
    elif name in _PAIRS:
        texts = [tinycss2.serialize([token]).lower() for token in parts][:2]
        yield from zip(_PAIRS[name], (texts * 2)[:2], strict=False)
    else:
        yield name, text


def _paints(part: Any) -> bool:
    return part.type == "url" or (
        part.type == "function" and (part.lower_name == "url" or "gradient" in part.lower_name)
    )


def _is_colour(part: Any) -> bool:
    if part.type not in ("ident", "hash", "function") or _paints(part):
        return False
    text = tinycss2.serialize([part]).lower()
    return text == "currentcolor" or text.startswith("color-mix") or colour(text) is not None


def resolved(values: dict[str, str], variables: dict[str, str]) -> Mapping[str, str]:
    """Return declarations with their variables replaced. One with an undefined variable is invalid."""
    if not any("var(" in value for value in values.values()):
        return values
    own = ChainMap(values, variables)
    result: dict[str, str] = {}
    for name, value in values.items():
        if "var(" not in value or name.startswith("--"):
            result[name] = value
        elif (text := _replaced(value, own)) is not None:
            result |= _long(name, text)
        elif name in _DECIDING:
            result[UNSURE] = name
    return result


@lru_cache(maxsize=2_000)
def _long(name: str, text: str) -> Mapping[str, str]:
    return dict(longhands(name, tinycss2.parse_component_value_list(text)))


def _replaced(value: str, variables: Mapping[str, str]) -> str | None:
    for _ in range(_MOST_ROUNDS):
        missing = False

        def said(match: re.Match[str]) -> str:
            nonlocal missing
            missing |= match[1] not in variables and match.lastindex == 1
            return variables.get(match[1], match[2]) or ""

        value = _VARIABLE.sub(said, value)
        if missing or len(value) > _MOST_CHARACTERS:
            return None
        if "var(" not in value:
            return value
    return None


def presentation(tag: str, attributes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the style set by presentational attributes of HTML and SVG."""
    if not attributes:
        return {}
    values: dict[str, str] = {}
    names = (("color", "color"), ("background-color", "bgcolor"), ("color", "text" if tag == "body" else "color"))
    for name, attribute in names:
        if (value := attributes.get(attribute)) and (said := legacy_colour(value)):
            values[name] = said
    if attributes.get("background"):
        values["background-image"] = "url()"
    if tag.lower() in _SVG_TAGS:
        for name in _SVG & attributes.keys():
            values[name] = (attributes[name] or "").strip().lower()
        for name in ("x", "y") if tag != "svg" else ():
            if (place := attributes.get(name)) is not None:
                values |= {"position": "absolute", "left" if name == "x" else "top": place.split(",")[0].strip()}
        if (attributes.get("stroke") or "none") != "none":
            values["stroke"] = attributes["stroke"] or ""
    return values
