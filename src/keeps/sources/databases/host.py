"""The process that queries databases: `python -m keeps.base.sandbox.forked keeps.sources.databases.host`.

It forks for each statement that the gate reads, and for each query. The child of a query connects to the checked
address, in a read-only transaction that is rolled back, with limited memory, time and answer. Whatever a server sends,
it does not run in the service.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from time import monotonic
from typing import Any, TextIO
from urllib.parse import quote

import asyncpg
import pymysql
import pymysql.cursors
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from keeps.base.sandbox import forked
from keeps.base.sandbox import limits as sandbox
from keeps.sources.databases import gate
from keeps.sources.databases.describing import RefusedError, described, mysql_rights, postgresql_rights
from keeps.sources.databases.rules import (
    CONNECT_SECONDS,
    LOCK_SECONDS,
    MOST_BYTES,
    READ_SECONDS,
    STATEMENT_SECONDS,
    RefusedSQLError,
    Table,
)
from keeps.sources.databases.sqlite_files import check_unchanged, files_of, mode_of
from keeps.sources.databases.values import Gathered, Row
from keeps.sources.databases.words import SQLITE_FUNCTIONS

BATCH, _NO_TLS = 100, 2_026


def main() -> None:
    _loaded()
    forked.serve(ask)


def _loaded() -> None:
    """Import everything that a child needs before it loses the right to open files."""
    for mode in ("prefer", "verify-full"):
        _context(mode)
    create_async_engine("postgresql+asyncpg://host")
    sqlalchemy.create_engine("mysql+pymysql://host")
    sqlalchemy.inspect(sqlalchemy.create_engine("sqlite://")).get_table_names()
    for module in (
        "sqlalchemy.dialects.mysql.reflection",
        "encodings.idna",
        "asyncpg.pgproto.types",
        "pymysql._auth",
        "cryptography.hazmat.backends.openssl",
    ):
        import_module(module)
    "name".encode("idna")
    for dialect in ("postgresql", "sqlite", "mysql"):
        gate.passed("SELECT COUNT(*) FROM t WHERE a = 1", dialect, [Table("t", ("a",))])


def ask(job: dict[str, Any], files: list[int], out: TextIO) -> None:
    """Run a job, `read`, `run` or `describe`, and write the result as JSON."""
    del files
    if job["does"] == "read":
        json.dump(_read(job), out)
        return
    try:
        context = _context("prefer" if job["tls"] == "require" else job["tls"])
        is_file = job["dialect"] == "sqlite"
        if is_file:
            sandbox.confine(user=True, files=files_of(job["address"]))
        else:
            sandbox.confine(port=job["port"])
        socket.getaddrinfo = _checked(job["address"])
        answer = _DOES[job["dialect"]](job, context)
    except RefusedError as error:
        answer = {"error": str(error), "kind": "refused"}
    except sandbox.SandboxError as error:
        answer = {"error": str(error), "kind": "refused"}
    except MemoryError:
        answer = {"error": "a value is too large", "kind": "limit"}
    except (TimeoutError, asyncpg.QueryCanceledError):
        answer = {"error": f"it took longer than {STATEMENT_SECONDS} s", "kind": "timeout"}
    except (asyncpg.PostgresError, pymysql.MySQLError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError) as error:
        answer = {"error": _said(error, job), "kind": "database"}
    except OSError as error:
        answer = {"error": f"it cannot be reached ({error.strerror or type(error).__name__})", "kind": "connect"}
    except Exception as error:  # noqa: BLE001  a driver that is led astray costs its question
        answer = {"error": f"it cannot be queried ({type(error).__name__})", "kind": "database"}
    json.dump(answer, out, ensure_ascii=False)


def _read(job: dict[str, Any]) -> dict[str, Any]:
    """Return the result of the gate.

    It runs here because the parser takes exponential time for some statements.
    """
    try:
        sandbox.confine(seconds=READ_SECONDS)
        passed = gate.passed(job["sql"], job["dialect"], [Table(**each) for each in job["tables"]])
    except RefusedSQLError as error:
        return {"refused": error.detail, "rule": error.rule}
    except sandbox.SandboxError as error:
        return {"refused": str(error), "rule": "sandbox"}
    except (TimeoutError, MemoryError):
        return {"refused": "parsing it takes too long; use fewer parentheses", "rule": "nesting"}
    return {"sql": passed.sql, "tables": passed.tables}


@cache
def _context(tls: str) -> ssl.SSLContext | None:
    """Return the TLS context, read while files can still be opened."""
    if tls == "disable":
        return None
    context = ssl.create_default_context()
    if tls != "verify-full":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _checked(address: str) -> Callable[..., list[Any]]:
    """Return a name lookup that always gives the checked address, since a second lookup may give another."""

    def found(_: object, port: object, *__: object, **___: object) -> list[Any]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, int(str(port))))]

    return found


def _postgresql(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    class Loop(asyncio.SelectorEventLoop):
        async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
            """Look up a name without a thread, since none is allowed."""
            return socket.getaddrinfo(host, port)

    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(_ask_postgresql(job, context))


async def _ask_postgresql(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    url = sqlalchemy.URL.create(
        "postgresql+asyncpg", job["user"], job["password"], job["host"], job["port"], job["name"]
    )
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": str(STATEMENT_SECONDS * 1_000),
        "lock_timeout": str(LOCK_SECONDS * 1_000),
        "idle_in_transaction_session_timeout": str(2 * STATEMENT_SECONDS * 1_000),
        "standard_conforming_strings": "on",
        "client_encoding": "UTF8",
        "application_name": "keeps",
    }
    if job["does"] == "run":  # The statement qualifies each table.
        settings["search_path"] = "pg_catalog"
    last: Exception | None = None
    for chosen in (context, None) if job["tls"] == "prefer" else (context,):
        engine = create_async_engine(
            url,
            poolclass=NullPool,
            connect_args={
                "ssl": chosen or False,
                "timeout": CONNECT_SECONDS,
                "command_timeout": STATEMENT_SECONDS + 1,
                "server_settings": settings,
                "statement_cache_size": 0,
            },
        )
        try:
            async with asyncio.timeout(CONNECT_SECONDS + 2 * STATEMENT_SECONDS):
                async with engine.connect() as connection:
                    if job.get("own") == await _identity(connection):
                        raise RefusedError("this is Keeps' own database; use recall to search memories")
                    if job["does"] == "describe":
                        return await connection.run_sync(described, job, postgresql_rights)
                    await connection.rollback()
                    raw = await connection.get_raw_connection()
                    return await _stream(raw.driver_connection, job)
        except ConnectionError as error:  # The server has no TLS.
            last = error
        finally:
            await engine.dispose()
    raise last or ConnectionError("it cannot be reached")


async def _identity(connection: Any) -> str:
    """Return the start time of the server in microseconds, which identifies it."""
    asked = "SELECT EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text"
    return str((await connection.exec_driver_sql(asked)).scalar())


async def _stream(driver: Any, job: dict[str, Any]) -> dict[str, Any]:
    gathered = Gathered(job["rows"])
    transaction = driver.transaction(readonly=True)
    await transaction.start()
    statement = await driver.prepare(job["sql"])
    names = [each.name for each in statement.get_attributes()]
    async for row in statement.cursor(prefetch=BATCH):
        if not gathered.add(tuple(row)):
            break
    await transaction.rollback()
    return gathered.told(names)


def _mysql(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    def reached(chosen: ssl.SSLContext | None) -> Any:
        return pymysql.connect(
            host=job["host"],
            port=job["port"],
            user=job["user"],
            password=job["password"],
            database=job["name"],
            charset="utf8mb4",
            ssl=chosen,
            ssl_disabled=chosen is None,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=STATEMENT_SECONDS + 1,
            write_timeout=STATEMENT_SECONDS + 1,
            local_infile=False,
            autocommit=True,
        )

    def connect() -> Any:
        try:
            connection = reached(context)
        except pymysql.OperationalError as error:
            if error.args[0] != _NO_TLS or job["tls"] != "prefer":
                raise
            connection = reached(None)
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@version, @@sql_mode")
            version, mode = (str(value) for value in cursor.fetchone() or ("", ""))
            # Modes in which the server would read the gate's SQL differently.
            others = set("ANSI ANSI_QUOTES NO_BACKSLASH_ESCAPES PIPES_AS_CONCAT IGNORE_SPACE ORACLE MSSQL".split())
            kept = ",".join(flag for flag in mode.split(",") if flag not in others)
            cursor.execute("SET SESSION sql_mode = %s", (kept,))
            limit = (
                f"max_statement_time = {STATEMENT_SECONDS}"
                if "mariadb" in version.lower()
                else f"max_execution_time = {STATEMENT_SECONDS * 1_000}"
            )
            cursor.execute(f"SET SESSION {limit}, lock_wait_timeout = {LOCK_SECONDS}")
            cursor.execute("START TRANSACTION READ ONLY")
        return connection

    engine = sqlalchemy.create_engine("mysql+pymysql://", creator=connect, poolclass=NullPool)
    with engine.connect() as connected:
        if job["does"] == "describe":
            return described(connected, job, mysql_rights)
        gathered = Gathered(job["rows"])
        driver: Any = connected.connection.driver_connection
        with driver.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(job["sql"])
            names = [column[0] for column in cursor.description or ()]
            for row in _fetched(cursor):
                if not gathered.add(row):
                    break  # The few remaining rows are read and discarded.
        return gathered.told(names)


def _fetched(cursor: Any) -> Iterator[Row]:
    while rows := cursor.fetchmany(BATCH):
        yield from rows


def authorize_describing(action: int, *_: object) -> int:
    return sqlite3.SQLITE_DENY if action in _SQLITE_WRITES else sqlite3.SQLITE_OK


def authorizer_of(tables: Sequence[str]) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return the authorizer of SQLite: it allows reads of these tables and calls of listed functions only."""
    readable = {*(each.lower() for each in tables), "json_each", "json_tree", ""}

    def authorize(action: int, first: str | None, second: str | None, database: str | None, _: str | None) -> int:
        fine = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_FUNCTION:
            fine = (second or "").lower() in SQLITE_FUNCTIONS
        if action == sqlite3.SQLITE_READ:
            # Counting the rows of a common table reads no column of any database.
            fine = (second == "" and database is None) or (first or "").lower() in readable
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    return authorize


def _sqlite(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    del context
    path: str = job["address"]
    mode = mode_of(path)
    describing = job["does"] == "describe"
    authorizer = authorize_describing if describing else authorizer_of(job.get("tables") or ())

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, timeout=STATEMENT_SECONDS)
        ends = monotonic() + STATEMENT_SECONDS
        connection.set_progress_handler(lambda: int(monotonic() > ends), 10_000)
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        connection.execute("PRAGMA temp_store = MEMORY")
        # Create the virtual tables now: later nothing may be created.
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(authorizer)
        connection.text_factory = _text
        return connection

    if describing:
        engine = sqlalchemy.create_engine("sqlite://", creator=connect, poolclass=NullPool)
        with engine.connect() as held:
            found = described(held, job, lambda _: [])
        check_unchanged(path, mode)
        return found
    connection = connect()
    try:
        cursor = connection.execute(job["sql"])
        names = [each[0] for each in cursor.description or ()]
        gathered = Gathered(job["rows"])
        for row in cursor:
            if not gathered.add(row):
                break
        check_unchanged(path, mode)
        return gathered.told(names)
    except sqlite3.OperationalError as error:
        if str(error) == "interrupted":
            raise TimeoutError from None
        raise
    finally:
        connection.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_SQLITE_WRITES = (
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
)


def _said(error: Exception, job: dict[str, Any]) -> str:
    """Return the server's error message without secrets."""
    text = str(getattr(error, "orig", None) or error)
    if isinstance(error, pymysql.MySQLError) and len(error.args) > 1:
        text = str(error.args[1])
    text = " ".join(text.split())[:500]
    for secret in (job["password"], job["address"]):
        if secret:
            text = text.replace(secret, "…")
    return text


_DOES: dict[str, Callable[[dict[str, Any], ssl.SSLContext | None], dict[str, Any]]] = {
    "postgresql": _postgresql,
    "sqlite": _sqlite,
    "mysql": _mysql,
}
