"""What HTTP adds: forms of errors, headers, limits, retries, health."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from keeps.engine import Keeps
from keeps.state.plans.service import PlanService
from keeps.state.working.service import WorkingService
from keeps_client import MemoryClient
from keeps_client.errors import UnavailableError
from keeps_client.models import WorkingDeleted
from keeps_client.workflow import TaskContext
from tests.serving import serving

BASE = "/v1/memory"


@pytest.fixture
async def http(server_url: str, tenant: str) -> Any:
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice", "Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(server_url, headers=headers, auto_decompress=False) as session:
        yield session


async def asked(http: Any, method: str, path: str, **options: Any) -> tuple[int, Any, Any]:
    async with http.request(method, path, **options) as answer:
        body = await answer.read()
        return answer.status, json.loads(body) if body else None, answer.headers


async def test_an_error_is_a_problem_with_a_stable_code(http: Any) -> None:
    status, problem, headers = await asked(http, "GET", f"{BASE}/plans/none", headers={"X-Request-ID": "my-id"})
    assert (status, headers["Content-Type"], headers["X-Request-ID"]) == (404, "application/problem+json", "my-id")
    assert problem == {
        "type": "urn:keeps:problem:not_found",
        "title": "Not found",
        "status": 404,
        "code": "not_found",
        "detail": "no plan 'none'",
        "request_id": "my-id",
    }


async def test_a_post_that_changes_nothing_answers_200(http: Any) -> None:
    memory = {"content": "Tea is served at five."}
    statuses = [(await asked(http, "POST", "/v1/memories", json=memory))[0] for _ in range(2)]
    assert statuses == [201, 200]


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "tab\there"])
async def test_a_request_id_that_cannot_be_a_header_is_replaced(http: Any, given: str) -> None:
    _, _, headers = await asked(http, "GET", "/health", headers={"X-Request-ID": given})
    assert str(UUID(headers["X-Request-ID"])) == headers["X-Request-ID"]


async def test_camel_case_is_accepted_and_snake_case_answered(http: Any) -> None:
    status, task, _ = await asked(
        http,
        "POST",
        f"{BASE}/task-context",
        json={"taskId": "t", "eventType": "e", "subTasks": ["s"], "responseTopic": "r"},
    )
    assert (status, task["task_id"], task["sub_tasks"], task["response_topic"]) == (201, "t", ["s"], "r")
    await asked(http, "POST", f"{BASE}/plans", json={"goalEvent": "g", "sessionId": "S1"})
    status, plans, _ = await asked(http, "GET", f"{BASE}/plans", params={"sessionId": "S1", "LIMIT": "5"})
    assert [plan["session_id"] for plan in plans] == ["S1"]


BAD_BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"value": 1',
    b'{"content": "\\u0000"}',
    b'{"content": "\\ud800"}',
    b'{"content": 5}',
    b'{"content": "x", "importance": 2}',
    b'{"content": "x", "importance": NaN}',
    b'{"content": "x", "unknown": 1}',
    b'{"content": "x", "tags": "abc"}',
    b'{"content": "x", "if_version": 1}',
    b"[" * 5_000 + b"]" * 5_000,
    b'{"content": "x", "metadata": {"n": ' + b"9" * 5_000 + b"}}",
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: body[:30].decode("latin-1"))
async def test_bad_input_is_validation_failed_and_stores_nothing(http: Any, body: bytes) -> None:
    status, problem, _ = await asked(
        http, "POST", "/v1/memories", data=body, headers={"Content-Type": "application/json"}
    )
    assert (status, problem["code"]) == (422, "validation_failed")
    _, page, _ = await asked(http, "GET", "/v1/memories")
    assert page["items"] == []


async def test_a_body_that_is_not_called_json_is_refused_with_the_remedy(http: Any) -> None:
    status, problem, _ = await asked(
        http, "POST", "/v1/recall", data=b'{"query": "x"}', headers={"Content-Type": "text/plain"}
    )
    assert (status, "Content-Type: application/json" in problem["detail"]) == (422, True)


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_beyond_the_limit_is_refused_before_it_is_parsed(http: Any, declared: bool) -> None:
    async def pieces() -> Any:
        for _ in range(10):
            yield b"x" * (1 << 20)

    data: Any = io.BytesIO(b"x" * (10 << 20)) if declared else pieces()
    try:
        status, problem, _ = await asked(
            http, "POST", "/v1/memories", data=data, headers={"Content-Type": "application/json"}
        )
    except aiohttp.ClientError:
        return  # the server hung up while we were still sending
    assert (status, problem["code"]) == (413, "payload_too_large")


async def test_ids_may_hold_slashes_points_and_anything(server_url: str, tenant: str) -> None:
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        for name in ("a/b", "..", ".", "a b", "100%", "ključ 🔑", "?q=1", "#x", "a%2Fb", "العربية"):
            await memory.store(name, name, name)
            assert await memory.retrieve(name, name) == name
            await memory.store_task_context(name, event_type="e", sub_tasks=[name])
            assert (await memory.get_task_by_subtask(name)).task_id == name
            gone = await memory.delete_plan_state(name, name)
            assert isinstance(gone, WorkingDeleted)
            assert gone.deleted is True


async def test_a_version_is_an_etag(http: Any) -> None:
    _, _, headers = await asked(http, "PUT", f"{BASE}/working/p/k", json={"value": 1})
    assert headers["ETag"] == '"1"'
    status, _, _ = await asked(http, "PUT", f"{BASE}/working/p/k", json={"value": 2}, headers={"If-Match": '"1"'})
    assert status == 200
    status, problem, _ = await asked(http, "PUT", f"{BASE}/working/p/k", json={"value": 3}, headers={"If-Match": '"1"'})
    assert (status, problem["code"], problem["current_version"], problem["current"]) == (409, "conflict", 2, 2)
    status, problem, _ = await asked(http, "PUT", f"{BASE}/working/p/k", json={"value": 3}, headers={"If-Match": "one"})
    assert status == 422


async def test_a_key_and_the_same_body_get_the_first_answer_again(http: Any) -> None:
    key = {"Idempotency-Key": "k-1"}
    body = {"plan_id": "p", "path": "list", "value": "x"}
    first = await asked(http, "POST", f"{BASE}/atomic/append", json=body, headers=key)
    again = await asked(http, "POST", f"{BASE}/atomic/append", json=body, headers=key)
    assert (
        (first[0], first[1])
        == (again[0], again[1])
        == (200, {"plan_id": "p", "path": "list", "key": "list", "value": ["x"], "version": 1})
    )
    status, problem, _ = await asked(http, "POST", f"{BASE}/atomic/append", json={**body, "value": "y"}, headers=key)
    assert (status, problem["code"]) == (409, "conflict")
    _, item, _ = await asked(http, "GET", f"{BASE}/working/p/list")
    assert item["value"] == ["x"]
    status, _, _ = await asked(http, "POST", f"{BASE}/atomic/append", json=body, headers={"Idempotency-Key": "k 1"})
    assert status == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", {"content": "once"}),
        ("/v1/memories/batch", {"items": [{"content": "one"}, {"content": "two"}]}),
        (f"{BASE}/semantic", {"content": "once"}),
        (f"{BASE}/semantic/upsert", {"content": "Once upon a time there was a key."}),
        (f"{BASE}/episodic", {"agent_id": "a", "role": "user", "content": "once"}),
        (f"{BASE}/plans", {"goal_event": "g"}),
        (f"{BASE}/sessions", {"name": "n"}),
        (f"{BASE}/task-context", {"task_id": "t", "event_type": "e"}),
        (f"{BASE}/plan-context", {"plan_id": "p", "goal_event": "g"}),
        (f"{BASE}/working/p", {"key": "k", "value": 1}),
    ],
)
async def test_every_post_that_writes_is_done_once_for_a_key(http: Any, path: str, body: dict[str, Any]) -> None:
    key = {"Idempotency-Key": "the-key"}
    first = await asked(http, "POST", path, json=body, headers=key)
    answers = await asyncio.gather(*(asked(http, "POST", path, json=body, headers=key) for _ in range(3)))
    assert first[0] == (200 if path.endswith("upsert") else 201)
    assert all((status, answer) == first[:2] for status, answer, _ in answers)


async def test_keys_of_others_do_not_meet(server_url: str, tenant: str) -> None:
    for user in ("alice", "bob"):
        headers = {"X-Tenant-ID": tenant, "X-User-ID": user, "Idempotency-Key": "same"}
        async with aiohttp.ClientSession(server_url, headers=headers) as http:
            status, plan, _ = await asked(http, "POST", f"{BASE}/plans", json={"goal_event": user})
            assert (status, plan["user_id"]) == (201, user)


async def test_pages_lead_to_each_other(http: Any) -> None:
    for number in range(3):
        await asked(http, "POST", f"{BASE}/plans", json={"plan_id": f"p{number}", "goal_event": "g"})
    _, first, headers = await asked(http, "GET", f"{BASE}/plans", params={"limit": "2"})
    _, second, last = await asked(
        http, "GET", f"{BASE}/plans", params={"limit": "2", "cursor": headers["X-Next-Cursor"]}
    )
    assert [plan["plan_id"] for plan in first + second] == ["p2", "p1", "p0"]
    assert "X-Next-Cursor" not in last
    status, _, _ = await asked(http, "GET", f"{BASE}/plans", params={"limit": "101"})
    assert status == 422


async def test_large_answers_are_compressed(http: Any) -> None:
    await asked(http, "PUT", f"{BASE}/working/p/k", json={"value": "x" * 5_000})
    async with http.get(f"{BASE}/working/p/k", headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert json.loads(gzip.decompress(await answer.read()))["value"] == "x" * 5_000


async def test_a_page_of_another_site_gets_nothing(http: Any, keeps: Keeps) -> None:
    status, problem, headers = await asked(http, "GET", "/v1/memories", headers={"Host": "evil.example:8765"})
    assert (status, problem["code"]) == (403, "forbidden")
    _, _, headers = await asked(http, "GET", "/health", headers={"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in headers
    async with serving(keeps, cors_origins=("https://app.example",)) as url, aiohttp.ClientSession() as other:
        preflight = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,x-session-id,x-stainless-os",
        }
        async with other.options(f"{url}/v1/recall", headers=preflight) as answer:
            assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "https://app.example")


async def test_unknown_paths_and_methods_are_said_clearly(http: Any) -> None:
    status, problem, _ = await asked(http, "GET", "/v1/nothing")
    assert (status, problem["code"]) == (404, "not_found")
    status, problem, headers = await asked(http, "DELETE", "/v1/recall")
    assert (status, problem["code"], headers["Allow"]) == (405, "validation_failed", "POST")


async def test_health_needs_no_database_and_ready_does(
    keeps: Keeps, http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> str:
        raise UnavailableError("the database cannot be reached")

    assert (await asked(http, "GET", "/ready"))[:2] == (200, {"status": "ready"})
    monkeypatch.setattr(keeps, "server_version", away)
    assert (await asked(http, "GET", "/ready"))[0] == 503
    assert (await asked(http, "GET", "/health"))[:2] == (200, {"status": "ok"})


async def test_metrics_count_and_name_no_one(http: Any, tenant: str) -> None:
    await asked(http, "POST", "/v1/memories", json={"content": "a secret of alice"})
    await asked(http, "POST", "/v1/recall", json={"query": "secret"})
    await asked(http, "GET", f"{BASE}/plans/no-such-plan")
    async with http.get("/metrics") as answer:
        text = (await answer.read()).decode()
    for wanted in (
        'keeps_memory_operations_total{kind="memory",operation="remember",success="true"}',
        "keeps_memory_retrieval_seconds_count",
        "keeps_memory_storage_bytes ",
        'keeps_http_requests_total{method="GET",route="/v1/memory/plans/{plan_id}",status="404"}',
        'keeps_db_pool_connections{state="size"}',
        "keeps_memory_index_pending",
    ):
        assert wanted in text, wanted
    for never in (tenant, "alice", "secret", "no-such-plan"):
        assert never not in text, never


async def test_a_defect_is_an_answer_without_details(
    keeps: Keeps, http: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def broken(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("swordfish")

    monkeypatch.setattr(keeps.service(PlanService), "get", broken)
    status, problem, headers = await asked(http, "GET", f"{BASE}/plans/x")
    assert (status, problem["code"], problem["request_id"]) == (500, "internal", headers["X-Request-ID"])
    shown = capfd.readouterr()
    assert "swordfish" not in json.dumps(problem) + shown.out + shown.err


async def test_the_client_waits_and_tries_again_where_that_helps(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    real = keeps.service(WorkingService).change

    async def once_away(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        done = await real(*arguments)
        if calls == 1:
            raise UnavailableError("the answer got lost after it was done")
        return done

    monkeypatch.setattr(keeps.service(WorkingService), "change", once_away)
    async with serving(keeps) as url, MemoryClient(url, tenant_id=tenant) as memory:
        assert await memory.append_to_list("log", "x", "p") == ["x"]
        assert calls == 2
        assert await memory.retrieve("log", "p") == ["x"]


async def test_where_nothing_serves_the_client_says_so() -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with MemoryClient(f"http://127.0.0.1:{port}") as memory:
        with pytest.raises(UnavailableError, match="check that Keeps is running there"):
            await memory.retrieve("k", "p")


async def test_a_text_that_is_too_long_has_characters_and_a_list_has_items(http: Any) -> None:
    _, problem, _ = await asked(http, "POST", "/v1/memories", json={"content": "x" * 50_001})
    assert "content: at most 50,000 characters are allowed, not 50,001" in problem["detail"]
    _, problem, _ = await asked(
        http, "POST", "/v1/memories", json={"content": "x", "tags": [f"t{n}" for n in range(51)]}
    )
    assert "tags: at most 50 items are allowed" in problem["detail"]


async def test_of_a_thousand_findings_the_first_are_told(http: Any) -> None:
    status, problem, _ = await asked(http, "POST", "/v1/items/read", json={"operations": [{"op": "none"}] * 1_000})
    assert (status, len(problem["errors"])) == (422, 100)
    assert problem["detail"].endswith("; and 900 more")
    assert problem["errors"][99]["field"] == "operations.99"


async def test_a_context_may_be_one_free_object(http: Any) -> None:
    body = {"plan_id": "p", "context": {"current_state": "search", "found": 3}, "expected_version": 0}
    status, plan, _ = await asked(http, "POST", f"{BASE}/plan-context", json=body)
    assert (status, plan["current_state"], plan["state"], plan["goal_event"]) == (201, "search", {"found": 3}, "goal")
    status, problem, _ = await asked(http, "POST", f"{BASE}/plan-context", json=body)
    assert (status, problem["current_version"]) == (409, 1)
    body = {"taskId": "t", "context": {"subTasks": ["s"], "progress": 0.5}}
    status, task, _ = await asked(http, "POST", f"{BASE}/task-context", json=body)
    assert (status, task["sub_tasks"], task["state"], task["event_type"]) == (201, ["s"], {"progress": 0.5}, "task")
    body["context"] = {"state": "searching"}
    status, problem, _ = await asked(http, "POST", f"{BASE}/task-context", json=body)
    assert (status, "state in context" in problem["detail"]) == (422, True)


async def test_sub_tasks_are_ids_unless_details_are_asked_for(http: Any, server_url: str, tenant: str) -> None:
    async with MemoryClient(server_url, tenant_id=tenant, user_id="alice") as memory:
        task = TaskContext(memory, "t", event_type="e")
        await task.delegate("s", event_type="search")
        await task.record_result("s", 1)
        for path in ("task-context/t", "task-context/by-subtask/s"):
            _, plain, _ = await asked(http, "GET", f"{BASE}/{path}")
            _, whole, _ = await asked(http, "GET", f"{BASE}/{path}?details=true")
            assert (plain["sub_tasks"], whole["sub_tasks"][0]["result"]) == (["s"], 1)
        _, changed, _ = await asked(http, "PUT", f"{BASE}/task-context/t", json={"subTasks": ["s", "n"]})
        body = {"task_id": "t", "event_type": "e", "sub_tasks": ["s"]}
        _, stored, _ = await asked(http, "POST", f"{BASE}/task-context", json=body)
        assert (changed["sub_tasks"], stored["sub_tasks"]) == (["s", "n"], ["s"])
        assert (await TaskContext.restore(memory, "t")).pending == []
