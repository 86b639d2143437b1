"""Access to the database. Nothing else opens a transaction.

    async with database.scoped(scope) as tx:            # reads
    async for attempt in database.writing(scope):       # writes, retried when PostgreSQL asks for it
        async with attempt as tx:

The first statement of a transaction sets its tenant and user, by settings that are local to it, so it is safe behind
PgBouncer in transaction mode. Writers of one tenant take turns (an advisory lock until commit): event numbers follow
the order of commits without gaps, and what a writer has read stays true until it commits.

A tenant is on one PostgreSQL, a cell. Its cell is cached; if the cache is wrong, as after a move, the cell itself says
so in that first statement, and the transaction begins in the right cell without the caller noticing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, overload

from cachetools import LRUCache

from keeps.base.fairness import TenantLocks
from keeps.base.scope import Scope
from keeps.store.db.answers import Answer
from keeps.store.db.cell import ACQUIRE_TIMEOUT_SECONDS, MAIN, Cell, Connection, Server
from keeps.store.db.cells import CellAddress, Cells
from keeps.store.db.frozen import FROZEN, FrozenError, FrozenTenants
from keeps.store.db.pool import Pool
from keeps.store.db.repeats import current_request, known_answer
from keeps.store.db.shards import Shards
from keeps.store.db.standbys import Standbys
from keeps.store.db.statements import Statement, Statements
from keeps.store.db.transaction import (
    ENTER_CARRY,
    ENTER_READ,
    ENTER_SNAPSHOT,
    ENTER_WRITE,
    Row,
    Tx,
    current_trace,
    forbid_inside_transaction,
    leaves_frozen,
    takes_long,
    taking_long,
    traced,
)
from keeps.store.db.writing import Writing
from keeps_client.errors import UnavailableError

__all__ = [
    "MAIN",
    "Cell",
    "Connection",
    "Database",
    "Row",
    "Tx",
    "Writing",
    "current_trace",
    "forbid_inside_transaction",
    "taking_long",
    "traced",
]

ResultT = TypeVar("ResultT")

_QUERIES = Statements("keeps.store.db")
WRITER_TIMEOUT_SECONDS = 30.0
"""Seconds that a writer waits for the others of its tenant, without holding a connection."""
MOVING_SECONDS = 10.0
"""Seconds that a caller waits for a tenant that each of two cells says is in the other."""
ROUTES = 200_000
HOPS = 3
THAWS = 3
"""Times that a call has its tenant thawed, which is frozen again at once only if the directory is damaged."""


class _FrozenIn(Exception):
    """The tenant is frozen in this cell."""

    def __init__(self, cell: str) -> None:
        super().__init__(cell)
        self.cell = cell


def _stays_frozen() -> FrozenError:
    return FrozenError("this tenant is frozen and its entry is damaged; for the operator: run `keeps doctor`")


class Database:
    """Opens transactions on the main cell and on those of its directory.

    Args:
        opening: Opens another cell.
        direct: A pool that bypasses the pooler.
        standbys: Copies of the main cell, for reads.
        shards: The shards behind a sharding router, instead of cells.
    """

    def __init__(
        self,
        pool: Pool,
        server: Server | None = None,
        opening: Callable[[CellAddress], Awaitable[Cell]] | None = None,
        *,
        direct: Pool | None = None,
        standbys: Sequence[Pool] = (),
        shards: Shards | None = None,
    ) -> None:
        self.shards = shards
        self.cells = shards or Cells(Cell(MAIN, pool, server, direct), opening)
        self.main = self.cells.main
        self._standbys = Standbys(pool, standbys) if standbys else None
        self._routes: LRUCache[str, str] = LRUCache(ROUTES)
        self._turns, self._reading_turns = TenantLocks(), TenantLocks()
        self.frozen: FrozenTenants | None = None
        """Freezes and thaws tenants; the engine sets it."""
        self.on_commit: list[Callable[[Scope], None]] = []
        """Called with the scope of each write that this process commits."""

    @property
    def standbys(self) -> list[Cell]:
        """Return the copies of the main cell that serve reads."""
        return [] if self._standbys is None else self._standbys.cells

    def scoped(self, scope: Scope) -> AbstractAsyncContextManager[Tx]:
        """Open a read-only transaction as `scope`.

        Raises UnavailableError when no connection is free in time or the server is gone.
        """
        return self._transaction(scope, ENTER_READ)

    def snapshot(self, scope: Scope) -> AbstractAsyncContextManager[Tx]:
        """Open a read-only transaction as `scope` whose statements all see the data of one moment."""
        return self._transaction(scope, ENTER_SNAPSHOT)

    def cell_of(self, tenant_id: str) -> str | None:
        """Return the cell that the tenant was last found in; None where standbys may serve its reads."""
        cell = self._routes.get(tenant_id, self.main.name)
        return None if cell == self.main.name and self._standbys is not None else cell

    async def ask(self, tenant_id: str, statement: Statement, *values: object) -> list[Row] | None:
        """Run one reading statement that names its scope itself, as a transaction of its own.

        Its rows say `elsewhere`. Returns None if the tenant is not in its `cell_of`.
        """
        forbid_inside_transaction("another transaction")
        self._note_use(tenant_id)
        cell = self.cell_of(tenant_id)
        if cell is None or (cell != self.main.name and cell not in self.cells.names):
            return None
        if self.shards is not None:  # A router needs a transaction for the key.
            async with self.scoped(Scope(tenant_id)) as tx:
                rows = await tx.fetch(statement, *values)
            return rows if tx.cell == cell else None
        rows = await (await self.cells.get(cell)).ask(tenant_id, statement, *values)
        return None if rows[0]["elsewhere"] is not None else rows

    @asynccontextmanager
    async def reading(self, scope: Scope) -> AsyncGenerator[Tx]:
        """Open a read-only transaction that a standby may serve.

        It sees everything that was committed before it began; while the main cell is away, everything that this process
        has seen.
        """
        self._note_use(scope.tenant_id)
        standbys = None if scope.tenant_id in self._routes else self._standbys
        tx = None if standbys is None else await standbys.begin(scope)
        if tx is None:
            async with self.scoped(scope) as tx:
                yield tx
        else:
            async with tx.ending():
                yield tx

    @asynccontextmanager
    async def scoped_in_turn(self, scope: Scope) -> AsyncGenerator[Tx]:
        """Open a read-only transaction for work that takes seconds of the database, one at a time for each tenant."""
        async with (
            _turn(self._reading_turns, scope, ACQUIRE_TIMEOUT_SECONDS, "readers that look far"),
            self.reading(scope) as tx,
        ):
            yield tx

    @overload
    def writing(self, scope: Scope) -> Writing[None]: ...

    @overload
    def writing(self, scope: Scope, answer: Answer[ResultT]) -> Writing[ResultT]: ...

    def writing(self, scope: Scope, answer: Answer[Any] | None = None) -> Writing[Any]:
        """Return the attempts of a write; `answer` stores its result for a request that may be sent again."""
        return Writing(self, scope, answer)

    @asynccontextmanager
    async def write_transaction(self, scope: Scope) -> AsyncGenerator[Tx]:
        """Open one transaction that writes, for one attempt of a `Writing`."""
        forbid_inside_transaction("another transaction")  # It would wait for its own turn.
        for _ in range(THAWS):
            async with _turn(self._turns, scope, WRITER_TIMEOUT_SECONDS, "writers"):
                try:
                    tx = await self._begin(scope, ENTER_WRITE)
                except _FrozenIn as frozen:
                    cell = frozen.cell
                else:
                    async with tx.ending():
                        yield tx
                    return
            await self._thaw(scope.tenant_id, cell)  # It writes, so this writer's turn has ended.
        raise _stays_frozen()

    def committed(self, scope: Scope) -> None:
        """Note a committed write of this process."""
        if self._standbys is not None:
            self._standbys.wrote(scope.tenant_id)
        for listener in self.on_commit:
            listener(scope)

    async def answered(self, scope: Scope, answer: Answer[ResultT]) -> ResultT | None:
        """Return the earlier answer of this request, for a caller that acts outside the database first."""
        request = current_request()
        if request is None:
            return None
        async with self.scoped(scope) as tx:
            return await known_answer(tx, request.by(scope.acting_user), answer)

    @asynccontextmanager
    async def _transaction(self, scope: Scope, enter: Statement) -> AsyncGenerator[Tx]:
        forbid_inside_transaction("another transaction")
        tx = await self._begin_thawed(scope, enter)
        async with tx.ending():
            yield tx

    async def _begin_thawed(self, scope: Scope, enter: Statement) -> Tx:
        for _ in range(THAWS):
            try:
                return await self._begin(scope, enter)
            except _FrozenIn as frozen:
                cell = frozen.cell
            await self._thaw(scope.tenant_id, cell)
        raise _stays_frozen()

    @asynccontextmanager
    async def carrying(self, scope: Scope, cell: str) -> AsyncGenerator[Tx]:
        """Open a transaction that freezes or thaws a tenant in a cell, on a connection for long work."""
        forbid_inside_transaction("another transaction")
        with taking_long():
            tx = await (await self.cells.get(cell)).begin(scope, ENTER_CARRY)
        assert isinstance(tx, Tx)  # noqa: S101  its first statement names no other cell
        async with tx.ending():
            yield tx

    def _note_use(self, tenant_id: str) -> None:
        if self.frozen is not None and not takes_long():
            self.frozen.used(tenant_id)

    async def _thaw(self, tenant_id: str, cell: str) -> None:
        """Have a tenant of a cell thawed. Nothing is held while it lasts."""
        if self.frozen is None or leaves_frozen():
            raise FrozenError("this tenant is frozen, and stays so for work that nobody called for")
        await self.frozen.wake(tenant_id, cell, patient=takes_long())

    async def _begin(self, scope: Scope, enter: Statement) -> Tx:
        """Begin in the tenant's cell. Raises _FrozenIn if the tenant is frozen there."""
        self._note_use(scope.tenant_id)
        main = self.main.name
        cell = self._routes.get(scope.tenant_id, main)
        begun = await self.main.begin(scope, enter) if cell == main else cell
        if begun == FROZEN:
            raise _FrozenIn(main)
        return await self._sent_on(scope, enter, begun) if isinstance(begun, str) else begun

    async def _sent_on(self, scope: Scope, enter: Statement, cell: str) -> Tx:
        """Begin in `cell`, or follow its answer to the cell that holds the tenant now."""
        waits_until = time.monotonic() + MOVING_SECONDS
        hops = 0
        while True:
            if cell not in self.cells.names:
                await self.cells.read(again=True)
                if cell not in self.cells.names and self._routes.pop(scope.tenant_id, None) is not None:
                    cell = self.main.name  # The remembered cell no longer exists.
            try:
                tx_or_cell = await (await self.cells.get(cell)).begin(scope, enter)
            except UnavailableError:
                if self._routes.pop(scope.tenant_id, None) is None:
                    raise
                tx_or_cell = await self.main.begin(scope, enter)  # The tenant may have moved since.
                cell = self.main.name
            if not isinstance(tx_or_cell, str):
                self._remember(scope.tenant_id, cell)
                return tx_or_cell
            if tx_or_cell == FROZEN:
                raise _FrozenIn(cell)
            hops += 1
            if hops > HOPS:  # Two cells name each other while the tenant is being moved.
                if time.monotonic() > waits_until:
                    raise UnavailableError(self.cells.undecided(cell, tx_or_cell))
                await asyncio.sleep(0.02)
            cell = tx_or_cell

    def _remember(self, tenant_id: str, cell: str) -> None:
        if cell == self.main.name:
            self._routes.pop(tenant_id, None)
            return
        self._routes[tenant_id] = cell

    async def place(self, tenant_id: str) -> None:
        """Choose a cell for a tenant that may be new, before its first write. A router chooses by itself."""
        if self.shards is not None:
            return
        try:
            (row,) = await self.main.privileged_read(_QUERIES["place_tenant"], tenant_id)
        except UnavailableError:
            if tenant_id not in self._routes:
                raise
        else:
            if row["cell"] != FROZEN:  # It is in the main cell; the first transaction thaws it.
                self._remember(tenant_id, row["cell"] or MAIN)

    async def privileged_read(self, statement: Statement, *values: object) -> list[Row]:
        """Read from the main cell what belongs to no tenant (catalogue, settings), with no tenant set."""
        return await self.main.privileged_read(statement, *values)

    async def close(self) -> None:
        standbys = [] if self._standbys is None else [self._standbys]
        await asyncio.gather(*(each.close() for each in (self.cells, *standbys)))


@asynccontextmanager
async def _turn(locks: TenantLocks, scope: Scope, seconds: float, who: str) -> AsyncGenerator[None]:
    """Make the writers of a tenant take turns before they take a connection.

    Writers of other processes take turns by a lock in the database.
    """
    turn = locks.turn(scope.tenant_id, seconds)
    try:
        await turn.__aenter__()
    except TimeoutError:
        raise UnavailableError(f"too many {who} of this tenant are waiting; nothing was done. Try again") from None
    try:
        yield
    finally:
        await turn.__aexit__(None, None, None)
