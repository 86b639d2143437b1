"""Items, a store of JSON values: the same in process, by the async client and by the sync client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.events.service import EventService
from keeps.store.tenants.counts import TenantCounts
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, PayloadTooLargeError, ValidationFailedError
from keeps_client.models import DeleteItem, GetItem, ListNamespaces, PutItem, SearchItems, SweepItems
from tests.serving import token
from tests.writing import in_write

DOCS = ("docs", "public")


async def test_item_is_stored_replaced_and_deleted(memory: Any) -> None:
    value = {"text": "žluťoučký 🐴", "deep": {"a": [1, None, True, 0.1]}}
    await memory.put_item(DOCS, "a/b c", value)
    first = await memory.get_item(DOCS, "a/b c")
    assert (first.namespace, first.key, first.value, first.version) == (DOCS, "a/b c", value, 1)
    await memory.put_item(DOCS, "a/b c", {"text": None})
    second = await memory.get_item(DOCS, "a/b c")
    assert (second.value, second.version, second.created_at) == ({"text": None}, 2, first.created_at)
    assert second.updated_at > first.updated_at
    assert await memory.get_item(("docs",), "a/b c") is None
    await memory.delete_item(DOCS, "a/b c")
    await memory.delete_item(DOCS, "a/b c")
    assert await memory.get_item(DOCS, "a/b c") is None


async def test_operations_may_be_models(memory: Any) -> None:
    put, get = PutItem(namespace=DOCS, key="k", value={"v": 1}), GetItem(namespace=DOCS, key="k")
    results = await memory.batch_items([put, get, SearchItems(), DeleteItem(namespace=DOCS, key="k"), SweepItems()])
    assert [results[1].item.value, len(results[2].items)] == [{"v": 1}, 1]
    assert [each.item for each in await memory.read_items([get])] == [None]


@pytest.mark.sync_client
async def test_batch_is_ordered_and_atomic(memory: Any) -> None:
    put = {"op": "put", "namespace": ["n"], "key": "k", "value": {"v": 1}}
    get = {"op": "get", "namespace": ["n"], "key": "k"}
    results = await memory.batch_items(
        [
            get,
            put,
            get,
            {**put, "value": {"v": 2}},
            {**put, "value": {"v": 3}},
            get,
            {"op": "search"},
            {"op": "namespaces"},
            {"op": "delete", "namespace": ["n"], "key": "k"},
            get,
        ]
    )
    assert [each.item and each.item.value for each in results] == [None, None, {"v": 1}, None, None, {"v": 3}] + [
        None
    ] * 4
    assert [each.value for each in results[6].items] == [{"v": 3}]
    assert results[7].namespaces == [("n",)]
    with pytest.raises(ValidationFailedError):
        await memory.batch_items([put, {"op": "search", "filter": {"v": {"$bad": 1}}}])
    assert await memory.get_item(("n",), "k") is None
    with pytest.raises(ValidationFailedError):
        await memory.read_items([put])


async def test_search_is_limited_to_namespace_prefix(memory: Any) -> None:
    places = [
        ("foo",),
        ("foo", "child"),
        ("foo", "child", "deep"),
        ("foobar",),
        ("foo-bar", "x"),
        ("foo/bar",),
        ("fo",),
    ]
    places += [("a%b",), ("a_b",), ("axb",), ("уж", " 🐴 "), ("line\n",), ("line",), ("*",)]
    for place in places:
        await memory.put_item(place, "k", {"v": 1})

    async def below(*prefix: str) -> set[tuple[str, ...]]:
        return {each.namespace for each in await memory.search_items(prefix, limit=100)}

    assert await below() == set(places)
    assert await below("foo") == {("foo",), ("foo", "child"), ("foo", "child", "deep")}
    assert await below("foo", "child") == {("foo", "child"), ("foo", "child", "deep")}
    for place in (("fo",), ("foobar",), ("a%b",), ("a_b",), ("line",), ("line\n",), ("уж", " 🐴 "), ("*",)):
        assert await below(*place) == {place}
    assert await below("f") == set()


async def test_namespaces_are_listed_by_prefix_and_suffix(memory: Any) -> None:
    for place in (("u", "x", "alice"), ("u", "x", "malice"), ("u", "a", "b", "alice"), ("v",)):
        for key in "ab":
            await memory.put_item(place, key, {"v": 1})
    assert await memory.list_namespaces() == [
        ("u", "a", "b", "alice"),
        ("u", "x", "alice"),
        ("u", "x", "malice"),
        ("v",),
    ]
    assert await memory.list_namespaces(suffix=["alice"]) == [("u", "a", "b", "alice"), ("u", "x", "alice")]
    assert await memory.list_namespaces(prefix=["u", "*", "alice"]) == [("u", "x", "alice")]
    assert await memory.list_namespaces(max_depth=2) == [("u", "a"), ("u", "x"), ("v",)]
    assert await memory.list_namespaces(max_depth=2, limit=1, offset=1) == [("u", "x")]
    assert await memory.list_namespaces(prefix=["u", "x", "alice", "deeper"]) == []


async def test_filters_compare_only_comparable_values(memory: Any) -> None:
    values = {
        "a": {"n": 4.5, "t": "red"},
        "b": {"n": 10, "t": "blue"},
        "c": {"n": "10", "x": None},
        "d": {"t": {"y": 1}},
    }
    for key, value in values.items():
        await memory.put_item(("n",), key, value)

    async def keys(**wanted: Any) -> str:
        return "".join(sorted(each.key for each in await memory.search_items(("n",), filter=wanted)))

    assert await keys(t="red") == "a"
    assert await keys(n=10) == "b"
    assert await keys(x=None) == "c"
    assert await keys(t={"y": 1}) == "d"
    assert await keys(n={"$gt": 4.5}) == "b", "numbers compare as numbers"
    assert await keys(n={"$gte": 4.5, "$lt": 10}) == "a"
    assert await keys(n={"$gt": "1"}) == "c"
    assert await keys(t={"$ne": "red"}) == "bd"
    assert await keys(t={"$eq": "blue"}, n={"$lte": 10}) == "b"
    assert await keys(**{"'; DROP TABLE keeps.items; --": 1}) == ""
    for wrong in ({"n": {"$regex": "x"}}, {"n": {"$gt": None}}, {"n": {"$gt": [1]}}):
        with pytest.raises(ValidationFailedError):
            await keys(**wrong)


async def test_nearest_items_come_first(memory: Any) -> None:
    texts = {
        "hens": "We keep two hens that lay brown eggs.",
        "sea": "The ferry crosses the sea at night.",
        "tax": "The tax return is due in April.",
    }
    for key, text in texts.items():
        await memory.put_item(("facts", key), key, {"text": text, "kind": key[0]})
    await memory.put_item(("facts", "hidden"), "hidden", {"text": texts["hens"]}, index=False)
    found = await memory.search_items(("facts",), query="chickens and their eggs")
    assert (found[0].key, len(found)) == ("hens", 3)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert [each.key for each in await memory.search_items(("facts",), query="boats", filter={"kind": "t"})] == ["tax"]
    assert [each.key for each in await memory.search_items(("facts",), query="boats", limit=1)] == ["sea"]
    assert (await memory.search_items(("facts",), query="boats", limit=1, offset=1))[0].key != "sea"
    plain = await memory.search_items(("facts",))
    assert [each.key for each in plain] == ["hidden", "tax", "sea", "hens"]
    assert {each.score for each in plain} == {None}
    await memory.put_item(("facts", "hens"), "hens", {"text": "The bus stops at the corner."})
    assert (await memory.search_items(("facts",), query="public transport"))[0].key in ("hens", "sea")
    assert (await memory.search_items(("facts",), query="two hens that lay brown eggs"))[0].score < 0.5


async def test_item_is_found_by_its_texts(memory: Any) -> None:
    value = {"title": "Hens", "body": "They lay brown eggs."}
    await memory.put_item(("n",), "both", value, texts={"title": "Hens", "body": value["body"]})
    await memory.put_item(("n",), "none", value, texts={})
    await memory.put_item(("n",), "whole", value)
    found = {each.key: each.score for each in await memory.search_items(("n",), query="Hens")}
    assert set(found) == {"both", "whole"}
    assert found["both"] > 0.99, "the nearest of its texts counts"
    assert found["both"] > found["whole"]


async def test_items_expire_after_ttl(memory: Any, keeps: Keeps, tenant: str) -> None:
    ends = 0.2 / 60
    await memory.put_item(("n",), "stays", {"v": 1})
    await memory.put_item(("n",), "goes", {"v": 1}, ttl_minutes=ends)
    await memory.put_item(("gone",), "goes", {"v": 1}, ttl_minutes=ends)
    await memory.put_item(("n",), "long", {"v": 1}, ttl_minutes=5)
    while await memory.get_item(("n",), "goes") is not None:
        await asyncio.sleep(0.02)
    while await memory.get_item(("gone",), "goes") is not None:
        await asyncio.sleep(0.02)
    assert sorted(each.key for each in await memory.search_items(refresh_ttl=True)) == ["long", "stays"]
    assert await memory.get_item(("n",), "goes", refresh_ttl=True) is None, "what is over does not come back"
    assert await memory.list_namespaces() == [("n",)]
    (late,) = await memory.read_items([{"op": "get", "namespace": ["n"], "key": "goes"}], omit_expired=False)
    assert late.item is not None
    operation = await keeps.service(Lifecycle).run(tenant, "expiry")
    assert operation is not None
    assert operation.counts["removed"] == 2
    (late,) = await memory.read_items([{"op": "get", "namespace": ["n"], "key": "goes"}], omit_expired=False)
    assert late.item is None


async def test_refresh_ttl_extends_ttl(memory: Any, server: Any, tenant: str) -> None:
    await memory.put_item(("n",), "k", {"v": 1}, ttl_minutes=5)
    await memory.get_item(("n",), "k", refresh_ttl=True)
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    ends = "UPDATE keeps.item_refreshes SET ends_at = now() + $2::interval WHERE tenant_id = $1"
    left = "SELECT ends_at - now() FROM keeps.item_refreshes WHERE tenant_id = $1"
    await connection.execute(ends, tenant, timedelta(minutes=1))
    assert await memory.get_item(("n",), "k") is not None
    assert await connection.fetchval(left, tenant) < timedelta(minutes=1), "reading alone changes nothing"
    assert await memory.get_item(("n",), "k", refresh_ttl=True) is not None
    assert await connection.fetchval(left, tenant) > timedelta(minutes=2)
    await connection.execute(ends, tenant, timedelta(minutes=-1))
    assert await memory.get_item(("n",), "k", refresh_ttl=True) is None
    await connection.close()


async def test_deleted_item_is_absent_from_log(
    memory: Any, log_of: Callable[[], Awaitable[str]], keeps: Keeps, tenant: str
) -> None:
    await memory.put_item(("n",), "k", {"text": "swordfish"})
    await memory.put_item(("n",), "k", {"text": "swordfish again"})
    await memory.put_item(("n",), "other", {"text": None}, ttl_minutes=5)
    assert "swordfish" in await log_of()
    found = await keeps.service(EventService).verify(Scope(tenant, "alice"))
    assert (found.differences, found.compared["items"]) == ([], 2)
    await memory.delete_item(("n",), "k")
    assert "swordfish" not in await log_of()
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []


async def test_batch_of_changes_ends_as_one_by_one(memory: Any, keeps: Keeps, tenant: str) -> None:
    def put(key: str, number: int) -> dict[str, Any]:
        return {"op": "put", "namespace": ["n"], "key": key, "value": {"v": number}}

    def delete(key: str) -> dict[str, Any]:
        return {"op": "delete", "namespace": ["n"], "key": key}

    await memory.batch_items([put("kept", 0), put("gone", 0), put("anew", 0)])
    changes = [put("a", 1), delete("a"), put("b", 1), delete("gone"), put("b", 2), delete("anew"), put("anew", 3)]
    changes += [put("kept", 4), delete("c"), put("c", 5), delete("c"), put("a", 6), put("d", 7), delete("d")]
    assert len(await memory.batch_items(changes)) == len(changes)
    found = {each.key: (each.value["v"], each.version) for each in await memory.search_items(("n",))}
    assert found == {"kept": (4, 2), "anew": (3, 1), "a": (6, 1), "b": (2, 1)}
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []


async def test_events_of_an_item_are_found_by_subject(memory: Any, tenant: str, server: Any) -> None:
    many = [{"op": "put", "namespace": ["n"], "key": str(n), "value": {"n": n}, "index": False} for n in range(300)]
    await memory.batch_items(many)
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    read = "SELECT sum(idx_tup_fetch)::integer FROM pg_stat_xact_all_tables WHERE relname LIKE 'events\\_%'"
    events = "SELECT oid FROM pg_class WHERE relname LIKE 'events%'"
    whole = connection.transaction()
    await whole.start()
    try:
        # As in a new database: no statistics.
        await connection.execute(f"DELETE FROM pg_statistic WHERE starelid IN ({events})")
        await connection.execute(f"UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid IN ({events})")
        row_id = await connection.fetchval("SELECT row_id FROM keeps.items WHERE tenant_id = $1 LIMIT 1", tenant)
        names = {"app.current_tenant": tenant, "app.current_user": "alice", "plan_cache_mode": "force_generic_plan"}
        for name, value in names.items():
            await connection.execute("SELECT set_config($1, $2, true)", name, value)
        await connection.execute("SET LOCAL ROLE keeps_app")
        before = await connection.fetchval(read)
        assert await connection.fetchval("SELECT keeps.redact_rows('{}', $1)", [row_id]) == 1
        assert await connection.fetchval(read) - before < 20
    finally:
        await whole.rollback()
        await connection.close()


async def test_concurrent_writers_lose_nothing(memory: Any) -> None:
    await asyncio.gather(
        *(memory.put_item(("n", str(number % 3)), f"k{number}", {"n": number}) for number in range(40))
    )
    assert sorted(each.value["n"] for each in await memory.search_items(("n",), limit=100)) == list(range(40))


async def test_large_search_ends_early(memory: Any) -> None:
    for number in range(20):
        await memory.put_item(("n",), str(number), {"v": "x" * 250_000}, index=False)
    (first,) = await memory.read_items([{"op": "search", "limit": 100}])
    assert (first.more, 10 < len(first.items) < 20) == (True, True)
    (rest,) = await memory.read_items([{"op": "search", "limit": 100, "offset": len(first.items)}])
    assert (rest.more, len(rest.items) + len(first.items)) == (False, 20)
    assert len(await memory.search_items(limit=100)) == 20
    many = [
        {"op": "put", "namespace": ["few"], "key": f"{n:03}", "value": {"n": n}, "index": False} for n in range(450)
    ]
    await memory.batch_items(many)
    found = await memory.search_items(("few",), limit=420, offset=10)
    assert len({each.key for each in found}) == len(found) == 420


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"namespace": []}, "namespace"),
        ({"namespace": ["a.b"]}, "period"),
        ({"namespace": [""]}, "namespace"),
        ({"namespace": ["a\x00"]}, "NUL"),
        ({"namespace": ["ü" * 400]}, "600 bytes"),
        ({"key": ""}, "key"),
        ({"key": "ü" * 300}, "512 bytes"),
        ({"value": {"a": "x\x00"}}, "NUL"),
        ({"value": {"a": "x" * 300_000}}, "256 KiB"),
        ({"value": [1]}, "value"),
        ({"ttl_minutes": 0}, "ttl_minutes"),
        ({"op": "pt"}, "op"),
    ],
)
async def test_invalid_item_is_refused_by_field(memory: Any, fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationFailedError, match=wrong):
        await memory.batch_items([{"op": "put", "namespace": ["n"], "key": "k", "value": {}, **fields}])


async def test_items_are_separate_except_for_administrators(keeps: Keeps, tenant: str, secured_url: str) -> None:
    for user in ("anna", "bea", "carl"):
        await keeps.memory(Scope(tenant, user)).put_item(("n", user), "k", {"text": f"of {user}"})
    async with MemoryClient(secured_url, token=token(tenant, "anna", "reader")) as anna:
        assert [each.value for each in await anna.search_items(query="of bea")] == [{"text": "of anna"}]
        assert await anna.get_item(("n", "bea"), "k") is None
        assert await anna.list_namespaces() == [("n", "anna")]
        with pytest.raises(ForbiddenError):
            await anna.put_item(("n", "anna"), "k", {})
        with pytest.raises(ForbiddenError):
            await anna.admin.list_namespaces()
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        first = await root.admin.list_namespaces(limit=2)
        second = await root.admin.list_namespaces(limit=2, after=first.next_cursor or "")
        assert [(each.user_id, each.namespaces) for each in (*first, *second)] == [
            (user, [("n", user)]) for user in ("anna", "bea", "carl")
        ]
        assert second.next_cursor is None


async def test_items_of_previous_model_are_reembedded(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.put_item(("n",), "hens", {"text": "two hens"})
    await alice.put_item(("n",), "texts", {"a": 1}, texts={"a": "two hens", "empty": ""})
    await in_write(keeps.database, alice.scope, lambda tx: _of_another_model(tx))
    assert await alice.search_items(("n",), query="hens") == []
    await TenantCounts(keeps.database, keeps.metrics).check(alice.scope)  # It was changed behind the counters.
    users, _ = await keeps.service(Indexer).users_to_index()
    assert (tenant, "alice") in users
    assert await keeps.service(Indexer).index_user(alice.scope) == 2
    assert {each.key for each in await alice.search_items(("n",), query="hens")} == {"hens", "texts"}
    assert await keeps.service(Indexer).index_user(alice.scope) == 0
    await keeps.service(Indexer).drop_other_models()
    assert len(await in_write(keeps.database, alice.scope, _models)) == 1


async def _models(tx: Any) -> set[str]:
    from keeps.store.db.statements import Statement

    statement = Statement("models", "SELECT model FROM keeps.item_vectors WHERE tenant_id = $1")
    return {row["model"] for row in await tx.fetch(statement, tx.scope.tenant_id)}


async def _of_another_model(tx: Any) -> None:
    from keeps.store.db.statements import Statement

    await tx.execute(
        Statement("old", "UPDATE keeps.item_vectors SET model = 'before' WHERE tenant_id = $1"), tx.scope.tenant_id
    )


@pytest.mark.parametrize(("asked", "given"), [((), True), (("a",), True), (("b",), False), (("*", "x"), True)])
def test_pattern_matches_from_root(asked: tuple[str, ...], given: bool) -> None:
    from keeps.state.items.service import matching

    assert bool(matching([("a", "x", "y")], ListNamespaces(prefix=asked))) is given


async def test_keys_are_listed_in_order_without_values(memory: Any) -> None:
    places = [(("a",), "2"), (("a",), "10"), (("a", "b"), "é 🐴"), (("ab",), "x"), (("b",), "k")]
    for namespace, key in places:
        await memory.put_item(namespace, key, {"big": "x" * 1000})
    await memory.put_item(("a",), "over", {"v": 1}, ttl_minutes=1e-9)
    found = await memory.list_keys()
    assert [(each.namespace, each.key) for each in found] == sorted(places, key=lambda each: (*each[0], "", each[1]))
    assert {str(each.value) for each in found} == {"{}"}
    pages: list[Any] = []
    while part := await memory.list_keys(("a",), limit=1, after=pages[-1] if pages else None):
        pages += [(each.namespace, each.key) for each in part]
    assert pages == [(("a",), "10"), (("a",), "2"), (("a", "b"), "é 🐴")]
    assert await memory.list_keys(limit=0) == []
    with pytest.raises(ValidationFailedError):
        await memory.list_keys(limit=1001)


@pytest.mark.parametrize(
    "operation", [{"op": "keys", "limit": 1000}, {"op": "namespaces"}, {"op": "search", "limit": 100}]
)
async def test_batch_answer_size_is_limited(memory: Any, operation: dict[str, Any]) -> None:
    namespaces = [("n" * 200, f"{number:03}" + "m" * 200) for number in range(100)]
    puts = [{"op": "put", "namespace": each, "key": "k" * 400, "value": {}, "index": False} for each in namespaces]
    await memory.batch_items(puts)
    assert await memory.read_items([operation])
    with pytest.raises((PayloadTooLargeError, ValidationFailedError)):
        await memory.read_items([operation] * 1000)
