"""A transaction of one tenant on one connection, from its first statement to commit or rollback."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol
from uuid import UUID

import asyncpg

from keeps.base.scope import Scope
from keeps.store.db.errors import LEADER_GONE, LOST, RETRYABLE, translated
from keeps.store.db.frozen import FROZEN
from keeps.store.db.pool import Pool
from keeps.store.db.statements import Statement, Statements
from keeps_client.errors import UnavailableError

Row = asyncpg.Record

_QUERIES = Statements("keeps.store.db")
ENTER_READ, ENTER_SNAPSHOT, ENTER_WRITE, ENTER_STANDBY, ENTER_CARRY, _ENTER_USER = (
    _QUERIES[name]
    for name in ("enter_read", "enter_snapshot", "enter_write", "enter_standby", "enter_carry", "enter_user")
)
_APPEND = _QUERIES["append"]
_BEGIN = {
    ENTER_WRITE: "BEGIN",
    ENTER_SNAPSHOT: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    ENTER_CARRY: "BEGIN ISOLATION LEVEL REPEATABLE READ",
}
READ_SECONDS = 10
"""Time limit of a reading statement in seconds, so that it does not keep a connection from others."""
PATIENCE_SECONDS = 2.0
"""Additional seconds to wait for a server that hangs and does not end the statement itself."""

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_inside_transaction", default=False)
_long: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_long_work", default=False)
_thawing: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_thawing", default="")
_leaving_frozen: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_leaving_frozen", default=False)
_traceparent: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_traceparent", default="")


@contextmanager
def taking_long() -> Generator[None]:
    """Make transactions inside use separate connections without a read limit, for jobs and verification."""
    token = _long.set(True)
    try:
        yield
    finally:
        _long.reset(token)


@contextmanager
def thawing(tenant_id: str) -> Generator[None]:
    """Let transactions inside use the rows of a tenant that is being thawed, which nobody else sees yet."""
    token = _thawing.set(tenant_id)
    try:
        yield
    finally:
        _thawing.reset(token)


@contextmanager
def leaving_frozen() -> Generator[None]:
    """Thaw no tenant for transactions inside, for queued jobs: they raise FrozenError."""
    token = _leaving_frozen.set(True)
    try:
        yield
    finally:
        _leaving_frozen.reset(token)


def leaves_frozen() -> bool:
    """Return whether a frozen tenant stays frozen."""
    return _leaving_frozen.get()


@contextmanager
def traced(traceparent: str) -> Generator[None]:
    """Make events inside belong to this trace (https://www.w3.org/TR/trace-context)."""
    token = _traceparent.set(traceparent)
    try:
        yield
    finally:
        _traceparent.reset(token)


def takes_long() -> bool:
    """Return whether this is work that takes long."""
    return _long.get()


def current_trace() -> str:
    """Return the traceparent of the current request; empty outside one."""
    return _traceparent.get()


def forbid_inside_transaction(what: str) -> None:
    """Raise if called inside a transaction, for models and other slow calls that a transaction must not wait for."""
    if _inside.get():
        raise AssertionError(f"{what} must not be called inside a transaction")


class TryAgainError(UnavailableError):
    """A request of PostgreSQL to run the transaction again."""


class LeaderGoneError(UnavailableError):
    """The server went away, or accepts no writes any more, before anything was committed."""


class Route(Protocol):
    """The way of a transaction through a sharding router."""

    def hints(self, tenant_id: str) -> tuple[str, ...]:
        """Return the statements after BEGIN that tell the router the tenant."""
        ...

    def entering(self, statement: Statement) -> str:
        """Return the text of an entering statement whose rows also say which shard ran it."""
        ...

    async def arrive(self, connection: asyncpg.Connection, pool: Pool, tenant_id: str, rows: list[Row]) -> str | None:
        """Prepare a connection that reached its shard; return the name of another shard that the router led to."""
        ...


class Tx:
    """A transaction of one tenant, made by `Database` only. Store functions take it first."""

    __slots__ = ("_connection", "_patience", "_pool", "_route", "_user", "_writes", "cell", "reached", "scope")

    def __init__(
        self,
        connection: asyncpg.Connection,
        pool: Pool,
        scope: Scope,
        cell: str,
        *,
        reads: bool,
        route: Route | None = None,
    ) -> None:
        """Create a transaction; `reads` limits its statements to READ_SECONDS."""
        self._route = route
        self._connection = connection
        self._pool = pool
        self._patience = READ_SECONDS + PATIENCE_SECONDS if reads else None
        self.scope = scope
        self._user: tuple[str, str, str, str] | None = None
        """The `Scope.reader` set in PostgreSQL; None before, and when each row named its own."""
        self.cell = cell
        """Name of the cell that the transaction runs on."""
        self._writes = False
        self.reached: list[int] | None = None
        """On a standby, the log position that the tenant has reached there."""

    async def fetch(self, statement: Statement, *values: object, timeout_seconds: float | None = None) -> list[Row]:
        """Run a statement and return its rows. `timeout_seconds` is for one that may take longer than others."""
        self._check_user()
        return await self._connection.fetch(statement.text, *values, timeout=timeout_seconds or self._patience)

    async def fetch_row(self, statement: Statement, *values: object) -> Row | None:
        self._check_user()
        return await self._connection.fetchrow(statement.text, *values, timeout=self._patience)

    async def execute(self, statement: Statement, *values: object) -> None:
        self._check_user()
        await self._connection.execute(statement.text, *values, timeout=self._patience)

    async def fetch_for_many(self, statement: Statement, *values: object) -> list[Row]:
        """Run a statement that acts for several users of the tenant, each row as its own user (ADR 44).

        Afterwards the transaction acts for no user: call `become` to continue.
        """
        self._user = None
        return await self._connection.fetch(statement.text, *values, timeout=self._patience)

    def _check_user(self) -> None:
        if self._user is None:
            raise AssertionError("this transaction has no user: set one first")

    async def become(self, scope: Scope) -> None:
        """Continue as another user of the same tenant."""
        if scope.tenant_id != self.scope.tenant_id:
            raise AssertionError("a transaction belongs to one tenant")
        if scope.reader != self._user:
            self._user = scope.reader
            await self.execute(_ENTER_USER, *self._user)
        self.scope = scope

    async def append(self, memory_ids: Iterable[UUID]) -> None:
        """Let a caller that may only add see the memories that this transaction is about to store."""
        await self.execute(_APPEND, ",".join(map(str, memory_ids)))

    async def enter(self, statement: Statement) -> str | None:
        """Set the tenant and user.

        If the tenant is in another cell, end the transaction and return that cell's name.
        """
        more = _traceparent.get() if statement is ENTER_WRITE else "0" if _long.get() else f"{READ_SECONDS}s"
        self._writes = statement is ENTER_WRITE
        user_id, bound, acting, grant = self._user = self.scope.reader
        who = (self.scope.tenant_id, user_id, bound, more, acting, grant)
        try:
            await self._connection.execute(_BEGIN.get(statement, "BEGIN READ ONLY"), timeout=self._patience)
            if self._route is None:
                row = await self.fetch_row(statement, *who)
                elsewhere = None if row is None else row["elsewhere"]
            else:
                row, elsewhere = None, await self._enter_by(self._route, statement, who)
            if elsewhere == FROZEN and _thawing.get() == self.scope.tenant_id:
                elsewhere = None
            if statement is ENTER_STANDBY and row is not None:
                self.reached = row["reached"]
            if elsewhere is not None:
                await self._undo(None)
        except BaseException as error:
            await self._undo(error)
            self._check_leader(error)
            raise
        return elsewhere

    async def _enter_by(self, route: Route, statement: Statement, who: tuple[str, ...]) -> str | None:
        """Enter through a router; return the shard that it led to, if it is not the expected one."""
        tenant_id = self.scope.tenant_id
        for hint in route.hints(tenant_id):
            await self._connection.execute(hint, timeout=self._patience)
        rows = await self._connection.fetch(route.entering(statement), *who, timeout=self._patience)
        return await route.arrive(self._connection, self._pool, tenant_id, rows)

    @asynccontextmanager
    async def ending(self) -> AsyncGenerator[None]:
        """Commit the work inside, or roll it back on an error, and release the connection."""
        token = _inside.set(True)
        try:
            with translating():
                try:
                    yield
                except BaseException as error:
                    await self._undo(error)
                    self._check_leader(error)
                    raise
                try:
                    await self._connection.execute("COMMIT", timeout=self._patience)
                except BaseException as error:
                    await self._undo(error)
                    raise
        finally:
            _inside.reset(token)
            self._pool.release(self._connection, self.scope.tenant_id)

    def _check_leader(self, error: BaseException) -> None:
        """Raise LeaderGoneError for an error that means the server went away or became a standby before the commit."""
        gone = isinstance(error, LEADER_GONE) or (
            isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError) and self._connection.is_closed()
        )
        if self._writes and gone:
            self._connection.terminate()
            self._pool.drop_idle()
            raise LeaderGoneError(
                f"the connection to the database was lost, or it became a standby ({type(error).__name__}); nothing"
                " was written. Try"
                " again"
            ) from error

    async def leave(self) -> None:
        """End a transaction that is not needed."""
        await self._undo(None)
        self._pool.release(self._connection, self.scope.tenant_id)

    async def _undo(self, error: BaseException | None) -> None:
        if isinstance(error, TimeoutError):
            self._connection.terminate()  # The server did not answer, and would not answer a rollback either.
            return
        try:
            if not self._connection.is_closed():
                await asyncio.wait_for(self._connection.execute("ROLLBACK"), 5)
        except (asyncpg.PostgresError, *LOST):
            self._connection.terminate()


@contextmanager
def translating() -> Generator[None]:
    """Translate PostgreSQL and network errors inside into Keeps errors."""
    try:
        yield
    except RETRYABLE as error:
        raise TryAgainError(str(translated(error))) from error
    except (asyncpg.PostgresError, *LOST) as error:
        known = translated(error)
        if known is None:
            raise
        raise known from error
