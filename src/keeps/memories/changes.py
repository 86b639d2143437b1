"""What a transaction does to memories: store new ones, meet what is there, replace, erase."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from keeps.ai.embedder import Embedding
from keeps.clock import Clock, new_id
from keeps.db.session import Tx
from keeps.events import store as events
from keeps.events.store import NewEvent
from keeps.memories import store
from keeps.memories.reconcile import Keep, Replace, StoreOlder, are_apart, check_version, reconcile
from keeps.memories.store import Written, written
from keeps.memories.types import MemoryRow, second_hash
from keeps.memories.writer import Write
from keeps.scope import Scope
from keeps.stepwise import stepwise
from keeps_client.errors import ConflictError, KeepsError
from keeps_client.models import Receipt
from keeps_client.models.memories import ReceiptStatus
from keeps_client.validation import same_json

RESTORABLE = timedelta(days=30)


class Changes:
    """The steps of writing, for whoever holds a transaction. `model`: the tag of the vectors that come with a write."""

    def __init__(self, model: str, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def apply(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        """Store writes of one user: the new ones in one statement, then one by one those that meet something stored.

        Where one expects a version, all go one by one, so that each meets what those before it left.
        """
        created: dict[UUID, Receipt] = {}
        if all(write.if_version is None for write in writes):
            created = await self._insert(tx, [write.new for write in writes])
        answers: list[Receipt | KeepsError] = []
        for write in writes:
            if (receipt := created.get(write.new.row.memory_id)) is not None:
                answers.append(receipt)
                continue
            try:
                answers.append(await self._meet(tx, write))
            except ConflictError as error:
                answers.append(error)
        return answers

    async def create(self, tx: Tx, writes: Sequence[Write]) -> dict[UUID, Receipt]:
        """Store in one statement what is new of writes of several users of a tenant; the receipts of that, by memory
        id. The transaction is nobody's afterwards."""
        return await self._insert(tx, [write.new for write in writes], [write.scope for write in writes])

    async def _insert(self, tx: Tx, news: Sequence[Written], asking: Sequence[Scope] = ()) -> dict[UUID, Receipt]:
        inserted = await store.insert_many(tx, news, self._model, asking)
        receipts = await stepwise(_created, [each for each in news if each.row.memory_id in inserted])
        return {each.memory_id: each for each in receipts}

    async def _meet(self, tx: Tx, write: Write) -> Receipt:
        """Store one write whose key or content is there already, or that expects a version."""
        new = write.new
        stored = await store.lock_same(tx, new.row)
        if stored is not None and are_apart(stored, new.row, write.given):
            new = dataclasses.replace(new, row=new.row.evolve(content_hash=second_hash(new.row)))
            stored = await store.lock_same(tx, new.row)
        check_version(stored, write.if_version)
        if stored is None:
            if not await store.insert_many(tx, [new], self._model):
                # There is one, but this agent's token may not see it.
                raise ConflictError("another agent of yours holds this key or content already")
            return _created(new)
        match reconcile(stored, new.row, write.given, new_id(), self._clock()):
            case Keep(current):
                return await self.unchanged(tx, current)
            case Replace(row, older):
                # The embedding is of what was given; what the stored memory keeps may have changed its text.
                fits = row.embedded_text == new.row.embedded_text
                return await self.replace(tx, stored, written(row, new.embedding if fits else None), older)
            case StoreOlder(row):
                return await self._store_older(tx, stored, row, new.embedding)

    async def replace(
        self, tx: Tx, stored: MemoryRow, new: Written, older: MemoryRow | None, at: datetime | None = None
    ) -> Receipt:
        """Store a locked row anew, and the older truth that it supersedes, if there was one. `at`: as in the store."""
        row = new.row
        if older is not None:
            await store.insert_many(tx, [written(older)], self._model)
            await store.copy_vectors(tx, row.memory_id, older.memory_id)
        await store.replace(tx, [new], "memory.written", at)
        await store.store_words(tx, new)
        if stored.embedded_text != row.embedded_text:
            if new.embedding is None:
                await store.drop_vectors(tx, row)
            else:
                await store.store_vector(tx, row, new.embedding, self._model)
        if (stored.visibility, row.visibility) == ("tenant", "private"):
            await self._hide_older(tx, row.memory_id)
        indexed = await store.is_indexed(tx, row.memory_id, self._model)
        return receipt("updated", row, new.event_id, indexed=indexed)

    async def _hide_older(self, tx: Tx, memory_id: UUID) -> None:
        """What is made private takes its older truths along."""
        for older in await store.lock_older(tx, memory_id):
            if older.visibility == "tenant":
                hidden = written(older.evolve(visibility="private", updated_at=self._clock()))
                await store.replace(tx, [hidden], "memory.superseded")
                await store.store_words(tx, hidden)

    async def _store_older(self, tx: Tx, stored: MemoryRow, row: MemoryRow, embedding: Embedding | None) -> Receipt:
        """Put a truth that arrived late into its place among the older ones, each ending where the next begins."""
        begins = row.valid_from
        known = [each for each in await store.lock_older(tx, stored.memory_id) if each.deleted_at is None]
        for each in known:
            if same_json((each.content, each.value), (row.content, row.value)) and each.valid_from == begins:
                return await self.unchanged(tx, each)
        later = min(each.valid_from for each in (stored, *known) if each.valid_from > begins)
        for each in known:
            if each.valid_from < begins < (each.valid_to or stored.valid_from):
                ended = each.evolve(valid_to=begins, updated_at=self._clock())
                await store.replace(tx, [Written(ended)], "memory.superseded")
        placed = written(row.evolve(valid_to=later), embedding)
        await store.insert_many(tx, [placed], self._model)
        return receipt("superseded", placed.row, placed.event_id, indexed=embedding is not None)

    async def unchanged(self, tx: Tx, row: MemoryRow) -> Receipt:
        return receipt("unchanged", row, None, indexed=await store.is_indexed(tx, row.memory_id, self._model))

    async def erase(self, tx: Tx, rows: Sequence[MemoryRow]) -> Receipt:
        """Remove memories with their older truths, and take what they said out of all events."""
        found = {row.memory_id: row for row in rows}
        found |= {older.memory_id: older for older in await store.lock_older(tx, *found)}
        await store.delete(tx, list(found))
        await store.redact_events(tx, list(found))
        news: list[NewEvent] = []
        for memory_id, row in found.items():
            if row.superseded_by is not None and row.superseded_by not in found:
                # An older truth was once said under the id of the newer one.
                await store.redact_events(tx, [row.superseded_by], row.content)
            data = {"memory_id": str(memory_id)}
            news.append(NewEvent(new_id(), "memory.erased", str(memory_id), self._clock(), "private", None, data))
        await events.append(tx, news)
        return Receipt(status="forgotten", memory_id=rows[0].memory_id, event_id=news[0].event_id)

    async def remove_overdue(self, tx: Tx) -> int:
        """What was forgotten more than 30 days ago goes for good, a little at a time; how many went."""
        overdue = [await store.lock(tx, each) for each in await store.overdue(tx, self._clock() - RESTORABLE)]
        if rows := [row for row in overdue if row is not None]:
            await self.erase(tx, rows)
        return len(rows)


def _created(new: Written) -> Receipt:
    return receipt("created", new.row, new.event_id, indexed=new.embedding is not None)


def receipt(status: ReceiptStatus, row: MemoryRow, event_id: UUID | None, *, indexed: bool) -> Receipt:
    return Receipt.model_construct(
        status=status, memory_id=row.memory_id, memory=row.as_memory(), event_id=event_id, indexed=indexed
    )
