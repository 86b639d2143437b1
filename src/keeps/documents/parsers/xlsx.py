"""Excel: each sheet a heading, each row with the names of its columns. Values, not formulas."""

from __future__ import annotations

import warnings
from typing import Any

import openpyxl

from keeps.documents.parsers import Reading, RefusedError
from keeps.documents.parsers.office import checked

MAX_EMPTY_ROWS = 1_000
"""A sheet may say that it has a million rows and hold none: after so many empty ones it is over."""


def parse(data: bytes, reading: Reading) -> None:
    file = checked(data, "xl/workbook.xml", "an Excel file")
    warnings.simplefilter("ignore")
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (ValueError, KeyError, OSError) as error:
        raise RefusedError(f"it is a damaged Excel file ({type(error).__name__})") from None
    reading.title = " ".join((book.properties.title or "").split())[:500] or None
    for sheet in book.worksheets:
        reading.heading(1, sheet.title)
        names: list[Any] = []
        empty = 0
        for row in sheet.iter_rows(values_only=True, max_col=200):
            values: list[Any] = list(row)
            if all(each in (None, "") for each in values):
                empty += 1
                if empty > MAX_EMPTY_ROWS:
                    break
                continue
            empty = 0
            if not names:
                names = values
            else:
                reading.row(names, values)
        if names and not any(block.headings[-1:] == (sheet.title,) for block in reading.blocks[-1:]):
            reading.row([""] * len(names), names)
    book.close()
