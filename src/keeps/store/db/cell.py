"""One PostgreSQL cell: its connections, and the queries that run without a tenant.

`db/session.py` decides which cell a tenant is on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import asyncpg

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.store.db.errors import LOST, translated
from keeps.store.db.pool import Pool
from keeps.store.db.statements import Statement, Statements
from keeps.store.db.transaction import (
    ENTER_WRITE,
    PATIENCE_SECONDS,
    READ_SECONDS,
    Route,
    Row,
    Tx,
    takes_long,
    translating,
)
from keeps_client.errors import KeepsError, UnavailableError

_QUERIES = Statements("keeps.store.db")
Connection = asyncpg.Connection
MAIN = "main"
"""Name of the cell that Keeps is opened on. With several cells, its directory says where each tenant is."""
ACQUIRE_TIMEOUT_SECONDS = 10.0
LONG_TIMEOUT_SECONDS = 30.0
"""Wait for a connection of the pool for long work, in seconds."""
LONG_CONNECTIONS = 3
"""Connections for jobs, verification and similar work, which must not take those of requests."""
AWAY_SECONDS = 5.0
"""Seconds during which a cell that did not answer is skipped by queries to all cells."""
DEAD_SECONDS = 1.0
"""Seconds after a failed start of a server before the next attempt, for all callers."""
REVIVE_SECONDS = 60.0
"""Seconds that callers wait for a server to restart; its recovery may take longer."""
_FULL = "the database's disk is full; free some space and try again"


class Server(Protocol):
    """An embedded server and the home that it serves."""

    home: Path

    def url(self, role: str) -> str: ...

    async def revive(self) -> None: ...

    def is_full(self) -> bool: ...


class Cell:
    """A named PostgreSQL.

    Args:
        server: The embedded server behind this cell, which is restarted when it is gone.
        direct: A pool on the same server that bypasses the pooler, for connections that listen.
    """

    def __init__(self, name: str, pool: Pool, server: Server | None = None, direct: Pool | None = None) -> None:
        self.name = name
        self.pool = pool
        self.server = server
        self._direct = direct or pool
        self._long_pool = pool.apart(LONG_CONNECTIONS)
        self.serving, self._serving_long = self.pool, self._long_pool
        """The pools of tenants' transactions, of requests and of long work."""
        self._route: Route | None = None
        self._closed = False
        self._away_until = self._dead_until = 0.0
        self._reviving: asyncio.Task[None] | None = None

    @property
    def pools(self) -> set[Pool]:
        return {self.pool, self._long_pool, self.serving, self._serving_long}

    @property
    def away(self) -> bool:
        """Return whether the cell recently failed to answer."""
        return time.monotonic() < self._away_until

    def missed(self) -> None:
        self._away_until = time.monotonic() + AWAY_SECONDS

    async def begin(self, scope: Scope, enter: Statement) -> Tx | str:
        """Begin a transaction as `scope`, to be ended by `ending`.

        Returns:
            The transaction, or the name of the cell that the tenant is on.
        """
        pool = self._serving_long if takes_long() else self.serving
        connection = await self._acquire(pool, scope.tenant_id)
        reads = enter is not ENTER_WRITE and not takes_long()
        tx = Tx(connection, pool, scope, self.name, reads=reads, route=self._route)
        try:
            with translating():
                elsewhere = await tx.enter(enter)
        except BaseException:
            pool.release(connection, scope.tenant_id)
            raise
        if elsewhere is None:
            return tx
        pool.release(connection, scope.tenant_id)
        return elsewhere

    async def ask(self, tenant_id: str, statement: Statement, *values: object) -> list[Row]:
        """Run one statement that names its scope itself, as a transaction of its own."""
        connection = await self._acquire(self.pool, tenant_id)
        try:
            with translating():
                return await connection.fetch(statement.text, *values, timeout=READ_SECONDS + PATIENCE_SECONDS)
        except BaseException as error:
            if not isinstance(error, KeepsError) or isinstance(error.__cause__, TimeoutError):
                connection.terminate()  # It is still busy with this statement.
            raise
        finally:
            self.pool.release(connection, tenant_id)

    def drop_idle(self) -> None:
        """Close idle connections, after an erasure: each holds the last rows that it read."""
        for pool in self.pools:
            pool.drop_idle()

    async def _acquire(self, pool: Pool, tenant_id: str = "") -> asyncpg.Connection:
        long = pool in (self._long_pool, self._serving_long)
        seconds = LONG_TIMEOUT_SECONDS if long else ACQUIRE_TIMEOUT_SECONDS
        try:
            return await pool.acquire(seconds, tenant_id)
        except TimeoutError:
            raise UnavailableError(
                f"no database connection became free in {seconds:.0f} s; too many callers at once"
            ) from None
        except (asyncpg.PostgresError, *LOST) as error:
            if self.server is None or self._closed:
                raise self._unreachable(error) from error
        await self._revive(self.server)
        try:
            return await pool.acquire(seconds, tenant_id)
        except (asyncpg.PostgresError, *LOST) as error:
            raise self._unreachable(error) from error

    async def _revive(self, server: Server) -> None:
        """Restart the server once for all callers that wait.

        After a failed start no caller tries again for DEAD_SECONDS. The reason is in the log, because callers need not
        know where the data is.
        """
        if time.monotonic() >= self._dead_until:
            if self._reviving is None or self._reviving.done():
                self._reviving = asyncio.create_task(server.revive())
                self._reviving.add_done_callback(self._revived)
            try:
                async with asyncio.timeout(REVIVE_SECONDS):
                    await asyncio.shield(self._reviving)
            except TimeoutError:
                raise UnavailableError("the database is still starting; try again later") from None
            except (UnavailableError, OSError):
                pass
            else:
                return
        raise UnavailableError(_FULL if server.is_full() else "the database does not restart; see its log")

    def _revived(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._dead_until = time.monotonic() + DEAD_SECONDS
            log().error("the database does not start again", cell=self.name, error=str(error))

    async def privileged_read(self, statement: Statement, *values: object, seconds: float | None = None) -> list[Row]:
        """Read what belongs to no tenant (catalogue, settings), with no tenant set.

        `seconds` limits the whole read; None means no limit.
        """
        connection = await self._soon(seconds)
        try:
            return await connection.fetch(statement.text, *values, timeout=seconds)
        except asyncio.CancelledError:
            connection.terminate()  # The connection is still busy with this query.
            raise
        except (asyncpg.PostgresError, *LOST) as error:
            if isinstance(error, TimeoutError):
                connection.terminate()
            raise translated(error) or error from error
        except AttributeError as error:  # asyncpg raises this for a connection that was closed meanwhile.
            if not connection.is_closed():
                raise
            raise self._unreachable(error) from error
        finally:
            self.pool.release(connection)

    async def answers(self) -> bool:
        """Return whether the server answers on a new connection, which needs no place in the pool.

        It is not restarted.
        """
        try:
            connection = await self.pool.connect_apart()
        except (asyncpg.PostgresError, *LOST):
            return False
        try:
            return bool(await connection.fetchval(_QUERIES["answers"].text))
        except (asyncpg.PostgresError, *LOST):
            return False
        finally:
            connection.terminate()

    async def hears(self) -> bool:
        """Return whether the connection of the worker hears notifications. Raises UnavailableError."""
        try:
            return await self._direct.hears()
        except (asyncpg.PostgresError, *LOST) as error:
            raise self._unreachable(error) from error

    async def _soon(self, seconds: float | None) -> Connection:
        try:
            async with asyncio.timeout(seconds):
                return await self._acquire(self.pool)
        except TimeoutError as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def dedicated_connection(self) -> AsyncGenerator[asyncpg.Connection]:
        """Open a connection outside the pool, as the serving role, for the queue, which listens on it.

        No tenant is set on it, so it sees no tenant's rows. Raises UnavailableError when the server is gone.
        """
        connection = await self._acquire(self.pool)
        self.pool.release(connection)  # The server is reachable again.
        try:
            connection = await self._direct.connect_apart()
        except (asyncpg.PostgresError, *LOST) as error:
            raise self._unreachable(error) from error
        try:
            yield connection
        finally:
            connection.terminate()

    async def close(self) -> None:
        self._closed = True
        for pool in self.pools:
            try:
                await asyncio.wait_for(pool.close(), 10)
            except (TimeoutError, *LOST):
                pool.terminate()

    def _unreachable(self, error: BaseException) -> UnavailableError:
        """Return the error for an unreachable server; it names a full disk if there is one.

        A server whose disk is full stops, starts and stops again, so callers in between learn the reason, too.
        """
        if self.server is not None and self.server.is_full():
            return UnavailableError(_FULL)
        return UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again")
