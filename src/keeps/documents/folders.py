"""A folder of files as documents, again and again: only what changed moves. Files in Open Knowledge Format, which are
Markdown whose front matter names a `type`, bring their front matter as metadata and their links as edges of the graph.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import posixpath
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote
from uuid import UUID

import yaml

from keeps.documents.parsers import FORMATS
from keeps_client.errors import (
    ConflictError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.memory.whole import Memory
from keeps_client.models import Document, DocumentReceipt
from keeps_client.models.memories import Visibility

Action = Literal["created", "updated", "renamed", "unchanged", "removed", "refused", "gone"]
LINKS = "links_to"
_SUFFIXES = {suffix for each in FORMATS for suffix in each.suffixes}
_RESERVED = ("index.md", "log.md")
_MOST_FRONT = 64 << 10
_LINK = re.compile(r"\]\(<?([^)\s>]{1,1000})")


@dataclass(frozen=True, slots=True)
class Step:
    """What became of a file, `path` within the folder. `gone`: its document has no file any more, and stays; `detail`
    says why one was refused, or what it was called before."""

    path: str
    action: Action
    detail: str | None = None
    receipt: DocumentReceipt | None = None


@dataclass(frozen=True, slots=True)
class Concept:
    """A file in Open Knowledge Format: what its front matter says, and which files of the folder it points to."""

    metadata: dict[str, Any]
    tags: tuple[str, ...]
    links: tuple[str, ...]


@dataclass(slots=True)
class Files:
    """The files of a folder that can be read, each with the hash of its bytes; how many others there are."""

    root: Path
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    others: int = 0


async def sync_folder(
    memory: Memory,
    files: Files,
    *,
    name: str | None = None,
    prune: bool = False,
    tags: Sequence[str] = (),
    visibility: Visibility = "tenant",
) -> AsyncGenerator[Step]:
    """Bring the documents under `name` (the folder's path, if not given) in line with its files, one step at a time.

    A file that moved keeps its document; one that is gone loses it with `prune`. Ended half way, it goes on where it
    was. Raises ValidationFailedError where `prune` would remove every document since there is no file at all.
    """
    root = files.root
    prefix = f"{name.rstrip('/') if name else root.as_posix()}/"
    held = {str(each.source)[len(prefix) :]: each async for each in _documents(memory, prefix)}
    if prune and held and not files.hashes:
        raise ValidationFailedError(f"{str(root)!r} holds no known file; all {len(held)} documents would go")
    lost = {each.sha256: path for path, each in held.items() if path not in files.hashes}
    stored = {path: each.document_id for path, each in held.items() if path in files.hashes}
    concepts: dict[str, Concept] = {}
    titles = {path: each.title for path, each in held.items()}
    for path, hashed in files.hashes.items():
        before = lost.pop(hashed, None) if path not in held else None
        try:
            concept = await asyncio.to_thread(concept_of, root / path, path)
            if concept is not None:
                concepts[path] = concept
            said = concept or Concept({}, (), ())
            if (
                (known := held.get(path)) is not None
                and known.sha256 == hashed
                and (known.metadata, known.visibility) == (said.metadata, visibility)
                and set(known.tags) == {*tags, *said.tags}
            ):
                yield Step(path, "unchanged")
                continue
            receipt = await memory.add_document(
                file=root / path,
                source=prefix + path,
                replaces=None if before is None else prefix + before,
                metadata=said.metadata,
                tags=sorted({*tags, *said.tags}),
                visibility=visibility,
            )
        except (UnavailableError, NotConfiguredError):
            raise
        except (KeepsError, OSError) as error:
            yield Step(path, "refused", error.detail if isinstance(error, KeepsError) else str(error.strerror))
            continue
        stored[path], titles[path] = receipt.document.document_id, receipt.document.title
        if before is not None:
            del held[before]
            yield Step(path, "renamed", before, receipt)
        else:
            yield Step(path, receipt.status, None, receipt)
    for path, document in held.items():
        if path in files.hashes:
            continue
        if prune:
            await memory.delete_document(document.document_id)
            await _without_entity(memory, document.document_id)
        yield Step(path, "removed" if prune else "gone")
    await _linked(memory, concepts, stored, titles, visibility)


def files_of(folder: Path) -> Files:
    """The files to read. Those that `.gitignore` names, hidden ones and links are left out. Raises
    ValidationFailedError where there is no such folder."""
    root = folder.resolve()
    if not root.is_dir():
        raise ValidationFailedError(f"{str(root)!r} is no folder")
    try:
        from gitignore_parser import parse_gitignore
    except ImportError:
        raise NotConfiguredError("folders need an extra: pip install 'keeps[documents]'") from None
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

        folders[:] = sorted(each for each in folders if not out(each))
        for each in sorted(names):
            path = os.path.join(place, each)
            if out(each) or not os.path.isfile(path):
                continue
            if os.path.splitext(each)[1].lower() not in _SUFFIXES:
                files.others += 1
                continue
            with open(path, "rb") as file:
                files.hashes[Path(path).relative_to(root).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return files


def concept_of(file: Path, path: str) -> Concept | None:
    """What a file in Open Knowledge Format says of itself; None for every other file."""
    if file.suffix.lower() not in (".md", ".markdown") or file.name in _RESERVED:
        return None
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    front, ending, body = text[4 : 4 + _MOST_FRONT].partition("\n---")
    if not text.startswith("---\n") or not ending:
        return None
    try:
        head: Any = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(head, dict) or not isinstance(head.get("type"), str) or not head["type"].strip():
        return None
    said = {str(name): _plain(value) for name, value in head.items() if name not in ("title", "tags")}
    tags: list[object] = head["tags"] if isinstance(head.get("tags"), list) else []
    body += text[4 + _MOST_FRONT :]
    targets = (_target(link, path) for link in _LINK.findall(body))
    links = tuple(dict.fromkeys(each for each in targets if each and each != path))
    return Concept(said, tuple(dict.fromkeys(_name(str(each)) for each in tags if str(each).strip())), links)


def _name(said: str) -> str:
    """As tags and types of entities are written: `BigQuery Table` is `BigQuery-Table`."""
    return "-".join(re.findall(r"[A-Za-z0-9_.:/-]+", said))[:100] or "document"


def _target(link: str, path: str) -> str | None:
    """The file that a link points to, within the folder: from its root where it begins with /, else from the file."""
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


async def _documents(memory: Memory, prefix: str) -> AsyncIterator[Document]:
    cursor = None
    while True:
        page = await memory.list_documents(limit=100, cursor=cursor, under=prefix, mine=True)
        for each in page.items:
            yield each
        cursor = page.next_cursor
        if cursor is None:
            return


async def _linked(
    memory: Memory,
    concepts: dict[str, Concept],
    stored: dict[str, UUID],
    titles: dict[str, str],
    visibility: Visibility,
) -> None:
    """Let each concept be an entity, called as its document and with its id, and its links edges to others."""
    there = {
        path: stored[path]
        for path, each in concepts.items()
        if path in stored and await _is_entity(memory, each, path, titles[path], stored[path], visibility)
    }
    for path, entity_id in there.items():
        wanted = {there[link] for link in concepts[path].links if link in there}
        known = await memory.get_relations(entity_id, direction="outgoing", relation_type=LINKS)
        for edge in known:
            if edge.target_id not in wanted:
                await memory.delete_relation(edge.relation_id)
        for target in wanted - {edge.target_id for edge in known}:
            await memory.add_relation(entity_id, target, LINKS, visibility=visibility)


async def _is_entity(
    memory: Memory, concept: Concept, path: str, title: str, document_id: UUID, visibility: Visibility
) -> bool:
    """Store the entity of a concept. False where its owner deleted it, or merged it into another."""
    kind = _name(concept.metadata["type"])
    for name in (title[:255], f"{title[:100]} ({path[-150:]})"):  # the second where something else is called so
        try:
            await memory.add_entity(
                name, entity_type=kind, entity_id=document_id, properties={"path": path}, visibility=visibility
            )
        except ConflictError:
            continue
        except NotFoundError:
            return False
        return True
    return False


async def _without_entity(memory: Memory, document_id: UUID) -> None:
    with suppress(NotFoundError):
        await memory.delete_entity(document_id)
