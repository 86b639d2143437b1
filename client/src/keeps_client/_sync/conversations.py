# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Conversations: their messages and activities, and summaries of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keeps_client._sync.base import Doing
from keeps_client.models import ActivityKind, ExchangeReceipt, Message, Receipt, SessionNotes
from keeps_client.models.conversations import END_SESSION, LOG_ACTIVITY, SESSION_NOTES, STORE_EXCHANGE
from keeps_client.models.memories import Role

DEFAULT_SESSION = "default"
"""The conversation of messages that name none."""


class Conversations(Doing):
    """Methods for conversations."""

    def store_exchange(
        self,
        messages: Sequence[Message | Mapping[str, object]],
        *,
        session_id: str,
        agent_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        space: str | None = None,
    ) -> ExchangeReceipt:
        """Store messages as short-term memories, extract the facts that the user states, and update the session's
        notes.

        At most 100 messages at a time, such as `{"role": "user", "content": "…"}`, all or none. A message that only
        repeats a context given by Keeps is not stored again. `space`: store them in this space, for its members.
        """
        return self._do(
            STORE_EXCHANGE, messages=messages, session_id=session_id, agent_id=agent_id, metadata=metadata, space=space
        )

    def say(
        self,
        content: str,
        *,
        session_id: str = DEFAULT_SESSION,
        role: Role = "user",
        speaker: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        space: str | None = None,
    ) -> ExchangeReceipt:
        """Store one message of a conversation, with the facts that it states: `store_exchange` for one message."""
        message = {"role": role, "content": content} | ({} if speaker is None else {"speaker": speaker})
        return self.store_exchange([message], session_id=session_id, agent_id=agent_id, metadata=metadata, space=space)

    def session_notes(self, session_id: str) -> SessionNotes | None:
        """Return the notes of a conversation, or None if it has no messages.

        Notes are a rolling summary, decisions, action items, tool results and the last messages. Use them to resume a
        session without reading all of it again.
        """
        return self._do(SESSION_NOTES, session_id=session_id)

    def end_session(self, session_id: str) -> Receipt:
        """End a conversation.

        The receipt is for its summary, stored as a memory. An hour later its important parts are promoted.
        """
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
        """Store an agent's own activity as a short-term memory of low weight.

        `activity`: `daily_log`, `recipe`, `task` or `heartbeat`.
        """
        return self._do(
            LOG_ACTIVITY,
            content=content,
            activity=activity,
            session_id=session_id,
            agent_id=agent_id,
            metadata=metadata,
        )
