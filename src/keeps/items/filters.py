"""Filters on the fields of items, compiled to SQL with every value bound. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from keeps.db.statements import Condition
from keeps_client.errors import ValidationFailedError

_COMPARED = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
OPERATORS = ("$eq", "$ne", *_COMPARED)


def compile_filter(wanted: Mapping[str, JsonValue] | None, first_parameter: int) -> Condition:
    """A condition on `items.value` whose values are bound from `$first_parameter` on. What has no such field passes
    none. Numbers compare with numbers and texts with texts. Raises ValidationFailedError for an unknown operator."""
    values: list[object] = []
    parts: list[str] = []

    def bound(value: object, kind: str) -> str:
        values.append(value)
        return f"${first_parameter + len(values) - 1}::{kind}"

    for field, said in (wanted or {}).items():
        place = f"(items.value -> {bound(field, 'text')})"
        is_operators = isinstance(said, dict) and said and any(name.startswith("$") for name in said)
        for operator, value in said.items() if is_operators and isinstance(said, dict) else [("$eq", said)]:
            if operator in ("$eq", "$ne"):
                parts.append(f"{place} {'=' if operator == '$eq' else '<>'} {bound(json.dumps(value), 'jsonb')}")
            elif operator not in _COMPARED:
                raise ValidationFailedError(f"unsupported operator: {operator}; there are {', '.join(OPERATORS)}")
            elif isinstance(value, str):
                parts.append(
                    f"CASE WHEN jsonb_typeof({place}) = 'string' THEN ({place} #>> '{{}}') COLLATE \"C\""
                    f" {_COMPARED[operator]} {bound(value, 'text')} END"
                )
            elif isinstance(value, int | float) and not isinstance(value, bool):
                parts.append(
                    f"CASE WHEN jsonb_typeof({place}) = 'number' THEN ({place} #>> '{{}}')::numeric"
                    f" {_COMPARED[operator]} ({bound(json.dumps(value), 'text')})::numeric END"
                )
            else:
                raise ValidationFailedError(f"{operator} compares with a number or a text")
    return Condition(" AND ".join(parts) or "true", tuple(values))
