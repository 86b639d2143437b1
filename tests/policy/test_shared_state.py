"""Plans and task contexts that a tenant shares: whoever is of the tenant reads and changes them, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import asyncpg
import pytest

from keeps.base.scope import SHARED_USER_ID, Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps, LocalMemory
from keeps.store.events.service import EventService
from keeps_client import MemoryClient
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.workflow import PlanContext, ResultContext, TaskContext
from tests.serving import JWT_SECRET, serving, token


@pytest.fixture
def alice(keeps: Keeps, tenant: str) -> LocalMemory:
    return keeps.memory(Scope(tenant, "alice"))


@pytest.fixture
def bob(keeps: Keeps, tenant: str) -> LocalMemory:
    return keeps.memory(Scope(tenant, "bob"))


@pytest.fixture
def mallory(keeps: Keeps, tenant: str) -> LocalMemory:
    """Of another tenant."""
    return keeps.memory(Scope(f"{tenant}-2", "alice"))


async def plant(memory: LocalMemory, **visibility: Any) -> None:
    await memory.create_plan("g", {"secret": 1}, plan_id="p", **visibility)
    await memory.update_plan("p", correlation_ids=["c"])
    await memory.store_task_context("t", "p", event_type="e", data={"secret": 1}, sub_tasks=["s"], **visibility)


async def seen_by(memory: LocalMemory) -> list[Any]:
    finds = (memory.find_task("t"), memory.find_task_by_subtask("s"), memory.find_plan("p"))
    contexts = (memory.find_plan_context("p"), memory.find_plan_by_correlation("c"))
    found: list[Any] = [await each for each in (*finds, *contexts)]
    listed = [*await memory.list_plans(), *await memory.list_plans(visibility="tenant")]
    return [each for each in (*found, *listed) if each is not None]


async def test_private_plans_and_tasks_are_their_users_alone(
    alice: LocalMemory, bob: LocalMemory, mallory: LocalMemory
) -> None:
    await plant(alice)
    assert len(await seen_by(alice)) == 6
    for other in (bob, mallory):
        assert await seen_by(other) == []
        for attempt in (
            other.update_task_context("t", state={}),
            other.put_sub_task("t", "s", status="completed"),
            other.delete_task_context("t"),
            other.update_plan("p", status="failed"),
            other.update_plan_context("p", current_state="x"),
            other.delete_plan("p"),
        ):
            with pytest.raises(NotFoundError):
                await attempt
    assert (await alice.get_task_context("t")).data == {"secret": 1}


async def test_shared_state_is_limited_to_tenant(alice: LocalMemory, bob: LocalMemory, mallory: LocalMemory) -> None:
    await plant(alice, visibility="tenant")
    assert {each.visibility for each in await seen_by(bob)} == {"tenant"}
    assert len(await seen_by(bob)) == 6
    assert await seen_by(mallory) == []
    with pytest.raises(NotFoundError):
        await mallory.delete_plan("p")
    done = await bob.put_sub_task("t", "s", status="completed", result=7)
    assert (done.agent_id, done.user_id, done.version) == ("alice", SHARED_USER_ID, 2)
    await bob.update_plan_context("p", current_state="done")
    assert (await alice.get_plan_context("p")).current_state == "done"
    await bob.delete_plan("p")
    assert await seen_by(alice) == []


async def test_a_shared_id_captures_nothing_of_others(alice: LocalMemory, bob: LocalMemory) -> None:
    """Who writes without a word about sharing writes for themselves, whatever others have prepared."""
    await plant(bob, visibility="tenant")
    await alice.store_task_context("t", event_type="e", data={"diary": "mine"})
    await alice.store_plan_context("p", goal_event="g", goal_data={"diary": "mine"})
    await alice.update_task_context("t", state={"diary": "mine"})
    await alice.update_plan("p", state={"diary": "mine"})
    assert (await alice.get_task_context("t")).visibility == (await alice.get_plan("p")).visibility == "private"
    assert "diary" not in str(await seen_by(bob))
    with pytest.raises(ConflictError):
        await alice.create_plan("g", plan_id="p", visibility="tenant")
    await alice.delete_task_context("t")
    assert (await alice.get_task_context("t")).visibility == "tenant", "one's own is gone, the shared one is there"


async def test_nothing_but_plans_and_tasks_is_shared(alice: LocalMemory, bob: LocalMemory, tenant: str) -> None:
    await plant(alice, visibility="tenant")
    await alice.remember("Alice's diary is under the floorboard.")
    await alice.create_session(session_id="mine")
    assert (await bob.list()).items == []
    assert (await bob.list_sessions()).items == []
    assert [each.type for each in await bob.events()] == []


async def test_rows_are_bound_by_the_wall(alice: LocalMemory, tenant: str, app_url: str) -> None:
    """No policy knows of sharing: in SQL, another user sees neither private nor shared rows as their own."""
    await plant(alice)
    await plant(alice, visibility="tenant")
    raw = await asyncpg.connect(app_url)
    try:
        for user, tenant_id, count in (("alice", tenant, 1), ("bob", tenant, 0), (SHARED_USER_ID, f"{tenant}-2", 0)):
            async with raw.transaction():
                await raw.execute(
                    "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)",
                    tenant_id,
                    user,
                )
                assert await raw.fetchval("SELECT count(*) FROM keeps.task_contexts") == count
                assert await raw.fetchval("SELECT count(*) FROM keeps.plans") == count
    finally:
        await raw.close()


async def test_erasing_user_keeps_shared_state(alice: LocalMemory, bob: LocalMemory) -> None:
    await plant(alice, visibility="tenant")
    await plant(alice)
    await alice.admin.erase_user("alice")
    assert [each for each in await seen_by(alice) if each.visibility == "private"] == []
    assert len(await seen_by(bob)) == 6
    await alice.admin.erase_user(SHARED_USER_ID)
    assert await seen_by(bob) == []


@pytest.fixture
async def fleet(keeps: Keeps, tenant: str) -> AsyncIterator[tuple[MemoryClient, MemoryClient]]:
    """A planner and a worker, each with an identity of its own."""
    async with (
        serving(keeps, auth="jwt", jwt_secret=JWT_SECRET) as url,
        MemoryClient(url, token=token(tenant, "planner")) as planner,
        MemoryClient(url, token=token(tenant, "worker")) as worker,
    ):
        yield planner, worker


async def test_a_fleet_of_several_users_works_on_one_task(fleet: tuple[MemoryClient, MemoryClient]) -> None:
    planner, worker = fleet
    plan = PlanContext(planner, "plan", goal_event="research.goal", visibility="tenant")
    await plan.transition("searching", waiting_for=["search-1"])
    task = TaskContext(planner, "task", event_type="research", plan_id="plan", visibility="tenant")
    sub_task = await task.delegate(event_type="search")
    found = await ResultContext(worker, sub_task, 7).restore_task()
    assert (found.task_id, found.visibility) == ("task", "tenant")
    assert await found.record_result(sub_task, 7)
    found.state = {"seen": True}
    await found.save()
    assert (await planner.get_task_context("task")).state == {"seen": True}
    machine = await PlanContext.restore_by_correlation(worker, "search-1")
    await machine.transition("done")
    assert (await planner.get_plan_context("plan")).current_state == "done"
    await found.complete()
    assert await planner.find_task("task") is None
    with pytest.raises(ForbiddenError):
        await worker.for_user(SHARED_USER_ID).list_plans()


async def test_default_visibility_is_configurable(app_url: str, shared: Any, tenant: str) -> None:
    """As agents of the source documents' SDK need it, which cannot name one."""
    settings = load_settings({"KEEPS_STATE_VISIBILITY": "tenant"}, database_url=app_url)
    async with await open_keeps(settings, embedder=shared) as keeps:
        planner, worker = (keeps.memory(Scope(tenant, name)) for name in ("planner", "worker"))
        await plant(planner)
        assert len(await seen_by(worker)) == 7, "of the two lists of plans both are those of the tenant"
        await planner.store_task_context("mine", event_type="e", visibility="private")
        assert await worker.find_task("mine") is None


async def test_shared_rows_are_exported_and_replayed_like_others(alice: LocalMemory, keeps: Keeps, tenant: str) -> None:
    await plant(alice, visibility="tenant")
    await alice.put_sub_task("t", "s", status="completed")
    assert (await keeps.service(EventService).verify(alice.scope)).differences == []
    lines = await alice.admin.export_lines()
    copy = keeps.memory(Scope(f"{tenant}-copy", "carol"))
    summary = await copy.admin.import_lines(lines)
    assert summary.failed == 0, summary.errors
    assert len(await seen_by(copy)) == 6
    assert (await copy.get_task_context("t")).data == {"secret": 1}


async def test_shared_owner_cannot_be_impersonated(keeps: Keeps, tenant: str) -> None:
    async with serving(keeps) as url, MemoryClient(url, tenant_id=tenant, user_id=SHARED_USER_ID) as client:
        with pytest.raises(ForbiddenError, match="nobody can act as it"):
            await client.list_plans()
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET) as url:
        async with MemoryClient(url, token=token(tenant, SHARED_USER_ID)) as client:
            with pytest.raises(ForbiddenError):
                await client.create_plan("g")
        async with MemoryClient(url, token=token(tenant, "root", "admin")) as root:
            with pytest.raises(ValidationFailedError):
                await root.admin.make_key("k", user_id=SHARED_USER_ID)


async def test_two_users_may_use_same_idempotency_key(keeps: Keeps, tenant: str, server_url: str) -> None:
    made = []
    async with aiohttp.ClientSession() as http:
        for user, plan in (("alice", "pa"), ("bob", "pb"), ("alice", "pa"), ("bob", "pb")):
            headers = {"X-Tenant-ID": tenant, "X-User-ID": user, "Idempotency-Key": "message-77"}
            new = {"goal_event": "g", "plan_id": plan, "visibility": "tenant"}
            async with http.post(f"{server_url}/v1/memory/plans", json=new, headers=headers) as answer:
                made.append((answer.status, (await answer.json())["plan_id"]))
    assert made == [(201, "pa"), (201, "pb"), (201, "pa"), (201, "pb")]
