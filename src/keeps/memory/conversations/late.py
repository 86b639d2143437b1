"""Store facts that may be older than those that are stored, such as those of imported conversations.

Whatever the order in which statements arrive, the result is the same as if they had arrived in the order of their
times, as far as this can be known: a fact tells since when it is true and when it was last said, and each end is stored
as well, so that it also ends a fact that arrives after it. A fact of a message without a time replaces and ends only
facts of such messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from pydantic import JsonValue

from keeps.memory.conversations.facts import NAMESPACE, end_key
from keeps.memory.conversations.learning import UNDATED, FactWriter, NewFact, contains_value, has_value, read_in
from keeps.memory.memories import store as memories
from keeps.memory.memories.types import MemoryRow
from keeps.store.db.session import Tx
from keeps_client.models import MemoryChange, Receipt

SAID_AGAIN = "said_again"
"""Field of the metadata: when the user last said a fact again."""


class LateFactWriter(FactWriter):
    """Prepares facts before a transaction, and stores them in it, in any order of their times."""

    async def store(self, tx: Tx, facts: Sequence[NewFact], *, source: UUID | None = None) -> list[Receipt]:
        receipts: list[Receipt] = []
        for fact in facts:
            new = fact if source is None else read_in(fact, source)
            if new.fact.ended:
                receipts += await self._ended(tx, new)
            elif (receipt := await self._stated(tx, new)) is not None:
                receipts.append(receipt)
        return receipts

    async def _stated(self, tx: Tx, new: NewFact) -> Receipt | None:
        """Store one fact; None if its origin may not replace the stored one."""
        stored = await memories.lock_key(tx, NAMESPACE, new.fact.key)
        if stored is None:
            (receipt,) = await self._memory.apply(tx, [new.write])
        elif new.trust not in ("user", stored.metadata.get("trust", "user")):
            return None
        elif has_value(stored, new.fact):
            receipt = await self._said_again(tx, stored, new)
        elif (other := await self._other_value(tx, stored, new)) is not None:
            receipt = other
        else:
            return None
        current = receipt.memory
        if receipt.status in ("created", "updated") and current is not None and current.valid_to is None:
            ended_at = await self._end_of(tx, new)
            if ended_at is not None and _last_said(current.metadata, current.valid_from) < ended_at:
                receipt = await self._memory.change(tx, receipt.memory_id, _until(ended_at), if_version=None)
                await self.outdate_source(tx, new.write.new.row.metadata, ended_at)
        return receipt

    async def _said_again(self, tx: Tx, stored: MemoryRow, new: NewFact) -> Receipt:
        """Note that a stored fact was said before, or again."""
        said_at, last_said = new.said_at, _last_said(stored.metadata, stored.valid_from)
        unchanged = Receipt(status="unchanged", memory_id=stored.memory_id, memory=stored.as_memory())
        if new.undated:
            return unchanged
        if stored.valid_to is not None and said_at >= stored.valid_to:
            (receipt,) = await self._memory.apply(tx, [new.write])  # It is true again.
            return receipt
        if said_at < stored.valid_from:
            older = await memories.lock_older(tx, stored.memory_id)
            ended_at = await self._end_of(tx, new)
            was_other = any(row.valid_from > said_at and row.deleted_at is None for row in older)
            if was_other or (ended_at is not None and said_at < ended_at <= stored.valid_from):
                return await self._memory.store_older(tx, stored, new.write)
            again: dict[str, JsonValue] = {**stored.metadata, SAID_AGAIN: last_said.isoformat()}
            change = MemoryChange(valid_from=said_at, metadata=again)
        elif said_at > last_said:
            change = MemoryChange(metadata={**stored.metadata, SAID_AGAIN: said_at.isoformat()})
        else:
            return unchanged
        return await self._memory.change(tx, stored.memory_id, change, if_version=None)

    async def _other_value(self, tx: Tx, stored: MemoryRow, new: NewFact) -> Receipt | None:
        """Store a value in place of another one, or among the older ones."""
        if new.undated and not stored.metadata.get(UNDATED):
            return None
        if new.said_at < stored.valid_from:
            receipt = await self._memory.store_older(tx, stored, new.write)
        elif new.said_at < _last_said(stored.metadata, stored.valid_from):
            return None  # The stored value was said before and after it.
        else:
            (receipt,) = await self._memory.apply(tx, [new.write])
        await self.outdate(tx, stored, new, receipt)
        return receipt

    async def _ended(self, tx: Tx, new: NewFact) -> list[Receipt]:
        """End a fact that was said before, and store the end for those that arrive later."""
        receipts: list[Receipt] = []
        for key in dict.fromkeys((new.fact.key, replace(new.fact, keyed_by_value=True).key)):
            stored = await memories.lock_key(tx, NAMESPACE, key)
            if stored is None or new.trust not in ("user", stored.metadata.get("trust", "user")):
                continue
            if new.undated and not stored.metadata.get(UNDATED):
                continue
            is_later = _last_said(stored.metadata, stored.valid_from) <= new.said_at and stored.valid_to is None
            if is_later and contains_value(stored, new.fact):
                change = _until(new.said_at)
                receipts.append(await self._memory.change(tx, stored.memory_id, change, if_version=None))
                await self.outdate_source(tx, stored.metadata, new.said_at)
        if not new.undated:
            await self._store_end(tx, new)
        return receipts

    async def _store_end(self, tx: Tx, new: NewFact) -> None:
        """Store when a value ended, as a memory that is over."""
        row = new.write.new.row
        stored = await memories.lock_key(tx, NAMESPACE, end_key(new.fact))
        if stored is None:
            over = replace(new.write.new, row=row.evolve(valid_to=row.valid_from))
            await self._memory.apply(tx, [replace(new.write, new=over)])
        elif stored.valid_from < new.said_at:
            change = MemoryChange(valid_from=new.said_at, valid_to=new.said_at)
            await self._memory.change(tx, stored.memory_id, change, if_version=None)

    async def _end_of(self, tx: Tx, new: NewFact) -> datetime | None:
        """Return when the value of a fact ended, if that is known."""
        stored = await memories.lock_key(tx, NAMESPACE, end_key(new.fact))
        return None if stored is None else stored.valid_from


def _until(moment: datetime) -> MemoryChange:
    return MemoryChange(valid_to=moment)


def _last_said(metadata: Mapping[str, JsonValue], valid_from: datetime) -> datetime:
    """Return when the user last said a stored fact."""
    again = metadata.get(SAID_AGAIN)
    try:
        moment = datetime.fromisoformat(again) if isinstance(again, str) else valid_from
    except ValueError:
        return valid_from
    return max(valid_from, moment if moment.tzinfo else moment.replace(tzinfo=UTC))
