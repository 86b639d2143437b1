"""The process that asks databases: `python -m keeps.databases.host`, started by keeps.databases.runner.

It forks for each question. The child connects to the address that was checked, in a read-only transaction that is
rolled back, and is ended with its memory, time and answer bounded: whatever a server sends, the service is not in it.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any, TextIO
from uuid import UUID

import asyncpg
import pymysql
import pymysql.cursors
import sqlalchemy
import sqlalchemy.exc
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from keeps import forked
from keeps.databases.rules import CONNECT_SECONDS, LOCK_SECONDS, MOST_BYTES, MOST_VALUE, STATEMENT_SECONDS
from keeps.databases.words import FUNCTIONS

BATCH, _NO_TLS = 100, 2_026
Row = Sequence[object]


class RefusedError(Exception):
    """Something that the server, or what it says of itself, does not allow."""


def main() -> None:
    _loaded()
    forked.serve(ask)


def _loaded() -> None:
    """Everything that a child needs, before it may open nothing any more."""
    for each in ("prefer", "verify-full"):
        _context(each)
    create_async_engine("postgresql+asyncpg://host")
    sqlalchemy.create_engine("mysql+pymysql://host")
    sqlalchemy.inspect(sqlalchemy.create_engine("sqlite://")).get_table_names()
    for each in (
        "sqlalchemy.dialects.mysql.reflection",
        "encodings.idna",
        "asyncpg.pgproto.types",
        "pymysql._auth",
        "cryptography.hazmat.backends.openssl",
    ):
        import_module(each)
    "name".encode("idna")


def ask(job: dict[str, Any], files: list[int], out: TextIO) -> None:
    """Do a job, `run` or `describe`, and say what came of it as JSON."""
    del files
    try:
        context = _context("prefer" if job["tls"] == "require" else job["tls"])
        is_file = job["dialect"] == "sqlite"
        forked.give_up(network=not is_file, user=is_file, file=job["address"] if is_file else None)
        _pin(job)
        told = _DOES[job["dialect"]](job, context)
    except RefusedError as error:
        told = {"error": str(error), "kind": "refused"}
    except MemoryError:
        told = {"error": "a value is larger than can be taken in", "kind": "limit"}
    except (TimeoutError, asyncpg.QueryCanceledError):
        told = {"error": f"it took longer than {STATEMENT_SECONDS} s", "kind": "timeout"}
    except (asyncpg.PostgresError, pymysql.MySQLError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError) as error:
        told = {"error": _said(error, job), "kind": "database"}
    except OSError as error:
        told = {"error": f"it cannot be reached ({error.strerror or type(error).__name__})", "kind": "connect"}
    except Exception as error:  # noqa: BLE001  a driver that is led astray costs its question
        told = {"error": f"it cannot be asked ({type(error).__name__})", "kind": "database"}
    json.dump(told, out, ensure_ascii=False)


@cache
def _context(tls: str) -> ssl.SSLContext | None:
    """Read before no file can be opened any more."""
    if tls == "disable":
        return None
    context = ssl.create_default_context()
    if tls != "verify-full":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _pin(job: dict[str, Any]) -> None:
    """Let the name be nothing but the address that was checked: no second look-up may say something else."""

    def found(host: object, port: object, *_: object, **__: object) -> list[Any]:
        del host
        family = socket.AF_INET6 if ":" in job["address"] else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (job["address"], int(str(port))))]

    socket.getaddrinfo = found


def _postgresql(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    address = job["address"]

    class Loop(asyncio.SelectorEventLoop):
        async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
            """The address that was checked: no second look-up may say something else, and no thread is needed."""
            del host
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            return [(family, socket.SOCK_STREAM, 6, "", (address, int(port)))]

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
    if job["does"] == "run":  # what is asked says where each table is
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
                        raise RefusedError("this is the server of Keeps itself; own memory is asked through recall")
                    if job["does"] == "describe":
                        return await connection.run_sync(_described, job, _postgresql_rights)
                    await connection.rollback()
                    raw = await connection.get_raw_connection()
                    return await _stream(raw.driver_connection, job)
        except ConnectionError as error:  # it takes no TLS
            last = error
        finally:
            await engine.dispose()
    raise last or ConnectionError("it cannot be reached")


async def _identity(connection: Any) -> str:
    """When the server began, to the microsecond: no two servers say the same."""
    asked = "SELECT EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text"
    return str((await connection.exec_driver_sql(asked)).scalar())


async def _stream(driver: Any, job: dict[str, Any]) -> dict[str, Any]:
    gathered = _Gathered(job["rows"])
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
            version, mode = (str(each) for each in cursor.fetchone() or ("", ""))
            # Ways of reading that would make other values of what the gate has written.
            others = set("ANSI ANSI_QUOTES NO_BACKSLASH_ESCAPES PIPES_AS_CONCAT IGNORE_SPACE ORACLE MSSQL".split())
            kept = ",".join(each for each in mode.split(",") if each not in others)
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
    with engine.connect() as held:
        if job["does"] == "describe":
            return _described(held, job, _mysql_rights)
        gathered = _Gathered(job["rows"])
        driver: Any = held.connection.driver_connection
        with driver.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(job["sql"])
            names = [each[0] for each in cursor.description or ()]
            for row in _fetched(cursor):
                if not gathered.add(row):
                    os.close(driver._sock.fileno())  # what is left of the answer is not read
                    break
        return gathered.told(names)


def _fetched(cursor: Any) -> Iterator[Row]:
    while rows := cursor.fetchmany(BATCH):
        yield from rows


def _sqlite(job: dict[str, Any], context: ssl.SSLContext | None) -> dict[str, Any]:
    del context
    from time import monotonic
    from urllib.parse import quote

    allowed = {each.lower() for each in job.get("tables") or ()}
    describing = job["does"] == "describe"

    def authorised(action: int, first: str | None, second: str | None, *_: object) -> int:
        if describing:
            return sqlite3.SQLITE_DENY if action in _SQLITE_WRITES else sqlite3.SQLITE_OK
        fine = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE) or (
            action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS["sqlite"]
        )
        if action == sqlite3.SQLITE_READ:
            fine = (first or "").lower() in allowed or (first or "").lower() in ("json_each", "json_tree", "")
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(job['address'])}?mode=ro&immutable=1", uri=True)
        ends = monotonic() + STATEMENT_SECONDS
        connection.set_progress_handler(lambda: int(monotonic() > ends), 10_000)
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(authorised)
        connection.text_factory = _text
        return connection

    if describing:
        engine = sqlalchemy.create_engine("sqlite://", creator=connect, poolclass=NullPool)
        with engine.connect() as held:
            return _described(held, job, lambda _: [])
    connection = connect()
    try:
        cursor = connection.execute(job["sql"])
        names = [each[0] for each in cursor.description or ()]
        gathered = _Gathered(job["rows"])
        for row in cursor:
            if not gathered.add(row):
                break
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


class _Gathered:
    """Rows as JSON, up to so many and so many bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[list[object]] = []
        self._bytes = 0
        self._cut = False

    def add(self, row: Row) -> bool:
        """Whether there is room for more."""
        values = [self._value(each) for each in row]
        self._bytes += len(json.dumps(values))
        if len(self._rows) >= self._most or self._bytes > MOST_BYTES:
            self._cut = True
            return False
        self._rows.append(values)
        return True

    def told(self, names: Sequence[str]) -> dict[str, Any]:
        return {"columns": list(names), "rows": self._rows, "cut": self._cut}

    def _value(self, value: object) -> object:
        found = _plain(value)
        if isinstance(found, str) and len(found) > MOST_VALUE:
            self._cut = True
            return found[:MOST_VALUE]
        return found


def _plain(value: object) -> object:
    """A value as JSON says it: numbers that it cannot hold, times and bytes as text."""
    if value is None or isinstance(value, bool | str):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return f"\\x{bytes(value)[:MOST_VALUE].hex()}"
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(each) for each in value]
    return str(value)


def _described(connection: Any, job: dict[str, Any], rights: Callable[[Any], list[str]]) -> dict[str, Any]:
    """What is listed, as the server knows it: columns with types and comments, keys, a few values where they may be."""
    inspector = sqlalchemy.inspect(connection)
    default = inspector.default_schema_name
    tables: list[dict[str, Any]] = []
    for title, wanted in job["tables"].items():
        schema, _, name = title.rpartition(".")
        place = schema or None
        if not inspector.has_table(name, schema=place):
            raise RefusedError(f"there is no table {title!r}, or its role may not see it")
        columns = {each["name"]: each for each in inspector.get_columns(name, schema=place)}
        if missing := [each for each in wanted if wanted != "*" and each not in columns]:
            raise RefusedError(f"{title!r} has no column {missing[0]!r}")
        shown = list(columns) if wanted == "*" else list(wanted)
        samples = job["samples"].get(title, [])
        if missing := [each for each in samples if each not in shown]:
            raise RefusedError(f"{title!r}: samples are of columns that may be asked, and {missing[0]!r} is none")
        keys = inspector.get_pk_constraint(name, schema=place).get("constrained_columns") or []
        tables.append(
            {
                "name": name,
                "database_schema": None if job["dialect"] == "sqlite" else schema or default,
                "default": not schema or schema == default,
                "whole": wanted == "*",
                "comment": _comment(inspector, name, place),
                "columns": [
                    {
                        "name": each,
                        "type": _short(str(columns[each]["type"]), 100),
                        "comment": _short(columns[each].get("comment"), 300),
                        "key": each in keys,
                        "samples": _samples(connection, name, place, each) if each in samples else [],
                    }
                    for each in shown
                ],
                "references": [
                    {
                        "columns": each["constrained_columns"],
                        "table": each["referred_table"],
                        "to": each["referred_columns"],
                    }
                    for each in inspector.get_foreign_keys(name, schema=place)
                    if set(each["constrained_columns"]) <= set(shown)
                ],
            }
        )
    known = {each["name"]: {column["name"] for column in each["columns"]} for each in tables}
    for each in tables:  # a key to what is not listed would tell of it
        each["references"] = [
            one for one in each["references"] if set(one["to"]) <= known.get(one["table"], set[str]())
        ]
    return {"tables": tables, "warnings": rights(connection)}


def _comment(inspector: Any, name: str, schema: str | None) -> str | None:
    try:
        return _short(inspector.get_table_comment(name, schema=schema).get("text"), 500)
    except NotImplementedError:
        return None


def _samples(connection: Any, name: str, schema: str | None, column: str) -> list[str]:
    table = sqlalchemy.table(name, sqlalchemy.column(column), schema=schema)
    chosen = table.c[column]
    found = connection.execute(sqlalchemy.select(chosen).where(chosen.is_not(None)).distinct().limit(3))
    return [_short(str(_plain(row[0])), 50) or "" for row in found]


def _short(text: object, most: int) -> str | None:
    return None if text is None else " ".join(str(text).split())[:most]


def _postgresql_rights(connection: Any) -> list[str]:
    found: list[str] = []
    role = connection.exec_driver_sql(
        "SELECT rolsuper, rolbypassrls, rolname FROM pg_catalog.pg_roles WHERE rolname = current_user"
    ).one()
    if role[0]:
        found.append(f"the role {role[2]} is a superuser; give it a role that may read these tables and nothing else")
    writes = connection.exec_driver_sql(
        "SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
    ).scalar()
    if writes and not role[0]:
        found.append(f"the role {role[2]} may write to {writes} tables; reading is enough")
    return found


def _mysql_rights(connection: Any) -> list[str]:
    granted = [str(row[0]).upper() for row in connection.exec_driver_sql("SHOW GRANTS")]
    if any("SUPER" in each or ("ALL PRIVILEGES" in each and " ON *.*" in each) for each in granted):
        return ["the user may do everything; give it one that may read these tables and nothing else"]
    words = ("ALL PRIVILEGES", "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "FILE")
    if any(word in each.partition(" ON ")[0] for each in granted for word in words):
        return ["the user may write; reading is enough"]
    return []


def _said(error: Exception, job: dict[str, Any]) -> str:
    """What the server says is wrong, without what it must not say."""
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

if __name__ == "__main__":
    main()
