"""Ordinary SQL passes the gate, and gives the same rows as without it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import asyncpg
import pymysql
import pytest

from keeps.sources.databases.gate import passed
from keeps.sources.databases.host import authorizer_of
from keeps.sources.databases.rules import Dialect, RefusedSQLError, Table
from tests.databases import ordinary
from tests.databases.conftest import Asked

SCHEMAS = {"postgresql": "public", "sqlite": None, "mysql": "shop"}
LEAST_PASSED = 0.99
Run = Callable[..., list[Any]]
"""Runs statements together, and returns the rows of each."""


def tables(dialect: Dialect) -> list[Any]:
    return ordinary.tables(dialect, SCHEMAS[dialect])


@pytest.fixture(scope="module")
def both(shop: Asked) -> Iterator[tuple[Run, Run]]:
    """Run a statement as it was written, and as the gate has written it."""
    making = {"postgresql": _postgresql, "sqlite": _sqlite, "mysql": _mysql}
    yield from making[shop.dialect](shop)


def _sqlite(shop: Asked) -> Iterator[tuple[Run, Run]]:
    del shop
    with closing(sqlite3.connect(":memory:")) as connection:
        for each in ordinary.creation("sqlite"):
            connection.execute(each)
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")

        def plain(*statements: str) -> list[Any]:
            return [connection.execute(sql).fetchall() for sql in statements]

        def gated(*statements: str) -> list[Any]:
            connection.set_authorizer(authorizer_of(tuple(ordinary.COLUMNS)))
            try:
                return plain(*statements)
            finally:
                connection.set_authorizer(None)

        yield plain, gated


def _mysql(shop: Asked) -> Iterator[tuple[Run, Run]]:
    port = int(shop.url.rsplit(":", 1)[1].split("/")[0])
    with closing(pymysql.connect(host="127.0.0.1", port=port, user="root", database="shop", charset="utf8mb4")) as held:

        def run(*statements: str) -> list[Any]:
            rows: list[Any] = []
            with held.cursor() as cursor:
                for sql in statements:
                    cursor.execute(sql)
                    rows.append(list(cursor.fetchall()))
            return rows

        for each in ordinary.creation("mysql"):
            run(each)
        yield run, run
        for name in ordinary.COLUMNS:
            run(f"DROP TABLE {name}")


def _postgresql(shop: Asked) -> Iterator[tuple[Run, Run]]:
    port = int(shop.url.rsplit(":", 1)[1].split("/")[0])
    with asyncio.Runner() as runner:
        connection = runner.run(
            asyncpg.connect(host="127.0.0.1", port=port, user="postgres", password="adm1n", database="shop")
        )
        transaction = connection.transaction()
        runner.run(transaction.start())
        for each in ordinary.creation("postgresql"):
            runner.run(connection.execute(each))

        async def run(path: str, *statements: str) -> list[Any]:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL search_path = {path}")
                return [[tuple(row) for row in await connection.fetch(sql)] for sql in statements]

        yield lambda *sql: runner.run(run("public", *sql)), lambda *sql: runner.run(run("pg_catalog", *sql))
        runner.run(transaction.rollback())
        runner.run(connection.close())


def test_ordinary_statements_pass_and_give_the_same_rows(shop: Asked, both: tuple[Run, Run]) -> None:
    plain, gated = both
    statements = ordinary.statements(shop.dialect)
    assert len(set(statements)) >= 400
    refused: dict[str, str] = {}
    written: dict[str, str] = {}
    for sql in statements:
        try:
            written[sql] = passed(sql, shop.dialect, tables(shop.dialect)).sql
        except RefusedSQLError as error:
            refused[sql] = error.detail
    for (sql, rewritten), expected, rows in zip(
        written.items(), plain(*written), gated(*written.values()), strict=True
    ):
        assert repr(rows) == repr(expected), f"{sql} was written as {rewritten}"
    assert len(refused) <= (1 - LEAST_PASSED) * len(statements), refused


OPERATORS: dict[Dialect, str] = {
    "postgresql": "+ - * / % ^ & | # << >> || = <> < AND OR",
    "sqlite": "+ - * / % & | << >> || = <> < IS AND OR ->>",
    "mysql": "+ - * / % DIV & | << >> || && = <> < <=> AND OR XOR",
}
POSTFIX = ("", "IS NULL", "IS NOT NULL", "IN (1, 2)", "BETWEEN 1 AND 3", "LIKE '1'")
UNARY: dict[Dialect, tuple[str, ...]] = {
    "postgresql": ("", "", "-", "~", "NOT "),
    "sqlite": ("", "", "-", "~", "NOT "),
    "mysql": ("", "", "-", "~", "!", "NOT "),
}


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.load) for seed in range(8, 20))])
def test_operators_bind_as_they_were_written(shop: Asked, both: tuple[Run, Run], seed: int) -> None:
    """Without brackets the server decides what binds first, and must decide the same of what the gate writes."""
    plain, gated = both
    chooser = random.Random(seed)
    operators, unary = OPERATORS[shop.dialect].split(), UNARY[shop.dialect]
    expected: dict[tuple[str, str], Any] = {}
    for _ in range(250):
        parts = [chooser.choice(unary) + chooser.choice(("id", "2", "3", "5", "'1'", "person_id"))]
        for _ in range(chooser.randint(1, 3)):
            parts += [chooser.choice(operators), chooser.choice(unary) + chooser.choice(("id", "2", "3", "'1'"))]
            parts += chooser.choices(POSTFIX, (10, 1, 1, 1, 1, 1))
        sql = f"SELECT {' '.join(parts)} AS v FROM sale ORDER BY id LIMIT 4"
        try:
            written = passed(sql, shop.dialect, tables(shop.dialect)).sql
            (expected[sql, written],) = plain(sql)
        except (RefusedSQLError, asyncpg.PostgresError, sqlite3.Error, pymysql.MySQLError):
            continue
    rewritten = [written for _, written in expected]
    for ((sql, written), before), rows in zip(expected.items(), gated(*rewritten), strict=True):
        assert repr(rows) == repr(before), f"{sql} was written as {written}"
    assert len(expected) > 20


_SHARED = "1e3 1E-3 1.e2 .5e1 5. 00012 9223372036854775807 0.1 TRUE '--no'"
LITERALS: dict[Dialect, tuple[str, ...]] = {
    "postgresql": (
        *f"1_000 1_000.5 1_0.2_5 1_0e1_0 0x1F 0x_1f 0b101 0o17 0X1F 100000000000000000000 {_SHARED}".split(" "),
        "E'a\\nb'",
        "e'it\\'s'",
        "E'it''s \\\\ \\t \\101 \\x41 \\u00e9 \\U0001F600'",
        "$$a 'b' \\ $$",
        "$q$a $$ b$q$",
        "U&'\\0041\\+01F600 \\\\'",
        "N'text'",
        "'a\\nb'",
        "'a'\n'b'",
    ),
    "sqlite": (*f"0x1F 0X1f 0x7FFFFFFFFFFFFFFF {_SHARED}".split(" "), "'a\\nb'", "'it''s'"),
    "mysql": (
        *f"18446744073709551615 'it\\'s' 'a\\nb' 'a\\%b' 'a\\_b' \"a'b\" '\\z' N'text' {_SHARED}".split(" "),
        "'a' 'b'",
    ),
}


def test_literals_keep_their_value(shop: Asked, both: tuple[Run, Run]) -> None:
    plain, gated = both
    for literal in LITERALS[shop.dialect]:
        sql = f"SELECT {literal} AS v"
        written = passed(sql, shop.dialect, tables(shop.dialect)).sql
        assert repr(gated(written)) == repr(plain(sql)), f"{sql} was written as {written}"


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT 1a FROM sale"),
        ("postgresql", "SELECT 1__0"),
        ("postgresql", "SELECT 1_"),
        ("postgresql", "SELECT 0x"),
        ("postgresql", "SELECT 0xFG"),
        ("postgresql", "SELECT 12abc"),
        ("postgresql", "SELECT 1.5x"),
        ("postgresql", "SELECT E'\\377'"),
        ("postgresql", "SELECT E'\\u0000'"),
        ("postgresql", "SELECT U&'\\00'"),
        ("postgresql", "SELECT |/ 16 + 9"),
        ("sqlite", "SELECT 1_"),
        ("sqlite", "SELECT 0b101"),
        ("sqlite", "SELECT 0xFFFFFFFFFFFFFFFF"),
        ("sqlite", "SELECT 'a' 'b'"),
        ("sqlite", "SELECT CAST(placed_at AS DATE) FROM sale"),
        ("sqlite", "SELECT DATE '2024-01-01'"),
        ("mysql", "SELECT 1_000"),
        ("mysql", "SELECT 0x41"),
    ],
)
def test_a_literal_that_would_change_is_refused(dialect: Dialect, sql: str) -> None:
    with pytest.raises(RefusedSQLError):
        passed(sql, dialect, tables(dialect))


@pytest.mark.parametrize(
    "sql", ['SELECT "ssn" FROM users', "SELECT name FROM users WHERE \"ssn\" = 'x'", 'SELECT "no"']
)
def test_an_unknown_name_in_double_quotes_is_no_text(sql: str) -> None:
    with pytest.raises(RefusedSQLError, match=r"no column .* single quotes") as refused:
        passed(sql, "sqlite", [Table("users", ("id", "name"), None, whole=False)])
    assert refused.value.rule == "column"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT LPAD(note, 100000000) FROM sale",
        "SELECT RPAD(note, id) FROM sale",
        "SELECT REPEAT(note, 1000000000) FROM sale",
        "SELECT REPEAT(REPEAT(note, 100), 100) FROM sale",
        "SELECT REPEAT(UPPER(REPEAT(note, 100)), 100) FROM sale",
        "SELECT REPEAT(note, 50 * 1000) FROM sale",
    ],
)
@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_functions_that_make_much_of_little_are_bounded(dialect: Dialect, sql: str) -> None:
    with pytest.raises(RefusedSQLError) as refused:
        passed(sql, dialect, tables(dialect))
    assert refused.value.rule == "function"


@pytest.mark.parametrize("template", ["'%1000s'", "'%-99999s'", "'%*s'", "'%1$99999s'", "note"])
def test_widths_of_format_are_bounded(template: str) -> None:
    with pytest.raises(RefusedSQLError, match="FORMAT"):
        passed(f"SELECT FORMAT({template}, note) FROM sale", "postgresql", tables("postgresql"))


def test_a_json_arrow_needs_no_name(shop: Asked) -> None:
    sql = (
        "SELECT meta -> 'a', meta ->> 'a' FROM sale"
        if shop.dialect == "postgresql"
        else "SELECT '{}' -> '$.a' FROM sale"
    )
    assert passed(sql, shop.dialect, tables(shop.dialect)).sql


def test_a_negative_limit_is_no_limit_or_is_refused(shop: Asked) -> None:
    sql = "SELECT id FROM sale LIMIT -1"
    if shop.dialect == "sqlite":
        assert passed(sql, "sqlite", tables("sqlite"), rows=50).sql.endswith("LIMIT 51")
    else:
        with pytest.raises(RefusedSQLError, match="LIMIT"):
            passed(sql, shop.dialect, tables(shop.dialect))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT ON (id) id FROM sale",
        "SELECT CAST('2026-01-01' AT TIME ZONE '+00:00' AS DATETIME) FROM sale",
        "SELECT 1 /*! + 1 */ FROM sale",
    ],
)
def test_what_another_server_reads_otherwise_is_refused(shop: Asked, sql: str) -> None:
    if shop.dialect == "mysql":
        with pytest.raises(RefusedSQLError):
            passed(sql, shop.dialect, tables(shop.dialect))
