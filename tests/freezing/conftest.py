"""Engines that can freeze tenants, and what a tenant holds in every table."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from keeps.base.settings import Settings, load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.transfer.certificates import new_key
from keeps.operate.freezing.service import FreezeService
from keeps.store.db.embedded import EmbeddedPostgres
from tests.conftest import SECRET_KEY, admin

Rows = dict[str, list[str]]


@dataclass
class Cold:
    """An engine on a database of its own, with a folder for bundles."""

    keeps: Keeps
    settings: Settings
    folder: Path
    server: EmbeddedPostgres
    database: str
    shared: Any

    @property
    def service(self) -> FreezeService:
        return self.keeps.service(FreezeService)

    @property
    def bundles(self) -> list[Path]:
        return [each for each in self.folder.rglob("*") if each.is_file()]

    def bundles_of(self, tenant_id: str) -> list[Path]:
        name = hashlib.sha256(tenant_id.encode()).hexdigest()
        return [each for each in self.bundles if each.name.startswith(name)]

    async def rows(self, tenant_id: str) -> Rows:
        """Return all rows of a tenant as text, by table."""
        found: Rows = defaultdict(list)
        async with admin(self.server, self.database) as connection:
            names = [row["name"] for row in await connection.fetch("SELECT keeps_cells.tenant_tables() AS name")]
            statement = " UNION ALL ".join(
                f"SELECT '{name}' AS name, held::text AS row FROM keeps.{name} AS held WHERE tenant_id = $1"
                for name in names
            )
            for record in await connection.fetch(f"{statement} ORDER BY 1, 2", tenant_id):
                found[record["name"]].append(record["row"])
        return found

    async def held(self, tenant_id: str) -> int:
        return sum(map(len, (await self.rows(tenant_id)).values()))

    async def run(self, sql: str, *values: object) -> list[Any]:
        """Run a statement as PostgreSQL's administrator."""
        async with admin(self.server, self.database) as connection:
            return await connection.fetch(sql, *values)

    @asynccontextmanager
    async def another(self) -> AsyncGenerator[Keeps]:
        """Open a second engine on the same database, as another process would."""
        async with await open_keeps(self.settings, embedder=self.shared) as keeps:
            yield keeps


def settings_of(url: str, folder: Path, **given: str) -> Settings:
    return load_settings(
        database_url=url,
        given={
            "KEEPS_SECRET_KEYS": SECRET_KEY,
            "KEEPS_FROZEN_STORE": folder.as_uri(),
            "KEEPS_POOL_SIZE": "4",
            "KEEPS_SIGNING_KEY": new_key(),
            **given,
        },
    )


@pytest.fixture(scope="module")
async def cold(
    server: EmbeddedPostgres,
    fresh_database: Callable[[], Any],
    shared: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Cold]:
    database = await fresh_database()
    folder = tmp_path_factory.mktemp("frozen")
    settings = settings_of(server.url("keeps_app", database), folder)
    async with await open_keeps(settings, embedder=shared) as keeps:
        yield Cold(keeps, settings, folder, server, database, shared)
