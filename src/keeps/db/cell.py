"""One PostgreSQL: its connections, and what is asked of it with no tenant named. Which one a tenant is on is the door's
business (`db/session.py`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import asyncpg

from keeps.db.errors import LOST, translated
from keeps.db.pool import Pool
from keeps.db.statements import Statement
from keeps.db.transaction import ENTER_WRITE, Row, Tx, takes_long, translating
from keeps.scope import Scope
from keeps.telemetry.logs import log
from keeps_client.errors import UnavailableError

Connection = asyncpg.Connection
MAIN = "main"
"""The cell that Keeps is opened on. Where there are several, it says what is where."""
ACQUIRE_TIMEOUT_SECONDS = 10.0
LONG_TIMEOUT_SECONDS = 30.0
"""Work that takes long waits for its like."""
LONG_CONNECTIONS = 3
"""For jobs, verification and the like, which must not take those of requests."""
AWAY_SECONDS = 5.0
"""So long one that did not answer is not asked again on behalf of everybody."""
DEAD_SECONDS = 1.0
"""So long one that could not be started is not started again, however many ask."""
REVIVE_SECONDS = 60.0
"""So long callers wait for one that is started again; what it recovers may take longer."""
_FULL = "the database's disk is full; make room and try again"


class Server(Protocol):
    """A server of our own, with the home that it serves."""

    home: Path

    def url(self, role: str) -> str: ...

    async def revive(self) -> None: ...

    def is_full(self) -> bool: ...


class Cell:
    """A PostgreSQL with a name. `server`: the embedded one that it is, which is brought back when it is gone. `direct`:
    the same one past a pooler, for connections that listen."""

    def __init__(self, name: str, pool: Pool, server: Server | None = None, direct: Pool | None = None) -> None:
        self.name = name
        self.pool = pool
        self.server = server
        self._direct = direct or pool
        self._long_pool = pool.apart(LONG_CONNECTIONS)
        self._closed = False
        self._away_until = self._dead_until = 0.0
        self._reviving: asyncio.Task[None] | None = None

    @property
    def away(self) -> bool:
        """It did not answer lately."""
        return time.monotonic() < self._away_until

    def missed(self) -> None:
        self._away_until = time.monotonic() + AWAY_SECONDS

    async def begin(self, scope: Scope, enter: Statement) -> Tx | str:
        """A transaction as `scope`, to be ended by `ending`; or the name of the cell in which its tenant is."""
        pool = self._long_pool if takes_long() else self.pool
        connection = await self._acquire(pool, scope.tenant_id)
        reads = enter is not ENTER_WRITE and not takes_long()
        tx = Tx(connection, pool, scope, self.name, reads=reads)
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

    async def _acquire(self, pool: Pool, tenant_id: str = "") -> asyncpg.Connection:
        seconds = LONG_TIMEOUT_SECONDS if pool is self._long_pool else ACQUIRE_TIMEOUT_SECONDS
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
        """Start the server again, once for all who wait. Where that fails, nobody tries for a moment. Why is in the
        log: callers need not know where the data is."""
        if time.monotonic() >= self._dead_until:
            if self._reviving is None or self._reviving.done():
                self._reviving = asyncio.create_task(server.revive())
                self._reviving.add_done_callback(self._revived)
            try:
                async with asyncio.timeout(REVIVE_SECONDS):
                    await asyncio.shield(self._reviving)
            except TimeoutError:
                raise UnavailableError("the database is starting, which takes long; try again later") from None
            except (UnavailableError, OSError):
                pass
            else:
                return
        raise UnavailableError(_FULL if server.is_full() else "the database does not start again; the log says why")

    def _revived(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._dead_until = time.monotonic() + DEAD_SECONDS
            log().error("the database does not start again", cell=self.name, error=str(error))

    async def privileged_read(self, statement: Statement, *values: object, seconds: float | None = None) -> list[Row]:
        """Read what belongs to no tenant (catalogue, settings), with no tenant set. `seconds`: what it may take."""
        connection = await self._soon(seconds)
        try:
            return await connection.fetch(statement.text, *values, timeout=seconds)
        except asyncio.CancelledError:
            connection.terminate()  # it is still busy with this
            raise
        except (asyncpg.PostgresError, *LOST) as error:
            if isinstance(error, TimeoutError):
                connection.terminate()
            raise translated(error) or error from error
        except AttributeError as error:  # asyncpg's, of a connection that was ended meanwhile
            if not connection.is_closed():
                raise
            raise self._unreachable(error) from error
        finally:
            self.pool.release(connection)

    async def _soon(self, seconds: float | None) -> Connection:
        try:
            async with asyncio.timeout(seconds):
                return await self._acquire(self.pool)
        except TimeoutError as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def dedicated_connection(self) -> AsyncGenerator[asyncpg.Connection]:
        """A connection of one's own, as the role that serves, outside the pool: for the queue, which listens on it.

        No tenant is set on it, so it sees no row of any. Raises UnavailableError when the server is gone.
        """
        connection = await self._acquire(self.pool)
        self.pool.release(connection)  # the server is there, or was brought back
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
        for pool in (self.pool, self._long_pool):
            try:
                await asyncio.wait_for(pool.close(), 10)
            except (TimeoutError, *LOST):
                pool.terminate()

    def _unreachable(self, error: BaseException) -> UnavailableError:
        """A server whose disk is full ends, starts, and ends again: whoever meets it in between learns why, too."""
        if self.server is not None and self.server.is_full():
            return UnavailableError(_FULL)
        return UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again")
