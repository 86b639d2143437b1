"""Parse path patterns: `person -works_at-> org <-works_at- person`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keeps_client.errors import ValidationFailedError

MAX_STEPS = 8
_NAME = r"\*|[A-Za-z0-9_.:/]+(?:-[A-Za-z0-9_.:/]+)*(?:\|[A-Za-z0-9_.:/]+(?:-[A-Za-z0-9_.:/]+)*)*"
_NODE = re.compile(rf" ?({_NAME}) ?")
_EDGE = re.compile(rf" ?(<?)- ?({_NAME}) ?-(>?) ?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed path pattern. `*` matches any type, `a|b` either.

    `start`: type of the first entity.
    For each step: `relations`, the types of the edge; `directions`, `>`, `<`, or `-` for both; `entities`, the types
    of the entity that it leads to.
    """

    start: str
    relations: tuple[str, ...]
    directions: tuple[str, ...]
    entities: tuple[str, ...]


def parse_pattern(text: str) -> Pattern:
    """Return the parsed pattern. Raises ValidationFailedError that shows where the pattern is invalid."""
    text = " ".join(text.split())
    nodes: list[str] = []
    relations: list[str] = []
    directions: list[str] = []
    place = 0
    while True:
        node = _NODE.match(text, place)
        if node is None:
            raise _unreadable(text, place, "the type of an entity, or *")
        nodes.append(node.group(1))
        place = node.end()
        if place == len(text):
            break
        edge = _EDGE.match(text, place)
        if edge is None:
            raise _unreadable(text, place, "an edge such as -works_at->, <-works_at- or -works_at-")
        before, kind, after = edge.groups()
        if before and after:
            raise _unreadable(text, place, "an edge with one arrow head, or none for both directions")
        relations.append(kind)
        directions.append("<" if before else ">" if after else "-")
        place = edge.end()
    if not relations:
        raise ValidationFailedError("path_pattern has no edge; write person -works_at-> org")
    if len(relations) > MAX_STEPS:
        raise ValidationFailedError(f"path_pattern has {len(relations)} edges; the maximum is {MAX_STEPS}")
    return Pattern(nodes[0], tuple(relations), tuple(directions), tuple(nodes[1:]))


def fits(entity_type: str, wanted: str) -> bool:
    return wanted == "*" or entity_type in wanted.split("|")


def _unreadable(text: str, place: int, expected: str) -> ValidationFailedError:
    return ValidationFailedError(f"path_pattern: at {text[place : place + 20]!r} expected {expected}")
