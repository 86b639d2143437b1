"""Subscriptions that end while they begin."""

from __future__ import annotations

import asyncio

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError
from tests.conftest import admin, cloned, opened_on
from tests.embedding import SwitchedEmbedder


async def test_cancelled_subscription_leaves_nothing(keeps: Keeps, tenant: str) -> None:
    """Cancelled at any step, also while it reads where the log ends: else it counts against its user for ever."""
    scope, feed = Scope(tenant, "alice"), keeps.service(EventService)._feed

    async def listen() -> None:
        async for _ in keeps.memory(scope).subscribe():
            pass

    for steps in range(60):
        task = asyncio.create_task(listen())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        left = [each for each in feed._open if each.scope == scope]
        assert not left, f"cancelled after {steps} steps"


async def test_subscription_that_cannot_read_leaves_nothing(
    server: EmbeddedPostgres, shared: SwitchedEmbedder, tenant: str
) -> None:
    name = await cloned(server)
    async with await opened_on(server.url("keeps_app", name), shared) as keeps, admin(server) as connection:
        subscription = keeps.service(EventService)._feed.subscribe(Scope(tenant, "alice"), after=None)
        await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        with pytest.raises(UnavailableError):
            await subscription.__aenter__()
        assert not keeps.service(EventService)._feed._open
