"""Episodes and edges of Graphiti and Zep, as their APIs and the properties in the graph database write them. Pure.

An edge is a fact: true from `valid_at`, until `invalid_at` or, if another fact replaced it, `expired_at`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import ROLES
from keeps.sources.importing.records import JSON_FILES, Format, Record, Source, fitted, moment_of, pieces

NAMESPACE = "graphiti"
_SPEAKER = re.compile(r"\A([^:\n(]{1,60})(?:\(([a-z]{1,20})\))?:\s{1,20}(?=\S)")


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each edge and each message or paragraph of an episode."""
    names: dict[str, str] = {}
    for entry in values(source, ("nodes", "entities", "episodes", "edges", "facts")):
        place = f"{source.name}{entry.place}"
        fields = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        if isinstance(fields.get("properties"), dict):
            fields = fields | fields["properties"]
        identity = fields.get("uuid") or fields.get("uuid_")
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
        elif not isinstance(identity, str) or not identity:
            yield Record(place, None, "is not an episode, an edge or a node: it has no `uuid`")
        elif isinstance(fields.get("fact"), str):
            yield _edge(place, identity, fields, names)
        elif isinstance(fields.get("content"), str):
            yield from _episode(place, identity, fields)
        elif isinstance(fields.get("name"), str):
            names[identity] = fields["name"]
            if isinstance(fields.get("summary"), str) and fields["summary"].strip():
                yield _memory(place, identity, f"{fields['name']}: {fields['summary']}", fields, {}, "created_at")
        else:
            yield Record(place, None, "is not an episode, an edge or a node")


def _edge(place: str, identity: str, fields: dict[str, Any], names: dict[str, str]) -> Record:
    ends = {
        end: names.get(node, node)
        for end in ("source", "target")
        if isinstance(node := fields.get(f"{end}_node_uuid"), str)
    }
    metadata = {**ends, "relation": fields["name"]} if isinstance(fields.get("name"), str) else {**ends}
    return _memory(place, identity, fields["fact"], fields, metadata, "valid_at", "reference_time", "created_at")


def _episode(place: str, identity: str, fields: dict[str, Any]) -> Iterator[Record]:
    """Yield the parts of an episode; of one that is a conversation, its lines with their speakers."""
    content, is_message = fields["content"], fields.get("source") == "message"
    parts = content.split("\n") if is_message else list(pieces(content))
    if not content.strip():
        yield Record(place, None, "has no text")
    for number, part in enumerate((part for part in parts if part.strip()), 1):
        metadata: dict[str, Any] = {}
        record = _memory(f"{place}#{number}", f"{identity}#{number}", part, fields, metadata, "valid_at", "created_at")
        if record.memory is not None and (match := _SPEAKER.match(part) if is_message else None):
            metadata["speaker"] = match[1].strip()
            record.memory["content"] = part[match.end() :]
            if role := ROLES.get((match[2] or match[1].strip()).lower()):
                record.memory["role"] = role
        if record.memory is not None:
            record.memory.update(kind="episodic", content_type="message", session_id=fitted(identity))
        yield record


def _memory(
    place: str, identity: str, text: str, fields: dict[str, Any], metadata: dict[str, Any], *times: str
) -> Record:
    owner = next((fields[name] for name in ("group_id", "user_id") if isinstance(fields.get(name), str)), None)
    if not text.strip():
        return Record(place, None, "has no text", owner=owner)
    ends: datetime | None = None
    try:
        begins = next((moment for name in times if (moment := moment_of(fields.get(name)))), None)
        ends = moment_of(fields.get("invalid_at") or fields.get("expired_at"))
    except ValueError as error:
        return Record(place, None, f"has a time that is not valid: {error}", owner=owner)
    if begins is not None and ends is not None and ends < begins:
        return Record(place, None, "ends before it begins", owner=owner)
    memory: dict[str, Any] = {
        "content": text,
        "namespace": NAMESPACE,
        "key": fitted(identity),
        "source": fitted(place),
        "metadata": metadata,
    }
    if begins is not None:
        memory["valid_from"] = begins
    return Record(place, memory, valid_to=ends, owner=owner or None)


FORMAT = Format(
    "graphiti",
    "episodes and edges of Graphiti as JSON",
    records,
    JSON_FILES,
    lambda source: "uuid" in source.names() and not {"fact", "source_description"}.isdisjoint(source.names()),
)
ZEP = Format(
    "zep",
    "episodes and edges of Zep as JSON",
    records,
    JSON_FILES,
    lambda source: (
        not {"uuid_", "uuid"}.isdisjoint(source.names()) and not {"fact", "episodes"}.isdisjoint(source.names())
    ),
)
