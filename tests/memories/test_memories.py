"""Memories, on the real database: what callers are promised of each method."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import NewMemory
from keeps_client.models.memories import Kind
from tests.watchdog import unwatched

NOW = datetime.now(UTC)


@pytest.mark.parametrize("kind", ["semantic", "episodic", "procedural"])
async def test_same_content_is_unchanged(memory: LocalMemory, kind: Kind) -> None:
    first = await memory.remember("Bob likes tea.", kind=kind)
    again = await memory.remember("Bob likes tea.", kind=kind)
    assert (first.status, again.status) == ("created", "unchanged")
    assert again.memory_id == first.memory_id
    assert (first.indexed, again.indexed, again.event_id) == (True, True, None)
    assert len((await memory.list()).items) == 1


async def test_same_content_with_new_attributes_is_updated(memory: LocalMemory) -> None:
    first = await memory.remember("Bob likes tea.", tags=["drink"])
    again = await memory.remember("Bob likes tea.", importance=0.9, source="chat")
    assert (again.status, again.memory_id) == ("updated", first.memory_id)
    stored = await memory.get(first.memory_id)
    assert (stored.tags, stored.importance, stored.source, stored.version) == (("drink",), 0.9, "chat", 2)


async def test_same_experience_at_two_times_is_stored_twice(memory: LocalMemory) -> None:
    for minute in (1, 2):
        receipt = await memory.remember(
            "yes", kind="episodic", session_id="s", valid_from=datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
        )
        assert receipt.status == "created"


async def test_key_has_one_current_value_and_history(memory: LocalMemory) -> None:
    old = await memory.remember("Lives in Leeds.", namespace="facts", key="home", tags=["place"])
    new = await memory.remember("Lives in Lisbon.", namespace="facts", key="home")
    assert (new.status, new.memory_id, new.memory.version, new.memory.tags) == ("updated", old.memory_id, 2, ("place",))
    assert (await memory.find("facts", "home")).content == "Lives in Lisbon."
    older = [
        hit.memory for hit in (await memory.recall("lives", include_superseded=True)).hits if hit.memory.superseded_by
    ]
    assert [(each.content, each.superseded_by, each.valid_to) for each in older] == [
        ("Lives in Leeds.", new.memory_id, new.memory.valid_from)
    ]
    assert [hit.memory.content for hit in (await memory.recall("lives")).hits] == ["Lives in Lisbon."]


async def test_valid_at_returns_past_truth_as_known_now(memory: LocalMemory) -> None:
    await memory.remember("Lives in Leeds.", namespace="f", key="home", valid_from=datetime(2020, 1, 1, tzinfo=UTC))
    await memory.remember("Lives in Lisbon.", namespace="f", key="home", valid_from=datetime(2024, 1, 1, tzinfo=UTC))
    for year, expected in ((2019, []), (2021, ["Lives in Leeds."]), (2025, ["Lives in Lisbon."])):
        found = await memory.recall("where does she live", valid_at=datetime(year, 6, 1, tzinfo=UTC))
        assert [hit.memory.content for hit in found.hits] == expected, year


async def test_late_older_value_does_not_replace_newer(memory: LocalMemory) -> None:
    await memory.remember("Lives in Lisbon.", namespace="f", key="home", valid_from=datetime(2024, 1, 1, tzinfo=UTC))
    for status in ("superseded", "unchanged"):
        late = await memory.remember(
            "Lives in Leeds.", namespace="f", key="home", valid_from=datetime(2020, 1, 1, tzinfo=UTC)
        )
        assert late.status == status
    assert (await memory.find("f", "home")).content == "Lives in Lisbon."


async def test_if_version_guards_a_key(memory: LocalMemory) -> None:
    created = await memory.remember("one", namespace="n", key="k", if_version=0)
    assert created.status == "created"
    with pytest.raises(ConflictError) as caught:
        await memory.remember("two", namespace="n", key="k", if_version=0)
    assert (caught.value.current_version, caught.value.current["content"]) == (1, "one")
    assert (await memory.remember("two", namespace="n", key="k", if_version=1)).memory.version == 2
    with pytest.raises(ConflictError):
        await memory.update(created.memory_id, content="three", if_version=1)
    with pytest.raises(ConflictError, match="nothing is stored"):
        await memory.remember("x", namespace="n", key="other", if_version=3)


async def test_update_changes_only_named_fields(memory: LocalMemory) -> None:
    created = await memory.remember("Tea at four.", tags=["drink"], metadata={"a": 1}, importance=0.3)
    updated = await memory.update(created.memory_id, importance=0.8, expires_at=NOW + timedelta(days=1))
    assert (updated.status, updated.indexed) == ("updated", True)
    stored = await memory.get(created.memory_id)
    assert (stored.content, stored.tags, stored.metadata, stored.importance, stored.version) == (
        "Tea at four.",
        ("drink",),
        {"a": 1},
        0.8,
        2,
    )
    assert (await memory.update(created.memory_id, expires_at=None)).memory.expires_at is None
    assert (await memory.update(created.memory_id, importance=0.8)).status == "unchanged"


async def test_only_new_content_is_found(memory: LocalMemory) -> None:
    created = await memory.remember("The meeting is in the giraffe room.")
    await memory.update(created.memory_id, content="The meeting is in the walrus room.")
    assert (await memory.recall("walrus")).hits[0].explanation is None
    found = await memory.recall("giraffe", explain=True)
    assert [hit.memory.content for hit in found.hits] == ["The meeting is in the walrus room."]
    assert found.hits[0].explanation.matched_terms == []


async def test_forget_hides_and_restore_recovers(memory: LocalMemory) -> None:
    created = await memory.remember("The safe is behind the painting.", namespace="n", key="safe")
    await memory.remember("The safe is under the stairs.", namespace="n", key="safe")
    forgotten = await memory.forget(namespace="n", key="safe")
    assert (forgotten.status, forgotten.memory_id) == ("forgotten", created.memory_id)
    assert (await memory.recall("safe", include_superseded=True)).hits == []
    assert (await memory.list()).items == []
    assert await memory.find("n", "safe") is None
    assert (await memory.get(created.memory_id)).deleted_at is not None
    assert [item.content for item in (await memory.list(filters={"deleted_at": {"exists": True}})).items].count(
        "The safe is under the stairs."
    ) == 1
    assert (await memory.forget(created.memory_id)).status == "unchanged"
    assert (await memory.restore(created.memory_id)).status == "restored"
    assert [hit.memory.content for hit in (await memory.recall("safe", limit=1)).hits] == [
        "The safe is under the stairs."
    ]
    assert len((await memory.recall("safe", include_superseded=True)).hits) == 2


async def test_forgotten_key_stored_again_is_not_restorable(memory: LocalMemory) -> None:
    first = await memory.remember("old", namespace="n", key="k")
    await memory.forget(first.memory_id)
    second = await memory.remember("new", namespace="n", key="k")
    assert (second.status, second.memory_id != first.memory_id) == ("created", True)
    with pytest.raises(ConflictError, match="is now used by"):
        await memory.restore(first.memory_id)


async def test_hard_forget_leaves_no_content(memory: LocalMemory, server: Any, tenant: str) -> None:
    import asyncpg

    created = await memory.remember("password is hunter2", namespace="n", key="pw", tags=["secret"])
    await memory.remember("password is hunter3", namespace="n", key="pw")
    await memory.remember("harmless")
    receipt = await memory.forget(created.memory_id, hard=True)
    assert receipt.status == "forgotten"
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    for table in ("memories", "events", "memory_words", "memory_vectors", "memory_access"):
        rows = await connection.fetch(
            f"SELECT row_to_json(t)::text AS text FROM keeps.{table} AS t WHERE tenant_id = $1", tenant
        )
        assert not [row["text"] for row in rows if "hunter" in row["text"]], table
    await connection.close()
    assert [event.type for event in await memory.history(created.memory_id)] == [
        "memory.written",
        "memory.written",
        "memory.erased",
    ]
    with pytest.raises(NotFoundError):
        await memory.get(created.memory_id)


async def test_forgotten_memory_is_removed_after_retention(app_url: str, shared: Any, tenant: str) -> None:
    moment = [NOW]
    async with Keeps.open(database_url=app_url, embedder=shared, clock=lambda: moment[0]) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        old, other = await memory.remember("long ago"), await memory.remember("another")
        await memory.forget(old.memory_id)
        moment[0] = NOW + timedelta(days=31)
        with pytest.raises(NotFoundError, match="30 days"):
            await memory.restore(old.memory_id)
        await memory.forget(other.memory_id)
        with pytest.raises(NotFoundError):
            await memory.get(old.memory_id)
        assert (await memory.history(old.memory_id))[0].data == {"redacted": True, "memory_id": str(old.memory_id)}


async def test_expired_memory_is_hidden_and_frees_its_key(app_url: str, shared: Any, tenant: str) -> None:
    moment = [NOW]
    async with Keeps.open(database_url=app_url, embedder=shared, clock=lambda: moment[0]) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember("the code is 1234", namespace="n", key="code", ttl_days=1)
        assert len((await memory.recall("code")).hits) == 1
        moment[0] = NOW + timedelta(days=2)
        assert (await memory.recall("code")).hits == []
        assert await memory.find("n", "code") is None
        assert (await memory.list()).items == []
        assert (await memory.remember("the code is 5678", namespace="n", key="code")).memory.expires_at is None
        assert [hit.memory.content for hit in (await memory.recall("code")).hits] == ["the code is 5678"]


async def test_expired_rows_do_not_crowd_out_current_ones(app_url: str, shared: Any, tenant: str) -> None:
    moment = [NOW]
    async with Keeps.open(database_url=app_url, embedder=shared, clock=lambda: moment[0]) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember_many(
            [{"content": f"parrot {number}", "ttl_days": 1} for number in range(300)], index="now"
        )
        await memory.remember_many(
            [{"content": f"the parrot called number {number} stays for a while longer here"} for number in range(5)]
        )
        moment[0] = NOW + timedelta(days=2)
        assert len((await memory.recall("parrot", limit=5)).hits) == 5


async def test_batch_returns_receipts_in_order(memory: LocalMemory) -> None:
    receipts = await memory.remember_many(
        [
            {"content": "a"},
            {"content": "b", "namespace": "n", "key": "k"},
            {"content": "a"},
            NewMemory(content="c", namespace="n", key="k"),
        ]
    )
    assert [receipt.status for receipt in receipts] == ["created", "created", "unchanged", "updated"]
    assert receipts[3].memory_id == receipts[1].memory_id
    assert await memory.remember_many([]) == []


async def test_failed_item_stores_nothing_of_batch(memory: LocalMemory) -> None:
    with pytest.raises(ValidationFailedError, match="item 1: content"):
        await memory.remember_many([{"content": "good"}, {"content": ""}])
    with pytest.raises(ConflictError, match="item 1"):
        await memory.remember_many(
            [{"content": "good"}, {"content": "x", "namespace": "n", "key": "k", "if_version": 7}]
        )
    with pytest.raises(ValidationFailedError, match="at most 1,000"):
        await memory.remember_many([{"content": str(number)} for number in range(1001)])
    assert (await memory.list()).items == []


async def test_pages_are_complete_and_newest_first(memory: LocalMemory, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "bob")).remember_many(
        [{"content": f"shared {n}", "visibility": "tenant"} for n in range(7)], index="later"
    )
    for start in (0, 10):
        await memory.remember_many([{"content": f"own {start + n}"} for n in range(10)], index="later")
    seen, cursor = [], None
    while True:
        page = await memory.list(limit=6, cursor=cursor)
        seen += page.items
        if (cursor := page.next_cursor) is None:
            break
    assert len({item.memory_id for item in seen}) == len(seen) == 27
    assert [item.created_at for item in seen] == sorted((item.created_at for item in seen), reverse=True)


async def test_history_lists_every_change(memory: LocalMemory) -> None:
    created = await memory.remember("v1", namespace="n", key="k", metadata={"by": "test"})
    await memory.remember("v2", namespace="n", key="k")
    await memory.forget(created.memory_id)
    await memory.restore(created.memory_id)
    events = await memory.history(created.memory_id)
    assert [event.type for event in events] == ["memory.written", "memory.written", "memory.deleted", "memory.restored"]
    assert [cast("Any", event.data)["memory"]["content"] for event in events] == ["v1", "v2", "v2", "v2"]
    first = events[0].data
    assert {name: first[name] for name in ("key", "value", "value_type", "content_type", "provider_id")} == {
        "key": "n/k",
        "value": "v1",
        "value_type": "text",
        "content_type": "fact",
        "provider_id": "postgres",
    }
    assert (events[0].specversion, events[0].id, events[0].userid) == ("1.0", created.event_id, "alice")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "   \n"}, "whitespace"),
        ({"content": "x" * 50_001}, "content"),
        ({"content": "nul \x00"}, "NUL"),
        ({"content": "half \ud83d"}, "content"),
        ({"content": 7}, "content"),
        ({"content": "x", "kind": "working"}, "kind"),
        ({"content": "x", "importance": 1.1}, "importance"),
        ({"content": "x", "importance": float("nan")}, "importance"),
        ({"content": "x", "tags": ["a\nb"]}, "tags"),
        ({"content": "x", "tags": "ab"}, "tags"),
        ({"content": "x", "tags": ["t"] * 51}, "tags"),
        ({"content": "x", "namespace": "a b", "key": "k"}, "namespace"),
        ({"content": "x", "key": "k"}, "namespace"),
        ({"content": "x", "namespace": "n", "key": "k" * 256}, "key"),
        ({"content": "x", "metadata": {"a": "x" * 70_000}}, "metadata"),
        ({"content": "x", "metadata": {"a": float("inf")}}, "metadata"),
        ({"content": "x", "metadata": {"a\x00": 1}}, "metadata"),
        ({"content": "x", "value": {"deep": "\ud83d"}}, "value"),
        ({"content": "x", "ttl_days": -1}, "ttl_days"),
        ({"content": "x", "ttl_days": 1, "expires_at": NOW}, "not both"),
        ({"content": "x", "visibility": "public"}, "visibility"),
        ({"content": "x", "role": "god"}, "role"),
        ({"content": "x", "if_version": 1}, "if_version"),
        ({"content": "x", "infer": True}, "infer"),
    ],
)
async def test_invalid_input_is_refused_by_field(memory: LocalMemory, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationFailedError) as caught:
        await memory.remember(**arguments)
    assert field in caught.value.detail
    assert "\x00" not in caught.value.detail
    assert (await memory.list()).items == []


async def test_deeply_nested_metadata_is_refused(memory: LocalMemory) -> None:
    deep: Any = 1
    with unwatched():
        for _ in range(100_000):
            deep = [deep]
    with pytest.raises(ValidationFailedError):
        await memory.remember("x", metadata={"deep": deep})


@pytest.mark.parametrize(
    "content",
    [
        "😀👩‍👩‍👧",
        "مرحبا بالعالم",
        "שלום",
        "我喜欢喝乌龙茶",
        "e\u0301 vs é",
        "<script>alert(1)</script>",
        "'; DROP TABLE keeps.memories; --",
        "\u202eright-to-left",
        "x" * 50_000,
        "%s $1 {} \\",
    ],
)
async def test_content_round_trips_unchanged(memory: LocalMemory, content: str) -> None:
    receipt = await memory.remember(content, metadata={"same": content[:100]})
    stored = await memory.get(receipt.memory_id)
    assert (stored.content, stored.metadata["same"]) == (content, content[:100])
    assert receipt.memory == stored.model_copy(update={"life": None})


@pytest.mark.parametrize("bad", ["not-a-uuid", "", 5, None])
async def test_invalid_ids_are_refused(memory: LocalMemory, bad: Any) -> None:
    with pytest.raises(ValidationFailedError):
        await memory.get(bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"tenant_id": ""},
        {"tenant_id": "x" * 65},
        {"user_id": "a\x00"},
        {"user_id": " a"},
        {"tenant_id": 5},
        {"user_id": "\ud83d"},
    ],
)
def test_scopes_with_invalid_ids_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailedError):
        Scope(**bad)


async def test_foreign_id_as_cursor_or_key_is_refused(memory: LocalMemory, keeps: Keeps) -> None:
    other = keeps.memory(Scope(f"other-{uuid4().hex}", "alice"))
    await other.remember("theirs", namespace="n", key="k")
    assert await memory.find("n", "k") is None
    with pytest.raises(NotFoundError):
        await memory.forget(namespace="n", key="k")
    with pytest.raises(ValidationFailedError, match="cursor"):
        await memory.list(cursor="nonsense")


async def test_new_value_of_key_uses_its_ttl(memory: LocalMemory) -> None:
    first = await memory.remember("v1", namespace="n", key="k", ttl_days=3, tags=["t"])
    again = await memory.remember("v2", namespace="n", key="k")
    assert first.memory.expires_at is not None
    assert again.memory.expires_at is None
    longer = await memory.remember("v3", namespace="n", key="k", ttl_days=9)
    assert longer.memory.expires_at is not None
    assert longer.memory.expires_at > first.memory.expires_at
