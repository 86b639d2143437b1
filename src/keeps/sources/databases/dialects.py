"""Settings of sqlglot for each dialect that keep functions, operators and types as they were written.

sqlglot translates between dialects: it maps functions by meaning, and writes those of the target. Here source and
target are the same, so a translation could only change the meaning of a statement. Functions therefore keep their names
and arguments, `->` and similar operators their right side, and casts their type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.expressions.core import Expression
from sqlglot.generator import Generator
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from keeps.sources.databases.rules import Dialect

_PARSED = "CAST CONVERT EXTRACT MATCH OVERLAY POSITION SUBSTRING TRIM".split()
"""Functions whose arguments are written with words between them, such as FROM and AS."""
_FUNCTIONS = {"COUNT": Parser.FUNCTIONS["COUNT"]}
_ROOTS = (TokenType.PIPE_SLASH, TokenType.DPIPE_SLASH)
"""PostgreSQL's |/ and ||/, which sqlglot binds more tightly than PostgreSQL does."""


class Arrow(Expression, exp.Binary):
    """An operator that extracts a part of a JSON value: `sign` is -> or ->>, in PostgreSQL also #> or #>>."""

    arg_types = {"this": True, "expression": True, "sign": True}  # noqa: RUF012  as its base has it


def _build_arrow(sign: str) -> Callable[[Any, exp.Expr, exp.Expr], exp.Expr]:
    return lambda parser, this, path: parser.expression(Arrow(this=this, expression=path, sign=sign))


def _write_arrow(writer: Generator, node: Arrow) -> str:
    return f"{writer.sql(node, 'this')} {node.args['sign']} {writer.sql(node, 'expression')}"


def _write_regexp(writer: Generator, node: exp.RegexpLike) -> str:
    return writer.binary(node, "REGEXP")


def _with_unit(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    """Build a function of MySQL whose first argument is a word, such as TIMESTAMPDIFF(DAY, a, b)."""

    def build(arguments: list[exp.Expr]) -> exp.Expr:
        unit = arguments[0] if arguments else None
        if isinstance(unit, exp.Column) and not unit.args.get("table"):
            arguments = [exp.Var(this=unit.name.upper()), *arguments[1:]]
        return exp.Anonymous(this=name, expressions=arguments)

    return build


_ARROWS: dict[TokenType, Any] = {TokenType.ARROW: _build_arrow("->"), TokenType.DARROW: _build_arrow("->>")}
_PATHS: dict[TokenType, Any] = {
    TokenType.HASH_ARROW: _build_arrow("#>"),
    TokenType.DHASH_ARROW: _build_arrow("#>>"),
}


class _MarksBrackets(Parser):
    """Marks the brackets of a statement, to distinguish them from those that sqlglot adds."""

    def _parse_paren(self) -> exp.Expr | None:
        found = super()._parse_paren()
        if isinstance(found, exp.Paren):
            found.meta["written"] = True
        return found


def unbracketed(node: exp.Expr) -> exp.Expr:
    """Return a node without the brackets that sqlglot has added."""
    return node.this if isinstance(node, exp.Paren) and not node.meta.get("written") else node


class _PostgreSQL(Postgres):
    class Parser(_MarksBrackets, Postgres.Parser):
        FUNCTIONS = _FUNCTIONS
        FUNCTION_PARSERS = {name: Postgres.Parser.FUNCTION_PARSERS[name] for name in _PARSED}  # noqa: RUF012
        LAMBDAS = {TokenType.FARROW: Postgres.Parser.LAMBDAS[TokenType.FARROW]}  # noqa: RUF012
        JSON_OPERATORS = {**Postgres.Parser.JSON_OPERATORS, **_ARROWS, **_PATHS}  # noqa: RUF012
        UNARY_PARSERS = {  # noqa: RUF012
            token: parse for token, parse in Postgres.Parser.UNARY_PARSERS.items() if token not in _ROOTS
        }

    class Generator(Postgres.Generator):
        TRANSFORMS = {**Postgres.Generator.TRANSFORMS, Arrow: _write_arrow}  # noqa: RUF012


class _SQLite(SQLite):
    class Parser(_MarksBrackets, SQLite.Parser):
        FUNCTIONS = _FUNCTIONS
        FUNCTION_PARSERS = {"CAST": SQLite.Parser.FUNCTION_PARSERS["CAST"]}  # noqa: RUF012
        LAMBDAS = {}  # noqa: RUF012
        CONCAT_OPERATORS = {**SQLite.Parser.CONCAT_OPERATORS, **_ARROWS}  # noqa: RUF012

    class Generator(SQLite.Generator):
        TRANSFORMS = {**SQLite.Generator.TRANSFORMS, Arrow: _write_arrow}  # noqa: RUF012
        # What a cast gives depends on the name of the type: NUMERIC is not REAL.
        TYPE_MAPPING = {  # noqa: RUF012
            **SQLite.Generator.TYPE_MAPPING,
            exp.DType.DECIMAL: "NUMERIC",
            exp.DType.BOOLEAN: "BOOLEAN",
        }


class _MySQL(MySQL):
    """MySQL, limited to what MariaDB reads the same: it has REGEXP, and no function of that name."""

    class Parser(_MarksBrackets, MySQL.Parser):
        FUNCTIONS = {  # noqa: RUF012
            **_FUNCTIONS,
            **{name: _with_unit(name) for name in ("TIMESTAMPADD", "TIMESTAMPDIFF")},
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: MySQL.Parser.FUNCTION_PARSERS[name] for name in (*_PARSED, "GROUP_CONCAT", "SUBSTR")
        }
        LAMBDAS = {}  # noqa: RUF012
        COLUMN_OPERATORS = {**MySQL.Parser.COLUMN_OPERATORS, **_ARROWS}  # noqa: RUF012

    class Generator(MySQL.Generator):
        TRANSFORMS = {  # noqa: RUF012
            **MySQL.Generator.TRANSFORMS,
            Arrow: _write_arrow,
            exp.RegexpLike: _write_regexp,
        }


DIALECTS: dict[Dialect, type[SqlglotDialect]] = {"postgresql": _PostgreSQL, "sqlite": _SQLite, "mysql": _MySQL}
