"""CSV and TSV: each row with the names of its columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import islice

from keeps.sources.documents.parsers import Reading, RefusedError, text_of
from keeps.sources.documents.parsers.sheets import SheetReader, Value

_SEPARATOR = re.compile(r"\A\s{0,9}\"?sep=(.)\"?[;,\t ]{0,99}\n", re.IGNORECASE)
_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS, _SAMPLE_ROWS = 100_000, 50
_NUMBER = re.compile(r"[-+]?[€$£]?\s?\d[\d.,'\s]{0,40}\s?[%€$£]?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")


def parse(data: bytes, reading: Reading) -> None:
    text = text_of(data).lstrip("\n")
    told = _SEPARATOR.match(text)
    if told:
        text, delimiter = text[told.end() :], told[1]
    else:
        delimiter = "\t" if reading.name.lower().endswith(".tsv") else _delimiter(text)
    csv.field_size_limit(1_000_000)
    try:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        # A record of empty fields is a record: only an empty line may part two tables.
        narrow = _evenness(text[:_SAMPLE_CHARACTERS], delimiter)[0] == 0
        SheetReader(reading, first_row_names=True, narrow=narrow).read(
            [_value(cell) for cell in row] for row in rows if not row or any(map(str.strip, row))
        )
    except csv.Error as error:
        raise RefusedError(f"it is not a readable table: {error}") from None


def _value(cell: str) -> Value:
    text = " ".join(cell.split())
    return Value(text, is_text=_NUMBER.fullmatch(text) is None)


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the first rows into the same number of fields, and into most."""
    return max(_DELIMITERS, key=lambda sign: _evenness(text[:_SAMPLE_CHARACTERS], sign))


def _evenness(text: str, sign: str) -> tuple[float, float, int]:
    try:
        rows = [row for row in islice(csv.reader(io.StringIO(text), delimiter=sign), _SAMPLE_ROWS) if row]
    except csv.Error:
        return 0.0, 0.0, 0
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if not widths:
        return 0.0, 0.0, 0
    width, count = max(widths.items(), key=lambda each: (each[1], each[0]))
    # Commas of sentences have a space behind them.
    spaced = sum(cell.startswith(" ") for row in rows for cell in row[1:]) / sum(len(row) - 1 for row in rows)
    return count / len(rows), -spaced, width
