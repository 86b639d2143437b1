"""A managed service gives out no superuser: what its administrator can do with Keeps, on a server of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import asyncpg
import pytest
import yaml

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.operate.cells.moving import Progress
from keeps.operate.cells.rights import OF_SOURCE, OF_TARGET, is_quiet, missing_rights
from keeps.operate.cells.service import CellService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.db.provision import prepare
from keeps_client.errors import ForbiddenError, UnavailableError, ValidationFailedError
from tests.conftest import SECRET_KEY, admin, thrown_away

ROOT = Path(__file__).parents[2]
PASSWORD = "a password"  # noqa: S105
APP = {"keeps_app": PASSWORD}
RIGHTS = {
    "BYPASSRLS": ("ALTER ROLE {} NOBYPASSRLS", "ALTER ROLE {} BYPASSRLS"),
    "REPLICATION": ("ALTER ROLE {} NOREPLICATION", "ALTER ROLE {} REPLICATION"),
    "pg_create_subscription": ("REVOKE pg_create_subscription FROM {}", "GRANT pg_create_subscription TO {}"),
    "pg_read_all_stats": ("REVOKE pg_monitor FROM {}", "GRANT pg_monitor TO {}"),
    "session_replication_role": (
        "REVOKE SET ON PARAMETER session_replication_role FROM {}",
        "GRANT SET ON PARAMETER session_replication_role TO {}",
    ),
}
"""Statements that take a right from a role and give it, by what a refusal names."""


def ignore(_: Progress) -> None:
    """Hear of a step of a move."""


class Managed:
    """A server without Keeps' roles, and its administrator, who is no superuser."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server

    def url(self, role: str, database: str) -> str:
        return f"postgresql://{role}:{quote(PASSWORD)}@/{database}?host={quote(str(self.server.socket), safe='')}"

    async def execute(self, statement: str, database: str = "postgres") -> None:
        async with admin(self.server, database) as connection:
            await connection.execute(statement)

    async def make_database(self, owner: str) -> str:
        name = f"managed_{uuid4().hex[:8]}"
        await self.execute(f"CREATE DATABASE {name} OWNER {owner}")
        await self.execute("CREATE EXTENSION vector", name)
        return name


@pytest.fixture(scope="module")
async def managed(made_home: Callable[..., Path]) -> AsyncIterator[Managed]:
    async with thrown_away(made_home("managed")) as server:
        made = Managed(server)
        for role in ("keeps_owner", "keeps_app"):
            await made.execute(f"ALTER ROLE {role} RENAME TO earlier_{role}")
        await made.execute(f"CREATE ROLE administrator LOGIN CREATEROLE CREATEDB PASSWORD '{PASSWORD}'")
        await prepare(made.url("administrator", await made.make_database("administrator")), APP)
        yield made


@pytest.fixture(scope="module")
async def pair(managed: Managed, shared: Any) -> AsyncIterator[tuple[Keeps, CellService]]:
    """Two cells, and an administrator with every right that a move needs."""
    await managed.execute(f"CREATE ROLE mover LOGIN CREATEROLE PASSWORD '{PASSWORD}'")
    await managed.execute("GRANT keeps_owner TO mover; GRANT keeps_app TO mover WITH ADMIN TRUE, INHERIT FALSE")
    for _, give in RIGHTS.values():
        await managed.execute(give.format("mover"))
    names = {cell: await managed.make_database("mover") for cell in ("main", "eu")}
    for name in names.values():
        await prepare(managed.url("mover", name), APP)
    settings = load_settings(
        database_url=managed.url("keeps_app", names["main"]), given={"KEEPS_SECRET_KEYS": SECRET_KEY}
    )
    async with await open_keeps(settings, embedder=shared) as keeps:
        made = CellService(keeps, settings, {cell: managed.url("mover", name) for cell, name in names.items()})
        await made.add("eu", url=managed.url("keeps_app", names["eu"]))
        await made.set_weight("eu", 0)
        yield keeps, made


@pytest.fixture
async def cells(pair: tuple[Keeps, CellService], tenant: str) -> CellService:
    """The two cells, with one memory of `tenant` in the first."""
    keeps, made = pair
    await keeps.memory(Scope(tenant, "alice")).remember("Tea at five.")
    return made


async def test_owner_of_a_database_migrates_without_superuser(managed: Managed, shared: Any) -> None:
    name = await managed.make_database("administrator")
    assert await prepare(managed.url("administrator", name), APP) == managed.url("keeps_app", name)
    await prepare(managed.url("administrator", name), {})
    settings = load_settings(database_url=managed.url("keeps_app", name), given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    async with await open_keeps(settings, embedder=shared) as keeps:
        await keeps.memory(Scope("acme", "alice")).remember("Tea at five.")
        assert (await keeps.memory(Scope("other", "alice")).list()).items == []
    async with admin(managed.server, name) as connection:
        assert not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = 'administrator'")
    # The administrator may act as the owner of the tables, whom row security binds.
    connection = await asyncpg.connect(managed.url("administrator", name))
    assert await connection.fetchval("SELECT row_security_active('keeps.memories')")
    await connection.close()


async def test_extension_that_only_a_superuser_creates_is_named(managed: Managed) -> None:
    name = await managed.make_database("administrator")
    await managed.execute("DROP EXTENSION vector", name)
    with pytest.raises(ForbiddenError, match=r'create extension "vector".*CREATE EXTENSION vector'):
        await prepare(managed.url("administrator", name), APP)


async def test_role_of_another_administrator_is_named(managed: Managed) -> None:
    await managed.execute(f"CREATE ROLE newcomer LOGIN CREATEROLE PASSWORD '{PASSWORD}'")
    name = await managed.make_database("newcomer")
    with pytest.raises(ForbiddenError, match=r'grant role "keeps_owner".*GRANT keeps_owner, keeps_app TO'):
        await prepare(managed.url("newcomer", name), {})
    await managed.execute("GRANT keeps_owner, keeps_app TO newcomer WITH ADMIN OPTION")
    await prepare(managed.url("newcomer", name), {})


async def test_database_in_which_everyone_makes_temporary_tables_is_refused(managed: Managed) -> None:
    name = await managed.make_database("postgres")
    await managed.execute(f"GRANT CREATE ON DATABASE {name} TO administrator")
    with pytest.raises(ForbiddenError, match=r"temporary tables.*as the owner of the database"):
        await prepare(managed.url("administrator", name), {})


async def test_missing_right_is_named_before_a_move(managed: Managed, cells: CellService, tenant: str) -> None:
    for right, (take, give) in RIGHTS.items():
        await managed.execute(take.format("mover"))
        with pytest.raises(ValidationFailedError, match=rf"at the cell (main|eu): .*\(.*{right}"):
            await cells.move(tenant, "eu", ignore, dry_run=True)
        await managed.execute(give.format("mover"))
    assert (await cells.move(tenant, "eu", ignore, dry_run=True)).rows["memories"] == 1


async def test_password_is_not_written_into_a_log(managed: Managed, cells: CellService, tenant: str) -> None:
    await managed.execute("ALTER ROLE mover SET log_statement = 'ddl'")
    with pytest.raises(UnavailableError, match="would show the password"):
        await cells.move(tenant, "eu", ignore, dry_run=True)
    await managed.execute("ALTER ROLE mover RESET log_statement")


async def test_tenant_moves_without_superuser(managed: Managed, cells: CellService, tenant: str) -> None:
    done = await cells.move(tenant, "eu", ignore)
    assert (done.step, done.left, done.rows["memories"]) == ("erased", {}, 1)
    assert tenant in await cells.tenants("eu")
    assert tenant not in await cells.tenants("main")


async def test_administrator_of_the_manifests_migrates_and_moves(managed: Managed) -> None:
    """Run what deploy/cloudnativepg has its operator run."""
    text = (ROOT / "deploy" / "cloudnativepg" / "main.yaml").read_text(encoding="utf-8")
    spec = next(yaml.safe_load_all(text))["spec"]
    (role,) = spec["managed"]["roles"]
    first = spec["bootstrap"]["initdb"]
    assert (role["name"], role["login"], role.get("superuser", False)) == (first["owner"], True, False)
    attributes = [name.upper() for name in ("createrole", "replication", "bypassrls") if role[name]]
    await managed.execute(f"CREATE ROLE {role['name']} LOGIN {' '.join(attributes)} PASSWORD '{PASSWORD}'")
    await managed.execute(f"GRANT {', '.join(role['inRoles'])} TO {role['name']}")
    name = f"managed_{uuid4().hex[:8]}"
    await managed.execute(f"CREATE DATABASE {name} OWNER {role['name']}")
    for statement in first["postInitApplicationSQL"]:
        await managed.execute(statement, name)
    roles = ("keeps_owner", "keeps_app")
    for each in roles:  # Those of the other tests belong to another administrator.
        await managed.execute(f"ALTER ROLE {each} RENAME TO other_{each}")
    try:
        await prepare(managed.url(role["name"], name), APP)
        connection = await asyncpg.connect(managed.url(role["name"], name))
        assert await missing_rights(connection, (*OF_SOURCE, *OF_TARGET)) == []
        assert await is_quiet(connection)
        assert await connection.fetchval("SHOW log_min_error_statement") == "panic"
        await connection.close()
    finally:
        for each in roles:
            await managed.execute(f"ALTER ROLE {each} RENAME TO manifest_{each}")
            await managed.execute(f"ALTER ROLE other_{each} RENAME TO {each}")
