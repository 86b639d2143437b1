"""JSON and JSON lines: each record as its fields, each field with its path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from keeps.sources.documents.parsers import MAX_NESTING, Reading, RefusedError, text_of


def parse(data: bytes, reading: Reading) -> None:
    text = text_of(data)
    if reading.name.lower().endswith((".jsonl", ".ndjson")):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                _record(_read(line, f"line {number}: "), reading)
        return
    found = _read(text, "")
    for each in found if isinstance(found, list) else [found]:
        _record(each, reading)


def _read(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RefusedError(f"{where}it is not JSON: {error}") from None


def _record(record: Any, reading: Reading) -> None:
    reading.pairs(fields(record))


def fields(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Return each field of a record with its path."""
    if depth > MAX_NESTING:
        raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
    if isinstance(value, dict):
        for name, item in value.items():
            yield from fields(item, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value):
            yield from fields(item, f"{path}[{number}]", depth + 1)
    elif isinstance(value, list):
        yield path, ", ".join(_said(item) for item in value if item is not None)
    elif value not in (None, ""):
        yield path, _said(value)


def _said(value: Any) -> str:
    """Return a value as JSON, a text without its quotes."""
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
