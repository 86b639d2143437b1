"""Rules common to all queries: limits, the gate's view of a table, and refusals. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal["postgresql", "sqlite", "mysql"]
MOST_ROWS, MOST_BYTES, MOST_VALUE = 1_000, 5 << 20, 100_000
CONNECT_SECONDS, STATEMENT_SECONDS, LOCK_SECONDS, READ_SECONDS = 5, 5, 1, 3


class RefusedSQLError(Exception):
    """A refused statement. `rule` is the broken rule in a word. The message never names hidden data."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule, self.detail = rule, detail


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may be queried, with its visible columns.

    - `whole`: all columns are visible, including later ones.
    - `schema`: in PostgreSQL its schema, in MySQL its database.
    - `default`: it is found without its schema.
    """

    name: str
    columns: tuple[str, ...]
    schema: str | None = None
    whole: bool = True
    default: bool = True

    @property
    def title(self) -> str:
        return self.name if self.default or self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Passed:
    """A statement that may be run: `sql` as it is sent, and its tables."""

    sql: str
    tables: tuple[str, ...]
