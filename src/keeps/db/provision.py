"""What PostgreSQL's administrator does once for a database: extensions, the schema, the two roles."""

from __future__ import annotations

import asyncpg

from keeps.db.errors import LOST
from keeps.db.pool import explained
from keeps.db.statements import Statement, Statements
from keeps.schema.files import read_sql_file
from keeps_client.errors import ForbiddenError, ValidationFailedError

_QUERIES = Statements("keeps.db")
DATABASE = "keeps"
"""The name of the embedded database."""


async def provision(maintenance_url: str | None, database_url: str, passwords: dict[str, str]) -> None:
    """As PostgreSQL's administrator: the database (from `maintenance_url`), extensions, and the two roles with
    passwords."""
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
        await connection.execute(read_sql_file("roles.sql"))
        for role in ("keeps_owner", "keeps_app"):
            statement = await connection.fetchval(_QUERIES["password_statement"].text, role, passwords[role])
            await connection.execute(statement)
    finally:
        await connection.close()


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
