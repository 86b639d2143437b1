"""One-time setup of a database by PostgreSQL's administrator: extensions, schema, and the two roles."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from keeps.store.db.errors import LOST
from keeps.store.db.pool import address_of, explained
from keeps.store.db.probe import check_encoding, check_engine
from keeps.store.db.statements import Statement, Statements
from keeps.store.schema.files import read_sql_file
from keeps.store.schema.migrate import migrate
from keeps_client.errors import ForbiddenError, UnavailableError, ValidationFailedError

_QUERIES = Statements("keeps.store.db")
NO_EXTENSION = (
    "Install pgvector 0.8 or newer and PostgreSQL's contrib modules on the server (Debian: postgresql-18-pgvector"
    " and postgresql-contrib), then run keeps migrate again"
)
NO_RIGHT = (
    "keeps migrate needs the owner of the database with CREATEROLE, but no superuser. If only a superuser may create an"
    " extension, create it beforehand (CREATE EXTENSION vector). If somebody else created the roles, they grant them"
    " (GRANT keeps_owner, keeps_app TO … WITH ADMIN OPTION)"
)
DATABASE = "keeps"
"""The name of the embedded database."""


async def provision(maintenance_url: str | None, database_url: str, passwords: Mapping[str, str]) -> str | None:
    """Create the database (from `maintenance_url`), extensions, and the two roles, as administrator.

    Args:
        maintenance_url: A database of the server from which the database is created; None: it exists.
        database_url: The database.
        passwords: New passwords by role. Another role keeps its own; a new keeps_app gets a generated one.

    Returns the password of keeps_app if it was set, else None.
    """
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
        server = await connection.fetchrow(_QUERIES["engine"].text)
        check_engine(server["engine"])
        check_encoding(server["encoding"])
        if not await connection.fetchval(_QUERIES["app_role_exists"].text):
            passwords = {"keeps_app": secrets.token_urlsafe(24), **passwords}
        try:
            await connection.execute(read_sql_file("roles.sql"))
        except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:  # The second before 16.
            text = error.as_dict()["message"]
            raise UnavailableError(f"{address_of(database_url)}: {text}. {NO_EXTENSION}") from error
        except asyncpg.InsufficientPrivilegeError as error:
            text = error.as_dict()["message"]
            raise ForbiddenError(f"{address_of(database_url)}: {text}. {NO_RIGHT}") from error
        if await connection.fetchval(_QUERIES["anyone_makes_temporary_tables"].text):
            raise ForbiddenError(
                f"{address_of(database_url)}: every role may make temporary tables, which no policy protects. Run keeps"
                " migrate as the owner of the database, who can revoke it"
            )
        for role, password in passwords.items():
            await connection.execute(await connection.fetchval(_QUERIES["password_statement"].text, role, password))
        return passwords.get("keeps_app")
    finally:
        await connection.close()


async def prepare(admin_url: str, passwords: Mapping[str, str]) -> str | None:
    """Prepare an existing database for Keeps: roles, extensions, schema.

    Returns the URL of the database as keeps_app, or None if its password stays as it was: see `provision`.
    """
    parts = urlsplit(admin_url)
    if not parts.path.strip("/"):
        raise ValidationFailedError("--admin-url names no database; write postgresql://postgres:…@host/database")
    password = await provision(None, admin_url, passwords)
    await migrate(admin_url)
    if password is None:
        return None
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"keeps_app:{quote(password, safe='')}@{host}"))


def given_passwords() -> dict[str, str]:
    """Return the passwords of roles in KEEPS_OWNER_PASSWORD and KEEPS_APP_PASSWORD, as far as they are set."""
    return {
        role: password
        for role in ("keeps_owner", "keeps_app")
        if (password := os.environ.get(f"{role.upper()}_PASSWORD"))
    }


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
        raise ValidationFailedError("a schema of this name exists; choose another name, or drop it") from None
    except asyncpg.InsufficientPrivilegeError:
        raise ForbiddenError(
            "this user may not create a schema in the database, or may not read keeps; use the database's administrator"
        ) from None
    finally:
        await connection.close()
