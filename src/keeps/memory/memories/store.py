"""Run the statements on memories. Every function takes the transaction first."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from keeps.base.clock import new_id
from keeps.base.cooperative import cooperative_map
from keeps.base.cursors import Place
from keeps.base.scope import Scope
from keeps.base.text.packing import NO_WORDS, Packed, pack
from keeps.base.text.searched import searched_words
from keeps.base.unchecked import unchecked
from keeps.memory.memories.retention import fades_at, retention
from keeps.memory.memories.types import MEMORY, SHOWN, MemoryRow
from keeps.models.embedder import Embedding
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page
from keeps.store.db.statements import Condition, Statements
from keeps_client.errors import PayloadTooLargeError
from keeps_client.models import Memory
from keeps_client.models.common import MAX_BATCH_ITEMS
from keeps_client.models.events import EventType
from keeps_client.models.memories import Life

QUERIES = Statements("keeps.memory.memories", MEMORY)
REMOVED_AT_ONCE, MANY_LEAVE = 500, 20
MAX_BATCH_CHARACTERS = 64 << 20


@dataclass(frozen=True, slots=True)
class NewMemoryRow:
    """A row to store, with its derived data, which is computed before the transaction because it is slow.

    Nothing is derived for a row whose words stay the same.
    """

    row: MemoryRow
    event_id: UUID = field(default_factory=new_id)
    words: Packed = NO_WORDS
    embedding: Embedding | None = None


def written(row: MemoryRow, embedding: Embedding | None = None) -> NewMemoryRow:
    """Return a row with its words."""
    words = searched_words(row.embedded_text, row.kind, row.tags, row.key)
    return NewMemoryRow(row, new_id(), pack(words), embedding)


async def insert_many(tx: Tx, rows: Sequence[NewMemoryRow], model: str, asking: Sequence[Scope] = ()) -> set[UUID]:
    """Store rows with events, words and vectors. Return the ids of those whose key and content were free.

    `asking`: the scope of each row, if there are several; afterwards the transaction belongs to no user.
    """
    vectors = [(new.row.memory_id, new.embedding) for new in rows if new.embedding is not None]
    encoded = f"[{','.join(await cooperative_map(_inserted, rows))}]"
    if len(encoded) > MAX_BATCH_CHARACTERS:
        raise PayloadTooLargeError(f"a batch has at most {MAX_BATCH_CHARACTERS >> 20} MiB of JSON; split it")
    if tx.scope.grant is not None:
        await tx.append(new.row.memory_id for new in rows)
    fetch = tx.fetch_for_many if asking else tx.fetch
    inserted = await fetch(
        QUERIES["memories_insert"],
        encoded,
        [new.words.counts for new in rows],
        [new.user_id for new in asking or [tx.scope] * len(rows)],
        [new.bound_agent for new in asking or [tx.scope] * len(rows)],
        [memory_id for memory_id, _ in vectors],
        [HalfVector(embedding.sentence) for _, embedding in vectors],
        [embedding.tokens for _, embedding in vectors],
        model,
    )
    return {row["memory_id"] for row in inserted}


_encoded = json.JSONEncoder(ensure_ascii=False).encode


def _inserted(new: NewMemoryRow) -> str:
    image = new.row.as_json()
    image["event_id"] = str(new.event_id)
    image["words"] = new.words.words
    image["word_count"] = new.words.total
    return _encoded(image)


async def replace(tx: Tx, rows: Sequence[NewMemoryRow], event_type: EventType, at: datetime | None = None) -> None:
    """Replace locked rows, each with an event. Triggers update derived rows; see `store_words`.

    `at`: time of the event if it is not `updated_at`: jobs change rows that no user has updated.
    """
    images = await cooperative_map(_replaced, rows)
    await tx.fetch(QUERIES["memories_replace"], f"[{','.join(images)}]", event_type, at)


def _replaced(new: NewMemoryRow) -> str:
    return _encoded(new.row.as_json() | {"event_id": str(new.event_id)})


async def store_words(tx: Tx, new: NewMemoryRow) -> None:
    """Replace the words of a stored memory."""
    who = new.row.tenant_id, new.row.memory_id
    await tx.execute(QUERIES["memory_words_update"], *who, new.words.total, new.words.words, new.words.counts)


async def store_vector(tx: Tx, row: MemoryRow, embedding: Embedding, model: str) -> None:
    """Replace the vector of a memory whose text changed."""
    await tx.execute(QUERIES["memory_vectors_delete"], row.tenant_id, row.memory_id)
    await tx.execute(
        QUERIES["memory_vector_insert"],
        row.tenant_id,
        row.memory_id,
        model,
        row.user_id,
        row.audience,
        row.life,
        HalfVector(embedding.sentence),
        embedding.tokens,
    )
    await tx.execute(QUERIES["memory_pending_done"], row.tenant_id, [row.memory_id])


async def drop_vectors(tx: Tx, row: MemoryRow) -> None:
    """Delete the vectors of a memory whose searched text changes, and queue it for new ones."""
    await tx.execute(QUERIES["memory_vectors_delete"], row.tenant_id, row.memory_id)
    await tx.execute(QUERIES["memory_pending_add"], row.tenant_id, row.memory_id, row.user_id)


async def copy_vectors(tx: Tx, source: UUID, target: UUID) -> None:
    await tx.execute(QUERIES["memory_vectors_copy"], tx.scope.tenant_id, source, target)
    await tx.execute(QUERIES["memory_pending_done"], tx.scope.tenant_id, [target])


async def is_indexed(tx: Tx, memory_id: UUID, model: str) -> bool:
    row = await tx.fetch_row(QUERIES["memory_is_indexed"], tx.scope.tenant_id, memory_id, model)
    return row is not None and row["indexed"]


async def get(tx: Tx, memory_id: UUID, now: datetime | None = None) -> Memory | None:
    row = await tx.fetch_row(QUERIES["memory_get"], tx.scope.tenant_id, memory_id)
    return None if row is None else memory_from_row(row, now)


async def get_many(tx: Tx, memory_ids: Sequence[UUID]) -> dict[UUID, Memory]:
    rows = await tx.fetch(QUERIES["memories_get_many"], tx.scope.tenant_id, list(memory_ids)) if memory_ids else []
    return {row["memory_id"]: memory_from_row(row) for row in rows}


async def said(tx: Tx, namespace: str, content: str) -> UUID | None:
    """Return the user's own current fact of a namespace with exactly this content; None if there is none."""
    row = await tx.fetch_row(QUERIES["memory_said"], tx.scope.tenant_id, tx.scope.user_id, namespace, content)
    return None if row is None else row["memory_id"]


async def fact(tx: Tx, content_hash: bytes) -> UUID | None:
    """Return the user's own current fact without namespace and key whose hash starts with `content_hash`."""
    who = tx.scope.tenant_id, tx.scope.user_id
    row = await tx.fetch_row(QUERIES["memory_fact"], *who, content_hash, content_hash + b"\xff" * 33)
    return None if row is None else row["memory_id"]


async def get_as_of(tx: Tx, memory_id: UUID, as_of: datetime) -> Memory | None:
    """Return the memory as the last event up to `as_of` describes it."""
    row = await tx.fetch_row(QUERIES["memory_get_as_of"], tx.scope.tenant_id, str(memory_id), as_of)
    return None if row is None else memory_from_row(row)


async def owner_in_log(tx: Tx, memory_id: UUID) -> str:
    """Return the owner of a memory by its events that the scope may read; empty without any."""
    row = await tx.fetch_row(QUERIES["memory_owner_in_log"], tx.scope.tenant_id, str(memory_id))
    return "" if row is None else row["user_id"]


async def find(tx: Tx, namespace: str, key: str, now: datetime) -> Memory | None:
    row = await tx.fetch_row(QUERIES["memory_find"], tx.scope.tenant_id, namespace, key, tx.scope.user_id, now)
    return None if row is None else memory_from_row(row)


async def lock(tx: Tx, memory_id: UUID) -> MemoryRow | None:
    row = await tx.fetch_row(QUERIES["memory_lock"], tx.scope.tenant_id, memory_id, tx.scope.user_id)
    return None if row is None else MemoryRow.read(row)


async def lock_key(tx: Tx, namespace: str | None, key: str) -> MemoryRow | None:
    """Lock and return the user's own current row of a key."""
    row = await tx.fetch_row(QUERIES["memory_lock_by_key"], tx.scope.tenant_id, tx.scope.user_id, namespace, key)
    return None if row is None else MemoryRow.read(row)


async def lock_below(tx: Tx, namespace: str, key: str, limit: int) -> list[MemoryRow]:
    """Lock and return the user's own current rows of a key and of the keys below it."""
    who = tx.scope.tenant_id, tx.scope.user_id
    rows = await tx.fetch(QUERIES["memories_lock_below"], *who, namespace, key, limit)
    return [MemoryRow.read(row) for row in rows]


async def keys_below(tx: Tx, namespace: str, key: str) -> list[str]:
    """Return the user's own keys: this one and those below it."""
    who = tx.scope.tenant_id, tx.scope.user_id
    rows = await tx.fetch(QUERIES["keys_below"], *who, namespace, key, MAX_BATCH_ITEMS + 1)
    return [row["key"] for row in rows]


async def lock_content(tx: Tx, content_hash: bytes) -> MemoryRow | None:
    """Lock and return the user's own current row without a key that has this content."""
    row = await tx.fetch_row(QUERIES["memory_lock_by_content"], tx.scope.tenant_id, tx.scope.user_id, content_hash)
    return None if row is None else MemoryRow.read(row)


async def lock_same(tx: Tx, row: MemoryRow) -> MemoryRow | None:
    """Lock and return the current row of the same key, or of the same content if there is no key."""
    if row.key is not None:
        return await lock_key(tx, row.namespace, row.key)
    return await lock_content(tx, row.content_hash)


async def lock_older(tx: Tx, *memory_ids: UUID) -> list[MemoryRow]:
    rows = await tx.fetch(QUERIES["memory_lock_older"], tx.scope.tenant_id, list(memory_ids))
    return await cooperative_map(MemoryRow.read, rows)


async def page(
    tx: Tx,
    *,
    condition: Condition,
    lives: Sequence[str],
    after: tuple[datetime, UUID] | None,
    limit: int,
    now: datetime,
) -> tuple[list[Memory], bool]:
    """Return one keyset page, newest first, and whether there are more.

    The values of `condition` are bound from $8 on.
    """
    created_at, memory_id = after or (None, None)
    statement = QUERIES["memories_list"].where(condition)
    rows, more = await fetch_page(
        tx,
        statement,
        tx.scope.tenant_id,
        tx.scope.user_id,
        created_at,
        memory_id,
        limit + 1,
        now,
        list(lives),
        *condition.values,
        limit=limit,
        columns=JSON_COLUMNS,
    )
    return [memory_from_row(row, now) for row in rows], more


async def page_in_order(
    tx: Tx, order: str, *, condition: Condition, lives: Sequence[str], after: Place | None, limit: int, now: datetime
) -> tuple[list[tuple[Memory, Place]], bool]:
    """Return one page in another order: each memory with its place, for the next page.

    The values of `condition` are bound from $8 on.
    """
    rows, more = await fetch_page(
        tx,
        QUERIES["memories_in_order"].where(condition),
        tx.scope.tenant_id,
        tx.scope.user_id,
        order,
        None if after is None else json.dumps(after),
        limit + 1,
        now,
        list(lives),
        *condition.values,
        limit=limit,
        columns=JSON_COLUMNS,
    )
    places = [(row["rank"], row["age"], row["words"], str(row["memory_id"])) for row in rows]
    return [(memory_from_row(row, now), place) for row, place in zip(rows, places, strict=True)], more


async def delete(tx: Tx, memory_ids: Sequence[UUID]) -> None:
    """Delete rows for good, with all older versions among them.

    Statements about them and about entities are deleted and logged too.
    """
    async with leaving(tx, memory_ids):
        for some in _parts(memory_ids):
            await tx.execute(QUERIES["memories_cascade_log"], some)
            await tx.execute(QUERIES["memories_delete"], tx.scope.tenant_id, some)


@asynccontextmanager
async def leaving(tx: Tx, memory_ids: Sequence[UUID]) -> AsyncGenerator[None]:
    """Remove these memories from the index lists together, and no others, while the block deletes or changes them.

    Removing them one by one would take quadratic time.
    """
    if len(memory_ids) < MANY_LEAVE:
        yield
        return
    for some in _parts(memory_ids):
        await tx.execute(QUERIES["memories_leave_lists"], some)
    yield
    await tx.execute(QUERIES["memories_left"])


async def lock_incarnations(tx: Tx, row: MemoryRow) -> list[MemoryRow]:
    """Lock and return all rows of the same key, or without one of the same content, whatever their lives."""
    who = tx.scope.tenant_id, tx.scope.user_id
    rows = await tx.fetch(QUERIES["memory_lock_incarnations"], *who, row.key, row.namespace, row.content_hash)
    return [MemoryRow.read(each) for each in rows]


async def redact_events(tx: Tx, memory_ids: Sequence[UUID], content: str | None = None) -> None:
    """Redact the content of memories in their events; with `content`, only in events that carry it."""
    for some in _parts(memory_ids):
        await tx.fetch(QUERIES["memory_redact_events"], some, content, tx.scope.tenant_id)


async def trusted_sources(tx: Tx, sources: Sequence[str]) -> set[str]:
    """Return those of some sources whose memories do not wait in the inbox."""
    rows = await tx.fetch(QUERIES["sources_trusted"], tx.scope.tenant_id, tx.scope.user_id, list(sources))
    return {row["key"] for row in rows}


async def recent_sources(tx: Tx, since: datetime, newest: int) -> list[tuple[str | None, str | None, str | None, int]]:
    """Return role, source and `metadata.trust` of the user's newest memories, with the number of each."""
    rows = await tx.fetch(QUERIES["sources_recent"], tx.scope.tenant_id, tx.scope.user_id, since, newest)
    return [(row["role"], row["source"], row["trust"], row["memories"]) for row in rows]


async def lock_held(tx: Tx, row: MemoryRow) -> MemoryRow | None:
    """Lock and return the user's own memory of this content that waits in the inbox."""
    who = tx.scope.tenant_id, tx.scope.user_id
    found = await tx.fetch_row(QUERIES["memory_lock_held"], *who, row.content_hash, row.namespace, row.key, row.source)
    return None if found is None else MemoryRow.read(found)


async def overdue(tx: Tx, deleted_before: datetime) -> list[UUID]:
    rows = await tx.fetch(QUERIES["memories_overdue"], tx.scope.tenant_id, tx.scope.user_id, deleted_before)
    return [row["memory_id"] for row in rows]


async def count_access(tx: Tx, reads: dict[UUID, tuple[int, datetime]]) -> None:
    """Add to the access counts. Memories that no longer exist are ignored."""
    ordered = sorted(reads)
    await tx.execute(
        QUERIES["memories_count_access"],
        tx.scope.tenant_id,
        ordered,
        [reads[memory_id][0] for memory_id in ordered],
        [reads[memory_id][1] for memory_id in ordered],
    )


async def revive(tx: Tx, memory_ids: Collection[UUID], at: datetime) -> None:
    """Take some of the user's own memories out of the archive."""
    rows = await tx.fetch(QUERIES["memories_lock_archived"], tx.scope.tenant_id, tx.scope.user_id, list(memory_ids))
    if rows:
        revived = [NewMemoryRow(MemoryRow.read(row).evolve(archived_at=None)) for row in rows]
        await replace(tx, revived, "memory.restored", at)


JSON_COLUMNS = ("metadata", "value")


def memory_from_row(row: Row, now: datetime | None = None) -> Memory:
    """Return a row as the model that callers see, without validation: it was validated when written.

    `now`: adds the memory's life; the row then needs its access counts.
    """
    values: dict[str, Any] = {name: row[name] for name in SHOWN}
    values["metadata"] = json.loads(values["metadata"])
    values["value"] = None if values["value"] is None else json.loads(values["value"])
    values["tags"] = tuple(values["tags"])
    values["life"] = None
    if now is not None:
        values["life"] = _life_of(values, row["access_count"] or 0, row["last_accessed_at"], now)
    return unchecked(Memory, values)


def _life_of(values: Mapping[str, Any], count: int, last_accessed_at: datetime | None, now: datetime) -> Life:
    if values["layer"] != "short_term":
        return unchecked(
            Life, {"access_count": count, "last_accessed_at": last_accessed_at, "retention": None, "fades_at": None}
        )
    used = max(values["updated_at"], last_accessed_at) if last_accessed_at else values["updated_at"]
    return unchecked(
        Life,
        {
            "access_count": count,
            "last_accessed_at": last_accessed_at,
            "retention": retention(values["importance"], count, used, now),
            "fades_at": fades_at(values["importance"], count, used),
        },
    )


def _parts(memory_ids: Sequence[UUID]) -> Iterator[list[UUID]]:
    """Yield the ids in parts, so that no statement runs long."""
    for start in range(0, len(memory_ids), REMOVED_AT_ONCE):
        yield list(memory_ids[start : start + REMOVED_AT_ONCE])
