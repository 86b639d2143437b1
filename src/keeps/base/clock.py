"""Time and time-ordered ids, passed in where it matters so that tests can set them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time in UTC, to the microsecond, as precise as PostgreSQL."""
    return datetime.now(UTC)


class _Uuid7Sequence:
    """UUIDv7 (RFC 9562, method 1): a 48-bit millisecond, then a counter, so ids of one process sort as made.

    A clock that jumps back does not break the order: the last millisecond is kept until time catches up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = 0
        self._counter = 0

    def next(self) -> UUID:
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now > self._millisecond:
                self._millisecond = now
                self._counter = int.from_bytes(os.urandom(4), "big") >> 8
            else:
                self._counter += 1
            millisecond, counter = self._millisecond, self._counter
        # 12 + 30 bits of counter in rand_a and the top of rand_b; 32 random bits close the id.
        value = (millisecond & 0xFFFF_FFFF_FFFF) << 80
        value |= 0x7 << 76 | (counter >> 30 & 0xFFF) << 64
        value |= 0b10 << 62 | (counter & 0x3FFF_FFFF) << 32 | int.from_bytes(os.urandom(4), "big")
        return UUID(int=value)


_sequence = _Uuid7Sequence()


def new_id() -> UUID:
    """Return a new UUIDv7."""
    return _sequence.next()
