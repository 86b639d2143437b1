"""Documents as blocks of text. Each format is a module with one function `parse(data, reading)`; see FORMATS.

A parser handles untrusted input in a process of its own (keeps.sources.documents.host). It may be killed, but its time
must not grow faster than its input. Problems are reported in `Reading.notes`.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import zip_longest
from typing import Literal, Protocol

from keeps.sources.documents.parsers.unseen import without_unseen
from keeps_client.models.documents import SUFFIXES

MAX_PAGES, MAX_CHARACTERS, MAX_NESTING = 2_000, 20_000_000, 200
MAX_HEADING = 200
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
Kind = Literal["text", "heading", "item", "row", "code"]
NOTHING_READ = "nothing was read"
HIDDEN_TEXT, DELETED_TEXT = "hidden text", "deleted text"
MAY_BE_HIDDEN = "some text may be hidden"
"""Beginning of a note on text that was read although it may be invisible."""


class RefusedError(Exception):
    """A refused document, with a message for its sender."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format read by `module` of this package. `needs`: one of these must be importable (extra `documents`)."""

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    module: str
    needs: tuple[str, ...] = ()


FORMATS = tuple(
    Format(name, SUFFIXES[name], media_types, module, needs)
    for name, media_types, module, needs in (
        ("text", ("text/plain",), "text", ()),
        ("markdown", ("text/markdown", "text/x-markdown"), "markdown", ()),
        ("csv", ("text/csv", "text/tab-separated-values"), "tables", ()),
        ("json", ("application/json", "application/x-ndjson"), "records", ()),
        ("email", ("message/rfc822",), "email", ()),
        ("html", ("text/html", "application/xhtml+xml"), "html", ()),
        ("pdf", ("application/pdf",), "pdf", ("pypdfium2", "pypdf")),
        ("docx", ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",), "docx", ("docx",)),
        ("xlsx", ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",), "xlsx", ("openpyxl",)),
    )
)
BY_NAME = {each.name: each for each in FORMATS}


@dataclass(frozen=True, slots=True)
class Block:
    """A coherent piece of text, with the headings above it and the page on which it begins."""

    text: str
    kind: Kind = "text"
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(slots=True)
class Reading:
    """Blocks, notes and counts that a parser collects."""

    name: str = ""
    blocks: list[Block] = field(default_factory=list[Block])
    title: str | None = None
    pages: int = 0
    empty_pages: int = 0
    hidden: int = 0
    notes: list[str] = field(default_factory=list[str])
    characters: int = 0
    _left_out: Counter[str] = field(default_factory=Counter[str])
    _headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def heading(self, level: int, text: str, page: int | None = None) -> None:
        """Add a heading for the following text, up to the next heading of its level or above."""
        title = " ".join(self._seen(text).split())
        if title:
            short, rest = _shortened(title)
            self._headings = [each for each in self._headings if each[0] < level]
            self.add(short, "heading", page)
            self._headings.append((level, short))
            self.add(rest, "text", page)

    def add(self, text: str, kind: Kind = "text", page: int | None = None) -> None:
        seen = self._seen(text).strip("\n")
        if not seen.strip():
            return
        self._count(seen)
        self.blocks.append(Block(seen, kind, tuple(said for _, said in self._headings), page))

    def _count(self, text: str) -> None:
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise RefusedError(f"it has more than {MAX_CHARACTERS:,} characters; split it")

    def row(self, names: Iterable[object], values: Iterable[object], page: int | None = None) -> None:
        """Add a table row, each value with the name of its column; values beyond the names have none."""
        cells = [("" if value is None else name, value) for name, value in zip_longest(names, values)]
        self.pairs([(_cell(name), _cell(value)) for name, value in cells], page)

    def pairs(self, pairs: Iterable[tuple[str, str]], page: int | None = None) -> None:
        """Add a table row as pairs of a name, which may be empty, and a value."""
        self.add(" | ".join(f"{name}: {value}" if name else value for name, value in pairs if value), "row", page)

    def take(self, other: Reading) -> None:
        """Add the contents of another reading below the current headings."""
        above = tuple(said for _, said in self._headings)
        for block in other.blocks:
            self._count(block.text)
            self.blocks.append(replace(block, headings=above + block.headings))
        self.title = self.title or other.title
        self.hidden += other.hidden
        self.notes += [note for note in other.notes if note not in self.notes]
        self._left_out += other._left_out

    def hide(self, characters: int) -> None:
        """Count characters that are in the file but invisible."""
        self.hidden += characters

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count other omissions under a plural name; text is counted in characters."""
        if count:
            self._left_out[what] += count

    def finish(self, data: bytes) -> None:
        """Note all omissions. A last heading without text becomes text, so that a passage contains it."""
        for number, block in enumerate(self.blocks):
            below = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            alone = below is None or len(below.headings) <= len(block.headings)
            if block.kind == "heading" and block.page is None and alone:
                self.blocks[number] = replace(block, kind="text")
        if self.hidden:
            self._left_out[HIDDEN_TEXT] += self.hidden
        if self._left_out:
            told = (f"{what} ({_measured(what, count)})" for what, count in self._left_out.items())
            self.notes.append(f"left out: {', '.join(told)}")
        nothing = all(block.kind == "heading" for block in self.blocks)
        if nothing and not any(note.startswith(NOTHING_READ) for note in self.notes):
            self.notes.append(f"{NOTHING_READ}: {self._reason(data)}")

    def _reason(self, data: bytes) -> str:
        mark = next((mark for mark, _ in BYTE_ORDER_MARKS if data.startswith(mark)), b"")
        if not data[len(mark) :].strip(b" \t\r\n\x00"):
            return "the file is empty"
        others = ", ".join(self._left_out)
        return f"it contains only {others}" if others else "it contains no text"

    def _seen(self, text: str) -> str:
        """Return a text without invisible characters; count those that can carry hidden text."""
        shown, hidden = without_unseen(clean(text))
        self.hidden += hidden
        return shown


class Parser(Protocol):
    def parse(self, data: bytes, reading: Reading) -> None: ...


def parse(form: str, data: bytes, name: str) -> Reading:
    """Read a document. Raises RefusedError."""
    parser: Parser = import_module(f"keeps.sources.documents.parsers.{BY_NAME[form].module}")  # pyright: ignore[reportAssignmentType]
    reading = Reading(name)
    try:
        parser.parse(data, reading)
    except RecursionError:
        raise RefusedError(f"it is nested deeper than {MAX_NESTING}") from None
    reading.finish(data)
    return reading


def clean(text: str) -> str:
    """Return a text without characters that cannot be stored; nothing else changes."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()


def text_of(data: bytes) -> str:
    """Decode bytes as UTF-8, or by their byte order mark. Raises RefusedError."""
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\x00" in data:
        raise RefusedError("it is not text: it contains NUL bytes")
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise RefusedError("it is not UTF-8 text; save it as UTF-8") from None


def _shortened(heading: str) -> tuple[str, str]:
    """Return a heading shortened at a word to the maximum length, and the rest of it."""
    if len(heading) <= MAX_HEADING:
        return heading, ""
    cut = heading.rfind(" ", MAX_HEADING // 2, MAX_HEADING + 1)
    cut = MAX_HEADING if cut < 0 else cut
    return heading[:cut], heading[cut:].strip()


def _measured(what: str, count: int) -> str:
    unit = "" if what not in (HIDDEN_TEXT, DELETED_TEXT) else " character" if count == 1 else " characters"
    return f"{count:,}{unit}"


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
