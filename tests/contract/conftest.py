"""One suite for the engine and the async client; cases marked `sync_client` run with the generated sync client too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client import MemoryClient, sync


class InThreads:
    """A sync client whose methods can be awaited: each runs in a thread, as a program without asyncio would call it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not callable(method) or name == "idempotent":
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            return await asyncio.to_thread(method, *arguments, **named)

        return call


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run few cases with the sync client: its transport differs, the rest is generated (`make_sync.py --check`)."""
    if "memory" in metafunc.fixturenames:
        sync_too = metafunc.definition.get_closest_marker("sync_client") is not None
        metafunc.parametrize("memory", ["engine", "client", *["sync"] * sync_too], indirect=True)


@pytest.fixture
async def memory(request: pytest.FixtureRequest, keeps: Keeps, tenant: str, server_url: str) -> AsyncIterator[Any]:
    """Alice's memory, in a tenant of this test's own."""
    if request.param == "engine":
        yield keeps.memory(Scope(tenant, "alice"))
    elif request.param == "client":
        async with MemoryClient(server_url, tenant_id=tenant, user_id="alice") as client:
            yield client
    else:
        client = sync.MemoryClient(server_url, tenant_id=tenant, user_id="alice")
        yield InThreads(client)
        client.close()


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
