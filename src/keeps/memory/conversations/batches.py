"""Store batches of memories, and learn facts from the user's messages in them, in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.text.trust import origin_of
from keeps.memory.conversations.facts import USER, Fact, end_key
from keeps.memory.conversations.late import LateFactWriter
from keeps.memory.conversations.learning import UNDATED, NewFact
from keeps.memory.conversations.rules import read_facts
from keeps.memory.conversations.service import FACTS_OF_A_MESSAGE, without_contexts
from keeps.memory.memories.answers import RECEIPTS
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.types import MemoryRow, content_hash
from keeps.store.db.session import Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ValidationFailedError
from keeps_client.models import NewMemory, Receipt
from keeps_client.models.memories import Learn

USER_FACTS_OF_A_MESSAGE = 5
FACTS_OF_A_BATCH = 500
"""Maximum number of facts of a batch, so that one write does not delay a tenant's others."""


class MessageBatches:
    """Stores memories, and facts from messages among them."""

    def __init__(self, introducer: Introducer, memory: MemoryService, clock: Clock) -> None:
        self._introducer = introducer
        self._memory = memory
        self._clock = clock
        self._facts = LateFactWriter(memory)

    async def remember_many(
        self, scope: Scope, items: Sequence[NewMemory], *, index_now: bool, learn: Learn | None
    ) -> list[Receipt]:
        """Store all items and their facts, or nothing. Return the receipts of the items, then those of the facts.

        Facts come from messages that are new; a known one was read when it was stored.
        """
        if learn is None:
            return await self._memory.remember_many(scope, items, index_now=index_now)
        self._memory.check_batch(items)
        if not items:
            return []
        writes = await self._memory.prepare(scope, items, index_now=index_now)
        facts = [
            (position, fact)
            for position, new in enumerate(items)
            for fact in await self._facts_of(scope, new, writes[position].new.row.valid_from, learn)
        ]
        if len(facts) > FACTS_OF_A_BATCH:
            raise ValidationFailedError(
                f"its messages state {len(facts):,} facts; a batch has at most {FACTS_OF_A_BATCH:,}: split it"
            )
        facts.sort(key=lambda item: item[1].said_at)
        write = self._introducer.writing(scope, RECEIPTS)
        async for attempt in write:
            async with attempt as tx:
                receipts = await self._memory.apply(tx, writes)
                write.result = [*receipts, *await self._learn(tx, facts, receipts)]
        self._memory.noticed(scope, *write.result)
        return write.result

    async def _facts_of(self, scope: Scope, new: NewMemory, said_at: datetime, learn: Learn) -> list[NewFact]:
        await asyncio.sleep(0)  # Yield between messages, so that other requests proceed.
        facts = facts_of(new, said_at, learn, self._clock())
        if not facts:
            return []
        speaker = new.metadata.get("speaker")
        prepared = await self._facts.prepare(
            scope,
            facts,
            said_at=said_at,
            source=None,
            session_id=new.session_id,
            speaker=speaker if isinstance(speaker, str) else None,
            agent_id=new.agent_id,
        )
        is_undated = new.valid_from is None
        return [_marked(fact) if is_undated else fact for fact in map(_with_place, prepared)]

    async def _learn(self, tx: Tx, facts: Sequence[tuple[int, NewFact]], messages: Sequence[Receipt]) -> list[Receipt]:
        learnt: list[Receipt] = []
        for position, fact in facts:
            message = messages[position]
            if message.status in ("created", "updated"):
                learnt += await self._facts.store(tx, [fact], source=message.memory_id)
        return learnt


def facts_of(new: NewMemory, said_at: datetime, learn: Learn, now: datetime) -> list[Fact]:
    """Return the facts that a memory states if it is a message of the user. What is over by its own words is not."""
    is_said = new.role == "user" and new.content_type == "message"
    if not is_said or origin_of(new.role, new.source, new.metadata) != "own":
        return []
    text = without_contexts(new.content)
    if learn == "user_facts":
        return [fact for fact in read_facts(text, USER_FACTS_OF_A_MESSAGE) if fact.entity == USER]
    read = read_facts(text, FACTS_OF_A_MESSAGE, said_at=None if new.metadata.get("speaker") else said_at)
    return [fact for fact in read if fact.until is None or fact.until > now]


def _with_place(new: NewFact) -> NewFact:
    """Return the fact, or an end with its own key."""
    if not new.fact.ended:
        return new
    row = new.write.new.row.evolve(key=end_key(new.fact))
    return _with_row(new, row.evolve(content_hash=content_hash(row, row.valid_from)))


def _marked(new: NewFact) -> NewFact:
    """Return the fact of a message without a time."""
    row = new.write.new.row
    return replace(_with_row(new, row.evolve(metadata={**row.metadata, UNDATED: True})), undated=True)


def _with_row(new: NewFact, row: MemoryRow) -> NewFact:
    return replace(new, write=replace(new.write, new=replace(new.write.new, row=row)))
