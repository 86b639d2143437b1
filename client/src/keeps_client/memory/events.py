"""The event log: past events, and live ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence

from keeps_client.memory.base import Doing
from keeps_client.models import Event
from keeps_client.models.events import LIST_EVENTS
from keeps_client.validation import event_types, memory_kinds


class Events(Doing):
    """Events of this user, and those of memories that others share."""

    async def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        limit: int = 100,
    ) -> list[Event]:
        """Return the events after number `after`, oldest first.

        `types`: such as "memory.written", or "memory.*"; `kinds`: of memories.
        """
        names = {"types": joined(event_types(types)), "kinds": joined(memory_kinds(kinds))}
        return await self._do(LIST_EVENTS, after=after, limit=limit, **names)

    @abstractmethod
    def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        """Yield events as they happen, in order and endlessly: those after number `after`, or new ones.

        No event is lost or repeated: the client reconnects and continues after the last event. Store
        the `sequence` of the last one you handled, and subscribe after it. Raises the errors of the server.
        """


def joined(names: Sequence[str] | None) -> str | None:
    return None if names is None else ",".join(names)
