"""The one door to the database. Nothing else opens a transaction.

    async with database.scoped(scope) as tx:            # reads
    await database.write(scope, work)                   # writes, retried when PostgreSQL asks for it

A transaction knows its tenant and user from its first statement on, by settings that are local to it, so it is safe
behind PgBouncer in transaction mode. Writers of one tenant take turns (an advisory lock until commit): so event
numbers follow the order of commits without gaps, and what a writer has read stays true until it commits.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeVar

import asyncpg

from keeps.db.answers import Answer
from keeps.db.errors import LOST, RETRYABLE, translated
from keeps.db.pool import Pool
from keeps.db.repeats import current_request, known_answer, once
from keeps.db.statements import Statement, Statements
from keeps.scope import Scope
from keeps.turns import TenantLocks
from keeps_client.errors import UnavailableError

Row = asyncpg.Record
Connection = asyncpg.Connection
ResultT = TypeVar("ResultT")

_QUERIES = Statements("keeps.db")
_ENTER_READ, _ENTER_WRITE, _ENTER_USER = (_QUERIES[name] for name in ("enter_read", "enter_write", "enter_user"))

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_inside_transaction", default=False)

_long: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_long_work", default=False)

_traceparent: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_traceparent", default="")

MAX_ATTEMPTS = 5
ACQUIRE_TIMEOUT_SECONDS = 10.0
WRITER_TIMEOUT_SECONDS = 30.0
"""So long a writer waits for the others of its tenant; without a connection meanwhile."""
READ_SECONDS = 10
"""What a statement that reads may take: whoever asks for more would keep a connection from the others."""
PATIENCE_SECONDS = 2.0
"""How much longer a server that hangs, and so does not end the statement itself, is waited for."""
LONG_CONNECTIONS = 3
"""For jobs, verification and the like, which must not take those of requests."""


@contextmanager
def taking_long() -> Generator[None]:
    """Inside, transactions use connections of their own, and reads take as long as they need: jobs, verification."""
    token = _long.set(True)
    try:
        yield
    finally:
        _long.reset(token)


@contextmanager
def traced(traceparent: str) -> Generator[None]:
    """Inside, events say that they belong to this trace (https://www.w3.org/TR/trace-context)."""
    token = _traceparent.set(traceparent)
    try:
        yield
    finally:
        _traceparent.reset(token)


def current_trace() -> str:
    """The traceparent of the request that is served; empty outside one."""
    return _traceparent.get()


def forbid_inside_transaction(what: str) -> None:
    """Models and other slow calls say this first: a transaction must never wait for them."""
    if _inside.get():
        raise AssertionError(f"{what} must not be called inside a transaction")


class Tx:
    """A transaction of one tenant. Made by the door only; store functions take it first."""

    __slots__ = ("_connection", "_patience", "scope")

    def __init__(self, connection: asyncpg.Connection, scope: Scope, patience: float | None = None) -> None:
        self._connection = connection
        self._patience = patience
        self.scope = scope

    async def fetch(self, statement: Statement, *values: object, timeout_seconds: float | None = None) -> list[Row]:
        """`timeout_seconds`: for what may take longer than other statements."""
        return await self._connection.fetch(statement.text, *values, timeout=timeout_seconds or self._patience)

    async def fetch_row(self, statement: Statement, *values: object) -> Row | None:
        return await self._connection.fetchrow(statement.text, *values, timeout=self._patience)

    async def execute(self, statement: Statement, *values: object) -> None:
        await self._connection.execute(statement.text, *values, timeout=self._patience)

    async def become(self, scope: Scope) -> None:
        """Go on as another user of the same tenant."""
        if scope.tenant_id != self.scope.tenant_id:
            raise AssertionError("a transaction belongs to one tenant")
        if (scope.user_id, _bound_agent(scope)) != (self.scope.user_id, _bound_agent(self.scope)):
            await self.execute(_ENTER_USER, scope.user_id, _bound_agent(scope))
        self.scope = scope


class Database:
    """A pool and the door to it. `revive` brings a server of our own back when it is gone."""

    def __init__(self, pool: Pool, revive: Callable[[], Awaitable[None]] | None = None) -> None:
        self.pool = pool
        self._long_pool = pool.apart(LONG_CONNECTIONS)
        self._turns, self._reading_turns = TenantLocks(), TenantLocks()
        self._revive = revive
        self._closed = False
        self.on_commit: Callable[[str], None] | None = None
        """Told the tenant of each write that is committed here."""

    def scoped(self, scope: Scope) -> AbstractAsyncContextManager[Tx]:
        """A read-only transaction as `scope`.

        Raises UnavailableError when no connection is free in time or the server is gone.
        """
        return self._transaction(scope, _ENTER_READ, "BEGIN READ ONLY")

    @asynccontextmanager
    async def scoped_in_turn(self, scope: Scope) -> AsyncGenerator[Tx]:
        """The same for what takes seconds of the database: one at a time of each tenant, so that others find it
        free."""
        async with (
            _turn(self._reading_turns, scope, ACQUIRE_TIMEOUT_SECONDS, "readers that look far"),
            self.scoped(scope) as tx,
        ):
            yield tx

    async def write(
        self, scope: Scope, work: Callable[[Tx], Awaitable[ResultT]], *, answer: Answer[ResultT] | None = None
    ) -> ResultT:
        """Run `work` in one transaction, alone among the writers of its tenant; again when PostgreSQL asks for it.

        `work` may run several times, so it must do nothing but database work. With `answer`, inside `repeatable`, its
        result is stored with its effect: sent again, the request gets that result and `work` does not run. Raises
        UnavailableError when the server is gone; then the write is either whole or not there.
        """
        request = current_request() if answer is not None else None
        if request is not None:
            request.check()
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                async with (
                    _turn(self._turns, scope, WRITER_TIMEOUT_SECONDS, "writers"),
                    self._transaction(scope, _ENTER_WRITE, "BEGIN") as tx,
                ):
                    if request is None or answer is None:
                        result = await work(tx)
                    else:
                        result = await once(tx, request, work, answer)
                if request is not None:
                    request.answered = True
                if self.on_commit is not None:
                    self.on_commit(scope.tenant_id)
                return result
            except _TryAgainError as error:
                if attempt == MAX_ATTEMPTS:
                    raise UnavailableError(
                        "the database was too busy with other writers; nothing was written. Try again"
                    ) from error
                await asyncio.sleep(random.uniform(0, 0.01 * 2**attempt))
        raise AssertionError("unreachable")

    async def answered(self, scope: Scope, answer: Answer[ResultT]) -> ResultT | None:
        """What this request was answered when it was sent before: for what has an effect outside the database first."""
        request = current_request()
        if request is None:
            return None
        async with self.scoped(scope) as tx:
            return await known_answer(tx, request, answer)

    @asynccontextmanager
    async def _transaction(self, scope: Scope, enter: Statement, begin: str) -> AsyncGenerator[Tx]:
        forbid_inside_transaction("another transaction")
        pool = self._long_pool if _long.get() else self.pool
        connection = await self._acquire(pool, scope.tenant_id)
        token = _inside.set(True)
        try:
            try:
                reads = enter is _ENTER_READ and not _long.get()
                patience = READ_SECONDS + PATIENCE_SECONDS if reads else None
                await connection.execute(begin, timeout=patience)
                who = (scope.tenant_id, scope.user_id, _bound_agent(scope))
                more = _traceparent.get() if enter is _ENTER_WRITE else "0" if _long.get() else f"{READ_SECONDS}s"
                await connection.execute(enter.text, *who, more, timeout=patience)
                yield Tx(connection, scope, patience)
                await connection.execute("COMMIT", timeout=patience)
            except TimeoutError:
                connection.terminate()  # it did not answer, and would not answer this either
                raise
            except BaseException:
                await _roll_back(connection)
                raise
        except RETRYABLE as error:
            raise _TryAgainError(str(translated(error))) from error
        except (asyncpg.PostgresError, *LOST) as error:
            known = translated(error)
            if known is None:
                raise
            raise known from error
        finally:
            _inside.reset(token)
            pool.release(connection, scope.tenant_id)

    async def _acquire(self, pool: Pool, tenant_id: str = "") -> asyncpg.Connection:
        # Work that takes long waits for its like.
        seconds = WRITER_TIMEOUT_SECONDS if pool is self._long_pool else ACQUIRE_TIMEOUT_SECONDS
        try:
            return await pool.acquire(seconds, tenant_id)
        except TimeoutError:
            raise UnavailableError(
                f"no database connection became free in {seconds:.0f} s; too many callers at once"
            ) from None
        except (asyncpg.PostgresError, *LOST) as error:
            if self._revive is None or self._closed:
                raise UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again") from error
        await self._revive()
        try:
            return await pool.acquire(seconds, tenant_id)
        except (asyncpg.PostgresError, *LOST) as error:
            raise UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again") from error

    async def privileged_read(self, statement: Statement, *values: object) -> list[Row]:
        """Read what belongs to no tenant (catalogue, settings), with no tenant set."""
        try:
            connection = await self.pool.acquire(ACQUIRE_TIMEOUT_SECONDS)
            try:
                return await connection.fetch(statement.text, *values)
            finally:
                self.pool.release(connection)
        except (asyncpg.PostgresError, *LOST) as error:
            raise translated(error) or error from error

    @asynccontextmanager
    async def dedicated_connection(self) -> AsyncGenerator[asyncpg.Connection]:
        """A connection of one's own, as the role that serves, outside the pool: for the queue, which listens on it.

        No tenant is set on it, so it sees no row of any. Raises UnavailableError when the server is gone.
        """
        connection = await self._acquire(self.pool)
        self.pool.release(connection)  # the server is there, or was brought back
        try:
            connection = await self.pool.connect_apart()
        except (asyncpg.PostgresError, *LOST) as error:
            raise UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again") from error
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


class _TryAgainError(UnavailableError):
    """PostgreSQL asks to run the transaction again."""


def _bound_agent(scope: Scope) -> str:
    """The agent whose token this is; empty where the user acts, or any agent of theirs."""
    return scope.agent_id or "" if scope.agent_bound else ""


async def _roll_back(connection: asyncpg.Connection) -> None:
    try:
        if not connection.is_closed():
            await asyncio.wait_for(connection.execute("ROLLBACK"), 5)
    except (asyncpg.PostgresError, *LOST):
        connection.terminate()


@asynccontextmanager
async def _turn(locks: TenantLocks, scope: Scope, seconds: float, who: str) -> AsyncGenerator[None]:
    """Those of a tenant take turns before they take a connection; writers of other processes by a lock in the
    database."""
    turn = locks.turn(scope.tenant_id, seconds)
    try:
        await turn.__aenter__()
    except TimeoutError:
        raise UnavailableError(f"too many {who} of this tenant are waiting; nothing was done. Try again") from None
    try:
        yield
    finally:
        await turn.__aexit__(None, None, None)
