"""One-time setup of a database by PostgreSQL's administrator: extensions, schema, and the two roles."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from keeps.store.db.errors import LOST
from keeps.store.db.pool import address_of, explained
from keeps.store.db.probe import check_engine
from keeps.store.db.statements import Statement, Statements
from keeps.store.schema.files import read_sql_file
from keeps.store.schema.migrate import migrate
from keeps_client.errors import ForbiddenError, UnavailableError, ValidationFailedError

_QUERIES = Statements("keeps.store.db")
DATABASE = "keeps"
"""The name of the embedded database."""


async def provision(maintenance_url: str | None, database_url: str, passwords: dict[str, str]) -> None:
    """Create the database (from `maintenance_url`), extensions, and the two roles with passwords, as administrator."""
    if maintenance_url is not None:
        connection = await asyncpg.connect(maintenance_url, timeout=60)
        try:
            if not await connection.fetchval(_QUERIES["database_exists"].text, DATABASE):
                await connection.execute(f"CREATE DATABASE {DATABASE}")
        finally:
            await connection.close()
    try:
        connection = await asyncpg.connect(database_url, timeout=60)
    except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, ValueError, *LOST) as error:
        raise explained(error, database_url) from error
    try:
        check_engine(await connection.fetchval(_QUERIES["engine"].text))
        await connection.execute(read_sql_file("roles.sql"))
        for role in ("keeps_owner", "keeps_app"):
            statement = await connection.fetchval(_QUERIES["password_statement"].text, role, passwords[role])
            await connection.execute(statement)
    finally:
        await connection.close()


async def prepare(admin_url: str, passwords: dict[str, str]) -> str:
    """Prepare an existing database for Keeps: roles, extensions, schema. Return its URL as keeps_app."""
    parts = urlsplit(admin_url)
    if not parts.path.strip("/"):
        raise ValidationFailedError("--admin-url names no database; write postgresql://postgres:…@host/database")
    await provision(None, admin_url, passwords)
    where = parts.netloc.rpartition("@")[2]

    def url(role: str) -> str:
        return urlunsplit(parts._replace(netloc=f"{role}:{quote(passwords[role], safe='')}@{where}"))

    await migrate(url("keeps_owner"))
    return url("keeps_app")


def made_up_passwords() -> dict[str, str]:
    return {role: secrets.token_urlsafe(24) for role in ("keeps_owner", "keeps_app")}


@asynccontextmanager
async def administered(admin_url: str) -> AsyncGenerator[asyncpg.Connection]:
    """Open a connection as PostgreSQL's administrator.

    Raises UnavailableError when a statement fails, and the error of `explained` when the connection does.
    """
    try:
        connection = await asyncpg.connect(admin_url, timeout=60)
    except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, ValueError, *LOST) as error:
        raise explained(error, admin_url) from error
    try:
        yield connection
    except (asyncpg.PostgresError, *LOST) as error:
        raise UnavailableError(f"{address_of(admin_url)}: {error or type(error).__name__}") from error
    finally:
        connection.terminate()


@asynccontextmanager
async def at_once(connection: asyncpg.Connection) -> AsyncGenerator[None]:
    """Run the statements inside in one transaction."""
    async with connection.transaction():
        yield


async def as_administrator(admin_url: str, statement: Statement, *values: object) -> list[asyncpg.Record]:
    """Run one statement as PostgreSQL's administrator, in one transaction."""
    try:
        connection = await asyncpg.connect(admin_url, timeout=60)
    except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, ValueError, *LOST) as error:
        raise explained(error, admin_url) from error
    try:
        return await connection.fetch(statement.text, *values)
    except asyncpg.DuplicateSchemaError:
        raise ValidationFailedError("there is a schema of this name already; choose another, or drop it") from None
    except asyncpg.InsufficientPrivilegeError:
        raise ForbiddenError(
            "this user may not make a schema in the database, or not read keeps; use its administrator"
        ) from None
    finally:
        await connection.close()
