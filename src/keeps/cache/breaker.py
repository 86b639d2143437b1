"""A circuit breaker: whoever failed three times in a row is left alone for a while. Pure, but for the clock."""

from __future__ import annotations

import time

FAILURES = 3
REST_SECONDS = 10.0


class Breaker:
    """Counts failures in a row. While it is open nobody is asked; after the rest, one may try."""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self.rest_seconds = rest_seconds
        self._failures = 0
        self._until = 0.0

    def is_open(self) -> bool:
        return time.monotonic() < self._until

    def succeeded(self) -> None:
        self._failures = 0
        self._until = 0.0

    def failed(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._until = time.monotonic() + self.rest_seconds
