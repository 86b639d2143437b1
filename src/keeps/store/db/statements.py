"""Named SQL from .sql files. Stores run a `Statement`; a plain string cannot be run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_READS = re.compile(r"^-- reads: (\w+)(?: without ([\w, ]+?))?(?: with ([\w, ]+?))?$", re.MULTILINE)
_CONDITION_MARK = "/*:condition*/ true"


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a WHERE clause with its bound values, made by a compiler that knows every name in it."""

    sql: str
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One named statement. `text` is what PostgreSQL gets; values are always bound separately."""

    name: str
    text: str

    @property
    def reads(self) -> tuple[str, set[str], set[str]] | None:
        """Return the type that its rows are read into, the fields from elsewhere, and the columns beyond the type.

        They are declared as `-- reads: Session without last_interaction`. A test compares them.
        """
        declared = _READS.search(self.text)
        if declared is None:
            return None
        missing, more = (set(filter(None, (each or "").replace(" ", "").split(","))) for each in declared.groups()[1:])
        return declared[1], missing, more

    def where(self, condition: Condition) -> Statement:
        """Return this statement with `condition` at its `/*:condition*/ true` mark."""
        if _CONDITION_MARK not in self.text:
            raise ValueError(f"statement {self.name} has no place for a condition")
        return Statement(self.name, self.text.replace(_CONDITION_MARK, f"({condition.sql})"))

    def within(self, columns: Sequence[str], most: int) -> Statement:
        """Return this statement with its rows limited where their JSON `columns` reach `most` characters.

        The row that reaches the limit and one row after it are included, so that a caller sees that there are more.
        """
        size = " + ".join(f"COALESCE(char_length(page.{name}::text), 0)" for name in columns)
        return Statement(
            self.name,
            f"SELECT (bounded.page).* FROM (SELECT page, sum({size})"  # noqa: S608  names of columns and a number
            " OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS before"
            f" FROM (\n{self.text}\n) AS page) AS bounded WHERE COALESCE(before, 0) <= {most}",
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, written down once.

    In a statement `/*:memory*/` stands for their names, `/*:memory page*/` for those of `page`, `/*:memory types*/` for
    names with types, `/*:memory = item*/` for taking all but `fixed` from `item`.
    """

    mark: str
    types: Mapping[str, str]
    fixed: tuple[str, ...] = ()

    def expanded(self, sql: str) -> str:
        return re.sub(rf"/\*:{self.mark}(?: (=)? ?(\w+))?\*/", self._said, sql)

    def _said(self, found: re.Match[str]) -> str:
        equals, word = found[1], found[2]
        if equals:
            return ", ".join(f"{name} = {word}.{name}" for name in self.types if name not in self.fixed)
        if word == "types":
            return ", ".join(f"{name} {kind}" for name, kind in self.types.items())
        return ", ".join(f"{word}.{name}" if word else name for name in self.types)


class Statements:
    """The statements of one `queries.sql`, by name. `columns` holds those that they name by a mark."""

    def __init__(self, package: str, *columns: Columns, file_name: str = "queries.sql") -> None:
        text = files(package).joinpath(file_name).read_text(encoding="utf-8")
        for each in columns:
            text = each.expanded(text)
        if left := re.search(r"/\*:(?!condition)\w+", text):
            raise ValueError(f"{package}/{file_name} names columns by {left[0]}, which nobody gave")
        self.package = package
        parts = _NAME.split(text)
        self._by_name = {
            name: Statement(name, body.strip()) for name, body in zip(parts[1::2], parts[2::2], strict=True)
        }

    def __getitem__(self, name: str) -> Statement:
        return self._by_name[name]

    def all(self) -> list[Statement]:
        """Return every statement of the file, for the test that prepares them all."""
        return list(self._by_name.values())
