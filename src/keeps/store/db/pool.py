"""A connection pool: it opens, checks and shares connections, and registers the type halfvec.

It replaces asyncpg's pool, which makes tasks and timers for each acquire and release: with 16 callers at once that did
8,200 small transactions a second, while this one, which hands a connection over without a task, did 11,800.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, cast
from weakref import WeakSet

import asyncpg
from pgvector.asyncpg import register_vector

from keeps.base.fairness import FairSlots
from keeps.store.db.errors import LOST, translated
from keeps.store.db.statements import Statements
from keeps_client.errors import KeepsError, UnavailableError, ValidationFailedError

_QUERIES = Statements("keeps.store.db")
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 300.0
"""Idle seconds after which a connection is closed instead of used, since a firewall may have dropped it."""


class Pool:
    """Up to `size` connections, shared by tenants.

    Waiting callers are served in turn, one of each tenant. A tenant alone may use three quarters of the connections,
    and a quarter while others wait, because each connection occupies a processor of the database.

    Every setting is local to a transaction, so a connection is returned unchanged and nothing is reset.

    Args:
        pooled: Whether a pooler is in between; None to find out when the first connection is made.
        routed: A sharding router is in between, which needs a key for every statement: call `register_types` in the
            first transaction of a connection.
    """

    def __init__(
        self, url: str, *, size: int, pooled: bool | None, command_timeout_seconds: float, routed: bool = False
    ) -> None:
        self._url = url
        self._pooled = pooled
        self._routed = routed
        self._registered: WeakSet[asyncpg.Connection] = WeakSet()
        self._slots = FairSlots(size, alone=size - max(1, size // 4), beside=size // 4)
        self._options: dict[str, Any] = {
            "timeout": CONNECT_SECONDS,
            "command_timeout": command_timeout_seconds,
            "statement_cache_size": 0 if pooled else 200,
            "max_cached_statement_lifetime": 0,
        }
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        self._connections: set[asyncpg.Connection] = set()
        self._closed = False

    @property
    def size(self) -> int:
        return self._slots.size

    @property
    def taken(self) -> int:
        """Return the connections that are in use or being opened."""
        return self._slots.taken

    def apart(self, size: int) -> Pool:
        """Return another pool on the same database, for long work; it connects when it is used."""
        pool = Pool(self._url, size=size, pooled=self._pooled, command_timeout_seconds=0, routed=self._routed)
        pool._options["command_timeout"] = None
        return pool

    async def acquire(self, timeout_seconds: float, tenant_id: str = "") -> asyncpg.Connection:
        """Return a connection. Raises TimeoutError when none becomes free in time, and any error of opening one."""
        await self._slots.take(tenant_id, timeout_seconds)
        try:
            return self._reuse() or await self._connect()
        except BaseException:
            self._slots.leave(tenant_id)
            raise

    def release(self, connection: asyncpg.Connection, tenant_id: str = "") -> None:
        """Return a connection to the pool, or drop it if it is broken."""
        if connection.is_closed():
            self._connections.discard(connection)
        else:
            self._idle.append((connection, time.monotonic()))
        self._slots.leave(tenant_id)

    def drop_idle(self) -> None:
        """Close idle connections, since they lead to a server that was replaced or is about to be."""
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.terminate()
            self._connections.discard(connection)

    async def close(self) -> None:
        """Close every connection and cancel the statements of those in use."""
        self._closed = True
        idle, self._idle = self._idle, []
        try:
            for connection, _ in idle:
                await connection.close(timeout=5)
                self._connections.discard(connection)
        finally:
            self.terminate()

    def terminate(self) -> None:
        self._closed = True
        for connection in self._connections:
            connection.terminate()
        self._connections.clear()

    async def connect_apart(self) -> asyncpg.Connection:
        """Open a connection that does not count towards the pool. The caller closes it."""
        return await asyncpg.connect(self._url, **self._options)

    async def hears(self) -> bool:
        """Return whether LISTEN works: a pooler in transaction mode gives each statement another server process."""
        if not await _behind_a_pooler(self._url):
            return True
        options: dict[str, Any] = {**self._options, "statement_cache_size": 0}
        listening, other = await asyncpg.connect(self._url, **options), await asyncpg.connect(self._url, **options)
        query = _QUERIES["backend_process"].text
        try:
            before = await listening.fetchval(query)
            busy = asyncio.create_task(other.fetch(_QUERIES["backend_busy"].text))  # takes the process if it is free
            await asyncio.sleep(0)
            now = await listening.fetchval(query)
            blocked = busy.done()  # The pooler had no other process to give.
            while now == before and not busy.done():
                now = await listening.fetchval(query)
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)
            return now == before and not blocked
        finally:
            listening.terminate()
            other.terminate()

    def _reuse(self) -> asyncpg.Connection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and time.monotonic() - since < IDLE_SECONDS:
                return connection
            connection.terminate()
            self._connections.discard(connection)
        return None

    async def _connect(self) -> asyncpg.Connection:
        if self._closed:
            raise UnavailableError("this Keeps is closed; open it again")
        if self._pooled is None:
            self._pooled = await _behind_a_pooler(self._url)
            self._options["statement_cache_size"] = 0 if self._pooled else 200
        try:
            connection = await asyncpg.connect(self._url, **self._options)
        except TimeoutError:  # Distinct from the timeout of waiting for a free connection.
            raise ConnectionError(f"no answer in {CONNECT_SECONDS:.0f} s") from None
        if not self._routed:
            await self.register_types(connection)
        self._connections.add(connection)
        if self._closed:  # The pool was closed while the connection was being opened.
            self.terminate()
            raise UnavailableError("this Keeps is closed; open it again")
        return connection

    async def register_types(self, connection: asyncpg.Connection) -> None:
        """Register the types of pgvector on a connection once. Raises UnavailableError without the extension."""
        if connection in self._registered:
            return
        try:
            await register_vector(cast("Any", connection))
        except ValueError:
            connection.terminate()
            raise UnavailableError(
                "this database has no extension vector; run keeps migrate as its administrator"
            ) from None
        except BaseException:
            connection.terminate()
            raise
        self._registered.add(connection)


async def open_pool(url: str, *, size: int = 10, command_timeout_seconds: float = 60.0) -> Pool:
    """Open a pool on `url` and try one connection.

    Raises UnavailableError or ValidationFailedError that say what is wrong with the address.

    Behind a pooler such as PgBouncer in transaction mode, named prepared statements would reach servers that do not
    know them, so they are not used there.
    """
    pooled = await _behind_a_pooler(url)
    pool = Pool(url, size=size, pooled=pooled, command_timeout_seconds=command_timeout_seconds)
    try:
        pool.release(await pool.acquire(30))
    except (asyncpg.PostgresError, *LOST) as error:
        raise explained(error, url) from error
    return pool


def routed_pool(url: str, *, size: int, command_timeout_seconds: float = 60.0) -> Pool:
    """Return a pool on a sharding router; it connects when it is first used."""
    return Pool(url, size=size, pooled=True, command_timeout_seconds=command_timeout_seconds, routed=True)


def lazy_pool(url: str, *, size: int, command_timeout_seconds: float = 60.0) -> Pool:
    """Return a pool on a server that may be away now.

    It connects, and detects a pooler, when it is first used.
    """
    return Pool(url, size=size, pooled=None, command_timeout_seconds=command_timeout_seconds)


def address_of(url: str) -> str:
    """Return the URL without its password, for messages."""
    url = re.sub(r"password=[^&]*", "password=…", url)
    head, _, tail = url.rpartition("@")
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.split(':', 1)[0]}@{tail}" if head else url


def explained(error: BaseException, url: str) -> KeepsError:
    """Return an error that says why a connection to `url` failed, and what to do."""
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
    """Return whether a pooler is in between: it answers with an invented process id, the server with its real one."""
    try:
        connection = await asyncpg.connect(url, timeout=30, statement_cache_size=0)
    except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, ValueError, *LOST) as error:
        raise explained(error, url) from error
    try:
        return await connection.fetchval(_QUERIES["backend_process"].text) != connection.get_server_pid()
    finally:
        await connection.close()
