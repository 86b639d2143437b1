"""The knowledge graph of the MCP reference server for memory: JSON lines of entities and relations. Pure.

An observation such as "Works at Acme" makes no sense alone, so its memory begins with the name of the entity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.records import JSON_FILES, Format, Record, Source, fitted

NAMESPACE = "mcp-memory"


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each observation, each relation, and each entity without observations."""
    for entry in values(source, ("entities", "relations")):
        place = f"{source.name}{entry.place}"
        fields = cast("dict[str, Any]", entry.value) if isinstance(entry.value, dict) else {}
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
        elif isinstance(fields.get("name"), str) and fields["name"].strip():
            yield from _entity(place, fields)
        elif all(isinstance(fields.get(name), str) for name in ("from", "to", "relationType")):
            relation = {name: fields[name] for name in ("from", "to", "relationType")}
            text = " ".join([relation["from"], relation["relationType"].replace("_", " "), relation["to"]])
            yield _memory(place, text, {"relation": relation}, *relation.values())
        else:
            yield Record(place, None, "is neither an entity nor a relation: `name`, or `from`, `to`, `relationType`")


def _entity(place: str, fields: dict[str, Any]) -> Iterator[Record]:
    name, kind = fields["name"], str(fields.get("entityType") or "entity")
    entity = {"name": name, "entityType": kind}
    observations = fields.get("observations")
    if not observations:
        yield _memory(place, f"{name} is of type {kind}.", {"entity": entity}, name)
    elif not isinstance(observations, list):
        yield Record(place, None, "its observations are not a list")
    else:
        for number, observation in enumerate(cast("list[object]", observations)):
            where = f"{place}.observations[{number}]"
            if isinstance(observation, str) and observation.strip():
                yield _memory(
                    where, f"{name}: {observation}", {"entity": entity, "observation": observation}, name, observation
                )
            else:
                yield Record(where, None, "is not a text")


def _memory(place: str, text: str, metadata: dict[str, Any], *identity: str) -> Record:
    digest = hashlib.sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()
    return Record(
        place,
        {
            "content": text,
            "namespace": NAMESPACE,
            "key": f"{fitted(identity[0])[:180]}#{digest[:16]}",
            "source": fitted(place),
            "metadata": metadata,
        },
    )


FORMAT = Format(
    "mcp-memory",
    "memory.jsonl of the MCP reference server for memory",
    records,
    JSON_FILES,
    lambda source: not {"entityType", "relationType"}.isdisjoint(source.names()),
)
