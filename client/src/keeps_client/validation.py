"""Validation of arguments before they are sent, with Keeps' own messages."""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime
from typing import Literal, TypeVar
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models.common import UtcTime
from keeps_client.models.events import EVENT_TYPES
from keeps_client.models.names import MAX_SPACE_CHARACTERS, SpaceName

FoundT = TypeVar("FoundT")
Index = Literal["now", "later"]
_SPACE: TypeAdapter[str] = TypeAdapter(SpaceName)
_TIME: TypeAdapter[datetime] = TypeAdapter(UtcTime)


def given(**arguments: FoundT | None) -> dict[str, FoundT]:
    """Return the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def one_of(found: FoundT | None, message: str) -> FoundT:
    """Return a result, or raise NotFoundError if it is None."""
    if found is None:
        raise NotFoundError(message)
    return found


def listed(values: object) -> object:
    """Return a list as a tuple; anything else stays as it is, so that validation reports it instead of splitting it."""
    return tuple(values) if isinstance(values, list | tuple | set | frozenset) else values


def as_uuid(value: UUID | str, name: str = "memory_id") -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise ValidationFailedError(f"{name} is not a UUID") from None


def named(name: str, value: object, most: int = 10_000) -> str:
    if isinstance(value, str) and value and "\x00" not in value and value.encode("utf-8", "ignore").decode() == value:
        if len(value) > most:
            raise ValidationFailedError(f"{name} has {len(value)} characters; the maximum is {most}")
        return value
    raise ValidationFailedError(f"{name} must be non-empty text without NUL or lone surrogates")


def named_id(name: str, value: object, most: int) -> str:
    """Return the id of a tenant, user, agent or session: printable characters, no surrounding space.

    A header would lose that space.
    """
    if not isinstance(value, str):
        raise ValidationFailedError(f"{name} must be text, not {type(value).__name__}")
    if not 1 <= len(value) <= most:
        raise ValidationFailedError(f"{name} must have 1 to {most} characters; this one has {len(value)}")
    if value != value.strip() or any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise ValidationFailedError(f"{name} must not begin or end with a space or contain control characters")
    return value


def named_space(value: object) -> str:
    """Return the id of a space."""
    try:
        return _SPACE.validate_python(value)
    except ValidationError:
        raise ValidationFailedError(
            f"the id of a space has 1 to {MAX_SPACE_CHARACTERS} letters, digits and . _ - and begins with a letter or"
            " digit"
        ) from None


def named_session(value: object) -> str | None:
    """Return the id of a session, or None."""
    return None if value is None else named("session_id", value, 255)


def version(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31):
        raise ValidationFailedError("if_version must be a whole number of at least 0")
    return value


def index_now(index: str) -> bool:
    if index not in ("now", "later"):
        raise ValidationFailedError('index must be "now" or "later"')
    return index == "now"


def moment(value: object) -> datetime | None:
    """Return a time in UTC, or None."""
    if value is None:
        return None
    try:
        return _TIME.validate_python(value)
    except ValidationError:
        raise ValidationFailedError("as_of must be a time") from None


def position_of(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValidationFailedError("after must be the sequence of an event, or 0")
    return value


def named_types(values: object) -> tuple[str, ...] | None:
    """Return types of events, or kinds of memories, to filter by."""
    names = listed(values)
    if names is None:
        return None
    if not isinstance(names, tuple) or not 1 <= len(names) <= 50:
        raise ValidationFailedError("types and kinds are lists of 1 to 50 names")
    return tuple(named("types and kinds", each, 100) for each in names)


def event_types(values: object) -> tuple[str, ...] | None:
    """Return types of events to filter by.

    Raises ValidationFailedError for an unknown one, which would wait forever.
    """
    types = named_types(values)
    for each in types or ():
        if not any(known == each or (each.endswith("*") and known.startswith(each[:-1])) for known in EVENT_TYPES):
            raise ValidationFailedError(
                f"unknown event type {each!r}; choose from {', '.join(EVENT_TYPES)}, or a pattern such as memory.*"
            )
    return types


def memory_kinds(values: object) -> tuple[str, ...] | None:
    """Return kinds of memories to filter events by."""
    kinds = named_types(values)
    if unknown := set(kinds or ()) - {"semantic", "episodic", "procedural"}:
        raise ValidationFailedError(f"unknown kind {sorted(unknown)[0]!r}; choose from semantic, episodic, procedural")
    return kinds


def same_json(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: unlike in Python, true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
