"""Remember, get, find, list, update, forget and restore memories, and read their history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import get_args
from uuid import UUID

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor_of_id, read_place, write_cursor, write_place
from keeps.base.door import current_door
from keeps.base.fairness import TextWorker, acting_for
from keeps.base.scope import Scope, in_space, space_of
from keeps.base.text.searched import embedded_text
from keeps.memory.memories import store
from keeps.memory.memories.answers import RECEIPT, RECEIPTS
from keeps.memory.memories.changes import RESTORABLE, Changes, receipt
from keeps.memory.memories.filters import compile_filters, fields_of
from keeps.memory.memories.provenance import check_provenance, with_provenance
from keeps.memory.memories.reconcile import Keep, Replace, check_version, revise
from keeps.memory.memories.screening import ReadClaims, Screening, screening_of
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import MemoryRow, new_row, own_hash
from keeps.memory.memories.writer import Write, Writer
from keeps.models.embedder import Embedder, Embedding
from keeps.store.db.session import Database, Tx
from keeps.store.events import store as events
from keeps.store.tenants.service import Introducer
from keeps_client.errors import (
    ConflictError,
    ForbiddenError,
    KeepsError,
    NotFoundError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.models import Event, Filters, Memory, MemoryChange, NewMemory, Page, Receipt
from keeps_client.models.common import MAX_BATCH_ITEMS, MAX_LIMIT
from keeps_client.models.memories import MemoryOrder
from keeps_client.values import MAX_CONTENT_CHARACTERS

INLINE_CHARACTERS = 8_000
INLINE_ITEMS = 50
"""Limits of a batch that is prepared on the event loop; a larger one would block other callers."""
SOURCE = "source"
"""The content_type of a memory that describes a place to look things up."""
_PASSAGE_FIELDS = {"layer", "memory_id", "content_type", "source", "document_id"}
_NO_PASSAGES: Filters = {"layer": {"ne": "knowledge"}}
"""Excludes passages: documents have their own list, and thousands of passages."""
_LIFE_FIELDS = {"deleted_at": "deleted", "held_for": "deleted", "superseded_by": "superseded", "valid_to": "superseded"}


class MemoryService:
    """All operations on memories except recall.

    `notice`: called with the scope of memories that wait for a vector.
    """

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        embedder: Embedder | None,
        clock: Clock,
        *,
        notice: Callable[[Scope], None],
        max_content_characters: int = MAX_CONTENT_CHARACTERS,
        default_ttl_days: int | None = None,
        read_claims: ReadClaims = lambda _: [],
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._embedder = embedder
        self._clock = clock
        self._notice = notice
        self._changes = Changes(self.model, clock)
        self._max_content_characters = max_content_characters
        self._default_ttl_days = default_ttl_days
        self._read_claims = read_claims
        self._writer = Writer(introducer, self._changes)
        self._texts = TextWorker()

    @property
    def model(self) -> str:
        return self._embedder.model if self._embedder else ""

    def now(self) -> datetime:
        return self._clock()

    async def remember(self, scope: Scope, new: NewMemory, *, index_now: bool, source: bool = False) -> Receipt:
        """Store one memory. Raises ConflictError if `if_version` is not the stored version.

        `source`: the memory describes a place to look things up.
        """
        self._check_source(new.content_type, allowed=source)
        self.check_length(new.content)
        (write,) = await self.prepare(scope, [new], index_now=index_now)
        return self.noticed(scope, await self._writer.write(write))

    @staticmethod
    def _check_source(content_type: str, *, allowed: bool) -> None:
        """Raise ValidationFailedError for a source: sources are added by calls of their own, which require a role."""
        if content_type == SOURCE and not allowed:
            raise ValidationFailedError(
                f"content_type {SOURCE!r} is reserved for add_source, add_tool and add_database"
            )

    def notice(self, scope: Scope) -> None:
        """Notify the index that memories wait for a vector."""
        self._notice(scope)

    def noticed(self, scope: Scope, *receipts: Receipt) -> Receipt:
        """Return the first receipt. Notify the index if any memory has no vector yet."""
        if not all(receipt.indexed for receipt in receipts):
            self._notice(scope)
        return receipts[0]

    async def remember_many(
        self, scope: Scope, items: Sequence[NewMemory], *, index_now: bool, source: bool = False
    ) -> list[Receipt]:
        """Store all items in one transaction, or none. Return one receipt per item, in order."""
        self.check_batch(items, source=source)
        if not items:
            return []
        writes = await self.prepare(scope, items, index_now=index_now)
        write = self._introducer.writing(scope, RECEIPTS)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self.apply(tx, writes)
        self.noticed(scope, *write.result)
        return write.result

    def check_batch(self, items: Sequence[NewMemory], *, source: bool = False) -> None:
        """Raise an error if a batch, or one of its items, is too large, or is a source without `source`."""
        if len(items) > MAX_BATCH_ITEMS:
            raise ValidationFailedError(
                f"a batch has at most {MAX_BATCH_ITEMS:,} items; this one has {len(items):,}: split it"
            )
        for new in items:
            self._check_source(new.content_type, allowed=source)
            self.check_length(new.content)

    async def get(self, scope: Scope, memory_id: UUID, *, as_of: datetime | None = None) -> Memory:
        """Return one memory, even a forgotten or superseded one, or as it was known at `as_of`.

        Raises NotFoundError, also for another user's memory.
        """
        async with self._database.reading(scope) as tx:
            if as_of is not None:
                await events.check_reachable(tx, as_of)
            memory = await (
                store.get(tx, memory_id, self._clock()) if as_of is None else store.get_as_of(tx, memory_id, as_of)
            )
        if memory is None and as_of is None:
            memory = await self._forgotten_in_space(scope, memory_id)
        if memory is None:
            raise NotFoundError(f"no memory {memory_id}" + (f" known at {as_of.isoformat()}" if as_of else ""))
        return memory

    async def _forgotten_in_space(self, scope: Scope, memory_id: UUID) -> Memory | None:
        """Return a forgotten memory of a space whose history the user may read, as the space itself shows it."""
        if scope.space_id is not None:
            return None
        async with self._database.scoped(scope) as tx:
            space = space_of(await store.owner_in_log(tx, memory_id))
        if space is None:
            return None
        async with self._database.scoped(in_space(scope, space)) as tx:
            return await store.get(tx, memory_id, self._clock())

    async def known(
        self, scope: Scope, memory_id: UUID | None, namespace: str | None, key: str | None
    ) -> Memory | None:
        """Return the user's own memory by id or key, whatever its life; None if there is none."""
        async with self._database.scoped(scope) as tx:
            if memory_id is not None:
                memory = await store.get(tx, memory_id)
            elif namespace is not None and key is not None:
                memory = await store.find(tx, namespace, key, self._clock())
            else:
                raise ValidationFailedError("name the memory to forget: a memory_id, or a namespace and a key")
        return memory if memory is not None and memory.user_id == scope.user_id else None

    async def find(self, scope: Scope, namespace: str, key: str) -> Memory | None:
        """Return the current memory of a key: the user's own, else one that the tenant shares, else None."""
        async with self._database.scoped(scope) as tx:
            return await store.find(tx, namespace, key, self._clock())

    async def list(
        self, scope: Scope, *, filters: Filters | None, limit: int, cursor: str | None, order: MemoryOrder = "created"
    ) -> Page[Memory]:
        """Return one page of current memories, in the given order.

        A filter on `deleted_at` or `superseded_by` includes memories in that life.
        A filter on `layer` or another field of passages includes passages of documents.
        """
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValidationFailedError(f"limit must be 1 to {MAX_LIMIT}")
        named = fields_of(filters)
        if not _PASSAGE_FIELDS & {*named}:
            filters = {"AND": [filters, _NO_PASSAGES]} if filters else _NO_PASSAGES
        condition = compile_filters(filters, first_parameter=8)
        if filters and "held_for" not in named and "deleted_at" in named:
            filters = {"AND": [filters, {"held_for": {"exists": False}}]}
            condition = compile_filters(filters, first_parameter=8)
        asked = {_LIFE_FIELDS[name] for name in named if name in _LIFE_FIELDS}
        if order not in get_args(MemoryOrder):
            raise ValidationFailedError(f"order must be one of {', '.join(get_args(MemoryOrder))}, not {order!r}")
        lives, now = ["current", "archived", *asked], self._clock()
        if order != "created":
            place = read_place(cursor, order) if cursor else None
            async with self._database.reading(scope) as tx:
                placed, more = await store.page_in_order(
                    tx, order, condition=condition, lives=lives, after=place, limit=limit, now=now
                )
            return Page(
                items=[memory for memory, _ in placed],
                next_cursor=write_place(order, placed[-1][1]) if more else None,
            )
        after = read_cursor_of_id(cursor)
        async with self._database.reading(scope) as tx:
            memories, more = await store.page(tx, condition=condition, lives=lives, after=after, limit=limit, now=now)
        last = memories[-1] if more else None
        return Page(items=memories, next_cursor=write_cursor(last.created_at, str(last.memory_id)) if last else None)

    async def update(
        self, scope: Scope, memory_id: UUID, change: MemoryChange, *, if_version: int | None, index_now: bool
    ) -> Receipt:
        """Change some fields. New content supersedes the old, which stays readable."""
        named = _named(change)
        self.check_length(change.content if "content" in named else "")
        current = await self.get(scope, memory_id)
        for content_type in (current.content_type, change.content_type):
            self._check_source(content_type, allowed=False)
        text = _text_of(current.model_copy(update=named))
        embedding: Embedding | None = None
        if index_now and text != _text_of(current):
            (embedding,) = await self._embedded([text])
        write = self._database.writing(scope, RECEIPT)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._revise(tx, memory_id, named, if_version, text, embedding)
        return self.noticed(scope, write.result)

    async def change(self, tx: Tx, memory_id: UUID, change: MemoryChange, *, if_version: int | None) -> Receipt:
        """Change some fields inside a transaction of the user; a new text gets its vector later."""
        return await self._revise(tx, memory_id, _named(change), if_version, "", None)

    async def _revise(
        self,
        tx: Tx,
        memory_id: UUID,
        named: dict[str, object],
        if_version: int | None,
        text: str,
        embedding: Embedding | None,
    ) -> Receipt:
        stored = await store.lock(tx, memory_id)
        if stored is None or stored.deleted_at is not None:
            raise NotFoundError(f"no memory {memory_id} that you may change")
        check_version(stored, if_version)
        if stored.layer == "knowledge":
            raise ConflictError(f"memory {memory_id} is a passage of a document; add the document again instead")
        if stored.superseded_by is not None:
            raise ConflictError(f"memory {memory_id} is superseded by {stored.superseded_by}; change that one")
        if isinstance(metadata := named.get("metadata"), dict):
            named = {**named, "metadata": with_provenance(stored.metadata, metadata)}
        now = self._clock()
        match revise(stored, named, new_id(), now):
            case Keep():
                return await self._changes.unchanged(tx, stored)
            case Replace(row, older):
                screening: Screening | None = None
                if older is not None and len(row.content) > INLINE_CHARACTERS:
                    screening = await asyncio.to_thread(screening_of, row, current_door(), self._read_claims)
                elif older is not None:
                    screening = screening_of(row, current_door(), self._read_claims)
                if screening is not None and screening.reason is not None:
                    return await self._changes.hold(tx, row, screening)
                if row.valid_to is not None and row.valid_to < row.valid_from:
                    raise ValidationFailedError("valid_to must not be before valid_from")
                fits = embedding if row.embedded_text == text else None
                return await self._changes.replace(tx, stored, written(row, fits), older)

    async def forget(
        self, scope: Scope, memory_id: UUID | None, namespace: str | None, key: str | None, *, hard: bool
    ) -> Receipt:
        """Forget this memory alone; keeps.memory.federated also forgets the memories derived from it."""
        write = self._database.writing(scope, RECEIPT)
        async for attempt in write:
            async with attempt as tx:
                stored = await self.stored(tx, memory_id, namespace, key)
                write.result = await self.forget_stored(tx, stored, self._clock(), hard=hard)
        return write.result

    async def known_receipt(self, tx: Tx, stored: MemoryRow) -> Receipt:
        """Return the receipt of a write that changed nothing."""
        return await self._changes.unchanged(tx, stored)

    async def stored(self, tx: Tx, memory_id: UUID | None, namespace: str | None, key: str | None) -> MemoryRow:
        """Return the user's own memory by id or key, locked, whatever its life. Raises NotFoundError."""
        if memory_id is None:
            stored = None if key is None else await store.lock_key(tx, namespace, key)
            if stored is None:
                raise NotFoundError(f"you have no memory under {namespace}/{key}")
            return stored
        stored = await store.lock(tx, memory_id)
        if stored is None:
            raise NotFoundError(f"no memory {memory_id} that you may forget")
        return stored

    async def store_older(self, tx: Tx, stored: MemoryRow, write: Write) -> Receipt:
        """Store a truth of the past among the older versions of a locked memory that it began before."""
        row = write.new.row.evolve(superseded_by=stored.memory_id, valid_to=stored.valid_from)
        return await self._changes.store_older(tx, stored, row, write.new.embedding)

    async def forget_stored(self, tx: Tx, stored: MemoryRow, now: datetime, *, hard: bool) -> Receipt:
        """Hide a memory and its older versions for 30 days, or with `hard` delete them and redact their events now."""
        await self._changes.remove_overdue(tx)
        older = await store.lock_older(tx, stored.memory_id)
        if hard:
            # An older version is erased alone; a current one with all earlier memories of its key.
            same = [] if stored.superseded_by else await store.lock_incarnations(tx, stored)
            twins = [each for each in same if each.memory_id != stored.memory_id]
            return await self._changes.erase(tx, [stored, *twins])
        if stored.held_for is not None:
            dropped = NewMemoryRow(stored.evolve(held_for=None, deleted_at=now))
            await store.replace(tx, [dropped], "memory.deleted", now)
            return receipt("forgotten", dropped.row, dropped.event_id, indexed=False)
        if stored.deleted_at is not None:
            return await self._changes.unchanged(tx, stored)
        gone = [
            NewMemoryRow(row.evolve(deleted_at=now, updated_at=now, version=row.version + 1))
            for row in (stored, *older)
            if row.deleted_at is None
        ]
        await store.replace(tx, gone, "memory.deleted")
        return receipt("forgotten", gone[0].row, gone[0].event_id, indexed=False)

    async def restore_stored(self, tx: Tx, stored: MemoryRow, now: datetime) -> Receipt:
        """Restore a memory that was forgotten less than 30 days ago, or has expired.

        Raises ConflictError if its key or content is in use again.
        """
        memory_id = stored.memory_id
        if stored.deleted_at is None:
            if stored.expires_at is None or stored.expires_at > now or stored.superseded_by is not None:
                return await self._changes.unchanged(tx, stored)
            return await self._restored(tx, [stored], now)
        if stored.held_for is not None:
            raise ConflictError(f"memory {memory_id} waits in the inbox; approve it instead")
        if now - stored.deleted_at > RESTORABLE:
            raise NotFoundError(f"memory {memory_id} was forgotten more than {RESTORABLE.days} days ago")
        if stored.superseded_by is None and (taken := await store.lock_same(tx, stored)) is not None:
            raise ConflictError(
                f"its {'key' if stored.key else 'content'} is now used by memory {taken.memory_id}",
                current=str(taken.memory_id),
            )
        together = [row for row in await store.lock_older(tx, memory_id) if row.deleted_at == stored.deleted_at]
        return await self._restored(tx, [stored, *together], now)

    async def _restored(self, tx: Tx, rows: Sequence[MemoryRow], now: datetime) -> Receipt:
        """Restore a memory, and its older versions after it."""
        back = [NewMemoryRow(_alive(row, now)) for row in rows]
        await store.replace(tx, back, "memory.restored")
        indexed = await store.is_indexed(tx, rows[0].memory_id, self.model)
        return receipt("restored", back[0].row, back[0].event_id, indexed=indexed)

    async def history(self, scope: Scope, memory_id: UUID) -> list[Event]:
        """Return all events of a memory, oldest first; for a hard-forgotten one, only that it was forgotten."""
        async with self._database.scoped(scope) as tx:
            history = await events.by_subject(tx, str(memory_id))
        if not history:
            raise NotFoundError(f"no memory {memory_id}")
        return history

    async def close(self) -> None:
        await self._writer.close()
        await self._texts.close()

    async def prepare(
        self, scope: Scope, items: Sequence[NewMemory], *, index_now: bool, derived: bool = False
    ) -> list[Write]:
        """Return the writes that `apply` stores, with vectors if `index_now`; call it before the transaction.

        `derived`: Keeps made the texts from memories that are stored, so none waits in the inbox.

        Long texts are prepared in a thread, so that other callers are not blocked.
        """
        now = self._clock()
        if scope.agent_bound and any(
            new.kind != "semantic" and new.agent_id not in (None, scope.agent_id) for new in items
        ):
            raise ForbiddenError(f"this token belongs to agent {scope.agent_id!r}; it cannot write for another")
        if not derived:
            for new in items:
                check_provenance(new.metadata)
        named = [_given(new) for new in items]
        items = [self._ending(new) for new in items]

        door = current_door()

        def made(new: NewMemory) -> tuple[NewMemoryRow, Screening | None]:
            row = new_row(new, scope, new_id(), now)
            if scope.grant is not None and scope.grant.access == "append":
                # Whether the same is stored already is not told: each counts as new.
                row = row.evolve(content_hash=own_hash(row))
            return written(row), None if derived else screening_of(row, door, self._read_claims)

        if len(items) <= INLINE_ITEMS and sum(len(new.content) for new in items) <= INLINE_CHARACTERS:
            prepared = [made(new) for new in items]
        else:
            with acting_for(scope.tenant_id):
                prepared = await self._texts.map(made, list(items))
        rows = [row for row, _ in prepared]
        embeddings: Sequence[Embedding | None] = [None] * len(rows)
        if index_now:
            with acting_for(scope.tenant_id):
                embeddings = await self._embedded([row.row.embedded_text for row in rows])
        return [
            Write(scope, replace(row, embedding=embedding), given, new.if_version, screening)
            for new, given, (row, screening), embedding in zip(items, named, prepared, embeddings, strict=True)
        ]

    def _ending(self, new: NewMemory) -> NewMemory:
        """Return the memory with this installation's default end, unless the caller set one."""
        if self._default_ttl_days is None or new.ttl_days or new.expires_at is not None:
            return new
        return new.model_copy(update={"ttl_days": self._default_ttl_days})

    def check_length(self, content: str) -> None:
        """Raise ValidationFailedError for content longer than this installation allows."""
        if len(content) > self._max_content_characters:
            raise ValidationFailedError(
                f"content has {len(content):,} characters; this installation allows {self._max_content_characters:,}"
                " (KEEPS_MAX_CONTENT_CHARACTERS)"
            )

    async def _embedded(self, texts: Sequence[str]) -> Sequence[Embedding | None]:
        """Return vectors; None for each text without a reachable model: the index catches up later."""
        if self._embedder is None:
            return [None] * len(texts)
        try:
            return await self._embedder.embed(texts)
        except UnavailableError:
            return [None] * len(texts)

    async def apply(self, tx: Tx, writes: list[Write]) -> list[Receipt]:
        """Store prepared items inside a transaction of their user; all of them, or raise."""
        receipts: list[Receipt] = []
        for position, answer in enumerate(await self._changes.apply(tx, writes)):
            if isinstance(answer, ConflictError):
                raise ConflictError(
                    f"item {position}: {answer.detail}; nothing was stored",
                    current_version=answer.current_version,
                    current=answer.current,
                )
            if isinstance(answer, KeepsError):
                raise answer
            receipts.append(answer)
        return receipts


def _alive(row: MemoryRow, now: datetime) -> MemoryRow:
    """Return a forgotten or expired row, restored. An end that has passed is removed, or it would expire at once."""
    ends = None if row.expires_at is not None and row.expires_at <= now else row.expires_at
    return row.evolve(deleted_at=None, updated_at=now, version=row.version + 1, expires_at=ends)


def _text_of(memory: Memory) -> str:
    return embedded_text(memory.kind, memory.content, memory.metadata, memory.trigger_condition, memory.layer)


def _given(new: NewMemory) -> frozenset[str]:
    """Return the fields that a caller set. None counts as absent."""
    return frozenset(name for name in new.model_fields_set if getattr(new, name) is not None)


def _named(change: MemoryChange) -> dict[str, object]:
    """Return the fields that a change names, with values as in a row."""
    named: dict[str, object] = {name: getattr(change, name) for name in change.model_fields_set}
    if "tags" in named:
        named["tags"] = tuple(dict.fromkeys(change.tags))
    if "valid_from" in named and named["valid_from"] is None:
        raise ValidationFailedError("valid_from cannot be null; every memory has a start time")
    return named
