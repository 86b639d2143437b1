"""Rows and cells of the tables of a Word file: their existence, column names and widths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml.ns import nsmap, qn
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from keeps.sources.documents.parsers.docx_markup import AROUND
from keeps.sources.documents.parsers.grid import MAX_COLUMNS

_W = f"{{{nsmap['w']}}}"


def within(element: Any, name: str) -> Iterator[Any]:
    """Return the rows of a table, or the cells of a row, including those in content controls."""
    for child in element.iterchildren(etree.Element):
        if child.tag == qn(name):
            yield child
        elif child.tag in AROUND:
            yield from within(child, name)


def heads(rows: list[Any]) -> set[int]:
    """Return the numbers of the rows with column names."""
    several = [number for number, row in enumerate(rows) if len(list(within(row, "w:tc"))) > 1]
    if len(several) < 2:
        return set()
    marked = {number for number in several if rows[number].find(f"{_W}trPr/{_W}tblHeader") is not None}
    if marked and len(marked) < len(several):
        return marked
    first, second = several[:2]
    spanning = any(columns(cell) > 1 or starts(cell) for cell in within(rows[first], "w:tc"))
    return {first, second} if spanning and len(several) > 2 and second == first + 1 else {first}


def columns(cell: Any) -> int:
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    value = span.get(qn("w:val"), "1") if span is not None else "1"
    return min(max(int(value), 1), MAX_COLUMNS) if value.isdigit() else 1


def skipped(row: Any) -> int:
    before = row.find(f"{_W}trPr/{_W}gridBefore")
    value = before.get(qn("w:val"), "0") if before is not None else "0"
    return min(int(value), MAX_COLUMNS) if value.isdigit() else 0


def starts(cell: Any) -> bool:
    merge = cell.find(f"{_W}tcPr/{_W}vMerge")
    return merge is not None and merge.get(qn("w:val")) == "restart"


def continues(cell: Any) -> bool:
    return cell.find(f"{_W}tcPr/{_W}vMerge") is not None and not starts(cell)


def is_deleted(cell: Any) -> bool:
    return cell.find(f"{_W}tcPr/{_W}cellDel") is not None
