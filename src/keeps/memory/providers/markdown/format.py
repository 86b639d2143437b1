"""One category as a Markdown file. Pure: text to entries and back.

    ---
    keeps: 1
    category: profile
    revision: 7
    entries:
      home: {id: 0192…, created: 2026-11-22T09:00:00+00:00, updated: …, tags: [lisbon], links: [event/move]}
    ---
    # profile

    ## home

    Alice lives in Lisbon.

A section is an entry: its heading the key, what follows the text. Anybody may add, change and remove sections; what the
front matter does not know yet is new. Values that are no plain text stand in a block of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, cast
from urllib.parse import quote, unquote

from pydantic import JsonValue

from keeps.memory.providers.markdown import front_matter
from keeps.memory.providers.markdown.front_matter import UnreadableError
from keeps_client.models.common import MAX_VALUE_BYTES, json_within

MAX_FILE_BYTES = 16 << 20
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*#{1,2} )", re.MULTILINE)
_PLAIN = re.compile(r"^(\\*#{1,2} )", re.MULTILINE)
_JSON_BLOCK = re.compile(r"```json\n(.*)\n```", re.DOTALL)
_PLAIN_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029%]+")
_TOLD = frozenset({"id", "created", "updated", "tags", "links", "metadata"})
_STORABLE = json_within(MAX_VALUE_BYTES)
_SAFE_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of a file. `identity`, `created_at` and `updated_at` are None if a person has just added it."""

    key: str
    value: JsonValue
    identity: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    """Fields of the entry in the front matter that a person wrote and Keeps does not use."""
    heading: str = field(default="", compare=False)
    """The key as the file has it, if a person wrote it differently from Keeps."""


@dataclass(frozen=True, slots=True)
class Category:
    """A file: its entries by key, in the order of the file. `revision` counts the writes of Keeps.

    A person's choices are preserved: `title` above the first entry, `foreign` lines of the front matter, line ends and
    a byte order mark.
    """

    name: str
    revision: int
    sections: Mapping[str, Section]
    title: str = ""
    foreign: str = ""
    newline: str = "\n"
    mark: str = ""


def parse(text: str, name: str) -> Category:
    """Parse a file. Raises UnreadableError, which says where, for text that cannot be read without loss."""
    if len(text) > MAX_FILE_BYTES:
        raise UnreadableError(f"{name} is larger than {MAX_FILE_BYTES >> 20} MiB")
    if "\x00" in text:
        raise UnreadableError(f"{name} contains a NUL character")
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    newline = "\r\n" if "\n" in text and text.count("\r\n") == text.count("\n") else "\n"
    front, body = front_matter.split(text.removeprefix(mark).replace("\r\n", "\n"), name)
    head = front_matter.read(front, name)
    pieces = _HEADING.split(body)
    sections: dict[str, Section] = {}
    for line, content in zip(pieces[1::2], pieces[2::2], strict=True):
        heading = line.strip()
        key = _key_of(heading)
        if not key or "\x00" in key:
            raise UnreadableError(f"{name}: a heading `## ` has no name")
        if key in sections:
            raise UnreadableError(f"{name}: two sections are named {key!r}; rename one")
        value = _value_of(content.strip("\n"))
        if isinstance(value, str) and len(value.encode()) > MAX_VALUE_BYTES:
            raise UnreadableError(f"{name}: section {key!r} is larger than {MAX_VALUE_BYTES >> 10} KiB; split it")
        known = head.entries.get(heading)
        sections[key] = _section(key, value, known if isinstance(known, dict) else {}, name, heading)
    return Category(name, head.revision, sections, pieces[0].strip("\n"), head.foreign, newline, mark)


def render(category: Category) -> str:
    """Return the file's text. Parsing it gives the same category."""
    headings = {key: _heading_in(section) for key, section in category.sections.items()}
    entries = {headings[key]: _told(section) for key, section in category.sections.items()}
    front = front_matter.write(category.name, category.revision, entries, category.foreign)
    parts = [f"---\n{front}---\n\n{category.title or '# ' + category.name}\n"]
    parts += [f"\n## {headings[key]}\n\n{body_of(section.value)}\n" for key, section in category.sections.items()]
    return category.mark + "".join(parts).replace("\n", category.newline)


def body_of(value: JsonValue) -> str:
    """Return a value as the text of a section: plain text unchanged, anything else as a block of JSON."""
    if isinstance(value, str):
        plain = _PLAIN.sub(r"\\\1", value)
        if value and _value_of(plain.strip("\n")) == value and plain.strip("\n") == plain and "\r" not in value:
            return plain
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"


def file_of(category: str) -> str:
    """Return the name of a category's file.

    A category cannot act as a path, and no two share a file on a system that ignores case.
    """
    if _SAFE_FILE.fullmatch(category):
        return f"{category}.md"
    return (
        "".join(
            each if re.fullmatch(r"[a-z0-9_-]", each) else "".join(f"%{byte:02X}" for byte in each.encode())
            for each in category
        )
        + ".md"
    )


def category_of(file_name: str) -> str:
    return unquote(file_name.removesuffix(".md"))


def _section(key: str, value: JsonValue, told: Mapping[str, Any], name: str, heading: str) -> Section:
    metadata = told.get("metadata")
    try:
        return Section(
            key,
            value,
            identity=str(told["id"]) if told.get("id") is not None else None,
            created_at=_time(told.get("created")),
            updated_at=_time(told.get("updated")),
            tags=tuple(str(item) for item in told.get("tags") or ()),
            links=tuple(str(item) for item in told.get("links") or ()),
            metadata=(
                cast("dict[str, JsonValue]", json.loads(json.dumps(metadata))) if isinstance(metadata, dict) else {}
            ),
            extra={field: said for field, said in told.items() if field not in _TOLD},
            heading=heading,
        )
    except (TypeError, ValueError):
        raise UnreadableError(f"{name}: the front matter says something of {key!r} that cannot be read") from None


def _told(section: Section) -> dict[str, object]:
    fields: dict[str, object] = {} if section.identity is None else {"id": section.identity}
    for name, moment in (("created", section.created_at), ("updated", section.updated_at)):
        if moment is not None:
            fields[name] = moment.isoformat()
    fields |= {name: list(value) for name, value in (("tags", section.tags), ("links", section.links)) if value}
    if section.metadata:
        fields["metadata"] = dict(section.metadata)
    return {**fields, **section.extra}


def _value_of(body: str) -> JsonValue:
    if found := _JSON_BLOCK.fullmatch(body.strip()):
        try:
            return _STORABLE(json.loads(found.group(1)))
        except (ValueError, RecursionError):
            pass  # An incomplete or invalid block written by a person counts as text.
    return _ESCAPED.sub(r"\1", body)


def _heading_in(section: Section) -> str:
    """Return the heading of an entry: as it was read if it still matches the key."""
    return section.heading if section.heading and _key_of(section.heading) == section.key else _heading_of(section.key)


def _heading_of(key: str) -> str:
    """Return a key as one line; characters that would not survive in a heading are percent-encoded."""
    return (
        key
        if _PLAIN_KEY.fullmatch(key) and key == key.strip() and not key.endswith("#")
        else quote(key, safe="/.,;:!?@&=+$-_~()")
    )


def _key_of(heading: str) -> str:
    return unquote(heading) if "%" in heading else heading


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise TypeError(value)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
