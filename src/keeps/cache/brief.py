"""What a process keeps while it is used: for some seconds after the last use, and no more than fits."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
HeldT = TypeVar("HeldT")


@dataclass(slots=True)
class _Kept(Generic[HeldT]):
    held: HeldT
    size: int
    used: float


class Brief(Generic[KeyT, HeldT]):
    """`room`: how much is kept together, in the unit of each entry's `size`; what was used longest ago goes first.
    `seconds`: what nobody used for so long goes as well, also where nobody comes any more; with `renewed=False` what
    was put so long ago, whoever used it."""

    def __init__(self, room: int, seconds: float, *, renewed: bool = True) -> None:
        self._room, self._seconds, self._renewed = room, seconds, renewed
        self._entries: OrderedDict[KeyT, _Kept[HeldT]] = OrderedDict()
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: KeyT) -> HeldT | None:
        kept = self._entries.get(key)
        if kept is None:
            return None
        now = time.monotonic()
        if kept.used <= now - self._seconds:
            self.remove(key)
            return None
        if self._renewed:
            kept.used = now
            self._entries.move_to_end(key)
        return kept.held

    def put(self, key: KeyT, held: HeldT, size: int = 1) -> None:
        """Keep it, in place of what was there; nothing of it where it alone is too large."""
        self.remove(key)
        if size > self._room:
            return
        self._entries[key] = _Kept(held, size, time.monotonic())
        self._size += size
        while self._size > self._room:
            self.remove(next(iter(self._entries)))
        self._watch()

    def drop(self, chosen: Callable[[KeyT], bool] = lambda _: True) -> None:
        """Forget what is chosen; all, where nothing is said."""
        for key in [each for each in self._entries if chosen(each)]:
            self.remove(key)
        if not self._entries and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def remove(self, key: KeyT) -> None:
        gone = self._entries.pop(key, None)
        self._size -= gone.size if gone is not None else 0

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        before = time.monotonic() - self._seconds
        while self._entries and next(iter(self._entries.values())).used <= before:
            self.remove(next(iter(self._entries)))
        if self._entries:
            self._watch()
