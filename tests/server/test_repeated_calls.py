"""Calls of other protocols that write more than once, sent with an Idempotency-Key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.federated.forgetting import Forgetting
from keeps.store.db import repeats
from keeps_client.errors import UnavailableError

KEY = {"Idempotency-Key": "k"}


@pytest.fixture
async def http(server_url: str, tenant: str) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with aiohttp.ClientSession(server_url, headers=headers) as session:
        yield session


async def call(http: aiohttp.ClientSession, method: str, path: str, **given: Any) -> tuple[int, Any]:
    async with http.request(method, path, headers=KEY, **given) as answer:
        return answer.status, await answer.json()


async def contents(keeps: Keeps, tenant: str) -> list[str]:
    return sorted(each.content for each in (await keeps.memory(Scope(tenant, "alice")).list()).items)


async def fill(keeps: Keeps, tenant: str) -> list[str]:
    memory = keeps.memory(Scope(tenant, "alice"))
    receipts = await memory.remember_many([{"content": f"note {number}"} for number in range(4)], index="later")
    return [str(each.memory_id) for each in receipts]


async def test_all_memories_of_an_entity_go(http: aiohttp.ClientSession, keeps: Keeps, tenant: str) -> None:
    await fill(keeps, tenant)
    for _ in range(2):
        status, answer = await call(http, "DELETE", "/mem0/v2/entities/user/alice/")
        assert status == 200, answer
        assert await contents(keeps, tenant) == []


async def test_a_batch_is_changed_whole(http: aiohttp.ClientSession, keeps: Keeps, tenant: str) -> None:
    ids = await fill(keeps, tenant)
    body = {"memories": [{"memory_id": each, "text": f"changed {place}"} for place, each in enumerate(ids)]}
    for _ in range(2):
        status, answer = await call(http, "PUT", "/mem0/v1/batch/", json=body)
        assert status == 200, answer
        assert await contents(keeps, tenant) == [f"changed {place}" for place in range(4)]


async def test_an_addition_with_categories_is_made_once(http: aiohttp.ClientSession, keeps: Keeps, tenant: str) -> None:
    messages = [{"role": "user", "content": text} for text in ("I keep bees.", "They are quiet today.")]
    body = {"messages": messages, "user_id": "alice", "categories": ["animals"]}
    first = await call(http, "POST", "/mem0/v3/memories/add/", json=body)
    stored = await contents(keeps, tenant)
    assert first[0] == 200, first
    assert await call(http, "POST", "/mem0/v3/memories/add/", json=body) == first
    assert await contents(keeps, tenant) == stored


async def test_a_document_of_hindsight_is_retained_once(http: aiohttp.ClientSession, keeps: Keeps, tenant: str) -> None:
    path = "/hindsight/v1/default/banks/alice/memories"
    body = {"items": [{"content": "I keep bees.", "document_id": "d"}, {"content": "They sleep.", "document_id": "d"}]}
    first = await call(http, "POST", path, json=body)
    assert first[0] == 200, first
    assert await call(http, "POST", path, json=body) == first
    assert await contents(keeps, tenant) == ["I keep bees.", "They sleep."]


async def test_what_was_broken_off_is_finished_when_it_is_sent_again(
    http: aiohttp.ClientSession, keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await fill(keeps, tenant)
    forget, calls = keeps.service(Forgetting).forget, 0

    async def broken(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise UnavailableError("the connection to the database was lost")
        return await forget(*arguments, **named)

    body = {"memories": [{"memory_id": each} for each in ids]}
    with monkeypatch.context() as patched:
        patched.setattr(keeps.service(Forgetting), "forget", broken)
        status, _ = await call(http, "DELETE", "/mem0/v2/entities/user/alice/", json=body)
        assert (status, len(await contents(keeps, tenant))) == (503, 2)
    status, _ = await call(http, "DELETE", "/mem0/v2/entities/user/alice/", json=body)
    assert (status, await contents(keeps, tenant)) == (200, [])


def test_each_write_of_a_request_has_a_key_of_its_own() -> None:
    def keys() -> list[str]:
        found: list[str] = []
        with repeats.repeatable(repeats.Request("k", b"hash", writes_once=False)):
            assert repeats.current_request() is None
            for name, given in (("forget", 1), ("forget", 2), ("forget", 1)):
                with repeats.one_write(name, given):
                    request = repeats.current_request()
                    assert request is not None
                    found.append(request.key)
        return found

    assert len(set(keys())) == 3
    assert keys() == keys(), "and the same when it is sent again"
