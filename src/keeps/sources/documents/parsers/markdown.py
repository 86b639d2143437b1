"""Markdown: parsed as CommonMark with tables and footnotes, and read as a page would show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from keeps.sources.documents.parsers import MAX_NESTING, Reading, RefusedError, text_of
from keeps.sources.documents.parsers.html import parse_text
from keeps.sources.documents.parsers.records import fields
from keeps.sources.documents.parsers.text import paragraphs

MAX_CHARACTERS_OF_STRUCTURE = 5_000_000
"""Maximum length of a text; a longer one would exceed the processor time of a document."""
_MAX_BRACKET_STEPS = 1_000_000_000
_FRONT_MATTER_LINES, _FRONT_MATTER_CHARACTERS = 200, 30_000


def parse(data: bytes, reading: Reading) -> None:
    text = _without_front_matter(text_of(data), reading)
    if len(text) > MAX_CHARACTERS_OF_STRUCTURE:
        reading.notes.append(f"it has more than {MAX_CHARACTERS_OF_STRUCTURE:,} characters: it was read as plain text")
        for paragraph in paragraphs(text):
            reading.add(paragraph)
        return
    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING + 1})
    markdown.enable(["table", "strikethrough"])
    if _has_many_brackets(text):
        reading.notes.append("it has too many brackets: links, pictures and footnotes were read as plain text")
        markdown.disable(["link", "image", "reference"])
    else:
        footnote_plugin(markdown)
    rules: dict[str, Any] = cast("Any", markdown.renderer).rules
    rules |= {"softbreak": _line_break, "footnote_ref": _reference, "footnote_anchor": _nothing}
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    if any(token.level >= MAX_NESTING for token in tokens):
        raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
    if reading.title is None:
        reading.title = _first_heading(tokens)
    parse_text(f"<body>{markdown.renderer.render(tokens, markdown.options, environment)}", reading)


def _has_many_brackets(text: str) -> bool:
    """Return whether searching for links takes too long: each bracket is compared with all text after it."""
    return sum(each.count("[") * len(each) for each in text.split("\n\n")) > _MAX_BRACKET_STEPS


def _line_break(*_: Any) -> str:
    """Keep the line breaks of a paragraph, which are written on purpose."""
    return "<br>\n"


def _reference(tokens: Sequence[Token], at: int, *_: Any) -> str:
    return f"[{tokens[at].meta['id'] + 1}]"


def _nothing(*_: Any) -> str:
    return ""


def _first_heading(tokens: Sequence[Token]) -> str | None:
    """Return the text of the first heading of the first level."""
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            children = tokens[at + 1].children or []
            said = "".join(child.content for child in children if child.type in ("text", "code_inline", "image"))
            return " ".join(said.split())[:500] or None
    return None


def _without_front_matter(text: str, reading: Reading) -> str:
    """Store the front matter and return the text after it. A block without fields counts as text."""
    lines = text.split("\n", _FRONT_MATTER_LINES)
    if lines[0].rstrip() != "---":
        return text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            written = "\n".join(lines[1:number])
            front_matter = _fields_of(written) if len(written) <= _FRONT_MATTER_CHARACTERS else None
            if front_matter is None:
                return text
            title = front_matter.pop("title", None)
            if isinstance(title, str) and title.strip():
                reading.title = title.strip()[:500]
            elif title is not None:
                front_matter["title"] = title
            reading.pairs(fields(front_matter))
            return "\n".join(lines[number + 1 :])
    return text


class _Loader(yaml.BaseLoader):
    """Reads values as written (00123, 2026-03-31), ignores tags, and refuses aliases, which can grow exponentially."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("no aliases")
        return super().compose_node(parent, index)


def _fields_of(text: str) -> dict[str, Any] | None:
    try:
        told = yaml.load(text, _Loader)  # noqa: S506  it makes texts, lists and dicts only
    except (yaml.YAMLError, ValueError):
        return None
    return {str(name): value for name, value in told.items()} if isinstance(told, dict) else None
