"""Valkey is killed under load and brought back: nobody notices but the clock, and nothing old is read afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.asyncio import Redis

from keeps.base.cache.redis import session_key, tenant_keys
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.store.access.rates import Rates, TooManyError
from keeps_client.errors import RateLimitedError
from tests.conftest import until
from tests.valkey import Valkey


@pytest.fixture
def valkey(tmp_path: Path) -> Generator[Valkey]:
    server = Valkey(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def cached(app_url: str, shared: Any, valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Keeps]:
    monkeypatch.setenv("KEEPS_REDIS_URL", valkey.url)
    async with Keeps.open(database_url=app_url, embedder=shared) as opened:
        opened.cache.breaker.rest_seconds = 0.2
        yield opened


async def test_killed_and_brought_back_no_request_fails_and_nothing_old_is_read(
    cached: Keeps, valkey: Valkey, tenant: str
) -> None:
    users = [cached.memory(Scope(tenant, f"user-{number}")) for number in range(4)]
    said = [0] * len(users)
    stopping = asyncio.Event()

    async def talk(number: int) -> None:
        while not stopping.is_set():
            said[number] += 1
            receipt = await users[number].store_exchange(
                [{"role": "user", "content": f"Remark {said[number]}."}], session_id="s"
            )
            assert receipt.notes.message_count == said[number]
            assert (await users[number].session_notes("s")).message_count == said[number]

    talks = [asyncio.create_task(talk(number)) for number in range(len(users))]
    await until(lambda: min(said) >= 5, "all have talked")
    client = redis.Redis(port=valkey.port)
    assert client.exists(session_key(tenant, "user-0", "s")), "the cache is used"
    client.close()
    valkey.kill()
    before = list(said)
    await until(lambda: all(now > then + 5 for now, then in zip(said, before, strict=True)), "they talk on without it")
    await until(cached.cache.breaker.is_open, "the cache is left alone")  # but for a try after each rest
    valkey.start()
    before = list(said)
    await until(lambda: all(now > then + 10 for now, then in zip(said, before, strict=True)), "and after it came back")
    await until(lambda: not cached.cache.breaker.is_open(), "the cache is used again")
    stopping.set()
    await asyncio.gather(*talks)
    for number, user in enumerate(users):
        assert (await user.session_notes("s")).message_count == said[number]


async def test_a_copy_that_could_not_be_renewed_is_not_read_afterwards(
    cached: Keeps, valkey: Valkey, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = cached.memory(Scope(tenant, "alice"))
    await alice.store_exchange([{"role": "user", "content": "Before."}], session_id="s")
    real = cached.cache._redis
    cached.cache._redis = Redis(port=1)  # nobody answers there: as a network that is cut
    await alice.store_exchange([{"role": "user", "content": "While it was cut."}], session_id="s")
    await cached.cache._redis.aclose()
    cached.cache._redis = real
    cached.cache.breaker.succeeded()
    assert (await alice.session_notes("s")).message_count == 2


async def test_another_users_conversation_of_the_same_id_is_another(cached: Keeps, tenant: str) -> None:
    for user, text in (("alice", "I live in Leeds."), ("bob", "I live in Hull.")):
        await cached.memory(Scope(tenant, user)).store_exchange([{"role": "user", "content": text}], session_id="s")
    assert "Hull" not in str(await cached.memory(Scope(tenant, "alice")).session_notes("s"))
    assert session_key("a:b", "c", "d") != session_key("a", "b:c", "d")


async def test_processes_share_rates(valkey: Valkey) -> None:
    first, second = (Rates(reads_per_minute=3, writes_per_minute=3, redis_url=valkey.url) for _ in range(2))
    assert [(await rates.take(Scope("t", "shared"), "read")).remaining for rates in (first, second, first)] == [2, 1, 0]
    with pytest.raises(RateLimitedError) as refused:
        await second.take(Scope("t", "shared"), "read")
    assert 55 <= refused.value.retry_after_seconds <= 60
    client = redis.Redis(port=valkey.port)
    assert 50_000 < client.pttl("keeps:rate:read:t:shared") <= 60_000
    client.close()
    for rates in (first, second):
        await rates.close()


async def test_refused_users_leave_no_keys(valkey: Valkey) -> None:
    rates = Rates(reads_per_minute=1, writes_per_minute=1, redis_url=valkey.url)
    for number in range(20):
        await rates.take(Scope("small", f"user{number}"), "read")
    for number in range(20, 25):
        with pytest.raises(TooManyError, match="your tenant may read 20 times a minute"):
            await rates.take(Scope("small", f"user{number}"), "read")
    client = redis.Redis.from_url(valkey.url)
    assert len(list(client.scan_iter("keeps:rate:read:small*"))) == 21
    client.close()
    await rates.close()


async def test_rates_are_counted_while_valkey_is_away(valkey: Valkey) -> None:
    rates = Rates(reads_per_minute=3, writes_per_minute=3, redis_url=valkey.url)
    assert (await rates.take(Scope("t", "u"), "read")).remaining == 2
    valkey.kill()
    assert [(await rates.take(Scope("t", "u"), "read")).remaining for _ in range(3)] == [2, 1, 0]
    await rates.close()


async def test_no_copy_stays_of_what_is_forgotten_deleted_or_erased(cached: Keeps, valkey: Valkey, tenant: str) -> None:
    client = redis.Redis(port=valkey.port)
    alice = cached.memory(Scope(tenant, "alice"))
    for session in ("s1", "s2", "s3"):
        told = await alice.store_exchange([{"role": "user", "content": "The password is tulip."}], session_id=session)
    await cached.memory(Scope(tenant, "bob")).store_exchange([{"role": "user", "content": "Hello."}], session_id="s1")
    assert len(client.keys(f"mem:session:{tenant}:alice/*")) == 3
    await alice.delete_session("s1")
    await alice.forget(told.messages[0].memory_id)
    assert client.keys(f"mem:session:{tenant}:alice/*") == [f"mem:session:{tenant}:alice/s2".encode()]
    await cached.service(TenantService).erase_user(alice.scope, "alice")
    assert client.keys(f"mem:session:{tenant}:*") == [f"mem:session:{tenant}:bob/s1".encode()]
    await cached.service(TenantService).erase_tenant(alice.scope)
    assert client.keys(f"mem:session:{tenant}:*") == []
    client.close()


@pytest.mark.parametrize("dropped", ["conversation", "user", "tenant"])
async def test_what_was_read_before_an_erasure_does_not_come_back_after_it(
    cached: Keeps, tenant: str, dropped: str
) -> None:
    """A reader that was on its way writes its copy only when everything is gone."""
    cache, key = cached.cache, session_key(tenant, "alice", "s")
    await cache.put(key, {"said": "swordfish"}, 1, timedelta(hours=1))
    assert await cache.get(key) == {"said": "swordfish"}
    below = {"conversation": key, "user": session_key(tenant, "alice", ""), "tenant": tenant_keys(tenant)}[dropped]
    await cache.drop(below, all_below=dropped != "conversation")
    await cache.put(key, {"said": "swordfish"}, 2, timedelta(hours=1))
    assert await cache.get(key) is None
    other = session_key(tenant if dropped != "tenant" else f"{tenant}2", "bob", "s")
    await cache.put(other, {"said": "hello"}, 1, timedelta(hours=1))
    assert await cache.get(other) == {"said": "hello"}, "others' copies are kept"
