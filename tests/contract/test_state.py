"""The state that agents share, the same in process, by the async client and by the sync client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.service import EventService
from keeps_client import MemoryClient
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from tests.contract.conftest import InThreads


async def test_stored_value_increments_version(memory: Any) -> None:
    first = await memory.store("summary", {"confidence": 0.9, "text": "žluťoučký 🐴"}, "plan")
    assert (first.version, first.value, first.plan_id, first.key) == (
        1,
        {"confidence": 0.9, "text": "žluťoučký 🐴"},
        "plan",
        "summary",
    )
    assert (await memory.store("summary", [1, None, "x"], "plan")).version == 2
    assert await memory.retrieve("summary", "plan") == [1, None, "x"]
    assert await memory.retrieve_with_version("summary", "plan") == ([1, None, "x"], 2)
    assert await memory.retrieve("nothing", "plan") is None
    assert await memory.retrieve_with_version("nothing", "plan") == (None, 0)


async def test_null_is_a_value(memory: Any) -> None:
    await memory.store("empty", None, "plan")
    assert await memory.retrieve_with_version("empty", "plan") == (None, 1)


async def test_coala_names_reach_the_same_state(memory: Any) -> None:
    await memory.set_plan_state("plan", "step", 3)
    assert (await memory.get_plan_state("plan", "step")).value == 3
    assert [(item.key, item.value) for item in (await memory.list_plan_state("plan")).items] == [("step", 3)]
    deleted = await memory.delete_plan_state("plan", "step")
    assert (deleted.success, deleted.deleted) == (True, True)
    with pytest.raises(NotFoundError):
        await memory.delete_plan_state("plan", "step")
    with pytest.raises(NotFoundError):
        await memory.get_plan_state("plan", "step")
    await memory.store("a", 1, "plan")
    await memory.store("b", 2, "plan")
    assert (await memory.delete_plan_state("plan")).count_deleted == 2


async def test_keys_are_paged(memory: Any) -> None:
    for number in range(5):
        await memory.store(f"key-{number}", number, "plan")
    first = await memory.list_plan_state("plan", limit=3)
    second = await memory.list_plan_state("plan", limit=3, cursor=first.next_cursor)
    assert [item.value for item in (*first.items, *second.items)] == [0, 1, 2, 3, 4]
    assert second.next_cursor is None


@pytest.mark.sync_client
async def test_version_conflict_reports_current_version(memory: Any) -> None:
    with pytest.raises(ConflictError) as missing:
        await memory.store_if_version_matches("key", "x", "plan", 3)
    assert (missing.value.current_version, missing.value.current) == (0, None)
    assert (await memory.store_if_version_matches("key", "one", "plan", 0)).version == 1
    with pytest.raises(ConflictError) as taken:
        await memory.store_if_version_matches("key", "two", "plan", 0)
    assert (taken.value.current_version, taken.value.current) == (1, "one")
    assert (await memory.store_if_version_matches("key", "two", "plan", 1)).version == 2
    assert await memory.retrieve("key", "plan") == "two"


async def test_key_expires_after_ttl(memory: Any) -> None:
    item = await memory.store("soon", "gone", "plan", ttl_seconds=0.05)
    assert item.expires_at - item.updated_at == timedelta(seconds=0.05)
    for _ in range(200):
        if await memory.retrieve("soon", "plan") is None:
            break
        await asyncio.sleep(0.02)
    assert await memory.retrieve_with_version("soon", "plan") == (None, 0)
    assert (await memory.store_if_version_matches("soon", "again", "plan", 0)).value == "again"


async def test_append_and_increment_accept_nested_paths(memory: Any) -> None:
    assert await memory.append_to_list("log", "one", "plan") == ["one"]
    assert await memory.append_to_list("log", {"two": 2}, "plan") == ["one", {"two": 2}]
    assert await memory.append_to_list("state.actions.done", "x", "plan") == ["x"]
    assert await memory.increment("state.retries", "plan") == 1
    assert await memory.increment("state.retries", "plan", 2) == 3
    assert await memory.increment("ratio", "plan", 0.1) == 0.1
    assert await memory.increment("ratio", "plan", 0.2) == 0.3
    assert await memory.retrieve("state", "plan") == {"actions": {"done": ["x"]}, "retries": 3}


async def test_existing_key_with_dots_is_taken_literally(memory: Any) -> None:
    await memory.store("a.b", [1], "plan")
    assert await memory.append_to_list("a.b", 2, "plan") == [1, 2]


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ("text", "key", "not a list"),
        ({"a": 1}, "key", "not a list"),
        ([1], "key.5", "no item 5"),
        ("text", "key.a", "which has no a"),
        (3, "key", "not a list"),
    ],
)
async def test_append_to_non_list_is_refused(memory: Any, value: Any, path: str, says: str) -> None:
    await memory.store("key", value, "plan")
    with pytest.raises(ValidationFailedError, match=says):
        await memory.append_to_list(path, "x", "plan")
    assert await memory.retrieve_with_version("key", "plan") == (value, 1)


async def test_increment_of_non_number_is_refused(memory: Any) -> None:
    await memory.store("key", ["list"], "plan")
    with pytest.raises(ValidationFailedError, match="not a number"):
        await memory.increment("key", "plan")


@pytest.mark.sync_client
async def test_concurrent_appends_lose_nothing(memory: Any) -> None:
    await asyncio.gather(*(memory.append_to_list("log", number, "plan") for number in range(50)))
    assert sorted(await memory.retrieve("log", "plan")) == list(range(50))
    assert (await memory.retrieve_with_version("log", "plan"))[1] == 50


async def test_deleted_value_is_absent_from_log(memory: Any, log_of: Any) -> None:
    await memory.store("card", "4111 1111 1111 1111", "plan")
    await memory.append_to_list("cards", "4222 2222", "plan")
    assert "4111 1111" in await log_of()
    await memory.delete_plan_state("plan", "card")
    assert "4111 1111" not in await log_of()
    await memory.delete_plan_state("plan")
    assert "4222 2222" not in await log_of()


@pytest.mark.parametrize("bad", ["nul\x00", "\ud800"])
async def test_text_that_cannot_be_stored_is_refused(memory: Any, bad: str) -> None:
    with pytest.raises(ValidationFailedError):
        await memory.store("key", {"deep": [bad]}, "plan")
    with pytest.raises(ValidationFailedError):
        await memory.store(bad, 1, "plan")
    with pytest.raises(ValidationFailedError):
        await memory.retrieve("key", bad)


async def test_task_context_is_found_by_sub_task(memory: Any) -> None:
    stored = await memory.store_task_context(
        "task",
        event_type="research.requested",
        plan_id="plan",
        response_event="research.completed",
        data={"topic": "bees"},
    )
    assert (stored.version, stored.response_topic, stored.sub_tasks, stored.state) == (1, "action-results", [], {})
    changed = await memory.update_task_context(
        "task", sub_tasks=["sub-1", {"sub_task_id": "sub-2", "event": "x"}], state={"progress": 0.5}
    )
    assert (changed.version, changed.data) == (2, {"topic": "bees"})
    for sub_task in ("sub-1", "sub-2"):
        assert (await memory.get_task_by_subtask(sub_task)).task_id == "task"
    await memory.update_task_context("task", sub_tasks=["sub-3"])
    with pytest.raises(NotFoundError):
        await memory.get_task_by_subtask("sub-1")
    with pytest.raises(ConflictError) as conflict:
        await memory.update_task_context("task", state={}, expected_version=1)
    assert conflict.value.current_version == 3
    assert conflict.value.current["sub_tasks"] == ["sub-3"]
    again = await memory.store_task_context("task", event_type="research.requested")
    assert (again.version, again.sub_tasks, again.created_at) == (4, [], stored.created_at)
    assert (await memory.delete_task_context("task")).deleted is True
    with pytest.raises(NotFoundError):
        await memory.get_task_context("task")


async def test_plan_belongs_to_its_session(memory: Any) -> None:
    session = await memory.create_session(name="Research", metadata={"a": 1})
    assert (session.plan_count, session.version, session.last_activity) == (0, 1, session.last_interaction)
    plan = await memory.create_plan(
        goal_event="research.goal", goal_data={"q": 1}, response_event="done", session_id=session.session_id
    )
    assert (plan.status, plan.version, plan.session_id, plan.state) == ("running", 1, session.session_id, {})
    other = await memory.create_plan(plan_id="other", goal_event="g", session_id="named-session")
    assert (await memory.get_session("named-session")).plan_count == 1
    assert (await memory.get_session(session.session_id)).plan_count == 1
    active = (await memory.get_session(session.session_id)).last_activity
    await memory.store("key", 1, plan.plan_id)
    assert (await memory.get_session(session.session_id)).last_activity > active
    assert [each.plan_id for each in (await memory.list_plans(status="active")).items] == ["other", plan.plan_id]
    await memory.update_plan("other", status="paused")
    assert [each.plan_id for each in (await memory.list_plans(status="active")).items] == ["other", plan.plan_id]
    await memory.update_plan("other", status="completed", state={"result": 42})
    assert [each.plan_id for each in (await memory.list_plans(status="active")).items] == [plan.plan_id]
    assert [each.plan_id for each in (await memory.list_plans(session_id="named-session")).items] == ["other"]
    assert (await memory.get_plan("other")).state == {"result": 42}
    assert {each.session_id for each in (await memory.list_sessions()).items} == {session.session_id, "named-session"}
    await memory.delete_session("named-session")
    assert (await memory.get_plan("other")).session_id is None
    assert other.version == 1
    with pytest.raises(NotFoundError):
        await memory.get_session("named-session")
    with pytest.raises(ConflictError):
        await memory.create_session(session_id=session.session_id)


async def test_session_update_checks_version(memory: Any) -> None:
    session = await memory.create_session(session_id="s", name="one")
    changed = await memory.update_session("s", name="two", expected_version=1)
    assert (changed.name, changed.version) == ("two", 2)
    assert changed.last_activity >= session.last_activity
    with pytest.raises(ConflictError) as conflict:
        await memory.update_session("s", name="three", expected_version=1)
    assert conflict.value.current["name"] == "two"


async def test_deleting_plan_deletes_tree_tasks_and_state(memory: Any, log_of: Any) -> None:
    await memory.create_plan(plan_id="root", goal_event="g", goal_data={"secret": "swordfish"})
    await memory.create_plan(plan_id="child", goal_event="g", parent_plan_id="root")
    await memory.create_plan(plan_id="grandchild", goal_event="g", parent_plan_id="child")
    assert (await memory.get_plan("root")).sub_plan_ids == ["child"]
    assert [each.plan_id for each in (await memory.list_plans(parent_plan_id="root")).items] == ["child"]
    await memory.store("key", "swordfish", "grandchild")
    await memory.store_task_context("task", event_type="e", plan_id="child", data={"secret": "swordfish"})
    await memory.delete_plan("root")
    for plan_id in ("root", "child", "grandchild"):
        with pytest.raises(NotFoundError):
            await memory.get_plan(plan_id)
    assert await memory.retrieve("key", "grandchild") is None
    with pytest.raises(NotFoundError):
        await memory.get_task_context("task")
    assert "swordfish" not in await log_of()
    with pytest.raises(NotFoundError, match="parent"):
        await memory.create_plan(goal_event="g", parent_plan_id="root")


async def test_plan_context_is_a_versioned_state_machine(memory: Any) -> None:
    stored = await memory.store_plan_context(
        "plan",
        goal_event="goal",
        state={"start": {"next": "search"}},
        current_state="start",
        correlation_ids=["c-1", "c-2"],
    )
    assert (stored.version, stored.current_state, stored.status) == (1, "start", "running")
    assert (await memory.get_plan_by_correlation("c-2")).plan_id == "plan"
    moved = await memory.store_plan_context(
        "plan", goal_event="goal", current_state="search", correlation_ids=["c-3"], expected_version=1
    )
    assert (moved.version, moved.current_state) == (2, "search")
    with pytest.raises(NotFoundError):
        await memory.get_plan_by_correlation("c-1")
    with pytest.raises(ConflictError) as conflict:
        await memory.update_plan_context("plan", current_state="end", expected_version=1)
    assert (conflict.value.current_version, conflict.value.current["current_state"]) == (2, "search")
    assert (await memory.update_plan_context("plan", current_state="end", expected_version=2)).version == 3
    assert (await memory.get_plan_context("plan")).current_state == "end"
    with pytest.raises(ConflictError):
        await memory.store_plan_context("new", goal_event="goal", expected_version=5)


async def test_lists_are_paged(memory: Any) -> None:
    for number in range(5):
        await memory.create_plan(plan_id=f"plan-{number}", goal_event="g", session_id=f"session-{number}")
    for lister, name in ((memory.list_plans, "plan_id"), (memory.list_sessions, "session_id")):
        first = await lister(limit=2)
        second = await lister(limit=2, cursor=first.next_cursor)
        third = await lister(limit=2, cursor=second.next_cursor)
        found = [getattr(each, name)[-1] for each in (*first.items, *second.items, *third.items)]
        assert found == ["4", "3", "2", "1", "0"]
        assert third.next_cursor is None
    with pytest.raises(ValidationFailedError):
        await memory.list_plans(cursor="bogus")
    with pytest.raises(ValidationFailedError):
        await memory.list_plans(status="unknown")


async def test_knowledge_interactions_and_skills_have_coala_names(memory: Any) -> None:
    fact = await memory.store_knowledge(
        "The capital of Peru is Lima.", external_id="peru", tags=["geo"], metadata={"page": 3}
    )
    assert (fact.external_id, fact.is_public, fact.tags, fact.metadata) == ("peru", False, ["geo"], {"page": 3})
    assert (await memory.store_knowledge("Lima is the capital of Peru.", external_id="peru")).id == fact.id
    found = await memory.query_knowledge("capital of Peru", limit=1)
    assert (found[0].id, found[0].score is not None) == (fact.id, True)
    assert (await memory.search_knowledge("capital of Peru"))[0].id == fact.id
    said = await memory.log_interaction("agent-1", "user", "I would like a window seat.", metadata={"turn": 1})
    await memory.log_interaction("agent-1", "assistant", "Noted: a window seat.")
    await memory.log_interaction("agent-2", "user", "Another agent's talk of a window seat.")
    assert [each.role for each in await memory.get_recent_history("agent-1")] == ["assistant", "user"]
    assert {each.agent_id for each in await memory.search_interactions("agent-1", "window seat")} == {"agent-1"}
    assert said.metadata == {"turn": 1}
    skill = await memory.store_skill(
        "agent-1",
        "Always check Stripe first.",
        procedure_type="system_prompt",
        trigger_condition="User asks about billing",
    )
    assert [each.id for each in await memory.get_relevant_skills("agent-1", "a question about my bill")] == [skill.id]
    assert await memory.get_relevant_skills("agent-2", "a question about my bill") == []


async def test_upsert_replaces_same_statement(memory: Any) -> None:
    first = await memory.upsert_knowledge("Python was created by Guido van Rossum.")
    again = await memory.upsert_knowledge("Python was created by Guido van Rossum!", dedupe_threshold=0.9)
    assert (first.status, again.status, again.id) == ("created", "updated", first.id)
    other = await memory.upsert_knowledge("The Baltic Sea is brackish.", dedupe_threshold=0.9)
    assert (other.status, other.id != first.id) == ("created", True)
    assert (await memory.get(first.id)).content == "Python was created by Guido van Rossum!"


@pytest.mark.sync_client
async def test_page_is_iterable_sized_and_falsy_when_empty(memory: Any) -> None:
    empty = await memory.list_plans()
    assert (len(empty), bool(empty), list(empty)) == (0, False, [])
    await memory.create_plan(plan_id="p1", goal_event="g")
    await memory.create_plan(plan_id="p2", goal_event="g")
    page = await memory.list_plans()
    assert [plan.plan_id for plan in page] == ["p2", "p1"]
    assert (len(page), bool(page), page[0].plan_id) == (2, True, "p2")


async def test_same_plan_name_keeps_others_working_memory(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, name)) for name in ("alice", "bob"))
    for user in (alice, bob):
        await user.create_plan(plan_id="shared", goal_event="g")
    await alice.store("note", "hers", "shared")
    await bob.delete_plan("shared")
    assert await alice.retrieve("note", "shared") == "hers"
    await alice.delete_plan("shared")
    assert await alice.retrieve("note", "shared") is None, "the last plan of the name takes it along"


@pytest.mark.meaning
async def test_agent_caller_need_not_pass_agent_id(keeps: Keeps, server_url: str, tenant: str) -> None:
    engine = keeps.memory(Scope(tenant, "alice", "gardener"))
    async with MemoryClient(server_url, tenant_id=tenant, user_id="alice", agent_id="gardener") as client:
        for memory in (engine, client):
            await memory.log_interaction(None, "user", "The beans need water.")
            (found, *_) = await memory.get_recent_history()
            assert (found.agent_id, found.content) == ("gardener", "The beans need water.")
            (found, *_) = await memory.search_interactions(None, "what needs water?")
            assert found.similarity is not None
            assert 0.3 < found.similarity <= 1.0
            await memory.store_skill(None, "Water early.", procedure_type="system_prompt", trigger_condition="watering")
            assert (await memory.get_relevant_skills(None, "when to water"))[0].agent_id == "gardener"
    async with MemoryClient(server_url, tenant_id=tenant, user_id="alice") as nobody:
        for memory in (keeps.memory(Scope(tenant, "alice")), nobody):
            for attempt in (
                memory.log_interaction(None, "user", "x"),
                memory.get_recent_history(),
                memory.search_interactions(None, "x"),
                memory.store_skill(None, "x", procedure_type="system_prompt"),
                memory.get_relevant_skills(None, "x"),
            ):
                with pytest.raises(ValidationFailedError, match="agent_id"):
                    await attempt


async def test_parameters_of_other_sdks_are_accepted(keeps: Keeps, memory: Any, tenant: str) -> None:
    plan = await memory.create_plan("g", {"a": 1}, "done")
    assert (plan.goal_event, plan.goal_data, plan.response_event) == ("g", {"a": 1}, "done")
    assert (await memory.create_session("name")).name == "name"
    for missing in (memory.log_interaction(content="x"), memory.log_interaction(role="user")):
        with pytest.raises(ValidationFailedError, match=r"role|content"):
            await missing
    gardener = keeps.memory(Scope(tenant, "alice", "gardener"))
    await gardener.log_interaction(role="user", content="The beans need water.")
    assert [each.agent_id for each in await gardener.search_interactions(query="beans")] == ["gardener"]
    await gardener.store_skill(content="Water early.", procedure_type="system_prompt", trigger_condition="watering")
    assert len(await gardener.get_relevant_skills(context="watering")) == 1


@pytest.mark.parametrize(
    "value", [1e308, -1e23, 1e16, 1.5e300, 2**64, 1e-320, 0.1 + 0.2, 123456789012345678.0, 10**300]
)
async def test_numbers_come_back_equal(memory: Any, value: float) -> None:
    whole = {"deep": [value, {"text": "1e+23"}]}
    await memory.store("key", whole, "plan")
    assert await memory.retrieve("key", "plan") == whole
    assert await memory.append_to_list("list", value, "plan") == [value]
    await memory.update_object("object", {"a": value}, "plan")
    assert await memory.retrieve("object", "plan") == {"a": value}
    await memory.store_task_context("task", event_type="e", data=whole, sub_tasks=[{"sub_task_id": "s", "n": value}])
    task = await memory.get_task_context("task")
    assert (task.data, task.sub_tasks[0]["n"]) == (whole, value)
    await memory.store_plan_context("plan", goal_event="g", state=whole)
    assert (await memory.get_plan("plan")).state == whole
    stored = await memory.remember("A number.", metadata=whole)
    assert (await memory.get(stored.memory_id)).metadata == whole


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ((1, 2), "tuple is not JSON; write a list"),
        ({"a": [(1,)]}, "tuple is not JSON; write a list"),
        ({1: "a"}, "write '1'"),
        ({"a": {True: 1}}, "write 'True'"),
        (UUID(int=1), "UUID is not JSON; write text"),
        ([datetime(2026, 1, 1, tzinfo=UTC)], "write text: value.isoformat"),
        ({"a": date(2026, 1, 1)}, "write text: value.isoformat"),
        (b"x", "bytes is not JSON; write text"),
        ({1, 2}, "set is not JSON; write a list"),
        (Decimal("1.5"), "Decimal is not JSON; write text or a number"),
    ],
)
async def test_non_json_value_is_refused_with_advice(memory: Any, value: Any, says: str) -> None:
    for attempt in (
        memory.store("key", value, "plan"),
        memory.append_to_list("key", value, "plan"),
        memory.update_object("key", {"a": value}, "plan"),
        memory.store_task_context("task", event_type="e", data={"a": value}),
        memory.remember("x", metadata={"a": value}),
    ):
        with pytest.raises(ValidationFailedError, match=says):
            await attempt
    assert await memory.retrieve("key", "plan") is None


async def test_id_may_be_a_uuid(memory: Any) -> None:
    made = UUID(int=7)
    await memory.store("key", 1, made)
    assert await memory.retrieve("key", str(made)) == 1
    await memory.create_plan("g", plan_id=made, session_id=made)
    await memory.update_plan(made, correlation_ids=[made])
    assert (await memory.get_plan_by_correlation(made)).plan_id == str(made)
    await memory.store_task_context(made, made, event_type="e")
    assert (await memory.get_task_context(made)).plan_id == str(made)
    assert (await memory.get_session(made)).plan_count == 1


@pytest.mark.parametrize("delta", ["1", True, None, [1], float("nan"), 10**400, -(10**400), 1e16])
async def test_delta_must_be_a_number(memory: Any, delta: Any) -> None:
    if delta is None:
        assert await memory.increment("key", "plan", delta) == 1
        return
    with pytest.raises(ValidationFailedError, match="delta"):
        await memory.increment("key", "plan", delta)
    assert await memory.retrieve("key", "plan") is None


async def test_grown_value_can_be_stored_whole(memory: Any) -> None:
    piece = "x" * 60_000
    for _ in range(4):
        await memory.append_to_list("log", piece, "plan")
    nested: Any = 1
    for _ in range(95):
        nested = [nested]
    await memory.store("deep.er", {"a": {}}, "plan")
    for attempt in (
        memory.append_to_list("log", piece, "plan"),
        memory.extend_list("log", [1] * 9_999 + [piece], "plan"),
        memory.update_object("deep.a.b.c.d.e.f", {"g": nested}, "plan"),
    ):
        with pytest.raises(ValidationFailedError, match=r"larger than 256 KiB|nested more than"):
            await attempt
    for count in (9_999, 10_000):
        await memory.extend_list("many", [1] * count, "plan")
    with pytest.raises(ValidationFailedError, match="more than 20,000 values"):
        await memory.append_to_list("many", 1, "plan")
    for key, length in (("log", 4), ("many", 19_999)):
        value = await memory.retrieve(key, "plan")
        assert (await memory.store(key, value, "plan")).value == value
        assert len(value) == length


async def test_correlation_id_finds_unfinished_plan(memory: Any) -> None:
    for plan_id in ("old", "new", "newest"):
        await memory.store_plan_context(plan_id, goal_event="g", correlation_ids=["c"])
    assert (await memory.get_plan_by_correlation("c")).plan_id == "newest"
    for over, status, waiting in (
        ("newest", "completed", "new"),
        ("new", "failed", "old"),
        ("old", "cancelled", "newest"),
    ):
        await memory.update_plan(over, status=status)
        assert (await memory.get_plan_by_correlation("c")).plan_id == waiting
    await memory.update_plan("old", status="paused")
    assert (await memory.get_plan_by_correlation("c")).plan_id == "old"


async def test_update_removes_plan_from_session(memory: Any) -> None:
    await memory.create_plan("g", plan_id="plan", session_id="s")
    assert (await memory.update_plan("plan", session_id=None)).session_id is None
    assert (await memory.get_session("s")).plan_count == 0


async def test_sessions_are_filtered_by_ended(memory: Any) -> None:
    for session_id in ("one", "two", "three"):
        await memory.create_session(session_id=session_id)
    await memory.end_session("two")
    listed = {
        ended: [each.session_id for each in await memory.list_sessions(ended=ended)] for ended in (None, True, False)
    }
    assert listed == {None: ["three", "two", "one"], True: ["two"], False: ["three", "one"]}


async def test_agent_history_is_paged(memory: Any) -> None:
    for number in range(3):
        await memory.log_interaction("agent", "user", f"Said {number}.")
    await memory.log_interaction("other", "user", "Said by another.")
    filters = {"AND": [{"kind": {"eq": "episodic"}}, {"agent_id": {"eq": "agent"}}]}
    first = await memory.list(filters=filters, limit=2)
    second = await memory.list(filters=filters, limit=2, cursor=first.next_cursor)
    assert [each.content for each in (*first, *second)] == ["Said 2.", "Said 1.", "Said 0."]


async def test_grown_sub_task_can_be_stored(memory: Any) -> None:
    await memory.store_task_context("task", event_type="e", sub_tasks=["sub"])
    await memory.put_sub_task("task", "sub", data={"a": "x" * 60_000})
    with pytest.raises(ValidationFailedError, match="sub-task 'sub' is larger than 256 KiB"):
        await memory.put_sub_task("task", "sub", result="x" * 230_000)
    task = await memory.put_sub_task("task", "sub", result="x" * 190_000)
    await memory.update_task_context("task", sub_tasks=task.sub_tasks)


@pytest.mark.parametrize("value", [1e23, 1e308, -1.5e300])
async def test_filter_matches_number_as_stored(memory: Any, value: float) -> None:
    await memory.remember("A number.", metadata={"n": value})
    for operator, operand in (("eq", value), ("in", [value]), ("gte", value), ("lte", value)):
        assert len(await memory.list(filters={"metadata.n": {operator: operand}})) == 1, operator


@pytest.mark.parametrize("seconds", ["5", True])
async def test_ttl_must_be_a_number(memory: Any, seconds: Any) -> None:
    with pytest.raises(ValidationFailedError, match="ttl_seconds"):
        await memory.store("key", 1, "plan", ttl_seconds=seconds)


async def test_keys_are_listed_without_values(memory: Any) -> None:
    for number in range(5):
        await memory.store(f"k{number}", {"big": "x" * 1000}, "plan")
    first = await memory.list_plan_state("plan", values=False, limit=3)
    second = await memory.list_plan_state("plan", values=False, limit=3, cursor=first.next_cursor)
    assert [(each.key, each.value, each.version) for each in (*first.items, *second.items)] == [
        (f"k{number}", None, 1) for number in range(5)
    ]


async def test_retry_reports_changes_by_others(server_url: str, tenant: str, memory: Any) -> None:
    """Sent again, an append is done once; what stands at its path by then may be anything."""
    async with aiohttp.ClientSession(headers={"X-Tenant-ID": tenant, "X-User-ID": "alice"}) as session:
        for number, (path, later) in enumerate(
            [("s.a", 5), ("s.a", {}), ("s.a", None), ("l.0.a", []), ("l.0.a", "text"), ("s.a", {"a": ["other"]})]
        ):
            plan, key = f"p{number}", path.split(".")[0]
            await memory.store(key, {"a": []} if key == "s" else [{"a": []}], plan)
            sent = {"plan_id": plan, "path": path, "value": "x"}
            headers = {"Idempotency-Key": f"append-{number}"}
            async with session.post(f"{server_url}/v1/memory/atomic/append", json=sent, headers=headers) as first:
                assert (first.status, (await first.json())["value"]) == (200, ["x"])
            await memory.store(key, later, plan)
            async with session.post(f"{server_url}/v1/memory/atomic/append", json=sent, headers=headers) as again:
                answer = await again.json()
            assert (again.status, answer.get("value")) in [(404, None), (200, ["other"])]
            assert await memory.retrieve(key, plan) == later


async def test_key_written_after_expiry_is_new(
    memory: Any, keeps: Keeps, tenant: str, log_of: Callable[[], Awaitable[str]]
) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.store("k", "bob's okapi", "w", ttl_seconds=0.05)
    await bob.append_to_list("l", "bob's ibex", "w")
    await bob.store("l", ["bob's ibex"], "w", ttl_seconds=0.05)
    while await bob.retrieve("k", "w") is not None or await bob.retrieve("l", "w") is not None:
        await asyncio.sleep(0.02)
    assert (await memory.store("k", "alice's zebra", "w")).version == 1
    assert await memory.append_to_list("l", "alice's gnu", "w") == ["alice's gnu"]
    said = await log_of()
    assert "okapi" not in said
    assert "ibex" not in said
    assert (await keeps.service(EventService).verify(bob.scope)).differences == []
    await keeps.service(TenantService).erase_user(bob.scope, "alice")
    assert await bob.retrieve("k", "w") is None
    assert await bob.retrieve("l", "w") is None
    assert "zebra" not in await log_of()
    assert (await keeps.service(EventService).verify(bob.scope)).differences == []


async def test_page_of_large_values_ends_early(memory: Any) -> None:
    for number in range(40):
        await memory.store(f"k{number:02}", "ü" * 120_000, "plan")
    page = await memory.list_plan_state("plan", limit=100)
    assert 5 < len(page.items) < 40
    found = list(page.items)
    while page.next_cursor:
        page = await memory.list_plan_state("plan", limit=100, cursor=page.next_cursor)
        found += page.items
    assert [each.key for each in found] == [f"k{number:02}" for number in range(40)]


async def test_find_returns_none_where_get_raises(memory: Any) -> None:
    assert await memory.find_task("none") is await memory.find_task_by_subtask("none") is None
    assert await memory.find_plan("none") is await memory.find_plan_context("none") is None
    assert await memory.find_plan_by_correlation("none") is await memory.find_session("none") is None
    await memory.store_task_context("t", event_type="e", sub_tasks=["s"])
    await memory.store_plan_context("p", "session", goal_event="g", correlation_ids=["c"])
    assert (await memory.find_task("t")).task_id == (await memory.find_task_by_subtask("s")).task_id == "t"
    assert (await memory.find_plan("p")).plan_id == (await memory.find_plan_context("p")).plan_id == "p"
    assert (await memory.find_plan_by_correlation("c")).plan_id == "p"
    assert (await memory.find_session("session")).session_id == "session"
    with pytest.raises(ValidationFailedError):
        await memory.find_task("")


@pytest.mark.sync_client
async def test_delete_with_missing_ok_returns_false(memory: Any) -> None:
    deletes = (memory.delete_task_context, memory.delete_plan, memory.delete_session)
    for delete in deletes:
        with pytest.raises(NotFoundError):
            await delete("x")
        assert not (await delete("x", missing_ok=True)).deleted
    await memory.store_task_context("x", event_type="e")
    await memory.create_plan("g", plan_id="x")
    await memory.create_session(session_id="x")
    for delete in deletes:
        assert await delete("x", missing_ok=True)
        assert not await delete("x", missing_ok=True)


async def test_relevant_memories_have_minimum_importance(memory: Any) -> None:
    await memory.remember("The user lives in Lisbon.", importance=0.2)
    await memory.remember("The user lives near the river in Lisbon.")
    found = await memory.get_relevant_memories_for_query("Where does the user live?")
    assert [each.content for each in found] == ["The user lives near the river in Lisbon."]
    every = await memory.get_relevant_memories_for_query("Where does the user live?", min_importance=0)
    assert len(every) == 2


@pytest.mark.sync_client
@pytest.mark.parametrize("user", ["bob", "Åsa 山"])
async def test_for_user_shares_connections(memory: Any, user: str) -> None:
    made = memory.for_user(user)
    other = InThreads(await made) if isinstance(memory, InThreads) else made
    await memory.remember("Alice keeps hens.")
    mine = await other.remember("Two ducks live here.")
    assert mine.memory.user_id == user
    assert [each.content for each in await other.list()] == ["Two ducks live here."]
    assert [each.content for each in await memory.list()] == ["Alice keeps hens."]
