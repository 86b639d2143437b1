"""Conversion of a server's values to JSON, within the size of an answer. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from keeps.sources.databases.rules import MOST_BYTES, MOST_VALUE

Row = Sequence[object]


class Gathered:
    """Rows as JSON, limited in number and bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[list[object]] = []
        self._bytes = 0
        self._cut = False

    def add(self, row: Row) -> bool:
        """Add a row; return whether there is room for more."""
        values = [self._value(each) for each in row]
        self._bytes += len(json.dumps(values))
        if len(self._rows) >= self._most or self._bytes > MOST_BYTES:
            self._cut = True
            return False
        self._rows.append(values)
        return True

    def told(self, names: Sequence[str]) -> dict[str, Any]:
        return {"columns": list(names), "rows": self._rows, "cut": self._cut}

    def _value(self, value: object) -> object:
        json_value = plain(value)
        if isinstance(json_value, str) and len(json_value) > MOST_VALUE:
            self._cut = True
            return json_value[:MOST_VALUE]
        return json_value


def plain(value: object) -> object:
    """Return a value as JSON represents it: large numbers, times and bytes as text."""
    if value is None or isinstance(value, bool | str):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return f"\\x{bytes(value)[:MOST_VALUE].hex()}"
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(each) for each in value]
    return str(value)
