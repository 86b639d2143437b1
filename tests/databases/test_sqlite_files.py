"""A SQLite file is read as any other reader reads it, also while somebody writes to it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.sources.databases.describing import RefusedError
from keeps.sources.databases.sqlite_files import check_unchanged, mode_of
from keeps_client.errors import DatabaseFailedError

Ask = Callable[[str], Any]


@pytest.fixture
def path() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="keeps-wal-"))
    yield folder / "shop.db"
    shutil.rmtree(folder)


def opened(path: Path, journal: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total INTEGER)")
    return connection


@pytest.fixture
def ask(asking: Keeps, tenant: str, path: Path) -> Ask:
    memory = asking.memory(Scope(tenant, "admin"))

    async def rows(sql: str, tables: tuple[str, ...] = ("orders",)) -> list[tuple[Any, ...]]:
        if not await memory.list_databases():
            await memory.add_database("shop", f"sqlite:///{path}", tables=dict.fromkeys(tables, "*"), purpose="Orders")
        return list((await memory.query_sql(sql, database="shop")).rows)

    return rows


async def test_rows_in_the_write_ahead_log_are_read(ask: Ask, path: Path) -> None:
    with closing(opened(path, "wal")) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        writer.execute("PRAGMA wal_checkpoint")
        writer.execute("INSERT INTO orders VALUES (2, 20), (3, 30)")
        writer.execute("UPDATE orders SET total = 11 WHERE id = 1")
        assert await ask("SELECT id, total FROM orders ORDER BY id") == [(1, 11), (2, 20), (3, 30)]
        writer.execute("DELETE FROM orders WHERE id = 2")
        assert await ask("SELECT id FROM orders ORDER BY id") == [(1,), (3,)]
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO orders VALUES (4, 40)")
        assert await ask("SELECT COUNT(*) FROM orders") == [(2,)]
        writer.execute("COMMIT")
        assert await ask("SELECT COUNT(*) FROM orders") == [(3,)]
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert await ask("SELECT COUNT(*) FROM orders") == [(3,)]
    assert await ask("SELECT COUNT(*) FROM orders") == [(3,)], "the last writer has closed the file"
    with closing(opened(path, "wal")) as writer:
        writer.execute("INSERT INTO orders VALUES (5, 50)")
        assert await ask("SELECT COUNT(*) FROM orders") == [(4,)]


async def test_a_table_in_the_write_ahead_log_can_be_added(ask: Any, path: Path) -> None:
    with closing(opened(path, "wal")) as writer:
        writer.execute("PRAGMA wal_checkpoint")
        writer.execute("CREATE TABLE visits AS SELECT 7 AS page")
        assert await ask("SELECT page FROM visits", ("visits",)) == [(7,)]


async def test_a_file_with_a_rollback_journal_is_read_while_somebody_writes(ask: Ask, path: Path) -> None:
    with closing(opened(path, "delete")) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        assert await ask("SELECT COUNT(*) FROM orders") == [(1,)]
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO orders VALUES (2, 20)")
        assert await ask("SELECT COUNT(*) FROM orders") == [(1,)]
        writer.execute("COMMIT")
        assert await ask("SELECT COUNT(*) FROM orders") == [(2,)]


async def test_a_log_that_nobody_can_read_is_refused(ask: Ask, path: Path) -> None:
    live = path.with_name("live.db")
    with closing(opened(live, "wal")) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        shutil.copy(live, path)
        shutil.copy(f"{live}-wal", f"{path}-wal")
    with pytest.raises(DatabaseFailedError, match="-wal"):
        await ask("SELECT COUNT(*) FROM orders")


async def test_a_link_beside_the_file_is_not_followed(ask: Ask, path: Path) -> None:
    with closing(opened(path, "delete")) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
    Path(f"{path}-wal").symlink_to("/etc/passwd")
    with pytest.raises(DatabaseFailedError, match="unable to open"):
        await ask("SELECT COUNT(*) FROM orders")


def test_a_writer_that_comes_meanwhile_costs_the_answer(path: Path) -> None:
    opened(path, "wal").close()
    mode = mode_of(str(path))
    check_unchanged(str(path), mode)
    with closing(opened(path, "wal")) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 10)")
        with pytest.raises(RefusedError, match="try again"):
            check_unchanged(str(path), mode)
