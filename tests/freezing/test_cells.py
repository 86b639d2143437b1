"""Frozen tenants in a cell other than the main one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.operate.cells.service import CellService
from keeps.operate.freezing.service import FreezeService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.errors import ConflictError
from tests.conftest import admin
from tests.freezing.conftest import settings_of


class Two:
    """An engine on two cells. New tenants come to the second."""

    def __init__(self, keeps: Keeps, cells: CellService, settings: Settings, databases: dict[str, str]) -> None:
        self.keeps, self.cells, self.settings, self.databases = keeps, cells, settings, databases
        self.service: FreezeService = keeps.service(FreezeService)


@pytest.fixture
async def two(
    server: EmbeddedPostgres, fresh_database: Callable[[], Any], shared: Any, tmp_path: Path
) -> AsyncIterator[Two]:
    databases = {"main": await fresh_database(), "second": await fresh_database()}
    settings = settings_of(server.url("keeps_app", databases["main"]), tmp_path)
    async with await open_keeps(settings, embedder=shared) as keeps:
        admins = {name: server.url("postgres", database) for name, database in databases.items()}
        cells = CellService(keeps, settings, admins)
        await cells.add("second", url=server.url("keeps_app", databases["second"]))
        await cells.set_weight("main", 0)
        yield Two(keeps, cells, settings, databases)


async def test_a_tenant_of_another_cell_is_frozen_and_thawed_there(two: Two, tenant: str, shared: Any) -> None:
    alice = two.keeps.memory(Scope(tenant, "alice"))
    await alice.remember("The harbour is grey.")
    done = await two.service.freeze(tenant)
    assert done.cell == "second"
    (entry,) = await two.service.all(check=True)
    assert (entry.tenant_id, entry.cell, entry.problem) == (tenant, "second", None)
    with pytest.raises(ConflictError, match="is frozen"):
        await two.cells.move(tenant, "main", lambda _: None)
    await two.cells.set_weight("main", 1)
    await two.cells.set_weight("second", 0)
    with pytest.raises(ConflictError, match="1 frozen tenants"):
        await two.cells.remove("second")
    async with await open_keeps(two.settings, embedder=shared) as another:
        contents = [memory.content for memory in (await another.memory(alice.scope).list()).items]
    assert contents == ["The harbour is grey."]
    await alice.remember("The harbour is blue.")
    assert [cell.tenants for cell in await two.cells.list()] == [0, 1]
    assert await two.cells.left_over() == []


async def test_a_thawed_tenant_of_the_main_cell_stays_there(
    two: Two, tenant: str, server: EmbeddedPostgres, shared: Any
) -> None:
    await two.cells.set_weight("main", 1)
    await two.cells.set_weight("second", 0)
    alice = two.keeps.memory(Scope(tenant, "alice"))
    await alice.remember("The harbour is grey.")
    await two.service.freeze(tenant)
    await two.cells.set_weight("main", 0)
    await two.cells.set_weight("second", 1)
    await alice.remember("The harbour is blue.")
    assert [cell.tenants for cell in await two.cells.list()] == [1, 0]


async def test_a_cell_that_is_added_again_brings_its_frozen_tenants(
    two: Two, tenant: str, server: EmbeddedPostgres, shared: Any
) -> None:
    """A main cell that was restored has forgotten them: their next call must not make them anew there."""
    alice = two.keeps.memory(Scope(tenant, "alice"))
    await alice.remember("The harbour is grey.")
    await two.service.freeze(tenant)
    async with admin(server, two.databases["main"]) as connection:
        await connection.execute("DELETE FROM keeps_cells.placements")
    await two.cells.add("second", url=server.url("keeps_app", two.databases["second"]))
    async with await open_keeps(two.settings, embedder=shared) as another:
        assert len((await another.memory(alice.scope).list()).items) == 1
