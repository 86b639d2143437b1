"""Export memories to a folder in the format of the Markdown memory, and import such a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from keeps.memory.providers.builtin import joined_key, split_key
from keeps.memory.providers.markdown.format import Category, Section, category_of, file_of, parse, render
from keeps.memory.providers.markdown.front_matter import UnreadableError
from keeps.providers.contract import text_of
from keeps.sources.importing.records import Record, moment_of
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Memory

_KEPT = (
    "kind",
    "role",
    "agent_id",
    "session_id",
    "source",
    "importance",
    "visibility",
    "trigger_condition",
    "procedure_type",
)


def write_folder(folder: Path, memories: Iterable[Memory]) -> int:
    """Write one file per content type with one entry per memory. Return the number of memories.

    Ids and times of storing are left out, so that the folder is the same, to the byte, after it was imported.

    Raises ValidationFailedError if the folder already contains Markdown.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.glob("*.md"))):
        raise ValidationFailedError(f"{folder} already contains Markdown; name a new folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    categories: dict[str, dict[str, Section]] = {}
    written = 0
    for memory in sorted(
        memories, key=lambda memory: (memory.valid_from, joined_key(memory) if memory.key else "", memory.content)
    ):
        metadata: dict[str, Any] = {name: getattr(memory, name) for name in _KEPT if getattr(memory, name) is not None}
        metadata |= {
            name: moment.isoformat()
            for name in ("valid_from", "valid_to")
            if (moment := getattr(memory, name)) is not None
        }
        if memory.key is None:
            metadata["unkeyed"] = True
            if memory.namespace:
                metadata["namespace"] = memory.namespace
        for name in ("value", "metadata"):
            if getattr(memory, name):
                metadata[name] = getattr(memory, name)
        sections = categories.setdefault(memory.content_type, {})
        key = joined_key(memory) if memory.key is not None else _key_of(memory.content, metadata, sections)
        sections[key] = Section(key, memory.content, tags=memory.tags, metadata=metadata)
        written += 1
    for name, sections in categories.items():
        path = folder / file_of(name)
        path.touch(mode=0o600)
        path.write_text(render(Category(name, 1, sections)), encoding="utf-8", newline="")
    return written


def _key_of(content: str, metadata: Mapping[str, Any], taken: Container[str]) -> str:
    """Return a key for a memory without one: the same for the same memory."""
    digest = hashlib.sha256(json.dumps([content, metadata], sort_keys=True, default=str).encode()).hexdigest()[:16]
    return next(key for number in count(1) if (key := digest if number == 1 else f"{digest}-{number}") not in taken)


def is_markdown_memory(folder: Path) -> bool:
    """Return whether the Markdown files of a folder begin with the mark that Keeps writes."""
    if not folder.is_dir():
        return False
    for file in sorted(folder.glob("*.md")):
        with file.open("rb") as opened:
            if opened.read(16).startswith(b"---\nkeeps: 1\n"):
                return True
    return False


def read_folder(folder: Path) -> Iterator[Record]:
    """Yield the entries of a Markdown memory, or of an export, as memories; sections added by people become facts."""
    for file in sorted(folder.glob("*.md")):
        if file.is_symlink() or not file.is_file():
            yield Record(file.name, None, "is not a regular file; links are not followed")
            continue
        name = category_of(file.name)
        try:
            category = parse(file.read_text(encoding="utf-8"), name)
        except (UnreadableError, UnicodeDecodeError) as error:
            yield Record(file.name, None, error.detail if isinstance(error, UnreadableError) else "is not UTF-8")
            continue
        for key, section in category.sections.items():
            place = f"{file.name}#{key}"
            try:
                yield Record(place, _memory(name, section), valid_to=moment_of(section.metadata.get("valid_to")))
            except ValueError:
                yield Record(place, None, "valid_to: is not a time")


def _memory(content_type: str, section: Section) -> dict[str, JsonValue]:
    rest = {name: value for name, value in section.metadata.items() if name != "valid_to"}
    memory: dict[str, JsonValue] = {
        "content": text_of(section.value) or "(empty)",
        "content_type": content_type,
        "tags": list(section.tags),
    }
    memory |= {name: rest.pop(name) for name in (*_KEPT, "valid_from", "value") if name in rest}
    unkeyed, namespace, metadata = rest.pop("unkeyed", False), rest.pop("namespace", None), rest.pop("metadata", None)
    memory["metadata"] = {**rest, **(metadata if isinstance(metadata, dict) else {})}
    if not isinstance(section.value, str):
        memory["value"] = section.value
    if unkeyed:
        return memory | ({"namespace": namespace} if namespace else {})
    memory["namespace"], memory["key"] = split_key(section.key)
    return memory
