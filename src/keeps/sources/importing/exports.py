"""A user's memories in the formats of other products, so that reading them back gives the same memories. Pure.

The order is that of ids, and fields that a format does not have are written under `keeps`: exported, imported into an
empty memory and exported again, the text is the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

from keeps.sources.importing import mcp_memory, mem0, okf
from keeps.sources.importing.own_fields import own_fields
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Memory

_PLAIN = re.compile(r"[A-Za-z0-9 _-]*")
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_SAFE_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


class _Dumper(yaml.SafeDumper):
    """Writes texts in double quotes: PyYAML folds U+0085 and similar characters in single ones. No aliases."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if _PLAIN.fullmatch(text) else '"')


_Dumper.add_representer(str, _represent)


def mem0_text(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield the answer of mem0's `get_all` as JSON, one memory a line."""
    entries = sorted((_mem0_entry(memory) for memory in memories), key=lambda entry: entry["id"])
    yield '{"results": [\n'
    for number, entry in enumerate(entries):
        yield f"{json.dumps(entry, ensure_ascii=False)}{',' if number + 1 < len(entries) else ''}\n"
    yield "]}\n"


def _mem0_entry(memory: Memory) -> dict[str, Any]:
    own = own_fields(memory, mem0.NAMESPACE, without=("agent_id", "session_id"))
    entry: dict[str, Any] = {
        "id": _identity(memory, mem0.NAMESPACE),
        "memory": memory.content,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "user_id": memory.user_id,
        "agent_id": memory.agent_id,
        "run_id": memory.session_id,
        "categories": list(memory.tags),
        "metadata": {**memory.metadata, "keeps": own},
        "created_at": memory.valid_from.isoformat(),
        "updated_at": None,
    }
    return {name: value for name, value in entry.items() if value is not None or name == "updated_at"}


def mcp_memory_text(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield the lines of a memory.jsonl: entities with their observations, then relations.

    A memory of other origin is an observation about its user. Times and other fields are lost: the format has none.
    """
    entities: dict[tuple[str, str], set[str]] = {}
    relations: set[tuple[str, ...]] = set()
    for memory in memories:
        entity, relation = memory.metadata.get("entity"), memory.metadata.get("relation")
        if memory.namespace != mcp_memory.NAMESPACE:
            entities.setdefault((memory.user_id, "user"), set()).add(memory.content)
        elif isinstance(relation, dict):
            relations.add(tuple(str(relation.get(name)) for name in ("from", "to", "relationType")))
        elif isinstance(entity, dict):
            observations = entities.setdefault((str(entity.get("name")), str(entity.get("entityType"))), set())
            if isinstance(observation := memory.metadata.get("observation"), str):
                observations.add(observation)
    for (name, kind), observations in sorted(entities.items()):
        line = {"type": "entity", "name": name, "entityType": kind, "observations": sorted(observations)}
        yield f"{json.dumps(line, ensure_ascii=False)}\n"
    for source, target, kind in sorted(relations):
        line = {"type": "relation", "from": source, "to": target, "relationType": kind}
        yield f"{json.dumps(line, ensure_ascii=False)}\n"


TEXTS: dict[str, Callable[[Iterable[Memory]], Iterator[str]]] = {"mem0": mem0_text, "mcp-memory": mcp_memory_text}
"""Formats that are one file."""


def write_okf(folder: Path, memories: Iterable[Memory]) -> int:
    """Write one Markdown file for each memory. Return their number.

    Raises ValidationFailedError if the folder already contains files.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValidationFailedError(f"{folder} already contains files; name a new folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    count = 0
    for memory in memories:
        path = folder / _okf_path(memory)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(_okf_text(memory), encoding="utf-8", newline="")
        count += 1
    return count


def _okf_path(memory: Memory) -> str:
    """Return the path of a memory's file: its key if it came from such a file, or its type with its key or id."""
    if memory.namespace == okf.NAMESPACE and memory.key is not None and _is_safe(memory.key):
        return memory.key
    folder = _FILE_NAME.sub("-", memory.content_type).strip(".-") or "memory"
    if memory.key is None:
        return f"{folder}/{memory.memory_id}.md"
    digest = hashlib.sha256(f"{memory.namespace}\0{memory.key}".encode()).hexdigest()[:16]
    return f"{folder}/{_FILE_NAME.sub('-', memory.key)[-80:].strip('.-')}-{digest}.md"


def _is_safe(key: str) -> bool:
    return key.endswith(".md") and all(_SAFE_PART.fullmatch(part) for part in key.split("/"))


def _okf_text(memory: Memory) -> str:
    front: dict[str, Any] = {
        "type": memory.content_type,
        "timestamp": memory.valid_from.isoformat(),
        "tags": list(memory.tags),
        "metadata": memory.metadata,
        "keeps": own_fields(memory, okf.NAMESPACE, without=("content_type",)),
    }
    head = yaml.dump(front, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1 << 30)
    return f"---\n{head}---\n\n{memory.content}\n"


def _identity(memory: Memory, namespace: str) -> str:
    """Return an id that is the same in every home: the original one, or one made of namespace and key."""
    if memory.key is None:
        return str(memory.memory_id)
    return (
        memory.key if memory.namespace == namespace else str(uuid5(NAMESPACE_URL, f"{memory.namespace}\0{memory.key}"))
    )
