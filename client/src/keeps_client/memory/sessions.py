"""Sessions: stored conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keeps_client.memory.base import Doing
from keeps_client.models import Deleted, Page, Session
from keeps_client.models.sessions import CREATE_SESSION, DELETE_SESSION, GET_SESSION, LIST_SESSIONS, UPDATE_SESSION


class Sessions(Doing):
    """Methods for sessions."""

    async def create_session(
        self,
        name: str | None = None,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Session:
        """Store a new conversation; without `session_id`, an id is generated."""
        return await self._do(CREATE_SESSION, session_id=session_id, name=name, agent_id=agent_id, metadata=metadata)

    async def get_session(self, session_id: str) -> Session:
        """Return a session. Raises NotFoundError."""
        return await self._do(GET_SESSION, session_id=session_id)

    async def find_session(self, session_id: str) -> Session | None:
        """Return a session, or None if there is none."""
        return await self._find(GET_SESSION, session_id=session_id)

    async def update_session(self, session_id: str, **changes: Any) -> Session:
        """Change the given fields (those of SessionChange); without any, only update its last interaction."""
        return await self._do(UPDATE_SESSION, session_id=session_id, body=changes)

    async def delete_session(self, session_id: str, *, missing_ok: bool = False) -> Deleted:
        """Delete a session; its plans stay. Raises NotFoundError; with `missing_ok`, `deleted` is False instead."""
        return await self._delete(DELETE_SESSION, missing_ok, session_id=session_id)

    async def list_sessions(
        self, *, ended: bool | None = None, limit: int = 20, cursor: str | None = None
    ) -> Page[Session]:
        """Return sessions, newest first, a page at a time.

        `ended`: True for those that `end_session` ended, False for the others, None for both.
        """
        return await self._do(LIST_SESSIONS, ended=ended, limit=limit, cursor=cursor)
