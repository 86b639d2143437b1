"""Ids of memories as people type them: whole, or their beginning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import JsonValue

from keeps.doors.cli.context import Target
from keeps_client.errors import NotFoundError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory

LEAST, MOST = 8, 32
"""Hexadecimal digits of a beginning, and of a whole id."""
_EACH_LIFE: list[JsonValue] = [
    {"OR": [{field: {"exists": True}}, {field: {"exists": False}}]} for field in ("deleted_at", "superseded_by")
]


async def memory_id_of(memory: Memory, target: Target, text: str) -> UUID:
    """Return the id that a text is, or that it begins among the caller's own memories, forgotten or not.

    Raises ValidationFailedError for a text that is no id or begins several, NotFoundError if it begins none.
    """
    digits = text.strip().replace("-", "").lower()
    if not re.fullmatch(f"[0-9a-f]{{{LEAST},{MOST}}}", digits):
        raise ValidationFailedError(
            f"{text[:60]!r} is not the id of a memory: give the full id, or at least its first {LEAST} characters;"
            ' `keeps recall "…"` and `keeps list` print it'
        )
    if len(digits) == MOST:
        return UUID(digits)
    least, most = (str(UUID(digits.ljust(MOST, fill))) for fill in "0f")
    conditions: list[JsonValue] = [{"memory_id": {"gte": least, "lte": most}}, *_EACH_LIFE]
    if not target.token:
        conditions.append({"user_id": {"eq": target.user}})
    ids = [each.memory_id for each in (await memory.list(filters={"AND": conditions}, limit=5)).items]
    if not ids:
        raise NotFoundError(f"none of your memories has an id that starts with {text}; `keeps list` prints the ids")
    if len(ids) > 1:
        shown = ", ".join(map(str, ids[:4])) + (" …" if len(ids) > 4 else "")
        raise ValidationFailedError(f"several ids start with {text}: {shown}; give more characters")
    return ids[0]
