"""Microsoft Agent Framework: the user's context before each run, and the history of sessions.

    agent = Agent(
        client,
        context_providers=[KeepsHistoryProvider(user_id="alice"), KeepsContextProvider(user_id="alice")],
    )

For many users, `user_id` is a function of the session, such as `lambda session: session.state["user_id"]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

try:
    from agent_framework import (
        AgentSession,
        ContextProvider,
        HistoryProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
    )
except ImportError as error:
    raise ImportError(
        "keeps.integrations.agent_framework needs Agent Framework: pip install 'keeps[agent-framework]'"
    ) from error

from keeps.engine import Keeps
from keeps.integrations.owners import Owners, UserOf, context_for, user_from
from keeps.integrations.transcripts import append_entries, delete_session, item_of, new_entry, read_entries
from keeps.integrations.turns import learn_from
from keeps_client.errors import ConflictError
from keeps_client.memory.whole import Memory

APP = "agent-framework"
DEFAULT_SESSION = "default"
"""The session of messages that name none, as in the framework's own file provider."""
USER = "user_id"
"""The name in the provider's state under which it finds the user, whom the framework does not pass to all methods."""
ATTEMPTS = 8
_Owner = UserOf[AgentSession]


class KeepsContextProvider(ContextProvider):
    """Adds what is known for the messages of a run, and learns from what the user and the agent say.

    Lasting facts become instructions; the rest is a message before the user's. While memory is unavailable, nothing is
    added or learned; `failures` counts that.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: Whose memory it is: an id, or a function of the session. Without it: the user of the token.
        budget_tokens: Maximum tokens of the context.
        learn: Store what is said as a conversation, with the facts that the user states.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: _Owner = None,
        tenant_id: str | None = None,
        token: str | None = None,
        source_id: str = "keeps",
        budget_tokens: int = 2_000,
        learn: bool = True,
    ) -> None:
        super().__init__(source_id)
        self._user_id = user_id
        self._budget_tokens = budget_tokens
        self._learn = learn
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the context of the user."""
        del agent, state
        user_context = await context_for(
            self._owners,
            user_from(self._user_id, session),
            "\n".join(message.text for message in context.input_messages if message.role == "user"),
            session_id=context.session_id,
            budget_tokens=self._budget_tokens,
        )
        if user_context is None:
            return
        if user_context.stable:
            context.extend_instructions(self.source_id, user_context.stable)
        if user_context.volatile:
            context.extend_messages(self, [Message("user", [user_context.volatile])])

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Learn from the messages of the run."""
        del agent, state
        if not self._learn:
            return
        messages = [*context.input_messages, *(context.response.messages if context.response else ())]
        await learn_from(
            self._owners,
            user_from(self._user_id, session),
            ({"role": str(message.role), "content": message.text} for message in messages),
            session_id=context.session_id or DEFAULT_SESSION,
        )

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class KeepsHistoryProvider(HistoryProvider):
    """Stores the messages of sessions word for word, separate for each user and app.

    Messages that are stored again, such as the whole history of a session, are stored once, by the rules of the
    framework's own providers. Concurrent writers lose no messages. Raises an error if the history cannot be read or
    written: a run without it would answer another question.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        user_id: The owner of the sessions: an id, or a function of the session. Without it: the user of the token.
        app: Sessions of several apps are kept apart.
        options: The arguments of `HistoryProvider`, such as `load_messages` and `store_outputs`.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        user_id: _Owner = None,
        tenant_id: str | None = None,
        token: str | None = None,
        source_id: str = "keeps_history",
        app: str = APP,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._user_id = user_id
        self._app = app
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the history of the session."""
        self._name_user(session, state)
        await super().before_run(agent=agent, session=session, context=context, state=state)

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Store the messages of the run."""
        self._name_user(session, state)
        await super().after_run(agent=agent, session=session, context=context, state=state)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first.

        If `user_id` is a function, `state["user_id"]` names the user; in a run, the provider sets it.
        """
        del kwargs
        user_id = self._user(state)

        async def read(memory: Memory) -> list[Message]:
            entries, _ = await read_entries(memory, self._app, session_id or DEFAULT_SESSION)
            return [Message.from_dict(item_of(entry)) for entry in entries]

        return await self._owners.ask(user_id, read)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append the messages that are new."""
        del kwargs
        if not messages:
            return
        user_id, place = self._user(state), (self._app, session_id or DEFAULT_SESSION)

        async def append(memory: Memory) -> None:
            for attempt in range(ATTEMPTS):
                # One more than could overlap: then the messages cannot contain the whole history.
                entries, version = await read_entries(memory, *place, last=len(messages) + 1)
                stored = [Message.from_dict(item_of(entry)) for entry in entries]
                new = [new_entry(message.to_dict()) for message in new_messages(stored, messages)]
                try:
                    return await append_entries(memory, *place, new, expected_version=version)
                except ConflictError:
                    if attempt + 1 == ATTEMPTS:
                        raise
            return None

        await self._owners.ask(user_id, append)

    async def clear(self, session_id: str | None, *, state: dict[str, Any] | None = None) -> None:
        """Erase the messages of a session."""
        place = self._app, session_id or DEFAULT_SESSION
        await self._owners.ask(self._user(state), lambda memory: delete_session(memory, *place))

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _name_user(self, session: AgentSession, state: dict[str, Any]) -> None:
        if callable(self._user_id):
            state[USER] = user_from(self._user_id, session)

    def _user(self, state: Mapping[str, Any] | None) -> str | None:
        if not callable(self._user_id):
            return self._user_id
        return user_from(lambda named: str(named.get(USER) or ""), state or {})


def new_messages(stored: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
    """Return the messages that follow those already stored, if the given ones repeat them.

    As the framework's own providers do: the whole history or its end may be repeated. One message of a user without an
    id may have been said twice, so it does not count as repeated.
    """
    existing, incoming = [_identity(message) for message in stored], [_identity(message) for message in messages]
    uncertain = bool(stored) and stored[-1].role == "user" and stored[-1].message_id is None
    if existing:
        for start in range(len(incoming) - len(existing) + 1):
            if incoming[start : start + len(existing)] == existing:
                if start == 0 and len(existing) == 1 and uncertain:
                    break
                return list(messages[start + len(existing) :])
    for overlap in range(min(len(existing), len(incoming)), 0, -1):
        if existing[-overlap:] == incoming[:overlap] and not (overlap == 1 and uncertain):
            return list(messages[overlap:])
    return list(messages)


def _identity(message: Message) -> tuple[str, ...]:
    if message.message_id is not None:
        return "id", str(message.message_id)
    contents = json.dumps([content.to_dict() for content in message.contents], sort_keys=True)
    return "content", str(message.role), contents
