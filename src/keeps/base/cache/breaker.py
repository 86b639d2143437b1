"""A circuit breaker: whoever failed three times in a row is left alone for a while. Pure, but for the clock."""

from __future__ import annotations

import time

FAILURES = 3
REST_SECONDS = 10.0


class Breaker:
    """Counts failures in a row. While it is open nobody is asked; after the rest it may be tried again."""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self.rest_seconds = rest_seconds
        self._failures = 0
        self._until = 0.0

    def is_open(self) -> bool:
        return time.monotonic() < self._until

    def lets_through(self) -> bool:
        """Whether to ask. Where the rest is over, only whoever asks first is let through, until it is known how that
        went, or another rest is over."""
        now = time.monotonic()
        if now < self._until:
            return False
        if self._until:
            self._until = now + self.rest_seconds
        return True

    def succeeded(self) -> None:
        self._failures = 0
        self._until = 0.0

    def failed(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._until = time.monotonic() + self.rest_seconds
