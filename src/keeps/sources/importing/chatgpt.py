"""ChatGPT's export: `conversations.json`, alone, in its folder, or in its zip archive. Pure.

A conversation is a tree under `mapping`. Edited questions and regenerated answers are branches; `current_node` is the
last message of the branch that ChatGPT shows, and only that branch is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import branch, list_of, message_record, names_in, object_of, text_of
from keeps.sources.importing.records import Format, Record, Source, fitted

_SHOWN = ("text", "multimodal_text")
"""Types of content that are part of the conversation. Others are code, tool output and reasoning."""


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each visible message."""
    for entry in values(source, ("conversations",)):
        place = f"{source.name}{entry.place}"
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
            continue
        conversation = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        mapping = conversation.get("mapping")
        if not isinstance(mapping, dict):
            yield Record(place, None, "is not a conversation of ChatGPT: an object with `mapping`")
            continue
        nodes = cast("dict[str, object]", mapping)
        current = conversation.get("current_node")
        path = branch(nodes, current if isinstance(current, str) and current in nodes else _last(nodes), "parent")
        if not path and nodes:
            yield Record(place, None, "has no branch that leads to its current node")
        identity = conversation.get("conversation_id") or conversation.get("id")
        session = source.scoped(str(identity)) if identity else fitted(f"{source.path}{entry.place}")
        for node_id, node in path:
            if (message := _visible(node.get("message"))) is not None:
                yield _message(f"{place}.mapping.{node_id}", session, node_id, message, conversation)


def _last(nodes: dict[str, object]) -> str | None:
    """Return the leaf of a conversation without a current node: its last node."""
    return next(reversed(nodes), None)


def _visible(message: object) -> dict[str, Any] | None:
    """Return a message that ChatGPT shows; None for any other."""
    if not isinstance(message, dict):
        return None
    fields = cast("dict[str, Any]", message)
    author, content, metadata = (object_of(fields.get(name)) for name in ("author", "content", "metadata"))
    shown = (
        author.get("role") in ("user", "assistant")
        and fields.get("recipient") in (None, "all")
        and content.get("content_type", "text") in _SHOWN
        and not metadata.get("is_visually_hidden_from_conversation")
    )
    return fields if shown else None


def _message(place: str, session: str, node_id: str, message: dict[str, Any], conversation: dict[str, Any]) -> Record:
    content = object_of(message.get("content"))
    images = sum("asset_pointer" in object_of(part) for part in list_of(content.get("parts")))
    attachments = names_in(object_of(message.get("metadata")).get("attachments"), "name")
    notes = [f"omitted: {images} images"] if images else []
    if attachments:
        notes.append(f"omitted: the content of the attachments {', '.join(attachments)}")
    title = conversation.get("title")
    metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
    if isinstance(title, str) and title:
        metadata["title"] = title[:255]
    return message_record(
        place,
        session,
        node_id,
        text_of(content),
        role=message["author"]["role"],
        sent_at=message.get("create_time") or conversation.get("create_time"),
        notes=notes,
        metadata=metadata,
    )


FORMAT = Format(
    "chatgpt",
    "ChatGPT's export: the zip archive, its folder, or conversations.json",
    records,
    re.compile(r"(^|/)conversations(-\d+)?\.json$"),
    lambda source: {"mapping", "parent", "author"} <= source.names(),
)
