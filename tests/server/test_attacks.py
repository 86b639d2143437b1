"""What an attacker found once: each stays mended."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from cachetools import TTLCache

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.service import TransferService
from keeps.state.working.service import WorkingService
from keeps.store.access.keys import KeyService
from keeps.store.access.rates import Rates
from keeps_client import MemoryClient
from keeps_client.errors import (
    ConflictError,
    ForbiddenError,
    RateLimitedError,
    UnauthenticatedError,
    ValidationFailedError,
)
from keeps_client.models import NewKey
from tests.serving import serving, token


async def test_a_key_that_another_agent_holds_is_a_conflict_and_not_a_lost_write(secured_url: str, tenant: str) -> None:
    one = MemoryClient(secured_url, token=token(tenant, "alice", agent_id="one"))
    two = MemoryClient(secured_url, token=token(tenant, "alice", agent_id="two"))
    await one.remember("What one did.", kind="episodic", namespace="n", key="k")
    with pytest.raises(ConflictError, match="another of your agents"):
        await two.remember("What two knows.", namespace="n", key="k")
    with pytest.raises(ConflictError):
        await two.remember_many([{"content": "What two knows.", "namespace": "n", "key": "k"}])
    for client in (one, two):
        await client.close()


async def test_values_that_could_not_be_read_again_are_refused(server_url: str, tenant: str) -> None:
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        for path in ("a." * 300 + "b", ".".join("x" * 40)):
            with pytest.raises(ValidationFailedError, match="parts"):
                await memory.increment(path, "plan")
        deep: Any = 1
        for _ in range(150):
            deep = [deep]
        for attempt in (
            memory.store("k", deep, "plan"),
            memory.append_to_list("k", deep, "plan"),
            memory.remember("x", value=deep),
        ):
            with pytest.raises(ValidationFailedError, match="deep"):
                await attempt
        with pytest.raises(ValidationFailedError, match="300 digits"):
            await _grow(memory)
        assert (await memory.list_plan_state("plan")).items[0].key == "huge"


async def _grow(memory: Any) -> None:
    await memory.store("huge", int("9" * 305), "plan")
    await memory.increment("huge", "plan")


async def test_keys_of_any_text_lead_from_page_to_page(server_url: str, tenant: str) -> None:
    keys = ["a\r\nSet-Cookie: x=1\r\n\r\n<html>", "b", "日本", "日本2"]
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        for key in keys:
            await memory.store(key, 1, "plan")
        seen, cursor = [], None
        while True:
            page = await memory.list_plan_state("plan", limit=1, cursor=cursor)
            seen += [item.key for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert sorted(seen) == sorted(keys)


async def test_a_retry_is_not_done_again_because_somebody_deleted(server_url: str, tenant: str) -> None:
    async def post(http: Any, path: str, body: Any, key: str) -> tuple[int, Any]:
        async with http.post(f"{server_url}/v1/memory{path}", json=body, headers={"Idempotency-Key": key}) as answer:
            return answer.status, await answer.json()

    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with (
        aiohttp.ClientSession(headers=headers) as alice,
        MemoryClient(server_url, tenant_id=tenant, user_id="bob") as bob,
    ):
        body = {"plan_id": "p", "path": "count"}
        assert (await post(alice, "/atomic/increment", body, "inc"))[1]["value"] == 1
        plan = await post(alice, "/plans", {"plan_id": "p", "goal_event": "g"}, "plan")
        await bob.store("other", 1, "p")
        await bob.delete_plan_state("p", "other")
        assert (await post(alice, "/atomic/increment", body, "inc"))[1]["value"] == 1
        await bob.delete_plan_state("p")
        status, again = await post(alice, "/atomic/increment", body, "inc")
        assert (status, again["code"]) == (404, "not_found"), "the value is gone, and it is not done again"
        assert "erased since" in again["detail"]
        assert await bob.retrieve("count", "p") is None
        assert await post(alice, "/plans", {"plan_id": "p", "goal_event": "g"}, "plan") == plan


async def test_keys_of_the_erased_open_nothing_more(secured_url: str, keeps: Keeps, tenant: str) -> None:
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    made = await root.keeps.service(KeyService).make(root.scope, NewKey(name="k", user_id="erin"))
    admin = await root.keeps.service(KeyService).make(root.scope, NewKey(name="a", user_id="root", roles=("admin",)))
    async with (
        MemoryClient(secured_url, token=made.secret) as erin,
        MemoryClient(secured_url, token=admin.secret) as boss,
    ):
        await erin.store("k", 1, "p")
        await boss.admin.erase_user("erin")
        with pytest.raises(UnauthenticatedError):
            await erin.store("k", 1, "p")
        await boss.admin.erase_tenant(tenant)
        with pytest.raises(UnauthenticatedError):
            await boss.admin.make_key("again")


async def test_what_is_over_goes_from_the_table_and_the_log(
    keeps: Keeps, tenant: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncpg

    monkeypatch.setattr(keeps.service(WorkingService), "_swept", TTLCache(1, 0.0))
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.store("soon", "swordfish", "plan", ttl_seconds=0.01)
    while await memory.retrieve("soon", "plan") is not None:
        await asyncio.sleep(0.01)
    await memory.store("other", 1, "another-plan")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    for table in ("working_memory", "events", "idempotency_keys"):
        rows = await connection.fetch(f"SELECT t::text FROM keeps.{table} AS t WHERE tenant_id = $1", tenant)
        assert not [row for row in rows if "swordfish" in row[0]], table
    await connection.close()


async def test_no_imported_line_breaks_the_others_or_later_reads(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    now = utc_now().isoformat()
    await memory.remember("A template.")
    await memory.create_plan(plan_id="template", goal_event="g")
    await memory.store_task_context("template", event_type="e")
    await memory.store("template", 1, "plan")
    lines = {
        item["type"]: item["row"]
        for item in [json.loads(line) async for line in memory.keeps.service(TransferService).export(memory.scope)]
    }
    far, early = "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"
    bad: list[tuple[str, dict[str, Any]]] = [
        ("plan", {"plan_id": "a", "parent_plan_id": "nobody"}),
        ("plan", {"plan_id": "b", "session_id": "nowhere"}),
        ("plan", {"plan_id": "c", "version": 2**40}),
        ("memory", {"superseded_by": "01a20000-0000-7000-8000-000000000000"}),
        ("memory", {"version": 2**40}),
        ("memory", {"version": -1}),
        ("memory", {"created_at": early}),
        ("memory", {"valid_from": far}),
        ("memory", {"tags": ["x" * 5_000]}),
        ("memory", {"importance": 7}),
        ("memory", {"namespace": "a b\n"}),
        ("task_context", {"task_id": "a", "sub_tasks": [None]}),
        ("task_context", {"task_id": "b", "sub_tasks": [{"a": 1}]}),
        ("working_memory", {"key": None}),
        ("working_memory", {"plan_id": 5}),
        ("working_memory", {"version": "zz"}),
        ("working_memory", {"version": 2**31 - 1}),
        ("working_memory", {"key": "\ud800"}),
        ("working_memory", {"expires_at": far}),
    ]
    sent = []
    for number, (kind, change) in enumerate(bad):
        own = (
            {"memory_id": f"01a20000-0000-7000-8000-{number:012d}", "content": f"bad {number}", "content_hash": ""}
            if kind == "memory"
            else {}
        )
        sent.append(
            json.dumps(
                {
                    "type": kind,
                    "row": {**lines[kind], "key": f"k{number}" if kind == "working_memory" else None, **own, **change},
                }
            )
        )
    sent.append(
        '{"type": "working_memory", "row": {"user_id": "alice", "plan_id": "p", "key": "k", "value": NaN,'
        ' "version": 1}}'
    )
    good = {
        **lines["memory"],
        "memory_id": "01a20000-0000-7000-8000-999999999999",
        "content": "good",
        "content_hash": "",
        "created_at": now,
    }
    summary = await memory.keeps.service(TransferService).import_lines(
        memory.scope, [*sent, json.dumps({"type": "memory", "row": good})]
    )
    assert (summary.stored, summary.failed) == (1, len(sent)), summary.errors
    assert len((await memory.list()).items) == 2
    assert [item.key for item in (await memory.list_plan_state("plan")).items] == ["template"]


async def test_rates_of_ids_with_slashes_do_not_meet() -> None:
    rates = Rates(reads_per_minute=2, writes_per_minute=2)
    for _ in range(2):
        await rates.take(Scope("acme", "eu/victim"), "read")
    with pytest.raises(RateLimitedError):
        await rates.take(Scope("acme", "eu/victim"), "read")
    assert (await rates.take(Scope("acme/eu", "victim"), "read")).remaining == 1


async def test_ids_in_headers_may_be_utf_8_and_paths_have_no_aliases(server_url: str, tenant: str) -> None:
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "josé"}
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.put(f"{server_url}/v1/memory/working/a%2Fb/k", json={"value": 1}) as answer:
            assert (await answer.json())["user_id"] == "josé"
        from yarl import URL

        async with http.get(URL(f"{server_url}/v1/memory/working/a%1Fb/k", encoded=True)) as answer:
            assert answer.status == 422
        async with http.put(
            f"{server_url}/v1/memory/working/p/none", json={"value": 1}, headers={"If-Match": "*"}
        ) as answer:
            assert answer.status == 422


async def test_an_agent_cannot_administer_and_does_not_get_anothers_answer(secured_url: str, tenant: str) -> None:
    async with MemoryClient(secured_url, token=token(tenant, "alice", "admin", agent_id="two")) as two:
        with pytest.raises(ForbiddenError, match="administer"):
            await two.admin.make_key("free")
    body = {"content": "What one did.", "kind": "episodic"}
    statuses = []
    for agent in ("one", "two"):
        headers = {"Authorization": f"Bearer {token(tenant, 'alice', agent_id=agent)}", "Idempotency-Key": "same"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.post(f"{secured_url}/v1/memories", json=body) as answer,
        ):
            statuses.append(answer.status)
    assert statuses == [201, 409]


async def test_credentials_and_headers_that_disagree_are_refused(secured_url: str, keeps: Keeps, tenant: str) -> None:
    key = await keeps.service(KeyService).make(Scope(tenant, "root", roles=frozenset({"admin"})), NewKey(name="k"))
    for secret in (token(tenant, "alice"), key.secret):
        async with MemoryClient(secured_url, token=secret, tenant_id="other", user_id="alice") as confused:
            with pytest.raises(ForbiddenError, match="another tenant"):
                await confused.store("k", 1, "p")
    async with MemoryClient(secured_url, token=token(tenant, "alice"), user_id="bob") as confused:
        with pytest.raises(ForbiddenError, match="another user"):
            await confused.store("k", 1, "p")


async def test_a_key_that_is_over_before_it_begins_is_refused(keeps: Keeps, tenant: str) -> None:
    with pytest.raises(ValidationFailedError, match="past"):
        await keeps.service(KeyService).make(
            Scope(tenant, "root", roles=frozenset({"admin"})),
            NewKey(name="k", expires_at=utc_now() - timedelta(seconds=1)),
        )


async def test_a_client_that_hangs_up_is_no_defect(keeps: Keeps, capfd: pytest.CaptureFixture[str]) -> None:
    async with serving(keeps) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length:"
            b" 100\r\n\r\n{"
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        async with MemoryClient(url) as memory:
            await memory.retrieve("k", "p")
    assert "defect" not in capfd.readouterr().err
