"""Named SQL from .sql files. A store runs a `Statement`; a string cannot be run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_READS = re.compile(r"^-- reads: (\w+)(?: without ([\w, ]+?))?(?: with ([\w, ]+?))?$", re.MULTILINE)
_CONDITION_MARK = "/*:condition*/ true"


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a WHERE clause with the values it binds, made by a compiler that knows every name in it."""

    sql: str
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One named statement. `text` is what PostgreSQL gets; values are always bound apart."""

    name: str
    text: str

    @property
    def reads(self) -> tuple[str, set[str], set[str]] | None:
        """The type that its rows are read into, the fields of it that come from elsewhere, and columns that are none of its:
        `-- reads: Session without last_interaction`. A test compares them."""
        said = _READS.search(self.text)
        if said is None:
            return None
        missing, more = (set(filter(None, (each or "").replace(" ", "").split(","))) for each in said.groups()[1:])
        return said[1], missing, more

    def where(self, condition: Condition) -> Statement:
        """This statement with `condition` at its `/*:condition*/ true` mark."""
        if _CONDITION_MARK not in self.text:
            raise ValueError(f"statement {self.name} has no place for a condition")
        return Statement(self.name, self.text.replace(_CONDITION_MARK, f"({condition.sql})"))


class Statements:
    """The statements of one `queries.sql`, by name."""

    def __init__(self, package: str, file_name: str = "queries.sql") -> None:
        text = files(package).joinpath(file_name).read_text(encoding="utf-8")
        parts = _NAME.split(text)
        self._by_name = {
            name: Statement(name, body.strip()) for name, body in zip(parts[1::2], parts[2::2], strict=True)
        }

    def __getitem__(self, name: str) -> Statement:
        return self._by_name[name]

    def all(self) -> list[Statement]:
        """Every statement of the file, for the test that prepares them all."""
        return list(self._by_name.values())
