"""Store exchanges: messages become memories, with notes and facts, in one transaction."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from keeps.base.cache.redis import RedisCache, session_key
from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.text.trust import origin_of, trust_of, with_trust
from keeps.memory.conversations import rules
from keeps.memory.conversations.facts import COST, NAMESPACE, Cost
from keeps.memory.conversations.learning import FactWriter, NewFact
from keeps.memory.memories import answers
from keeps.memory.memories import store as memories
from keeps.memory.memories.answers import RECEIPT
from keeps.memory.memories.changes import Write
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.types import MemoryRow, fact_hash
from keeps.state.sessions import notes as folding
from keeps.state.sessions import store as sessions
from keeps.state.sessions.notes import CONSOLIDATED_AFTER_END
from keeps.state.sessions.service import SessionService
from keeps.store.db.answers import Answer, StoredAnswer
from keeps.store.db.session import Database, Row, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.checked import validated
from keeps_client.errors import ConflictError, KeepsError, NotFoundError
from keeps_client.models import (
    Deleted,
    ExchangeReceipt,
    Message,
    NewActivity,
    NewExchange,
    NewMemory,
    Note,
    Receipt,
    SessionNotes,
)
from keeps_client.models.names import Trust

REBUILT_FROM = 200
"""Number of last messages from which missing or expired notes of a conversation are rebuilt."""
READ_AT_ONCE = 20_000
"""Characters of messages that are read on the event loop: some 10 ms."""
SUMMARIES = "sessions"
"""Namespace of conversation summaries, keyed by session id."""
MESSAGES = ("message", "tool_result")
"""Content types of the messages of a conversation."""
SUMMARY_ATTEMPTS = 3
SUMMARY = "session_summary"
"""Content type of conversation summaries."""
CONTEXT_BEGIN, CONTEXT_END = "<!-- keeps:context", "<!-- /keeps:context -->"
FACTS_OF_A_MESSAGE, FACTS_OF_AN_EXCHANGE = 20, 50
"""Maximum number of facts per message and per exchange, so that one write does not delay a tenant's others."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A message, prepared before the transaction. Without `memory` and `write` it had only contexts of Keeps in it."""

    message: Message
    memory: NewMemory | None
    write: Write | None
    facts: Sequence[NewFact]


class ConversationService:
    """Manages conversations. `kept`: how long notes are kept after the last exchange."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        memory: MemoryService,
        sessions: SessionService,
        cache: RedisCache | None,
        clock: Clock,
        kept: timedelta = folding.KEPT,
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._memory = memory
        self._sessions = sessions
        self._cache = cache
        self._clock = clock
        self._kept = kept
        self.facts = FactWriter(memory)
        self._answer: Answer[ExchangeReceipt] = Answer(_kept, self._given)

    async def store(self, scope: Scope, new: NewExchange) -> ExchangeReceipt:
        """Store messages as short-term memories, extract their facts, update the notes: all of it, or nothing."""
        now = self._clock()
        prepared = await self._prepare(scope, _with_speakers(scope, new), now)
        write = self._introducer.writing(scope, self._answer)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._store(tx, new.session_id, prepared, now)
        await self._share(scope, write.result.notes)
        self._memory.noticed(scope, *write.result.messages, *write.result.facts)
        return write.result

    async def _prepare(self, scope: Scope, new: NewExchange, now: datetime) -> list[_Said]:
        """Validate, stem and hash the messages and their facts, before the transaction."""
        for message in new.messages:
            self._memory.check_length(message.content)
        heard = [
            (message, self._memory_of(message, new, now, position)) for position, message in enumerate(new.messages)
        ]
        writes = iter(
            await self._memory.prepare(scope, [memory for _, memory in heard if memory is not None], index_now=False)
        )
        prepared: list[_Said] = []
        for message, memory in heard:
            if memory is None:
                prepared.append(_Said(message, None, None, ()))
                continue
            write, said_at = next(writes), memory.valid_from or now
            facts: Sequence[NewFact] = ()
            if message.role == "user" and _own(memory):
                facts = await self.facts.prepare(
                    scope,
                    rules.read_facts(memory.content, FACTS_OF_A_MESSAGE, said_at=None if message.speaker else said_at),
                    said_at=said_at,
                    source=write.memory_id,
                    session_id=new.session_id,
                    trust=trust_of(memory.role, memory.source, memory.metadata),
                    speaker=message.speaker,
                    agent_id=new.agent_id,
                )
            prepared.append(_Said(message, memory, write, facts))
            await asyncio.sleep(0)  # Yield between messages, so that other requests proceed.
        return prepared

    async def _store(self, tx: Tx, session_id: str, said: Sequence[_Said], now: datetime) -> ExchangeReceipt:
        await sessions.ensure(tx, session_id, now)
        repeated = {
            position: Receipt(status="unchanged", memory_id=memory_id)
            for position, item in enumerate(said)
            if (memory_id := await _known_as(tx, item)) is not None
        }
        new = {position: item.write for position, item in enumerate(said) if item.write and position not in repeated}
        stored = dict(zip(new, await self._memory.apply(tx, list(new.values())), strict=True))
        facts: list[Receipt] = []
        for position, receipt in stored.items():
            if (room := FACTS_OF_AN_EXCHANGE - len(facts)) > 0:
                facts += await self.facts.store(tx, said[position].facts[:room], source=receipt.memory_id)
        receipts = [(repeated | stored)[position] for position in range(len(said))]
        notes = await self._fresh_notes(tx, session_id, now) or await self._rebuilt(
            tx, session_id, now, before=receipts
        )
        created = [_as_note(said[position]) for position, receipt in stored.items() if receipt.status == "created"]
        notes = await self._fold(notes, created, now)
        await sessions.put_notes(tx, notes, notes.expires_at)
        return ExchangeReceipt(
            session_id=session_id,
            messages=tuple(receipts),
            facts=tuple(facts),
            recalled=len(repeated),
            notes=notes,
        )

    async def notes(self, scope: Scope, session_id: str) -> SessionNotes | None:
        """Return the notes of a conversation, from the cache, the database, or rebuilt from its messages.

        None if there are no messages.
        """
        key = session_key(scope.tenant_id, scope.user_id, session_id)
        now = self._clock()
        if (
            self._cache is not None
            and not scope.agent_bound
            and not scope.memories_only
            and (stored := await self._cache.get(key)) is not None
        ):
            cached = SessionNotes.model_validate(stored)
            if cached.expires_at > now:
                return cached
        async with self._database.scoped(scope) as tx:
            notes = await self._fresh_notes(tx, session_id, now) or await self._rebuilt(tx, session_id, now)
        if notes.message_count == 0:
            return None
        await self._share(scope, notes)
        return notes

    async def notes_from(
        self, session_id: str, stored: str | None, messages: Sequence[Row], now: datetime
    ) -> SessionNotes | None:
        """Return stored notes, or else notes rebuilt from the last messages, newest first; None without messages."""
        if stored is not None:
            notes = SessionNotes.model_validate_json(stored)
        else:
            earlier = [sessions.note_from_row(row) for row in reversed(messages)]
            notes = await self._fold(folding.empty(session_id, now, self._kept), earlier, now)
        return notes if notes.message_count else None

    async def end(self, scope: Scope, session_id: str) -> Receipt:
        """End a conversation: store its summary as a memory now; important memories are promoted in an hour."""
        now = self._clock()
        write = self._database.writing(scope, RECEIPT)
        async for attempt in write:
            async with attempt as tx:
                session = await sessions.get(tx, session_id)
                if session is None:
                    raise NotFoundError(f"no session {session_id!r}")
                notes = await self._fresh_notes(tx, session_id, now) or await self._rebuilt(tx, session_id, now)
                if session.ended_at is None:
                    ended = {"ended_at": now, "updated_at": now, "version": session.version + 1}
                    await sessions.replace(tx, session.model_copy(update=ended))
                await sessions.put_notes(
                    tx, notes.model_copy(update={"expires_at": now + self._kept}), now + CONSOLIDATED_AFTER_END
                )
                (summary,) = await self._memory.prepare(
                    scope,
                    [summary_memory(notes, session.name, now, sessions.notes_owner(scope))],
                    index_now=False,
                    derived=True,
                )
                (receipt,) = await self._memory.apply(tx, [summary])
                write.result = receipt
        return self._memory.noticed(scope, write.result)

    async def log_activity(self, scope: Scope, new: NewActivity) -> Receipt:
        """Store an agent's own activity as a short-term memory of low importance."""
        memory = validated(
            NewMemory,
            {
                "content": new.content,
                "kind": "episodic",
                "content_type": new.activity,
                "role": "assistant",
                "session_id": new.session_id,
                "agent_id": new.agent_id,
                "metadata": new.metadata,
                "importance": 0.3,
                "valid_from": self._clock(),
                "tags": ("activity",),
            },
        )
        return await self._memory.remember(scope, memory, index_now=True)

    async def forget_derived(self, tx: Tx, message: MemoryRow, now: datetime, *, hard: bool) -> set[str]:
        """Forget what was derived from a message that is being forgotten, in the same transaction.

        These are its facts, and summaries that may contain it. Notes are rebuilt on demand.

        Returns:
            The owners of forgotten summaries of its conversation, for `summarise_again`: an agent, or "" for the user.
        """
        owners: set[str] = set()
        async with _as_user(tx):
            for row in await _derived_from(tx, message):
                if row.deleted_at is not None and not hard:
                    continue
                await self._memory.forget_stored(tx, row, now, hard=hard)
                if row.content_type == SUMMARY and row.deleted_at is None:
                    owners.add(row.agent_id or "")
            if message.session_id is not None:
                await sessions.drop_notes(tx, message.session_id)
        return owners

    async def restore_derived(self, tx: Tx, message: MemoryRow, now: datetime) -> set[str]:
        """Restore what was forgotten together with a message, unless its key is in use again.

        Returns the owners of summaries that were forgotten with it, as `forget_derived` does.
        """
        owners: set[str] = set()
        async with _as_user(tx):
            for row in await _derived_from(tx, message):
                if row.deleted_at != message.deleted_at or row.superseded_by is not None:
                    continue
                if row.content_type == SUMMARY:
                    owners.add(row.agent_id or "")
                    continue
                with suppress(ConflictError):
                    await self._memory.restore_stored(tx, row, now)
            if message.session_id is not None:
                await sessions.drop_notes(tx, message.session_id)
        return owners

    async def summarise_again(self, scope: Scope, session_id: str, owners: Iterable[str]) -> None:
        """Write the summary of a conversation from its messages as they are now, for these owners of notes.

        The change before it is committed, so a failure here is logged, and the conversation has no summary.
        """
        for agent_id in sorted(owners):
            try:
                await self._summarise(Scope(scope.tenant_id, scope.user_id), session_id, agent_id)
            except KeepsError as error:
                log().warning("a summary was not written again", error=error.code)

    async def _summarise(self, user: Scope, session_id: str, agent_id: str) -> None:
        """Read the messages in a thread, since many long ones take seconds; begin anew if they changed meanwhile."""
        for _ in range(SUMMARY_ATTEMPTS):
            async with self._database.scoped(user) as tx:
                messages = await sessions.messages(tx, session_id, REBUILT_FROM, agent_id)
                session = await sessions.get(tx, session_id)
            if not messages:
                return
            name, notes = session.name if session else None, [note for _, note in messages]
            summary = await asyncio.to_thread(self._summary_of, session_id, name, notes, agent_id)
            prepared = await self._memory.prepare(user, [summary], index_now=False, derived=True)
            ids = [memory_id for memory_id, _ in messages]
            receipts: list[Receipt] = []
            async for attempt in self._database.writing(user):
                async with attempt as tx:
                    latest = await sessions.messages(tx, session_id, REBUILT_FROM, agent_id)
                    if [memory_id for memory_id, _ in latest] == ids:
                        receipts = await self._memory.apply(tx, prepared)
            if receipts:
                self._memory.noticed(user, *receipts)
                return

    def _summary_of(self, session_id: str, name: str | None, notes: Sequence[Note], agent_id: str) -> NewMemory:
        now = self._clock()
        return summary_memory(
            folding.fold(folding.empty(session_id, now, self._kept), notes, now, self._kept), name, now, agent_id
        )

    async def delete_session(self, scope: Scope, session_id: str) -> Deleted:
        """Delete a session and the copies of its notes; its plans stay. Raises NotFoundError."""
        deleted = await self._sessions.delete(scope, session_id)
        await self.drop_copies(scope, session_id)
        return deleted

    async def drop_copies(self, scope: Scope, session_id: str | None = None) -> None:
        """Delete the cached copies of a conversation's notes, or of all notes of a user."""
        if self._cache is not None:
            await self._cache.drop(
                session_key(scope.tenant_id, scope.user_id, session_id or ""), all_below=session_id is None
            )

    async def _given(self, tx: Tx, found: dict[str, Any]) -> ExchangeReceipt:
        """Return the answer to a repeated exchange, with the notes as they are now."""
        session_id, now = found["session_id"], self._clock()
        notes = await self._fresh_notes(tx, session_id, now) or await self._rebuilt(tx, session_id, now)
        messages = await answers.given(tx, found["messages"])
        facts = await answers.given(tx, found["facts"])
        return ExchangeReceipt(
            session_id=session_id, messages=tuple(messages), facts=tuple(facts), recalled=found["recalled"], notes=notes
        )

    async def _fresh_notes(self, tx: Tx, session_id: str, now: datetime) -> SessionNotes | None:
        return await sessions.get_notes(tx, session_id, now)

    async def _rebuilt(self, tx: Tx, session_id: str, now: datetime, before: Sequence[Receipt] = ()) -> SessionNotes:
        """Return notes rebuilt from the last stored messages. `before`: receipts of new messages to leave out."""
        new = {receipt.memory_id for receipt in before}
        earlier = [
            note for memory_id, note in await sessions.messages(tx, session_id, REBUILT_FROM) if memory_id not in new
        ]
        return await self._fold(folding.empty(session_id, now, self._kept), earlier, now)

    async def _fold(self, notes: SessionNotes, messages: Sequence[Note], now: datetime) -> SessionNotes:
        """Return the notes with further messages. Long messages are read in a thread, since they take a second."""
        fold = partial(folding.fold, notes, messages, now, self._kept)
        long = sum(len(message.text) for message in messages) > READ_AT_ONCE
        return await asyncio.to_thread(fold) if long else fold()

    async def _share(self, scope: Scope, notes: SessionNotes) -> None:
        if self._cache is not None and not scope.agent_bound and not scope.memories_only:
            key = session_key(scope.tenant_id, scope.user_id, notes.session_id)
            await self._cache.put(key, notes.model_dump(mode="json"), notes.message_count, self._kept)

    def _memory_of(self, message: Message, new: NewExchange, now: datetime, position: int) -> NewMemory | None:
        """Return the memory of a message, without the contexts that Keeps added; None if nothing else is left."""
        content = message.content if message.role == "tool" else without_contexts(message.content)
        content = content.strip() or ("" if message.role != "tool" else message.content)
        if not content:
            return None
        metadata = {**new.metadata, **message.metadata} | ({"speaker": message.speaker} if message.speaker else {})
        return validated(
            NewMemory,
            {
                "content": content,
                "kind": "episodic",
                "content_type": "tool_result" if message.role == "tool" else "message",
                "role": message.role,
                "session_id": new.session_id,
                "agent_id": new.agent_id,
                "metadata": metadata,
                "source": f"tool:{message.tool}"[:255] if message.tool else None,
                "valid_from": message.occurred_at or now - timedelta(microseconds=len(new.messages) - 1 - position),
            },
        )


def _kept(answer: ExchangeReceipt) -> StoredAnswer:
    messages, facts = ([answers.kept(each) for each in part] for part in (answer.messages, answer.facts))
    # Each message may be forgotten separately; the answer is kept as long as its conversation.
    fields: dict[str, Any] = {
        "session_id": answer.session_id,
        "messages": messages,
        "facts": facts,
        "recalled": answer.recalled,
    }
    return StoredAnswer(fields, [f"session:{answer.session_id}"])


def summary_memory(
    notes: SessionNotes,
    name: str | None,
    now: datetime,
    agent_id: str = "",
    *,
    trusted: bool = True,
    cost: Cost | None = None,
) -> NewMemory:
    """Return the memory of a conversation: its summary, decisions and action items.

    It carries the time of the conversation's last message, not of the job that writes it.

    Args:
        notes: The notes of the conversation.
        name: The name of the session.
        now: The time of writing; no summary is later.
        agent_id: The owner of the notes, if they are an agent's own.
        trusted: False if an LLM wrote the summary and had read text from a tool.
        cost: What the call of the LLM took.
    """
    held_at = min(now, max((note.at for note in notes.items), default=notes.updated_at))
    called = " ".join((name or notes.session_id).split())
    said = "1 message" if notes.message_count == 1 else f"{notes.message_count} messages"
    parts = [f"Conversation {called}, {held_at:%Y-%m-%d}: {said}."]
    parts += [folding.digest(notes)]
    metadata = with_trust({}, _trust_of_notes(notes) if trusted else "tool")
    if cost is not None:
        metadata[COST] = dict(cost)
    return NewMemory(
        content="\n".join(parts)[:8_000],
        kind="episodic",
        content_type=SUMMARY,
        namespace=SUMMARIES,
        key=hashlib.sha256(json.dumps([notes.session_id, agent_id]).encode()).hexdigest()[:32],
        session_id=notes.session_id,
        importance=0.6,
        valid_from=held_at,
        agent_id=agent_id or None,
        metadata=metadata,
    )


def _trust_of_notes(notes: SessionNotes) -> Trust:
    """Return the level of a digest of notes, which quotes users and agents, and no tool."""
    quoted = notes.summary.splitlines()
    by_agent = any(line.startswith(f"- {folding.BY_AGENT}") for line in quoted) or any(
        note.role != "user" for note in notes.items if note.kind in ("decision", "action_item")
    )
    digest = folding.digest(notes)
    return "agent" if by_agent or any(line.startswith(folding.BY_AGENT) for line in digest.splitlines()) else "user"


async def _derived_from(tx: Tx, message: MemoryRow) -> list[MemoryRow]:
    """Return the facts and summaries derived from a memory, locked: with those of its conversation if it is a message.

    A summary that was written before the message does not contain it. One of another agent does not, either.
    """
    session_id = message.session_id if message.content_type in MESSAGES else None
    rows: list[MemoryRow] = []
    for memory_id in await sessions.derived_from(tx, message.memory_id, session_id):
        row = await memories.lock(tx, memory_id)
        if row is None:
            continue
        of_session = row.content_type == SUMMARY
        if of_session and (row.updated_at < message.created_at or row.agent_id not in (None, message.agent_id)):
            continue
        rows.append(row)
    return rows


@asynccontextmanager
async def _as_user(tx: Tx) -> AsyncGenerator[None]:
    """Run as the user: an agent's token sees only its own notes, and the user's notes contain the message, too."""
    scope = tx.scope
    if scope.space_id is not None:  # Row security checks the membership, and hides no agent's notes in a space.
        yield
        return
    await tx.become(Scope(scope.tenant_id, scope.user_id))
    yield
    await tx.become(scope)


def without_contexts(text: str) -> str:
    """Return the text without the contexts that Keeps added to the prompt. An unclosed mark stays."""
    parts: list[str] = []
    place = 0
    while (begin := text.find(CONTEXT_BEGIN, place)) >= 0 and (end := text.find(CONTEXT_END, begin)) >= 0:
        parts.append(text[place:begin])
        place = end + len(CONTEXT_END)
    return "".join((*parts, text[place:]))


async def _known_as(tx: Tx, said: _Said) -> UUID | None:
    """Return the known fact that a message only repeats, probably recalled from memory; None for a new message.

    A message of which nothing is left to store has the id 0 if it repeats no fact.
    """
    if said.write is not None and said.message.role not in ("assistant", "system"):
        return None
    content = said.message.content
    known = await memories.fact(tx, fact_hash(content)) or await memories.said(tx, NAMESPACE, content.strip())
    return known or (UUID(int=0) if said.write is None else None)


def _as_note(said: _Said) -> Note:
    memory = said.memory
    if memory is None or memory.valid_from is None:
        raise AssertionError("a message that is stored has a time")
    role = said.message.role if _own(memory) else "tool"
    return Note(kind="message", text=memory.content, role=role, at=memory.valid_from)


def _with_speakers(scope: Scope, new: NewExchange) -> NewExchange:
    """Return the messages of a space with their speakers: the acting user, unless others are named."""
    if scope.space_id is None:
        return new
    messages = [
        message.model_copy(update={"speaker": scope.acting})
        if message.role == "user" and not message.speaker
        else message
        for message in new.messages
    ]
    return new.model_copy(update={"messages": messages})


def _own(memory: NewMemory) -> bool:
    """Return whether a memory contains the user's or agent's own words, not text from a tool or page."""
    return origin_of(memory.role, memory.source, memory.metadata) == "own"
