# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Conversations: what is said and done in them, and what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keeps_client._sync.base import Doing
from keeps_client.models import ActivityKind, ExchangeReceipt, Message, Receipt, SessionNotes
from keeps_client.models.conversations import END_SESSION, LOG_ACTIVITY, SESSION_NOTES, STORE_EXCHANGE


class Conversations(Doing):
    """What is said."""

    def store_exchange(
        self,
        messages: Sequence[Message | Mapping[str, object]],
        *,
        session_id: str,
        agent_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> ExchangeReceipt:
        """Store what was said: each message as a short-term memory, facts that the user states, and the session's
        notes.

        At most 100 messages at a time, such as `{"role": "user", "content": "…"}`. All of it is stored, or nothing.
        What only repeats a context that Keeps gave is not stored again.
        """
        return self._do(STORE_EXCHANGE, messages=messages, session_id=session_id, agent_id=agent_id, metadata=metadata)

    def session_notes(self, session_id: str) -> SessionNotes | None:
        """What a conversation is about: a rolling summary, decisions, action items, tool results, the last messages.
        None where nothing was said in it. With these a session is resumed, instead of reading all of it again."""
        return self._do(SESSION_NOTES, session_id=session_id)

    def end_session(self, session_id: str) -> Receipt:
        """End a conversation. The receipt is of the memory that sums it up; an hour later what matters of it is
        promoted."""
        return self._do(END_SESSION, session_id=session_id)

    def log_activity(
        self,
        content: str,
        *,
        activity: ActivityKind = "daily_log",
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Keep what an agent did by itself (`daily_log`, `recipe`, `task`, `heartbeat`): a short-term memory of little
        weight."""
        return self._do(
            LOG_ACTIVITY,
            content=content,
            activity=activity,
            session_id=session_id,
            agent_id=agent_id,
            metadata=metadata,
        )
