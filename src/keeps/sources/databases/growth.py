"""Size limits of functions whose result is much larger than their arguments. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

from keeps.sources.databases.rules import Dialect, RefusedSQLError

MOST_PADDED, MOST_REPEATS = 1_000, 100
_SIZES = {"lpad": (1, MOST_PADDED), "rpad": (1, MOST_PADDED), "repeat": (1, MOST_REPEATS), "space": (0, MOST_REPEATS)}
"""For each function, the index of the argument with the size, and its maximum."""
_REPEATS = ("repeat", "space")
_WIDE = re.compile(r"%[^a-zA-Z%]{0,9}(?:\d{4}|\*)")


def check_growth(tree: exp.Expr, dialect: Dialect) -> None:
    """Raise RefusedSQLError for a function without a literal number that bounds its result.

    A server does not bound the memory of one value. SQLite does (SQLITE_LIMIT_LENGTH), and is not checked.
    """
    if dialect == "sqlite":
        return
    for node in tree.find_all(exp.Anonymous):
        name = node.name.lower()
        if name in _SIZES:
            place, most = _SIZES[name]
            size = node.expressions[place] if len(node.expressions) > place else None
            if not isinstance(size, exp.Literal) or not size.is_int or int(size.name) > most:
                raise RefusedSQLError("function", f"{name.upper()} needs a number up to {most:,} as its size")
        if name in _REPEATS and any(each.name.lower() in _REPEATS for each in _within(node)):
            raise RefusedSQLError("function", f"{name.upper()} cannot be nested in itself")
        if name == "format" and dialect == "postgresql":
            template = node.expressions[0] if node.expressions else None
            if not isinstance(template, exp.Literal) or _WIDE.search(template.name):
                raise RefusedSQLError("function", "FORMAT needs a quoted text first, with widths of up to 3 digits")


def _within(node: exp.Anonymous) -> list[exp.Anonymous]:
    return [each for argument in node.expressions for each in argument.find_all(exp.Anonymous)]
