"""Bytes in memory, counted by user: request bodies until they are processed, responses until they are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from keeps.base.scope import Scope
from keeps_client.errors import UnavailableError

USER_BYTES, TENANT_BYTES, TOTAL_BYTES = 32 << 20, 64 << 20, 512 << 20
"""Limits for one process. One user cannot use up the share of their tenant."""


class ByteBudget:
    """Counts the bytes that a process holds for each user and tenant."""

    def __init__(self) -> None:
        self._users: Counter[tuple[str, str]] = Counter()
        self._tenants: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return self._tenants.total()

    def reserve(self, scope: Scope, size: int) -> None:
        """Count `size` more bytes. Raises UnavailableError, and counts nothing, when that exceeds a limit."""
        for owner, count, limit in (
            ("you", self._users.get((scope.tenant_id, scope.acting), 0), USER_BYTES),
            ("this tenant", self._tenants.get(scope.tenant_id, 0), TENANT_BYTES),
            ("all tenants", self.total, TOTAL_BYTES),
        ):
            if count + size > limit:
                raise UnavailableError(f"too much data is in transfer for {owner}; try again later")
        self._add(scope, size)

    def release(self, scope: Scope, size: int) -> None:
        self._add(scope, -size)

    @contextmanager
    def reserved(self, scope: Scope, size: int) -> Generator[None]:
        """Count `size` bytes during the block. Raises UnavailableError."""
        self.reserve(scope, size)
        try:
            yield
        finally:
            self.release(scope, size)

    def _add(self, scope: Scope, size: int) -> None:
        user = scope.tenant_id, scope.acting
        self._users[user] += size
        self._tenants[scope.tenant_id] += size
        if not self._users[user]:
            del self._users[user]
        if not self._tenants[scope.tenant_id]:
            del self._tenants[scope.tenant_id]
