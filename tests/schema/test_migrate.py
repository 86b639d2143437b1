"""A schema changes while others use it: nobody waits for it for long, and it waits for nobody for ever."""

from __future__ import annotations

import asyncio
import re
from importlib.resources import files
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from tools.make_schema import TARGET, made

from keeps.store.db import provision as provisioning
from keeps.store.db.cell import Cell
from keeps.store.db.pool import open_pool
from keeps.store.db.probe import probe
from keeps.store.db.provision import prepare
from keeps.store.schema import migrate as migrating
from keeps.store.schema.files import read_sql_file
from keeps.store.schema.migrate import migrate, steps
from keeps.store.schema.revisions import HEAD, REVISIONS
from keeps_client.errors import UnavailableError
from tests.conftest import admin

BEFORE = "0011"


@pytest.fixture
async def older(server: Any) -> str:
    """A database of the revision before the newest."""
    name = f"keeps_{uuid4().hex[:8]}"
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {name}")
    async with admin(server, name) as connection:
        await connection.execute(read_sql_file("roles.sql"))
    await migrate(server.url("keeps_owner", name), BEFORE)
    return name


async def test_a_table_in_use_is_waited_for_in_short_turns(
    server: Any, older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "LOCK_SECONDS", 0.3)
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.3)
    holder = await asyncpg.connect(server.url("postgres", older))
    using = await asyncpg.connect(server.url("postgres", older))
    held = holder.transaction()
    await held.start()
    await holder.execute("LOCK TABLE keeps.llm_usage IN ACCESS SHARE MODE")
    migration = asyncio.create_task(migrate(server.url("keeps_owner", older)))
    for _ in range(20):  # each may stand behind the migration, where that waits; none does for ever
        await using.fetch("SELECT * FROM keeps.llm_usage")
        await asyncio.sleep(0.05)
    assert not migration.done()
    await held.rollback()
    await migration
    assert await using.fetchval("SELECT version_num FROM keeps.alembic_version") == HEAD
    await migrate(server.url("keeps_owner", older))  # again: nothing to do
    await asyncio.gather(*(migrate(server.url("keeps_owner", older)) for _ in range(3)))
    for each in (holder, using):
        await each.close()


async def test_a_table_that_is_never_free_is_said_so(server: Any, older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LOCK_SECONDS", 0.05), ("PAUSE_SECONDS", 0.01), ("ATTEMPTS", 3)):
        monkeypatch.setattr(migrating, name, value)
    async with admin(server, older) as holder, holder.transaction():
        await holder.execute("LOCK TABLE keeps.llm_usage IN ACCESS SHARE MODE")
        with pytest.raises(UnavailableError, match="nothing was changed"):
            await migrate(server.url("keeps_owner", older))
        assert await holder.fetchval("SELECT version_num FROM keeps.alembic_version") == BEFORE


def test_a_plan_says_what_is_to_do() -> None:
    assert [each.revision for each in steps(None)] == [f"{number:04}" for number in range(1, int(HEAD) + 1)]
    assert [each.revision for each in steps(BEFORE)] == [
        f"{number:04}" for number in range(int(BEFORE) + 1, int(HEAD) + 1)
    ]
    assert steps(HEAD) == []
    assert all(each.what for each in steps(None))


async def test_a_newer_schema_is_served_where_it_says_so(server: Any, fresh_database: Any) -> None:
    name = await fresh_database()
    newer = f"{int(HEAD) + 1:04}"
    async with admin(server, name) as connection:
        await connection.execute("UPDATE keeps.alembic_version SET version_num = $1", newer)
        cell = Cell("main", await open_pool(server.url("keeps_app", name), size=1))
        await probe(cell)
        await connection.execute(
            f"CREATE OR REPLACE FUNCTION keeps.serves_from() RETURNS text LANGUAGE sql IMMUTABLE RETURN '{newer}'"
        )
        with pytest.raises(UnavailableError, match="cannot serve"):
            await probe(cell)
        await cell.close()


async def test_schema_of_a_later_release_is_not_migrated(server: Any, fresh_database: Any) -> None:
    name = await fresh_database()
    newer = f"{int(HEAD) + 1:04}"
    async with admin(server, name) as connection:
        await connection.execute("UPDATE keeps.alembic_version SET version_num = $1", newer)
        with pytest.raises(UnavailableError, match=f"revision {newer}, which is newer"):
            await migrate(server.url("keeps_owner", name))
        assert await connection.fetchval("SELECT version_num FROM keeps.alembic_version") == newer


async def test_failed_revision_changes_nothing(server: Any, older: str) -> None:
    async with admin(server, older) as connection:
        before = made(server.url("postgres", older))
        await connection.execute("CREATE FUNCTION keeps.serves_from() RETURNS integer LANGUAGE sql RETURN 1")
        with pytest.raises(asyncpg.PostgresError):
            await migrate(server.url("keeps_owner", older))
        await connection.execute("DROP FUNCTION keeps.serves_from")
        assert made(server.url("postgres", older)) == before
        assert await connection.fetchval("SELECT version_num FROM keeps.alembic_version") == BEFORE


def test_each_file_of_statements_has_a_revision() -> None:
    numbers = {path.name[:4] for path in files("keeps.store.schema").iterdir() if re.fullmatch(r"\d+\.sql", path.name)}
    assert numbers <= set(REVISIONS)
    assert list(REVISIONS) == [f"{number:04}" for number in range(1, len(REVISIONS) + 1)]


@pytest.mark.parametrize("revision", ["0003", "0009", "0013"])
async def test_functions_fit_the_tables_however_they_came_about(server: Any, revision: str) -> None:
    shapes = []
    for first in (revision, HEAD):
        name = f"keeps_{uuid4().hex[:8]}"
        async with admin(server) as connection:
            await connection.execute(f"CREATE DATABASE {name}")
        async with admin(server, name) as connection:
            await connection.execute(read_sql_file("roles.sql"))
        await migrate(server.url("keeps_owner", name), first)
        await migrate(server.url("keeps_owner", name))
        shapes.append(made(server.url("postgres", name)))
    assert shapes[0] == shapes[1]


def test_the_schema_can_be_read_in_one_file(server: Any) -> None:
    assert TARGET.read_text(encoding="utf-8") == made(server.url("postgres", "keeps")), "run tools/make_schema.py"


async def test_url_may_have_parameters_of_postgresql(server: Any, older: str) -> None:
    await migrate(server.url("keeps_owner", older) + "&sslmode=disable&application_name=migration")
    async with admin(server, older) as connection:
        assert await connection.fetchval("SELECT version_num FROM keeps.alembic_version") == HEAD


async def test_database_that_is_not_utf8_is_refused(server: Any) -> None:
    name = f"keeps_{uuid4().hex[:8]}"
    async with admin(server) as connection:
        await connection.execute(
            f"CREATE DATABASE {name} ENCODING SQL_ASCII LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0"
        )
    with pytest.raises(UnavailableError, match=r"SQL_ASCII; Keeps needs UTF8. Create another one"):
        await prepare(server.url("postgres", name), {})


async def test_missing_extension_is_named_with_what_to_install(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioning, "read_sql_file", lambda _: "CREATE EXTENSION no_such_extension")
    with pytest.raises(UnavailableError, match=r'"no_such_extension" is not available.*postgresql-18-pgvector'):
        await prepare(server.url("postgres", "postgres"), {})
