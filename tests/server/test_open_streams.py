"""Streams end within ten seconds of their credential, and of the user whose they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.doors.server import open_streams
from keeps.engine import Keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.store.access import identity
from keeps.store.access.keys import KeyService
from keeps.store.db.statements import Statement
from keeps_client.errors import UnavailableError
from keeps_client.models import NewKey
from tests.serving import JWT_SECRET, serving, token


def test_checks_keep_the_promise_of_ten_seconds() -> None:
    assert identity.KEY_SECONDS + 2 * open_streams.CHECK_SECONDS < 10


@pytest.fixture
async def url(keeps: Keeps, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setattr(open_streams, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(identity, "KEY_SECONDS", 0.2)
    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET) as address:
        yield address


@pytest.fixture
def root(tenant: str) -> Scope:
    return Scope(tenant, "root", roles=frozenset({"admin"}))


async def ends(answer: aiohttp.ClientResponse) -> None:
    async with asyncio.timeout(10):
        await answer.read()


async def goes_on(answer: aiohttp.ClientResponse, seconds: float = 0.3) -> None:
    """Over several checks, whatever the machine: the stream is open after them."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await answer.content.readuntil(b"an end that never comes")


def opened(url: str, credential: str) -> Any:
    return aiohttp.request("GET", f"{url}/v1/events/stream", headers={"Authorization": f"Bearer {credential}"})


async def test_a_stream_ends_with_its_key(url: str, keeps: Keeps, root: Scope) -> None:
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    other = await keeps.service(KeyService).make(root, NewKey(name="other", user_id="alice"))
    async with opened(url, made.secret) as one, opened(url, other.secret) as two:
        assert (one.status, two.status) == (200, 200)
        await goes_on(one)
        await keeps.service(KeyService).revoke(root, made.key_id)
        await ends(one)
        await goes_on(two)


async def test_a_key_that_another_server_revoked_ends_its_stream(
    url: str, keeps: Keeps, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "KEY_SECONDS", 0.05)
    monkeypatch.setattr(keeps.service(KeyService), "listeners", [])
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    async with opened(url, made.secret) as stream:
        assert stream.status == 200
        await keeps.service(KeyService).revoke(root, made.key_id)
        await ends(stream)


async def test_a_stream_ends_with_its_token(url: str, tenant: str) -> None:
    async with opened(url, token(tenant, "alice", exp=int(time.time()) + 2)) as stream:
        assert stream.status == 200
        await ends(stream)


async def test_a_stream_ends_when_its_key_expires(keeps: Keeps, root: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "CHECK_SECONDS", 0.05)
    now = utc_now()
    end = NewKey(name="one", user_id="alice", expires_at=now + timedelta(days=1))
    made = await keeps.service(KeyService).make(root, end)
    async with serving(keeps, lambda: now, auth="keys") as url, opened(url, made.secret) as stream:
        await goes_on(stream)
        now += timedelta(days=2)
        await ends(stream)


@pytest.mark.parametrize("who", ["user", "tenant"])
async def test_a_stream_ends_with_its_user(url: str, keeps: Keeps, tenant: str, root: Scope, who: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("I keep bees.")
    await keeps.memory(Scope(tenant, "bob")).remember("I keep hens.")
    async with opened(url, token(tenant, "alice")) as alice, opened(url, token(tenant, "bob")) as bob:
        await goes_on(alice)
        if who == "user":
            await keeps.service(TenantService).erase_user(root, "alice")
            await ends(alice)
            await goes_on(bob)
        else:
            await keeps.service(TenantService).erase_tenant(root)
            await ends(alice)
            await ends(bob)


async def test_a_stream_that_was_just_opened_ends_with_its_user(
    keeps: Keeps, tenant: str, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "CHECK_SECONDS", 60.0)
    await keeps.memory(Scope(tenant, "alice")).remember("I keep bees.")
    async with (
        serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET) as url,
        opened(url, token(tenant, "alice")) as stream,
    ):
        await keeps.service(TenantService).erase_user(root, "alice")
        await ends(stream)


async def test_a_user_who_never_wrote_may_listen_and_then_write(url: str, keeps: Keeps, tenant: str) -> None:
    async with opened(url, token(tenant, "new")) as stream:
        await goes_on(stream)
        await keeps.memory(Scope(tenant, "new")).remember("I am new.")
        await goes_on(stream)


async def test_an_export_breaks_off_with_its_key(
    url: str, keeps: Keeps, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an export must not look whole."""
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="root", roles=("admin",)))

    async def lines(*_: object) -> AsyncIterator[str]:
        yield "{}\n"
        await asyncio.Event().wait()

    monkeypatch.setattr(keeps.service(TransferService), "export", lines)
    headers = {"Authorization": f"Bearer {made.secret}"}
    async with aiohttp.request("GET", f"{url}/v1/admin/export", headers=headers) as export:
        assert await export.content.readline() == b"{}\n"
        await keeps.service(KeyService).revoke(root, made.key_id)
        with pytest.raises(aiohttp.ClientPayloadError):
            await ends(export)


async def test_a_defect_in_one_check_leaves_the_next_ones(
    url: str, keeps: Keeps, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere, failing = keeps.database.cells.everywhere, True

    async def broken(statement: Statement, *arguments: Any, **named: Any) -> Any:
        if failing and statement.name == "users_since":
            raise RuntimeError("a defect")
        return await everywhere(statement, *arguments, **named)

    monkeypatch.setattr(keeps.database.cells, "everywhere", broken)
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    async with opened(url, made.secret) as stream:
        await goes_on(stream)
        failing = False
        await keeps.service(KeyService).revoke(root, made.key_id)
        await ends(stream)


async def test_a_stream_that_nobody_can_check_is_ended(
    url: str, keeps: Keeps, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = keeps.database.cells.everywhere

    async def away(statement: Statement, *arguments: Any, **named: Any) -> Any:
        if statement.name == "users_since":
            raise UnavailableError("the database is away")
        return await everywhere(statement, *arguments, **named)

    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    async with opened(url, made.secret) as stream:
        await goes_on(stream)
        monkeypatch.setattr(open_streams, "UNCHECKED_SECONDS", 0.2)
        monkeypatch.setattr(keeps.database.cells, "everywhere", away)
        await ends(stream)


async def test_streams_are_checked_without_the_connections_of_their_tenants(
    url: str, keeps: Keeps, root: Scope, tenant: str
) -> None:
    """Another tenant that keeps its share of connections busy delays nobody's check."""
    made = await keeps.service(KeyService).make(root, NewKey(name="one", user_id="alice"))
    done = asyncio.Event()

    async def hold() -> None:
        async with keeps.database.scoped(Scope(f"{tenant}-busy", "mallory")):
            await done.wait()

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as holders:
        for number in range(12):
            other = await stack.enter_async_context(opened(url, token(f"{tenant}-busy", f"u{number}")))
            assert other.status == 200
        async with opened(url, made.secret) as stream:
            assert stream.status == 200
            for _ in range(3):
                holders.create_task(hold())
            await keeps.service(KeyService).revoke(root, made.key_id)
            await ends(stream)
        done.set()
