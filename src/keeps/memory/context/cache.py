"""Cache answers of recall for five minutes, as long as nothing was written in their scope.

Each entry stores the number of the last event that its scope could see. A later request reads that number again, by
two index probes; every write by any process that adds something changes it. A removal may not change it (the end of
sharing is logged only for its owner), so the router also checks that each memory of an answer is still visible and
unchanged. No notification is needed, and no outdated answer is shown.
"""

from __future__ import annotations

from keeps.base.cache.ttl_cache import TtlCache
from keeps_client.models import RecallResult

KEPT_SECONDS = 300.0
MOST_BYTES, MOST_OF_ONE = 64 << 20, 1 << 20
"""Maximum size of the cache and of one answer.

Recalling two hundred long texts again is faster than caching them.
"""
HIT_BYTES = 3_000
"""Approximate size of a hit besides its text."""
Key = tuple[str, str, str | None, str, str]
"""Tenant, user, bound agent, request, and part of the answer."""


class AnswerCache:
    """Cache of recall answers that evicts the oldest first."""

    def __init__(self) -> None:
        self._held: TtlCache[Key, tuple[int, RecallResult]] = TtlCache(MOST_BYTES, KEPT_SECONDS, renewed=False)

    def peek(self, key: Key) -> RecallResult | None:
        """Return the cached answer, valid or not."""
        held = self._held.get(key)
        return None if held is None else held[1]

    def get(self, key: Key, position: int) -> RecallResult | None:
        """Return the answer if it was made at this position of the log, less than five minutes ago."""
        held = self._held.get(key)
        return None if held is None or held[0] != position else held[1]

    def put(self, key: Key, position: int, answer: RecallResult) -> None:
        """Cache an answer, unless it is partial or too large."""
        size = sum(HIT_BYTES + 2 * len(hit.memory.content) for hit in answer.hits) + HIT_BYTES
        if answer.partial or size > MOST_OF_ONE:
            self._held.remove(key)
        else:
            self._held.put(key, (position, answer), size)

    def forget(self, tenant_id: str) -> None:
        self._held.drop(lambda each: each[0] == tenant_id)
