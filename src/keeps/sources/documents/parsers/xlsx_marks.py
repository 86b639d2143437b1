"""Properties of a sheet that openpyxl does not report: hidden rows, merged cells, formulas without a value."""

from __future__ import annotations

import io
import zipfile
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from openpyxl.formula.translate import Translator
from openpyxl.utils import coordinate_to_tuple, range_boundaries

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_COL, _ROW, _CELL, _MERGE, _FORMAT, _CONDITION = (
    f"{_SHEET}{name}" for name in "col row c mergeCell sheetFormatPr conditionalFormatting".split()
)
_MOST_COLUMNS, _MOST_ROWS, _MOST_MERGED = 16_384, 1 << 20, 100_000
_LEAST_HEIGHT, _LEAST_WIDTH = 2.0, 0.2


@dataclass(slots=True)
class Marks:
    """Properties of one sheet.

    Attributes:
        rows: Hidden rows.
        columns: Hidden columns.
        used: Columns with at least one non-empty cell.
        formulas: Formulas without a value, by row and column.
        merged: The first column, first row, last column and last row of each merged cell.
        is_sorted: Rows are in order.
        has_conditions: The look of some cells depends on their values.
        rows_are_low: Rows without an explicit height have none.
    """

    rows: set[int] = field(default_factory=set[int])
    columns: set[int] = field(default_factory=set[int])
    used: set[int] = field(default_factory=set[int])
    formulas: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    merged: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    is_sorted: bool = True
    has_conditions: bool = False
    rows_are_low: bool = False

    def places(self) -> dict[int, int]:
        """Return the index of each used column, with adjacent empty columns counted as one."""
        places: dict[int, int] = {}
        before, place = 0, -1
        for column in sorted(self.used):
            place += 1 if column == before + 1 else 2
            places[column] = place
            before = column
        return places


class Covered:
    """Reports the cells covered by merged ones. Rows must be visited in order."""

    def __init__(self, merged: list[tuple[int, int, int, int]]) -> None:
        self._coming = sorted(merged, key=lambda area: area[1], reverse=True)
        self._areas: list[tuple[int, int, int, int]] = []
        self._ends_at = 0

    def move(self, row: int) -> None:
        """Continue with a row."""
        added = False
        while self._coming and self._coming[-1][1] <= row:
            self._areas.append(self._coming.pop())
            added = True
        if added or row > self._ends_at:
            self._areas = sorted(area for area in self._areas if area[3] >= row)
            self._ends_at = min((area[3] for area in self._areas), default=1 << 30)

    def has(self, row: int, column: int) -> bool:
        at = bisect_right(self._areas, (column, 1 << 30)) - 1
        if at < 0:
            return False
        left, top, right, bottom = self._areas[at]
        return left <= column <= right and top <= row <= bottom and (row, column) != (top, left)


def marks(archive: zipfile.ZipFile, path: str) -> Marks:
    """Read the marks of a sheet from its XML."""
    sheet_marks = Marks()
    shared: dict[str, tuple[str, str]] = {}
    row = column = 0
    tags = (_COL, _ROW, _CELL, _MERGE, _FORMAT, _CONDITION)
    # A row without a number follows the row before it.
    for event, element in etree.iterparse(
        io.BytesIO(archive.read(path)), events=("start", "end"), tag=tags, resolve_entities=False, no_network=True
    ):
        tag = element.tag
        if event == "start":
            if tag == _ROW:
                number = int(float(element.get("r") or row + 1))
                sheet_marks.is_sorted = sheet_marks.is_sorted and number > row
                row, column = number, 0
                if _is_hidden_row(element, low=sheet_marks.rows_are_low):
                    sheet_marks.rows.add(row)
            elif tag == _FORMAT:
                sheet_marks.rows_are_low = _is_true(element.get("zeroHeight"))
        elif tag == _CELL:
            place = element.get("r")
            column = coordinate_to_tuple(place)[1] if place else column + 1
            if len(element):
                sheet_marks.used.add(column)
                _formula(element, sheet_marks, shared)
        elif tag == _ROW:
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        elif tag == _COL:
            if _is_true(element.get("hidden")) or _size(element.get("width")) < _LEAST_WIDTH:
                last = min(int(element.get("max", "0")), _MOST_COLUMNS)
                sheet_marks.columns.update(range(int(element.get("min", "1")), last + 1))
        elif tag == _MERGE:
            if len(sheet_marks.merged) < _MOST_MERGED:
                left, top, right, bottom = range_boundaries(element.get("ref", "A1"))
                sheet_marks.merged.append((left or 1, top or 1, right or _MOST_COLUMNS, bottom or _MOST_ROWS))
        elif tag == _CONDITION:
            sheet_marks.has_conditions = sheet_marks.has_conditions or any(rule.get("dxfId") for rule in element)
    return sheet_marks


def _is_hidden_row(row: Any, *, low: bool) -> bool:
    hidden, height = row.get("hidden"), row.get("ht")
    if _is_true(hidden):
        return True
    return _size(height) < _LEAST_HEIGHT if height is not None else low and hidden is None


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("1", "true", "on")


def _size(value: str | None) -> float:
    try:
        return float(value or 100)
    except ValueError:
        return 100.0


def _formula(cell: Any, sheet_marks: Marks, shared: dict[str, tuple[str, str]]) -> None:
    """Store a formula without a stored value."""
    formula = cell.find(f"{_SHEET}f")
    place = cell.get("r")
    if formula is None or not place:
        return
    text = formula.text or ""
    group = formula.get("si")
    if group is not None and text:
        shared[group] = (text, place)
    value = cell.find(f"{_SHEET}v")
    if cell.get("t") == "str" or (value is not None and value.text):
        return
    if not text and group in shared:
        first, origin = shared[group]
        text = Translator(f"={first}", origin=origin).translate_formula(place)
    if text:
        sheet_marks.formulas[coordinate_to_tuple(place)] = f"={text.removeprefix('=')}"
