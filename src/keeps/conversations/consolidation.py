"""The job `sessions`: what is kept of a conversation that ended an hour ago, or was left a day ago.

Its summary becomes a memory, what an LLM reads in it becomes facts, what matters is promoted. With no LLM the rest is
done all the same. While one is away, or over its budget, the conversation waits as it is: its messages are stored
anyway.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from keeps.ai.counted import CountedChat
from keeps.conversations import llm
from keeps.conversations.facts import NAMESPACE, Fact
from keeps.conversations.llm import Read
from keeps.conversations.service import ConversationService, summary_memory
from keeps.db.session import Database, Tx
from keeps.db.statements import Statements
from keeps.lifecycle import promotion
from keeps.memories import store as memories
from keeps.memories.service import MemoryService
from keeps.operations.service import Change, Run, record
from keeps.scope import Scope
from keeps.sessions import store as sessions
from keeps.telemetry.logs import log
from keeps.tenants.usage import spent_on
from keeps_client.errors import KeepsError
from keeps_client.models import Note, Receipt, SessionNotes

QUERIES = Statements("keeps.conversations")
JOB = "sessions"
AT_ONCE = 20
READ_MESSAGES, KNOWN_FACTS = 60, 40
ASKED_AGAIN = timedelta(minutes=30)
WAITED = timedelta(days=3)
"""So long after its notes expire a conversation waits for an LLM that is away; then rules must do."""


class SessionConsolidation:
    """Keeps the essence of conversations. `tokens_a_day`: what a tenant's jobs may spend on the LLM."""

    def __init__(
        self,
        database: Database,
        exchanges: ConversationService,
        memory: MemoryService,
        chat: CountedChat | None,
        tokens_a_day: int,
    ) -> None:
        self._database = database
        self._exchanges = exchanges
        self._memory = memory
        self._chat = chat
        self._tokens_a_day = tokens_a_day

    async def consolidate_user(self, scope: Scope, run: Run) -> None:
        """All conversations of one user that are due."""
        while not run.is_over:
            async with self._database.scoped(scope) as tx:
                due = await sessions.notes_due(tx, run.now, AT_ONCE)
            for agent_id, notes in due:
                await self._consolidate(scope, run, agent_id, notes)
            if len(due) < AT_ONCE:
                break
        await promotion.promote_user(self._database, scope, run)

    async def _consolidate(self, scope: Scope, run: Run, agent_id: str, notes: SessionNotes) -> None:
        read = await self._read(scope, run, notes.session_id, agent_id)
        if isinstance(read, datetime) and run.now < notes.expires_at + WAITED:
            await self._database.write(scope, lambda tx: sessions.notes_done(tx, notes, agent_id, read))
            return
        found, summary = ([], "") if isinstance(read, datetime) else read
        plain = not any(note.role == "tool" for note in notes.items)
        if summary:
            notes = notes.model_copy(update={"summary": summary})

        async def work(tx: Tx) -> tuple[Receipt, list[Receipt]]:
            session = await sessions.get(tx, notes.session_id)
            made = summary_memory(
                notes, session.name if session else None, run.now, agent_id, trusted=not summary or plain
            )
            (receipt,) = await self._memory.apply(tx, await self._memory.prepare(scope, [made], index_now=False))
            facts: list[Receipt] = []
            for read, source, note in found:
                trust = "user" if note.role == "user" else "tool" if note.role == "tool" else "agent"
                facts += await self._exchanges.learn(
                    tx,
                    [read.fact],
                    said_at=note.at,
                    source=source,
                    session_id=notes.session_id,
                    read_by="llm",
                    trust=trust,
                )
            created = [each for each in (receipt, *facts) if each.status == "created"]
            rows = [await memories.lock(tx, each.memory_id) for each in created]
            if rows:
                await record(tx, run, [Change(None, row) for row in rows if row is not None])
            await sessions.notes_done(tx, notes, agent_id)
            return receipt, facts

        _, facts = await self._database.write(scope, work)
        run.counts["sessions"] += 1
        if facts:
            run.counts["facts"] += len(facts)

    async def _read(
        self, scope: Scope, run: Run, session_id: str, agent_id: str
    ) -> tuple[list[tuple[Read, UUID, Note]], str] | datetime:
        """What the LLM reads in the last messages; nothing where there is no LLM. While it is away, or the day's budget
        is spent: when to ask again."""
        if self._chat is None:
            return [], ""
        day = run.now.date()
        async with self._database.scoped(scope) as tx:
            spent = await spent_on(tx, day, JOB)
            said = await sessions.messages(tx, session_id, READ_MESSAGES, agent_id)
            rows = await tx.fetch(QUERIES["facts_known"], scope.tenant_id, scope.user_id, NAMESPACE, KNOWN_FACTS)
        if spent >= self._tokens_a_day:
            run.counts["over_llm_budget"] += 1
            return datetime.combine(day + timedelta(days=1), time(), UTC)
        known = [_as_fact(json.loads(row["value"])) for row in rows if row["value"]]
        try:
            found, summary = await llm.read(self._chat.of(scope), [note for _, note in said], known)
        except KeepsError as error:
            log().warning("the LLM did not read a conversation; it is asked again later", error=error.code)
            run.counts["llm_away"] += 1
            return run.now + ASKED_AGAIN
        return [(each, *said[each.position]) for each in found], summary


def _as_fact(value: dict[str, str]) -> Fact:
    return Fact(value.get("entity", ""), value.get("attribute", ""), value.get("value", ""), "")
