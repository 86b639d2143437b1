"""Arguments of the library's methods, checked before they reach a service."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from keeps_client.errors import ValidationFailedError
from keeps_client.models.common import MAX_LIMIT

Index = Literal["now", "later"]


def listed(values: Any) -> Any:
    """A tuple; but what is no list stays as it is, so that validation says what is wrong instead of splitting it."""
    return tuple(values) if isinstance(values, list | tuple | set | frozenset) else values


def as_uuid(value: UUID | str) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise ValidationFailedError("memory_id is not a UUID") from None


def plain(name: str, value: object, most: int = 10_000) -> str:
    if isinstance(value, str) and value and "\x00" not in value and value.encode("utf-8", "ignore").decode() == value:
        if len(value) > most:
            raise ValidationFailedError(f"{name} has {len(value)} characters; at most {most} are possible")
        return value
    raise ValidationFailedError(f"{name} must be non-empty text without NUL or lone surrogates")


def version(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31):
        raise ValidationFailedError("if_version must be a whole number from 0 on")
    return value


def index_now(index: str) -> bool:
    if index not in ("now", "later"):
        raise ValidationFailedError('index must be "now" or "later"')
    return index == "now"


def limited(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_LIMIT:
        raise ValidationFailedError(f"limit must be 1 to {MAX_LIMIT}")
    return value
