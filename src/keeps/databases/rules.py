"""What holds for every question to a database: its limits, what a table is to the gate, and how it refuses. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal["postgresql", "sqlite", "mysql"]
MOST_ROWS, MOST_BYTES, MOST_VALUE = 1_000, 5 << 20, 100_000
CONNECT_SECONDS, STATEMENT_SECONDS, LOCK_SECONDS, READ_SECONDS = 5, 5, 1, 3


class RefusedSQLError(Exception):
    """A statement that does not pass. `rule`: which one it breaks, in a word. The text never says what is hidden."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule, self.detail = rule, detail


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may be asked, with the columns that may. `whole`: all of them may, also those to come. `schema`: of
    PostgreSQL its schema, of MySQL its database; `default`: whether it is found without it."""

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
    """A statement that may be run: `sql` as it is sent, the tables that it asks."""

    sql: str
    tables: tuple[str, ...]
