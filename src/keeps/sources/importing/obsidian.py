"""A vault of Obsidian: Markdown with wikilinks, embeds, comments and tags in the text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from keeps.sources.importing import notes
from keeps.sources.importing.records import MARKDOWN_FILES, Format, Record, Source
from keeps_client.models.common import MAX_TAGS

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)", re.DOTALL)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_EMBED = re.compile(r"!\[\[([^\[\]\n|]{1,500})(?:\|[^\[\]\n]{0,500})?\]\]")
_LINK = re.compile(r"\[\[([^\[\]\n|]{1,500})(?:\|([^\[\]\n]{1,500}))?\]\]")
_TAG = re.compile(r"(?<![\w/#&])#([^\W\d][\w/-]{0,99})")
_DAY = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})\.md$", re.IGNORECASE)


def records(source: Source) -> Iterator[Record]:
    """Yield a memory for each section; the names of linked notes are metadata, the tags of the text are tags."""
    front, body, problem = notes.front_matter(source.text())
    if problem is not None:
        yield Record(source.name, None, problem)
    if (day := _DAY.search(source.name)) and not front.keys() & set(notes.DATES):
        front = {**front, "date": day[1]}
    front.setdefault("title", source.name.rpartition("/")[2].rpartition(".")[0])
    for record in notes.sections(source, front, body):
        if record.memory is not None:
            _resolve(record.memory)
            if not record.memory["content"].strip():
                continue
        yield record


def _resolve(memory: dict[str, Any]) -> None:
    """Replace Obsidian's marks in the text of a memory, and collect its links, embeds and tags."""
    links: list[str] = []
    embeds: list[str] = []
    tags: list[str] = list(memory.get("tags", ()))

    def link(match: re.Match[str]) -> str:
        links.append(match[1].partition("#")[0].strip())
        return match[2] or match[1].replace("#", " › ")

    def embed(match: re.Match[str]) -> str:
        embeds.append(match[1].strip())
        return ""

    parts = _CODE.split(memory["content"])
    for number in range(0, len(parts), 2):  # the others are code
        text = _EMBED.sub(embed, _COMMENT.sub("", parts[number]))
        text = _LINK.sub(link, text)
        tags += _TAG.findall(text)
        parts[number] = text
    memory["content"] = "".join(parts).strip("\n")
    if tags:
        memory["tags"] = list(dict.fromkeys(tags))[:MAX_TAGS]
    for name, targets in (("links", links), ("attachments", embeds)):
        if targets:
            memory["metadata"][name] = list(dict.fromkeys(target for target in targets if target))[:100]


FORMAT = Format(
    "obsidian",
    "a vault of Obsidian",
    records,
    MARKDOWN_FILES,
    lambda _: False,  # by its folder .obsidian
)
