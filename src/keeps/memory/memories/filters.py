"""Compile the filter language to SQL with every value bound. Pure.

    {"AND": [{"kind": {"eq": "episodic"}}, {"metadata.topic": {"in": ["food", "travel"]}}, {"NOT": [{"tags":
    {"contains": "old"}}]}]}

Fields are the columns of Memory and `metadata.<path>`; a name that contains dots may be quoted. Several fields in one
object are joined by AND. An unknown field or operator raises an error that lists the known ones.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from pydantic import JsonValue, TypeAdapter, ValidationError

from keeps.memory.memories.types import MEMORY
from keeps.store.db.statements import Condition
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Filters
from keeps_client.models.common import UtcTime, exact_numbers

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "substring", "isubstring", "exists")
_COMPARISONS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_SUBSTRINGS = ("substring", "isubstring")
_MAX_DEPTH = 10
_MAX_CONDITIONS = 100
_MAX_NAME = 1_000
_PART = re.compile(r'"([^"]+)"|([^".][^.]*)')
_PATH = re.compile(r'(?:"[^"]+"|[^".][^.]*)(?:\.(?:"[^"]+"|[^".][^.]*))*')

_TEXT, _TIME, _NUMBER, _UUID, _TAGS, _JSON = "text", "timestamptz", "double precision", "uuid", "text[]", "jsonb"
COLUMNS: dict[str, str] = {
    name: _NUMBER if kind == "integer" else kind for name, kind in MEMORY.types.items() if name != "content_hash"
}
_TIMES: TypeAdapter[datetime] = TypeAdapter(UtcTime)


def compile_filters(filters: Filters | None, first_parameter: int, table: str = "memories") -> Condition:
    """Return a condition on `table` with values bound from `$first_parameter` on; `true` without filters.

    Raises ValidationFailedError for unknown fields and operators.
    """
    if not filters:
        return Condition("true")
    compiler = _Compiler(table, first_parameter)
    try:
        sql = compiler.group(filters, depth=1)
    except RecursionError:
        raise ValidationFailedError("filters are nested too deeply") from None
    return Condition(sql, tuple(compiler.values))


def fields_of(filters: Filters | None) -> set[str]:
    """Return the columns that a filter mentions, for defaults that yield to an explicit filter."""
    columns: set[str] = set()

    def walk(part: JsonValue) -> None:
        if isinstance(part, dict):
            for name, inner in part.items():
                if name in ("AND", "OR", "NOT"):
                    walk(inner)
                else:
                    columns.add(name.split(".")[0])
        elif isinstance(part, list):
            for inner in part:
                walk(inner)

    walk(cast("JsonValue", filters))
    return columns


@dataclass(slots=True)
class _Compiler:
    table: str
    first: int
    values: list[object] = None  # pyright: ignore[reportAssignmentType]
    conditions: int = 0

    def __post_init__(self) -> None:
        self.values = []

    def bind(self, value: object, kind: str) -> str:
        self.values.append(value)
        return f"${self.first + len(self.values) - 1}::{kind}"

    def group(self, part: JsonValue, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise ValidationFailedError(f"filters are nested deeper than {_MAX_DEPTH} levels")
        if not isinstance(part, dict) or not part:
            raise ValidationFailedError('a filter is an object such as {"kind": {"eq": "semantic"}}')
        pieces: list[str] = []
        for name, inner in part.items():
            if name in ("AND", "OR", "NOT"):
                parts = inner if isinstance(inner, list) else [inner]
                if not parts:
                    raise ValidationFailedError(f"{name} needs at least one filter")
                inside = [self.group(piece, depth + 1) for piece in parts]
                joined = (" OR " if name == "OR" else " AND ").join(f"({piece})" for piece in inside)
                pieces.append(f"({joined}) IS NOT TRUE" if name == "NOT" else f"({joined})")
            else:
                pieces.append(self.field(name, inner))
        return " AND ".join(pieces)

    def field(self, name: str, operations: JsonValue) -> str:
        if len(_text("field", name)) > _MAX_NAME:
            raise ValidationFailedError(f"the name of a field has at most {_MAX_NAME:,} characters: {name[:40]!r} …")
        if not isinstance(operations, dict) or not operations:
            raise ValidationFailedError(
                f'field {name!r} needs an operator, such as {{"{name}": {{"eq": …}}}}; choose from'
                f" {', '.join(OPERATORS)}"
            )
        pieces: list[str] = []
        for operator, value in operations.items():
            self.conditions += 1
            if self.conditions > _MAX_CONDITIONS:
                raise ValidationFailedError(f"more than {_MAX_CONDITIONS} conditions in one filter")
            if operator not in OPERATORS:
                raise ValidationFailedError(
                    f"unknown operator {operator!r} on {name!r}; choose from {', '.join(OPERATORS)}"
                )
            if name.startswith("metadata."):
                pieces.append(self.path(name.removeprefix("metadata."), operator, value))
            elif name in COLUMNS:
                pieces.append(self.column(name, COLUMNS[name], operator, value))
            else:
                raise ValidationFailedError(
                    f"unknown field {name!r}; the fields are {', '.join(COLUMNS)} and metadata.<path>"
                )
        return " AND ".join(pieces)

    def column(self, name: str, kind: str, operator: str, value: JsonValue) -> str:
        column = f"{self.table}.{name}"
        if operator == "exists":
            return f"{column} IS {'NOT ' if _flag(name, value) else ''}NULL"
        if kind == _TAGS:
            return self.tags(column, operator, value)
        if kind == _JSON:
            return self.json(column, name, operator, value)
        if operator in ("contains", *_SUBSTRINGS):
            if kind != _TEXT:
                raise ValidationFailedError(f"{operator} does not apply to {name!r}")
            return self.within(column, "isubstring" if operator == "contains" else operator, _text(name, value))
        read = _composed if name == "namespace" else _READERS[kind]
        if operator in ("in", "nin"):
            found = f"{column} = ANY ({self.bind([read(name, each) for each in _list(name, value)], kind + '[]')})"
            return found if operator == "in" else f"({found}) IS NOT TRUE"
        if value is None:
            raise ValidationFailedError(f'to test whether {name!r} is empty, write {{"{name}": {{"exists": false}}}}')
        bound = self.bind(read(name, value), kind)
        if operator == "eq":
            return f"{column} = {bound}"
        if operator == "ne":
            return f"{column} IS DISTINCT FROM {bound}"
        # Sort by code point, so that the order is the same in every database.
        order = ' COLLATE "C"' if kind == _TEXT else ""
        return f"{column} {_COMPARISONS[operator]} {bound}{order}"

    def tags(self, column: str, operator: str, value: JsonValue) -> str:
        wanted = [_tag(each) for each in (value if isinstance(value, list) else [value])]
        bound = self.bind(wanted, _TAGS)
        match operator:
            case "eq":
                return f"{column} = {bound}"
            case "ne":
                return f"{column} <> {bound}"
            case "contains":
                return f"{column} @> {bound}"
            case "in":
                return f"{column} && {bound}"
            case "nin":
                return f"NOT {column} && {bound}"
            case _:
                raise ValidationFailedError(
                    f"{operator} does not apply to 'tags'; use eq, ne, contains, in, nin or exists"
                )

    def json(self, column: str, name: str, operator: str, value: JsonValue) -> str:
        bound = self.bind(_encoded(name, value), _JSON)
        match operator:
            case "eq":
                return f"{column} = {bound}"
            case "ne":
                return f"{column} IS DISTINCT FROM {bound}"
            case "contains":
                return f"{column} @> {bound}"
            case _:
                raise ValidationFailedError(
                    f"{operator} does not apply to {name!r}; use eq, ne, contains or exists, or metadata.<path>"
                )

    def within(self, text: str, operator: str, value: str) -> str:
        """Return SQL that tests whether a text contains `value`, case-sensitively or not."""
        bound = self.bind(value, _TEXT)
        return (
            f"position({bound} IN {text}) > 0"
            if operator == "substring"
            else (f"position(lower({bound}) IN lower({text})) > 0")
        )

    def path(self, written: str, operator: str, value: JsonValue) -> str:
        path = [quoted or plain for quoted, plain in _PART.findall(_text("metadata", written))]
        if not _PATH.fullmatch(written):
            raise ValidationFailedError(
                'metadata.<path> needs names between its dots; one that holds a dot may stand in quotes: metadata."a.b"'
            )
        field = f"({self.table}.metadata #> {self.bind(path, _TAGS)})"
        if "." in written and '"' not in written:  # A name may itself contain dots.
            field = f"COALESCE({field}, {self.table}.metadata -> {self.bind(written, _TEXT)})"
        if operator == "exists":
            return f"{field} IS {'NOT ' if _flag('metadata', value) else ''}NULL"
        if operator in ("in", "nin"):
            inside = (
                f"{field} = ANY"
                f" ({self.bind([_encoded('metadata', each) for each in _list('metadata', value)], 'text[]')}::jsonb[])"
            )
            return inside if operator == "in" else f"({inside}) IS NOT TRUE"
        if operator in ("eq", "ne", "contains"):
            return self.json(field, f"metadata.{written}", operator, value)
        if operator in _SUBSTRINGS:
            inside = self.within(f"({field} #>> '{{}}')", operator, _text("metadata", value))
            return f"(jsonb_typeof({field}) = 'string' AND {inside})"
        # Only values of one type are compared: numbers with numbers, texts with texts.
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValidationFailedError(f"{operator} compares numbers or texts")
        kind = "string" if isinstance(value, str) else "number"
        return (
            f"(jsonb_typeof({field}) = '{kind}' AND {field} {_COMPARISONS[operator]}"
            f" {self.bind(_encoded('metadata', value), _JSON)})"
        )


def _text(name: str, value: JsonValue) -> str:
    if not isinstance(value, str):
        raise ValidationFailedError(f"{name!r} compares with text, not {json.dumps(value, default=str)[:40]}")
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValidationFailedError(f"the value for {name!r} contains a character that cannot be stored")
    return value


def _tag(value: JsonValue) -> str:
    return _composed("tags", value).strip()


def _composed(name: str, value: JsonValue) -> str:
    """Return a tag or namespace in the form in which it is stored, NFC."""
    return unicodedata.normalize("NFC", _text(name, value))


def _encoded(name: str, value: JsonValue) -> str:
    try:
        encoded = json.dumps(exact_numbers(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise ValidationFailedError(f"the value for {name!r} is not JSON") from None
    if "\\u0000" in encoded:
        raise ValidationFailedError(f"the value for {name!r} contains a NUL character")
    return _text(name, encoded)


def _time(name: str, value: JsonValue) -> datetime:
    try:
        return _TIMES.validate_python(value, strict=False)
    except (ValidationError, OverflowError):
        raise ValidationFailedError(f"{name!r} compares with an RFC 3339 time such as 2026-01-31T12:00:00Z") from None


def _number(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationFailedError(f"{name!r} compares with a number")
    try:
        return float(value)
    except OverflowError:
        raise ValidationFailedError(f"the number for {name!r} is too large") from None


def _uuid(name: str, value: JsonValue) -> UUID:
    try:
        return UUID(cast("str", value))
    except (ValueError, AttributeError, TypeError):
        raise ValidationFailedError(f"{name!r} compares with a UUID") from None


def _list(name: str, value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list) or len(value) > 1_000:
        raise ValidationFailedError(f"in and nin on {name!r} need a list of at most 1,000 values")
    return value


def _flag(name: str, value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise ValidationFailedError(f"exists on {name!r} needs true or false")
    return value


_READERS: dict[str, Callable[[str, JsonValue], object]] = {_TEXT: _text, _TIME: _time, _NUMBER: _number, _UUID: _uuid}
