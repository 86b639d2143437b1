"""Connections: opened, checked, told what a halfvec is."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import asyncpg
from pgvector.asyncpg import register_vector

from keeps.db.errors import LOST, translated
from keeps_client.errors import KeepsError, UnavailableError, ValidationFailedError


async def open_pool(url: str, *, size: int = 10, command_timeout_seconds: float = 60.0) -> asyncpg.Pool:
    """A pool on `url`. Raises UnavailableError or ValidationFailedError that say what is wrong with the address.

    Behind a pooler such as PgBouncer in transaction mode, named prepared statements would reach servers that do not
    know them, so they are not used there. Nothing is set on a session, so there is nothing to reset.
    """
    pooled = await _behind_a_pooler(url)
    try:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=size,
            timeout=30,
            command_timeout=command_timeout_seconds,
            statement_cache_size=0 if pooled else 200,
            max_cached_statement_lifetime=0,
            max_inactive_connection_lifetime=300,
            init=_prepare_connection,
            reset=_nothing_to_reset,
        )
    except (asyncpg.PostgresError, *LOST) as error:
        raise explained(error, url) from error


def address_of(url: str) -> str:
    """The URL without its password, for messages."""
    head, _, tail = url.rpartition("@")
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.split(':', 1)[0]}@{tail}" if head else url


def explained(error: BaseException, url: str) -> KeepsError:
    """Why a connection to `url` failed, and what to do."""
    where = address_of(url)
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return UnavailableError(f"no such database: {where}; create it, then run keeps migrate")
    if isinstance(error, asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError):
        return UnavailableError(f"the database refused the user or password of {where}")
    if isinstance(error, asyncpg.ClientConfigurationError | ValueError):
        return ValidationFailedError(
            f"KEEPS_DATABASE_URL is not a PostgreSQL URL: {where}; write postgresql://keeps_app:password@host/database"
        )
    if isinstance(error, LOST):
        return UnavailableError(
            f"no PostgreSQL answers at {where} ({type(error).__name__}); is it running, and is the address right?"
        )
    return translated(error) or UnavailableError(f"cannot connect to {where}: {type(error).__name__}")


async def _behind_a_pooler(url: str) -> bool:
    """A pooler answers with a made-up process id; the server itself with the one it also reports by SQL."""
    try:
        connection = await asyncpg.connect(url, timeout=30, statement_cache_size=0)
    except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, ValueError, *LOST) as error:
        raise explained(error, url) from error
    try:
        return await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid()
    finally:
        await connection.close()


async def _prepare_connection(connection: asyncpg.Connection) -> None:
    try:
        await register_vector(cast("Any", connection))
    except ValueError:
        raise UnavailableError(
            "this database has no extension vector; run keeps migrate as its administrator"
        ) from None


async def _nothing_to_reset(connection: object) -> None:
    """Every setting is local to a transaction, so a connection goes back as it came."""
    del connection
    await asyncio.sleep(0)
