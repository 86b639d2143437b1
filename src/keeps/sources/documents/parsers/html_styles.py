"""Styles of an element that hide its box or the text in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from keeps.sources.documents.parsers.css_properties import FOUR_SIDES, UNSURE
from keeps.sources.documents.parsers.css_rules import Declarations
from keeps.sources.documents.parsers.css_values import WHITE, Colour, colour, functions, length, number, uniform

_BOXES = frozenset(("block", "flex", "grid", "table", "list-item", "table-row", "table-cell", "flow-root"))
_LEAST_PIXELS, _LEAST_OPACITY, _LEAST_SCALE = 2.0, 0.1, 0.1
_ALIKE, _NEAR = 0.05, 0.1
"""Differences between colours that nobody notices, and that few notice."""
_FAR_OFF, _FAR_MARGIN, _FAR_AHEAD = -900.0, -2_000.0, 5_000.0
_SIZES = {
    "xx-small": 9,
    "x-small": 10,
    "small": 13,
    "medium": 16,
    "large": 18,
    "x-large": 24,
    "xx-large": 32,
    "xxx-large": 48,
    "initial": 16,
}
_CLIPPED = re.compile(r"rect\(\s*([01])(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?\s*\)")
_ZERO_PLACES = ("height", "max-height", "width", "max-width")
_UNKNOWN_MASKS = ("url(", "element(")
_OPAQUE = 0.98
_KEEP = frozenset(("none", "initial", "inherit", "unset", "revert"))
"""Values of `background` that leave the background unchanged."""
_MOVED = frozenset("opacity visibility transform translate scale left right top bottom clip-path filter color".split())
_NO_TEXT = frozenset(("none", "transparent"))


@dataclass(frozen=True, slots=True)
class Style:
    """The style that an element passes on to the text in it.

    Attributes:
        background: The colour behind the text; None for a picture or an unknown background.
        ground: The last known colour behind the text.
        unsure: True if something unknown may hide the text.
    """

    visible: bool = True
    size: float = 16.0
    scale: float = 1.0
    opacity: float = 1.0
    colour: Colour | None = None
    fill: Colour | None = None
    background: Colour | None = WHITE
    ground: Colour = WHITE
    unsure: bool = False
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def shows_box(self) -> bool:
        """Return whether a picture or frame around the text is visible."""
        return self.visible and self.opacity >= _LEAST_OPACITY

    @property
    def shows_text(self) -> bool:
        if not self.shows_box or self.size * self.scale < _LEAST_PIXELS:
            return False
        ink = self._ink
        return ink is None or (
            ink[3] * self.opacity >= _LEAST_OPACITY
            and (self.background is None or _contrast(ink, self.background) > _ALIKE)
        )

    @property
    def may_hide_text(self) -> bool:
        """Return whether the text may be hidden, although this is not certain."""
        if self.unsure:
            return True
        ink = self._ink
        if ink is None:
            return False
        behind = self.ground if self.background is None else self.background
        return _contrast(ink, behind) <= (_ALIKE if self.background is None else _NEAR)

    @property
    def _ink(self) -> Colour | None:
        return self.colour if self.fill is None else self.fill


def _contrast(ink: Colour, ground: Colour) -> float:
    return max(abs(a - b) for a, b in zip(ink[:3], ground[:3], strict=True)) * ink[3]


def displayed_as_box(values: Declarations) -> bool:
    return values.get("display", "") in _BOXES


def hides_box(tag: str, attributes: Mapping[str, str | None], values: Declarations) -> bool:
    """Return whether an element is hidden with all its contents."""
    display = values.get("display", "")
    if display == "none" or (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if not display and UNSURE not in values:
        closed = tag == "dialog" and "open" not in attributes
        if closed or "hidden" in attributes or "popover" in attributes:
            return True
    if tag == "svg" and any(_is_zero(attributes.get(name) or "") for name in ("width", "height")):
        return True
    if not values:
        return False
    return (
        values.get("content-visibility") == "hidden"
        or _is_cut_off(values)
        or _is_off_the_page(values)
        or _is_clipped(values)
        or _is_masked(values.get("mask-image", ""))
    )


def without_moves(values: Declarations) -> Declarations:
    """Return declarations without those that an animation changes."""
    return {name: value for name, value in values.items() if name not in _MOVED}


def _is_cut_off(values: Declarations) -> bool:
    """Return whether an element has no room for text and clips it."""
    flows = (values.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    cut = any(flow not in ("", "visible", "initial", "unset", "inherit") for flow in flows)
    if not cut and not re.search(r"paint|strict|content", values.get("contain", "")):
        return False
    for name in _ZERO_PLACES:
        size = length(values.get(name, ""), 16.0) if name in values else None
        least = length(values.get(f"min-{name.removeprefix('max-')}", "0"))
        if size is not None and size <= 1 and (least or 0) <= 1 and not _is_of_an_unknown(values[name]):
            return True
    return False


def _is_of_an_unknown(size: str) -> bool:
    """Return whether a size is relative to an unknown one."""
    return "%" in size and not _is_zero(size)


def _is_off_the_page(values: Declarations) -> bool:
    placed = values.get("position", "") in ("absolute", "fixed", "relative", "sticky")
    if placed and any(_is_far(values.get(name, "")) for name in ("left", "right", "top", "bottom")):
        return True
    if _is_far(values.get("text-indent", "")):
        return True
    margins = (length(values[name]) for name in ("margin-left", "margin-top") if name in values)
    if any(margin is not None and margin <= _FAR_MARGIN for margin in margins):
        return True
    moves = [text for text in values.get("translate", "").split() if not text.endswith("%")]
    for name, words in functions(values.get("transform", "")):
        if name.startswith("translate"):
            moves += [text for text in words if not text.endswith("%")]
        elif name == "matrix" and len(words) == 6:
            moves += words[4:]
    return any(_is_far(text) for text in moves)


def _is_far(text: str) -> bool:
    value = length(text) if text else None
    return value is not None and not _FAR_OFF < value < _FAR_AHEAD


def _is_clipped(values: Declarations) -> bool:
    if values.get("position", "") in ("absolute", "fixed") and _CLIPPED.search(values.get("clip", "")):
        return True
    for name, words in functions(values.get("clip-path", "")):
        texts = [text for each in words for text in each.split()]
        if name == "inset":
            texts = texts[: texts.index("round")] if "round" in texts else texts
            sizes = [100 * (number(text) or 0.0) if text.endswith("%") else 0.0 for text in texts[:4]] or [0.0]
            top, right, bottom, left = (sizes[at] for at in FOUR_SIDES[len(sizes)])
            if top + bottom >= 100 or left + right >= 100:
                return True
        elif name in ("circle", "ellipse"):
            if texts and _is_zero(texts[0]):
                return True
        elif name == "polygon":
            points = {point for point in words if point not in ("evenodd", "nonzero")}
            if len(points) < 3 or "," not in values["clip-path"]:
                return True
    return False


def _is_masked(mask: str) -> bool:
    if "gradient" not in mask or any(name in mask for name in _UNKNOWN_MASKS):
        return False
    only = uniform(mask)
    return only is not None and only[3] < _LEAST_OPACITY


def _is_zero(text: str) -> bool:
    value = length(text) if text else None
    return value is not None and value <= 0


def inherited(style: Style, values: Declarations) -> Style:
    """Return the style of an element's contents."""
    if not values:
        return style
    if visibility := values.get("visibility"):
        if visibility in ("hidden", "collapse"):
            style = replace(style, visible=False)
        elif visibility in ("visible", "initial"):
            style = replace(style, visible=True)
    if UNSURE in values:
        style = replace(style, unsure=True)
    variables = {name: value for name, value in values.items() if name.startswith("--")}
    if variables:
        style = replace(style, variables={**style.variables, **variables})
    return _coloured(_faded(_scaled(style, values), values), values)


def _scaled(style: Style, values: Declarations) -> Style:
    """Return a style with its sizes: font size and scale."""
    scale, unsure = style.scale, style.unsure
    if "zoom" in values:
        scale *= abs(number(values["zoom"]) or 1.0) if not _is_zero(values["zoom"]) else 1.0
    factors = values.get("scale", "").split()
    for name, words in functions(values.get("transform", "")):
        if name.startswith("scale"):
            factors += words[:2]
        elif name == "matrix" and len(words) == 6:
            factors += ["0"] * (_is_zero(words[0]) and _is_zero(words[1]) and _is_zero(words[2]) and _is_zero(words[3]))
        elif name in ("rotatex", "rotatey"):
            factors += ["0"] if words and re.fullmatch(r"-?(?:90|270)deg|-?0?\.25turn", words[0]) else []
        elif name in ("translate", "translatex", "translatey") and any("-100%" in text for text in words):
            unsure = True
    shares = [abs(factor) for text in factors if (factor := number(text)) is not None]
    scale *= min(shares, default=1.0)
    size = style.size
    if text := values.get("font-size"):
        if text in _SIZES:
            size = float(_SIZES[text])
        elif text in ("smaller", "larger"):
            size *= 0.83 if text == "smaller" else 1.2
        elif (told_size := length(text, style.size, style.size)) is not None:
            size = told_size
        elif text not in ("inherit", "unset", "revert"):
            unsure = True
    spacing = values.get("letter-spacing", "")
    if spacing and (space := length(spacing, size)) is not None and space <= -0.5 * size:
        unsure = True
    unsure |= _is_zero(values.get("line-height", "")) and values.get("overflow", "visible") != "visible"
    if (scale, size, unsure) == (style.scale, style.size, style.unsure):
        return style
    return replace(style, scale=scale, size=size, unsure=unsure)


def _faded(style: Style, values: Declarations) -> Style:
    opacity, unsure = style.opacity, style.unsure
    if text := values.get("opacity"):
        share = number(text)
        if share is not None:
            opacity *= min(max(share, 0.0), 1.0)
        elif text not in ("initial", "unset", "inherit", "revert"):
            unsure = True
    for name, words in functions(values.get("filter", "")):
        if name == "opacity" and words:
            share = number(words[0])
            opacity *= 1.0 if share is None else min(max(share, 0.0), 1.0)
        elif name in ("blur", "contrast", "brightness", "url") and words:
            size = number(words[0]) if name != "blur" else length(words[0])
            unsure |= size is None or (size >= 5 if name == "blur" else size < _LEAST_SCALE or size > 5)
    unsure |= values.get("mix-blend-mode", "normal") not in ("normal", "initial", "unset", "revert")
    unsure |= values.get("mask-image", "none").startswith(_UNKNOWN_MASKS)
    if (opacity, unsure) == (style.opacity, style.unsure):
        return style
    return replace(style, opacity=opacity, unsure=unsure)


def _coloured(style: Style, values: Declarations) -> Style:
    for name in ("color", "-webkit-text-fill-color", "fill"):
        text = values.get(name, "")
        if not text or text in ("inherit", "unset", "revert", "context-fill"):
            continue
        ink = colour(text)
        if name == "color":
            unsure = ink is None and text not in ("currentcolor", "initial", "linktext", "visitedtext")
            style = replace(style, colour=ink or style.colour, unsure=style.unsure or unsure)
            if text == "initial":
                style = replace(style, colour=None)
        elif text in ("currentcolor", "initial"):
            style = replace(style, fill=None)
        elif name == "fill" and text in _NO_TEXT:
            style = style if "stroke" in values else replace(style, fill=(0.0, 0.0, 0.0, 0.0))
        else:
            style = replace(style, fill=ink or style.fill, unsure=style.unsure or (ink is None and name != "fill"))
    if any(name in values for name in ("background", "background-color", "background-image")):
        through = "text" in (values.get("background-clip", "") + values.get("-webkit-background-clip", ""))
        if through:
            # Letters are cut out of the background and have its colour.
            return replace(style, fill=None, colour=None, unsure=True)
        return _grounded(style, values)
    return style


def _grounded(style: Style, values: Declarations) -> Style:
    """Return a style with the colour behind its text."""
    picture = values.get("background-image", "none")
    text = values.get("background-color", "transparent")
    paint = colour("transparent" if text in _KEEP else text)
    if paint is None:
        return replace(style, background=None)
    ground = _over(paint, style.ground)
    sure = style.background is not None or paint[3] >= _OPAQUE
    if picture not in _KEEP:
        only = None if "url(" in picture else uniform(picture)
        sure = only is not None and only[3] >= _OPAQUE
        ground = only if only is not None and sure else ground
    return replace(style, background=ground if sure else None, ground=ground)


def _over(paint: Colour, ground: Colour) -> Colour:
    """Return the colour that results from a possibly transparent paint on a background."""
    share = paint[3]
    red, green, blue = (mine * share + other * (1 - share) for mine, other in zip(paint[:3], ground[:3], strict=True))
    return red, green, blue, 1.0
