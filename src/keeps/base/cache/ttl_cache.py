"""A cache that drops entries after a time without use."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


@dataclass(slots=True)
class _Entry(Generic[ValueT]):
    value: ValueT
    size: int
    used_at: float


class TtlCache(Generic[KeyT, ValueT]):
    """A cache of limited size whose entries expire. A timer on the event loop removes them, also without calls.

    - `room`: maximum sum of the sizes of all entries; beyond it the least recently used are evicted first.
    - `seconds`: lifetime of an entry after its last use, or with `renewed=False` after it was put.
    """

    def __init__(self, room: int, seconds: float, *, renewed: bool = True) -> None:
        self._room, self._seconds, self._renewed = room, seconds, renewed
        self._entries: OrderedDict[KeyT, _Entry[ValueT]] = OrderedDict()
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: KeyT) -> ValueT | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = time.monotonic()
        if entry.used_at <= now - self._seconds:
            self.remove(key)
            return None
        if self._renewed:
            entry.used_at = now
            self._entries.move_to_end(key)
        return entry.value

    def put(self, key: KeyT, value: ValueT, size: int = 1) -> None:
        """Store a value, replacing the previous one. A value larger than the whole cache is dropped."""
        self.remove(key)
        if size > self._room:
            return
        self._entries[key] = _Entry(value, size, time.monotonic())
        self._size += size
        while self._size > self._room:
            self.remove(next(iter(self._entries)))
        self._watch()

    def drop(self, chosen: Callable[[KeyT], bool] = lambda _: True) -> None:
        """Remove the entries whose keys `chosen` selects; all by default."""
        for key in [key for key in self._entries if chosen(key)]:
            self.remove(key)
        if not self._entries and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def remove(self, key: KeyT) -> None:
        removed = self._entries.pop(key, None)
        self._size -= removed.size if removed is not None else 0

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        before = time.monotonic() - self._seconds
        while self._entries and next(iter(self._entries.values())).used_at <= before:
            self.remove(next(iter(self._entries)))
        if self._entries:
            self._watch()
