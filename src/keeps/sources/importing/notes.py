"""Markdown files written by people, split at CommonMark headings. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cache
from math import isfinite
from typing import Any, cast

import yaml
from markdown_it import MarkdownIt
from pydantic import JsonValue

from keeps.sources.importing.records import (
    MARKDOWN_FILES,
    NAMESPACE,
    Format,
    Record,
    Source,
    fitted,
    moment_of,
    pieces,
)
from keeps_client.models.common import MAX_TAGS

DATES = ("date", "created", "created_at", "published", "timestamp")
MAX_FRONT_MATTER = 131_072
MAX_VALUES = 2_000
MAX_TAG_CHARACTERS = 100


@cache
def _parser() -> MarkdownIt:
    """Return a parser for blocks: fences, code, HTML, both kinds of headings. Inline marks are kept as text."""
    return MarkdownIt("commonmark").disable("inline")


def records(source: Source) -> Iterator[Record]:
    """Yield a memory for each section, with its headings and the fields of the front matter."""
    front, body, problem = front_matter(source.text())
    if problem is not None:
        yield Record(source.name, None, problem)
    yield from sections(source, front, body)


def sections(source: Source, front: dict[str, Any], body: str, content_type: str = "document") -> Iterator[Record]:
    """Yield a memory for each section of a body, divided where it is long."""
    number = 0
    fields, notes = fields_of(front)
    title = front.get("title")
    for headings, section in _sections(body, title if isinstance(title, str) else ""):
        path = " › ".join(headings)
        for part in pieces(section):
            number += 1
            memory: dict[str, Any] = {
                "content": f"{path}\n{part}" if path else part,
                "content_type": content_type,
                "namespace": NAMESPACE,
                "key": source.key(number),
                "source": fitted(source.path),
                **fields,
            }
            memory["metadata"] = {**fields.get("metadata", {}), "path": source.name, "heading": path}
            yield Record(f"{source.name}#{number}", memory, note=notes if number == 1 else None)


def _sections(body: str, title: str) -> Iterator[tuple[list[str], str]]:
    """Yield each section's text with the headings above it. Headings inside lists and quotes do not count."""
    lines = body.split("\n")
    headings: list[tuple[int, str]] = [(0, title)] if title else []
    tokens = _parser().parse(body)
    begins = 0
    for at, token in enumerate(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        heading = tokens[at + 1].content.strip()
        if not heading:
            continue
        yield [item for _, item in headings], "\n".join(lines[begins : token.map[0]])
        begins, level = token.map[1], int(token.tag[1])
        headings = [item for item in headings if item[0] < level and not (item[0] == 0 and item[1] == heading)]
        headings.append((level, " ".join(heading.split())))
    yield [item for _, item in headings], "\n".join(lines[begins:])


def front_matter(text: str) -> tuple[dict[str, Any], str, str | None]:
    """Return the front matter, the text after it, and a problem with it.

    A file that only begins with a horizontal rule has no front matter.
    """
    head, _, rest = text.partition("\n")
    lines = rest.split("\n") if head.rstrip() == "---" else []
    end = next((at for at, line in enumerate(lines) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return {}, text, None
    front = "\n".join(lines[:end])
    if len(front) > MAX_FRONT_MATTER:
        return {}, text, None
    body = "\n".join(lines[end + 1 :])
    try:
        value: object = yaml.safe_load(front)
        plain = _plain(value, iter(range(MAX_VALUES)))
    except StopIteration:
        return {}, body, "its front matter refers to itself through `*` and is omitted"
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, LookupError, AttributeError):
        return {}, body, "its front matter is not valid YAML and is omitted"
    if plain is None:
        return {}, body, None
    return (plain, body, None) if isinstance(plain, dict) else ({}, text, None)


def fields_of(front: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the tags, date and metadata of a front matter as memory fields, and a note on unusable ones."""
    notes: list[str] = []
    fields: dict[str, Any] = {}
    raw_tags = front.get("tags", front.get("tag"))
    if isinstance(raw_tags, str):
        raw_tags = raw_tags.split(",") if "," in raw_tags else raw_tags.split()
    tags = (
        [str(tag).strip().removeprefix("#") for tag in cast("list[object]", raw_tags)]
        if isinstance(raw_tags, list)
        else []
    )
    usable_tags = [tag for tag in dict.fromkeys(tags) if tag and len(tag) <= MAX_TAG_CHARACTERS][:MAX_TAGS]
    if usable_tags:
        fields["tags"] = usable_tags
    if len(usable_tags) < len(set(tags) - {""}):
        notes.append(f"tags longer than {MAX_TAG_CHARACTERS} characters or after the first {MAX_TAGS}")
    name = next((name for name in DATES if front.get(name) not in (None, "")), None)
    if name is not None:
        try:
            fields["valid_from"] = moment_of(front[name])
        except ValueError:
            notes.append(f"its {name} {str(front[name])[:40]!r}, which is not a date")
    others = {key: value for key, value in front.items() if key not in ("tags", "tag")}
    if others:
        fields["metadata"] = others
    return fields, f"omitted: {'; '.join(notes)}" if notes else None


def _plain(value: object, budget: Iterator[int]) -> JsonValue:
    """Return a YAML value as JSON. Raises StopIteration above the value limit, since `*a` repeats all of `&a`."""
    next(budget)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(each, budget) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {str(key): _plain(each, budget) for key, each in cast("dict[object, object]", value).items()}
    return value if isinstance(value, float) and isfinite(value) else str(value)


FORMAT = Format(
    "markdown",
    "notes in Markdown, split at headings; also a folder that `keeps export --format markdown` wrote",
    records,
    MARKDOWN_FILES,
    lambda source: MARKDOWN_FILES.search(source.name) is not None,
)
