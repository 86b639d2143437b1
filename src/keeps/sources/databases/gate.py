"""The gate: turns SQL of a person or a model into SQL that may be run, or refuses it. Pure.

The SQL that is run is generated from the parsed tree, so nothing of the original text reaches a server: no comment, no
quoting, no second statement. Four checks must pass, each against a list of what is allowed: the kinds of nodes in the
tree; the names, resolved against the listed tables; functions and types; and each word of the generated text.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from keeps.sources.databases.dialects import DIALECTS, unbracketed
from keeps.sources.databases.growth import check_growth
from keeps.sources.databases.literals import plain_literals
from keeps.sources.databases.names import Resolver
from keeps.sources.databases.rules import MOST_ROWS, Dialect, Passed, RefusedSQLError, Table
from keeps.sources.databases.words import TYPES, unknown_word

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # Its warnings quote the query.
MOST_CHARACTERS, MOST_WRITTEN = 20_000, 100_000


# Allowed kinds of nodes; for a kind with arguments, only these arguments are allowed.
_STRUCTURE: dict[str, frozenset[str]] = {
    name: frozenset(said.split())
    for name, said in {
        "Select": "with_ expressions distinct from_ joins where group having windows order limit offset",
        "Union": "with_ this expression distinct order limit offset",
        "Intersect": "with_ this expression distinct order limit offset",
        "Except": "with_ this expression distinct order limit offset",
        "Subquery": "with_ this alias joins order limit offset",
        "Values": "expressions alias",
        "Table": "this db alias joins ordinality",
        "TableAlias": "this columns",
        "Identifier": "this quoted",
        "Join": "this on using side kind method",
        "Lateral": "this alias view",
        "Unnest": "expressions alias offset",
        "With": "expressions recursive",
        "CTE": "this alias materialized",
        "Column": "this table db",
        "Star": "",
        "Window": "this partition_by order spec alias over",
        "Group": "expressions grouping_sets cube rollup",
        "Order": "this expressions",
        "Ordered": "this desc nulls_first",
        "Distinct": "expressions on",
        "Limit": "expression",
        "Fetch": "direction count limit_options",
        "Cast": "this to",
        "DataType": "this expressions nested kind",
        "Arrow": "this expression sign",
        "Kwarg": "this expression",
        "Slice": "this expression",
        "In": "this expressions query",
    }.items()
}
_EXPRESSIONS = frozenset(
    """
    Alias Anonymous Literal Null Boolean Var Paren Tuple Array Bracket From Where Having Offset LimitOptions WindowSpec
    Filter WithinGroup Rollup Cube GroupingSets Interval DataTypeParam Escape
    And Or Not Xor EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is Like ILike SimilarTo Glob RegexpLike RegexpILike
    Between Exists Any All Add Sub Mul Div IntDiv Mod Neg BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift
    BitwiseRightShift DPipe Collate Case If AtTimeZone ArrayContainsAll ArrayContainedBy ArrayOverlaps MatchAgainst
    JSONBContains Overlaps
    CurrentDate CurrentTime CurrentTimestamp Localtime Localtimestamp RegexpExtractAll
    """.split()
)


_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_PREDICATES = (
    *_COMPARISONS,
    exp.Is,
    exp.Like,
    exp.ILike,
    exp.SimilarTo,
    exp.Glob,
    exp.RegexpLike,
    exp.RegexpILike,
    exp.In,
    exp.Between,
    exp.Not,
    exp.Connector,
)
_OPERATORS = (exp.Binary, exp.In, exp.Between, exp.Neg, exp.BitwiseNot)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow)
_OPERANDS = ("this", "expression", "low", "high")
"""Arguments of a predicate in which an operand without brackets is ambiguous between servers and sqlglot."""


def passed(sql: str, dialect: Dialect, tables: Sequence[Table], *, rows: int = MOST_ROWS) -> Passed:
    """Read a statement, and return it as it may be run, with at most `rows` + 1 rows; the last shows that there are
    more.

    Raises RefusedSQLError, which names the rule. A hidden column or table reads as one that does not exist.
    """
    if len(sql) > MOST_CHARACTERS:
        raise RefusedSQLError("length", f"a statement has at most {MOST_CHARACTERS:,} characters")
    if "\0" in sql:
        raise RefusedSQLError("syntax", "it contains a NUL character")
    try:
        tree = _parsed(sql, dialect)
        if not isinstance(tree, exp.Query):
            raise RefusedSQLError("statement", "only a SELECT is allowed")
        _check(tree, dialect)
        _check_recursion(tree)
        check_growth(tree, dialect)
        resolver = Resolver(tables, dialect)
        resolver.query(tree, None, {})
        _limit(tree, rows, dialect)
        written = _written(tree, dialect)
        if _written(_parsed(written, dialect), dialect) != written:
            raise RefusedSQLError("ambiguous", "rewriting it would change its meaning; use a simpler form")
    except RecursionError:
        raise RefusedSQLError("nesting", "it is nested too deeply") from None
    if len(written) > MOST_WRITTEN:
        raise RefusedSQLError("length", "it queries too many tables at once")
    if (word := unknown_word(written, dialect)) is not None:
        raise RefusedSQLError("function", f"{word} is not allowed")
    return Passed(written, tuple(resolver.used))


def _parsed(sql: str, dialect: Dialect) -> exp.Expr:
    chosen = DIALECTS[dialect]()
    try:
        tokens = chosen.tokenize(sql)
        plain = plain_literals(sql, tokens, dialect)
        if plain != sql:
            sql, tokens = plain, chosen.tokenize(plain)
        if dialect == "mysql" and any(text.startswith("!") for token in tokens for text in token.comments):
            raise RefusedSQLError("syntax", "a comment that MySQL runs (/*! …) is not allowed")
        if any(token.token_type is TokenType.TABLE for token in tokens):
            raise RefusedSQLError("statement", "only a SELECT is allowed, not TABLE")
        trees = chosen.parser(error_level=sqlglot.ErrorLevel.RAISE).parse(tokens, sql)
    except SqlglotError as error:
        said = next((detail["description"] for detail in getattr(error, "errors", ())), "it cannot be read")
        raise RefusedSQLError("syntax", f"this SQL cannot be parsed: {said}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # sqlglot raises other errors for unexpected input such as `{=`.
        raise RefusedSQLError("syntax", "this SQL cannot be parsed") from None
    statements = [tree for tree in trees if tree is not None]
    if len(statements) != 1:
        raise RefusedSQLError("statement", "give one statement" if statements else "give a SELECT")
    return statements[0]


def _written(tree: exp.Expr, dialect: Dialect) -> str:
    chosen = DIALECTS[dialect]
    return tree.sql(dialect=chosen, identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE)


def _check(tree: exp.Expr, dialect: Dialect) -> None:
    """Check that the tree has only listed kinds of nodes."""
    for node in tree.walk():
        name = type(node).__name__
        said = {each for each, value in node.args.items() if value not in (None, False, [])}
        if name in _STRUCTURE:
            if extra := said - _STRUCTURE[name]:
                raise RefusedSQLError("clause", f"{name.upper()} with {', '.join(sorted(extra))} is not allowed")
        elif name not in _EXPRESSIONS and not isinstance(node, exp.Func):
            raise RefusedSQLError("clause", f"{name} is not allowed")
        if dialect != "postgresql" and (
            isinstance(node, exp.AtTimeZone) or (isinstance(node, exp.Distinct) and node.args.get("on"))
        ):
            raise RefusedSQLError("clause", f"{name.upper()} is a PostgreSQL function and not allowed here")
        if _is_ambiguous(node, dialect):
            raise RefusedSQLError("ambiguous", "add parentheses, as in (a = b) = c")
        if isinstance(node, exp.DataType) and str(getattr(node.this, "value", node.this)) not in TYPES[dialect]:
            raise RefusedSQLError("type", f"{node.sql(dialect=DIALECTS[dialect])} is not a type to cast to")
        if isinstance(node, exp.Anonymous) and not isinstance(node.this, str):
            raise RefusedSQLError("function", "write function names without quotes")


def _is_ambiguous(node: exp.Expr, dialect: Dialect) -> bool:
    """Return whether servers and sqlglot may group an operator without brackets differently."""
    operands = [unbracketed(node.args[side]) for side in _OPERANDS if node.args.get(side) is not None]
    if dialect == "postgresql" and isinstance(node, _ARITHMETIC):
        # There ~a - 1 is ~(a - 1).
        return any(isinstance(each, (*_PREDICATES, exp.BitwiseNot)) for each in operands)
    compares = isinstance(node, _OPERATORS) and not isinstance(node, exp.Connector | exp.Escape | exp.Kwarg)
    return compares and any(isinstance(each, _PREDICATES) for each in operands)


def _check_recursion(tree: exp.Query) -> None:
    """Check that a recursive query has a limit."""
    for node in tree.find_all(exp.With):
        if node.recursive and not any(
            isinstance(limit := each.args.get("limit"), exp.Limit) and limit.expression.is_int
            for each in (node.parent, tree, *(cte.this for cte in node.expressions))
            if each is not None
        ):
            raise RefusedSQLError("recursion", "WITH RECURSIVE needs a LIMIT")


def _limit(tree: exp.Query, rows: int, dialect: Dialect) -> None:
    """Limit the rows to a number, plus one that shows that there are more."""
    limit = tree.args.get("limit")
    count: exp.Expr | None = None
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise RefusedSQLError("limit", "FETCH needs a number of rows")
        count = limit.args.get("count") or exp.Literal.number(1)
    elif isinstance(limit, exp.Limit) and not (isinstance(limit.expression, exp.Var | exp.Null)):
        count = limit.expression
    if count is not None and not count.is_int:
        raise RefusedSQLError("limit", "LIMIT needs a number")
    if isinstance(count, exp.Neg):
        if dialect != "sqlite":
            raise RefusedSQLError("limit", "LIMIT needs a number of at least 0")
        count = None  # SQLite's way of writing "no limit".
    least = min(rows + 1, int(count.name)) if count is not None else rows + 1
    tree.set("limit", exp.Limit(expression=exp.Literal.number(max(0, least))))
