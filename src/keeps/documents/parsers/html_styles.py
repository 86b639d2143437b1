"""Text hidden by a page's own styles: a small part of the cascade, for style elements and style attributes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import tinycss2
import tinycss2.color3
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

MAX_STYLE_CHARACTERS, MAX_SELECTORS = 1_000_000, 2_000
_BOXES = frozenset(("block", "flex", "grid", "table", "list-item", "table-row", "table-cell", "flow-root"))
_RELEVANT = frozenset(
    "display visibility opacity font-size font color background background-color background-image position left right"
    " top bottom text-indent height max-height width max-width overflow overflow-x overflow-y clip clip-path transform"
    " content-visibility".split()
)
_HIDING_A_BOX = _RELEVANT - frozenset(
    "display visibility font-size font color background background-color background-image".split()
)
_STATES = re.compile(r":(?:hover|focus|active|target|checked|visited|focus-within|focus-visible|disabled)\b")
_NUMBER = re.compile(r"(-?[0-9]{0,9}\.?[0-9]{1,9})(px|pt|em|ex|rem|%|cm|mm|in|vw|vh|ch)?")
_INSET = re.compile(r"inset\(\s*(?:100|[5-9]\d)%")
_CLIPPED = re.compile(r"rect\(\s*([01])(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?\s*\)")
_FAR_OFF, _UNREADABLE_PIXELS = -900, 1
_ALIKE, _TRANSPARENT, _OPAQUE = 0.02, 0.02, 0.98
Declarations = Mapping[str, str]
Colour = tuple[float, float, float]
WHITE: Colour = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Style:
    """The inherited style of text in an element."""

    visible: bool = True
    sized: bool = True
    transparent: bool = False
    colour: Colour | None = None
    background: Colour | None = WHITE

    @property
    def shows_text(self) -> bool:
        return self.visible and self.sized and not self.transparent and not self._is_on_its_own_colour

    @property
    def _is_on_its_own_colour(self) -> bool:
        """Return whether text has its background's colour, where the file sets both."""
        if self.colour is None or self.background is None:
            return False
        return max(abs(mine - other) for mine, other in zip(self.colour, self.background, strict=True)) <= _ALIKE


class Styles:
    """The styles of one page, by element."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._rules: dict[int, list[tuple[tuple[int, ...], Declarations]]] = defaultdict(list)
        self._selectors = 0
        # A sheet outside of the file may colour any background.
        self.start = Style(background=None if tree.css_first("link[rel~=stylesheet]") else WHITE)
        for sheet in tree.css("style"):
            if _for_screens(sheet.attributes.get("media") or ""):
                self._read(tree, tinycss2.parse_stylesheet((sheet.text() or "")[:MAX_STYLE_CHARACTERS]))

    def of(self, node: LexborNode) -> Declarations:
        """Return the declarations that apply to an element, the strongest of each property."""
        attributes = node.attributes
        style = attributes.get("style")
        rules = self._rules.get(node.mem_id, ()) if self._rules else ()
        values = _presentation(attributes)
        if style or rules:
            weighed = [*rules, *(_inline(style[:10_000]) if style else ())]
            for _, declarations in sorted(weighed, key=lambda rule: rule[0]):
                values |= declarations
        return values

    def _read(self, tree: LexborHTMLParser, rules: list[Any]) -> None:
        for rule in rules:
            if rule.type == "at-rule" and rule.content is not None:
                condition = tinycss2.serialize(rule.prelude)
                if rule.lower_at_keyword == "layer" or (rule.lower_at_keyword == "media" and _for_screens(condition)):
                    self._read(tree, tinycss2.parse_rule_list(rule.content))
            elif rule.type == "qualified-rule" and rule.content is not None:
                declarations = _weighed(tinycss2.parse_blocks_contents(rule.content), ())
                if declarations:
                    self._match(tree, rule.prelude, declarations)

    def _match(self, tree: LexborHTMLParser, prelude: list[Any], weighed: list[tuple[Any, Declarations]]) -> None:
        for selector in _selectors(prelude):
            self._selectors += 1
            if self._selectors > MAX_SELECTORS or _STATES.search(selector):
                continue
            try:
                nodes = tree.css(selector)
            except SelectolaxError:
                continue  # pseudo-elements, and what no browser reads either
            ids, classes = selector.count("#"), len(re.findall(r"[.\[]|:(?!:)", selector))
            tags = len(re.findall(r"(?:^|[\s>+~])[a-zA-Z]", selector))
            for (important,), declarations in weighed:
                weight = (2 * important, ids, classes, tags, self._selectors)
                for node in nodes:
                    self._rules[node.mem_id].append((weight, declarations))


def _selectors(prelude: list[Any]) -> list[str]:
    parts: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [tinycss2.serialize(part).strip() for part in parts]


def displayed_as_box(values: Declarations) -> bool:
    return values.get("display", "") in _BOXES


def hides_box(tag: str, attributes: Mapping[str, str | None], values: Declarations) -> bool:
    """Return whether an element and all its content are hidden."""
    display = values.get("display", "")
    if display == "none" or attributes.get("aria-hidden") == "true":
        return True
    if not display and ("hidden" in attributes or (tag == "dialog" and "open" not in attributes)):
        return True
    if _HIDING_A_BOX.isdisjoint(values):
        return False
    if values.get("content-visibility") == "hidden" or _is_zero(values.get("opacity", "")):
        return True
    cut_off = any("hidden" in values.get(name, "") or "clip" in values.get(name, "") for name in _OVERFLOWS)
    if cut_off and any(_is_zero(values.get(name, "")) for name in ("height", "max-height", "width", "max-width")):
        return True
    placed = values.get("position", "") in ("absolute", "fixed", "relative")
    if placed and any(_is_far(values.get(name, "")) for name in ("left", "right", "top", "bottom")):
        return True
    clipped = placed and _CLIPPED.search(values.get("clip", ""))
    scaled = re.search(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]", values.get("transform", ""))
    return bool(
        clipped or scaled or _INSET.search(values.get("clip-path", "")) or _is_far(values.get("text-indent", ""))
    )


_OVERFLOWS = ("overflow", "overflow-x", "overflow-y")


def inherited(style: Style, values: Declarations) -> Style:
    """Return the style of an element's content."""
    if not values:
        return style
    if visibility := values.get("visibility"):
        if visibility in ("hidden", "collapse"):
            style = replace(style, visible=False)
        elif visibility in ("visible", "initial"):
            style = replace(style, visible=True)
    if size := values.get("font-size"):
        sized = _sized(size, style.sized)
        style = style if sized is None else replace(style, sized=sized)
    if (colour := _colour(values.get("color", ""))) is not None:
        style = replace(style, colour=colour[:3], transparent=colour[3] < _TRANSPARENT)
    if any(name in values for name in ("background", "background-color", "background-image")):
        style = replace(style, background=_background(values, style.background))
    return style


def _background(values: Declarations, before: Colour | None) -> Colour | None:
    """Return the background colour of an element; None for a picture or an unknown one."""
    if values.get("background-image", "none") != "none":
        return None
    told = values.get("background-color") or values.get("background") or "transparent"
    if told in ("none", "initial", "inherit", "unset"):
        return before
    colour = _colour(told)
    if colour is None or colour[3] >= _OPAQUE:
        return None if colour is None else colour[:3]
    return before if colour[3] < _TRANSPARENT else None


@lru_cache(maxsize=1_000)
def _colour(text: str) -> tuple[float, float, float, float] | None:
    parsed = tinycss2.color3.parse_color(text) if text else None
    if parsed is None or isinstance(parsed, str):
        return None
    return parsed.red, parsed.green, parsed.blue, parsed.alpha


def _sized(size: str, before: bool) -> bool | None:
    found = _NUMBER.fullmatch(size)
    if found is None:
        return True if size.endswith(("small", "large", "medium", "initial")) else None
    value, unit = float(found[1]), found[2] or ""
    if unit in ("em", "ex", "%", "ch"):
        return before and value > 0
    return value > _UNREADABLE_PIXELS if unit in ("px", "pt", "") else value > 0


def _is_zero(value: str) -> bool:
    found = _NUMBER.fullmatch(value)
    return found is not None and float(found[1]) == 0


def _is_far(value: str) -> bool:
    length = _NUMBER.fullmatch(value)
    if length is None or not length[1].startswith("-"):
        return False
    scale = {"em": 16, "rem": 16, "%": 5, "vw": 10, "vh": 10, "in": 96, "cm": 38}.get(length[2] or "px", 1)
    return float(length[1]) * scale <= _FAR_OFF


def _for_screens(media: str) -> bool:
    """Return whether styles apply to every screen: those for some widths hide only what others show."""
    kinds = [kind.strip().lower() for kind in media.split(",")]
    return any(kind in ("", "all", "screen", "only screen") for kind in kinds)


@lru_cache(maxsize=2_000)
def _inline(style: str) -> list[tuple[tuple[int, ...], Declarations]]:
    """Return the declarations of a style attribute, which override those of rules."""
    return _weighed(tinycss2.parse_blocks_contents(style), (1, 0, 0, 0, 0))


def _presentation(attributes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the colours of obsolete presentational attributes."""
    if not attributes:
        return {}
    values = {
        name: value
        for name, attribute in (("color", "color"), ("background-color", "bgcolor"))
        if (value := attributes.get(attribute))
    }
    if attributes.get("background"):
        values["background-image"] = "url()"
    return values


def _weighed(parsed: list[Any], weight: tuple[int, ...]) -> list[tuple[tuple[int, ...], Declarations]]:
    """Return the relevant declarations, plain ones and important ones, each with their weight."""
    plain: dict[str, str] = {}
    important: dict[str, str] = {}
    for each in parsed:
        if each.type == "declaration" and each.lower_name in _RELEVANT:
            into = important if each.important else plain
            for name, value in _longhand(each.lower_name, each.value):
                into[name] = value
    if not weight:
        return [((number,), values) for number, values in enumerate((plain, important)) if values]
    return [
        ((weight[0] + 2 * number, *weight[1:]), values) for number, values in enumerate((plain, important)) if values
    ]


def _longhand(name: str, value: list[Any]) -> Iterator[tuple[str, str]]:
    """Return a declaration with its value in lower case, escapes and comments resolved; of `font` its size."""
    parts = [token for token in value if token.type not in ("comment", "whitespace")]
    if name == "font":
        sizes = [token for token in parts if token.type in ("dimension", "percentage", "number")]
        if sizes:
            yield "font-size", tinycss2.serialize(sizes[:1]).lower()
        return
    if name == "background":
        yield (
            "background-image",
            "url()" if any(token.type in ("url", "function") and _paints(token) for token in parts) else "none",
        )
        colours = [token for token in parts if tinycss2.color3.parse_color(token) is not None]
        yield "background-color", tinycss2.serialize(colours[:1]).lower() if colours else "transparent"
        return
    if len(parts) == 1 and parts[0].type == "ident":
        yield name, parts[0].lower_value
    else:
        yield name, tinycss2.serialize([token for token in value if token.type != "comment"]).strip().lower()


def _paints(part: Any) -> bool:
    return part.type == "url" or part.lower_name == "url" or "gradient" in part.lower_name
