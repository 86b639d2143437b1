"""Positions of values in a JSON text, so that text can be inserted while the rest stays as it was sent. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_space = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Span:
    """A value, and its place in the text."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of `text[start:end]`; an insertion if both are equal."""

    start: int
    end: int
    text: str


def whole_object(text: str) -> Span:
    """Return the object that is the whole text. Raises ValueError, RecursionError."""
    span = _value(text, _after_space(text, 0))
    if _after_space(text, span.end) != len(text) or not isinstance(span.value, dict):
        raise ValueError("not one object")
    return span


def members(text: str, place: Span) -> dict[str, Span]:
    """Return the values of the object at `place` by name.

    Raises ValueError for a repeated name: another reader of the text might choose the other value.
    """
    values: dict[str, Span] = {}
    at = _after_space(text, place.start + 1)
    while text[at] != "}":
        name, at = _decode(text, at)
        if name in values:
            raise ValueError("a name is repeated")
        values[name] = span = _value(text, _after_space(text, _after_space(text, at) + 1))
        at = _after_comma(text, span.end)
    return values


def elements(text: str, place: Span) -> list[Span]:
    """Return the values of the array at `place`."""
    values: list[Span] = []
    at = _after_space(text, place.start + 1)
    while text[at] != "]":
        values.append(_value(text, at))
        at = _after_comma(text, values[-1].end)
    return values


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits, which must not overlap."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join((*parts, text[at:]))


def quoted(value: object) -> str:
    """Return a value as JSON."""
    return json.dumps(value, separators=(",", ":"))


def _value(text: str, at: int) -> Span:
    value, end = _decode(text, at)
    return Span(at, end, value)


def _after_space(text: str, at: int) -> int:
    match = _space.match(text, at)
    return at if match is None else match.end()


def _after_comma(text: str, at: int) -> int:
    at = _after_space(text, at)
    return _after_space(text, at + 1) if text[at] == "," else at
