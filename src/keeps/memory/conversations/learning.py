"""Store facts: as new, in place of an older value, or as the end of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue, ValidationError

from keeps.base.scope import Scope
from keeps.base.text.trust import OUTDATED, RULES
from keeps.memory.conversations.facts import NAMESPACE, USER, Cost, Fact, as_memory
from keeps.memory.memories import store as memories
from keeps.memory.memories.changes import Write
from keeps.memory.memories.screening import held, less_trusted
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.types import MemoryRow
from keeps.store.db.session import Tx
from keeps_client.models import MemoryChange, Receipt

UNDATED = "undated"
"""Field of the metadata of a fact of a message without a time."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact, and the memory that stores it, which is prepared before the transaction.

    `source`: id of the message in which the fact was found. `undated`: it is not known when the message was sent.
    """

    fact: Fact
    write: Write
    said_at: datetime
    source: UUID | None
    trust: str
    undated: bool = False


class FactWriter:
    """Prepares facts before a transaction, and stores them in it.

    A text may replace or end facts of its own level of trust and below. What contradicts a more trusted fact waits in
    the inbox.
    """

    def __init__(self, memory: MemoryService) -> None:
        self._memory = memory

    async def prepare(
        self,
        scope: Scope,
        facts: Sequence[Fact],
        *,
        said_at: datetime,
        source: UUID | None,
        session_id: str | None,
        read_by: str = RULES,
        trust: str = "user",
        speaker: str | None = None,
        agent_id: str | None = None,
        cost: Cost | None = None,
    ) -> list[NewFact]:
        """Validate, stem and hash the memories of facts. `cost`: what the call that read them took."""
        # An appointment of one agent would block the same appointment told to another.
        facts = [fact for fact in facts if fact.until is None or not scope.agent_bound]
        if scope.space_id is not None:  # Several people speak: each has facts of their own.
            speaker = speaker or scope.acting
            facts = [replace(fact, entity=speaker) if fact.entity == USER else fact for fact in facts]
        new = [
            as_memory(
                fact,
                said_at=said_at,
                source=source,
                session_id=session_id,
                read_by=read_by,
                trust=trust,
                speaker=speaker,
                agent_id=agent_id,
                cost=cost,
            )
            for fact in facts
        ]
        writes = await self._memory.prepare(scope, new, index_now=False, derived=True)
        return [NewFact(fact, write, said_at, source, trust) for fact, write in zip(facts, writes, strict=True)]

    async def store(self, tx: Tx, facts: Sequence[NewFact], *, source: UUID | None = None) -> list[Receipt]:
        """Store facts inside a transaction of their user.

        `source`: the stored message of the facts, if it is not the one that they were prepared with.
        """
        receipts: list[Receipt] = []
        for new in facts:
            if new.fact.ended:
                receipts += await self._end(tx, new)
            elif (receipt := await self._put(tx, new if source is None else read_in(new, source))) is not None:
                receipts.append(receipt)
        return receipts

    async def _put(self, tx: Tx, new: NewFact) -> Receipt | None:
        """Store one fact, and outdate the one that it replaces.

        If its origin is less trusted than that of another value, it waits in the inbox; None if the value is the same.
        """
        stored = await memories.lock_key(tx, NAMESPACE, new.fact.key)
        if stored is None:
            (receipt,) = await self._memory.apply(tx, [new.write])
            return receipt
        if less_trusted(new.write.new.row, stored):
            return None if has_value(stored, new.fact) else await self._hold(tx, new)
        same_trust = new.trust == stored.metadata.get("trust", "user")
        if same_trust and stored.valid_to is None and has_value(stored, new.fact):
            return Receipt(status="unchanged", memory_id=stored.memory_id, memory=stored.as_memory())
        (receipt,) = await self._memory.apply(tx, [new.write])
        await self.outdate(tx, stored, new, receipt)
        return receipt

    async def _hold(self, tx: Tx, new: NewFact) -> Receipt:
        waiting = replace(new.write.new, row=held(new.write.new.row, "contradiction"), embedding=None)
        (receipt,) = await self._memory.apply(tx, [replace(new.write, new=waiting, screening=None)])
        return receipt

    async def _end(self, tx: Tx, new: NewFact) -> list[Receipt]:
        """End a fact that is no longer true, whether its key contains the value or not."""
        receipts: list[Receipt] = []
        for key in dict.fromkeys((new.fact.key, replace(new.fact, keyed_by_value=True).key)):
            stored = await memories.lock_key(tx, NAMESPACE, key)
            if stored is None:
                continue
            if less_trusted(new.write.new.row, stored):
                if stored.valid_to is None and contains_value(stored, new.fact):
                    receipts.append(await self._hold(tx, new))
                continue
            if stored.valid_to is None and stored.valid_from <= new.said_at and contains_value(stored, new.fact):
                change = MemoryChange(valid_to=new.said_at)
                receipts.append(await self._memory.change(tx, stored.memory_id, change, if_version=None))
                await self.outdate_source(tx, stored.metadata, new.said_at)
        return receipts

    async def outdate(self, tx: Tx, stored: MemoryRow, new: NewFact, receipt: Receipt) -> None:
        """Mark the source message of the older one of two values: the stored one, unless the new one came late."""
        if receipt.status == "superseded":
            ended_at = receipt.memory and receipt.memory.valid_to
            await self.outdate_source(tx, new.write.new.row.metadata, ended_at or stored.valid_from)
        else:
            await self.outdate_source(tx, stored.metadata, new.said_at)

    async def outdate_source(self, tx: Tx, metadata: Mapping[str, JsonValue], at: datetime) -> None:
        """Mark in the source message of a fact, which its metadata names, that its sentence is no longer true."""
        source, sentence = metadata.get("read_in"), metadata.get("said")
        if not isinstance(source, str) or not isinstance(sentence, str):
            return
        message = await memories.lock(tx, UUID(source))
        if message is None or message.deleted_at is not None or sentence not in message.content:
            return
        outdated = message.metadata.get(OUTDATED, {})
        if not isinstance(outdated, dict):
            return  # The caller uses this metadata field for something else.
        marked: dict[str, JsonValue] = {**message.metadata, OUTDATED: {**outdated, sentence: f"{at:%Y-%m-%d}"}}
        try:
            change = MemoryChange(metadata=marked)
        except ValidationError:
            return  # The caller's metadata leaves no room.
        await self._memory.change(tx, message.memory_id, change, if_version=None)


def read_in(new: NewFact, source: UUID) -> NewFact:
    """Return the fact with another source message: the one that was stored before with the same content."""
    if source == new.source:
        return new
    row = new.write.new.row
    moved = row.evolve(metadata={**row.metadata, "read_in": str(source)})
    return replace(new, source=source, write=replace(new.write, new=replace(new.write.new, row=moved)))


def has_value(stored: MemoryRow, fact: Fact) -> bool:
    """Return whether a stored fact has the same value."""
    value = _value_of(stored.value)
    return value is not None and value.casefold() == fact.value.casefold()


def _value_of(value: object) -> str | None:
    inner: Any = value.get("value") if isinstance(value, dict) else None
    return inner if isinstance(inner, str) else None


def contains_value(stored: MemoryRow, fact: Fact) -> bool:
    """Return whether the value of a stored fact equals that of `fact`, or contains its words."""
    words, said = (_value_of(stored.value) or "").casefold().split(), fact.value.casefold().split()
    return bool(said) and any(words[at : at + len(said)] == said for at in range(len(words)))
