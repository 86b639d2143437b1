# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""The log over HTTP: pages of it, and events as they happen."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from keeps_client._requests import EventStreamParser, call, parsed, reconnect_seconds
from keeps_client._sync.transport import Transport
from keeps_client.errors import RateLimitedError, UnavailableError
from keeps_client.models import Event
from keeps_client.validation import event_types, limited, memory_kinds, position_of

EVENT, EVENTS = TypeAdapter(Event), TypeAdapter(list[Event])


class LogClient:
    """Events of this user, and those of memories that others share."""

    _transport: Transport

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        limit: int = 100,
    ) -> builtins.list[Event]:
        """Events after number `after`, oldest first. `types`: such as "memory.written", or "memory.*"; `kinds`: of memories."""
        query = {
            "after": position_of(after), "types": _joined(event_types(types)), "kinds": _joined(memory_kinds(kinds)), "limit": limited(limit),
        }  # fmt: skip
        return parsed(EVENTS, self._transport.send(call("GET", "events", query=query)))

    def subscribe(
        self,
        *,
        after: int | None = None,
        types: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Iterator[Event]:
        """Events as they happen, in order, without end: those after number `after`, or those to come.

        None is lost or doubled: where the connection ends, it is made again, and goes on after the last event. Keep the
        `sequence` of the last one you handled, and subscribe after it. Raises what the server refuses.
        """
        position = None if after is None else position_of(after)
        query = {"types": _joined(event_types(types)), "kinds": _joined(memory_kinds(kinds))}
        failures = 0
        while True:
            wanted = call("GET", "events", "stream", query={**query, "after": position})
            parser = EventStreamParser()
            try:
                for chunk in self._transport.stream(wanted):
                    failures = 0
                    for sequence, data in parser.feed(chunk):
                        position = sequence
                        if data is not None:
                            yield EVENT.validate_json(data)
            except (UnavailableError, RateLimitedError):
                failures += 1
            self._transport.pause(reconnect_seconds(failures))


def _joined(names: Sequence[str] | None) -> str | None:
    return None if names is None else ",".join(names)
