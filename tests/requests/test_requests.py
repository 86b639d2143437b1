"""The log of recalls and contexts, through the library, HTTP and the console."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import aiohttp
import asyncpg
import pytest

from keeps.base.clock import utc_now
from keeps.base.door import current_door, through
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps, LocalMemory
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.requests import buffer as buffers
from keeps.memory.requests.buffer import RequestBuffer
from keeps_client.errors import ForbiddenError, NotFoundError
from keeps_client.models import RecallRequest, RecallResult
from tests.conftest import SwitchedEmbedder
from tests.serving import serving


@pytest.fixture(scope="module")
async def logging(app_url: str, shared: SwitchedEmbedder) -> AsyncIterator[Keeps]:
    """An engine that logs requests."""
    settings = load_settings(database_url=app_url, given={"KEEPS_REQUEST_LOG_DAYS": "7"})
    async with await open_keeps(settings, embedder=shared) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def users(logging: Keeps, tenant: str) -> None:
    """Two users of the tenant. Requests of others are not logged."""
    for user in ("alice", "bob"):
        await logging.core.introducer.introduce(Scope(tenant, user))


@pytest.fixture
def alice(logging: Keeps, tenant: str) -> LocalMemory:
    return logging.memory(Scope(tenant, "alice"))


async def test_recall_is_logged_with_its_answer(alice: LocalMemory) -> None:
    stored = await alice.remember("Alice is allergic to peanuts.", index="now")
    result = await alice.recall("What is Alice allergic to?", limit=3)
    (request,) = (await alice.list_requests()).items
    assert (request.kind, request.door, request.query) == ("recall", "library", "What is Alice allergic to?")
    assert (request.user_id, request.hits, request.found_nothing) == ("alice", len(result.hits), False)
    assert request.took_ms == pytest.approx(result.took_ms, rel=1e-5)
    detail = await alice.get_request(request.request_id)
    assert detail.arguments == {"limit": 3}
    assert [hit.memory_id for hit in detail.answer] == [stored.memory_id]
    assert detail.answer[0].relevance == pytest.approx(result.hits[0].relevance)


async def test_context_is_logged_with_sections_and_what_was_left_out(alice: LocalMemory) -> None:
    for number in range(30):
        await alice.remember(f"Alice visited the city number {number} by train, and liked its old harbour.")
    result = await alice.context("Which cities did Alice visit by train?", budget_tokens=100, session_id="talk")
    (request,) = (await alice.list_requests(kind="context")).items
    assert (request.session_id, request.hits) == ("talk", len(result.memory_ids))
    assert request.left_out == len(result.left_out) > 0
    detail = await alice.get_request(request.request_id)
    assert [hit.memory_id for hit in detail.answer] == list(result.memory_ids)
    assert {hit.section for hit in detail.answer} <= {section.name for section in result.sections}
    assert {hit.reason for hit in detail.omitted} == {each.reason for each in result.left_out}


async def test_log_has_no_text_of_memories(alice: LocalMemory, server: Any) -> None:
    await alice.remember("The password is swordfish.", index="now")
    await alice.recall("What is the password?")
    await alice.context("What is the password?")
    await alice.list_requests()
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    rows = await connection.fetch(
        "SELECT requests::text FROM keeps.requests WHERE tenant_id = $1", alice.scope.tenant_id
    )
    await connection.close()
    assert len(rows) == 2
    assert not any("swordfish" in row[0] for row in rows)


async def test_questions_without_an_answer_are_found(alice: LocalMemory) -> None:
    await alice.remember("Alice is allergic to peanuts.", index="now")
    await alice.recall("What is Alice allergic to?")
    await alice.recall("How tall is the Eiffel Tower?", min_relevance=0.9)
    nothing = await alice.list_requests(found_nothing=True)
    assert [request.query for request in nothing] == ["How tall is the Eiffel Tower?"]


async def test_pages_go_from_new_to_old(alice: LocalMemory) -> None:
    for number in range(5):
        await alice.recall(f"question {number}")
    first = await alice.list_requests(limit=3)
    second = await alice.list_requests(limit=3, cursor=first.next_cursor)
    assert [one.query for one in [*first, *second]] == [f"question {number}" for number in reversed(range(5))]
    assert second.next_cursor is None


async def test_others_see_no_requests_without_the_role(logging: Keeps, alice: LocalMemory) -> None:
    await alice.recall("Where is the diary?")
    (request,) = (await alice.list_requests()).items
    tenant = alice.scope.tenant_id
    bob = logging.memory(Scope(tenant, "bob"))
    assert (await bob.list_requests()).items == []
    with pytest.raises(NotFoundError):
        await bob.get_request(request.request_id)
    with pytest.raises(ForbiddenError):
        await bob.list_requests(user_id="alice")
    with pytest.raises(ForbiddenError):
        await bob.list_requests(all_users=True)
    with pytest.raises(ForbiddenError):
        await bob.get_request(request.request_id, user_id="alice")
    elsewhere = logging.memory(Scope(f"other-{tenant}", "alice", roles=frozenset({"admin"})))
    assert (await elsewhere.list_requests(all_users=True)).items == []
    with pytest.raises(NotFoundError):
        await elsewhere.get_request(request.request_id, user_id="alice")


async def test_administrator_sees_requests_of_all_users(logging: Keeps, tenant: str) -> None:
    for user in ("alice", "bob", "alice"):
        await logging.memory(Scope(tenant, user)).recall(f"A question of {user}")
    root = logging.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    everybody = await root.list_requests(all_users=True, limit=2)
    assert [one.user_id for one in everybody] == ["alice", "bob"]
    rest = await root.list_requests(all_users=True, limit=2, cursor=everybody.next_cursor)
    assert [one.user_id for one in rest] == ["alice"]
    (of_bob,) = (await root.list_requests(user_id="bob")).items
    assert (await root.get_request(of_bob.request_id, user_id="bob")).query == "A question of bob"


async def test_token_of_an_agent_never_administers(logging: Keeps, alice: LocalMemory) -> None:
    await alice.for_user("bob").recall("Where is the diary of Bob?")
    (of_bob,) = (await alice.for_user("bob").list_requests()).items
    scope = Scope(alice.scope.tenant_id, "alice", agent_id="bot", agent_bound=True, roles=frozenset({"admin"}))
    bot = logging.memory(scope)
    for call in (
        bot.list_requests(user_id="bob"),
        bot.list_requests(all_users=True),
        bot.get_request(of_bob.request_id, user_id="bob"),
    ):
        with pytest.raises(ForbiddenError, match="agent's token"):
            await call


async def test_large_arguments_are_not_logged(alice: LocalMemory) -> None:
    await alice.recall("Which?", filters={"content": {"in": ["x" * 200 for _ in range(50)]}})
    (request,) = (await alice.list_requests()).items
    assert len(str((await alice.get_request(request.request_id)).arguments)) < 100


async def test_token_of_an_agent_sees_its_own_requests(logging: Keeps, tenant: str) -> None:
    await logging.memory(Scope(tenant, "alice", agent_id="cook")).recall("What is for dinner?")
    await logging.memory(Scope(tenant, "alice", agent_id="nurse")).recall("Which pills?")
    bound = logging.memory(Scope(tenant, "alice", agent_id="cook", agent_bound=True))
    assert [one.query for one in await bound.list_requests()] == ["What is for dinner?"]


async def test_console_counts_no_use_and_logs_nothing(logging: Keeps, alice: LocalMemory) -> None:
    stored = await alice.remember("Alice is allergic to peanuts.", index="now")
    with through("console"):
        await alice.recall("What is Alice allergic to?")
        await alice.context("What is Alice allergic to?")
    await logging.service(AccessBuffer).flush()
    assert (await alice.list_requests()).items == []
    life = (await alice.get(stored.memory_id)).life
    assert life is not None
    assert life.access_count == 0
    assert current_door() == "library"
    await alice.recall("What is Alice allergic to?")
    await logging.service(AccessBuffer).flush()
    life = (await alice.get(stored.memory_id)).life
    assert life is not None
    assert life.access_count == 1


async def test_door_is_logged(logging: Keeps, tenant: str) -> None:
    async with serving(logging, auth="none") as url, aiohttp.ClientSession(url) as http:
        headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
        async with http.post("/v1/recall", json={"query": "Who am I?"}, headers=headers) as answer:
            assert answer.status == 200
        async with http.get("/v1/requests", headers=headers) as answer:
            (request,) = (await answer.json())["items"]
    assert (request["door"], request["query"]) == ("http", "Who am I?")


async def test_erased_user_leaves_no_request(logging: Keeps, alice: LocalMemory, server: Any) -> None:
    await alice.recall("A question that is written")
    await alice.list_requests()
    await alice.recall("A question that waits in the buffer")
    receipt = await alice.admin.erase_user("alice")
    assert receipt.removed["requests"] == 1
    await logging.service(RequestBuffer).flush()
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    left = await connection.fetchval("SELECT count(*) FROM keeps.requests WHERE tenant_id = $1", alice.scope.tenant_id)
    await connection.close()
    assert left == 0


async def test_request_of_a_user_erased_elsewhere_is_dropped(logging: Keeps, keeps: Keeps, alice: LocalMemory) -> None:
    """The other process knows the user still."""
    await alice.recall("before")
    await alice.list_requests()
    await keeps.memory(alice.scope).admin.erase_user("alice")
    await alice.recall("after")
    assert (await alice.list_requests()).items == []


async def test_request_of_an_unknown_user_creates_no_user(logging: Keeps, alice: LocalMemory) -> None:
    nobody = alice.for_user("nobody")
    await nobody.recall("Who am I?")
    assert (await nobody.list_requests()).items == []
    root = logging.memory(Scope(alice.scope.tenant_id, "root", roles=frozenset({"admin"})))
    assert "nobody" not in await root.admin.list_users(alice.scope.tenant_id)


async def test_export_and_import_carry_the_log(logging: Keeps, alice: LocalMemory) -> None:
    await alice.remember("Alice is allergic to peanuts.", index="now")
    await alice.recall("What is Alice allergic to?")
    await alice.context("What is Alice allergic to?")
    before = await alice.list_requests()
    lines = await alice.admin.export_lines()
    moved = logging.memory(Scope(f"moved-{alice.scope.tenant_id}", "alice"))
    assert (await moved.admin.import_lines(lines)).failed == 0
    assert (await moved.list_requests()).items == before.items
    for request in before:
        assert await moved.get_request(request.request_id) == await alice.get_request(request.request_id)
    assert (await moved.admin.import_lines(lines)).stored == 0


async def test_old_requests_go(logging: Keeps, alice: LocalMemory, server: Any) -> None:
    await alice.recall("old")
    await alice.recall("new")
    await alice.list_requests()
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await connection.execute(
        "UPDATE keeps.requests SET asked_at = $2 WHERE tenant_id = $1 AND query = 'old'",
        alice.scope.tenant_id,
        utc_now() - timedelta(days=8),
    )
    await connection.close()
    await logging.service(Lifecycle).run(alice.scope.tenant_id, "expiry")
    assert [one.query for one in await alice.list_requests()] == ["new"]


async def test_user_keeps_the_newest_requests(alice: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "MAX_PER_USER", 3)
    for number in range(5):
        await alice.recall(f"question {number}")
    assert [one.query for one in await alice.list_requests()] == ["question 4", "question 3", "question 2"]


async def test_buffer_is_bounded(logging: Keeps, alice: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "MAX_BUFFERED", 2)
    buffer = RequestBuffer(logging.database, utc_now, enabled=True)
    for number in range(5):
        buffer.note_recall(alice.scope, RecallRequest(query=f"question {number}"), RecallResult(hits=[], took_ms=1.0))
    await buffer.close()
    assert [one.query for one in await alice.list_requests()] == ["question 1", "question 0"]


async def test_nothing_is_logged_by_default_on_a_database_of_ones_own(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.recall("Is this written down?")
    assert (await memory.list_requests()).items == []


@pytest.mark.parametrize(
    ("given", "days"),
    [
        ({}, 7),
        ({"KEEPS_AUTH": "none"}, 7),
        ({"KEEPS_AUTH": "keys"}, 0),
        ({"KEEPS_HOST": "0.0.0.0"}, 0),
        ({"KEEPS_DATABASE_URL": "postgresql://keeps_app@host/keeps"}, 0),
        ({"KEEPS_REQUEST_LOG_DAYS": "0"}, 0),
        ({"KEEPS_AUTH": "keys", "KEEPS_REQUEST_LOG_DAYS": "30"}, 30),
    ],
)
def test_default_logs_only_for_one_person(given: dict[str, str], days: int, tmp_path: Any) -> None:
    assert load_settings({}, home=tmp_path, given=given).logged_days == days
