"""CSS selectors: their specificity, and a form without states of mouse and keyboard."""

from __future__ import annotations

import re
from typing import Any

import tinycss2

from keeps.sources.documents.parsers.css_values import arguments

_STATE = (
    "hover|focus|active|target|visited|focus-within|focus-visible|playing|fullscreen|modal|popover-open"
    "|user-invalid|user-valid|autofill|open"
)
_WITHOUT_STATE = re.compile(rf":not\(\s*:(?:{_STATE})\s*(?:,\s*:(?:{_STATE})\s*)*\)")
_STATES = re.compile(rf":(?:{_STATE})(?![\w-])")
_ALWAYS = ":not(none)"
_SAME = (
    (re.compile(r":defined(?![\w-])"), _ALWAYS),
    (re.compile(r":(?:any-link|link)(?![\w-])"), ":is(a[href], area[href])"),
    (re.compile(r":checked(?![\w-])"), ":is([checked], [selected])"),
    (re.compile(r":disabled(?![\w-])"), "[disabled]"),
    (re.compile(r":enabled(?![\w-])"), ":not([disabled])"),
    (re.compile(r":lang\(\s*[\"']?([a-zA-Z]{1,8})[\"']?\s*\)"), r":is([lang|='\1' i], [lang|='\1' i] *)"),
    (re.compile(r":scope(?![\w-])"), ":root"),
)
_ELEMENTS = re.compile(r"::|:(?:before|after|first-letter|first-line|selection|placeholder)(?![\w-])")
_UNKNOWN = re.compile(r":[\w-]{1,50}(?:\([^()]{0,200}\))?")
_COSTLY = re.compile(r":(?:nth|first-of|last-of|only)|~")
Weight = tuple[int, int, int]


def selectors(prelude: list[Any]) -> list[list[Any]]:
    """Return the selectors of a rule, split at commas."""
    return arguments(prelude)


def asked(selector: str) -> str | None:
    """Return a selector as it matches without user interaction; None if it cannot match then."""
    if _ELEMENTS.search(selector):
        return None
    if ":" not in selector:
        return selector
    selector = _WITHOUT_STATE.sub(_ALWAYS, selector)
    if _STATES.search(selector):
        return None
    for pattern, same in _SAME:
        selector = pattern.sub(same, selector)
    return selector


def loosened(selector: str) -> str | None:
    """Return a selector without its pseudo-classes, which matches more; None if nothing remains."""
    loose = _UNKNOWN.sub("", selector).strip()
    return loose if loose and loose != selector and loose[0] not in ">+~," else None


def cost(selector: str, nodes: int, siblings: int) -> int:
    """Return the approximate number of steps to evaluate a selector."""
    steps = nodes * (1 + selector.count(" ")) * siblings ** min(len(_COSTLY.findall(selector)), 5)
    return steps * nodes if ":has" in selector else steps


def nested(selector: str, above: list[str] | None) -> str:
    """Return a selector nested in the rule of another one."""
    if above is None:
        return selector.replace("&", ":root")
    around = f":is({', '.join(above)})"
    return selector.replace("&", around) if "&" in selector else f"{around} {selector}"


def weight(parts: list[Any]) -> Weight:
    """Return the specificity of a selector: of ids, of classes and their like, of tags."""
    ids = classes = tags = 0
    before = ""
    for part in parts:
        sign = part.value if part.type == "literal" else ""
        if part.type == "hash":
            ids += 1
        elif part.type == "[] block":
            classes += 1
        elif part.type == "ident":
            classes += before in (".", ":")
            tags += before not in (".", ":")
        elif part.type == "function" and before == ":":
            inner = (0, 0, 0)
            if part.lower_name in ("is", "not", "has", "matches", "-webkit-any"):
                inner = max(map(weight, arguments(part.arguments)))
            classes += part.lower_name not in ("is", "not", "has", "where", "matches", "-webkit-any")
            ids, classes, tags = ids + inner[0], classes + inner[1], tags + inner[2]
        before = sign
    return ids, classes, tags


def weight_of(selector: str) -> Weight:
    return weight(tinycss2.parse_component_value_list(selector))
