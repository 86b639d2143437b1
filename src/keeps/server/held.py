"""Bytes in transit, counted by user: bodies until they are processed, answers until they are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from keeps.scope import Scope
from keeps_client.errors import UnavailableError

OF_A_USER, OF_A_TENANT, OF_ALL = 32 << 20, 64 << 20, 512 << 20
"""Limits for one process. One user cannot use up the share of their tenant."""


class HeldBytes:
    """Counts the bytes that a process holds for each user and tenant."""

    def __init__(self) -> None:
        self._users: Counter[tuple[str, str]] = Counter()
        self._tenants: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return self._tenants.total()

    def take(self, scope: Scope, size: int) -> None:
        """Count `size` more bytes. Raises UnavailableError, and counts nothing, when that is too much."""
        for whose, count, most in (
            ("you", self._users.get((scope.tenant_id, scope.user_id), 0), OF_A_USER),
            ("this tenant", self._tenants.get(scope.tenant_id, 0), OF_A_TENANT),
            ("all tenants", self.total, OF_ALL),
        ):
            if count + size > most:
                raise UnavailableError(f"too much is on its way for {whose}; send it again later")
        self.add(scope, size)

    def add(self, scope: Scope, size: int) -> None:
        """Change the count by `size` bytes, whatever the limits."""
        user = scope.tenant_id, scope.user_id
        self._users[user] += size
        self._tenants[scope.tenant_id] += size
        if not self._users[user]:
            del self._users[user]
        if not self._tenants[scope.tenant_id]:
            del self._tenants[scope.tenant_id]

    @contextmanager
    def holding(self, scope: Scope, size: int) -> Generator[None]:
        """Count `size` bytes during the block. Raises UnavailableError."""
        self.take(scope, size)
        try:
            yield
        finally:
            self.add(scope, -size)
