"""Open Knowledge Format: Markdown files whose front matter names a `type`. Pure.

`keeps export --format okf` writes one file for each memory, with its other fields under `keeps` in the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from keeps.sources.importing import notes
from keeps.sources.importing.own_fields import restored
from keeps.sources.importing.records import MARKDOWN_FILES, Format, Record, Source, fitted
from keeps_client.folders import name_of

NAMESPACE = "okf"
_RESERVED = ("index.md", "log.md")
_TYPE = re.compile(r"\A(?:\ufeff)?---\r?\n(?:(?!---).*\n){0,200}?type:\s*\S")


def records(source: Source) -> Iterator[Record]:
    """Yield the memory that Keeps wrote into a file, or a memory for each section of another file."""
    if source.name.rpartition("/")[2] in _RESERVED:
        yield Record(source.name, None, note="a list of the other files; skipped")
        return
    front, body, problem = notes.front_matter(source.text())
    if problem is not None:
        yield Record(source.name, None, problem)
    kind = front.pop("type", None)
    if not isinstance(kind, str) or not kind.strip():
        kind = "document"  # a file that is not a concept, among those that are
    own = restored(front)
    if own is not None:
        yield _own(source, front, body, own, kind)
        return
    if isinstance(description := front.pop("description", None), str) and description.strip():
        body = f"{description}\n\n{body}"
    yield from notes.sections(source, front, body, name_of(kind))


def _own(
    source: Source, front: dict[str, Any], body: str, own: tuple[dict[str, Any], datetime | None], kind: str
) -> Record:
    metadata = front.get("metadata")
    memory: dict[str, Any] = {
        "content": body.removeprefix("\n").removesuffix("\n"),
        "content_type": kind,
        "namespace": NAMESPACE,
        "key": fitted(source.name),
        "tags": front.get("tags") or [],
        "metadata": metadata if isinstance(metadata, dict) else {},
        **own[0],
    }
    if front.get("timestamp"):
        memory["valid_from"] = front["timestamp"]
    return Record(source.name, memory, valid_to=own[1])


FORMAT = Format(
    "okf",
    "Open Knowledge Format: Markdown whose front matter names a type",
    records,
    MARKDOWN_FILES,
    lambda source: MARKDOWN_FILES.search(source.name) is not None and _names_type(source),
)


def _names_type(source: Source) -> bool:
    with source.open() as file:
        return _TYPE.match(file.read(16_384).decode("utf-8", "replace")) is not None
