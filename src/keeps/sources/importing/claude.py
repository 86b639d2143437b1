"""Claude's export: `conversations.json` and `memories.json`, alone, in their folder, or in the zip archive. Pure.

Messages name their parents, so edited questions are branches. Only the branch that leads to the current message is
read; without `current_leaf_message_uuid`, it leads to the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import ROLES, branch, list_of, message_record, names_in, object_of
from keeps.sources.importing.records import NAMESPACE, Format, Record, Source, fitted, pieces


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each visible message, and for each part of the memory that Claude wrote."""
    for entry in values(source, ("conversations",)):
        place = f"{source.name}{entry.place}"
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
            continue
        fields = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        if isinstance(fields.get("chat_messages"), list):
            yield from _conversation(source, place, entry.place, fields)
        elif isinstance(fields.get("conversations_memory"), str):
            yield from _memory(source, place, fields["conversations_memory"])
        else:
            yield Record(place, None, "is not a conversation of Claude: an object with `chat_messages`")


def _conversation(source: Source, place: str, position: str, fields: dict[str, Any]) -> Iterator[Record]:
    identity = fields.get("uuid")
    session = source.scoped(identity) if isinstance(identity, str) else fitted(f"{source.path}{position}")
    messages = cast("list[object]", fields["chat_messages"])
    for number in _visible(messages, fields.get("current_leaf_message_uuid")):
        message, where = messages[number], f"{place}.chat_messages[{number}]"
        if not isinstance(message, dict):
            yield Record(where, None, "is not a message")
            continue
        yield _message(where, session, number, cast("dict[str, Any]", message), fields)


def _visible(messages: list[object], leaf: object) -> list[int]:
    """Return the positions of the visible messages: all, if none names another as its parent.

    A message without an id is on no branch, and is visible.
    """
    nodes: dict[str, dict[str, Any]] = {}
    others: list[int] = []
    for number, message in enumerate(messages):
        fields = object_of(message)
        if isinstance(identity := fields.get("uuid"), str) and identity not in nodes:
            nodes[identity] = {"parent": str(fields.get("parent_message_uuid")), "position": number}
        else:
            others.append(number)
    if not any(node["parent"] in nodes for node in nodes.values()):
        return list(range(len(messages)))
    last = leaf if isinstance(leaf, str) and leaf in nodes else next(reversed(nodes))
    return sorted([*others, *(node["position"] for _, node in branch(nodes, last, "parent"))])


def _message(place: str, session: str, number: int, message: dict[str, Any], conversation: dict[str, Any]) -> Record:
    texts = [
        block["text"]
        for block in map(object_of, list_of(message.get("content")))
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    text = "\n".join(part for part in texts if part.strip()) or message.get("text")
    attachments = [
        *names_in(message.get("attachments"), "file_name"),
        *names_in(message.get("files"), "file_name", "file_uuid"),
    ]
    metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
    if isinstance(conversation.get("name"), str) and conversation["name"]:
        metadata["title"] = conversation["name"][:255]
    return message_record(
        place,
        session,
        message.get("uuid") or number,
        text if isinstance(text, str) else "",
        role=ROLES.get(str(message.get("sender")).lower()),
        sent_at=message.get("created_at") or conversation.get("created_at"),
        notes=[f"omitted: the content of the attachments {', '.join(attachments)}"] if attachments else [],
        metadata=metadata,
    )


def _memory(source: Source, place: str, text: str) -> Iterator[Record]:
    for number, part in enumerate(pieces(text), 1):
        yield Record(
            f"{place}#{number}",
            {
                "content": part,
                "content_type": "profile",
                "namespace": NAMESPACE,
                "key": source.key(f"memory/{number}"),
                "source": fitted(source.path),
            },
        )


FORMAT = Format(
    "claude",
    "Claude's export: the zip archive, its folder, conversations.json or memories.json",
    records,
    re.compile(r"(^|/)(conversations|memories)\.json$"),
    lambda source: not {"chat_messages", "conversations_memory"}.isdisjoint(source.names()),
)
