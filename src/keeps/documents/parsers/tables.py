"""CSV and TSV: each row with the names of its columns."""

from __future__ import annotations

import csv
import io

from keeps.documents.parsers import Reading, RefusedError, text_of


def parse(data: bytes, reading: Reading) -> None:
    text = text_of(data)
    first = text.partition("\n")[0]
    delimiter = max("\t,;|", key=first.count)
    csv.field_size_limit(1_000_000)
    try:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        names = next(rows, [])
        for row in rows:
            reading.row(names, row)
        if names and not reading.blocks:
            reading.row([""] * len(names), names)
    except csv.Error as error:
        raise RefusedError(f"it is no table that can be read: {error}") from None
