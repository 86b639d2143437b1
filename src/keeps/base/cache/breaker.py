"""A circuit breaker: after three failures in a row, calls are skipped for a while. Pure except for the clock."""

from __future__ import annotations

import time

FAILURES = 3
REST_SECONDS = 10.0


class Breaker:
    """Counts consecutive failures. While it is open, no call is made; after `rest_seconds` one call may try again."""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self.rest_seconds = rest_seconds
        self._failures = 0
        self._until = 0.0

    def is_open(self) -> bool:
        return time.monotonic() < self._until

    def lets_through(self) -> bool:
        """Return whether a call may be made.

        After the rest, only one caller may try, until its outcome is known or another rest has passed.
        """
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
