"""Mark text that is not the user's own before a model reads it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from keeps.base.scope import is_own
from keeps.base.text.fences import shown
from keeps.base.text.trust import origin_of, trust_of
from keeps_client.models import Memory
from keeps_client.models.names import Trust


def marked(memory: Memory, text: str | None = None, *, asking: str | None = None) -> str:
    """Return the text of a memory as a model may read it: on one line after a mark, unless it is the user's own.

    Args:
        memory: The memory.
        text: A part of it, or another form; by default its content.
        asking: The user who asks, if known: without it, all that the tenant shares is marked.
    """
    content = memory.content if text is None else text
    origin = origin_of(
        memory.role,
        memory.source,
        memory.metadata,
        own=is_own(memory.user_id, memory.user_id if asking is None else asking),
        in_space=memory.space_id is not None,
        layer=memory.layer,
    )
    if origin == "own" and asking is None and memory.visibility != "private":
        origin = "tenant"
    return content if origin == "own" else shown(content, origin)


def is_from_outside(memory: Memory) -> bool:
    """Return whether a memory is of a tool, a page or a document."""
    return origin_of(memory.role, memory.source, memory.metadata, layer=memory.layer) in ("tool", "document")


def trust_of_value(value: Mapping[str, Any]) -> Trust:
    """Return the level of trust that the value of an item states: by `source` and `trust`, also in its `metadata`.

    Items are JSON of the application. Keeps does not judge them, and one that states nothing counts as the user's own.
    """
    inner = value.get("metadata")
    stated: dict[str, Any] = {**(cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}), **value}
    source, role = stated.get("source"), stated.get("role")
    return trust_of(
        role if isinstance(role, str) else None,
        source if isinstance(source, str) else None,
        {"trust": stated["trust"]} if "trust" in stated else {},
    )


def marked_value(value: Mapping[str, Any], text: str) -> str:
    """Return a text of an item's value as a model may read it: after a mark, if the value says that it is not own."""
    level = trust_of_value(value)
    return text if level in ("user", "agent") else shown(text, level)
