"""Statements over all tenants read their counters: statistics of PostgreSQL say how many rows each table gave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.checks import run_checks
from keeps.doors.server.gauges import Gauges
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.backups.making import QUERIES as BACKUPS
from keeps.store.db.embedded import EmbeddedPostgres
from tests.conftest import SECRET_KEY, cloned

COUNTED = ("memories", "memory_vectors", "memory_words", "events", "items", "item_vectors", "users")
READ = """SELECT regexp_replace(relname, '^events_.*', 'events') AS name,
        sum(seq_tup_read + COALESCE(idx_tup_fetch, 0))::bigint AS rows,
        sum(seq_scan + COALESCE(idx_scan, 0))::bigint AS scans
    FROM pg_stat_user_tables WHERE schemaname = 'keeps' GROUP BY 1"""


@pytest.fixture(scope="module")
async def populated(server: EmbeddedPostgres, shared: Any) -> str:
    """The name of a database with five tenants whose memories and items are all indexed."""
    name = await cloned(server)
    async with Keeps.open(database_url=server.url("keeps_app", name), embedder=shared) as keeps:
        for number in range(5):
            memory = keeps.memory(Scope(f"tenant-{number}", "alice"))
            await memory.remember_many([{"content": f"Note {number} {each}."} for each in range(50)], index="now")
            await memory.put_item(("n",), "k", {"a": "an item"})
    return name


class Reading:
    """Counts the rows that a new engine reads from the counted tables."""

    def __init__(self, server: EmbeddedPostgres, name: str, embedder: Any) -> None:
        self.url = server.url("keeps_app", name)
        self._admin_url = server.url("postgres", name)
        self._embedder = embedder

    async def rows(self, call: Callable[[Keeps], Awaitable[object]]) -> dict[str, int]:
        """Return the rows read by `call`, by table. PostgreSQL adds them up when the connections are closed."""
        await self._engine(_nothing)  # What opening an engine reads for the first time is not counted.
        opened = await self._engine(_nothing)
        called = await self._engine(call)
        return {name: called[name] - opened[name] for name in COUNTED}

    async def _engine(self, call: Callable[[Keeps], Awaitable[object]]) -> dict[str, int]:
        before = await self._read()
        settings = load_settings(database_url=self.url, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
        async with await open_keeps(settings, embedder=self._embedder) as keeps:
            await call(keeps)
        after = await self._read()
        return {name: after[name] - before[name] for name in COUNTED}

    async def _read(self) -> dict[str, int]:
        connection = await asyncpg.connect(self._admin_url)
        try:
            # The engine's connections are closed when their server processes are gone.
            while await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'keeps_app'"
            ):
                pass
            return {row["name"]: row["rows"] + row["scans"] for row in await connection.fetch(READ)}
        finally:
            await connection.close()


@pytest.fixture
async def reading(server: EmbeddedPostgres, populated: str, shared: Any) -> Reading:
    return Reading(server, populated, shared)


async def _nothing(keeps: Keeps) -> None:
    pass


async def _status(keeps: Keeps) -> None:
    assert (await keeps.status()).counts.memories == 250


async def _metrics(keeps: Keeps) -> None:
    await Gauges(keeps).refresh()
    assert keeps.metrics.registry.get_sample_value("keeps_memory_index_pending") == 0
    assert keeps.metrics.registry.get_sample_value("keeps_memory_storage_bytes")


async def _reindex(keeps: Keeps) -> None:
    assert await keeps.service(Indexer).index_all() == 0
    await keeps.service(Indexer).drop_other_models()


async def _tenants(keeps: Keeps) -> None:
    assert [info.users for info in await keeps.service(TenantService).page("", 100)] == [1] * 5


@pytest.mark.parametrize("call", [_status, _metrics, _reindex, _tenants])
async def test_no_row_that_is_counted_is_read(reading: Reading, call: Callable[[Keeps], Awaitable[object]]) -> None:
    assert await reading.rows(call) == dict.fromkeys(COUNTED, 0)


async def test_counting_rows_would_be_seen(reading: Reading) -> None:
    """The test above can fail: one memory of one user is read."""

    async def get(keeps: Keeps) -> None:
        memory = keeps.memory(Scope("tenant-1", "alice"))
        await memory.list(limit=1)

    assert (await reading.rows(get))["memories"] > 0


async def test_doctor_and_backups_read_no_row_that_is_counted(
    reading: Reading, server: EmbeddedPostgres, populated: str, tmp_path: Path
) -> None:
    async def check(keeps: Keeps) -> None:
        settings = load_settings(
            database_url=reading.url, given={"KEEPS_EMBEDDER": "none", "KEEPS_HOME": str(tmp_path)}
        )
        findings = {check.name: check for check in await run_checks(settings)}
        assert "250 memories of 5 users in 5 tenants" in findings["contents"].finding
        connection = await asyncpg.connect(server.url("postgres", populated))
        held = await connection.fetchrow(BACKUPS["server_held"].text)
        await connection.close()
        assert held is not None
        assert (held["tenants"], held["memories"]) == (5, 250)

    read = await reading.rows(check)
    # Doctor opens an engine of its own, whose probe asks whether rows are seen without a tenant.
    assert {name: rows for name, rows in read.items() if rows > 1} == {}


async def test_reindex_reads_only_those_who_wait(reading: Reading) -> None:
    """One memory of one tenant waits. Neither its neighbours nor other tenants are read to find it."""

    async def find(keeps: Keeps) -> None:
        indexer = keeps.service(Indexer)
        assert await indexer.users_to_index() == ([("tenant-3", "alice")], None)
        assert (await keeps.status()).pending == 1

    connection = await asyncpg.connect(reading._admin_url)  # pyright: ignore[reportPrivateUsage]
    await connection.execute("SELECT set_config('app.current_tenant', 'tenant-3', false)")
    await connection.execute(
        "WITH gone AS (DELETE FROM keeps.memory_vectors WHERE memory_id = (SELECT memory_id FROM keeps.memories WHERE"
        " tenant_id = 'tenant-3' LIMIT 1) RETURNING tenant_id, memory_id, user_id) INSERT INTO keeps.memory_pending"
        " (tenant_id, memory_id, user_id) SELECT * FROM gone"
    )
    try:
        assert await reading.rows(find) == dict.fromkeys(COUNTED, 0)
    finally:
        await connection.close()
        await reading._engine(lambda keeps: keeps.service(Indexer).index_all())  # pyright: ignore[reportPrivateUsage]
