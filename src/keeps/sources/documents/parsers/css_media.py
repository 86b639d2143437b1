"""Evaluation of media queries for an ordinary reader: a screen of 1280 by 800, a mouse, and light colours."""

from __future__ import annotations

import re

from keeps.sources.documents.parsers.css_values import length

_WIDTH, _HEIGHT = 1280.0, 800.0
# Queries are normalised: one blank between words, none beside brackets, colons and comparisons.
_BLANKS, _BESIDE = re.compile(r"\s+"), re.compile(r" ?([():<>=]) ?")
_FEATURE = re.compile(r"\(([a-z-]{1,40})(?::([^()]{1,60}))?\)")
_RANGE = re.compile(r"\((?:([^()<>=]{1,40})([<>]=?|=))?(width|height|inline-size)(?:([<>]=?|=)([^()<>=]{1,40}))?\)")
_SIZES = {"width": _WIDTH, "device-width": _WIDTH, "inline-size": _WIDTH, "height": _HEIGHT, "device-height": _HEIGHT}
_ANSWERS = {
    "color": None,
    "hover": "hover",
    "any-hover": "hover",
    "pointer": "fine",
    "any-pointer": "fine",
    "orientation": "landscape",
    "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference",
    "prefers-contrast": "no-preference",
    "forced-colors": "none",
    "scripting": "enabled",
    "grid": "0",
    "update": "fast",
    "display-mode": "browser",
}
_TYPES = {"": True, "all": True, "screen": True, "print": False, "speech": False, "tty": False, "aural": False}


def holds(media: str) -> bool | None:
    """Return whether styles apply on an ordinary screen; None if unknown."""
    plain = _BESIDE.sub(_without_blanks, _BLANKS.sub(" ", media.lower()[:2_000]))
    answers = [_query(query.strip()) for query in plain.split(",")]
    if True in answers:
        return True
    return None if None in answers else False


def _without_blanks(found: re.Match[str]) -> str:
    """Return a sign without blanks; outside a bracket one blank stays, as in `and (`."""
    before, after = found[0].startswith(" "), found[0].endswith(" ")
    return f"{' ' if before and found[1] == '(' else ''}{found[1]}{' ' if after and found[1] == ')' else ''}"


def _query(query: str) -> bool | None:
    query = query.removeprefix("only ")
    negated = query.startswith("not ")
    answer = _all(query.removeprefix("not ").strip())
    return answer if answer is None or not negated else not answer


def _all(query: str) -> bool | None:
    """Return whether all parts of a query, joined by `and`, hold."""
    parts = query.split(" and ") if " or " not in query else []
    answers = [_part(part.strip()) for part in parts] or [None]
    if False in answers:
        return False
    return None if None in answers else True


def _part(part: str) -> bool | None:
    if not part.startswith("("):
        return _TYPES.get(part)
    if match := _FEATURE.fullmatch(part):
        return _feature(match[1], match[2])
    if (match := _RANGE.fullmatch(part)) and (match[2] or match[4]):
        size = _SIZES[match[3]]
        before = _compare(length(match[1]), match[2], size) if match[2] else True
        after = _compare(size, match[4], length(match[5])) if match[4] else True
        return None if before is None or after is None else before and after
    return None


def _feature(name: str, value: str | None) -> bool | None:
    if value is None:
        return True if name in _SIZES or (name in _ANSWERS and _ANSWERS[name] not in ("none", "0")) else None
    bound = name[:4] if name.startswith(("min-", "max-")) else ""
    name = name.removeprefix(bound)
    if name in _SIZES:
        return _compare(_SIZES[name], {"min-": ">=", "max-": "<="}.get(bound, "="), length(value))
    if name in ("resolution", "color", "-webkit-device-pixel-ratio"):
        return None
    return _ANSWERS[name] == value if name in _ANSWERS else None


def _compare(first: float | None, sign: str, second: float | None) -> bool | None:
    if first is None or second is None:
        return None
    return {"<": first < second, "<=": first <= second, ">": first > second, ">=": first >= second}.get(
        sign, first == second
    )
