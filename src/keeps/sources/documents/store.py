"""Run the statements on documents. Every function takes the transaction first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps.base.clock import new_id
from keeps.base.cooperative import cooperative_map
from keeps.memory.memories.types import MEMORY, MemoryRow
from keeps.store.db.errors import MissingError
from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import Citation, Document
from keeps_client.models.events import EventType

QUERIES = Statements("keeps.sources.documents", MEMORY)
TYPES: list[EventType] = ["document.written", "document.deleted"]


@dataclass(frozen=True, slots=True)
class Passage:
    """The place of a memory in a document.

    `gap`: the text before it outside any passage, such as a heading.
    `page_breaks`: as in `Chunk`; None if no page begins inside the passage, or the document was stored before Keeps
    recorded them.
    """

    memory_id: UUID
    starts: int
    ends: int
    page: int | None
    headings: tuple[str, ...]
    gap: str
    page_breaks: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A row of keeps.documents, with a field for each column. `tail`: the text after the last passage."""

    tenant_id: str
    document_id: UUID
    user_id: str
    agent_id: str | None
    title: str
    source: str | None
    format: str
    file_hash: bytes
    metadata: dict[str, object]
    tags: tuple[str, ...]
    visibility: str
    pages: int
    pages_without_text: int
    characters: int
    tail: str
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    passage_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """A citation with the passages before and after it. `page_breaks`: as in `Chunk`."""

    citation: Citation
    before: str | None
    after: str | None
    page_breaks: tuple[int, ...] = ()


async def lock(tx: Tx, document_id: UUID) -> DocumentRow | None:
    """Lock one of the user's own documents to change it; None if there is none."""
    return _row(await tx.fetch_row(QUERIES["document_lock"], tx.scope.tenant_id, tx.scope.user_id, document_id))


async def like(tx: Tx, source: str | None, file_hash: bytes, before: str | None = None) -> DocumentRow | None:
    """Return the user's own document with a source or its previous one; without a source, with the same bytes."""
    who = tx.scope.tenant_id, tx.scope.user_id
    return _row(await tx.fetch_row(QUERIES["document_like"], *who, source, file_hash, before))


async def settled(tx: Tx, memory_ids: Collection[UUID]) -> dict[UUID, Row]:
    """Return the values that existing documents give each of these memories.

    They are document_id, title, source, metadata and headings of the first document, and the tags of all.
    """
    rows = await tx.fetch(QUERIES["passages_settled"], tx.scope.tenant_id, list(memory_ids))
    return {row["memory_id"]: row for row in rows}


async def get(tx: Tx, document_id: UUID) -> Document | None:
    row = await tx.fetch_row(QUERIES["document_get"], tx.scope.tenant_id, document_id)
    return None if row is None else _document(row)


async def page(
    tx: Tx, after: tuple[datetime, UUID] | None, limit: int, under: str | None, user_id: str | None
) -> list[Document]:
    place = after or (None, None)
    rows = await tx.fetch(QUERIES["documents_page"], tx.scope.tenant_id, *place, limit, under, user_id)
    return [_document(row) for row in rows]


async def known(tx: Tx, hashes: Collection[bytes]) -> dict[bytes, UUID]:
    """Return the user's own passages by content hash, for these hashes."""
    rows = await tx.fetch(QUERIES["passages_known"], tx.scope.tenant_id, tx.scope.user_id, list(hashes))
    return {row["content_hash"]: row["memory_id"] for row in rows}


async def put(tx: Tx, row: DocumentRow, passages: Sequence[Passage], event_type: EventType) -> None:
    """Store a document and the places of its passages in place of the previous version, with one event for all."""
    image = {
        **asdict(row),
        "file_hash": f"\\x{row.file_hash.hex()}",
    }
    stored = await tx.fetch_row(QUERIES["document_put"], json.dumps(image, ensure_ascii=False, default=_plain))
    assert stored is not None
    await tx.execute(QUERIES["passages_delete"], row.tenant_id, row.document_id)
    # In a thread: a long document has about ten thousand.
    told, encoded = await asyncio.to_thread(_told, passages)
    await tx.execute(QUERIES["passages_insert"], row.tenant_id, row.document_id, encoded, row.user_id, row.visibility)
    data = {"document": {**json.loads(stored["row"]), "passages": told}}
    subject = str(row.document_id)
    event = NewEvent(new_id(), event_type, subject, row.updated_at, "private", row.agent_id, data)
    await events.append(tx, [event])


async def passages(tx: Tx, document_id: UUID) -> list[Passage]:
    rows = await tx.fetch(QUERIES["passages_of"], tx.scope.tenant_id, document_id)
    return await cooperative_map(_passage_of, rows)


async def only_here(tx: Tx, document_id: UUID, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return those memories that are in no other document."""
    rows = await tx.fetch(QUERIES["passages_only_here"], tx.scope.tenant_id, document_id, list(memory_ids))
    return {row["memory_id"] for row in rows}


async def lock_memories(tx: Tx, memory_ids: Collection[UUID]) -> list[MemoryRow]:
    rows = await tx.fetch(QUERIES["passages_lock"], tx.scope.tenant_id, tx.scope.user_id, list(memory_ids))
    return await cooperative_map(MemoryRow.read, rows)


async def text(tx: Tx, document_id: UUID, start: int, end: int) -> list[Row]:
    """Return the passages that overlap a range, in order: starts, ends, gap, content."""
    return await tx.fetch(QUERIES["document_text"], tx.scope.tenant_id, document_id, start, end)


async def tail(tx: Tx, document_id: UUID) -> tuple[int, str] | None:
    """Return the length of a document's text, and the text after its last passage."""
    row = await tx.fetch_row(QUERIES["document_get"], tx.scope.tenant_id, document_id)
    return None if row is None else (row["characters"], row["tail"])


async def citations(tx: Tx, memory_ids: Collection[UUID]) -> dict[UUID, list[Around]]:
    """Return the places of each of these memories."""
    rows = await tx.fetch(QUERIES["citations"], tx.scope.tenant_id, list(memory_ids))
    citations_of: dict[UUID, list[Around]] = {}
    for row in rows:
        citation = Citation.model_construct(
            document_id=row["document_id"],
            title=row["title"],
            source=row["source"],
            headings=tuple(row["headings"]),
            page=row["page"],
            start=row["starts"],
            end=row["ends"],
        )
        citations_of.setdefault(row["memory_id"], []).append(
            Around(citation, row["before"], row["after"], tuple(row["page_breaks"] or ()))
        )
    return citations_of


async def add(tx: Tx, image: dict[str, Any]) -> bool:
    """Store a document with its passages from an export; return False if it exists.

    Raises:
        ValueError, KeyError, TypeError: The image is not a document.
        ValidationFailedError: Its passages do not exist.
    """
    passages = _PASSAGES.validate_python(image["passages"])
    row = _ROW.validate_python(
        {**{name: value for name, value in image.items() if name != "passages"}, "file_hash": b""}
    )
    row = replace(row, file_hash=bytes.fromhex(image["file_hash"].removeprefix("\\x")))
    if (
        await lock(tx, row.document_id)
        or await get(tx, row.document_id)
        or (row.source and await like(tx, row.source, b""))
    ):
        return False
    there = await lock_memories(tx, {passage.memory_id for passage in passages})
    if len(there) < len({passage.memory_id for passage in passages}):
        raise MissingError("refers to passages that do not exist; import the memories first")
    await put(tx, row, passages, "document.written")
    return True


async def metadata(tx: Tx, document_ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    rows = await tx.fetch(QUERIES["documents_metadata"], tx.scope.tenant_id, list(document_ids))
    return {row["document_id"]: json.loads(row["metadata"]) for row in rows}


async def overdue(tx: Tx, deleted_before: datetime) -> list[UUID]:
    """Return the user's own documents that were deleted before a time."""
    rows = await tx.fetch(QUERIES["documents_overdue"], tx.scope.tenant_id, tx.scope.user_id, deleted_before)
    return [row["document_id"] for row in rows]


async def erase(tx: Tx, document_id: UUID, now: datetime) -> None:
    """Remove a document, and its data in events."""
    await tx.execute(QUERIES["document_erase"], tx.scope.tenant_id, document_id, TYPES)
    data = {"document_id": str(document_id)}
    await events.append(tx, [NewEvent(new_id(), "document.erased", str(document_id), now, "private", None, data)])


_ROW: TypeAdapter[DocumentRow] = TypeAdapter(DocumentRow)
_PASSAGES: TypeAdapter[list[Passage]] = TypeAdapter(list[Passage])


def _row(row: Row | None) -> DocumentRow | None:
    if row is None:
        return None
    values: dict[str, Any] = {**row, "metadata": json.loads(row["metadata"]), "tags": tuple(row["tags"])}
    return DocumentRow(**values)


def _document(row: Row) -> Document:
    values: dict[str, Any] = {name: row[name] for name in Document.model_fields if name != "sha256"}
    values |= {
        "sha256": row["file_hash"].hex(),
        "metadata": json.loads(row["metadata"]),
        "tags": tuple(row["tags"]),
    }
    return Document.model_construct(**values)


def _told(passages: Sequence[Passage]) -> tuple[list[dict[str, object]], str]:
    places: list[dict[str, object]] = [
        {
            "memory_id": str(each.memory_id),
            "starts": each.starts,
            "ends": each.ends,
            "page": each.page,
            "headings": each.headings,
            "gap": each.gap,
            **({"page_breaks": each.page_breaks} if each.page_breaks else {}),
        }
        for each in passages
    ]
    return places, json.dumps(places, ensure_ascii=False)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _passage_of(row: Row) -> Passage:
    page_breaks = row["page_breaks"]
    values: dict[str, Any] = {
        **row,
        "headings": tuple(row["headings"]),
        "page_breaks": None if page_breaks is None else tuple(page_breaks),
    }
    return Passage(**values)
