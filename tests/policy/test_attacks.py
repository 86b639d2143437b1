"""What a reviewer found by attacking: each stays mended."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.errors import ConflictError, KeepsError, NotFoundError, UnavailableError, ValidationFailedError

NOW = datetime.now(UTC)


@pytest.fixture
def bob(keeps: Keeps, tenant: str) -> LocalMemory:
    return keeps.memory(Scope(tenant, "bob"))


def texts(result: Any) -> list[str]:
    return [hit.memory.content for hit in result.hits]


async def everything(server: Any, tenant: str) -> str:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    rows = [
        row["text"]
        for table in ("memories", "events", "memory_words", "memory_vectors")
        for row in await connection.fetch(
            f"SELECT row_to_json(t)::text AS text FROM keeps.{table} AS t WHERE tenant_id = $1", tenant
        )
    ]
    await connection.close()
    return "\n".join(rows)


async def test_making_memory_private_hides_its_history(memory: LocalMemory, bob: LocalMemory) -> None:
    shared = await memory.remember("home is QQ street", namespace="p", key="home", visibility="tenant")
    await memory.remember("home is ZZ street", namespace="p", key="home")
    assert texts(await bob.recall("home street")) == ["home is ZZ street"]
    await memory.update(shared.memory_id, visibility="private")
    for call in (bob.get(shared.memory_id), bob.history(shared.memory_id)):
        with pytest.raises(NotFoundError):
            await call
    assert texts(await bob.recall("home street", include_superseded=True)) == []
    assert (await bob.list(filters={"superseded_by": {"exists": True}})).items == []
    assert set(texts(await memory.recall("home street", include_superseded=True))) == {
        "home is QQ street",
        "home is ZZ street",
    }


async def test_forgotten_memory_is_hidden_from_others(memory: LocalMemory, bob: LocalMemory) -> None:
    shared = await memory.remember("the password is hunter2", visibility="tenant")
    assert (await bob.get(shared.memory_id)).content
    await memory.forget(shared.memory_id)
    for call in (bob.get(shared.memory_id), bob.history(shared.memory_id)):
        with pytest.raises(NotFoundError):
            await call
    assert (await bob.list(filters={"deleted_at": {"exists": True}})).items == []


async def test_ended_value_frees_its_key(memory: LocalMemory) -> None:
    first = await memory.remember("Lives in Rome", namespace="p", key="home", valid_from=NOW - timedelta(days=9))
    await memory.update(first.memory_id, valid_to=NOW - timedelta(days=1))
    assert texts(await memory.recall("lives")) == []
    assert (await memory.remember("Lives in Oslo", namespace="p", key="home")).memory.valid_to is None
    assert texts(await memory.recall("lives")) == ["Lives in Oslo"]
    again = await memory.remember("Works at Foo", valid_from=NOW - timedelta(days=9))
    await memory.update(again.memory_id, valid_to=NOW - timedelta(days=1))
    assert (await memory.remember("Works at Foo")).status == "updated"
    assert texts(await memory.recall("works", limit=1)) == ["Works at Foo"]


async def test_true_is_not_one(memory: LocalMemory) -> None:
    await memory.remember("flag", namespace="p", key="f", value=1, metadata={"x": True})
    assert (await memory.remember("flag", namespace="p", key="f", value=True, metadata={"x": 1})).status == "updated"
    stored = await memory.find("p", "f")
    assert (stored.value is True, stored.metadata["x"] is True) == (True, False)
    assert "flag" in texts(await memory.recall("flag"))
    changed = await memory.update(stored.memory_id, value=1)
    assert (changed.status, changed.memory.value is True) == ("updated", False)


@pytest.mark.parametrize("number", [1e23, float(2**63), 1e-7, -0.0, 2**70])
async def test_numbers_that_json_rewrites_do_not_confuse_a_retry(memory: LocalMemory, number: float) -> None:
    await memory.remember("numbered zebra", metadata={"x": number}, value=number)
    await memory.remember("numbered zebra", metadata={"x": number}, value=number)
    assert texts(await memory.recall("zebra")) == ["numbered zebra"]


async def test_a_forgotten_older_truth_can_be_written_again(memory: LocalMemory) -> None:
    await memory.remember("city new", namespace="p", key="c", valid_from=NOW)
    old = {"namespace": "p", "key": "c", "valid_from": NOW - timedelta(days=30)}
    first = await memory.remember("city old", **old)
    await memory.forget(first.memory_id)
    again = await memory.remember("city old", **old)
    assert (again.status, again.memory.deleted_at) == ("superseded", None)


async def test_late_truths_take_their_places_without_overlap(memory: LocalMemory) -> None:
    for text, days in (("C", 1), ("A", 30), ("B", 15)):
        await memory.remember(f"state {text}", namespace="p", key="s", valid_from=NOW - timedelta(days=days))
    for days, expected in ((0.5, "C"), (5, "B"), (20, "A")):
        assert texts(await memory.recall("state", valid_at=NOW - timedelta(days=days))) == [f"state {expected}"], days


async def test_hard_forgetting_reaches_older_truths_and_earlier_incarnations(
    memory: LocalMemory, server: Any, tenant: str
) -> None:
    current = await memory.remember("ssn NEEDLE", namespace="p", key="ssn")
    await memory.remember("ssn is corrected", namespace="p", key="ssn")
    older = next(
        item for item in (await memory.list(filters={"superseded_by": {"exists": True}})).items if item.superseded_by
    )
    await memory.forget(older.memory_id, hard=True)
    assert "NEEDLE" not in await everything(server, tenant)
    assert (await memory.get(current.memory_id)).content == "ssn is corrected"
    places: tuple[dict[str, Any], ...] = ({"namespace": "p", "key": "ph"}, {})
    for place in places:
        first = await memory.remember("NEEDLE phone", **place)
        await memory.forget(first.memory_id)
        second = await memory.remember("NEEDLE phone", **place)
        await memory.forget(second.memory_id, hard=True)
        assert "NEEDLE" not in await everything(server, tenant)
        with pytest.raises(NotFoundError):
            await memory.restore(first.memory_id)


async def test_removing_overdue_memory_removes_older_values(app_url: str, shared: Any, tenant: str) -> None:
    moment = [NOW]
    async with Keeps.open(database_url=app_url, embedder=shared, clock=lambda: moment[0]) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        first = await memory.remember("v1", namespace="p", key="k")
        moment[0] += timedelta(days=1)
        await memory.remember("v2", namespace="p", key="k")
        older = next(
            item
            for item in (await memory.list(filters={"superseded_by": {"exists": True}})).items
            if item.superseded_by
        )
        await memory.forget(first.memory_id)
        await memory.restore(older.memory_id)
        await memory.remember("v3", namespace="p", key="k")
        unrelated = await memory.remember("unrelated")
        moment[0] += timedelta(days=40)
        assert (await memory.forget(unrelated.memory_id)).status == "forgotten"
        assert (await memory.find("p", "k")).content == "v3"
        with pytest.raises(NotFoundError):
            await memory.get(older.memory_id)


async def test_update_to_stored_text_is_a_conflict(memory: LocalMemory) -> None:
    await memory.remember("Fact A")
    other = await memory.remember("Fact B")
    with pytest.raises(ConflictError, match="has this content"):
        await memory.update(other.memory_id, content="Fact A")
    assert (await memory.get(other.memory_id)).content == "Fact B"


async def test_the_key_arm_obeys_every_filter(memory: LocalMemory, bob: LocalMemory) -> None:
    await bob.remember("Bob shared", namespace="plan", key="x", visibility="tenant")
    assert texts(await memory.recall("plan/x")) == ["Bob shared"]
    ways: tuple[dict[str, Any], ...] = (
        {"scope": "own"},
        {"kinds": ["episodic"]},
        {"filters": {"user_id": {"eq": "alice"}}},
        {"min_importance": 0.99},
    )
    for narrowed in ways:
        assert texts(await memory.recall("plan/x", **narrowed)) == []


async def test_a_closed_keeps_answers_unavailable_and_starts_nothing(app_url: str, shared: Any, tenant: str) -> None:
    keeps = await Keeps.open(database_url=app_url, embedder=shared)
    memory = keeps.memory(Scope(tenant, "alice"))
    writes = [asyncio.create_task(memory.remember(f"x {n}", index="later")) for n in range(20)]
    await asyncio.sleep(0)
    await keeps.close()
    for answer in await asyncio.gather(*writes, return_exceptions=True):
        assert not isinstance(answer, BaseException) or isinstance(answer, UnavailableError)
    for call in (memory.remember("late"), memory.recall("late"), memory.list()):
        with pytest.raises(UnavailableError):
            await call


async def test_derived_rows_cannot_be_planted_on_someone_elses_memory(
    raw: asyncpg.Connection, memory: LocalMemory, bob: LocalMemory, tenant: str
) -> None:
    shared = await memory.remember("a shared fact", visibility="tenant")
    await bob.remember("what bob knows", index="later")
    planted = (
        (
            "INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding)"
            " VALUES ($1, $2, 'x', 'bob', '', 'current', '[1]')"
        ),
        (
            "INSERT INTO keeps.memory_words (tenant_id, memory_id, user_id, audience, life, agent, place, session,"
            " word_count, words, counts) VALUES ($1, $2, 'bob', '', 'current', '', 0, 0, 1, 'x', '\\x01')"
        ),
        "UPDATE keeps.memories SET superseded_by = $2 WHERE tenant_id = $1 AND user_id = 'bob'",
    )
    async with raw.transaction():
        await raw.execute(
            "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'bob', true)", tenant
        )
        for statement in planted:
            with pytest.raises((asyncpg.ForeignKeyViolationError, asyncpg.UniqueViolationError)):
                async with raw.transaction():
                    await raw.execute(statement, tenant, shared.memory_id)


async def test_label_change_keeps_vector(memory: LocalMemory) -> None:
    first = await memory.remember("rule", namespace="p", key="r", kind="procedural", trigger_condition="when it rains")
    assert (await memory.update(first.memory_id, tags=["weather"])).indexed
    assert (await memory.update(first.memory_id, metadata={"a": 1})).indexed
    again = await memory.remember("take the umbrella", namespace="p", key="r", kind="procedural")
    assert (again.memory.trigger_condition, again.indexed) == ("when it rains", False)


EARLY = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("remember", {"content": "x", "valid_from": EARLY}),
        ("remember", {"content": "x", "expires_at": "9999-12-31T23:59:00-12:00"}),
        ("remember", {"content": "x", "tags": 5}),
        ("remember", {"content": "x", "namespace": "n", "key": "k", "if_version": 10**50}),
        ("recall", {"query": "x", "since": EARLY}),
        ("recall", {"query": "x", "kinds": 5}),
        ("recall", {"query": "x", "filters": {"importance": {"gt": 10**500}}}),
        ("recall", {"query": "x", "filters": {"metadata.a": {"eq": float("nan")}}}),
        ("recall", {"query": "x", "filters": {"metadata.\ud800": {"eq": 1}}}),
        ("recall", {"query": "x", "filters": {"value": {"eq": "\ud800"}}}),
        ("recall", {"query": "x", "filters": {"value": {"eq": "\x00"}}}),
        ("list", {"limit": "5"}),
        ("list", {"limit": True}),
        ("list", {"cursor": 5}),
        ("list", {"cursor": "W1tbW1tbW1s="}),
        ("list", {"filters": {5: {"eq": 1}}}),
        ("list", {"filters": {"metadata.a": {"eq": {1, 2}}}}),
        ("list", {"filters": {"metadata.a": {"eq": NOW}}}),
        ("find", {"namespace": 5, "key": "k"}),
        ("find", {"namespace": ["a"], "key": b"k"}),
        ("find", {"namespace": "n", "key": "\ud800"}),
        ("forget", {"namespace": {"a": 1}, "key": "k"}),
        ("forget", {"memory_id": "01890000-0000-7000-8000-000000000000", "hard": "no"}),
        ("update", {"memory_id": "01890000-0000-7000-8000-000000000000", "if_version": True, "importance": 1}),
        ("remember_many", {"items": None}),
        ("remember_many", {"items": 5}),
        ("remember_many", {"items": [None]}),
    ],
)
async def test_no_input_gets_through_as_a_raw_error(
    memory: LocalMemory, method: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ValidationFailedError):
        await getattr(memory, method)(**arguments)


async def test_a_very_long_question_does_not_stall(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": f"note {n} about things"} for n in range(50)], index="later")
    for query in ("".join(chr(0x4E00 + n % 5_000) for n in range(10_000)), " ".join(f"qx{n}zv" for n in range(1_000))):
        assert (await memory.recall(query)).hits is not None


async def test_batch_with_versions_is_stored_in_order(memory: LocalMemory) -> None:
    receipts = await memory.remember_many(
        [
            {"content": "one", "namespace": "n", "key": "k", "if_version": 0},
            {"content": "two", "namespace": "n", "key": "k"},
        ]
    )
    assert [receipt.status for receipt in receipts] == ["created", "updated"]


def test_the_tree_of_errors_has_stable_codes() -> None:
    codes = {each.code: each.status for each in KeepsError.__subclasses__() if each.__module__ == KeepsError.__module__}
    assert codes["conflict"] == 409
    assert len(codes) == 11


async def test_the_serving_role_makes_no_temporary_tables(server: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(server.url("keeps_app", "keeps"))  # what a clone may do is not cloned
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("CREATE TEMPORARY TABLE copies (content text)")
    finally:
        await connection.close()
