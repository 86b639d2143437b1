"""Opens cells from their directory entries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from keeps.base.settings import Settings
from keeps.memory.jobs.worker import declare_jobs
from keeps.operate.backups.making import ShippedServer
from keeps.sources.databases.sealing import KeyRing, Sealed
from keeps.store.db.cell import Cell, Server
from keeps.store.db.cells import CellAddress
from keeps.store.db.pool import open_pool, routed_pool
from keeps.store.db.probe import probe
from keeps.store.db.shards import Shard, Shards
from keeps.store.events.store import QUERIES as EVENTS

ADD_AGAIN = "give its address again: keeps cells add NAME seals it under a new key"
DIRECT_CONNECTIONS = 4
"""Connections to a shard past the router, for what names no tenant."""


class CellOpener:
    """Opens cells. Each must pass the same check of tenant isolation as the main cell."""

    def __init__(self, settings: Settings, periods: Mapping[str, timedelta]) -> None:
        """`periods`: time between two runs of each job."""
        self._periods = periods
        self._ring = KeyRing(settings.secret_keys, ADD_AGAIN)
        self._pool_size = settings.pool_size
        self._stack = AsyncExitStack()

    async def __call__(self, address: CellAddress) -> Cell:
        """Open a cell. Raises UnavailableError, which says what to do."""
        where = self.address_of(address)
        async with AsyncExitStack() as stack:
            server = None
            if where.startswith("/"):
                shipped = await ShippedServer.open(Path(where))
                stack.push_async_callback(shipped.close)
                server = shipped.server
            cell = await self._connect(address.name, server.app_url if server else where, server)
            stack.push_async_callback(cell.close)
            await probe(cell)
            await cell.privileged_read(EVENTS["partitions_make"])
            await declare_jobs(cell, self._periods)
            self._stack.push_async_callback(stack.pop_all().aclose)
            return cell

    async def _connect(self, name: str, url: str, server: Server | None) -> Cell:
        return Cell(name, await open_pool(url, size=self._pool_size), server)

    def address_of(self, address: CellAddress) -> str:
        """Return a URL of PostgreSQL as keeps_app, or the folder of an embedded database."""
        return self._ring.open(Sealed(address.address, address.key_id), bound_to(address.name))

    async def close(self) -> None:
        """Close every opened cell."""
        await self._stack.aclose()


class ShardOpener(CellOpener):
    """Opens the shards behind a router by their direct addresses, each with connections to the router of its own."""

    def __init__(self, settings: Settings, periods: Mapping[str, timedelta]) -> None:
        super().__init__(settings, periods)
        self._settings = settings

    async def shards(self) -> Shards:
        """Open the first shard; the others are opened when they are needed."""
        first, *others = (CellAddress(name, url.encode(), "") for name, url in self._settings.router_shards)
        main = await self(first)
        assert isinstance(main, Shard)
        return Shards(main, self, others)

    async def _connect(self, name: str, url: str, server: Server | None) -> Cell:  # noqa: ARG002  a shard has a URL
        engine, router = str(self._settings.router), str(self._settings.database_url)
        direct = await open_pool(url, size=min(self._pool_size, DIRECT_CONNECTIONS))
        return Shard(name, direct, routed_pool(router, size=self._pool_size), engine)

    def address_of(self, address: CellAddress) -> str:
        """Return the direct URL of a shard."""
        return address.address.decode()


def bound_to(name: str) -> str:
    """Return the text that an address is bound to, so that it opens for this cell only."""
    return f"cell {name}"
