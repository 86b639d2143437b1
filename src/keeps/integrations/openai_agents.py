"""OpenAI's Agents SDK: the session of a conversation, and what it teaches about its user.

    session = KeepsSession("monday", user_id="alice")
    result = await Runner.run(agent, "I moved to York.", session=session)

The items of a session are stored as they are, as a transcript. What the user and the agent say is stored as a
conversation, too, so that `recall` and `context` find it in other sessions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Self

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:
    raise ImportError("keeps.integrations.openai_agents needs the SDK: pip install 'keeps[openai-agents]'") from error

from keeps.engine import Keeps
from keeps.integrations.owners import NOT_ALLOWED, Owners
from keeps.integrations.turns import Turn, store_turns, turns_of
from keeps_client.checked import validated
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.memory.whole import Memory
from keeps_client.models import NewTranscriptEntry

APP = "openai-agents"
ITEMS_AT_ONCE, CHARACTERS_AT_ONCE = 500, 3_000_000
"""Number of items that one write appends, and of their characters, below the limit of a request's body."""
Item = Any
"""An input item of the Responses API, as the SDK stores it."""


class KeepsSession(SessionABC):
    """The history of one conversation of one user.

    Raises an error if the history cannot be read or written: a run without it would answer another question. If only
    its facts cannot be stored, the run continues; `failures` counts that.

    Args:
        session_id: The conversation, within the app.
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner; without it the user of the token.
        app: Sessions of several apps are kept apart.
        learn: Store what is said as a conversation, with the facts that the user states.
        session_settings: `limit`: the number of items that a run reads.
    """

    def __init__(
        self,
        session_id: str,
        keeps: Keeps | str | None = None,
        *,
        user_id: str | None = None,
        tenant_id: str | None = None,
        token: str | None = None,
        app: str = APP,
        learn: bool = True,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        self.user_id = user_id
        self._app = app
        self._learn = learn
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def failures(self) -> int:
        """Return how often the facts of messages could not be stored."""
        return self._owners.failures.total()

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the items, oldest first, or the newest `limit`. A negative limit means all."""
        most = resolve_session_limit(limit, self.session_settings)
        if most == 0:
            return []
        last = most if most is not None and most > 0 else None

        async def read(memory: Memory) -> list[Item]:
            part = await memory.get_transcript(self._app, self.session_id, last=last)
            entries = list(part.entries)
            while part.next_after is not None:
                part = await memory.get_transcript(self._app, self.session_id, after=part.next_after)
                entries += part.entries
            return [_item(entry.entry) for entry in entries]

        try:
            return await self._owners.ask(self.user_id, read)
        except NotFoundError:
            return []

    async def add_items(self, items: list[Item]) -> None:
        """Append items, in order."""
        if not items:
            return
        parts = _parts_of(
            [validated(NewTranscriptEntry, {"entry_id": str(uuid.uuid4()), "entry": _text(item)}) for item in items]
        )

        async def append(memory: Memory) -> None:
            for part in parts:
                await memory.append_to_transcript(self._app, self.session_id, part, create=True)

        await self._owners.ask(self.user_id, append)
        if self._learn and (turns := turns_of(_messages(items))):
            await self._store(turns)

    async def pop_item(self) -> Item | None:
        """Remove the newest item and return it; None if there is none."""

        async def remove(memory: Memory) -> Item | None:
            removed = await memory.remove_last_entry(self._app, self.session_id)
            return None if removed.entry is None else _item(removed.entry.entry)

        try:
            return await self._owners.ask(self.user_id, remove)
        except NotFoundError:
            return None

    async def clear_session(self) -> None:
        """Erase all items. What was learned from them stays; `forget` removes it."""

        async def erase(memory: Memory) -> None:
            await memory.delete_transcript(self._app, self.session_id)

        try:
            await self._owners.ask(self.user_id, erase)
        except NotFoundError:
            return

    async def context(self, message: str, *, budget_tokens: int = 2_000) -> str:
        """Return what is known for a message, as text for instructions; empty if memory is unavailable."""

        async def read(memory: Memory) -> str:
            context = await memory.context(message, session_id=self.session_id, budget_tokens=budget_tokens)
            return context.prompt

        try:
            return await self._owners.ask(self.user_id, read)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("context", error)
            return ""

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _store(self, turns: Sequence[Turn]) -> None:
        try:
            await self._owners.ask(self.user_id, lambda memory: store_turns(memory, turns, self.session_id))
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("store_exchange", error)


def _text(item: Item) -> str:
    """Return an item as JSON, which a database stores as it is: order of keys, numbers, and characters such as NUL."""
    return json.dumps(item, ensure_ascii=True)


def _parts_of(entries: Sequence[NewTranscriptEntry]) -> list[list[NewTranscriptEntry]]:
    """Return the entries in parts that one write takes."""
    parts: list[list[NewTranscriptEntry]] = []
    characters = CHARACTERS_AT_ONCE
    for entry in entries:
        size = len(str(entry.entry))
        characters += size
        if characters > CHARACTERS_AT_ONCE or len(parts[-1]) == ITEMS_AT_ONCE:
            parts.append([])
            characters = size
        parts[-1].append(entry)
    return parts


def _item(entry: Any) -> Item:
    return json.loads(entry)


def _messages(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Yield the roles and texts of messages in items; tools, reasoning and other items are left out."""
    for item in items:
        role = item.get("role") if isinstance(item, dict) else None
        if role in ("user", "assistant") and item.get("type", "message") == "message":
            content = item.get("content")
            parts = [content] if isinstance(content, str) else [_part(part) for part in content or ()]
            yield role, "\n".join(part for part in parts if part.strip())


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""
