"""Keeps, in process: open it, take a memory for a scope, remember and recall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keeps.cache.redis import RedisCache
from keeps.db.session import Database
from keeps.indexing.service import IndexStatus
from keeps.recall.access import AccessBuffer
from keeps.scope import Scope
from keeps.scoped import ScopedMemory
from keeps.services import Services
from keeps.telemetry.metrics import Metrics


class Keeps:
    """An open memory: one database, any number of scopes.

    async with Keeps.open() as keeps:
        memory = keeps.memory(Scope(tenant_id="acme", user_id="alice"))
    """

    def __init__(
        self,
        database: Database,
        services: Services,
        access: AccessBuffer,
        closing: Sequence[Any],
        metrics: Metrics,
        admin_url: str | None = None,
        cache: RedisCache | None = None,
    ) -> None:
        self.database = database
        self.services = services
        self.indexer = services.indexer
        self._access = access
        self._closing = closing
        self.metrics = metrics
        """For Prometheus; `metrics.registry` is a registry of prometheus_client."""
        self.cache = cache
        """Redis or Valkey, where one is configured."""
        self.admin_url = admin_url
        """PostgreSQL's administrator, of an embedded database only."""

    @staticmethod
    def open(home: Path | str | None = None, *, database_url: str | None = None, **overrides: Any) -> OpeningKeeps:
        """Open the embedded database under `home` (KEEPS_HOME), or the one at `database_url` (KEEPS_DATABASE_URL).

        Use it as `async with Keeps.open() as keeps`, or `keeps = await Keeps.open()` and `await keeps.close()`.
        Raises UnavailableError, which says what to do, when the database cannot be used safely.
        """
        return OpeningKeeps(home, database_url, overrides)

    def memory(self, scope: Scope) -> ScopedMemory:
        """The memory as `scope` sees it. Cheap; make one wherever you need it."""
        return ScopedMemory(scope, self.services)

    async def status(self) -> IndexStatus:
        """What the index says about itself: model, pending rows, lag, counts."""
        return await self.indexer.status()

    async def server_version(self) -> str:
        """PostgreSQL's and pgvector's versions, for people."""
        return await self.indexer.server_version()

    async def storage_bytes(self) -> int:
        """The size of the database."""
        return await self.indexer.storage_bytes()

    async def close(self) -> None:
        """Finish what is on its way and let go of the database; the last one out stops an embedded server."""
        await self.services.worker.close()
        await self.services.webhooks.close()
        await self.services.events.close()
        await self.services.providers.close()
        await self.services.router.close()
        await self.services.memories.close()
        await self.indexer.close()
        await self._access.close()
        for resource in self._closing:
            await resource.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class OpeningKeeps:
    """A Keeps that is being opened: await it, or enter it."""

    def __init__(self, home: Path | str | None, database_url: str | None, overrides: dict[str, Any]) -> None:
        self._arguments = (home, database_url, overrides)
        self._opened: Keeps | None = None

    def __await__(self) -> Any:
        return self._open().__await__()

    async def _open(self) -> Keeps:
        from keeps.bootstrap import open_keeps
        from keeps.settings import load_settings

        home, database_url, overrides = self._arguments
        return await open_keeps(load_settings(home=home, database_url=database_url), **overrides)

    async def __aenter__(self) -> Keeps:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()
