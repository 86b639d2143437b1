"""Store exchanges: messages become memories, with notes and facts, in one transaction."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import JsonValue, ValidationError

from keeps.cache.redis import RedisCache, session_key
from keeps.clock import Clock
from keeps.conversations import rules
from keeps.conversations.facts import NAMESPACE, Fact, as_memory
from keeps.db.answers import Answer, Kept
from keeps.db.session import Database, Tx
from keeps.memories import answers
from keeps.memories import store as memories
from keeps.memories.answers import RECEIPT
from keeps.memories.service import MemoryService
from keeps.memories.types import MemoryRow, fact_hash
from keeps.scope import Scope
from keeps.sessions import notes as folding
from keeps.sessions import store as sessions
from keeps.sessions.notes import CONSOLIDATED_AFTER_END
from keeps.sessions.service import SessionService
from keeps.tenants.service import Introducer
from keeps.text.trust import OUTDATED, RULES, origin_of
from keeps_client.checked import validated
from keeps_client.errors import NotFoundError
from keeps_client.models import (
    Deleted,
    ExchangeReceipt,
    MemoryChange,
    Message,
    NewActivity,
    NewExchange,
    NewMemory,
    Note,
    Receipt,
    SessionNotes,
)

REBUILT_FROM = 200
"""Number of last messages from which missing or expired notes of a conversation are rebuilt."""
SUMMARIES = "sessions"
"""Namespace of conversation summaries, keyed by session id."""
CONTEXT_BEGIN, CONTEXT_END = "<!-- keeps:context", "<!-- /keeps:context -->"
FACTS_OF_A_MESSAGE, FACTS_OF_AN_EXCHANGE = 20, 50
"""Maximum number of facts per message and per exchange, so that one write does not delay a tenant's others."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A message without the context that Keeps added to the prompt. `memory` is None if nothing else is left."""

    message: Message
    memory: NewMemory | None


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
        self._answer: Answer[ExchangeReceipt] = Answer(_kept, self._given)

    async def store(self, scope: Scope, new: NewExchange) -> ExchangeReceipt:
        """Store messages as short-term memories, extract their facts, update the notes: all of it, or nothing."""
        now = self._clock()
        for message in new.messages:
            self._memory.check_length(message.content)
        heard = [self._heard(message, new, now, position) for position, message in enumerate(new.messages)]
        writes = await self._memory.prepare(scope, [item.memory for item in heard if item.memory], index_now=False)

        facts_by_message: list[list[Fact]] = []
        for item in heard:
            own = item.memory and item.message.role == "user" and _own(item.memory)
            facts_by_message.append(
                rules.read_facts(
                    item.memory.content,
                    FACTS_OF_A_MESSAGE,
                    said_at=None if item.message.speaker else item.memory.valid_from or now,
                )
                if item.memory and own
                else []
            )
            await asyncio.sleep(0)  # Yield between messages, so that other requests proceed.

        write = self._introducer.writing(scope, self._answer)
        async for attempt in write:
            async with attempt as tx:
                await sessions.ensure(tx, new.session_id, now)
                repeats = [item.memory is None or await _is_known(tx, item.message) for item in heard]
                fresh = iter(writes)
                wanted = [(next(fresh) if item.memory else None, repeats[at]) for at, item in enumerate(heard)]
                stored = iter(await self._memory.apply(tx, [write for write, old in wanted if write and not old]))
                receipts = [
                    next(stored) if write and not old else await self._repeated(tx, item.message)
                    for item, (write, old) in zip(heard, wanted, strict=True)
                ]
                facts: list[Receipt] = []
                for item, receipt, old, read in zip(heard, receipts, repeats, facts_by_message, strict=True):
                    if item.memory and not old and read and len(facts) < FACTS_OF_AN_EXCHANGE:
                        facts += await self.learn(
                            tx,
                            read[: FACTS_OF_AN_EXCHANGE - len(facts)],
                            said_at=item.memory.valid_from or now,
                            source=receipt.memory_id,
                            session_id=new.session_id,
                            speaker=item.message.speaker,
                            agent_id=new.agent_id,
                        )
                notes = await self._fresh_notes(tx, new.session_id, now) or await self._rebuilt(
                    tx, new.session_id, now, before=receipts
                )
                notes = folding.fold(
                    notes,
                    [
                        _as_note(item)
                        for item, receipt in zip(heard, receipts, strict=True)
                        if receipt.status == "created"
                    ],
                    now,
                    self._kept,
                )
                await sessions.put_notes(tx, notes, notes.expires_at)
                write.result = ExchangeReceipt(
                    session_id=new.session_id,
                    messages=tuple(receipts),
                    facts=tuple(facts),
                    recalled=sum(repeats),
                    notes=notes,
                )
        answer = write.result
        await self._share(scope, answer.notes)
        self._memory.noticed(scope, *answer.messages, *answer.facts)
        return answer

    async def notes(self, scope: Scope, session_id: str) -> SessionNotes | None:
        """Return the notes of a conversation, from the cache, the database, or rebuilt from its messages.

        None if there are no messages.
        """
        key = session_key(scope.tenant_id, scope.user_id, session_id)
        now = self._clock()
        if self._cache is not None and not scope.agent_bound and (stored := await self._cache.get(key)) is not None:
            cached = SessionNotes.model_validate(stored)
            if cached.expires_at > now:
                return cached
        async with self._database.scoped(scope) as tx:
            notes = await self._fresh_notes(tx, session_id, now) or await self._rebuilt(tx, session_id, now)
        if notes.message_count == 0:
            return None
        await self._share(scope, notes)
        return notes

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
                    scope, [summary_memory(notes, session.name, now, sessions.notes_owner(scope))], index_now=False
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

    async def learn(
        self,
        tx: Tx,
        facts: Sequence[Fact],
        *,
        said_at: datetime,
        source: UUID | None,
        session_id: str | None,
        read_by: str = RULES,
        trust: str = "user",
        speaker: str | None = None,
        agent_id: str | None = None,
    ) -> list[Receipt]:
        """Store facts inside a transaction of their user: as new, in place of an older value, or as the end of one.

        The user's own words may replace or end any fact; an agent's words, and text from tools or pages, only facts of
        the same origin.
        """
        done: list[Receipt] = []
        for fact in facts:
            if fact.until is not None and tx.scope.agent_bound:
                continue  # An appointment of one agent would block the same appointment told to another.
            if fact.ended:
                done += await self._ended(tx, fact, trust, said_at)
                continue
            stored = await memories.lock_key(tx, NAMESPACE, fact.key)
            whose = "user" if stored is None else stored.metadata.get("trust", "user")
            if stored is not None and trust not in ("user", whose):
                continue
            if stored is not None and _says(stored, fact) and trust == whose:
                done.append(Receipt(status="unchanged", memory_id=stored.memory_id, memory=stored.as_memory()))
                continue
            memory = as_memory(
                fact,
                said_at=said_at,
                source=source,
                session_id=session_id,
                read_by=read_by,
                trust=trust,
                speaker=speaker,
                agent_id=agent_id,
            )
            done += await self._memory.apply(tx, await self._memory.prepare(tx.scope, [memory], index_now=False))
            if stored is not None:
                await self._outdate(tx, stored, said_at)
        return done

    async def _ended(self, tx: Tx, fact: Fact, trust: str, at: datetime) -> list[Receipt]:
        """End a fact that is no longer true, whether its key contains the value or not."""
        receipts: list[Receipt] = []
        for key in dict.fromkeys((fact.key, replace(fact, keyed_by_value=True).key)):
            stored = await memories.lock_key(tx, NAMESPACE, key)
            if stored is None or trust not in ("user", stored.metadata.get("trust", "user")):
                continue
            if stored.valid_to is None and _same_value(stored.value, fact.value):
                change = MemoryChange(valid_to=at)
                receipts.append(await self._memory.change(tx, stored.memory_id, change, if_version=None))
                await self._outdate(tx, stored, at)
        return receipts

    async def _outdate(self, tx: Tx, fact: MemoryRow, at: datetime) -> None:
        """Mark in the source message of a fact that its sentence is no longer true."""
        source, sentence = fact.metadata.get("read_in"), fact.metadata.get("said")
        if not isinstance(source, str) or not isinstance(sentence, str):
            return
        message = await memories.lock(tx, UUID(source))
        if message is None or message.deleted_at is not None or sentence not in message.content:
            return
        outdated = message.metadata.get(OUTDATED, {})
        if not isinstance(outdated, dict):
            return  # The caller uses this metadata field for something else.
        metadata: dict[str, JsonValue] = {**message.metadata, OUTDATED: {**outdated, sentence: f"{at:%Y-%m-%d}"}}
        try:
            change = MemoryChange(metadata=metadata)
        except ValidationError:
            return  # The caller's metadata leaves no room.
        await self._memory.change(tx, message.memory_id, change, if_version=None)

    async def forget_what_was_made(self, tx: Tx, forgotten: MemoryRow, *, hard: bool) -> None:
        """Delete what was derived from a message that is being forgotten, in the same transaction.

        Its conversation's notes are rebuilt without it. With `hard`, summaries and facts read from it are erased as
        well.
        """
        scope = tx.scope
        # Run as the user: an agent's token sees only its own notes, and the user's notes contain the message, too.
        await tx.become(Scope(scope.tenant_id, scope.user_id))
        session_id = forgotten.session_id
        if session_id is not None:
            await sessions.drop_notes(tx, session_id)
        if hard:
            for memory_id in await sessions.made_of(tx, forgotten.memory_id, session_id):
                made = await memories.lock(tx, memory_id)
                if made is not None:
                    await self._memory.forget_stored(tx, made, hard=True)
        await tx.become(scope)

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
        return folding.fold(folding.empty(session_id, now, self._kept), earlier, now, self._kept)

    async def _share(self, scope: Scope, notes: SessionNotes) -> None:
        if self._cache is not None and not scope.agent_bound:
            key = session_key(scope.tenant_id, scope.user_id, notes.session_id)
            await self._cache.put(key, notes.model_dump(mode="json"), notes.message_count, self._kept)

    async def _repeated(self, tx: Tx, message: Message) -> Receipt:
        """Return the receipt of a message that only repeats a known fact."""
        found = await _known_as(tx, message.content)
        return Receipt(status="unchanged", memory_id=found or UUID(int=0))

    def _heard(self, message: Message, new: NewExchange, now: datetime, position: int) -> _Said:
        content = message.content if message.role == "tool" else _without_contexts(message.content)
        content = content.strip() or ("" if message.role != "tool" else message.content)
        if not content:
            return _Said(message, None)
        metadata = {**new.metadata, **message.metadata} | ({"speaker": message.speaker} if message.speaker else {})
        memory = validated(
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
        return _Said(message, memory)


def _kept(answer: ExchangeReceipt) -> Kept:
    messages, facts = ([answers.kept(each) for each in part] for part in (answer.messages, answer.facts))
    # Each message may be forgotten separately; the answer is kept as long as its conversation.
    fields: dict[str, Any] = {
        "session_id": answer.session_id,
        "messages": messages,
        "facts": facts,
        "recalled": answer.recalled,
    }
    return Kept(fields, [f"session:{answer.session_id}"])


def summary_memory(
    notes: SessionNotes, name: str | None, now: datetime, agent_id: str = "", *, trusted: bool = True
) -> NewMemory:
    """Return the memory of a conversation: its summary, decisions and action items.

    It carries the time of the conversation's last message, not of the job that writes it.

    Args:
        notes: The notes of the conversation.
        name: The name of the session.
        now: The time of writing; no summary is later.
        agent_id: The owner of the notes, if they are an agent's own.
        trusted: False if an LLM wrote the summary and had read text from a tool.
    """
    held_at = min(now, max((note.at for note in notes.items), default=notes.updated_at))
    called = " ".join((name or notes.session_id).split())
    parts = [f"Conversation {called}, {held_at:%Y-%m-%d}: {notes.message_count} messages."]
    parts += [folding.digest(notes)]
    return NewMemory(
        content="\n".join(parts)[:8_000],
        kind="episodic",
        content_type="session_summary",
        namespace=SUMMARIES,
        key=hashlib.sha256(json.dumps([notes.session_id, agent_id]).encode()).hexdigest()[:32],
        session_id=notes.session_id,
        importance=0.6,
        valid_from=held_at,
        agent_id=agent_id or None,
        metadata={} if trusted else {"trust": "tool"},
    )


def _without_contexts(text: str) -> str:
    """Return the text without the contexts that Keeps added to the prompt. An unclosed mark stays."""
    parts: list[str] = []
    place = 0
    while (begin := text.find(CONTEXT_BEGIN, place)) >= 0 and (end := text.find(CONTEXT_END, begin)) >= 0:
        parts.append(text[place:begin])
        place = end + len(CONTEXT_END)
    return "".join((*parts, text[place:]))


async def _is_known(tx: Tx, message: Message) -> bool:
    """Return whether an agent only repeats a known fact, probably recalled from memory."""
    return message.role in ("assistant", "system") and await _known_as(tx, message.content) is not None


async def _known_as(tx: Tx, content: str) -> UUID | None:
    return await memories.fact(tx, fact_hash(content)) or await memories.said(tx, NAMESPACE, content.strip())


def _as_note(said: _Said) -> Note:
    memory = said.memory
    if memory is None or memory.valid_from is None:
        raise AssertionError("a message that is stored has a time")
    role = said.message.role if _own(memory) else "tool"
    return Note(kind="message", text=memory.content, role=role, at=memory.valid_from)


def _own(memory: NewMemory) -> bool:
    """Return whether a memory contains the user's or agent's own words, not text from a tool or page."""
    return origin_of(memory.role, memory.source, memory.metadata) == "own"


def _says(held: MemoryRow, fact: Fact) -> bool:
    """Return whether a stored fact that is still true has the same value."""
    stored = _value_of(held.value)
    return held.valid_to is None and stored is not None and stored.casefold() == fact.value.casefold()


def _value_of(value: object) -> str | None:
    found: Any = value.get("value") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _same_value(held: object, value: str) -> bool:
    """Return whether a stored value equals `value` or contains its words."""
    stored, said = (_value_of(held) or "").casefold().split(), value.casefold().split()
    return bool(said) and any(stored[at : at + len(said)] == said for at in range(len(stored)))
