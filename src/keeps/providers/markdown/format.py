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

import yaml
from pydantic import JsonValue

from keeps_client.errors import ValidationFailedError

VERSION = 1
# The same as yaml.safe_load and safe_dump, in C where PyYAML was built so.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
MAX_FILE_BYTES = 16 << 20
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*#{1,2} )", re.MULTILINE)
_PLAIN = re.compile(r"^(\\*#{1,2} )", re.MULTILINE)
_JSON_BLOCK = re.compile(r"```json\n(.*)\n```", re.DOTALL)
_PLAIN_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029%]+")
_SAFE_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")


class UnreadableError(ValidationFailedError):
    """A file that somebody has to mend; it is left as it is."""


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of a file. `identity`, `created_at` and `updated_at` are None where a person has just added it."""

    key: str
    value: JsonValue
    identity: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Category:
    """A file: its entries by key, in the order in which they stand there. `revision` counts what Keeps wrote."""

    name: str
    revision: int
    sections: Mapping[str, Section]
    title: str = ""


def parse(text: str, name: str) -> Category:
    """Raises UnreadableError, which says where, for what cannot be read without losing something."""
    if len(text) > MAX_FILE_BYTES:
        raise UnreadableError(f"{name} is larger than {MAX_FILE_BYTES >> 20} MiB")
    if "\x00" in text:
        raise UnreadableError(f"{name} holds a NUL character")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body = _front_matter(text, name)
    known = head.get("entries") or {}
    if not isinstance(known, dict):
        raise UnreadableError(f"{name}: entries in the front matter is no mapping")
    pieces = _HEADING.split(body)
    sections: dict[str, Section] = {}
    for heading, content in zip(pieces[1::2], pieces[2::2], strict=True):
        key = _key_of(heading.strip())
        if not key:
            raise UnreadableError(f"{name}: a heading `## ` without a name")
        if key in sections:
            raise UnreadableError(f"{name}: two sections are called {key!r}; rename one")
        told = cast("dict[str, Any]", known).get(heading.strip())
        sections[key] = _section(key, _value_of(content.strip("\n")), told if isinstance(told, dict) else {}, name)
    revision = head.get("revision", 0)
    return Category(name, revision if isinstance(revision, int) else 0, sections, pieces[0].strip("\n"))


def render(category: Category) -> str:
    """The file's text. Parsing it gives the same category."""
    entries = {_heading_of(key): _told(section) for key, section in category.sections.items()}
    head = {"keeps": VERSION, "category": category.name, "revision": category.revision, "entries": entries}
    front = yaml.dump(head, Dumper=_DUMPER, allow_unicode=True, sort_keys=False, width=10_000)
    parts = [f"---\n{front}---\n\n{category.title or '# ' + category.name}\n"]
    parts += [f"\n## {_heading_of(key)}\n\n{body_of(section.value)}\n" for key, section in category.sections.items()]
    return "".join(parts)


def body_of(value: JsonValue) -> str:
    """A value as the text of a section: itself where it is plain text, else a block of JSON."""
    if isinstance(value, str):
        plain = _PLAIN.sub(r"\\\1", value)
        if value and _value_of(plain.strip("\n")) == value and plain.strip("\n") == plain and "\r" not in value:
            return plain
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"


def file_of(category: str) -> str:
    """The name of a category's file: nothing of a category is a path, and no two share a file where case does not
    count."""
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


def _front_matter(text: str, name: str) -> tuple[dict[str, object], str]:
    if not text.startswith("---\n"):
        return {}, text
    front, end, body = text[4:].partition("\n---\n")
    if not end and text[4:].startswith("---\n"):
        front, body = "", text[8:]
    elif not end:
        raise UnreadableError(f"{name}: the front matter begins with --- but does not end with it")
    try:
        head = yaml.load(front, _LOADER)  # noqa: S506  it is the safe one or {}
    except yaml.YAMLError as error:
        where = getattr(getattr(error, "problem_mark", None), "line", 0)
        raise UnreadableError(f"{name}: the front matter is no YAML, near line {where + 2}") from None
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError):  # `!!timestamp soon`, for one
        raise UnreadableError(f"{name}: the front matter cannot be read") from None
    if not isinstance(head, dict):
        raise UnreadableError(f"{name}: the front matter is no mapping")
    if _is_more_than(head, len(front)):
        raise UnreadableError(f"{name}: the front matter repeats itself by `*` without end; write it out")
    return cast("dict[str, object]", head), body


def _is_more_than(value: object, most: int) -> bool:
    """Whether YAML says more than stands there: `*a` is all of `&a` again, and that may hold the like."""
    waiting = [value]
    while waiting and most >= 0:
        match waiting.pop():
            case dict() as held:
                waiting += [*held.keys(), *held.values()]
            case list() | tuple() | set() as held:
                waiting += held
            case _:
                pass
        most -= 1
    return most < 0


def _section(key: str, value: JsonValue, told: Mapping[str, Any], name: str) -> Section:
    metadata = told.get("metadata")
    try:
        return Section(
            key,
            value,
            identity=str(told["id"]) if "id" in told else None,
            created_at=_time(told.get("created")),
            updated_at=_time(told.get("updated")),
            tags=tuple(str(each) for each in told.get("tags") or ()),
            links=tuple(str(each) for each in told.get("links") or ()),
            metadata=(
                cast("dict[str, JsonValue]", json.loads(json.dumps(metadata))) if isinstance(metadata, dict) else {}
            ),
        )
    except (TypeError, ValueError):
        raise UnreadableError(f"{name}: the front matter says something of {key!r} that cannot be read") from None


def _told(section: Section) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"id": section.identity}
    for name, moment in (("created", section.created_at), ("updated", section.updated_at)):
        if moment is not None:
            told[name] = moment.isoformat()
    told |= {name: list(value) for name, value in (("tags", section.tags), ("links", section.links)) if value}
    if section.metadata:
        told["metadata"] = dict(section.metadata)
    return told


def _value_of(body: str) -> JsonValue:
    if found := _JSON_BLOCK.fullmatch(body.strip()):
        try:
            return json.loads(found.group(1))
        except (ValueError, RecursionError):
            pass  # a block that a person wrote, or is writing: it is text
    return _ESCAPED.sub(r"\1", body)


def _heading_of(key: str) -> str:
    """A key as one line: what would not survive as a heading is percent-encoded."""
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
