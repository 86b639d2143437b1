"""Documents in a folder, and the metadata of those in Open Knowledge Format.

Such a file is Markdown whose front matter names a `type`.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models.documents import SUFFIXES
from keeps_client.models.names import tag_of

_SUFFIXES = {suffix for each in SUFFIXES.values() for suffix in each}
_RESERVED = ("index.md", "log.md")
_MOST_FRONT = 64 << 10
_LINK = re.compile(r"\]\(<?([^)\s>]{1,1000})")


@dataclass(frozen=True, slots=True)
class Concept:
    """A file in Open Knowledge Format: its front matter, and the files of the folder that it links to."""

    metadata: dict[str, Any]
    tags: tuple[str, ...]
    links: tuple[str, ...]


@dataclass(slots=True)
class Files:
    """The readable files of a folder with the hashes of their bytes, and the number of others."""

    root: Path
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    others: int = 0


def files_of(folder: Path) -> Files:
    """Return the files to read, without hidden ones, links and those that `.gitignore` names.

    Raises ValidationFailedError if the folder does not exist.
    """
    root = folder.resolve()
    if not root.is_dir():
        raise ValidationFailedError(f"{str(root)!r} is not a folder")
    try:
        from gitignore_parser import parse_gitignore
    except ImportError:
        raise NotConfiguredError("folders need an extra: pip install 'keeps-client[folders]'") from None
    files = Files(root)
    ignored: dict[str, list[Callable[[str], bool]]] = {}
    for place, folders, names in os.walk(root):
        rules = list(ignored.get(os.path.dirname(place), []))
        if ".gitignore" in names:
            rules.append(parse_gitignore(os.path.join(place, ".gitignore"), base_dir=place))
        ignored[place] = rules

        def out(name: str, place: str = place, rules: list[Callable[[str], bool]] = rules) -> bool:
            path = os.path.join(place, name)
            return name.startswith(".") or os.path.islink(path) or any(each(path) for each in rules)

        folders[:] = sorted(folder_name for folder_name in folders if not out(folder_name))
        for name in sorted(names):
            path = os.path.join(place, name)
            if out(name) or not os.path.isfile(path):
                continue
            if os.path.splitext(name)[1].lower() not in _SUFFIXES:
                files.others += 1
                continue
            with open(path, "rb") as file:
                files.hashes[Path(path).relative_to(root).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return files


def concept_of(file: Path, path: str) -> Concept | None:
    """Return the metadata of a file in Open Knowledge Format; None for any other file."""
    if file.suffix.lower() not in (".md", ".markdown") or file.name in _RESERVED:
        return None
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    front, ending, body = text[4 : 4 + _MOST_FRONT].partition("\n---")
    if not text.startswith("---\n") or not ending:
        return None
    import yaml  # as the extra brings it

    try:
        head: Any = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(head, dict) or not isinstance(head.get("type"), str) or not head["type"].strip():
        return None
    metadata = {str(name): _plain(value) for name, value in head.items() if name not in ("title", "tags")}
    tags: list[object] = head["tags"] if isinstance(head.get("tags"), list) else []
    body += text[4 + _MOST_FRONT :]
    targets = (_target(link, path) for link in _LINK.findall(body))
    links = tuple(dict.fromkeys(each for each in targets if each and each != path))
    return Concept(metadata, _tags(tags), links)


def name_of(said: str) -> str:
    """Return a name in the form of entity types: `BigQuery Table` is `BigQuery-Table`."""
    return "-".join(re.findall(r"[A-Za-z0-9_.:/-]+", said))[:100] or "document"


def _tags(said: list[object]) -> tuple[str, ...]:
    """Return the tags of a front matter that can be stored."""
    tags: dict[str, None] = {}
    for each in said:
        with suppress(ValueError):
            tags[tag_of(str(each).removeprefix("#"))] = None
    return tuple(tags)


def _target(link: str, path: str) -> str | None:
    """Return the file within the folder that a link points to, or None.

    A link that begins with / starts at the folder's root, any other at the file.
    """
    place = unquote(link.partition("#")[0])
    if not place or "://" in place or place.startswith(("mailto:", "//")):
        return None
    found = posixpath.normpath(place.lstrip("/") if place.startswith("/") else f"{posixpath.dirname(path)}/{place}")
    return found.lstrip("/")


def _plain(value: object) -> object:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {str(name): _plain(each) for name, each in value.items()} if isinstance(value, dict) else str(value)
