"""The attempts of a write: when its block runs, and what it leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.store.db.answers import plain
from keeps.store.db.errors import UserGoneError
from keeps.store.db.repeats import Request, repeatable
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statement
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError
from tests.conftest import admin

COUNT = plain(int)
INSERT = Statement("add", "INSERT INTO keeps.tenants (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING")
STORED = Statement("stored", "SELECT count(*) AS stored FROM keeps.tenants WHERE tenant_id = $1")


async def stored(database: Database, tenant: str) -> int:
    async with database.scoped(Scope(tenant, "alice")) as tx:
        return (await tx.fetch(STORED, tenant))[0]["stored"]


@pytest.fixture
async def introducer(database: Database, tenant: str) -> Introducer:
    made = Introducer(database)
    await made.introduce(Scope(tenant, "alice"))
    return made


async def test_repeated_request_gets_its_answer_without_an_attempt(
    database: Database, introducer: Introducer, tenant: str
) -> None:
    attempts, results = 0, []
    for _ in range(2):
        with repeatable(Request("k", b"h")):
            write = introducer.writing(Scope(tenant, "alice"), COUNT)
            async for attempt in write:
                async with attempt:
                    attempts += 1
                    write.result = 7
            results.append(write.result)
    assert (attempts, results) == (1, [7, 7])


async def test_key_of_another_request_is_a_conflict(introducer: Introducer, tenant: str) -> None:
    with pytest.raises(ConflictError):  # noqa: PT012
        for content in (b"one", b"two"):
            with repeatable(Request("k", content)):
                write = introducer.writing(Scope(tenant, "alice"), COUNT)
                async for attempt in write:
                    async with attempt:
                        write.result = 1


async def test_block_without_a_result_stores_nothing(database: Database, tenant: str) -> None:
    """With or without a key."""
    with pytest.raises(AssertionError, match="sets `result`"):
        async for attempt in database.writing(Scope(tenant, "alice"), COUNT):
            async with attempt as tx:
                await tx.execute(INSERT, tenant)
    assert await stored(database, tenant) == 0


async def test_second_answer_of_a_request_is_a_defect(introducer: Introducer, tenant: str) -> None:
    with repeatable(Request("k", b"h")):
        for attempts in (1, 0):
            write = introducer.writing(Scope(tenant, "alice"), COUNT)
            if not attempts:
                with pytest.raises(AssertionError, match="one write"):
                    await anext(aiter(write))
                return
            async for attempt in write:
                async with attempt:
                    write.result = 1


async def test_error_in_the_block_rolls_back(database: Database, tenant: str) -> None:
    with pytest.raises(ValueError, match="no more"):  # noqa: PT012
        async for attempt in database.writing(Scope(tenant, "alice")):
            async with attempt as tx:
                await tx.execute(INSERT, tenant)
                raise ValueError("no more")
    assert await stored(database, tenant) == 0


@pytest.fixture
async def refusing(server: Any) -> AsyncIterator[str]:
    """A table of which the first two commits fail with a serialization failure."""
    async with admin(server, "keeps_test") as connection:
        await connection.execute(
            """
            CREATE SEQUENCE public.commits;
            CREATE TABLE public.refusing (one int);
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('public.commits') < 3 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END IF;
                    RETURN NULL;
                END $$;
            CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON public.refusing
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.refuse();
            GRANT ALL ON public.refusing, public.commits TO keeps_app;
            """
        )
        yield "public.refusing"
        await connection.execute(
            "DROP TABLE public.refusing; DROP FUNCTION public.refuse; DROP SEQUENCE public.commits"
        )


async def test_commit_that_fails_is_tried_again(database: Database, tenant: str, refusing: str) -> None:
    committed: list[str] = []
    database.on_commit.append(lambda scope: committed.append(scope.tenant_id))
    attempts = 0
    write = database.writing(Scope(tenant, "alice"), COUNT)
    async for attempt in write:
        async with attempt as tx:
            attempts += 1
            await tx.execute(Statement("add", f"INSERT INTO {refusing} VALUES (1)"))
            write.result = attempts
    assert (attempts, write.result) == (3, 3)
    assert committed == [tenant], "told once, after the commit"
    async with database.scoped(Scope(tenant, "alice")) as tx:
        assert len(await tx.fetch(Statement("all", f"SELECT one FROM {refusing}"))) == 1


async def test_user_erased_by_another_process_is_introduced_again(
    database: Database, introducer: Introducer, tenant: str
) -> None:
    scope = Scope(tenant, "alice")
    attempts = 0
    async for attempt in introducer.writing(scope):
        async with attempt:
            attempts += 1
            if attempts == 1:
                raise UserGoneError("gone")
    assert attempts == 2
    with pytest.raises(UserGoneError):
        async for attempt in introducer.writing(scope):
            async with attempt:
                raise UserGoneError("gone again and again")


@pytest.mark.parametrize("error", [asyncpg.InterfaceError("closed"), asyncpg.InternalClientError("not connected")])
async def test_write_whose_connection_is_lost_is_tried_again(database: Database, tenant: str, error: Exception) -> None:
    attempts = 0
    async for attempt in database.writing(Scope(tenant, "alice")):
        async with attempt as tx:
            attempts += 1
            if attempts == 1:
                tx._connection.terminate()  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
                raise error
    assert attempts == 2


async def test_transactions_do_not_nest(database: Database, tenant: str) -> None:
    async for attempt in database.writing(Scope(tenant, "alice")):
        async with attempt as tx:
            with pytest.raises(AssertionError, match="inside a transaction"):
                await anext(aiter(database.writing(Scope(tenant, "bob"))))
            assert isinstance(tx, Tx)
