"""The cells of a Keeps: those that the directory of the first one names, opened when they are needed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from keeps.db.cell import MAIN, Cell, Server
from keeps.db.statements import Statement, Statements
from keeps.db.transaction import Row
from keeps.telemetry.logs import log
from keeps_client.errors import KeepsError, UnavailableError

_QUERIES = Statements("keeps.db")
KNOWN_SECONDS = 10.0
"""So long the list of cells is believed, on behalf of everybody."""


@dataclass(frozen=True, slots=True)
class CellAddress:
    """What the directory says of a cell: where it is, sealed under a key of the operator."""

    name: str
    address: bytes
    key_id: str


class Cells:
    """`opening`: opens another one than the first."""

    def __init__(self, main: Cell, opening: Callable[[CellAddress], Awaitable[Cell]] | None) -> None:
        self._main = main
        self._cells = {MAIN: main}
        self._opening = opening
        self._addresses: dict[str, CellAddress] = {}
        self._opened: dict[str, CellAddress] = {}
        self._failed: dict[CellAddress, tuple[float, KeepsError]] = {}
        self._logged: dict[str, str] = {}
        self._asked_at = -KNOWN_SECONDS
        self._turn_to_open = asyncio.Lock()

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections to all cells are in use, and how many there may be."""
        pools = [each.pool for each in self._cells.values()]
        return sum(each.taken for each in pools), sum(each.size for each in pools)

    @property
    def homes(self) -> list[Path]:
        """Of the cells that are embedded, and open."""
        return [each.server.home for each in self._cells.values() if each.server is not None]

    def server_of(self, name: str) -> Server | None:
        """The embedded server of an open cell, if it is one."""
        return self._cells[name].server if name in self._cells else None

    @property
    def names(self) -> list[str]:
        """The cells that the directory named when it was last read."""
        return [MAIN, *self._addresses]

    async def everywhere(
        self, statement: Statement, *values: object, seconds: float | None = None
    ) -> dict[str, list[Row]]:
        """The same of every cell, by its name. One that is away is left out, and said so in the log; raises
        UnavailableError where all are. `seconds`: how long each is waited for."""
        cells = await self.all()
        if len(cells) == 1:
            return {MAIN: await self._main.privileged_read(statement, *values)}

        async def ask(cell: Cell) -> list[Row] | KeepsError:
            try:
                return await cell.privileged_read(statement, *values, seconds=seconds)
            except KeepsError as error:
                cell.missed()
                self._log("a cell is away", cell.name, error)
                return error
            except Exception as error:  # noqa: BLE001  what is wrong with one cell is nothing to the others' tenants
                log().error("a cell fails", cell=cell.name, error=type(error).__name__)
                return UnavailableError(f"the cell {cell.name} fails ({type(error).__name__}); see keeps doctor")

        asked = [each for each in cells if not each.away] or cells
        answers = dict(zip([each.name for each in asked], await asyncio.gather(*map(ask, asked)), strict=True))
        found = {name: answer for name, answer in answers.items() if not isinstance(answer, KeepsError)}
        for name in found:
            self._logged.pop(name, None)
        if not found:
            raise next(answer for answer in answers.values() if isinstance(answer, KeepsError))
        return found

    async def trail(self, tenant_id: str, candidate: Cell | None = None) -> list[str]:
        """From the first cell to where a tenant is, as each of them says; one that comes twice ends it, too.

        `candidate`: asked in place of the cell of its name, whose address in the directory may not open.
        """
        found = [MAIN]
        while (cell := await self._says(found[-1], tenant_id, candidate)) is not None:
            found.append(cell)
            if cell in found[:-1]:
                break
        return found

    async def _says(self, name: str, tenant_id: str, candidate: Cell | None) -> str | None:
        cell = candidate if candidate is not None and candidate.name == name else await self.get(name)
        (row,) = await cell.privileged_read(_QUERIES["elsewhere"], tenant_id)
        return row["cell"]

    async def all(self) -> list[Cell]:
        """All that the directory names; those that cannot be opened are left out."""
        await self.read()
        found = [self._main]
        for name in self._addresses:
            try:
                found.append(await self.get(name))
            except KeepsError as error:
                self._log("a cell cannot be opened", name, error)
        return found

    def _log(self, event: str, name: str, error: KeepsError) -> None:
        """Log why a cell cannot be used, once for each reason: it is asked every second."""
        if self._logged.get(name) != error.detail:
            log().warning(event, cell=name, error=error.code, reason=error.detail)
            self._logged[name] = error.detail

    async def read(self, *, again: bool = False) -> None:
        """Ask the first cell which there are; what it said lately will do, unless `again`."""
        if not again and time.monotonic() - self._asked_at < KNOWN_SECONDS:
            return
        self._asked_at = time.monotonic()
        try:
            rows = await self._main.privileged_read(_QUERIES["cells"])
        except KeepsError:
            if not self._addresses:
                raise
            return  # main is away; the others go on
        self._addresses = {
            row["name"]: CellAddress(row["name"], row["address"], row["key_id"]) for row in rows if row["name"] != MAIN
        }

    async def get(self, name: str) -> Cell:
        """An open cell. Raises UnavailableError where it is not there, or cannot be opened."""
        if name == MAIN or (name in self._opened and self._opened[name] == self._addresses.get(name)):
            return self._cells[name]
        async with self._turn_to_open:
            if name not in self._addresses:
                await self.read(again=True)
            address = self._addresses.get(name)
            if address is None or self._opening is None:
                raise UnavailableError(f"the cell {name} is not in the directory of this Keeps: keeps cells list")
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
                log().info("a cell is open again", cell=name)
            if before is not None:
                await before.close()
            return opened

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._cells.values()))
