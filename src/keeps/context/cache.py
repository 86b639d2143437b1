"""Answers of recall, kept for five minutes while nothing in their scope was written.

Each entry knows the number of the last event that its scope could see when it was made. Whoever asks again reads that
number anew, by two index probes; any write by any process that adds something moves it. What is taken away need not
(what somebody no longer shares is logged as theirs alone), so the router also asks whether each memory of an answer can
still be seen, as it was. So no notice has to arrive, and nothing old is shown.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable

from keeps_client.models import RecallResult

KEPT_SECONDS = 300.0
MOST_BYTES, MOST_OF_ONE = 64 << 20, 1 << 20
"""What is kept in all, and of one answer: two hundred long texts are quicker asked again than they are worth."""
HIT_BYTES = 3_000
"""About what a hit takes beside its text."""


class AnswerCache:
    """The least recently used goes first."""

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, tuple[int, float, RecallResult]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._bytes = 0

    def peek(self, key: Hashable) -> RecallResult | None:
        """What is held, whether it is still right or not."""
        held = self._held.get(key)
        return None if held is None else held[2]

    def get(self, key: Hashable, position: int) -> RecallResult | None:
        """The answer, if it was made at this position of the log, less than five minutes ago."""
        held = self._held.get(key)
        if held is None:
            return None
        if held[0] != position or time.monotonic() >= held[1]:
            self._drop(key)
            return None
        self._held.move_to_end(key)
        return held[2]

    def put(self, key: Hashable, position: int, answer: RecallResult) -> None:
        """Keep an answer. One that is partial is not worth keeping."""
        self._drop(key)
        size = sum(HIT_BYTES + 2 * len(hit.memory.content) for hit in answer.hits) + HIT_BYTES
        if answer.partial or size > MOST_OF_ONE:
            return
        self._held[key] = (position, time.monotonic() + KEPT_SECONDS, answer)
        self._sizes[key] = size
        self._bytes += size
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._held)))

    def _drop(self, key: Hashable) -> None:
        if self._held.pop(key, None) is not None:
            self._bytes -= self._sizes.pop(key)
