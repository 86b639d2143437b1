"""Mark text that is not the user's own before a model reads it. Pure."""

from __future__ import annotations

from keeps.base.scope import is_own
from keeps.base.text.fences import shown
from keeps.base.text.trust import origin_of
from keeps_client.models import Memory


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
