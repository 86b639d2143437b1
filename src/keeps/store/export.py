"""Types of lines in an export: reading a page of rows, and checking and storing a line."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel

from keeps.store.db.session import Tx
from keeps.store.db.statements import Statement
from keeps_client.models.common import check_storable

JsonRow = dict[str, Any]
ReadT = TypeVar("ReadT")
NO_ID, NO_TIME = UUID(int=0), datetime(1, 1, 1, tzinfo=UTC)
"""Positions before the first row."""


@dataclass(frozen=True, slots=True)
class Export(Generic[ReadT]):
    """A type of line.

    Attributes:
        kind: Value of `type` in the line.
        page: Statement that reads a page of one user's rows after a position.
        first: Position before the first row, by column.
        read: Checks a row as strictly as new data, and returns the argument of `add`. Raises ValidationFailedError, or
            ValueError for a missing or out-of-range field.
        add: Stores it in a transaction of its user; returns whether it is new. Raises MissingError if it refers to
            something that does not exist.
        differs: Returns whether what is stored in its place says something else. None: not compared.
    """

    kind: str
    page: Statement
    first: Mapping[str, object]
    read: Callable[[JsonRow], ReadT]
    add: Callable[[Tx, ReadT], Awaitable[bool]]
    differs: Callable[[Tx, ReadT], Awaitable[bool]] | None = None


def differ(stored: BaseModel | None, line: BaseModel, names: Iterable[str]) -> bool:
    """Return whether a stored object and a line have different values under some of the names; False without one."""
    return stored is not None and any(not _equal(getattr(stored, name), getattr(line, name)) for name in names)


def _equal(stored: object, line: object) -> bool:
    if isinstance(stored, float) and isinstance(line, float):
        return math.isclose(stored, line, rel_tol=1e-6)  # PostgreSQL's `real` has about seven digits
    return stored == line


def check_row(row: JsonRow) -> None:
    """Raise ValueError unless versions and times are in the ranges of the tables, and texts can be stored."""
    check_storable(row)
    version = row.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= 2_000_000_000:
        raise ValueError("version must be a whole number from 1 on")
    for name, value in row.items():
        if name.endswith("_at") or name in ("valid_from", "valid_to", "last_interaction"):
            if value is None:
                continue
            if not isinstance(value, str) or not 2 <= datetime.fromisoformat(value).year <= 9_998:
                raise ValueError(f"{name} must be a time with its zone, of the years 2 to 9998")


def check_as_new(model: type[BaseModel], row: JsonRow) -> None:
    """Check the fields that a row shares with the model of new data by the rules of that model."""
    model.model_validate({name: row[name] for name in model.model_fields if row.get(name) is not None})
