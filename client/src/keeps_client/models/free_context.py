"""The free dictionary that a task or plan context may be given as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

STATE = "state"
ARGUMENTS = frozenset({"expected_version", "user_id", "tenant_id"})
"""Names that control how, or for whom, to store; they belong beside the dictionary."""
_BESIDE = frozenset({"context", "visibility"})
"""Fields that a dictionary cannot set: an entry of that name is part of the state."""
_OBJECTS = frozenset({STATE, "data", "goal_data"})
_LISTS = frozenset({"sub_tasks", "correlation_ids"})


def spread_context(model: type[BaseModel], given: object) -> object:
    """Return `given` with the entries of its `context` as fields of `model`, and entries that are no field in `state`.

    `context` stays as an empty object, which shows that there was one.

    Raises:
        ValueError: An entry cannot be stored under its name; the message says which and what to write.
    """
    if not isinstance(given, Mapping):
        return given
    fields = dict(cast("Mapping[str, Any]", given))
    context = fields.get("context")
    if context is None:
        return fields
    if not isinstance(context, Mapping):
        raise ValueError("context must be an object")  # noqa: TRY004  pydantic takes a ValueError as a finding
    fields_of_context = model.model_fields.keys() - _BESIDE
    names = {alias: name for name in fields_of_context for alias in (name, to_camel(name))}
    reserved = ARGUMENTS | {to_camel(name) for name in ARGUMENTS}
    fields = {names.get(name, name): value for name, value in fields.items()} | {"context": {}}
    rest: dict[str, object] = {}
    for key, value in cast("Mapping[Any, Any]", context).items():
        if not isinstance(key, str):
            raise ValueError(f"the names in context are text, not {type(key).__name__}: write {str(key)!r}")  # noqa: TRY004
        if key in reserved:
            raise ValueError(f"{key} in context would not be stored; give it beside context, or use another name")
        name = names.get(key)
        if name is None:
            rest[key] = value
        elif value is not None:
            _check_kind(key, name, value)
            if fields.get(name) not in (None, value):
                raise ValueError(f"{key} has different values in context and beside it; give it once")
            fields[name] = value
    if rest:
        fields[STATE] = _with_rest(fields.get(STATE) or {}, rest)
    return fields


def _check_kind(key: str, name: str, value: object) -> None:
    if name in _OBJECTS:
        wanted, fits = "an object", isinstance(value, Mapping)
    elif name in _LISTS:
        wanted, fits = "a list", isinstance(value, list | tuple)
    else:
        wanted, fits = "text", isinstance(value, str)
    if not fits:
        raise ValueError(f"{key} in context is a field that must be {wanted}; store this value under another name")


def _with_rest(state: object, rest: Mapping[str, object]) -> dict[str, object]:
    if not isinstance(state, Mapping):
        raise ValueError("state must be an object")  # noqa: TRY004
    entries = cast("Mapping[str, object]", state)
    for name in rest:
        if name in entries and entries[name] != rest[name]:
            raise ValueError(f"{name} in context is also in its state, with another value; give it once")
    return {**entries, **rest}
