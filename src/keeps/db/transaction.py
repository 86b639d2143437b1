"""A transaction of one tenant on one connection: how it begins, says who asks, and ends."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import asyncpg

from keeps.db.errors import LEADER_GONE, LOST, RETRYABLE, translated
from keeps.db.pool import Pool
from keeps.db.statements import Statement, Statements
from keeps.scope import Scope
from keeps_client.errors import UnavailableError

Row = asyncpg.Record

_QUERIES = Statements("keeps.db")
ENTER_READ, ENTER_WRITE, ENTER_STANDBY, _ENTER_USER = (
    _QUERIES[name] for name in ("enter_read", "enter_write", "enter_standby", "enter_user")
)
READ_SECONDS = 10
"""What a statement that reads may take: whoever asks for more would keep a connection from the others."""
PATIENCE_SECONDS = 2.0
"""How much longer a server that hangs, and so does not end the statement itself, is waited for."""

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_inside_transaction", default=False)
_long: contextvars.ContextVar[bool] = contextvars.ContextVar("keeps_long_work", default=False)
_traceparent: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_traceparent", default="")


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


def takes_long() -> bool:
    """Whether this is work that takes long."""
    return _long.get()


def current_trace() -> str:
    """The traceparent of the request that is served; empty outside one."""
    return _traceparent.get()


def forbid_inside_transaction(what: str) -> None:
    """Models and other slow calls say this first: a transaction must never wait for them."""
    if _inside.get():
        raise AssertionError(f"{what} must not be called inside a transaction")


class TryAgainError(UnavailableError):
    """PostgreSQL asks to run the transaction again."""


class LeaderGoneError(UnavailableError):
    """The server went away, or takes no writes any more, before anything was committed."""


class Tx:
    """A transaction of one tenant. Made by the door only; store functions take it first."""

    __slots__ = ("_connection", "_patience", "_pool", "_user", "_writes", "cell", "reached", "scope")

    def __init__(self, connection: asyncpg.Connection, pool: Pool, scope: Scope, cell: str, *, reads: bool) -> None:
        """`reads`: and takes no longer than reading may."""
        self._connection = connection
        self._pool = pool
        self._patience = READ_SECONDS + PATIENCE_SECONDS if reads else None
        self.scope = scope
        self._user: tuple[str, str] | None = None
        """The user and the bound agent that PostgreSQL was told; None before, and where each row named its own."""
        self.cell = cell
        """The name of the cell that it runs on."""
        self._writes = False
        self.reached: list[int] | None = None
        """On a standby: how far the tenant has come there."""

    async def fetch(self, statement: Statement, *values: object, timeout_seconds: float | None = None) -> list[Row]:
        """`timeout_seconds`: for what may take longer than other statements."""
        self._check_user()
        return await self._connection.fetch(statement.text, *values, timeout=timeout_seconds or self._patience)

    async def fetch_row(self, statement: Statement, *values: object) -> Row | None:
        self._check_user()
        return await self._connection.fetchrow(statement.text, *values, timeout=self._patience)

    async def execute(self, statement: Statement, *values: object) -> None:
        self._check_user()
        await self._connection.execute(statement.text, *values, timeout=self._patience)

    async def fetch_for_many(self, statement: Statement, *values: object) -> list[Row]:
        """A statement that acts for several users of the tenant, each row as its own (ADR 44). The transaction is
        nobody's afterwards: whoever goes on must `become` somebody first."""
        self._user = None
        return await self._connection.fetch(statement.text, *values, timeout=self._patience)

    def _check_user(self) -> None:
        if self._user is None:
            raise AssertionError("this transaction acts as nobody: become somebody first")

    async def become(self, scope: Scope) -> None:
        """Go on as another user of the same tenant."""
        if scope.tenant_id != self.scope.tenant_id:
            raise AssertionError("a transaction belongs to one tenant")
        if (scope.user_id, scope.bound_agent) != self._user:
            self._user = scope.user_id, scope.bound_agent
            await self.execute(_ENTER_USER, *self._user)
        self.scope = scope

    async def enter(self, statement: Statement) -> str | None:
        """Say who asks. Where the tenant is in another cell the transaction is over, and its name comes back."""
        more = _traceparent.get() if statement is ENTER_WRITE else "0" if _long.get() else f"{READ_SECONDS}s"
        self._writes = statement is ENTER_WRITE
        self._user = self.scope.user_id, self.scope.bound_agent
        who = (self.scope.tenant_id, *self._user, more)
        try:
            await self._connection.execute("BEGIN" if self._writes else "BEGIN READ ONLY", timeout=self._patience)
            row = await self.fetch_row(statement, *who)
            elsewhere = None if row is None else row["elsewhere"]
            if statement is ENTER_STANDBY and row is not None:
                self.reached = row["reached"]
            if elsewhere is not None:
                await self._undo(None)
        except BaseException as error:
            await self._undo(error)
            self._check_leader(error)
            raise
        return elsewhere

    @asynccontextmanager
    async def ending(self) -> AsyncGenerator[None]:
        """What is done inside is committed, or taken back where it fails. The connection is given back."""
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
        """Nothing is committed: what the server says of itself is no reason to fail."""
        gone = isinstance(error, LEADER_GONE) or (
            isinstance(error, asyncpg.InterfaceError) and self._connection.is_closed()
        )
        if self._writes and gone:
            self._connection.terminate()
            self._pool.drop_idle()
            raise LeaderGoneError(
                f"the database went away, or was made a standby ({type(error).__name__}); nothing was written. Try"
                " again"
            ) from error

    async def leave(self) -> None:
        """It is not needed after all."""
        await self._undo(None)
        self._pool.release(self._connection, self.scope.tenant_id)

    async def _undo(self, error: BaseException | None) -> None:
        if isinstance(error, TimeoutError):
            self._connection.terminate()  # it did not answer, and would not answer this either
            return
        try:
            if not self._connection.is_closed():
                await asyncio.wait_for(self._connection.execute("ROLLBACK"), 5)
        except (asyncpg.PostgresError, *LOST):
            self._connection.terminate()


@contextmanager
def translating() -> Generator[None]:
    """What PostgreSQL and the network say becomes an error of Keeps."""
    try:
        yield
    except RETRYABLE as error:
        raise TryAgainError(str(translated(error))) from error
    except (asyncpg.PostgresError, *LOST) as error:
        known = translated(error)
        if known is None:
            raise
        raise known from error
