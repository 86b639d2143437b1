"""Filters on the fields of items, compiled to SQL with every value bound. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from keeps.store.db.statements import Condition
from keeps_client.errors import ValidationFailedError

_COMPARED = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
OPERATORS = ("$eq", "$ne", *_COMPARED)
MAX_CONDITIONS = 200


def compile_filter(wanted: Mapping[str, JsonValue] | None, first_parameter: int) -> Condition:
    """Return a condition on `items.value` with values bound from `$first_parameter` on.

    An item without the field matches nothing. Numbers compare with numbers and texts with texts. An object without
    operators matches these fields of an object; `{"$eq": {…}}` matches exactly that object.

    Raises:
        ValidationFailedError: An operator is unknown, or there are more than MAX_CONDITIONS conditions.
    """
    compiler = _Compiler(first_parameter)
    compiler.add_fields("items.value", wanted or {})
    return Condition(" AND ".join(compiler.parts) or "true", tuple(compiler.values))


class _Compiler:
    def __init__(self, first_parameter: int) -> None:
        self._first = first_parameter
        self.values: list[object] = []
        self.parts: list[str] = []

    def add_fields(self, place: str, wanted: Mapping[str, JsonValue]) -> None:
        for field, expected in wanted.items():
            inner = f"({place} -> {self._bound(field, 'text')})"
            if not isinstance(expected, dict) or not expected:
                self._add(inner, "$eq", expected)
            elif any(name.startswith("$") for name in expected):
                for operator, value in expected.items():
                    self._add(inner, operator, value)
            else:
                self.add_fields(inner, expected)

    def _add(self, place: str, operator: str, value: JsonValue) -> None:
        if len(self.parts) == MAX_CONDITIONS:
            raise ValidationFailedError(f"a filter has at most {MAX_CONDITIONS} conditions")
        if operator in ("$eq", "$ne"):
            self.parts.append(f"{place} {'=' if operator == '$eq' else '<>'} {self._bound(json.dumps(value), 'jsonb')}")
        elif operator not in _COMPARED:
            raise ValidationFailedError(f"unsupported operator: {operator}; choose from {', '.join(OPERATORS)}")
        elif isinstance(value, str):
            self.parts.append(
                f"CASE WHEN jsonb_typeof({place}) = 'string' THEN ({place} #>> '{{}}') COLLATE \"C\""
                f" {_COMPARED[operator]} {self._bound(value, 'text')} END"
            )
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.parts.append(
                f"CASE WHEN jsonb_typeof({place}) = 'number' THEN ({place} #>> '{{}}')::numeric"
                f" {_COMPARED[operator]} ({self._bound(json.dumps(value), 'text')})::numeric END"
            )
        else:
            raise ValidationFailedError(f"{operator} compares with a number or a text")

    def _bound(self, value: object, kind: str) -> str:
        self.values.append(value)
        return f"${self._first + len(self.values) - 1}::{kind}"
