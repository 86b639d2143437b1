"""The pages of requests in the console, and the commands."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from tests.console.test_pages import browsing
from tests.requests.test_requests import logging, users
from tests.serving import JWT_SECRET, serving, token

__all__ = ["logging", "users"]


@pytest.fixture(scope="module")
async def logging_url(logging: Keeps) -> AsyncIterator[str]:
    async with serving(logging, auth="jwt+keys", jwt_secret=JWT_SECRET, reads_per_minute=1_000_000) as url:
        yield url


@pytest.fixture
def alice(logging: Keeps, tenant: str) -> LocalMemory:
    return logging.memory(Scope(tenant, "alice"))


async def page_of(http: aiohttp.ClientSession, path: str) -> str:
    async with http.get(path) as answer:
        assert answer.status == 200, await answer.text()
        return re.sub(r"\s+", " ", await answer.text())


async def test_request_is_shown_as_answered_then_and_now(logging_url: str, alice: LocalMemory) -> None:
    peanuts = await alice.remember("Alice is allergic to peanuts.", index="now")
    leeds = await alice.remember("Alice is allergic to cats, too.", index="now")
    gone = await alice.remember("Alice is allergic to swordfish.", index="now")
    await alice.recall("What is Alice allergic to?")
    (request,) = (await alice.list_requests()).items
    await alice.update(peanuts.memory_id, content="Alice is allergic to walnuts.", index="now")
    await alice.forget(leeds.memory_id)
    await alice.forget(gone.memory_id, hard=True)
    await alice.remember("Alice is allergic to pollen.", index="now")
    async with browsing(logging_url, token(alice.scope.tenant_id, "alice", "reader")) as http:
        assert request.query in await page_of(http, "/ui/requests")
        text = await page_of(http, f"/ui/requests/{request.request_id}")
    then, now = text.split("Result now")
    assert "Alice is allergic to peanuts." in then
    assert "changed since" in then
    assert "Alice is allergic to cats, too." in then
    assert "forgotten since" in then
    assert "erased since" in then
    assert "swordfish" not in text
    assert "Alice is allergic to walnuts." in now
    assert re.search(r">new</span> ?<a [^>]*>Alice is allergic to pollen", now)
    assert [one.request_id for one in await alice.list_requests()] == [request.request_id], "looking is not logged"


async def test_context_is_shown_with_the_text_of_what_was_left_out(logging_url: str, alice: LocalMemory) -> None:
    for number in range(30):
        await alice.remember(f"Alice visited the city number {number} by train, and liked its old harbour.")
    result = await alice.context("Which cities did Alice visit by train?", budget_tokens=100)
    (request,) = (await alice.list_requests()).items
    async with browsing(logging_url, token(alice.scope.tenant_id, "alice", "reader")) as http:
        text = await page_of(http, f"/ui/requests/{request.request_id}")
    left_out = text.split("Left out then")[1]
    memory = await alice.get(next(each.memory_id for each in result.left_out if each.memory_id))
    assert memory.content in left_out


async def test_list_is_filtered(logging_url: str, logging: Keeps, alice: LocalMemory) -> None:
    tenant = alice.scope.tenant_id
    await alice.recall("first question")
    await alice.context("second question")
    await logging.memory(Scope(tenant, "bob")).recall("third question")
    async with browsing(logging_url, token(tenant, "root", "admin")) as http:
        everybody = await page_of(http, "/ui/requests")
        contexts = await page_of(http, "/ui/requests?kind=context")
        bobs = await page_of(http, "/ui/requests?user=bob")
    assert all(f"{place} question" in everybody for place in ("first", "second", "third"))
    assert "second question" in contexts
    assert "first question" not in contexts
    assert "third question" in bobs
    assert "first question" not in bobs


async def test_key_of_one_user_reads_no_text_of_another(logging_url: str, alice: LocalMemory) -> None:
    tenant = alice.scope.tenant_id
    await alice.remember("Alice is allergic to swordfish.", index="now")
    await alice.recall("What is Alice allergic to?")
    (request,) = (await alice.list_requests()).items
    async with browsing(logging_url, token(tenant, "root", "admin")) as http:
        text = await page_of(http, f"/ui/requests/{request.request_id}?user=alice")
    assert "What is Alice allergic to?" in text
    assert "swordfish" not in text
