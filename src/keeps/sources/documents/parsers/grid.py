"""Tables of HTML and Word files: a grid of cells, each with the names of its columns, each cell once. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    heading: bool = False
    columns: int = 1
    rows: int = 1


class Grid:
    """Converts each row of a table to pairs of a name and a value, row by row."""

    def __init__(self) -> None:
        self._spans: dict[int, int] = {}
        self._names: dict[int, dict[str, None]] = {}
        self._pending: list[list[tuple[str, str]]] = []
        self._in_names = False

    def row(self, cells: Sequence[Cell], *, in_head: bool = False) -> list[list[tuple[str, str]]]:
        """Return the rows to store now: none for column names, which wait for a row below them."""
        placed = self._placed(cells)
        filled = [cell for _, cell in placed if cell.text]
        if filled and (in_head or self._are_names(placed)):
            if not self._in_names:
                self._names, self._pending = {}, []
            self._in_names = True
            for column, cell in placed:
                for at in range(column, column + cell.columns):
                    if cell.text:
                        self._names.setdefault(at, {})[cell.text] = None
            self._pending.append([("", cell.text) for cell in filled])
            return []
        if filled:
            self._in_names = False
            self._pending = []
        return [self._pairs(placed)]

    def rest(self) -> list[list[tuple[str, str]]]:
        """Return the column names that have no row below them."""
        return self._pending

    @property
    def named(self) -> bool:
        return bool(self._names)

    def _are_names(self, placed: Sequence[tuple[int, Cell]]) -> bool:
        """Return whether a row has column names: only heading cells, except for an empty corner."""
        filled = [(column, cell) for column, cell in placed if cell.text]
        if not all(cell.heading for _, cell in filled):
            return False
        if len(placed) == 1:
            return not self._names or self._in_names
        return all(cell.heading for _, cell in placed) or filled[0][0] > 0

    def _pairs(self, placed: Sequence[tuple[int, Cell]]) -> list[tuple[str, str]]:
        pairs = [
            (", ".join(dict.fromkeys(filter(None, map(self._name, range(at, at + cell.columns))))), cell.text)
            for at, cell in placed
        ]
        first = placed[0][1] if placed else None
        if len(pairs) > 1 and first is not None and first.heading and not any(name for name, _ in pairs):
            return [
                (first.text, pairs[1][1]) if pairs[1][1] else ("", first.text),
                *pairs[2:],
            ]  # The row's name, without column names.
        return pairs

    def _name(self, column: int) -> str:
        return " ".join(self._names.get(column, ()))

    def _placed(self, cells: Sequence[Cell]) -> list[tuple[int, Cell]]:
        """Return each cell with its column, since cells of rows above may extend into this row."""
        placed: list[tuple[int, Cell]] = []
        column = 0
        spans = self._spans
        self._spans = {at: rows - 1 for at, rows in spans.items() if rows > 1}
        for cell in cells:
            while column in spans:
                column += 1
            if column >= MAX_COLUMNS:
                break
            placed.append((column, cell))
            for at in range(column, min(column + cell.columns, MAX_COLUMNS)):
                if cell.rows > 1:
                    self._spans[at] = cell.rows - 1
            column += cell.columns
        return placed
