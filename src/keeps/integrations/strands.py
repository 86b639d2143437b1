"""Strands Agents: a store of memories for its MemoryManager.

    agent = Agent(model=model, memory_manager=MemoryManager(stores=[KeepsMemoryStore(user_id="alice")]))

The manager adds memories to the messages for the model, offers its tools, and hands over the messages of the agent,
from which Keeps learns without a model. Strands passes no user, so each user has a store.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

try:
    from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, MemoryStore, SearchOptions
    from strands.types.content import Message
except ImportError as error:
    raise ImportError("keeps.integrations.strands needs Strands Agents: pip install 'keeps[strands]'") from error

from keeps.engine import Keeps
from keeps.integrations.memory_tools import found
from keeps.integrations.owners import NOT_ALLOWED, Owners, question_of
from keeps.integrations.sentences import FOR_OPERATORS, sentence
from keeps.integrations.storable import storable
from keeps.integrations.turns import store_turns, turns_of
from keeps_client.errors import KeepsError
from keeps_client.memory.whole import Memory
from keeps_client.models.common import MAX_LIMIT

AnswerT = TypeVar("AnswerT")
MOST_FOUND = 10
MESSAGES_KNOWN = 10_000
"""Number of newest messages of a run whose times are known, so that they are not stored twice."""
SETTINGS = ("tags", "importance", "ttl_days", "namespace", "key")


class MemoryWriteError(RuntimeError):
    """A memory could not be stored. The message is a sentence that a model can act on."""


class KeepsMemoryStore(MemoryStore):
    """The memories of one user, for one agent: an agent counts its messages from 0.

    While memory is unavailable, a search finds nothing; `failures` counts that. A write raises MemoryWriteError: the
    manager logs it, shows it to the model if a tool caused it, and hands over messages again.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner; without it the user of the token.
        name: The name of the store in the manager and its tools.
        description: What the model reads about the store.
        max_search_results: Default number of results.
        min_relevance: From 0 to 1: leave out less relevant results. Without it the nearest are returned, each with its
            `relevance`, and `weak` if it may only be related.
        session_id: The conversation of the messages; without it, each agent has its own.
        writable: Whether the agent may store anything.
        extraction: When the manager hands over messages, as Strands defines it; False: never.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        name: str = "keeps",
        description: str | None = "What the user said in earlier conversations",
        max_search_results: int = MOST_FOUND,
        min_relevance: float | None = None,
        session_id: str | None = None,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
    ) -> None:
        if not name.strip():
            raise ValueError("name is empty")
        if not 1 <= max_search_results <= MAX_LIMIT:
            raise ValueError(f"max_search_results must be 1 to {MAX_LIMIT}, not {max_search_results}")
        self.name = name
        self.description = description
        self.max_search_results: int | None = max_search_results
        self._most = max_search_results
        self.writable = writable
        self.extraction = writable if extraction is None else extraction
        self._user_id = user_id
        self._min_relevance = min_relevance
        self._given_session_id = session_id
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)
        self._start_run()

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def initialize(self) -> None:
        """Begin a run: an agent takes the store, and counts its messages from 0."""
        self._start_run()

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories nearest to a question, best first."""
        question = question_of(query)
        if not question:
            return []
        limit = max(1, min((options or {}).get("max_search_results") or self._most, MAX_LIMIT))
        try:
            result = await self._owners.ask(
                self._user_id,
                lambda memory: memory.recall(question, limit=limit, min_relevance=self._min_relevance),
            )
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("search", error)
            return []
        shown = [found(hit.memory, hit.relevance, hit.newer_id).model_dump(exclude_none=True) for hit in result.hits]
        return [MemoryEntry(content=hit.pop("text"), metadata=hit) for hit in shown]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Store a memory; the same text again changes nothing. Return its id and what was done.

        `tags`, `importance`, `ttl_days`, `namespace` and `key` in the metadata are Keeps' own fields.
        """
        fields = dict(metadata or {})
        chosen = {name: fields.pop(name) for name in SETTINGS if name in fields}

        async def store(memory: Memory) -> dict[str, str]:
            receipt = await memory.remember(storable(content), metadata=fields or None, **chosen)
            return {"id": str(receipt.memory_id), "status": receipt.status}

        return await self._write("add", store)

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> int:
        """Store messages as a conversation, with the facts that the user states. Return the number of messages.

        Messages with the same sequence numbers are stored once. Tools, images and reasoning are left out.
        """
        numbers = context.sequence_numbers if context is not None else None
        if numbers is not None and len(numbers) != len(messages):
            raise ValueError(f"{len(messages)} messages have {len(numbers)} sequence numbers")
        stored: list[dict[str, Any]] = []
        for position, message in enumerate(messages):
            text = "\n".join(text for block in message["content"] if (text := block.get("text")))
            turn: dict[str, Any] = {"role": message["role"], "content": text}
            if numbers is not None:
                turn["occurred_at"] = self._time_of(numbers[position])
            stored.append(turn)
        turns, session_id = turns_of(stored), self._session_id
        await self._write("add_messages", lambda memory: store_turns(memory, turns, session_id))
        return len(messages)

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    def close_now(self) -> None:
        """Close what this object opened, without await."""
        self._owners.close_now()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _start_run(self) -> None:
        self._session_id = self._given_session_id or f"strands-{uuid.uuid4()}"
        self._times: OrderedDict[int, datetime] = OrderedDict()

    def _time_of(self, number: int) -> datetime:
        """Return the time at which a message was handed over first.

        It is the identity of a message in its conversation, with its text: the same one again is not stored again.
        """
        if number not in self._times:
            latest = next(reversed(self._times.values()), datetime.min.replace(tzinfo=UTC))
            now = datetime.now(UTC)
            self._times[number] = now if now > latest else latest + datetime.resolution
            while len(self._times) > MESSAGES_KNOWN:
                self._times.popitem(last=False)
        return self._times[number]

    async def _write(self, what: str, work: Callable[[Memory], Awaitable[AnswerT]]) -> AnswerT:
        try:
            return await self._owners.ask(self._user_id, work)
        except KeepsError as error:
            if isinstance(error, FOR_OPERATORS):
                self._owners.failed(what, error)
            raise MemoryWriteError(sentence(error)) from error
