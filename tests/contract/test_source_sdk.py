"""What callers of the source documents' SDK rely on: scores, similarity, nulls, owners."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client._requests import RATE_WAIT_SECONDS, Answer, wait_seconds
from tests.serving import JWT_SECRET, serving, token

PERU = "The capital of Peru is Lima."


Ask = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
async def ask(server_url: str, tenant: str) -> AsyncIterator[Ask]:
    """Send a request as Alice; give the status and the answer."""
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with aiohttp.ClientSession(server_url, headers=headers) as session:

        async def request(method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
            async with session.request(method, path, json=body, headers=headers) as answer:
                return answer.status, await answer.json()

        yield request


@pytest.mark.meaning
async def test_scores_reflect_relevance(memory: Any) -> None:
    await memory.store_knowledge("Docker isolates processes with cgroups and namespaces.")
    await memory.log_interaction("agent", "user", "I would like a window seat.")
    await memory.store_skill(
        "agent", "Check Stripe first.", procedure_type="system_prompt", trigger_condition="Billing"
    )
    about_nothing = "Who won the chess championship in 1972?"
    answers = [
        *await memory.search_knowledge(about_nothing),
        *await memory.query_knowledge(about_nothing),
        *await memory.search_interactions("agent", about_nothing),
        *await memory.get_relevant_skills("agent", about_nothing),
    ]
    assert len(answers) == 4
    assert all(0 <= each.score < 0.7 for each in answers), "what does not answer is not reused"
    await memory.store_knowledge(PERU)
    best = (await memory.search_knowledge("What is the capital of Peru?"))[0]
    assert best.content == PERU
    assert 0.7 <= best.score <= 1


@pytest.mark.meaning
@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        ("Docker uses cgroups and namespaces.", "Docker uses namespaces and cgroups.", "updated"),
        ("The left knee hurts after running.", "The right knee hurts after running.", "created"),
        ("Bob hired Alice.", "Alice hired Bob.", "created"),
        ("The door is open.", "The door is not open.", "created"),
    ],
)
async def test_upsert_replaces_equivalent_memory(keeps: Keeps, tenant: str, one: str, other: str, status: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    first = await alice.upsert_knowledge(one)
    second = await alice.upsert_knowledge(other, dedupe_threshold=0.8)
    assert (second.status, second.id == first.id) == (status, status == "updated")


@pytest.mark.meaning
async def test_upsert_compares_several_nearest_facts(keeps: Keeps, tenant: str) -> None:
    """The nearest may be another agent's, which stays."""
    planner, coder = (keeps.memory(Scope(tenant, "alice", agent_id=agent)) for agent in ("planner", "coder"))
    await coder.upsert_knowledge("The deployment runs on Tuesdays and Fridays!")
    mine = await planner.upsert_knowledge("The deployment runs on Fridays and Tuesdays.")
    again = await planner.upsert_knowledge("The deployment runs on Tuesdays and Fridays.", dedupe_threshold=0.9)
    assert (again.status, again.id) == ("updated", mine.id)


NULLS = (
    *("importance", "ttl_days", "expires_at", "source", "session_id", "agent_id", "tags", "metadata", "visibility"),
    *("value", "valid_from", "role", "trigger_condition", "procedure_type", "content_type", "kind", "if_version"),
)


@pytest.mark.parametrize("name", NULLS)
@pytest.mark.parametrize("text", ["The passport is at the hotel.", "The passport is in the safe."])
async def test_null_equals_absent(ask: Ask, name: str, text: str) -> None:
    stored: dict[str, Any] = {
        "content": "The passport is at the hotel.",
        "namespace": "papers",
        "importance": 0.9,
        "source": "desk",
        "session_id": "s",
        "agent_id": "concierge",
        "tags": ["travel"],
        "metadata": {"a": 1},
        "visibility": "tenant",
        "value": {"room": 7},
        "content_type": "note",
        "expires_at": "2099-01-01T00:00:00Z",
    }
    answers: list[dict[str, Any]] = []
    for key, nulls in (("with", {name: None}), ("without", {})):
        assert (await ask("POST", "/v1/memories", {**stored, "key": key}))[0] == 201
        status, answer = await ask("POST", "/v1/memories", {"content": text, "namespace": "papers", "key": key} | nulls)
        assert status in (200, 201), answer
        answers.append(answer)
    of_its_own = {"memory_id", "key", "created_at", "updated_at", "valid_from"}
    with_null, without = (
        {name: value for name, value in each["memory"].items() if name not in of_its_own} for each in answers
    )
    assert with_null == without
    assert answers[0]["status"] == answers[1]["status"]
    assert (with_null["tags"], with_null["importance"], with_null["source"]) == (["travel"], 0.9, "desk")


async def test_aliases_of_a_field_must_agree(ask: Ask) -> None:
    for fields in ({"public": True, "is_public": False}, {"public": False, "isPublic": True}):
        status, refused = await ask("POST", "/v1/memory/semantic", {"content": PERU} | fields)
        assert (status, "public and is_public" in str(refused)) == (422, True)
    shared, private = {"public": True, "is_public": True}, {"public": None, "is_public": False}
    for fields, is_public in ((shared, True), (private, False)):
        _, done = await ask("POST", "/v1/memory/semantic", {"content": f"{PERU} {is_public}"} | fields)
        assert done["is_public"] is is_public


BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/memory/semantic", {"content": PERU, "public": False}),
    ("/v1/memory/semantic/upsert", {"content": PERU}),
    ("/v1/memory/episodic", {"agent_id": "a", "role": "user", "content": PERU}),
    ("/v1/memory/procedural", {"agent_id": "a", "procedure_type": "system_prompt", "content": PERU}),
    ("/v1/memory/task-context", {"task_id": "t", "event_type": "e"}),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
async def test_body_cannot_choose_owner(ask: Ask, path: str, body: dict[str, Any]) -> None:
    """Its `user_id` is ignored: what is stored belongs to who asks, and nobody else can read it."""
    for name in ("user_id", "userId"):
        status, done = await ask("POST", path, body | {name: "research-agent"})
        assert status < 300, done
        assert done.get("user_id", "alice") == "alice"
    other = {"X-User-ID": "research-agent"}
    assert (await ask("GET", "/v1/memories", **other))[1]["items"] == []
    assert (await ask("GET", "/v1/memory/task-context/t", **other))[0] == 404


@pytest.mark.parametrize("asked", [59, 60, 3])
def test_rate_limited_call_waits(asked: int) -> None:
    limited = Answer(429, {"retry-after": str(asked), "ratelimit-limit": "100"}, b"")
    assert asked <= (wait_seconds(1, limited) or 0) <= RATE_WAIT_SECONDS
    away = Answer(503, {"retry-after": "59"}, b"")
    wrong_credentials = Answer(429, {"retry-after": "59"}, b"")
    assert wait_seconds(1, away) is wait_seconds(1, wrong_credentials) is None


async def test_server_names_exhausted_rate(keeps: Keeps, tenant: str) -> None:
    credentials = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    async with (
        serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, writes_per_minute=1) as url,
        aiohttp.ClientSession(url, headers=credentials) as session,
    ):
        for number, status in enumerate((200, 429)):
            async with session.put("/v1/memory/working/p/k", json={"value": number}) as answer:
                assert answer.status == status
    assert "ratelimit-limit" in answer.headers


async def test_expired_memory_is_restorable_before_job(app_url: str, shared: Any, tenant: str) -> None:
    moment = [datetime(2026, 3, 2, tzinfo=UTC)]
    async with Keeps.open(database_url=app_url, embedder=shared, clock=lambda: moment[0]) as keeps:
        alice = keeps.memory(Scope(tenant, "alice"))
        kept = await alice.remember(PERU, namespace="facts", key="peru", ttl_days=1)
        moment[0] += timedelta(days=2)
        assert (await alice.recall("capital of Peru")).hits == []
        back = await alice.restore(kept.memory_id)
        assert (back.status, back.memory.expires_at) == ("restored", None)
        assert (await alice.recall("capital of Peru")).hits[0].memory.memory_id == kept.memory_id
        assert (await alice.restore(kept.memory_id)).status == "unchanged"
