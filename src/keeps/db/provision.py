"""What PostgreSQL's administrator does once for a database: extensions, the schema, the two roles."""

from __future__ import annotations

import asyncpg

from keeps.db.errors import LOST
from keeps.db.pool import explained
from keeps.db.statements import Statements
from keeps.schema.files import read_sql_file

_QUERIES = Statements("keeps.db")
DATABASE = "keeps"
"""The name of the embedded database."""


async def provision(maintenance_url: str | None, database_url: str, passwords: dict[str, str]) -> None:
    """As PostgreSQL's administrator: the database (from `maintenance_url`), extensions, and the two roles with passwords."""
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
