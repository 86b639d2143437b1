"""The front matter of a Markdown file: the keys of Keeps, and those of a person, which are preserved exactly. Pure.

Keeps writes `keeps`, `category`, `revision` and `entries` first. If a person has a key of the same name, the key of
Keeps is written with the prefix `keeps_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

from keeps_client.errors import ValidationFailedError
from keeps_client.models.common import MAX_JSON_DEPTH

VERSION = 1
# The same as yaml.safe_load and safe_dump, in C if PyYAML has it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_OWN = ("category", "revision", "entries")


class UnreadableError(ValidationFailedError):
    """A file that a person has to fix; it is left unchanged."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of Keeps, and the lines of a person."""

    revision: int
    entries: Mapping[str, Any]
    foreign: str


def split(text: str, name: str) -> tuple[str, str]:
    """Return the front matter and the body. Raises UnreadableError for a front matter without an end."""
    if not text.startswith("---\n"):
        return "", text
    front, end, body = f"\n{text[4:]}\n".partition("\n---\n")
    if not end:
        raise UnreadableError(f"{name}: the front matter starts with --- but does not end with it")
    return front[1:] + "\n" if front else "", body


def read(front: str, name: str) -> FrontMatter:
    """Return the parts of a front matter. Raises UnreadableError, which says where, unless it is a YAML mapping."""
    node, head = _load(front, name)
    if too_much := _excess(head, len(front)):
        raise UnreadableError(f"{name}: the front matter {too_much}")
    if head.get("keeps", VERSION) != VERSION or isinstance(head.get("keeps"), bool):
        raise UnreadableError(
            f"{name}: the key keeps in the front matter must be {VERSION}; use another name for your own key"
        )
    own = _own_names(head)
    entries = head.get(own.get("entries", ""), {}) or {}
    if not isinstance(entries, dict):
        raise UnreadableError(f"{name}: entries in the front matter is not a mapping")
    revision = head.get(own.get("revision", ""))
    names = {"keeps", *own.values()}
    return FrontMatter(
        revision if isinstance(revision, int) else 0,
        cast("dict[str, Any]", entries),
        _foreign(front, node, {key: value for key, value in head.items() if key not in names}, names),
    )


def write(category: str, revision: int, entries: Mapping[str, object], foreign: str) -> str:
    """Return the YAML of a front matter."""
    taken: Mapping[object, object] = (yaml.load(foreign, _LOADER) or {}) if foreign else {}  # noqa: S506  the safe one
    own = {"category": category, "revision": revision, "entries": entries}
    head = {"keeps": VERSION} | {f"keeps_{key}" if key in taken else key: value for key, value in own.items()}
    return _dump(head) + foreign


def _load(front: str, name: str) -> tuple[Any, dict[object, Any]]:
    """Return the YAML node of a front matter, which has line numbers, and its value."""
    loader = None
    try:
        loader = _LOADER(front)
        node = loader.get_single_node()
        head = {} if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        where = getattr(getattr(error, "problem_mark", None), "line", 0)
        raise UnreadableError(f"{name}: the front matter is not valid YAML, near line {where + 2}") from None
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError):  # `!!timestamp soon`, for one
        raise UnreadableError(f"{name}: the front matter cannot be read") from None
    finally:
        if loader is not None:
            loader.dispose()
    if head is None:
        return None, {}
    if not isinstance(head, dict):
        raise UnreadableError(f"{name}: the front matter is not a mapping")
    return node, cast("dict[object, Any]", head)


def _own_names(head: Mapping[object, Any]) -> dict[str, str]:
    """Return the name in this file of each key of Keeps.

    In a file that Keeps has not written, only a mapping `entries` is taken for its own.
    """
    if "keeps" in head or isinstance(head.get("entries"), dict):
        return {key: f"keeps_{key}" if f"keeps_{key}" in head else key for key in _OWN}
    return {}


def _foreign(front: str, node: Any, values: Mapping[object, Any], own: set[str]) -> str:
    """Return the lines of keys other than Keeps' own, with their comments; written anew if they cannot be cut out."""
    if not values and "#" not in front:
        return ""
    pairs = [] if node is None else node.value
    starts = [front.rfind("\n", 0, key.start_mark.index) + 1 for key, _ in pairs]
    text = ""
    if node is None or (not node.flow_style and sorted(set(starts)) == starts):
        text = front[: starts[0]] if starts else front
        for place, (key, _) in enumerate(pairs):
            chunk = front[starts[place] : starts[place + 1] if place + 1 < len(starts) else len(front)]
            text += _comments_after(chunk) if key.value in own else chunk
    try:
        written = yaml.load(f"keeps: {VERSION}\n{text}", _LOADER)  # noqa: S506  the safe one
        same = repr(written) == repr({"keeps": VERSION, **values})
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError, AttributeError):
        same = False
    return text if same else _dump(dict(values))


def _comments_after(text: str) -> str:
    """Return the comments and empty lines at the end of a key's lines."""
    lines = text.splitlines(keepends=True)
    end = len(lines)
    while end > 1 and (lines[end - 1].startswith("#") or not lines[end - 1].strip()):
        end -= 1
    return "".join(lines[end:])


def _dump(value: Mapping[Any, Any]) -> str:
    return yaml.dump(value, Dumper=_DUMPER, allow_unicode=True, sort_keys=False, width=10_000) if value else ""


def _excess(value: object, most: int) -> str:
    """Return why YAML is too large or too deep to be written again; empty if it is not.

    An alias `*a` repeats all of `&a`, which may contain further aliases.
    """
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        inner: list[object] = []
        for node in level:
            match node:
                case dict():
                    inner += [*node.keys(), *node.values()]  # pyright: ignore[reportUnknownArgumentType]
                case list() | tuple() | set():
                    inner += node  # pyright: ignore[reportUnknownArgumentType]
                case _:
                    pass
            most -= 1
            if most + 1 < 0:
                return "refers to itself through `*`; write it out"
        if not inner:
            return ""
        level = inner
    return f"refers to itself through `*`, or is nested more than {MAX_JSON_DEPTH} deep; write it out"
