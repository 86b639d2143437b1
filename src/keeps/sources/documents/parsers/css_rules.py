"""The rules of a page's own styles: the part of the cascade that can hide text."""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

import tinycss2
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from keeps.sources.documents.parsers.css_media import holds
from keeps.sources.documents.parsers.css_properties import RELEVANT, longhands, presentation, resolved
from keeps.sources.documents.parsers.css_selectors import asked, cost, loosened, nested, selectors, weight_of

MAX_STYLE_CHARACTERS, MAX_SELECTORS, MAX_RULES_NESTED = 1_000_000, 20_000, 10
MAX_STEPS, MAX_MATCHES = 50_000_000, 200_000
_MOVING = re.compile(r"opacity|visibility|display|transform|translate|scale|clip-path|filter|color|font-size|left|top")
_SCOPE = re.compile(r"\(([^()]{1,200})\)")
Declarations = Mapping[str, str]
_Weight = tuple[int, ...]
_UNLAYERED = 1_000_000


class Styles:
    """The styles of one page, by element."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._rules: dict[int, list[tuple[_Weight, Declarations, bool]]] = defaultdict(list)
        self._moves: set[str] = set()
        self._layers: dict[str, int] = {}
        self._selectors = self._steps = self._matches = 0
        self.incomplete = False
        """True if some rules were skipped because there are too many."""
        self.elsewhere = False
        """True if the page refers to styles outside the file."""
        self._size: tuple[int, int] | None = None
        for sheet in tree.css("style, link[rel~=stylesheet i]"):
            answer = holds(sheet.attributes.get("media") or "")
            if answer is False or not _is_css(sheet.attributes.get("type")):
                continue
            text = sheet.text() or "" if sheet.tag == "style" else _data(sheet.attributes.get("href") or "")
            if text is None:
                self.elsewhere = True
            else:
                self._sheet(text, sure=answer is True, depth=0)

    def of(self, node: LexborNode, variables: dict[str, str]) -> tuple[Declarations, Declarations | None]:
        """Return the declarations that apply to an element, the strongest of each property.

        Returns: those that certainly apply, and those together with the possible ones; None if both are the same.
        """
        attributes = node.attributes
        style = attributes.get("style")
        rules = self._rules.get(node.mem_id, ()) if self._rules else ()
        values = presentation(node.tag or "", attributes)
        if not style and not rules:
            return values, None
        weighed = [*rules, *((*each, True) for each in (_inline(style[:10_000]) if style else ()))]
        weighed.sort(key=lambda rule: rule[0])
        possible = None if all(sure for *_, sure in weighed) else dict(values)
        for _, declarations, sure in weighed:
            if possible is not None:
                possible |= declarations
            if sure:
                values |= declarations
        return resolved(values, variables), None if possible is None else resolved(possible, variables)

    def moves(self, values: Declarations) -> bool:
        """Return whether an animation of the page can hide or show an element."""
        return bool(self._moves) and not self._moves.isdisjoint(re.split(r"[\s,]+", values.get("animation", "")))

    def _sheet(self, text: str, *, sure: bool, depth: int) -> None:
        self.incomplete |= len(text) > MAX_STYLE_CHARACTERS
        rules = tinycss2.parse_stylesheet(text[:MAX_STYLE_CHARACTERS])
        self._read(rules, None, _UNLAYERED, sure=sure, depth=depth)

    def _read(self, rules: list[Any], above: list[str] | None, layer: int, *, sure: bool, depth: int) -> None:
        """Read rules, and declarations that stand among them within a rule."""
        if depth > MAX_RULES_NESTED:
            self.incomplete = True
            return
        declarations = _weighed(rules, layer) if above is not None else []
        for selector in above or () if declarations else ():
            self._match(selector, declarations, sure=sure)
        for rule in rules:
            if rule.type == "at-rule":
                self._at_rule(rule, above, layer, sure=sure, depth=depth)
            elif rule.type == "qualified-rule":
                content = tinycss2.parse_blocks_contents(rule.content)
                names = [tinycss2.serialize(each).strip() for each in selectors(rule.prelude)]
                inner = [name if above is None and "&" not in name else nested(name, above) for name in names]
                self._read(content, inner, layer, sure=sure, depth=depth + 1)

    def _at_rule(self, rule: Any, above: list[str] | None, layer: int, *, sure: bool, depth: int) -> None:
        condition = tinycss2.serialize(rule.prelude).strip()
        name = rule.lower_at_keyword
        if name == "import":
            self._import(rule, sure=sure, depth=depth)
            return
        if name == "layer":
            for each in condition.split(",")[:100]:
                layer = self._layers.setdefault(each.strip() or f" {len(self._layers)}", len(self._layers))
        if name in ("keyframes", "-webkit-keyframes") and _MOVING.search(tinycss2.serialize(rule.content or [])):
            self._moves.add(condition.strip("\"'").lower())
        answer: bool | None = True
        if name in ("media", "container"):
            answer = holds(condition)
        elif name == "supports":
            answer = None if re.search(r"\bnot\b", condition) else True
        elif name == "scope" and (root := _SCOPE.match(condition.strip())):
            above = [nested(root[1], above) if above is not None else root[1]]
            if rule.content is not None:
                self._read(tinycss2.parse_rule_list(rule.content), above, layer, sure=sure, depth=depth + 1)
            return
        elif name not in ("layer", "scope"):
            return
        if answer is not False and rule.content is not None:
            content = tinycss2.parse_blocks_contents(rule.content)
            self._read(content, above, layer, sure=sure and answer is True, depth=depth + 1)

    def _import(self, rule: Any, *, sure: bool, depth: int) -> None:
        parts = [part for part in rule.prelude if part.type != "whitespace"]
        address = parts[0] if parts else None
        if address is not None and address.type == "function" and address.arguments:
            address = address.arguments[0]
        answer = holds(tinycss2.serialize(parts[1:]))
        text = _data(address.value) if address is not None and address.type in ("url", "string") else None
        if text is None:
            self.elsewhere = True
        elif answer is not False and depth < MAX_RULES_NESTED:
            self._sheet(text, sure=sure and answer is True, depth=depth + 1)

    def _match(self, written: str, weighed: list[tuple[_Weight, Declarations]], *, sure: bool) -> None:
        selector = asked(written)
        if selector is None or self._matches > MAX_MATCHES:
            return
        self._selectors += 1
        nodes = self._selected(selector)
        if nodes is None and (loose := loosened(selector)) is not None:
            nodes, sure = self._selected(loose), False
        if not nodes:
            return
        # A rule with many variables takes as long as many rules.
        self._matches += len(nodes) * (1 + sum(len(declarations) for _, declarations in weighed) // 20)
        if self._matches > MAX_MATCHES:
            self.incomplete = True
            return
        own = weight_of(written)
        for rank, declarations in weighed:
            weight = (*rank, *own, self._selectors)
            for node in nodes:
                self._rules[node.mem_id].append((weight, declarations, sure))

    def _selected(self, selector: str) -> list[LexborNode] | None:
        """Return the elements that a selector matches; None for an invalid selector."""
        if self._size is None:
            parents: dict[int, int] = defaultdict(int)
            nodes = self._tree.css("*")
            for node in nodes:
                if (parent := node.parent) is not None:
                    parents[parent.mem_id] += 1
            self._size = len(nodes), max(parents.values(), default=1)
        self._steps += cost(selector, *self._size)
        if self._steps > MAX_STEPS or self._selectors > MAX_SELECTORS or len(selector) > 1_000:
            self.incomplete = True
            return []
        try:
            return self._tree.css(selector)
        except SelectolaxError:
            return None


def _is_css(kind: str | None) -> bool:
    return (kind or "text/css").split(";")[0].strip().lower() in ("", "text/css")


def _data(address: str) -> str | None:
    """Return the content of a data URL; None for other addresses."""
    if address[:5].lower() != "data:" or "," not in address:
        return None
    head, _, body = address[:MAX_STYLE_CHARACTERS].partition(",")
    data = unquote_to_bytes(body)
    if head.lower().endswith(";base64"):
        try:
            data = base64.b64decode(data)
        except binascii.Error:
            return None
    return data.decode("utf-8", "replace")


@lru_cache(maxsize=2_000)
def _inline(style: str) -> list[tuple[_Weight, Declarations]]:
    """Return the declarations of a style attribute, which are stronger than those of rules."""
    return _weighed(tinycss2.parse_blocks_contents(style), _UNLAYERED + 1)


def _weighed(parsed: list[Any], layer: int) -> list[tuple[_Weight, Declarations]]:
    """Return the relevant declarations, normal and important ones, each with its weight.

    Later layers are stronger, except for important declarations, where earlier ones are.
    """
    kinds: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for declaration in parsed:
        if declaration.type == "declaration" and (
            declaration.lower_name in RELEVANT or declaration.lower_name.startswith("--")
        ):
            for name, value in _values(declaration):
                kinds[declaration.important].pop(name, None)
                kinds[declaration.important][name] = value
    strength = layer if layer > _UNLAYERED else -layer
    return [(rank, values) for rank, values in (((0, layer), kinds[False]), ((1, strength), kinds[True])) if values]


def _values(declaration: Any) -> Iterator[tuple[str, str]]:
    if declaration.lower_name.startswith("--"):
        yield declaration.lower_name, tinycss2.serialize(declaration.value).strip().lower()[:1_000]
    else:
        yield from longhands(declaration.lower_name, declaration.value)
