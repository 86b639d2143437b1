"""JSON values read one at a time, from a document of any size or from JSON lines.

A document is not read as a whole, and one invalid value does not spoil those after it: the standard library decodes a
value at a position, and for a value that it cannot decode, `_end` finds where the value ends. Streaming parsers, such
as ijson, stop at the first error, and at numbers above 64 bits.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from keeps.sources.importing.records import Source
from keeps_client.errors import ValidationFailedError

LINES = (".jsonl", ".ndjson")
SUFFIXES = (".json", *LINES)
MAX_VALUE_BYTES = 64 << 20
_PIECE = 1 << 18
_DECODER = json.JSONDecoder()
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+("?)|[\[\]{}]', re.DOTALL)
"""A bracket, or a string; the group is empty for a string without an end."""
_SCALAR = re.compile(r"[^\s,\[\]{}]+")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its place, or with the reason why it is unreadable. `section`: the list that contains it."""

    place: str
    value: object
    problem: str | None = None
    section: str = ""


def values(source: Source, sections: tuple[str, ...] = ()) -> Iterator[Value]:
    """Yield the lines of JSON lines, the items of a list, the items of an object's `sections`, or the object itself.

    Raises ValidationFailedError for a file that is not JSON.
    """
    with source.open() as file:
        by_line = _is_lines(source.name, file)
    with source.open() as file:
        yield from _lines(file) if by_line else _document(source, _Text(source.name, file), sections)


def _is_lines(name: str, file: IO[bytes]) -> bool:
    first = b""
    while not first.strip():
        first = file.readline(MAX_VALUE_BYTES)
        if not first:
            return False
    named = name.lower().endswith(LINES)
    if named and first.strip().removeprefix(codecs.BOM_UTF8) in (b"{", b"["):
        return False  # an indented document in spite of its name
    if not named and (not first.endswith(b"\n") or first.strip() in (b"{", b"[")):
        return False
    try:
        value: object = json.loads(first)
    except (ValueError, RecursionError):
        return named
    rest = any(line.strip() for line in iter(lambda: file.readline(_PIECE), b""))
    return rest or (named and not isinstance(value, list))


def _lines(file: IO[bytes]) -> Iterator[Value]:
    number = 0
    while line := file.readline(MAX_VALUE_BYTES):
        number += 1
        if len(line) == MAX_VALUE_BYTES and not line.endswith(b"\n"):
            while (rest := file.readline(_PIECE)) and not rest.endswith(b"\n"):
                pass
            yield Value(f":{number}", None, f"has more than {MAX_VALUE_BYTES >> 20} MB")
            continue
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            yield Value(f":{number}", json.loads(line.decode()))
        except (ValueError, RecursionError) as error:
            yield Value(f":{number}", None, _reason(error))


def _document(source: Source, text: _Text, sections: tuple[str, ...]) -> Iterator[Value]:
    begin = text.peek()
    if begin == "[":
        yield from text.items("", "")
    elif begin == "{" and sections:
        yield from _sections(text, sections)
    elif begin:
        value = text.value("[0]")
        if value.problem is not None:
            raise ValidationFailedError(f"{source.name} {value.problem}. {text.hint}")
        yield value
    else:
        raise ValidationFailedError(f"{source.name} is empty")
    if text.peek():
        yield Value("", None, "has text after the end of its JSON")


def _sections(text: _Text, sections: tuple[str, ...]) -> Iterator[Value]:
    """Yield the items of an object's sections; without any, the object itself."""
    members: dict[str, object] = {}
    any_section = False
    text.take("{")
    while text.peek() != "}":
        name = text.value("").value
        text.take(":")
        if isinstance(name, str) and name in sections and text.peek() == "[":
            any_section = True
            yield from text.items(f".{name}", name)
        else:
            member = text.value(f".{name}")
            if member.problem is not None:
                yield member
            elif not any_section:
                members[str(name)] = member.value
        if text.peek() != "}":
            text.take(",")
    text.take("}")
    if not any_section:
        yield Value("[0]", members)


class _Text:
    """A file's text with a position, of which only the current value is in memory."""

    hint = "Name its format: --format NAME; `keeps import --help` lists them"

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name = name
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Read another piece, at least as long as what is there, so that repeated attempts stay linear."""
        if self._ended:
            return False
        self._text = self._text[self._at :]
        self._at = 0
        piece = self._file.read(max(_PIECE, len(self._text)))
        self._ended = not piece
        self._text += self._decoder.decode(piece, self._ended)
        return bool(piece)

    def peek(self) -> str:
        """Return the next character that is not white space; an empty text at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Skip one character. Raises ValidationFailedError if it is another one."""
        if self.peek() != expected:
            raise ValidationFailedError(f"{self._name} is not JSON: expected {expected!r}. {self.hint}")
        self._at += 1

    def items(self, place: str, section: str) -> Iterator[Value]:
        """Yield the items of a list. The list ends early at text that no value can begin with."""
        self.take("[")
        number = 0
        while self.peek() not in ("]", ""):
            value = self.value(f"{place}[{number}]", section)
            if value.problem is not None and number == 0 and not self.peek():
                raise ValidationFailedError(f"{self._name}{value.place} {value.problem}. {self.hint}")
            yield value
            number += 1
            if self.peek() == ",":
                self._at += 1
            elif self.peek() != "]":
                break
        if self.peek() != "]":
            yield Value(f"{place}[{number}]", None, "the list is damaged from here on", section)
            self._text, self._at, self._ended = "", 0, True
            return
        self._at += 1

    def value(self, place: str, section: str = "") -> Value:
        """Read one value, or skip it if it is invalid."""
        self.peek()
        while True:
            begin = self._at
            try:
                value, end = _DECODER.raw_decode(self._text, begin)
                if end < len(self._text) or self._ended:
                    self._at = end
                    if _is_utf8(self._text[begin:end]):
                        return Value(place, value, None, section)
                    return Value(place, None, "is not UTF-8", section)
                problem = ""
            except (ValueError, RecursionError) as error:
                problem = _reason(error)
            end = _end(self._text, begin) if problem else None
            if end is not None and (end < len(self._text) or self._ended):
                self._at = end
                return Value(place, None, problem, section)
            if len(self._text) - begin > MAX_VALUE_BYTES:
                raise ValidationFailedError(f"{self._name}{place} has more than {MAX_VALUE_BYTES >> 20} MB")
            if not self._more() and end is None and problem:
                self._at = len(self._text)
                return Value(place, None, problem, section)


def _end(text: str, begin: int) -> int | None:
    """Return the position after a value that cannot be decoded, by its brackets; None if the text ends before."""
    if begin < len(text) and text[begin] in ",:]}":
        return begin  # no value at all
    if begin < len(text) and text[begin] not in '[{"':
        match = _SCALAR.match(text, begin)
        return match.end() if match else None
    depth = 0
    for token in _TOKEN.finditer(text, begin):
        if token[1] == "":
            return None
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0:
            return token.end()
    return None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    return f"is not JSON: {error}"
