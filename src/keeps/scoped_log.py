"""The log of one scope: what happened, and what happens."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Sequence

from keeps.services import Scoped
from keeps_client.models import Event
from keeps_client.validation import event_types, limited, memory_kinds, position_of


class ScopedLog(Scoped):
    """Events of this scope: one's own, and those of memories that others share."""

    async def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        limit: int = 100,
    ) -> builtins.list[Event]:
        """Events after number `after`, oldest first. `types`: such as "memory.written", or "memory.*"; `kinds`: of memories."""
        return await self.services.events.page(
            self.scope,
            after=position_of(after),
            types=event_types(types),
            kinds=memory_kinds(kinds),
            limit=limited(limit),
        )

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        """Events as they happen, in order, without end: those after number `after`, or those to come.

        None is lost or doubled: keep the `sequence` of the last one you handled, and subscribe after it.
        """
        start = None if after is None else position_of(after)
        found = self.services.events.subscribe(
            self.scope, after=start, types=event_types(types), kinds=memory_kinds(kinds)
        )
        async for event in found:
            yield event
