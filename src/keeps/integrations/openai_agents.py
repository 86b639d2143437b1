"""OpenAI's Agents SDK: the session of a conversation, and what it teaches about its user.

    session = KeepsSession("monday", user_id="alice")
    result = await Runner.run(agent, "I moved to York.", session=session)

The items of a session are stored as they are, as a transcript. What the user and the agent say is stored as a
conversation, too, so that `recall` and `context` find it in other sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:
    raise ImportError("keeps.integrations.openai_agents needs the SDK: pip install 'keeps[openai-agents]'") from error

from keeps.engine import Keeps
from keeps.integrations.owners import Owners, context_for
from keeps.integrations.transcripts import append_entries, delete_session, item_of, new_entry, read_entries
from keeps.integrations.turns import learn_from
from keeps_client.errors import NotFoundError
from keeps_client.memory.whole import Memory

APP = "openai-agents"
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
        entries, _ = await self._owners.ask(
            self.user_id, lambda memory: read_entries(memory, self._app, self.session_id, last=last)
        )
        return [item_of(entry) for entry in entries]

    async def add_items(self, items: list[Item]) -> None:
        """Append items, in order."""
        if not items:
            return
        entries = [new_entry(item) for item in items]
        await self._owners.ask(self.user_id, lambda memory: append_entries(memory, self._app, self.session_id, entries))
        if self._learn:
            await learn_from(self._owners, self.user_id, _messages(items), session_id=self.session_id)

    async def pop_item(self) -> Item | None:
        """Remove the newest item and return it; None if there is none."""

        async def remove(memory: Memory) -> Item | None:
            removed = await memory.remove_last_entry(self._app, self.session_id)
            return None if removed.entry is None else item_of(removed.entry)

        try:
            return await self._owners.ask(self.user_id, remove)
        except NotFoundError:
            return None

    async def clear_session(self) -> None:
        """Erase all items. What was learned from them stays; `forget` removes it."""
        await self._owners.ask(self.user_id, lambda memory: delete_session(memory, self._app, self.session_id))

    async def context(self, message: str, *, budget_tokens: int = 2_000) -> str:
        """Return what is known for a message, as text for instructions; empty if memory is unavailable."""
        context = await context_for(
            self._owners, self.user_id, message, session_id=self.session_id, budget_tokens=budget_tokens
        )
        return "" if context is None else context.prompt

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _messages(items: Sequence[Item]) -> Iterator[dict[str, str]]:
    """Yield what users and agents say in items; tools, reasoning and other items are left out."""
    for item in items:
        role = item.get("role") if isinstance(item, dict) else None
        if role in ("user", "assistant") and item.get("type", "message") == "message":
            content = item.get("content")
            parts = [content] if isinstance(content, str) else [_part(part) for part in content or ()]
            yield {"role": role, "content": "\n".join(part for part in parts if part.strip())}


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""
