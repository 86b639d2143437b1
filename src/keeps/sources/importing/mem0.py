"""mem0's memories: the answers of `get_all`, one page or several, or a list of memories. Pure.

`keeps export --format mem0` writes the same form, with the fields that mem0 does not have under `metadata.keeps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.own_fields import restored
from keeps.sources.importing.records import JSON_FILES, Format, Record, Source, fitted, moment_of

NAMESPACE = "mem0"


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each memory. Relations of mem0's graph, which name no sentence, are refused."""
    for entry in values(source, ("results", "memories", "relations")):
        place = f"{source.name}{entry.place}"
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
            continue
        page = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        if isinstance(page.get("results"), list):
            for number, item in enumerate(cast("list[object]", page["results"])):
                yield _record(f"{place}.results[{number}]", item)
        else:
            yield _record(place, entry.value)


def _record(place: str, item: object) -> Record:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    text, identity, owner = fields.get("memory"), fields.get("id"), fields.get("user_id")
    if not isinstance(text, str) or not isinstance(identity, str) or not identity:
        return Record(place, None, "is not a memory of mem0: an object with `id` and `memory`")
    metadata: dict[str, Any] = dict(fields["metadata"]) if isinstance(fields.get("metadata"), dict) else {}
    own = restored(metadata)
    for name in ("actor_id", "role"):
        if isinstance(fields.get(name), str):
            metadata.setdefault(name, fields[name])
    memory: dict[str, Any] = {
        "content": text,
        "namespace": NAMESPACE,
        "key": fitted(identity),
        "source": "mem0",
        "metadata": metadata,
    }
    tags = fields.get("categories")
    if isinstance(tags, list):
        memory["tags"] = [tag for tag in cast("list[object]", tags) if isinstance(tag, str)]
    for name, field in (("agent_id", "agent_id"), ("run_id", "session_id")):
        if isinstance(fields.get(name), str):
            memory[field] = fitted(fields[name])
    note = None
    try:
        # The text of a changed memory is that of the change.
        memory["valid_from"] = moment_of(fields.get("updated_at") or fields.get("created_at"))
    except ValueError:
        note = "its time is not valid; the memory has today's date"
    ends = None
    if own is not None:
        ours, ends = own
        memory = {name: value for name, value in memory.items() if name != "source"} | ours
    return Record(place, memory, note=note, valid_to=ends, owner=owner if isinstance(owner, str) else None)


FORMAT = Format(
    "mem0",
    "mem0's memories: answers of get_all as JSON",
    records,
    JSON_FILES,
    lambda source: {"memory", "id"} <= source.names(),
)
