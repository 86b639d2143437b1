"""Documents: add, read, list, delete, search."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePath
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.cooperative import cooperative_map
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.door import current_door
from keeps.base.fairness import TextWorker, acting_for
from keeps.base.scope import Scope
from keeps.base.space_bodies import private
from keeps.base.telemetry.metrics import Metrics
from keeps.base.text.trust import source_of
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories import store as memories
from keeps.memory.memories.changes import Changes
from keeps.memory.memories.provenance import check_provenance
from keeps.memory.memories.screening import held, screening_of
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import MemoryRow, new_row, passage_hash
from keeps.memory.recall.service import RecallService
from keeps.sources.documents import store
from keeps.sources.documents.chunks import heading_line
from keeps.sources.documents.citing import cited
from keeps.sources.documents.parsers import Format
from keeps.sources.documents.reader import DocumentReader, Read, format_of
from keeps.sources.documents.store import DocumentRow, Passage
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import NotFoundError, PayloadTooLargeError, ValidationFailedError
from keeps_client.models import (
    Document,
    DocumentDeleted,
    DocumentHit,
    DocumentHits,
    DocumentReceipt,
    DocumentText,
    Filters,
    NewDocument,
    NewMemory,
    Page,
    PassagePlace,
    RecallRequest,
)
from keeps_client.models.documents import MAX_FILE_BYTES, DocumentQuery, DocumentSearch, DocumentStatus

IMPORTANCE = 0.5
STORED_AT_ONCE = 500

UNNAMED = ("", "text.md")
"""Names of files without a name of their own."""


class DocumentService:
    """The documents of a tenant. A passage is a memory of the layer `knowledge`; documents say where it is."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        recall: RecallService,
        indexer: Indexer,
        clock: Clock,
        metrics: Metrics,
        *,
        model: str,
    ) -> None:
        self._metrics = metrics
        self._database = database
        self._introducer = introducer
        self._recall = recall
        self._indexer = indexer
        self._clock = clock
        self._model = model
        self._changes = Changes(model, clock)
        self._reader = DocumentReader()
        self._texts = TextWorker()

    async def close(self) -> None:
        await self._reader.close()
        await self._texts.close()

    async def add(
        self, scope: Scope, file: int, name: str, new: NewDocument, *, media_type: str | None = None
    ) -> DocumentReceipt:
        """Store an open file, or a new version of the document with its source.

        Readers see the old or the new, never both.

        Raises:
            ValidationFailedError: The document is refused; the message says why.
            PayloadTooLargeError: It is too large.
        """
        check_provenance(new.metadata)
        new = private(new) if scope.space_id is not None else new
        form = format_of(name, media_type)
        size = os.fstat(file).st_size
        if size > MAX_FILE_BYTES:
            raise PayloadTooLargeError(f"{name!r} has {size:,} bytes; the maximum is {MAX_FILE_BYTES:,}")
        (file_hash,) = await self._texts.map(_hashed, [file])
        async with self._database.scoped(scope) as tx:
            before = await store.like(tx, new.source, file_hash, new.replaces)
        if before is not None and _same(before, new, file_hash):
            self._metrics.documents.labels(form.name, "unchanged").inc()
            document = await self.get(scope, before.document_id)
            return DocumentReceipt(status="unchanged", document=document, notes=_other_name(name, new, document))
        if new.passage_tokens is None and before is not None:
            new = new.model_copy(update={"passage_tokens": before.passage_tokens})
        read = await self._read(scope, file, form, name, new)
        with acting_for(scope.tenant_id):
            rows = await self._texts.map(lambda at: self._passage(scope, read, new, at), [*range(len(read.chunks))])
        row = self._row(scope, read, new, form.name, file_hash)

        status: DocumentStatus = "unchanged"
        after, stored, removed = row, 0, 0
        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                existing = await store.like(tx, new.source, file_hash, new.replaces)
                if existing is not None and _same(existing, new, file_hash):  # It was sent twice at the same time.
                    status, after, stored, removed = "unchanged", existing, 0, 0
                else:
                    status, after = ("created", row) if existing is None else ("updated", _next_version(existing, row))
                    passages, stored = await self._placed(tx, after, read, rows)
                    removed = await self._put(tx, after, passages)
        self._indexer.notice(scope)
        reused = len({each.row.content_hash for each in rows}) - stored
        self._metrics.documents.labels(form.name, status).inc()
        self._metrics.document_passages.labels("stored").inc(stored)
        self._metrics.document_passages.labels("known").inc(reused)
        return DocumentReceipt(
            status=status,
            document=await self.get(scope, after.document_id),
            stored=stored,
            known=reused,
            removed=removed,
            hidden=read.hidden,
            notes=read.notes,
        )

    async def get(self, scope: Scope, document_id: UUID) -> Document:
        """Return a document. Raises NotFoundError."""
        async with self._database.reading(scope) as tx:
            found = await store.get(tx, document_id)
        if found is None:
            raise NotFoundError(f"no document {document_id}")
        return found

    async def list(self, scope: Scope, wanted: DocumentQuery) -> Page[Document]:
        after, limit = read_cursor_of_id(wanted.cursor), wanted.limit
        async with self._database.reading(scope) as tx:
            rows = await store.page(tx, after, limit + 1, wanted.under, scope.user_id if wanted.mine else None)
        more = len(rows) > limit
        last = rows[limit - 1] if more else None
        return Page[Document].model_construct(
            items=rows[:limit],
            next_cursor=write_cursor(last.created_at, str(last.document_id)) if last is not None else None,
        )

    async def text(self, scope: Scope, document_id: UUID, start: int, length: int) -> DocumentText:
        """Return a range of a document's text, in the offsets of citations. Raises NotFoundError."""
        end = start + length
        async with self._database.reading(scope) as tx:
            end_of_text = await store.tail(tx, document_id)
            rows = await store.text(tx, document_id, start, end) if end_of_text is not None else []
        if end_of_text is None:
            raise NotFoundError(f"no document {document_id}")
        characters, tail = end_of_text
        parts: list[str] = []
        first = rows[0]["starts"] - len(rows[0]["gap"]) if rows else characters - len(tail)
        place = first = min(first, start)
        for row in rows:
            gap_starts = row["starts"] - len(row["gap"])
            parts.append(" " * (gap_starts - place))  # The text of a passage that was forgotten separately.
            parts += [row["gap"][max(0, place - gap_starts) :], row["content"][max(0, place - row["starts"]) :]]
            place = max(place, row["ends"])
        if end > characters - len(tail):
            parts += [" " * (characters - len(tail) - place), tail]
        whole = "".join(parts)
        return DocumentText(
            document_id=document_id,
            start=start,
            text=whole[max(0, start - first) : end - first],
            characters=characters,
            passages=tuple(
                PassagePlace(memory_id=row["memory_id"], start=row["starts"], end=row["ends"])
                for row in rows
                if row["ends"] > start and row["starts"] < end
            ),
        )

    async def delete(self, scope: Scope, document_id: UUID, *, hard: bool = False) -> DocumentDeleted:
        """Remove a document and the passages that no other one has; `hard` also erases them from the log.

        Raises NotFoundError.
        """
        deleted: DocumentDeleted | None = None
        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                deleted = await self._delete(tx, document_id, hard=hard)
        assert deleted is not None
        return deleted

    async def _delete(self, tx: Tx, document_id: UUID, *, hard: bool) -> DocumentDeleted:
        document = await store.lock(tx, document_id)
        if document is None or (document.deleted_at is not None and not hard):
            raise NotFoundError(f"no document {document_id} that you may delete")
        passages = await store.passages(tx, document_id)
        memory_ids = {passage.memory_id for passage in passages}
        gone = await store.only_here(tx, document_id, memory_ids)
        locked = await store.lock_memories(tx, gone)
        if hard:
            if locked:
                await self._changes.erase(tx, locked)
            await store.erase(tx, document_id, self._clock())
        else:
            await self._hidden(tx, [memory for memory in locked if memory.deleted_at is None or memory.held_for])
            now = self._clock()
            after = replace(document, deleted_at=now, updated_at=now, version=document.version + 1)
            await store.put(tx, after, passages, "document.deleted")
        await self._settle(tx, memory_ids - gone, erased=hard)
        return DocumentDeleted(document_id=document_id, removed=len(locked), kept=len(memory_ids) - len(gone))

    async def metadata(self, scope: Scope, document_ids: Collection[UUID]) -> dict[UUID, dict[str, JsonValue]]:
        async with self._database.scoped(scope) as tx:
            return await store.metadata(tx, document_ids)

    async def search(self, scope: Scope, wanted: DocumentSearch, *, filters: Filters | None = None) -> DocumentHits:
        """Return the passages that answer best, with their place and the text around them."""
        request = RecallRequest(
            query=wanted.query,
            limit=wanted.limit,
            layers=("knowledge",),
            tags=wanted.tags or None,
            filters=filters,
        )
        answer = await self._recall.answer(scope, request)
        async with self._database.reading(scope) as tx:
            places = await store.citations(tx, [hit.memory_id for hit in answer.result.hits])
        crossing = [
            hit.memory
            for hit in answer.result.hits
            if any(around.page_breaks for around in places.get(hit.memory_id, ()))
        ]
        sentences = await self._recall.nearest_sentences(scope, answer, crossing)
        hits = [
            DocumentHit.model_construct(
                memory_id=hit.memory.memory_id,
                content=hit.memory.content,
                score=hit.score,
                relevance=hit.relevance,
                citations=tuple(cited(each, hit.memory.content, sentences.get(hit.memory_id)) for each in around),
                before=around[0].before,
                after=around[0].after,
            )
            for hit in answer.result.hits
            if (around := places.get(hit.memory.memory_id))
        ]
        return DocumentHits.model_construct(hits=hits, nothing_known=answer.result.nothing_known)

    async def _read(self, scope: Scope, file: int, form: Format, name: str, new: NewDocument) -> Read:
        try:
            with self._metrics.document_seconds.labels(form.name).time():
                return await self._reader.read(
                    scope.tenant_id, file, form, name, title=new.title, passage_tokens=new.passage_tokens
                )
        except ValidationFailedError:
            self._metrics.documents.labels(form.name, "refused").inc()
            raise

    def _row(self, scope: Scope, read: Read, new: NewDocument, form: str, file_hash: bytes) -> DocumentRow:
        now = self._clock()
        return DocumentRow(
            tenant_id=scope.tenant_id,
            document_id=new_id(),
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            title=(new.title or read.title)[:500],
            source=new.source,
            format=form,
            file_hash=file_hash,
            metadata=dict(new.metadata),
            tags=new.tags,
            visibility=new.visibility,
            passage_tokens=new.passage_tokens,
            pages=read.pages,
            pages_without_text=read.empty_pages,
            characters=len(read.text),
            tail=read.text[max((each.end for each in read.chunks), default=0) :],
            version=1,
            created_at=now,
            updated_at=now,
        )

    def _passage(self, scope: Scope, read: Read, new: NewDocument, at: int) -> NewMemoryRow:
        """Return a passage as a memory: its headings are embedded with it, but not part of its content."""
        chunk = read.chunks[at]
        under = heading_line(read.title, chunk.headings)
        memory = NewMemory(
            content=read.text[chunk.start : chunk.end],
            content_type="document",
            tags=tuple(sorted(set(new.tags))),
            source=_source(new.source, (new.title or read.title)[:500]),
            importance=IMPORTANCE,
            visibility=new.visibility,
        )
        row = new_row(memory, scope, new_id(), self._clock())
        hashed = passage_hash(row.content, row.visibility)
        told = _metadata(new.metadata, under)
        passage = row.evolve(layer="knowledge", content_hash=hashed, metadata=told)
        screening = screening_of(passage, current_door(), lambda _: [])
        return written(passage if screening is None or screening.reason is None else held(passage, screening.reason))

    async def _placed(
        self, tx: Tx, row: DocumentRow, read: Read, rows: Sequence[NewMemoryRow]
    ) -> tuple[list[Passage], int]:
        """Store the new passages of a document; return all of them, and the number of new ones."""
        memory_ids = await store.known(tx, {passage.row.content_hash for passage in rows})
        new = {passage.row.content_hash: passage for passage in rows if passage.row.content_hash not in memory_ids}
        source = source_of(None, _source(row.source, row.title), {})
        trusted = (
            await memories.trusted_sources(tx, [source]) if any(each.row.held_for for each in rows) else set[str]()
        )

        def of_document(passage: NewMemoryRow) -> NewMemoryRow:
            changes = {"held_for": None, "deleted_at": None} if source in trusted else {}
            return replace(passage, row=passage.row.evolve(document_id=row.document_id, **changes))

        fresh = await cooperative_map(of_document, new.values())
        for start in range(0, len(fresh), STORED_AT_ONCE):
            await memories.insert_many(tx, fresh[start : start + STORED_AT_ONCE], self._model)
        memory_ids |= {hashed: passage.row.memory_id for hashed, passage in new.items()}

        def place(at: int) -> Passage:
            chunk, end = read.chunks[at], read.chunks[at - 1].end if at else 0
            memory_id, gap = memory_ids[rows[at].row.content_hash], read.text[end : chunk.start]
            return Passage(
                memory_id=memory_id,
                starts=chunk.start,
                ends=chunk.end,
                page=chunk.page,
                headings=chunk.headings,
                gap=gap,
                page_breaks=chunk.page_breaks or None,
            )

        return await cooperative_map(place, range(len(rows))), len(fresh)

    async def _put(self, tx: Tx, row: DocumentRow, passages: list[Passage]) -> int:
        """Store a document in place of its previous version; return the number of passages that no document has."""
        before = {passage.memory_id for passage in await store.passages(tx, row.document_id)}
        lost = before - {passage.memory_id for passage in passages}
        gone = await store.only_here(tx, row.document_id, lost) if lost else set[UUID]()
        await store.put(tx, row, passages, "document.written")
        locked = await store.lock_memories(tx, gone) if gone else []
        await self._hidden(tx, locked)
        await self._settle(tx, {passage.memory_id for passage in passages} | (lost - gone))
        return len(locked)

    async def _settle(self, tx: Tx, memory_ids: set[UUID], *, erased: bool = False) -> None:
        """Update passages to the title, source and tags of the documents that have them now.

        `erased`: their previous values are removed from events, too.
        """
        rows = await store.settled(tx, memory_ids) if memory_ids else {}
        for number, memory in enumerate(await store.lock_memories(tx, rows.keys()) if rows else ()):
            if number % 50 == 0:
                await asyncio.sleep(0)  # Most passages are already up to date, and are skipped immediately.
            row = rows[memory.memory_id]
            changed = memory.evolve(
                document_id=row["document_id"],
                tags=tuple(row["tags"]),
                source=_source(row["source"], row["title"]),
                metadata=_metadata(json.loads(row["metadata"]), heading_line(row["title"], row["headings"])),
            )
            if changed == memory:
                continue
            if erased:
                await memories.redact_events(tx, [memory.memory_id])
            after = written(changed.evolve(version=memory.version + 1, updated_at=self._clock()))
            if changed.embedded_text != memory.embedded_text:
                await memories.drop_vectors(tx, memory)
            await self._changes.replace(tx, memory, after, None)

    async def _hidden(self, tx: Tx, rows: Sequence[MemoryRow]) -> None:
        now = self._clock()
        for start in range(0, len(rows), STORED_AT_ONCE):
            hidden = [
                NewMemoryRow(each.evolve(held_for=None, deleted_at=now, updated_at=now, version=each.version + 1))
                for each in rows[start : start + STORED_AT_ONCE]
            ]
            async with memories.leaving(tx, [each.row.memory_id for each in hidden]):
                await memories.replace(tx, hidden, "memory.deleted")


def _source(source: str | None, title: str) -> str:
    """Return the source of a passage for memories: external, so that it is fenced when it is shown to a model."""
    return f"file:{source or title}"[:255]


def _metadata(metadata: dict[str, JsonValue], under: str) -> dict[str, JsonValue]:
    return {**metadata, "under": under[:1_000]}


def _next_version(existing: DocumentRow, row: DocumentRow) -> DocumentRow:
    return replace(row, document_id=existing.document_id, version=existing.version + 1, created_at=existing.created_at)


def _hashed(file: int) -> bytes:
    digest = hashlib.sha256()
    place = 0
    while part := os.pread(file, 1 << 20, place):
        digest.update(part)
        place += len(part)
    return digest.digest()


def _other_name(name: str, new: NewDocument, stored: Document) -> tuple[str, ...]:
    """Return a note with the existing name of the same bytes, if they were sent under another name now."""
    stem = PurePath(name).stem.casefold()
    if new.source is not None or name in UNNAMED or stem in f"{stored.title} {stored.source}".casefold():
        return ()
    called = f"{stored.title!r}" + (f" ({stored.source})" if stored.source else "")
    return (f"{name!r} has the same bytes as {called}, which is already stored; give a source to store it separately",)


def _same(held: DocumentRow, new: NewDocument, file_hash: bytes) -> bool:
    return (
        held.file_hash == file_hash
        and (new.source is None or new.source == held.source)
        and (new.title is None or new.title == held.title)
        and new.passage_tokens in (None, held.passage_tokens)
        and (held.metadata, held.tags, held.visibility) == (new.metadata, new.tags, new.visibility)
    )
