"""Answers of recall, kept for five minutes while nothing in their scope was written.

Each entry knows the number of the last event that its scope could see when it was made. Whoever asks again reads that
number anew, by two index probes; any write by any process that adds something moves it. What is taken away need not
(what somebody no longer shares is logged as theirs alone), so the router also asks whether each memory of an answer can
still be seen, as it was. So no notice has to arrive, and nothing old is shown.
"""

from __future__ import annotations

from keeps.cache.brief import Brief
from keeps_client.models import RecallResult

KEPT_SECONDS = 300.0
MOST_BYTES, MOST_OF_ONE = 64 << 20, 1 << 20
"""What is kept in all, and of one answer: two hundred long texts are quicker asked again than they are worth."""
HIT_BYTES = 3_000
"""About what a hit takes beside its text."""
Key = tuple[str, str, str | None, str, str]
"""Tenant, user, the agent that is bound, the request, and which part of the answer."""


class AnswerCache:
    """What is oldest goes first."""

    def __init__(self) -> None:
        self._held: Brief[Key, tuple[int, RecallResult]] = Brief(MOST_BYTES, KEPT_SECONDS, renewed=False)

    def peek(self, key: Key) -> RecallResult | None:
        """What is held, whether it is still right or not."""
        held = self._held.get(key)
        return None if held is None else held[1]

    def get(self, key: Key, position: int) -> RecallResult | None:
        """The answer, if it was made at this position of the log, less than five minutes ago."""
        held = self._held.get(key)
        return None if held is None or held[0] != position else held[1]

    def put(self, key: Key, position: int, answer: RecallResult) -> None:
        """Keep an answer. One that is partial is not worth keeping."""
        size = sum(HIT_BYTES + 2 * len(hit.memory.content) for hit in answer.hits) + HIT_BYTES
        if answer.partial or size > MOST_OF_ONE:
            self._held.remove(key)
        else:
            self._held.put(key, (position, answer), size)

    def forget(self, tenant_id: str) -> None:
        self._held.drop(lambda each: each[0] == tenant_id)
