"""Translates mem0's filters to those of Keeps. Pure.

{"AND": [{"user_id": "alice"}, {"created_at": {"gte": "2026-01-01"}}, {"NOT": {"topic": "food"}}]}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from pydantic import JsonValue

from keeps.memory.memories.types import APP_ID
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Filters

APP = APP_ID
"""The metadata key for a memory's app, since Keeps has no such column."""
_COLUMNS = {"user_id": "user_id", "agent_id": "agent_id", "run_id": "session_id", "app_id": f"metadata.{APP}"}
_TIMES = {
    "created_at": "created_at",
    "updated_at": "updated_at",
    "timestamp": "valid_from",
    "expiration_date": "expires_at",
}
_TEXTS = {"memory": "content", "keywords": "content"}
_GROUPS = ("AND", "OR", "NOT")
_SAME = {"eq": "eq", "ne": "ne", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "in": "in", "nin": "nin"}
_OPERATORS = (*_SAME, "contains", "icontains")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MOST_USERS = 20
_MAX_DEPTH = 10


def translated(filters: Mapping[str, Any] | None) -> Filters | None:
    """Return the filters of Keeps; None for no filter. Raises ValidationFailedError."""
    return _group(filters, 1) if filters else None


def users_named(filters: Mapping[str, Any] | None) -> list[str]:
    """Return the users that filters name, without duplicates, in order. Raises ValidationFailedError for too many."""
    users: dict[str, None] = {}

    def walk(part: object, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ValidationFailedError(f"filters are nested deeper than {_MAX_DEPTH} levels")
        if isinstance(part, list):
            for item in part:
                walk(item, depth)
        elif isinstance(part, Mapping):
            for name, inner in part.items():
                if name in _GROUPS:
                    walk(inner, depth + 1)
                elif name == "user_id":
                    users.update(dict.fromkeys(_users(inner)))

    walk(filters, 1)
    if len(users) > MOST_USERS:
        raise ValidationFailedError(f"filters name {len(users)} users; the maximum is {MOST_USERS}")
    return list(users)


def _users(given: object) -> list[str]:
    if isinstance(given, Mapping):
        return [user for operator, value in given.items() if operator in ("eq", "in") for user in _users(value)]
    many = given if isinstance(given, list) else [given]
    return [str(each) for each in many if isinstance(each, str | int) and each != "*"]


def asks_for_others(filters: object, *, negated: bool = False) -> bool:
    """Return True if filters select more users than they name: all (`{"user_id": "*"}`), or all except some."""
    if isinstance(filters, list):
        return any(asks_for_others(each, negated=negated) for each in filters)
    if not isinstance(filters, Mapping):
        return False
    return any(
        negated or _open(inner)
        if name == "user_id"
        else name in _GROUPS and asks_for_others(inner, negated=negated or name == "NOT")
        for name, inner in filters.items()
    )


def _open(given: object) -> bool:
    if isinstance(given, Mapping):
        return given.get("eq") == "*" or not given.keys() & {"eq", "in"}
    return given == "*"


def _group(part: object, depth: int) -> Filters:
    if depth > _MAX_DEPTH:
        raise ValidationFailedError(f"filters are nested deeper than {_MAX_DEPTH} levels")
    if not isinstance(part, Mapping) or not part:
        raise ValidationFailedError(
            'a filter is an object such as {"user_id": "alice"} or {"AND": [{"user_id": "alice"}]}'
        )
    pieces: list[Filters] = []
    for name, inner in part.items():
        if name in _GROUPS:
            parts = inner if isinstance(inner, list) else [inner]
            if not parts:
                raise ValidationFailedError(f"{name} needs at least one condition")
            inside: list[JsonValue] = [_group(each, depth + 1) for each in parts]
            # None of several conditions in NOT may hold.
            joined: Filters = {name: inside}
            if name == "NOT":
                joined = {"NOT": [{"OR": inside}]}
            pieces.append(joined)
        elif name == "metadata" and isinstance(inner, Mapping):
            pieces += [_field(f"metadata.{key}", value) for key, value in inner.items()]
        else:
            pieces.append(_field(name, inner))
    return pieces[0] if len(pieces) == 1 else {"AND": pieces}  # pyright: ignore[reportReturnType]


def _field(name: str, given: object) -> Filters:
    if name == "memory_ids":
        return {"memory_id": {"in": given if isinstance(given, list) else [given]}}  # pyright: ignore[reportReturnType]
    column, read = _column(name)
    if name.upper() in _GROUPS and name != name.upper() and isinstance(given, list | Mapping):
        raise ValidationFailedError(f"write {name.upper()} in capitals, or metadata.{name} for a key of that name")
    if not isinstance(given, Mapping):
        given = {"eq": given}
    pieces: list[Filters] = []
    for operator, value in given.items():
        if operator not in _OPERATORS:
            raise ValidationFailedError(
                f"unknown operator {operator!r} on {name!r}; choose from {', '.join(_OPERATORS)}"
            )
        pieces.append(_condition(name, column, operator, read(value)))
    return pieces[0] if len(pieces) == 1 else {"AND": pieces}  # pyright: ignore[reportReturnType]


def _column(name: str) -> tuple[str, Callable[[Any], Any]]:
    if name in _COLUMNS:
        return _COLUMNS[name], _text
    if name in _TIMES:
        return _TIMES[name], _same
    if name in _TEXTS:
        return _TEXTS[name], _same
    if name == "categories":
        return "tags", _same
    return name if name.startswith("metadata.") else f"metadata.{name}", _same


def _condition(name: str, column: str, operator: str, value: Any) -> Filters:
    if value == "*" and operator in ("eq", "ne"):
        if column == "tags":
            return {"tags": {"ne" if operator == "eq" else "eq": []}}
        return {column: {"exists": operator == "eq"}}
    if value is None and operator in ("eq", "ne"):
        return {column: {"exists": operator == "ne"}}
    if name in _TIMES and isinstance(value, str) and _DAY.fullmatch(value) and operator in ("lte", "gt"):
        # A day lasts until its end.
        following = _day_after(name, value)
        return {column: {"lt" if operator == "lte" else "gte": following}}
    if column == "tags":
        return {"tags": {"contains" if operator in ("eq", "contains", "icontains") else operator: value}}
    if operator in ("contains", "icontains"):
        within: Filters = {column: {"substring" if operator == "contains" else "isubstring": value}}
        if not column.startswith("metadata."):
            return within
        # A part of a text, or one value of a list.
        listed: Filters = {column: {"contains": value}}
        return {"OR": [within, listed]} if isinstance(value, str) else listed
    return {column: {_SAME[operator]: value}}


def _day_after(name: str, day: str) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        raise ValidationFailedError(
            f"{name!r} compares with a time such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None


def _text(value: Any) -> Any:
    """Return an id as text: a number means its digits."""
    if isinstance(value, list):
        return [_text(each) for each in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _same(value: Any) -> Any:
    return value
