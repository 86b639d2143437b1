"""Letta's agent files (.af), and archival passages as its API lists them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import ROLES, list_of, message_record, object_of, text_of
from keeps.sources.importing.records import Format, Record, Source, fitted, moment_of, pieces

NAMESPACE = "letta"
_HEARTBEATS = ("heartbeat", "login")


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each memory block, each message of a person or the agent, and each passage."""
    for entry in values(source, ("agents", "blocks", "messages", "core_memory", "passages", "data")):
        place = f"{source.name}{entry.place}"
        fields = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
        elif isinstance(fields.get("messages"), list):
            yield from _messages(source, place, fields)
        elif isinstance(fields.get("label"), str) and isinstance(fields.get("value"), str):
            yield from _block(source, place, fields)
        elif entry.section == "messages" or isinstance(fields.get("role"), str):
            yield from _message(source, place, "agent", entry.value)
        elif isinstance(fields.get("text"), str):
            yield _passage(source, place, fields)
        else:
            yield Record(place, None, "is not an agent, a memory block, a message or a passage of Letta")


def _messages(source: Source, place: str, agent: dict[str, Any]) -> Iterator[Record]:
    identity = str(agent.get("name") or agent.get("id") or "agent")
    for number, message in enumerate(cast("list[object]", agent["messages"])):
        yield from _message(source, f"{place}.messages[{number}]", identity, message, number)


def _message(source: Source, place: str, agent: str, message: object, number: int | None = None) -> Iterator[Record]:
    """Yield a message of a person or the agent. System prompts, tool output and heartbeats are no memories."""
    if not isinstance(message, dict):
        yield Record(place, None, "is not a message")
        return
    fields = cast("dict[str, Any]", message)
    role = ROLES.get(str(fields.get("role")).lower())
    text = text_of(fields.get("content") or fields.get("text"))
    if role in ("system", "tool") or any(f'"type": "{kind}"' in text for kind in _HEARTBEATS):
        return
    text = _spoken(fields) or text
    if not text.strip():
        return  # the agent called a tool
    yield message_record(
        place,
        source.scoped(agent),
        fields.get("id") or (place if number is None else number),
        text,
        role=role,
        sent_at=fields.get("created_at"),
    )


def _spoken(message: dict[str, Any]) -> str:
    """Return the text that an agent sent with Letta's tool `send_message`."""
    for call in list_of(message.get("tool_calls")):
        function = object_of(object_of(call).get("function"))
        if function.get("name") == "send_message":
            try:
                arguments = json.loads(str(function.get("arguments")))
            except (ValueError, RecursionError):
                return ""
            return text_of(object_of(arguments).get("message"))
    return ""


def _block(source: Source, place: str, block: dict[str, Any]) -> Iterator[Record]:
    for number, part in enumerate(pieces(block["value"]), 1):
        yield Record(
            f"{place}#{number}",
            {
                "content": part,
                "content_type": "profile",
                "namespace": NAMESPACE,
                "key": source.key(f"{block.get('id') or block['label']}/{number}"),
                "source": fitted(source.path),
                "metadata": {"block": block["label"]},
            },
        )


def _passage(source: Source, place: str, passage: dict[str, Any]) -> Record:
    memory: dict[str, Any] = {
        "content": passage["text"],
        "namespace": NAMESPACE,
        "key": fitted(str(passage["id"])) if passage.get("id") else source.key(place),
        "source": fitted(source.path),
        "tags": [tag for tag in list_of(passage.get("tags")) if isinstance(tag, str)],
    }
    if not passage["text"].strip():
        return Record(place, None, "has no text")
    try:
        memory["valid_from"] = moment_of(passage.get("created_at"))
    except ValueError:
        return Record(place, memory, note="its time is not valid; the memory has today's date")
    return Record(place, memory)


FORMAT = Format(
    "letta",
    "Letta's agent files (.af) and archival passages as JSON",
    records,
    re.compile(r"\.(af|json)$", re.IGNORECASE),
    lambda source: (
        source.name.lower().endswith(".af")
        or {"agents", "blocks"} <= source.names()
        or bool({"archive_id", "embedding_config"} & source.names() and "text" in source.names())
    ),
)
