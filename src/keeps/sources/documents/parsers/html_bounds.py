"""Limits on pages that take quadratic time to parse: deep nesting, and elements with many attributes."""

from __future__ import annotations

import re

from keeps.sources.documents.parsers import MAX_NESTING, RefusedError

MAX_ATTRIBUTES, MAX_OPEN = 1_000, 15_000
_TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/>]{0,60}))")
_BETWEEN = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(r"[^\s/>=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]*))?")
_LONG = 2 * MAX_ATTRIBUTES
_UNCOUNTED = frozenset(
    "p li td th tr dt dd option tbody thead tfoot colgroup area base br col embed hr img input link meta param source"
    " track wbr a body html head".split()
)
"""Elements that close themselves or one another."""


def check_bounds(text: str) -> None:
    """Raise RefusedError if a page takes much longer to parse than its length justifies."""
    deep = text.count("<") > MAX_OPEN
    if not deep and len(text) < _LONG:
        return
    at, depth = 0, 0
    while (tag := _TAG.search(text, at)) is not None:
        at = tag.end()
        if tag[1]:
            at = max(text.find("-->", at), at)
            continue
        if tag[2]:
            depth = max(depth - 1, 0) if tag[3].lower() not in _UNCOUNTED else depth
            continue
        if tag[3].lower() not in _UNCOUNTED:
            depth += 1
            if depth > MAX_OPEN:
                raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        end = text.find(">", at, at + _LONG)
        if end < 0:
            at = _past_attributes(text, at)


def _past_attributes(text: str, at: int) -> int:
    """Return the position at which the attributes of a tag end."""
    for _ in range(MAX_ATTRIBUTES):
        between = _BETWEEN.match(text, at)
        attribute = _ATTRIBUTE.match(text, between.end() if between else at)
        if attribute is None:
            return at
        at = attribute.end()
    raise RefusedError(f"an element of it has more than {MAX_ATTRIBUTES:,} attributes")
