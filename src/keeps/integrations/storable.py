"""Text and JSON that PostgreSQL can store."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import to_jsonable_python

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL characters and lone surrogates."""


def storable(text: str) -> str:
    """Return a text with U+FFFD in place of characters that cannot be stored."""
    return UNSTORABLE.sub("\ufffd", text)


def storable_json(value: object) -> Any:
    """Return a value as JSON, with U+FFFD in place of characters that cannot be stored."""
    return mended(to_jsonable_python(mended(value), inf_nan_mode="null", fallback=str))


def mended(value: Any) -> Any:
    """Return a value with U+FFFD in place of characters that cannot be stored, in all its texts."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {mended(key): mended(inner) for key, inner in value.items()}
        case list() | tuple():
            return [mended(inner) for inner in value]
        case _:
            return value
