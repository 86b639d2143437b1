"""Change members of JSON, JSONC and JSON5 text, and leave every other character as it is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from keeps_client.errors import ValidationFailedError

MOST_DEPTH = 100
_SPACE, _WORD = re.compile(r"\s+|//[^\n]*"), re.compile(r"[^\s{}\[\]:,\"'/\x00-\x1f]+")


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    text: str
    is_mark: bool


@dataclass(slots=True)
class Node:
    """A value in a text. `members`: of an object, by name; `items`: of an array.

    `key_start`: the beginning of the member with this value; of the value itself for an item.
    `comma`: the place of the comma after it.
    """

    start: int
    end: int = 0
    members: dict[str, Node] | None = None
    items: list[Node] | None = None
    key_start: int = 0
    comma: int | None = None
    children: list[Node] = field(default_factory=list["Node"])

    def value(self, text: str) -> Any:
        """Return the value in a form that can be compared."""
        if self.members is not None:
            return {name: node.value(text) for name, node in self.members.items()}
        if self.items is not None:
            return [node.value(text) for node in self.items]
        return _plain(text[self.start : self.end])


def parse(text: str) -> Node:
    """Parse a text. Raises ValidationFailedError if it is not JSON, also with comments and trailing commas."""
    parser = _Parser(text)
    node = parser.node(0)
    if parser.peek() is not None:
        raise parser.error()
    return node


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the member at a path set to a value; objects on the way are made."""
    node, place = parse(text), 0
    while node.members is not None and place < len(path) - 1 and path[place] in node.members:
        node, place = node.members[path[place]], place + 1
    if node.members is None:
        raise ValidationFailedError(f"{'.'.join(path[:place]) or 'the file'} is not an object")
    for name in reversed(path[place + 1 :]):
        value = {name: value}
    if path[place] in node.members:
        old = node.members[path[place]]
        return text[: old.start] + _written(value, text, old.key_start) + text[old.end :]
    return _inserted(text, node, f"{json.dumps(path[place])}: ", value)


def with_item(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with an item at the end of the array at a path, which is made if it is missing."""
    node = find(parse(text), path)
    if node is None:
        return with_member(text, path, [value])
    if node.items is None:
        raise ValidationFailedError(f"{'.'.join(path)} is not an array")
    return _inserted(text, node, "", value)


def without(text: str, parent: Node, child: Node) -> str:
    """Return the text without a member or an item, and without its comma."""
    position = parent.children.index(child)
    if position + 1 < len(parent.children):
        return text[: child.key_start] + text[parent.children[position + 1].key_start :]
    previous = parent.children[position - 1] if position else None
    begin, end = parent.start + 1 if previous is None else previous.end, child.end
    if child.comma is not None:  # The one before keeps its comma at the end, as is the style of this text.
        begin, end = begin if previous is None or previous.comma is None else previous.comma + 1, child.comma + 1
    rest = text[end : parent.end - 1]
    return text[:begin] + (rest if rest.strip() or position else "") + text[parent.end - 1 :]


def find(node: Node | None, path: Sequence[str]) -> Node | None:
    """Return the node at a path of names; None if there is none."""
    for name in path:
        node = None if node is None or node.members is None else node.members.get(name)
    return node


def _inserted(text: str, parent: Node, label: str, value: Any) -> str:
    """Return the text with a new last child of an object or array."""
    last = parent.children[-1] if parent.children else None
    if last is None:
        indent = _indent(text, parent.start) + "  "
        begin = parent.start + 1
        after = text[begin : parent.end - 1]
        after = after if after.strip() else ""
        written = f"\n{indent}{label}{_written(value, indent=indent)}{after}\n{indent[:-2]}"
        return text[:begin] + written + text[parent.end - 1 :]
    indent = _indent(text, last.key_start)
    before, after = (",", "") if last.comma is None else ("", ",")
    place = last.end if last.comma is None else last.comma + 1
    return f"{text[:place]}{before}\n{indent}{label}{_written(value, indent=indent)}{after}{text[place:]}"


def _written(value: Any, text: str = "", place: int = 0, *, indent: str | None = None) -> str:
    indent = _indent(text, place) if indent is None else indent
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + indent)


def _indent(text: str, place: int) -> str:
    """Return the white space that begins the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text[1:-1] if text[0] == "'" else text


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read()
        self._next = next(self._tokens, None)

    def _read(self) -> Iterator[_Token]:
        text, place = self._text, 1 if self._text.startswith("\ufeff") else 0
        while place < len(text):
            if (space := _SPACE.match(text, place)) is not None:
                place = space.end()
                continue
            start, first = place, text[place]
            if text.startswith("/*", place):
                place = self._after("*/", place + 2)
                continue
            if first in "\"'":
                place = self._string_end(place)
            elif first in "{}[]:,":
                place += 1
            elif (word := _WORD.match(text, place)) is not None:
                place = word.end()
            else:
                raise self.error(place)
            yield _Token(start, place, text[start:place], first in "{}[]:,")

    def _string_end(self, start: int) -> int:
        place = start
        while True:
            place = self._after(self._text[start], place + 1)
            escapes = place - 2
            while escapes > start and self._text[escapes] == "\\":
                escapes -= 1
            if (place - 2 - escapes) % 2 == 0:
                return place
            place -= 1

    def _after(self, mark: str, place: int) -> int:
        end = self._text.find(mark, place)
        if end < 0:
            raise self.error(place - 1)
        return end + len(mark)

    def peek(self) -> str | None:
        return None if self._next is None else self._next.text

    def take(self, *wanted: str) -> _Token:
        token = self._next
        if token is None or (wanted and token.text not in wanted):
            raise self.error()
        self._next = next(self._tokens, None)
        return token

    def error(self, place: int | None = None) -> ValidationFailedError:
        at = place if place is not None else len(self._text) if self._next is None else self._next.start
        return ValidationFailedError(f"line {self._text.count(chr(10), 0, at) + 1} is not valid JSON")

    def node(self, depth: int) -> Node:
        token = self.take()
        node = Node(token.start, token.end, key_start=token.start)
        if token.text not in ("{", "["):
            if token.is_mark:
                raise self.error(token.start)
            return node
        if depth > MOST_DEPTH:
            raise self.error(token.start)
        closing = "}" if token.text == "{" else "]"
        node.members, node.items = ({}, None) if closing == "}" else (None, [])
        while self.peek() != closing:
            child = self._child(node, depth)
            node.children.append(child)
            if self.peek() != closing:
                child.comma = self.take(",").start
        node.end = self.take(closing).end
        return node

    def _child(self, node: Node, depth: int) -> Node:
        if node.members is None:
            child = self.node(depth + 1)
            assert node.items is not None
            node.items.append(child)
            return child
        key = self.take()
        if key.is_mark:
            raise self.error(key.start)
        self.take(":")
        child = self.node(depth + 1)
        child.key_start = key.start
        node.members[str(_plain(key.text))] = child
        return child
