"""The cells of an installation, as listed in the directory of the main cell; opened on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from keeps.base.telemetry.logs import log
from keeps.store.db.cell import Cell, Server
from keeps.store.db.frozen import FROZEN
from keeps.store.db.statements import Statement, Statements
from keeps.store.db.transaction import Row
from keeps_client.errors import KeepsError, UnavailableError

_QUERIES = Statements("keeps.store.db")
KNOWN_SECONDS = 10.0
"""Seconds for which the list of cells is cached, for all callers."""


@dataclass(frozen=True, slots=True)
class CellAddress:
    """A directory entry of a cell: its address, sealed under a key of the operator."""

    name: str
    address: bytes
    key_id: str


class Cells:
    """The main cell and those of its directory.

    `opening` opens a cell other than the main one.
    """

    def __init__(self, main: Cell, opening: Callable[[CellAddress], Awaitable[Cell]] | None) -> None:
        self.main = main
        self._cells = {main.name: main}
        self._opening = opening
        self._addresses: dict[str, CellAddress] = {}
        self._opened: dict[str, CellAddress] = {}
        self._failed: dict[CellAddress, tuple[float, KeepsError]] = {}
        self._logged: dict[str, str] = {}
        self._asked_at = -KNOWN_SECONDS
        self._turn_to_open = asyncio.Lock()

    @property
    def connections(self) -> tuple[int, int]:
        """Return the connections in use on all cells, and their maximum."""
        pools = {each.serving for each in self._cells.values()}
        return sum(each.taken for each in pools), sum(each.size for each in pools)

    @property
    def servers(self) -> dict[str, Server]:
        """Return the servers of all open embedded cells, by cell name."""
        return {name: cell.server for name, cell in self._cells.items() if cell.server is not None}

    async def answering(self, seconds: float) -> dict[str, bool]:
        """Return whether each cell of the directory answers within `seconds`."""

        async def answers(name: str) -> bool:
            try:
                async with asyncio.timeout(seconds):
                    return await (await self.get(name)).answers()
            except (KeepsError, TimeoutError):
                return False

        with suppress(KeepsError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self.read()
        names = self.names
        return dict(zip(names, await asyncio.gather(*map(answers, names)), strict=True))

    def server_of(self, name: str) -> Server | None:
        """Return the embedded server of an open cell, or None."""
        return self._cells[name].server if name in self._cells else None

    @property
    def names(self) -> list[str]:
        """Return the cells in the directory when it was last read."""
        return [self.main.name, *self._addresses]

    async def everywhere(
        self, statement: Statement, *values: object, seconds: float | None = None
    ) -> dict[str, list[Row]]:
        """Run a statement on every cell and return the rows by cell name.

        Cells that do not answer are left out and logged. `seconds` limits the wait for each cell. Raises
        UnavailableError when no cell answers.
        """
        cells = await self.all()
        if len(cells) == 1:
            return {self.main.name: await self.main.privileged_read(statement, *values)}

        async def ask(cell: Cell) -> list[Row] | KeepsError:
            try:
                return await cell.privileged_read(statement, *values, seconds=seconds)
            except KeepsError as error:
                cell.missed()
                self._log("a cell is unreachable", cell.name, error)
                return error
            except Exception as error:  # noqa: BLE001  what is wrong with one cell is nothing to the others' tenants
                log().error("a cell failed", cell=cell.name, error=type(error).__name__)
                return UnavailableError(f"the cell {cell.name} failed ({type(error).__name__}); run `keeps doctor`")

        asked = [each for each in cells if not each.away] or cells
        answers = dict(zip([each.name for each in asked], await asyncio.gather(*map(ask, asked)), strict=True))
        answered = {name: answer for name, answer in answers.items() if not isinstance(answer, KeepsError)}
        for name in answered:
            self._logged.pop(name, None)
        if not answered:
            raise next(answer for answer in answers.values() if isinstance(answer, KeepsError))
        return answered

    async def trail(self, tenant_id: str, candidate: Cell | None = None) -> list[str]:
        """Return the chain of cells from the main cell to the tenant's, as each cell names the next.

        A repeated cell ends the chain; the last cell of a frozen tenant has its entry. `candidate` replaces the cell of
        the same name, whose address may not open.
        """
        trail = [self.main.name]
        while (cell := await self._says(trail[-1], tenant_id, candidate)) not in (None, FROZEN):
            trail.append(cell)
            if cell in trail[:-1]:
                break
        return trail

    def undecided(self, one: str, other: str) -> str:
        """Return what to do if each of two cells says that a tenant is in the other."""
        return (
            f"a move of this tenant between the cells {one} and {other} was interrupted; repeat it with `keeps tenants"
            " move`"
        )

    async def _says(self, name: str, tenant_id: str, candidate: Cell | None) -> str | None:
        cell = candidate if candidate is not None and candidate.name == name else await self.get(name)
        (row,) = await cell.privileged_read(_QUERIES["elsewhere"], tenant_id)
        return row["cell"]

    async def all(self) -> list[Cell]:
        """Return all cells of the directory, without those that cannot be opened."""
        await self.read()
        cells = [self.main]
        for name in self._addresses:
            try:
                cells.append(await self.get(name))
            except KeepsError as error:
                self._log("a cell cannot be opened", name, error)
        return cells

    def _log(self, event: str, name: str, error: KeepsError) -> None:
        """Log why a cell cannot be used, once for each reason, since cells are polled every second."""
        if self._logged.get(name) != error.detail:
            log().warning(event, cell=name, error=error.code, reason=error.detail)
            self._logged[name] = error.detail

    async def read(self, *, again: bool = False) -> None:
        """Read the directory from the main cell. A recent result is reused unless `again` is set."""
        if not again and time.monotonic() - self._asked_at < KNOWN_SECONDS:
            return
        self._asked_at = time.monotonic()
        try:
            rows = await self.main.privileged_read(_QUERIES["cells"])
        except KeepsError:
            if not self._addresses:
                raise
            return  # The main cell is away; the others continue.
        self._addresses = {
            row["name"]: CellAddress(row["name"], row["address"], row["key_id"])
            for row in rows
            if row["name"] != self.main.name
        }

    async def get(self, name: str) -> Cell:
        """Return an open cell. Raises UnavailableError when it does not exist or cannot be opened."""
        if name == self.main.name or (name in self._opened and self._opened[name] == self._addresses.get(name)):
            return self._cells[name]
        async with self._turn_to_open:
            if name not in self._addresses:
                await self.read(again=True)
            address = self._addresses.get(name)
            if address is None or self._opening is None:
                raise UnavailableError(f"the cell {name} is not in the directory of this Keeps; see `keeps cells list`")
            if self._opened.get(name) == address:
                return self._cells[name]
            until, why = self._failed.get(address, (0.0, None))
            if why is not None and time.monotonic() < until:
                raise why
            try:
                opened = await self._opening(address)
            except KeepsError as error:
                failed = UnavailableError(f"cell {name}: {error.detail}")
                self._failed = {address: entry for address, entry in self._failed.items() if address.name != name}
                self._failed[address] = time.monotonic() + KNOWN_SECONDS / 2, failed
                raise failed from error
            before = self._cells.get(name)
            self._cells[name], self._opened[name] = opened, address
            self._failed.pop(address, None)
            if self._logged.pop(name, None) is not None:
                log().info("a cell is reachable again", cell=name)
            if before is not None:
                await before.close()
            return opened

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._cells.values()))
