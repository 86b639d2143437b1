"""Rows of a sheet as tables: detects where one begins, its row of column names, and titles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from keeps.sources.documents.parsers import Reading

_LOOKED_AT = 4
"""Rows of a table that are compared to find the names of its columns."""
_YEARS = range(1_900, 2_101)


@dataclass(frozen=True, slots=True)
class Value:
    """A cell as displayed. `is_text`: it is not a number, date or boolean."""

    text: str = ""
    is_text: bool = True
    bold: bool = False


Row = Sequence[Value]


@dataclass(slots=True)
class _Columns:
    """The columns of the previous table."""

    names: list[str] = field(default_factory=list[str])
    bold: bool = False
    numbers: set[int] = field(default_factory=set[int])
    texts: set[int] = field(default_factory=set[int])


class SheetReader:
    """Stores rows with the names of their columns. An empty row may end a table, or be part of one.

    Args:
        first_row_names: The first row always names the columns, as in files of one table.
        narrow: No row has more than one cell.
    """

    def __init__(self, reading: Reading, *, first_row_names: bool, narrow: bool = False) -> None:
        self._reading = reading
        self._first_row_names = first_row_names
        self._narrow = narrow
        self._columns = _Columns()

    def read(self, rows: Iterable[Row]) -> None:
        for band in _bands(rows):
            self._band(band)

    def _band(self, rows: Iterator[Row]) -> None:
        """Read the rows between two empty ones."""
        head = list(islice(rows, _LOOKED_AT))
        titles = 0
        while titles < len(head) - 1 and len(_filled(head[titles])) == 1 and len(_filled(head[titles + 1])) > 0:
            titles += 1
            if len(_filled(head[titles])) > 1:
                break
        else:
            titles = 0  # Nothing wider follows.
        if titles and not self._names_columns(head[titles:], titled=True):
            titles = 0
        for row in head[:titles]:
            self._reading.add(_said(row))
        head = head[titles:]
        if not head:
            return
        if self._names_columns(head, titled=bool(titles)):
            second = len(head) > 2 and _continues_names(head)
            self._columns = _Columns(_names(head[0], head[1] if second else None), _is_bold(head[0]))
            used = 2 if second else 1
            rest = chain(head[used:], rows)
            first = next(rest, None)
            if first is None:
                self._reading.row([], [value.text for value in head[0]])
                return
            used_columns = self._rows(chain([first], rest))
            if not self._first_row_names:  # A column name without values is still stored.
                rest_of_names = [name for at, name in enumerate(self._columns.names) if at not in used_columns]
                self._reading.row([], rest_of_names)
        elif self._columns.names and not self._narrow and all(len(_filled(row)) == 1 for row in head):
            for row in chain(head, rows):
                self._reading.add(_said(row))  # Remarks below a table.
        else:
            self._rows(chain(head, rows))

    def _rows(self, rows: Iterable[Row]) -> set[int]:
        """Store rows. Return the columns that hold a value."""
        columns = self._columns
        used: set[int] = set()
        for row in rows:
            self._reading.row(columns.names, [value.text for value in row])
            for at, value in _filled(row):
                (columns.texts if value.is_text else columns.numbers).add(at)
                used.add(at)
        return used

    def _names_columns(self, head: list[Row], *, titled: bool) -> bool:
        """Return whether the first of some rows names the columns of those below."""
        first = _filled(head[0])
        if self._first_row_names and not self._columns.names:
            return len(first) > (0 if self._narrow else 1)
        if not first or not all(_is_name(value) for _, value in first) or not any(value.is_text for _, value in first):
            return False
        below = _filled(head[1]) if len(head) > 1 else []
        if len(first) < 2:
            return bool(below) and not self._columns.names and len(below) == 1 and not below[0][1].is_text
        if titled or not self._columns.names:
            return True
        if _is_bold(head[0]) and below and not _is_bold(head[1]):
            return True
        numbers = self._columns.numbers - self._columns.texts
        if any(at in numbers and value.is_text for at, value in first):
            return True
        named = {at for at, name in enumerate(self._columns.names) if name}
        places = {at for at, _ in first}
        return places != named and places == {at for at, _ in below}


def _bands(rows: Iterable[Row]) -> Iterator[Iterator[Row]]:
    """Yield the rows between empty ones as a stream, since a table may have a million rows."""
    source = iter(rows)
    for row in source:
        if _filled(row):
            band = _until_empty(row, source)
            yield band
            for _ in band:
                pass


def _until_empty(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    for row in rows:
        if not _filled(row):
            return
        yield row


def _filled(row: Row) -> list[tuple[int, Value]]:
    return [(at, value) for at, value in enumerate(row) if value.text]


def _is_name(value: Value) -> bool:
    return value.is_text or (value.text.isdigit() and int(value.text[:5]) in _YEARS)


def _is_bold(row: Row) -> bool:
    return all(value.bold for _, value in _filled(row))


def _said(row: Row) -> str:
    return " ".join(value.text for _, value in _filled(row))


def _continues_names(head: list[Row]) -> bool:
    """Return whether two rows name the columns: the lower one fills gaps of the upper one, and numbers follow."""
    upper, lower, data = (dict(_filled(row)) for row in head[:3])
    gaps = [at for at in lower if at not in upper and at > min(upper)]
    return (
        bool(gaps)
        and all(_is_name(value) for value in lower.values())
        and any(not value.is_text for at, value in data.items() if at in lower)
    )


def _names(upper: Row, lower: Row | None) -> list[str]:
    if lower is None:
        return [value.text for value in upper]
    above = ""
    names: list[str] = []
    for at in range(max(len(upper), len(lower))):
        own = upper[at].text if at < len(upper) else ""
        below = lower[at].text if at < len(lower) else ""
        above = own or (above if below else "")
        names.append(" ".join(part for part in (above, below) if part))
    return names
