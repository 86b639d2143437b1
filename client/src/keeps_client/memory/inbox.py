"""The inbox: memories that wait for a person."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from keeps_client.memory.base import Doing
from keeps_client.models import HeldMemory, InboxCount, Operation, Page, TrustedSource
from keeps_client.models.inbox import (
    APPROVE_HELD,
    COUNT_INBOX,
    DISTRUST_SOURCE,
    DROP_HELD,
    LIST_INBOX,
    LIST_TRUSTED_SOURCES,
    TRUST_SOURCE,
)
from keeps_client.models.names import HeldFor


class Inbox(Doing):
    """Memories that wait, and the sources whose memories do not."""

    async def inbox(
        self, *, reason: HeldFor | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[HeldMemory]:
        """Return memories that wait for a decision, newest first; nothing else finds them.

        `reason`: instructions, hidden_text, flood or contradiction.
        """
        return await self._do(LIST_INBOX, reason=reason, limit=limit, cursor=cursor)

    async def inbox_count(self) -> InboxCount:
        """Return the number of memories that wait, up to 1,000, by reason."""
        return await self._do(COUNT_INBOX)

    async def approve_held(self, memory_ids: Sequence[UUID | str]) -> Operation:
        """Let memories out of the inbox, so that they are found; `undo` takes the operation back.

        A current memory of the same key is superseded. Raises NotFoundError if one of them does not wait.
        """
        return await self._do(APPROVE_HELD, memory_ids=list(memory_ids))

    async def drop_held(self, memory_ids: Sequence[UUID | str]) -> Operation:
        """Forget memories that wait; `undo` takes the operation back within 30 days. Raises NotFoundError."""
        return await self._do(DROP_HELD, memory_ids=list(memory_ids))

    async def trusted_sources(self) -> list[TrustedSource]:
        """Return the sources whose memories do not wait."""
        return await self._do(LIST_TRUSTED_SOURCES)

    async def trust_source(self, source: str) -> Operation:
        """Approve what waits from a source, and let its later memories in at once; `undo` takes it back."""
        return await self._do(TRUST_SOURCE, source=source)

    async def distrust_source(self, source: str) -> TrustedSource:
        """Trust a source no longer. Raises NotFoundError if it is not trusted."""
        return await self._do(DISTRUST_SOURCE, source=source)
