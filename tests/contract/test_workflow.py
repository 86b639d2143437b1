"""Helpers for agents that work together, in process and over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks import state

from keeps_client import MemoryClient, sync
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.workflow import PlanContext, ResultContext, TaskContext, WorkflowState

EXAMPLE = Path(__file__).parents[2] / "examples" / "delegating_worker.py"


@pytest.mark.sync_client
async def test_workflow_keeps_values_and_actions(memory: Any) -> None:
    state = WorkflowState(memory, "plan")
    assert (await state.get_all(), await state.get_action_history()) == ({"action_history": []}, [])
    await state.record_action("research.requested")
    await state.set("data", {"a": 1})
    await state.set("empty", None)
    assert await state.get("data") == {"a": 1}
    assert (await state.get("none"), await state.get("none", "default")) == (None, "default")
    assert (await state.has("empty"), await state.has("none")) == (True, False)
    assert (await state.increment("count"), await state.increment("count", 2)) == (1, 3)
    assert (await state.append("list", "x"), await state.extend("list", ["y", "z"])) == (["x"], ["x", "y", "z"])
    assert await state.update_dict("data", {"b": 2}) == {"a": 1, "b": 2}
    assert await state.increment("with.points") == 1
    assert await state.append("also.with.points", 1) == [1]
    assert await state.get("with.points") == 1
    assert (await state.delete("empty"), await state.delete("empty")) == (True, False)
    assert await state.get_all() == {
        "action_history": ["research.requested"],
        "data": {"a": 1, "b": 2},
        "count": 3,
        "list": ["x", "y", "z"],
        "with.points": 1,
        "also.with.points": [1],
    }
    with pytest.raises(ValidationFailedError):
        await state.extend("count", [1])
    await state.clear()
    await state.clear()
    assert await state.get_all() == {"action_history": []}


async def test_cleanup_removes_everything_including_log(memory: Any, log_of: Any) -> None:
    state = WorkflowState(memory, "plan")
    await state.set("secret", "swordfish")
    await state.record_action("swordfish")
    await memory.store("other", "swordfish", "plan")
    assert "swordfish" in await log_of()
    assert await state.cleanup() == 3
    assert "swordfish" not in await log_of()


@pytest.mark.sync_client
async def test_concurrent_changes_of_different_values_are_kept(memory: Any) -> None:
    await asyncio.gather(*(WorkflowState(memory, "plan").set(f"key-{number}", number) for number in range(10)))
    values = await WorkflowState(memory, "plan").get_all()
    assert {f"key-{number}": number for number in range(10)}.items() <= values.items()


async def test_task_collects_concurrent_results(memory: Any) -> None:
    task = TaskContext(memory, "task", event_type="research.requested", plan_id="plan", data={"topic": "bees"})
    for number in range(5):
        await task.delegate(f"sub-{number}", event_type="search", data={"n": number})
    assert task.pending == [f"sub-{number}" for number in range(5)]

    async def result(number: int) -> bool:
        restored = await TaskContext.restore_by_subtask(memory, f"sub-{number}")
        return await restored.record_result(f"sub-{number}", number * 10)

    finished = await asyncio.gather(*(result(number) for number in range(5)))
    assert finished.count(True) == 1, "one of them, the last, sees that all is done"
    done = await TaskContext.restore(memory, "task")
    assert [each["result"] for each in done.sub_tasks if isinstance(each, dict)] == [0, 10, 20, 30, 40]
    await done.complete()
    await done.complete()
    with pytest.raises(NotFoundError):
        await TaskContext.restore(memory, "task")


async def test_planner_persists_its_state_machine(memory: Any) -> None:
    plan = PlanContext(memory, "plan", goal_event="goal", state={"start": "search"}, current_state="start")
    await plan.save()
    await plan.transition("search", waiting_for=["c-1"])
    one = await PlanContext.restore_by_correlation(memory, "c-1")
    two = await PlanContext.restore(memory, "plan")
    assert (one.current_state, one.state, one.version) == ("search", {"start": "search"}, 2)
    await one.transition("end")
    with pytest.raises(ConflictError) as conflict:
        await two.transition("elsewhere")
    assert conflict.value.current["current_state"] == "end"


RECORD = """
import asyncio, sys
from keeps_client import MemoryClient
from keeps_client.workflow import WorkflowState

async def main():
    url, tenant, first, last = sys.argv[1:]
    async with MemoryClient(url, tenant_id=tenant) as memory:
        state = WorkflowState(memory, "plan")
        for number in range(int(first), int(last)):
            await state.record_action(f"action-{number}")

asyncio.run(main())
"""


@pytest.mark.load
async def test_actions_of_eight_processes_have_one_order(server_url: str, tenant: str) -> None:
    """Each process is a real one, and they start at the same time."""
    bounds = [number * 50 // 8 for number in range(9)]
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", RECORD, server_url, tenant, str(first), str(last))
        for first, last in pairwise(bounds)
    ]
    assert [await process.wait() for process in processes] == [0] * 8
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        history, version = await memory.retrieve_with_version("action_history", "plan")
    assert sorted(history, key=lambda name: int(name.split("-")[1])) == [f"action-{number}" for number in range(50)]
    assert version == 50
    for first, last in pairwise(bounds):
        own = [name for name in history if first <= int(name.split("-")[1]) < last]
        assert own == [f"action-{number}" for number in range(first, last)], (
            "each process's own actions are in its order"
        )


async def test_killed_worker_is_replaced(server_url: str, tenant: str) -> None:
    environment = {**os.environ, "KEEPS_URL": server_url, "KEEPS_TENANT_ID": tenant}
    worker = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE, "start", env=environment, stdout=subprocess.PIPE
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"delegated search-1\n"
    worker.send_signal(signal.SIGKILL)
    assert await worker.wait() == -signal.SIGKILL
    worker._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
    other = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLE, "result", env=environment, stdout=subprocess.PIPE
    )
    shown, _ = await other.communicate()
    assert shown == b"completed research-1 on bees: {'pages': 3}\n"


def without_await(url: str, tenant: str) -> None:
    client = sync.MemoryClient(url, tenant_id=tenant)
    state = sync.WorkflowState(client, "plan")
    state.record_action("one")
    state.set("a", 1)
    assert state.get_all() == {"action_history": ["one"], "a": 1}
    task = sync.TaskContext(client, "t", event_type="e")
    task.delegate("s", event_type="x")
    assert sync.TaskContext.restore_by_subtask(client, "s").pending == ["s"]
    client.close()


async def test_helpers_work_without_await(server_url: str, tenant: str) -> None:
    await asyncio.to_thread(without_await, server_url, tenant)


@pytest.mark.load
async def test_concurrent_processes_with_helpers_lose_nothing(server_url: str, tenant: str) -> None:
    problems, times = await state.drive(server_url, tenant, 8, 24)
    assert problems == []
    assert len(times) == 8 * 24


async def test_stale_helper_loses_no_result(memory: Any) -> None:
    """Each of ten processes made its own object of the task, and none has read it since."""
    await TaskContext(memory, "task", event_type="e", sub_tasks=[f"sub-{n}" for n in range(10)]).save()
    stale = [TaskContext(memory, "task", event_type="e") for _ in range(10)]
    done = await asyncio.gather(*(each.record_result(f"sub-{n}", n) for n, each in enumerate(stale)))
    assert done.count(True) == 1
    whole = await TaskContext.restore(memory, "task")
    assert [each["result"] for each in whole.sub_tasks if isinstance(each, dict)] == list(range(10))


async def test_plain_calls_and_helpers_share_state(memory: Any) -> None:
    held = WorkflowState(memory, "plan")
    await memory.store("findings", [1], "plan")
    await memory.append_to_list("action_history", "asked", "plan")
    await memory.increment("retry_count", "plan")
    await held.append("findings", 2)
    await held.record_action("answered")
    assert await memory.retrieve("findings", "plan") == [1, 2]
    assert (await held.get("retry_count"), await held.get_action_history()) == (1, ["asked", "answered"])


@pytest.mark.parametrize("value", [{}, {"action_history": []}, {"other": 1}, [1], "text", None])
async def test_workflow_state_is_an_ordinary_key(memory: Any, value: Any) -> None:
    await memory.store("account_id", 7, "plan")
    await WorkflowState(memory, "plan").record_action("asked")
    assert await memory.retrieve("workflow_state", "plan") is None
    stored = await memory.store("workflow_state", value, "plan")
    assert (stored.key, stored.value, stored.version) == ("workflow_state", value, 1)
    assert await memory.retrieve("account_id", "plan") == 7
    keys = [item.key for item in await memory.list_plan_state("plan")]
    assert keys == ["account_id", "action_history", "workflow_state"]
    await memory.delete_plan_state("plan", "workflow_state")
    assert await memory.retrieve("account_id", "plan") == 7
    with pytest.raises(NotFoundError):
        await memory.delete_plan_state("plan", "workflow_state")


async def test_writing_workflow_state_keeps_concurrent_keys(memory: Any) -> None:
    """The read, change and write of an agent that keeps its whole state under this key."""
    await memory.store("workflow_state", {"action_history": []}, "plan")
    whole, version = await memory.retrieve_with_version("workflow_state", "plan")
    await memory.store("account_id", 7, "plan")
    whole["action_history"].append("asked")
    await memory.store_if_version_matches("workflow_state", whole, "plan", version)
    assert await memory.append_to_list("workflow_state.action_history", "answered", "plan") == ["asked", "answered"]
    assert await memory.increment("workflow_state.retries", "plan") == 1
    with pytest.raises(ConflictError):
        await memory.store_if_version_matches("workflow_state", {}, "plan", version)
    assert await memory.retrieve("workflow_state", "plan") == {"action_history": ["asked", "answered"], "retries": 1}
    assert await memory.retrieve("account_id", "plan") == 7


async def test_helper_key_workflow_state_removes_nothing(memory: Any, log_of: Any) -> None:
    state = WorkflowState(memory, "plan")
    await state.set("account_id", "A-4711")
    await state.set("workflow_state", {"step": 1})
    await state.update_dict("workflow_state", {"workflow_state": {"step": 2}})
    assert await state.get_all() == {
        "action_history": [],
        "account_id": "A-4711",
        "workflow_state": {"step": 1, "workflow_state": {"step": 2}},
    }
    assert await state.delete("workflow_state")
    assert await state.get("account_id") == "A-4711"
    assert "A-4711" in await log_of()


async def test_values_of_another_type_are_refused(memory: Any) -> None:
    held = WorkflowState(memory, "plan")
    await held.set("number", 1)
    for change in (held.extend("number", [1]), held.update_dict("number", {"a": 1}), held.append("number", 1)):
        with pytest.raises(ValidationFailedError):
            await change
    assert await held.get("number") == 1


async def test_dictionary_may_contain_whole_context(memory: Any) -> None:
    """As other services call it: positional, with what is no field kept as state."""
    task = await memory.store_task_context("t1", "p1", {"event_type": "research", "data": {"topic": "bees"}, "step": 1})
    assert (task.plan_id, task.event_type, task.data, task.state) == ("p1", "research", {"topic": "bees"}, {"step": 1})
    task = await memory.store_task_context("t2", None, {"state": {"a": 1}, "step": 2, "data": None}, event_type="named")
    assert (task.plan_id, task.event_type, task.state) == (None, "named", {"a": 1, "step": 2})
    assert (await memory.store_task_context("t3", "p1", {})).event_type == "task"
    plan = await memory.store_plan_context("p2", "s1", {"current_state": "searching", "found": 3})
    assert (plan.session_id, plan.current_state, plan.goal_event, plan.state) == (
        "s1",
        "searching",
        "goal",
        {"found": 3},
    )
    for wrong in ("text", [1], {"state": "text", "step": 1}):
        with pytest.raises(ValidationFailedError, match="object"):
            await memory.store_task_context("t4", "p1", wrong)
    with pytest.raises(ValidationFailedError, match="event_type"):
        await memory.store_task_context("t4")


async def test_helpers_accept_any_memory_holder(memory: Any) -> None:
    class Context:
        def __init__(self) -> None:
            self.memory = memory

    context = Context()
    await WorkflowState(context, "plan").record_action("begun")
    task = TaskContext(context, "task", event_type="research")
    sub_task_id = await task.delegate(event_type="web.search")
    restored = await ResultContext(context, sub_task_id, {"found": 3}).restore_task()
    assert (restored.task_id, restored.pending) == ("task", [sub_task_id])
    assert await restored.complete({"findings": 3}) == {"findings": 3}
    assert await WorkflowState(memory, "plan").get_action_history() == ["begun"]


PLAN: dict[str, Any] = {
    "goal_event": "research.goal",
    "goal_data": {"topic": "AI"},
    "response_event": "done",
    "session_id": "session",
    "state": {"found": 1},
}


@pytest.mark.parametrize(
    "change",
    [
        {"context": {"current_state": "search"}},
        {"current_state": "search"},
        {"context": {"currentState": "search", "state": None}},
        {"current_state": "search", "session_id": "session", "expected_version": 1},
    ],
)
async def test_storing_plan_context_keeps_unset_fields(memory: Any, change: dict[str, Any]) -> None:
    await memory.create_plan(plan_id="plan", **PLAN)
    stored = await memory.store_plan_context("plan", **change)
    assert {name: getattr(stored, name) for name in PLAN} == PLAN
    assert (stored.current_state, stored.version) == ("search", 2)
    assert (await memory.get_plan("plan")).goal_data == {"topic": "AI"}
    cleared = await memory.store_plan_context("plan", state={}, goal_data={})
    assert (cleared.state, cleared.goal_data, cleared.current_state) == ({}, {}, "search")


async def test_plan_context_without_goal_creates_no_plan(memory: Any) -> None:
    with pytest.raises(ValidationFailedError, match="goal_event"):
        await memory.store_plan_context("plan", current_state="search")
    with pytest.raises(NotFoundError):
        await memory.get_plan("plan")
    assert (await memory.store_plan_context("plan", None, {})).goal_event == "goal"


async def test_new_plan_object_keeps_stored_state(memory: Any) -> None:
    await memory.create_plan(plan_id="plan", **PLAN)
    plan = PlanContext(memory, "plan", goal_event="research.goal", current_state="search")
    await plan.save()
    stored = await memory.get_plan_context("plan")
    assert {name: getattr(stored, name) for name in PLAN} == PLAN
    assert (plan.goal_data, plan.state, plan.response_event) == ({"topic": "AI"}, {"found": 1}, "done")
    plan.state = {}
    await plan.transition("end")
    stored = await memory.get_plan_context("plan")
    assert (stored.state, stored.goal_data, stored.current_state) == ({}, {"topic": "AI"}, "end")
    await PlanContext(memory, "plan", goal_event="research.goal", goal_data={}).save()
    assert (await memory.get_plan_context("plan")).goal_data == {}


async def test_transition_clears_awaited_correlation_ids(memory: Any) -> None:
    await memory.store_plan_context("plan", goal_event="g", correlation_ids=["c-1"])
    await PlanContext(memory, "plan", goal_event="g").transition("end")
    with pytest.raises(NotFoundError):
        await memory.get_plan_by_correlation("c-1")


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"state": "searching"}, "state in context .* an object"),
        ({"data": [1, 2]}, "data in context .* an object"),
        ({"sub_tasks": "one"}, "sub_tasks in context .* a list"),
        ({"subTasks": {"a": 1}}, "subTasks in context .* a list"),
        ({"event_type": 3}, "event_type in context .* text"),
        ({"task_id": "other"}, "task_id has different values"),
        ({"taskId": "other"}, "taskId has different values"),
        ({"plan_id": "other"}, "plan_id has different values"),
        ({"expected_version": 4}, "expected_version in context"),
        ({"expectedVersion": 4}, "expectedVersion in context"),
        ({"user_id": "bob"}, "user_id in context"),
        ({"state": {"a": 1}, "a": 2}, "a in context is also in its state"),
        ({1: "one"}, "write '1'"),
    ],
)
async def test_invalid_free_context_is_refused_by_field(memory: Any, context: Any, says: str) -> None:
    with pytest.raises(ValidationFailedError, match=says):
        await memory.store_task_context("t", "p", context)
    with pytest.raises(NotFoundError):
        await memory.get_task_context("t")


async def test_free_context_round_trips(memory: Any) -> None:
    free = {"status": "searching", "session_id": "s", "version": 9, "context": {"a": 1}, "created_at": "noon"}
    task = await memory.store_task_context("t", "p", {**free, "subTasks": ["sub"], "task_id": "t", "planId": "p"})
    assert (task.state, task.sub_tasks, task.plan_id) == (free, ["sub"], "p")
    assert (await memory.get_task_by_subtask("sub")).task_id == "t"
    task = await memory.store_task_context("t", "p", {"a": 1}, state={"b": 2})
    assert task.state == {"a": 1, "b": 2}
    free.pop("session_id")
    plan = await memory.store_plan_context(
        "p", "s", {**free, "correlationIds": ["c"], "goalData": {"x": 1}, "session_id": "s"}
    )
    assert (plan.state, plan.correlation_ids, plan.goal_data, plan.session_id) == (free, ["c"], {"x": 1}, "s")
    with pytest.raises(ValidationFailedError, match="session_id has different values"):
        await memory.store_plan_context("p", "s", {"session_id": "other"})
    with pytest.raises(ValidationFailedError, match="goal_data in context"):
        await memory.store_plan_context("p", "s", {"goal_data": "text"})


@pytest.mark.parametrize("status", ["failed", "FAILED", "cancelled", "canceled", "timed-out", "error", "skipped"])
async def test_failure_counts_as_result(memory: Any, status: str) -> None:
    task = TaskContext(memory, "task", event_type="e", sub_tasks=["one", {"sub_task_id": "two", "status": "running"}])
    await task.save()
    assert not await task.record_result("one", {"error": "no route"}, status=status)
    assert task.pending == ["two"]
    await memory.put_sub_task("task", "two", status=status)
    restored = await TaskContext.restore(memory, "task")
    assert restored.pending == []
    assert await restored.record_result("one", {"pages": 3})


@pytest.mark.parametrize("status", ["running", "pending", "waiting_for_input", "retrying"])
async def test_unfinished_status_stays_pending(memory: Any, status: str) -> None:
    task = TaskContext(memory, "task", event_type="e", sub_tasks=[{"sub_task_id": "one", "status": status}])
    await task.save()
    assert (await TaskContext.restore(memory, "task")).pending == ["one"]


async def test_sub_task_named_by_id_keeps_fields(memory: Any) -> None:
    task = TaskContext(memory, "task", event_type="e")
    await task.delegate("one", event_type="search")
    await task.record_result("one", 1)
    changed = await memory.update_task_context("task", sub_tasks=["one", "two"])
    assert changed.sub_tasks == [{**changed.sub_tasks[0], "status": "completed", "result": 1}, "two"]
    stored = await memory.store_task_context("task", event_type="e", sub_tasks=["two", "one"])
    assert stored.sub_tasks == ["two", changed.sub_tasks[0]]


async def test_clearing_workflow_keeps_keys_of_others(memory: Any, log_of: Any) -> None:
    state = WorkflowState(memory, "plan")
    await memory.set_plan_state("plan", "account_id", "A-4711")
    await memory.append_to_list("orders", "first", "plan")
    for made in (
        state.set("secret", "swordfish"),
        state.record_action("swordfish.caught"),
        state.increment("count"),
        state.extend("list", ["swordfish"]),
        state.update_dict("dict", {"a": "swordfish"}),
        state.append("orders", "second"),
        WorkflowState(memory, "other").set("kept", 1),
    ):
        await made
    await memory.store("secret", "swordfish again", "plan")
    await state.clear()
    assert await state.get_all() == {"action_history": [], "account_id": "A-4711", "orders": ["first", "second"]}
    assert await WorkflowState(memory, "other").get("kept") == 1
    log = await log_of()
    assert ("swordfish" in log, "A-4711" in log) == (False, True)
    await state.clear()
    assert await state.cleanup() == 2


async def test_recreated_key_belongs_to_its_creator(memory: Any) -> None:
    state = WorkflowState(memory, "plan")
    await state.set("key", 1)
    await state.delete("key")
    await memory.store("key", 2, "plan")
    await state.clear()
    assert await state.get("key") == 2
