"""Messages of any product as memories, and the visible branch of a conversation with edits. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from keeps.sources.importing.records import NAMESPACE, Record, fitted, moment_of

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def message_record(
    place: str,
    session: str,
    position: object,
    content: str,
    *,
    role: str | None = None,
    speaker: str | None = None,
    sent_at: object = None,
    notes: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    owner: str | None = None,
) -> Record:
    """Return a message as a record.

    Args:
        session: Id of the conversation. With `position`, it identifies the message.
        position: Number or id of the message in its conversation.
        sent_at: Time in any format that `moment_of` reads.
    """
    if not content.strip():
        return Record(place, None, "has no text")
    memory: dict[str, Any] = {
        "content": content,
        "kind": "episodic",
        "content_type": "message",
        "namespace": NAMESPACE,
        "key": fitted(f"{session}#{position}"),
        "session_id": session,
        "source": fitted(place),
    }
    notes = list(notes)
    if role:
        memory["role"] = role
    details = {**(metadata or {}), **({"speaker": speaker} if speaker else {})}
    if details:
        memory["metadata"] = details
    try:
        valid_from = moment_of(sent_at)
    except ValueError:
        notes.append(f"the time {str(sent_at)[:40]!r} is not valid; the memory has today's date")
    else:
        if valid_from is not None:
            memory["valid_from"] = valid_from
    learn = "facts" if role == "user" else None
    return Record(place, memory, note="; ".join(notes) or None, owner=owner, learn=learn)


def text_of(content: object) -> str:
    """Return the text of a message's content: text, parts of text, or an object with either."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (text_of(part) for part in cast("list[object]", content))
        return "\n".join(part for part in parts if part)
    if isinstance(content, dict):
        entry = cast("dict[str, Any]", content)
        return next((text for name in ("text", "parts", "content") if (text := text_of(entry.get(name)))), "")
    return ""


def object_of(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one in place of any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a JSON list; an empty one in place of any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def branch(nodes: Mapping[str, object], leaf: object, parent: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the nodes from the root to a leaf with their ids, oldest first. A cycle ends the branch."""
    path: list[tuple[str, dict[str, Any]]] = []
    visited: set[str] = set()
    while isinstance(leaf, str) and leaf not in visited and isinstance(node := nodes.get(leaf), dict):
        visited.add(leaf)
        path.append((leaf, cast("dict[str, Any]", node)))
        leaf = path[-1][1].get(parent)
    return path[::-1]


def names_in(entries: object, *fields: str) -> list[str]:
    """Return the names of attachments, at most 20 of at most 255 characters."""
    names: list[str] = []
    for entry in cast("list[object]", entries) if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            named = cast("dict[str, Any]", entry)
            name = next((named[field] for field in fields if isinstance(named.get(field), str)), None)
            if name:
                names.append(name[:255])
    return names[:20]
