"""Carry out the plan that balances cells: unfinished moves first, then one move at a time, with pauses under load.

Nothing is stored about a rebalance: the state is where the tenants are. After `kill -9` at any point, the next run
finishes the interrupted move and plans anew.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from time import monotonic
from typing import Literal

from keeps.base.clock import Clock
from keeps.operate.cells.balance import BalancePlan, By, PlannedMove, TenantAmount, plan_moves
from keeps.operate.cells.moving import ENDING_SECONDS, Progress
from keeps.operate.cells.service import CellService
from keeps.operate.cells.store import QUERIES
from keeps.store.db.cell import MAIN
from keeps.store.db.provision import administered
from keeps.store.db.session import Connection
from keeps_client.errors import ConflictError

PAGE = 10_000
MEMORY_BYTES, EVENT_BYTES = 4_096, 2_048
"""Disk of a memory with its vector, words and indexes, and of an event, beside the text: docs/sizing.md."""
LOAD_DAYS = timedelta(days=7)
MOST_ACTIVE = 8
"""Statements at work in a PostgreSQL at which no move begins."""
STANDBY_BYTES = 64 << 20
"""Log that a standby has yet to replay at which no move begins."""
SAMPLES, SAMPLE_SECONDS = 5, 0.1
PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A move that was interrupted. `target`: where it goes on to."""

    tenant_id: str
    target: str


@dataclass(slots=True)
class RebalanceProgress:
    """A move under way, or a pause. `number` of `moves`; 0: an unfinished move of an earlier run."""

    state: Literal["waiting", "moving", "skipped"]
    tenant_id: str
    target: str
    number: int
    moves: int
    detail: str = ""
    move: Progress | None = None


@dataclass(slots=True)
class Rebalance:
    """The result. `after`: the cells as they are now, with the moves that would still be left; None for a dry run."""

    plan: BalancePlan
    unfinished: list[Unfinished]
    moved: list[PlannedMove] = field(default_factory=list[PlannedMove])
    skipped: list[PlannedMove] = field(default_factory=list[PlannedMove])
    after: BalancePlan | None = None


class Rebalancer:
    """Balances the cells of one Keeps.

    Args:
        most_active: Statements at work in a PostgreSQL at which no move begins.
        told: Called at each step of a move, and while one waits.
    """

    def __init__(
        self,
        cells: CellService,
        clock: Clock,
        told: Callable[[RebalanceProgress], None],
        *,
        by: By = "size",
        at_most: int | None = None,
        most_active: int = MOST_ACTIVE,
    ) -> None:
        self._cells = cells
        self._clock = clock
        self._told = told
        self._by: By = by
        self._at_most = at_most
        self._most_active = most_active

    async def look(self) -> Rebalance:
        """Return the plan and the unfinished moves. Changes nothing. Raises ConflictError for a single cell."""
        tenants = await self._tenants()
        return Rebalance(await self._plan(tenants, self._at_most), await self._unfinished(tenants))

    async def run(self) -> Rebalance:
        """Finish unfinished moves, then plan and move.

        Raises the error of the first move that fails; its tenant is then where it was, and the next run goes on.
        """
        async with self._alone():
            unfinished = await self._unfinished(await self._tenants())
            for each in unfinished:
                await self._move(each.tenant_id, each.target, 0, len(unfinished))
            result = Rebalance(await self._plan(await self._tenants(), self._at_most), unfinished)
            for number, move in enumerate(result.plan.moves, 1):
                await self._quiet(move, number, len(result.plan.moves))
                if await self._cells.is_there(move.tenant_id, move.source):
                    await self._move(move.tenant_id, move.target, number, len(result.plan.moves))
                    result.moved.append(move)
                else:  # erased, or moved by somebody else
                    result.skipped.append(move)
                    self._told(
                        RebalanceProgress("skipped", move.tenant_id, move.target, number, len(result.plan.moves))
                    )
            result.after = await self._plan(await self._tenants(), None)
        return result

    async def _plan(self, tenants: list[TenantAmount], at_most: int | None) -> BalancePlan:
        weights = {cell.name: cell.weight for cell in await self._cells.list()}
        if sum(1 for weight in weights.values() if weight) < 2:
            raise ConflictError(
                "fewer than two cells take tenants, so there is nothing to balance; use `keeps cells add` or `keeps"
                " cells weight`"
            )
        return plan_moves(weights, tenants, self._by, at_most=at_most)

    async def _tenants(self) -> list[TenantAmount]:
        """Return all tenants with their size or load, by the counters that writes keep: no rows are counted."""
        tenants: list[TenantAmount] = []
        since = self._clock() - LOAD_DAYS
        for name in await self._cells.names():
            async with administered(self._cells.place(name).url) as connection:
                after = ""
                while True:
                    if self._by == "size":
                        rows = await connection.fetch(QUERIES["sizes"].text, after, PAGE)
                        amounts = [
                            row["memories"] * MEMORY_BYTES + row["events"] * EVENT_BYTES + row["bytes"] for row in rows
                        ]
                    else:
                        rows = await connection.fetch(QUERIES["loads"].text, after, PAGE, since)
                        amounts = [row["writes"] + row["reads"] for row in rows]
                    tenants += [
                        TenantAmount(row["tenant_id"], name, amount) for row, amount in zip(rows, amounts, strict=True)
                    ]
                    if len(rows) < PAGE:
                        break
                    after = rows[-1]["tenant_id"]
        return tenants

    async def _unfinished(self, tenants: list[TenantAmount]) -> list[Unfinished]:
        """Return the interrupted moves: decided ones go on to their end, others start over to the same cell."""
        targets: dict[str, str] = {}
        by_hash: dict[str, str] | None = None
        for name in await self._cells.names():
            async with administered(self._cells.place(name).url) as connection:
                arriving = await connection.fetch(QUERIES["arriving"].text)
            if arriving and by_hash is None:
                by_hash = {hashlib.sha256(each.tenant_id.encode()).hexdigest(): each.tenant_id for each in tenants}
            for row in arriving:  # Of a copy that has no rows yet, only the hash of its tenant is known.
                if by_hash is not None and row["tenant_hash"] in by_hash:
                    targets[by_hash[row["tenant_hash"]]] = name
        for left in await self._cells.left_over():
            if not left.arriving:
                targets[left.tenant_id] = left.is_in
            else:
                targets.setdefault(left.tenant_id, left.cell)
        return [Unfinished(tenant_id, target) for tenant_id, target in sorted(targets.items())]

    async def _move(self, tenant_id: str, target: str, number: int, moves: int) -> None:
        progress = RebalanceProgress("moving", tenant_id, target, number, moves)

        def told(move: Progress) -> None:
            progress.move = move
            self._told(progress)

        await self._cells.move(tenant_id, target, told)

    async def _quiet(self, move: PlannedMove, number: int, moves: int) -> None:
        """Wait until the servers of both cells and of the main one are not busy."""
        for name in dict.fromkeys((move.source, move.target, MAIN)):
            async with administered(self._cells.place(name).url) as connection:
                while busy := await self._busy(connection):
                    self._told(
                        RebalanceProgress("waiting", move.tenant_id, move.target, number, moves, f"{name}: {busy}")
                    )
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _busy(self, connection: Connection) -> str:
        """Return why a server is busy, by the median of some samples; empty if it is not."""
        active: list[int] = []
        behind = 0
        for number in range(SAMPLES):
            if number:
                await asyncio.sleep(SAMPLE_SECONDS)
            (row,) = await connection.fetch(QUERIES["busy"].text)
            active.append(row["active"])
            behind = row["behind"]
        if median(active) >= self._most_active:
            return f"{int(median(active))} statements at work"
        if behind > STANDBY_BYTES:
            return f"a standby is {behind >> 20} MB behind"
        return ""

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Hold the lock of the one rebalance. Raises ConflictError while another one runs."""
        async with administered(self._cells.place(MAIN).url) as main:
            # The connection of a killed one holds the lock until the server has noticed.
            deadline = monotonic() + ENDING_SECONDS
            while not await main.fetchval(QUERIES["one_rebalance"].text):
                if monotonic() > deadline:
                    raise ConflictError("the cells are already being balanced; wait until that ends")
                await asyncio.sleep(0.05)
            yield
