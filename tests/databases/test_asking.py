"""Databases through the engine: added, described, asked in SQL, written down, forgotten."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.sources.databases import targets
from keeps.sources.databases.service import DatabaseService
from keeps_client import MemoryClient
from keeps_client.errors import (
    ConflictError,
    DatabaseFailedError,
    ForbiddenError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    QueryRefusedError,
    ValidationFailedError,
)
from tests.databases.conftest import ALLOWED, CANARY, Asked
from tests.serving import serving

READ = (
    "SELECT u.name, SUM(o.total) AS spent FROM users AS u JOIN orders AS o ON o.user_id = u.id"
    " GROUP BY u.name ORDER BY 1"
)


async def added(keeps: Keeps, tenant: str, shop: Asked, **more: Any) -> Any:
    memory = keeps.memory(Scope(tenant, "admin"))
    values = {"tables": ALLOWED, "purpose": "What customers bought", "samples": {"users": ["city"]}} | more
    await memory.add_database("shop", shop.url, **values)
    return memory


async def test_a_database_is_added_described_and_asked(asking: Keeps, tenant: str, shop: Asked) -> None:
    memory = await added(asking, tenant, shop)
    (info,) = await memory.list_databases()
    assert (info.name, info.dialect, info.version) == ("shop", shop.dialect, 1)
    assert "s3cret" not in info.model_dump_json()
    users, orders = info.tables
    assert [each.name for each in users.columns] == ["id", "name", "city"]
    assert [each.name for each in orders.columns] == ["id", "user_id", "total", "placed_at", "note"]
    assert sorted(users.columns[2].samples) == ["Leeds", "Lisbon"]
    assert (users.columns[0].key, users.whole, orders.whole) == (True, False, True)
    assert orders.references[0].table == "users"

    found = await memory.query_sql(READ, database="shop")
    assert found.columns == ("name", "spent")
    assert [(name, float(spent)) for name, spent in found.rows] == [("Ada", 19.75), ("Bo", 100.0)]
    assert (found.tables, found.cut) == (("users", "orders"), False)
    stars = await memory.query_sql("SELECT * FROM users ORDER BY id", database="shop")
    assert stars.columns == ("id", "name", "city")
    assert stars.rows[2][1] == "Ção"
    one = await memory.query_sql("SELECT placed_at, note FROM orders ORDER BY id LIMIT 2", database="shop")
    assert [row[1] for row in one.rows] == ["first", None]
    assert "2026-01-05" in one.rows[0][0]


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("SELECT ssn FROM users", "column"),
        ("SELECT nothing FROM users", "column"),
        ("SELECT * FROM secrets", "table"),
        ("SELECT * FROM nowhere", "table"),
        ("DELETE FROM orders", "statement"),
        ("SELECT 1; SELECT 2", "statement"),
        ("SELECT pg_sleep(1)", "function"),
    ],
)
async def test_what_the_gate_refuses_is_refused_in_words(
    asking: Keeps, tenant: str, sqlite_shop: Asked, sql: str, rule: str
) -> None:
    memory = await added(asking, tenant, sqlite_shop)
    with pytest.raises(QueryRefusedError) as refused:
        await memory.query_sql(sql, database="shop")
    assert refused.value.rule == rule


async def test_what_is_hidden_reads_like_what_is_not_there(asking: Keeps, tenant: str, shop: Asked) -> None:
    memory = await added(asking, tenant, shop)

    async def said(sql: str, name: str) -> str:
        with pytest.raises(KeepsError) as error:
            await memory.query_sql(sql, database="shop")
        return error.value.detail.replace(name, "…")

    assert await said("SELECT ssn FROM users", "ssn") == await said("SELECT abc FROM users", "abc")
    assert await said("SELECT id FROM secrets", "secrets") == await said("SELECT id FROM sacreds", "sacreds")


async def test_missing_extra_is_named(
    asking: Keeps, tenant: str, sqlite_shop: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await added(asking, tenant, sqlite_shop)
    monkeypatch.setattr(targets, "PACKAGES", ("package_that_is_not_installed",))
    with pytest.raises(NotConfiguredError, match=r"pip install 'keeps\[databases\]'"):
        await memory.query_sql(READ, database="shop")
    with pytest.raises(NotConfiguredError, match=r"pip install 'keeps\[databases\]'"):
        await memory.add_database("other", sqlite_shop.url, tables=ALLOWED, purpose="What customers bought")
    assert [database.name for database in await memory.list_databases()] == ["shop"]


async def test_everything_that_was_asked_is_written_down(asking: Keeps, tenant: str, shop: Asked) -> None:
    memory = await added(asking, tenant, shop)
    await memory.query_sql(READ, database="shop")
    for sql in ("SELECT ssn FROM users", "SELECT id / 0 FROM users"):
        with pytest.raises(KeepsError) if "ssn" in sql or shop.dialect == "postgresql" else _nothing():
            await memory.query_sql(sql, database="shop")
    last, refused, first = (await memory.list_queries()).items
    assert (first.outcome, first.rows, first.tables, first.sql) == ("allowed", 2, ("users", "orders"), READ)
    assert (refused.outcome, refused.rule, refused.rows) == ("refused", "column", 0)
    assert last.outcome == ("failed" if shop.dialect == "postgresql" else "allowed")
    assert (await asking.memory(Scope(tenant, "bob", roles=frozenset({"reader"}))).list_queries()).items == []
    with pytest.raises(ForbiddenError):
        await asking.memory(Scope(tenant, "bob", roles=frozenset({"reader"}))).list_queries(user_id="admin")
    bobs = await asking.memory(Scope(tenant, "bob", roles=frozenset({"admin"}))).list_queries(user_id="admin", limit=2)
    assert len(bobs.items) == 2
    assert bobs.next_cursor


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


async def test_another_tenant_has_no_such_database(asking: Keeps, tenant: str, sqlite_shop: Asked) -> None:
    await added(asking, tenant, sqlite_shop)
    stranger = asking.memory(Scope(f"other-{tenant}", "admin"))
    assert await stranger.list_databases() == []
    for asked in (
        stranger.query_sql("SELECT 1", database="shop"),
        stranger.refresh_database("shop"),
        stranger.remove_database("shop"),
    ):
        with pytest.raises(NotFoundError):
            await asked


async def test_who_may_ask_is_said_by_the_database(asking: Keeps, tenant: str, sqlite_shop: Asked) -> None:
    memory = await added(asking, tenant, sqlite_shop)
    reader = asking.memory(Scope(tenant, "bob", roles=frozenset({"reader"})))
    assert await reader.list_databases() == []
    with pytest.raises(ForbiddenError):
        await reader.query_sql("SELECT 1", database="shop")
    await memory.remove_database("shop")
    await added(asking, tenant, sqlite_shop, asked_by="reader")
    assert (await reader.query_sql("SELECT COUNT(*) FROM users", database="shop")).rows == ((3,),)


async def test_a_database_is_refused_with_the_reason(
    asking: Keeps, app_url: str, shared: Any, tenant: str, sqlite_shop: Asked
) -> None:
    async with Keeps.open(database_url=app_url, embedder=shared) as without_keys:
        with pytest.raises(NotConfiguredError, match="KEEPS_SECRET_KEYS"):
            await added(without_keys, tenant, sqlite_shop)
    for url, error, why in (
        ("oracle://a:b@c/d", ValidationFailedError, "must start with"),
        ("postgresql://a:hunter2@127.0.0.1/d?host=/tmp", ValidationFailedError, "one option"),
        ("postgresql://a:hunter2@10.1.2.3:5432/d", ForbiddenError, "not a public address"),
        ("postgresql://a:hunter2@169.254.169.254/d", ForbiddenError, "not a public address"),
        ("mysql://a:hunter2@[::ffff:10.0.0.1]/d", ForbiddenError, "not a public address"),
        ("sqlite:////etc/passwd", ForbiddenError, "KEEPS_DATABASES_ALLOW"),
        ("sqlite:////tmp/../etc/passwd", ForbiddenError, "KEEPS_DATABASES_ALLOW"),
        ("sqlite:///relative.db", ValidationFailedError, "absolute path"),
        ("postgresql://a:hunter2@127.0.0.1:1/d", DatabaseFailedError, "cannot be reached"),
    ):
        with pytest.raises(error, match=why) as refused:
            await added(asking, tenant, Asked("sqlite", url, lambda _: []))
        assert "hunter2" not in str(refused.value)
    for tables, why in (({"nowhere": "*"}, "no table"), ({"users": ["nothing"]}, "no column")):
        with pytest.raises(DatabaseFailedError, match=why):
            await added(asking, tenant, sqlite_shop, tables=tables, samples={})
    with pytest.raises(DatabaseFailedError, match="not one"):
        await added(asking, tenant, sqlite_shop, samples={"users": ["ssn"]})
    await added(asking, tenant, sqlite_shop)
    with pytest.raises(ConflictError):
        await added(asking, tenant, sqlite_shop)


async def test_a_wrong_password_is_not_repeated(asking: Keeps, tenant: str, postgresql_shop: Asked) -> None:
    url = postgresql_shop.url.replace("s3cret%20pass%2Fword%40", "wr0ng-pass")
    with pytest.raises(DatabaseFailedError) as refused:
        await added(asking, tenant, Asked("postgresql", url, postgresql_shop.run))
    assert "wr0ng-pass" not in refused.value.detail
    assert "asker" in refused.value.detail


async def test_keeps_own_server_is_never_asked(
    asking: Keeps, tenant: str, postgresql_shop: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under any name: what the server says of itself is compared."""
    memory = await added(asking, tenant, postgresql_shop)
    identity = "SELECT EXTRACT(epoch FROM pg_postmaster_start_time())::text"
    ((began,),) = await asyncio.to_thread(postgresql_shop.run, identity)
    monkeypatch.setattr(asking.service(DatabaseService)._runner, "_own", began)
    with pytest.raises(DatabaseFailedError, match="Keeps' own database"):
        await memory.query_sql("SELECT 1", database="shop")


async def test_a_change_of_tables_is_noticed(asking: Keeps, tenant: str, postgresql_shop: Asked) -> None:
    name = f"t{uuid4().hex[:8]}"
    await asyncio.to_thread(postgresql_shop.run, f"CREATE TABLE {name} (id integer, was integer)")
    await asyncio.to_thread(postgresql_shop.run, f"GRANT SELECT ON {name} TO asker")
    memory = await added(asking, tenant, postgresql_shop, tables={name: "*"}, samples={})
    await asyncio.to_thread(postgresql_shop.run, f"ALTER TABLE {name} RENAME COLUMN was TO now_is")
    with pytest.raises(KeepsError):
        await memory.query_sql(f"SELECT was FROM {name}", database="shop")
    assert (await memory.query_sql(f"SELECT now_is FROM {name}", database="shop")).rows == ()
    await asyncio.to_thread(postgresql_shop.run, f"ALTER TABLE {name} ADD COLUMN more integer")
    refreshed = await memory.refresh_database("shop")
    assert [each.name for each in refreshed.tables[0].columns] == ["id", "now_is", "more"]


async def test_a_dump_holds_no_credential(
    asking: Keeps, tenant: str, postgresql_shop: Asked, raw: asyncpg.Connection
) -> None:
    await added(asking, tenant, postgresql_shop)
    async with raw.transaction():
        await raw.execute("SELECT set_config('app.current_tenant', $1, true)", tenant)
        await raw.execute("SELECT set_config('app.current_user', 'admin', true)")
        rows = await raw.fetch("SELECT *, credential::text AS told FROM keeps.databases")
        events = await raw.fetch("SELECT data::text FROM keeps.events")
    assert len(rows) == 1
    for secret in ("s3cret", "pass/word", "pass%2Fword", postgresql_shop.url):
        assert secret not in str(dict(rows[0]))
        assert secret.encode() not in rows[0]["credential"]
        assert secret not in str([each[0] for each in events])
    memory = asking.memory(Scope(tenant, "admin"))
    await memory.query_sql("SELECT COUNT(*) FROM users", database="shop")
    lines = await memory.admin.export_lines()
    assert "s3cret" not in "\n".join(lines)
    (database,) = [line for line in lines if line.startswith('{"type": "database"')]
    assert '"credential": "left out"' in database
    moved = asking.memory(Scope(f"moved-{tenant}", "admin"))
    done = await moved.admin.import_lines(lines)
    assert [error.split(": ", 1)[1] for error in done.errors] == [
        "is a database; exports contain no credentials, so add it again"
    ]
    assert (await moved.list_queries()).items == (await memory.list_queries()).items
    assert (await moved.admin.import_lines(lines)).stored == 0
    receipt = await memory.admin.erase_user("admin")
    assert receipt.removed["query_audit"] == 1


async def test_a_row_in_another_place_does_not_open(
    asking: Keeps, tenant: str, sqlite_shop: Asked, server: Any
) -> None:
    await added(asking, tenant, sqlite_shop)
    other = f"other-{tenant}"
    memory = asking.memory(Scope(other, "admin"))
    await memory.remember("A tenant that is there.")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await connection.execute(
        "INSERT INTO keeps.databases SELECT (jsonb_populate_record(databases,"
        " jsonb_build_object('tenant_id', $2::text))).* FROM keeps.databases WHERE tenant_id = $1",
        tenant,
        other,
    )
    await connection.close()
    with pytest.raises(KeepsError, match="cannot be decrypted"):
        await memory.query_sql("SELECT 1", database="shop")


async def test_hidden_values_are_in_no_answer(asking: Keeps, tenant: str, shop: Asked) -> None:
    memory = await added(asking, tenant, shop)
    found = await memory.query_sql("SELECT * FROM users, orders", database="shop")
    assert CANARY not in found.model_dump_json()


async def test_more_rows_than_may_be_answered_are_cut(asking: Keeps, tenant: str, shop: Asked) -> None:
    memory = await added(asking, tenant, shop)
    many = ", ".join(f"users u{number}" for number in range(7))
    found = await memory.query_sql(f"SELECT u0.name FROM {many}", database="shop")
    assert (len(found.rows), found.cut) == (1_000, True)
    assert (await memory.query_sql("SELECT COUNT(*) FROM users", database="shop")).cut is False


async def test_over_http_it_is_the_same(asking: Keeps, tenant: str, sqlite_shop: Asked) -> None:
    async with serving(asking) as url, MemoryClient(url, tenant_id=tenant, user_id="admin") as memory:
        adding = [memory.add_database("shop", sqlite_shop.url, tables=ALLOWED, purpose="Orders") for _ in range(2)]
        done = await asyncio.gather(*adding, return_exceptions=True)
        assert sorted(type(each).__name__ for each in done) == ["ConflictError", "DatabaseInfo"], "twice at once"
        found = await memory.query_sql("SELECT name FROM users ORDER BY id", database="shop")
        assert [row[0] for row in found.rows] == ["Ada", "Bo", "Ção"]
        with pytest.raises(QueryRefusedError) as refused:
            await memory.query_sql("SELECT ssn FROM users", database="shop")
        assert refused.value.rule == "column"
        with pytest.raises(DatabaseFailedError) as failed:
            await memory.add_database("gone", "postgresql://a:b@127.0.0.1:1/d", tables={"a": "*"}, purpose="p")
        assert failed.value.kind == "connect"
        process = asking.service(DatabaseService)._runner._forks._process
        assert process is not None
        process.kill()
        await process.wait()
        assert (await memory.query_sql("SELECT COUNT(*) FROM users", database="shop")).rows == ((3,),)
        for sql in ("", " ", "\U0001f511", "x" * 20_001, "SELECT '\u202e'"):
            with pytest.raises(KeepsError) if "SELECT" not in sql else _nothing():
                await memory.query_sql(sql, database="shop")
        assert [each.name for each in await memory.list_databases()] == ["shop"]
        await memory.remove_database("shop")
        assert await memory.list_databases() == []
