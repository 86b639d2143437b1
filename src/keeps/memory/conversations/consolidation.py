"""Run the job `sessions`: consolidate conversations that ended an hour ago or were abandoned a day ago.

The summary becomes a memory, facts are extracted by an LLM, and important memories are promoted. Without an LLM, the
other steps still run. While a configured LLM is unavailable or over its budget, the conversation waits unchanged: its
messages are stored anyway.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.memory.conversations import llm
from keeps.memory.conversations.facts import NAMESPACE, Cost, Fact
from keeps.memory.conversations.learning import NewFact
from keeps.memory.conversations.llm import Read
from keeps.memory.conversations.service import ConversationService, summary_memory
from keeps.memory.lifecycle import promotion
from keeps.memory.memories import store as memories
from keeps.memory.memories.service import MemoryService
from keeps.memory.operations.service import Change, record
from keeps.models.counted import CountedChat
from keeps.part import Run
from keeps.state.sessions import store as sessions
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statements
from keeps_client.errors import KeepsError
from keeps_client.models import Note, Receipt, SessionNotes

QUERIES = Statements("keeps.memory.conversations")
JOB = "sessions"
AT_ONCE = 20
READ_MESSAGES, KNOWN_FACTS = 60, 40
RETRY_DELAY = timedelta(minutes=30)
WAITED = timedelta(days=3)
"""Time after the expiry of its notes that a conversation waits for an unavailable LLM; then rules must suffice."""


class SessionConsolidation:
    """Consolidates conversations."""

    def __init__(
        self,
        database: Database,
        exchanges: ConversationService,
        memory: MemoryService,
        chat: CountedChat | None,
    ) -> None:
        self._database = database
        self._exchanges = exchanges
        self._memory = memory
        self._chat = chat

    async def consolidate_user(self, scope: Scope, run: Run) -> None:
        """Consolidate all due conversations of one user."""
        while not run.is_over:
            async with self._database.scoped(scope) as tx:
                due = await sessions.notes_due(tx, run.now, AT_ONCE)
            for agent_id, notes in due:
                await self._consolidate(scope, run, agent_id, notes)
            if len(due) < AT_ONCE:
                break
        await promotion.promote_user(self._database, scope, run)

    async def _consolidate(self, scope: Scope, run: Run, agent_id: str, notes: SessionNotes) -> None:
        read = await self._read(scope, run, notes, agent_id)
        if isinstance(read, datetime) and run.now < notes.expires_at + WAITED:
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    await sessions.notes_done(tx, notes, agent_id, read)
            return
        extracted, summary, cost = ([], "", None) if isinstance(read, datetime) else read
        plain = not any(note.role == "tool" for note in notes.items)
        if summary:
            notes = notes.model_copy(update={"summary": summary})
        new_facts: list[NewFact] = []
        for read_fact, source, note in extracted:
            new_facts += await self._exchanges.facts.prepare(
                scope,
                [read_fact.fact],
                said_at=note.at,
                source=source,
                session_id=notes.session_id,
                read_by="llm",
                trust={"user": "user", "tool": "tool"}.get(note.role, "agent"),
                cost=cost,
            )
        facts: list[Receipt] = []
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                facts = await self._store(
                    tx, run, agent_id, notes, new_facts, cost if summary else None, trusted=not summary or plain
                )
        run.counts["sessions"] += 1
        if facts:
            run.counts["facts"] += len(facts)

    async def _store(
        self,
        tx: Tx,
        run: Run,
        agent_id: str,
        notes: SessionNotes,
        new_facts: Sequence[NewFact],
        cost: Cost | None,
        *,
        trusted: bool,
    ) -> list[Receipt]:
        """Store the summary of a conversation and its facts; return the receipts of the facts."""
        session = await sessions.get(tx, notes.session_id)
        made = summary_memory(notes, session.name if session else None, run.now, agent_id, trusted=trusted, cost=cost)
        (receipt,) = await self._memory.apply(
            tx, await self._memory.prepare(tx.scope, [made], index_now=False, derived=True)
        )
        facts = await self._exchanges.facts.store(tx, new_facts)
        created = [new_receipt for new_receipt in (receipt, *facts) if new_receipt.status == "created"]
        rows = [await memories.lock(tx, new_receipt.memory_id) for new_receipt in created]
        if rows:
            await record(tx, run, [Change(None, row) for row in rows if row is not None])
        await sessions.notes_done(tx, notes, agent_id)
        return facts

    async def _read(
        self, scope: Scope, run: Run, notes: SessionNotes, agent_id: str
    ) -> tuple[list[tuple[Read, UUID, Note]], str, Cost | None] | datetime:
        """Return the facts and the summary that the LLM extracts from the last messages, and what they cost.

        Empty without an LLM.

        While the LLM is unavailable or the day's budget is used up, return the time of the next attempt instead: after
        each failure half as late again as the conversation is old.
        """
        if self._chat is None:
            return [], "", None
        if (until := await self._chat.blocked_until(scope)) is not None:
            run.counts["over_llm_budget"] += 1
            return until
        async with self._database.scoped(scope) as tx:
            stored_messages = await sessions.messages(tx, notes.session_id, READ_MESSAGES, agent_id)
            rows = await tx.fetch(QUERIES["facts_known"], scope.tenant_id, scope.user_id, NAMESPACE, KNOWN_FACTS)
        known_facts = [_as_fact(json.loads(row["value"])) for row in rows if row["value"]]
        chat = self._chat.of(scope)
        try:
            extracted, summary = await llm.read(chat, [note for _, note in stored_messages], known_facts)
        except KeepsError as error:
            log().warning("the LLM did not read a conversation; the job retries later", error=error.code)
            run.counts["llm_away"] += 1
            return run.now + max(RETRY_DELAY, (run.now - notes.updated_at) / 2)
        cost = chat.made(len(extracted) + bool(summary)) if extracted or summary else None
        return [(fact, *stored_messages[fact.position]) for fact in extracted], summary, cost


def _as_fact(value: dict[str, str]) -> Fact:
    return Fact(value.get("entity", ""), value.get("attribute", ""), value.get("value", ""), "")
