"""One suite, every way to reach a memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from keeps.engine import Keeps
from keeps.scope import Scope


@pytest.fixture(params=["engine"])
def memory(request: pytest.FixtureRequest, keeps: Keeps, tenant: str) -> Any:
    """Alice's memory, in a tenant of this test's own."""
    return keeps.memory(Scope(tenant, "alice"))


@pytest.fixture
def log_of(server: Any, tenant: str) -> Callable[[], Awaitable[str]]:
    """Everything that the events, and the answers kept for retries, of this tenant say."""

    async def read() -> str:
        connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
        found = await connection.fetch(
            "SELECT data::text FROM keeps.events WHERE tenant_id = $1"
            " UNION ALL SELECT answer::text FROM keeps.idempotency_keys WHERE tenant_id = $1",
            tenant,
        )
        await connection.close()
        return "\n".join(row[0] for row in found)

    return read
