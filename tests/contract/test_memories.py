"""Memories, the same in process, by the async client and by the sync client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import NewMemory


@pytest.mark.sync_client
async def test_memory_is_stored_changed_forgotten_and_restored(memory: Any) -> None:
    receipt = await memory.remember(
        "Alice likes tea.",
        namespace="taste",
        key="drink",
        tags=["taste"],
        importance=0.9,
        metadata={"a": [1, None]},
        value={"drink": "tea"},
        valid_from=datetime(2024, 1, 1, tzinfo=UTC),
    )
    assert (receipt.status, receipt.indexed, receipt.memory.version) == ("created", True, 1)
    assert (await memory.remember("Alice likes tea.", namespace="taste", key="drink")).status == "unchanged"
    stored = await memory.get(receipt.memory_id)
    assert (stored.tags, stored.metadata, stored.value, stored.valid_from.year) == (
        ("taste",),
        {"a": [1, None]},
        {"drink": "tea"},
        2024,
    )
    assert (await memory.find("taste", "drink")).memory_id == stored.memory_id
    assert await memory.find("taste", "food") is None
    changed = await memory.update(receipt.memory_id, content="Alice likes coffee.", if_version=1)
    assert (changed.status, changed.memory.content) == ("updated", "Alice likes coffee.")
    with pytest.raises(ConflictError) as conflict:
        await memory.update(receipt.memory_id, content="Alice likes water.", if_version=1)
    assert conflict.value.current_version == changed.memory.version
    assert [event.type for event in await memory.history(receipt.memory_id)] == ["memory.written", "memory.written"]
    assert (await memory.forget(receipt.memory_id)).status == "forgotten"
    assert await memory.find("taste", "drink") is None
    assert (await memory.restore(receipt.memory_id)).status == "restored"
    assert (await memory.forget(namespace="taste", key="drink", hard=True)).status == "forgotten"
    with pytest.raises(NotFoundError):
        await memory.get(receipt.memory_id)


@pytest.mark.sync_client
async def test_batch_answers_items_in_order(memory: Any) -> None:
    receipts = await memory.remember_many(
        [NewMemory(content="one"), {"content": "two", "tags": ["x"]}, {"content": "one"}]
    )
    assert [receipt.status for receipt in receipts] == ["created", "created", "unchanged"]
    assert await memory.remember_many([]) == []
    with pytest.raises(ValidationFailedError, match="item 1"):
        await memory.remember_many([{"content": "fine"}, {"content": ""}])
    page = await memory.list(filters={"tags": {"contains": "x"}})
    assert [each.content for each in page.items] == ["two"]
    first = await memory.list(limit=1)
    second = await memory.list(limit=1, cursor=first.next_cursor)
    assert {first.items[0].content, second.items[0].content} == {"one", "two"}


@pytest.mark.sync_client
async def test_recall_answers_and_explains(memory: Any) -> None:
    await memory.remember("Alice is allergic to peanuts.", tags=["health"])
    await memory.remember("The office closes at six.")
    result = await memory.recall("what must she not eat?", limit=1, explain=True)
    assert [hit.memory.content for hit in result.hits] == ["Alice is allergic to peanuts."]
    assert result.hits[0].explanation.parts
    assert (result.partial, result.failed_providers) == (False, [])
    assert [hit.memory.content for hit in (await memory.recall("allergic", tags=["other"])).hits] == []


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("remember", {"content": ""}, ValidationFailedError),
        ("remember", {"content": "x", "importance": 2}, ValidationFailedError),
        ("remember", {"content": "x", "tags": "abc"}, ValidationFailedError),
        ("recall", {"query": ""}, ValidationFailedError),
        ("recall", {"query": "x", "limit": 0}, ValidationFailedError),
        ("recall", {"query": "x", "filters": {"nope": {"eq": 1}}}, ValidationFailedError),
        ("list", {"limit": 0}, ValidationFailedError),
        ("list", {"cursor": "bogus"}, ValidationFailedError),
        ("get", {"memory_id": "bogus"}, ValidationFailedError),
        ("get", {"memory_id": str(uuid4())}, NotFoundError),
        ("forget", {}, ValidationFailedError),
        ("forget", {"memory_id": str(uuid4())}, NotFoundError),
        ("history", {"memory_id": str(uuid4())}, NotFoundError),
        ("restore", {"memory_id": str(uuid4())}, NotFoundError),
        ("store_task_context", {"task_id": "", "event_type": "e"}, ValidationFailedError),
        ("create_plan", {"goal_event": ""}, ValidationFailedError),
        ("get_plan", {"plan_id": "x" * 256}, ValidationFailedError),
        ("log_interaction", {"agent_id": "a", "role": "robot", "content": "x"}, ValidationFailedError),
        ("store_skill", {"agent_id": "a", "content": "x", "procedure_type": "magic"}, ValidationFailedError),
        (
            "store_if_version_matches",
            {"key": "k", "value": 1, "plan_id": "p", "expected_version": -1},
            ValidationFailedError,
        ),
        ("increment", {"key": "k", "plan_id": "p", "delta": "x"}, ValidationFailedError),
    ],
)
async def test_invalid_arguments_raise_the_same_errors(
    memory: Any, method: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await getattr(memory, method)(**arguments)


async def test_memories_are_sorted_by_importance_recency_or_name(memory: Any, keeps: Keeps, tenant: str) -> None:
    stored = {}
    for key, importance in (("b", 0.9), ("a", 0.2), (None, 0.5), ("C", 0.9), ("d\\'; --🙂", 0.1)):
        receipt = await memory.remember(f"Fact {key}.", namespace="n", key=key, importance=importance)
        stored[receipt.memory_id] = key
    elsewhere = await memory.remember("Fact of another namespace.", namespace="a", key="z", importance=0.3)
    stored[elsewhere.memory_id] = "z"
    await keeps.memory(Scope(tenant, "bob")).remember("A secret of Bob.", importance=1.0)
    shared = await keeps.memory(Scope(tenant, "bob")).remember(
        "Shared by Bob.", importance=0.95, visibility="tenant", namespace="z", key="s"
    )
    stored[shared.memory_id] = "s"
    first = next(iter(stored))
    await memory.update(first, tags=["changed"])

    async def keys(order: str, limit: int) -> list[str | None]:
        found, cursor = [], None
        while True:
            page = await memory.list(order=order, limit=limit, cursor=cursor)
            found += [stored[each.memory_id] for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return found

    wanted = {
        "importance": ["s", "b", "C", None, "z", "a", "d\\'; --🙂"],
        "recency": ["b", "s", "z", "d\\'; --🙂", "C", None, "a"],
        "name": ["z", "C", "a", "b", "d\\'; --🙂", "s", None],
        "created": ["s", "z", "d\\'; --🙂", "C", None, "a", "b"],
    }
    for order, names in wanted.items():
        for limit in (1, 2, 3, 200):
            assert await keys(order, limit) == names, (order, limit)
    page = await memory.list(order="name", limit=1, filters={"importance": {"gte": 0.9}})
    assert [stored[each.memory_id] for each in page.items] == ["C"]
    for order, cursor in (
        ("recency", page.next_cursor),
        ("created", page.next_cursor),
        ("name", "bm9uc2Vuc2U="),
        ("name", "W10="),
    ):
        with pytest.raises(ValidationFailedError, match="cursor"):
            await memory.list(order=order, cursor=cursor)
    with pytest.raises(ValidationFailedError, match="importance"):
        await memory.list(order="size")


async def test_list_by_name_continues_with_unnamed_memories(memory: Any) -> None:
    stored = {(await memory.remember(f"Nameless remark {number}.")).memory_id for number in range(5)}
    found, cursor = [], None
    while True:
        page = await memory.list(order="name", limit=2, cursor=cursor)
        found += [each.memory_id for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (len(found), set(found)) == (5, stored)


async def test_keys_below_a_prefix_move_together(memory: Any) -> None:
    for key in ("a", "a/x", "a/y/z", "ab", "a0", "b"):
        await memory.remember(f"This is {key}.", namespace="n", key=key)
    await memory.remember("This is a/x, anew.", namespace="n", key="a/x")
    old = await memory.find("n", "a/x")
    with pytest.raises(ConflictError):
        await memory.move_keys("n", "a", "b")
    with pytest.raises(ValidationFailedError):
        await memory.move_keys("n", "a", "a/below")
    with pytest.raises(NotFoundError):
        await memory.move_keys("n", "none", "other")
    with pytest.raises(ValidationFailedError):
        await memory.move_keys("n", "a", "c" * 254)
    assert (await memory.move_keys("n", "a", "c/d")).changed == 3
    assert {each.key for each in await memory.list()} == {"c/d", "c/d/x", "c/d/y/z", "ab", "a0", "b"}
    moved = await memory.find("n", "c/d/x")
    assert (moved.memory_id, moved.content) == (old.memory_id, "This is a/x, anew.")
    assert (await memory.recall("anew")).hits[0].memory.key == "c/d/x"
    assert (await memory.forget_keys("n", "c")).changed == 3
    assert {each.key for each in await memory.list()} == {"ab", "a0", "b"}
    assert (await memory.restore(moved.memory_id)).status == "restored"
    assert (await memory.forget_keys("n", "c/d/x", hard=True)).changed == 1
    with pytest.raises(NotFoundError):
        await memory.restore(moved.memory_id)
    with pytest.raises(NotFoundError):
        await memory.forget_keys("n", "c")


async def test_hit_of_long_memory_quotes_answering_sentences(memory: Any) -> None:
    about = [f"On day {n} we walked along the river and talked about the weather." for n in range(90)]
    said = [*about[:70], "Then Przemek told us that his sister Ola keeps bees on a roof.", *about[70:]]
    long = "  \n".join(said)
    receipt = await memory.remember(long, index="now")
    await memory.remember("Bees are insects.", index="now")
    hits = (await memory.recall("Who has bees?")).hits
    (hit,) = [hit for hit in hits if hit.memory_id == receipt.memory_id]
    assert hit.passage is not None
    shown = long[hit.passage.start : hit.passage.end]
    assert "keeps bees on a roof." in shown
    assert len(shown) < 2_500
    assert long[hit.passage.start :].startswith(("On day", "Then"))
    assert shown.endswith(".")
    assert [each.passage for each in hits if each.memory_id != receipt.memory_id] == [None]


async def test_forget_accepts_if_version(memory: Any) -> None:
    stored = await memory.remember("v1", namespace="n", key="k")
    await memory.remember("v2", namespace="n", key="k")
    for wanted in ({"memory_id": stored.memory_id}, {"namespace": "n", "key": "k"}):
        for hard in (True, False):
            with pytest.raises(ConflictError) as error:
                await memory.forget(**wanted, hard=hard, if_version=1)
            assert error.value.current_version == 2
    assert (await memory.forget(stored.memory_id, if_version=2)).status == "forgotten"
