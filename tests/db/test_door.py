"""The door: lost servers, full pools, retries, poolers, wrong addresses."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.memory.memories.store import QUERIES
from keeps.store.db import cell
from keeps.store.db.pool import address_of, open_pool
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Condition, Statement
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.writing import in_write

ONE = Statement("one", "SELECT 1 AS one")


async def test_a_full_pool_says_unavailable_instead_of_waiting_for_ever(
    app_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell, "ACQUIRE_TIMEOUT_SECONDS", 0.1)
    database = Database(await open_pool(app_url, size=1))
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with database.scoped(Scope()):
            entered.set()
            await leave.wait()

    holder = asyncio.create_task(hold())
    await entered.wait()
    with pytest.raises(UnavailableError, match="no database connection became free"):
        async with database.scoped(Scope()):
            pass
    leave.set()
    await holder
    await database.close()


async def test_a_lost_connection_is_unavailable_and_the_next_call_works(app_url: str, server: Any) -> None:
    database = Database(await open_pool(app_url, size=1))
    admin = await asyncpg.connect(server.url("postgres", "keeps_test"))
    with pytest.raises(UnavailableError):
        async with database.scoped(Scope()) as tx:
            row = await tx.fetch_row(Statement("pid", "SELECT pg_backend_pid() AS pid"))
            await admin.execute("SELECT pg_terminate_backend($1)", row["pid"])
            await tx.fetch(ONE)
    async with database.scoped(Scope()) as tx:
        assert (await tx.fetch_row(ONE))["one"] == 1
    await admin.close()
    await database.close()


async def test_deadlocks_and_serialization_failures_are_tried_again(database: Database, tenant: str) -> None:
    attempts = 0

    async def work(tx: Tx) -> str:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            code = ("40P01", "40001")[attempts - 1]
            await tx.execute(Statement("fail", f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$"))
        return "done"

    assert await in_write(database, Scope(tenant, "alice"), work) == "done"
    assert attempts == 3


async def test_giving_up_after_five_attempts_is_unavailable(database: Database, tenant: str) -> None:
    async def work(tx: Tx) -> None:
        await tx.execute(Statement("fail", "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"))

    with pytest.raises(UnavailableError, match="too busy"):
        await in_write(database, Scope(tenant, "alice"), work)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("53100", "disk is full"),
        ("58030", "disk failed"),
        ("XX001", "damaged"),
        ("XX002", "damaged"),
        ("57014", "took too long"),
        ("53200", "ran out"),
    ],
)
async def test_what_the_server_lacks_is_said_in_words(database: Database, tenant: str, code: str, message: str) -> None:
    async def work(tx: Tx) -> None:
        await tx.execute(
            Statement("fail", f"DO $$ BEGIN RAISE EXCEPTION 'value of a memory' USING ERRCODE = '{code}'; END $$")
        )

    with pytest.raises(UnavailableError, match=message) as caught:
        await in_write(database, Scope(tenant, "alice"), work)
    assert "value of a memory" not in caught.value.detail


async def test_a_read_cannot_write(database: Database, tenant: str) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        async with database.scoped(Scope(tenant, "alice")) as tx:
            await tx.execute(Statement("sneak", "INSERT INTO keeps.tenants VALUES ('x')"))


async def test_a_transaction_stays_with_its_tenant(database: Database, tenant: str) -> None:
    async with database.scoped(Scope(tenant, "alice")) as tx:
        with pytest.raises(AssertionError, match="one tenant"):
            await tx.become(Scope("elsewhere", "alice"))


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("postgresql://keeps_app:secret@127.0.0.1:9/keeps", UnavailableError, "no PostgreSQL answers"),
        ("postgresql://keeps_app:secret@/keeps?host=/nowhere", UnavailableError, "no PostgreSQL answers"),
        ("postgresql://keeps_app:secret@127.0.0.1:port/keeps", ValidationFailedError, "not a PostgreSQL URL"),
    ],
)
async def test_wrong_addresses_are_explained_without_the_password(
    url: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        await open_pool(url)
    assert "secret" not in str(caught.value)


async def test_wrong_names_and_passwords_are_explained(server: Any) -> None:
    with pytest.raises(UnavailableError, match="no such database"):
        await open_pool(server.url("keeps_app", "nonexistent"))
    with pytest.raises(UnavailableError, match="refused the user or password"):
        await open_pool(server.url("keeps_app").replace("keeps_app:", "keeps_app:x"))
    assert address_of("postgresql://a:b@h/d") == "postgresql://a@h/d"


async def test_behind_a_pooler_no_prepared_statement_is_kept(app_url: str, server: Any) -> None:
    """A relay that, like PgBouncer, tells its own process id at the start of a connection."""
    relay = _Relay(app_url)
    async with await asyncio.start_server(relay.serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        database = Database(await open_pool(relay.url(port), size=2))
        for _ in range(3):
            async with database.scoped(Scope()) as tx:
                await tx.fetch(ONE)
        admin = await asyncpg.connect(app_url)
        await admin.close()
        async with database.scoped(Scope()) as tx:
            rows = await tx.fetch(Statement("kept", "SELECT name FROM pg_prepared_statements WHERE name <> ''"))
        assert rows == []
        await database.close()


class _Relay:
    """Passes bytes between a TCP client and the server's socket, changing the id in BackendKeyData."""

    def __init__(self, url: str) -> None:
        from urllib.parse import parse_qs, urlsplit

        self._parts = urlsplit(url)
        self._socket = parse_qs(self._parts.query)["host"][0] + "/.s.PGSQL.5432"

    def url(self, port: int) -> str:
        user = self._parts.netloc.rpartition("@")[0]
        return f"postgresql://{user}@127.0.0.1:{port}{self._parts.path}?sslmode=disable"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(self._socket)

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, *, disguise: bool) -> None:
            while data := await source.read(65_536):
                if disguise and (at := data.find(b"K\x00\x00\x00\x0c")) >= 0:
                    data = data[: at + 5] + b"\x00\x00\x00\x07" + data[at + 9 :]
                target.write(data)
                await target.drain()
            target.close()

        await asyncio.gather(
            pump(reader, up_writer, disguise=False), pump(up_reader, writer, disguise=True), return_exceptions=True
        )


def test_a_condition_needs_a_place_in_its_statement() -> None:
    with pytest.raises(ValueError, match="no place"):
        ONE.where(Condition("true"))
    marked = Statement("x", "SELECT 1 WHERE /*:condition*/ true")
    assert marked.where(Condition("a = $1", (1,))).text == "SELECT 1 WHERE (a = $1)"


def test_statements_are_read_by_name() -> None:
    names = [statement.name for statement in QUERIES.all()]
    assert len(names) == len(set(names)) > 10
