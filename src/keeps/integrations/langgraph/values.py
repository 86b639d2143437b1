"""Converts values and filters of LangGraph to JSON as its own PostgreSQL store does. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast
from uuid import uuid4

from keeps_client.errors import ValidationFailedError

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
_BEYOND_NUMBERS = 10**400
"""Larger than any float."""


def as_json(value: object) -> Any:
    """Return a value with tuples as lists and with keys that are numbers, truth values or None as text.

    Raises:
        ValidationFailedError: Two keys of one object are the same text.
    """
    if isinstance(value, list | tuple):
        return [as_json(each) for each in cast("list[object]", value)]
    if not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[object, object]", value)
    written = {_key(key): as_json(inner) for key, inner in entries.items()}
    if len(written) < len(entries):
        key = next(key for key in entries if not isinstance(key, str) and _key(key) in entries)
        raise ValidationFailedError(f"{key!r} and {_key(key)!r} become the same name in JSON; rename one of them")
    return written


def _key(key: object) -> Any:
    if isinstance(key, bool | int | float) or key is None:
        return json.dumps(key)
    return key


def storable_filter(wanted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return an equivalent filter that contains only JSON that can be stored.

    No stored value equals NaN, infinity or a text with NUL, which JSON in PostgreSQL cannot hold.

    Raises:
        ValueError: An operator is unknown.
    """
    fields = cast("dict[str, Any]", as_json(wanted or {}))
    return {_name(name): _condition(said) for name, said in fields.items()} or None


def _condition(said: Any) -> Any:
    if not isinstance(said, dict) or not said:
        return said if _is_storable(said) else {"$eq": _absent()}
    entries = cast("dict[str, Any]", said)
    if not any(name.startswith("$") for name in entries):
        return {_name(name): _condition(inner) for name, inner in entries.items()}
    for name in entries:
        if name not in OPERATORS:
            raise ValueError(f"Unsupported operator: {name}; choose from {', '.join(OPERATORS)}")
    return dict(_compared(name, value) for name, value in entries.items())


def _compared(operator: str, value: Any) -> tuple[str, Any]:
    if _is_storable(value):
        return operator, value
    if operator in ("$eq", "$ne"):
        return operator, _absent()
    if isinstance(value, str):  # no stored text contains NUL, so what is above "a\0…" is above "a"
        return ("$gt" if operator.startswith("$gt") else "$lte"), value.split("\x00")[0]
    if isinstance(value, float) and not math.isnan(value):
        return operator, _BEYOND_NUMBERS if value > 0 else -_BEYOND_NUMBERS
    return "$eq", _absent()


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" not in value
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_is_storable(part) for entry in cast("dict[str, Any]", value).items() for part in entry)
    return not isinstance(value, list) or all(map(_is_storable, cast("list[Any]", value)))


def _name(name: str) -> str:
    return _absent() if "\x00" in name else name


def _absent() -> str:
    """Return a text that no stored value equals."""
    return f"absent {uuid4()}"
