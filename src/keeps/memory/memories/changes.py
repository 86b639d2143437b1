"""Change memories inside a transaction: store, reconcile, replace, erase."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from keeps.base.clock import Clock, new_id
from keeps.base.cooperative import cooperative_map
from keeps.base.scope import Scope
from keeps.base.unchecked import unchecked
from keeps.memory.memories import store
from keeps.memory.memories.reconcile import Keep, Replace, StoreOlder, are_apart, check_version, reconcile
from keeps.memory.memories.screening import Screening, decided, held, less_trusted
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import MemoryRow, second_hash
from keeps.models.embedder import Embedding
from keeps.store.db.repeats import Request, current_request
from keeps.store.db.session import Tx, current_trace
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.errors import ConflictError, KeepsError
from keeps_client.models import Receipt
from keeps_client.models.memories import ReceiptStatus
from keeps_client.validation import same_json

RESTORABLE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Write:
    """One memory to store: the new row, and the data to reconcile it with a stored one.

    `screening`: what to look at before it is stored; None for text that is stored at once.
    """

    scope: Scope
    new: NewMemoryRow
    given: frozenset[str]
    if_version: int | None
    screening: Screening | None = None
    traceparent: str = field(default_factory=current_trace)
    request: Request | None = field(default_factory=current_request)

    @property
    def memory_id(self) -> UUID:
        return self.new.row.memory_id


class Changes:
    """The steps of a write, for the holder of a transaction. `model`: tag of the vectors that come with a write."""

    def __init__(self, model: str, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def apply(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        """Store writes of one user: new memories in one statement, then each write that meets a stored memory.

        If any write expects a version, all are stored one by one, so that each sees the results of those before it.
        """
        screened = await decided(
            tx, [write.new for write in writes], [write.screening for write in writes], self._clock()
        )
        writes = [dataclasses.replace(write, new=new) for write, new in zip(writes, screened, strict=True)]
        waiting = {write.memory_id: await self._hold(tx, write.new) for write in writes if write.new.row.held_for}
        answers = iter(await self._store(tx, [write for write in writes if write.memory_id not in waiting]))
        return [waiting[write.memory_id] if write.memory_id in waiting else next(answers) for write in writes]

    async def hold(self, tx: Tx, row: MemoryRow, screening: Screening) -> Receipt:
        """Keep a change of a memory in the inbox, as a memory of its own; the stored one stays as it is."""
        now = self._clock()
        new = row.evolve(memory_id=new_id(), version=1, created_at=now, updated_at=now, superseded_by=None)
        return await self._hold(tx, NewMemoryRow(held(new, screening.reason or "instructions")))

    async def _hold(self, tx: Tx, new: NewMemoryRow) -> Receipt:
        """Store a memory that waits in the inbox, each text once."""
        stored = await store.lock_held(tx, new.row)
        if stored is not None:
            return receipt("held", stored, None, indexed=True)
        await store.insert_many(tx, [new], self._model)
        return receipt("held", new.row, new.event_id, indexed=True)

    async def _store(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
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
        """Store the new memories of several users of a tenant in one statement; return receipts by memory id.

        Afterwards the transaction belongs to no user.
        """
        return await self._insert(tx, [write.new for write in writes], [write.scope for write in writes])

    async def _insert(self, tx: Tx, news: Sequence[NewMemoryRow], asking: Sequence[Scope] = ()) -> dict[UUID, Receipt]:
        inserted = await store.insert_many(tx, news, self._model, asking)
        receipts = await cooperative_map(_created, [new for new in news if new.row.memory_id in inserted])
        return {new.memory_id: new for new in receipts}

    async def _meet(self, tx: Tx, write: Write) -> Receipt:
        """Store one write whose key or content is already stored, or that expects a version."""
        new = write.new
        stored = await store.lock_same(tx, new.row)
        if stored is not None and are_apart(stored, new.row, write.given):
            new = dataclasses.replace(new, row=new.row.evolve(content_hash=second_hash(new.row)))
            stored = await store.lock_same(tx, new.row)
        check_version(stored, write.if_version)
        if stored is None:
            if not await store.insert_many(tx, [new], self._model):
                # The row exists, but this agent's token may not see it.
                raise ConflictError("another of your agents already stores this key or content")
            return _created(new)
        outside = write.screening is not None and write.screening.outside
        if (
            outside
            and less_trusted(new.row, stored)
            and same_json((stored.content, stored.value), (new.row.content, new.row.value))
        ):
            return await self.unchanged(tx, stored)  # Or what the user said would be trusted less.
        match reconcile(stored, new.row, write.given, new_id(), self._clock()):
            case Keep(current):
                return await self.unchanged(tx, current)
            case Replace(row, older):
                # The embedding belongs to the given text; kept fields of the stored memory may have changed the text.
                fits = row.embedded_text == new.row.embedded_text
                return await self.replace(tx, stored, written(row, new.embedding if fits else None), older)
            case StoreOlder(row):
                return await self.store_older(tx, stored, row, new.embedding)

    async def replace(
        self, tx: Tx, stored: MemoryRow, new: NewMemoryRow, older: MemoryRow | None, at: datetime | None = None
    ) -> Receipt:
        """Replace a locked row, and store the older version that it supersedes, if any. `at`: as in `store.replace`."""
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
        """Make the older versions of a memory private that has been made private."""
        for older in await store.lock_older(tx, memory_id):
            if older.visibility == "tenant":
                hidden = written(older.evolve(visibility="private", updated_at=self._clock()))
                await store.replace(tx, [hidden], "memory.superseded")
                await store.store_words(tx, hidden)

    async def store_older(self, tx: Tx, stored: MemoryRow, row: MemoryRow, embedding: Embedding | None) -> Receipt:
        """Insert a truth that began before a stored one among the older ones; each ends where the next begins."""
        begins = row.valid_from
        older_rows = [older for older in await store.lock_older(tx, stored.memory_id) if older.deleted_at is None]
        for older in older_rows:
            if same_json((older.content, older.value), (row.content, row.value)) and older.valid_from == begins:
                return await self.unchanged(tx, older)
        later = min(older.valid_from for older in (stored, *older_rows) if older.valid_from > begins)
        for older in older_rows:
            if older.valid_from < begins < (older.valid_to or stored.valid_from):
                ended = older.evolve(valid_to=begins, updated_at=self._clock())
                await store.replace(tx, [NewMemoryRow(ended)], "memory.superseded")
        placed = written(row.evolve(valid_to=later), embedding)
        await store.insert_many(tx, [placed], self._model)
        return receipt("superseded", placed.row, placed.event_id, indexed=embedding is not None)

    async def unchanged(self, tx: Tx, row: MemoryRow) -> Receipt:
        return receipt("unchanged", row, None, indexed=await store.is_indexed(tx, row.memory_id, self._model))

    async def erase(self, tx: Tx, rows: Sequence[MemoryRow]) -> Receipt:
        """Delete memories with their older versions, and redact their content from all events."""
        by_id = {row.memory_id: row for row in rows}
        by_id |= {older.memory_id: older for older in await store.lock_older(tx, *by_id)}
        await store.delete(tx, list(by_id))
        await store.redact_events(tx, list(by_id))
        news: list[NewEvent] = []
        for memory_id, row in by_id.items():
            if row.superseded_by is not None and row.superseded_by not in by_id:
                # An older version was once stated under the id of the newer one.
                await store.redact_events(tx, [row.superseded_by], row.content)
            data = {"memory_id": str(memory_id)}
            news.append(NewEvent(new_id(), "memory.erased", str(memory_id), self._clock(), "private", None, data))
        await events.append(tx, news)
        return Receipt(status="forgotten", memory_id=rows[0].memory_id, event_id=news[0].event_id)

    async def remove_overdue(self, tx: Tx) -> int:
        """Erase some of the memories forgotten more than 30 days ago. Return the number erased."""
        overdue = [await store.lock(tx, each) for each in await store.overdue(tx, self._clock() - RESTORABLE)]
        if rows := [row for row in overdue if row is not None]:
            await self.erase(tx, rows)
        return len(rows)


def _created(new: NewMemoryRow) -> Receipt:
    return receipt("created", new.row, new.event_id, indexed=new.embedding is not None)


def receipt(status: ReceiptStatus, row: MemoryRow, event_id: UUID | None, *, indexed: bool) -> Receipt:
    values = {"status": status, "memory_id": row.memory_id, "memory": row.as_memory(), "event_id": event_id}
    return unchecked(Receipt, values | {"indexed": indexed})
