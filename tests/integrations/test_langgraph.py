"""LangGraph's store with Keeps behind it: what its own stores do, and whose items are whose."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from examples.langgraph_agent import main
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
    TTLConfig,
)

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.langgraph import KeepsStore
from keeps_client.errors import ForbiddenError, KeepsError, ValidationFailedError
from tests.integrations import langgraph_suite
from tests.integrations.sdists import sdist
from tests.serving import token


@pytest.fixture
async def store(place: dict[str, Any]) -> AsyncIterator[KeepsStore]:
    async with KeepsStore(**place) as made:
        yield made


async def test_put_get_search_delete(store: KeepsStore) -> None:
    await store.aput(("docs", "a"), "k", {"text": "žluťoučký 🐴", "n": 1})
    item = await store.aget(("docs", "a"), "k")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("docs", "a"), "k", {"text": "žluťoučký 🐴", "n": 1})
    assert [each.key for each in await store.asearch(("docs",), filter={"n": {"$gte": 1}})] == ["k"]
    assert await store.asearch(("doc",)) == []
    await store.adelete(("docs", "a"), "k")
    assert await store.aget(("docs", "a"), "k") is None
    assert store.failures == {}


async def test_a_batch_is_in_order(store: KeepsStore) -> None:
    results = await store.abatch(
        [
            PutOp(("test", "foo"), "k1", {"data": 1}),
            GetOp(("test", "foo"), "k1"),
            SearchOp(("test",), filter={"data": 1}),
            PutOp(("test", "foo"), "k1", None),
            GetOp(("test", "foo"), "k1"),
            ListNamespacesOp(),
            PutOp(("test", "bar"), "k2", {"data": 2}),
            ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("bar",)),), max_depth=1),
        ]
    )
    assert isinstance(results[1], Item)
    assert isinstance(results[2], list)
    assert [each.key for each in results[2] if isinstance(each, Item)] == ["k1"]
    assert [results[4], results[5], results[7]] == [None, [], [("test",)]]
    assert results[0] is results[3] is results[6] is None


async def test_what_is_refused_costs_the_others_nothing(store: KeepsStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([PutOp(("valid",), "k", {}), GetOp(("foo.bar",), "k")])
    with pytest.raises(ValueError, match="Unsupported operator"):
        await store.abatch([PutOp(("valid",), "k", {}), SearchOp((), filter={"a": {"$bad": 1}})])
    with pytest.raises(InvalidNamespaceError):
        await store.aput(("langgraph",), "k", {})
    with pytest.raises(InvalidNamespaceError):
        await store.aput((), "k", {})
    assert await store.aget(("valid",), "k") is None
    results = await asyncio.gather(
        store.aput(("ok",), "k", {"v": 1}),
        store.aput(("ok",), "large", {"v": "x" * 300_000}),
        store.aput(("ok",), "nul", {"v": "\x00"}),
        store.aget(("ok",), "k"),
        return_exceptions=True,
    )
    assert [type(each) for each in results[:3]] == [type(None), ValidationFailedError, ValidationFailedError]
    assert (await store.aget(("ok",), "k")) is not None


async def test_by_paths_and_by_nothing(store: KeepsStore) -> None:
    value = {"a": {"b": "two hens"}, "c": [{"d": "a ferry"}, {"d": "a tax return"}], "e": [1, "the last"], "f": "none"}
    await store.aput(("n",), "paths", value, index=["a.b", "c[*].d", "e[-1]"])
    await store.aput(("n",), "nothing", value, index=False)
    await store.aput(("n",), "missing", value, index=["x.y"])
    for query in ("two hens", "a ferry", "a tax return", "the last"):
        found = await store.asearch(("n",), query=query)
        assert [each.key for each in found] == ["paths"]
        assert found[0].score == pytest.approx(1, abs=0.01)
    assert ((await store.asearch(("n",), query="none"))[0].score or 0) < 0.9
    many = {"c": [{"d": f"line {number}"} for number in range(250)]}
    await store.aput(("many",), "k", many, index=["c[*].d"])
    assert [each.key for each in await store.asearch(("many",), query="line 249")] == ["k"]


async def test_fields_of_a_store(place: dict[str, Any]) -> None:
    async with KeepsStore(**place, index={"fields": ["text"]}) as store:  # type: ignore[typeddict-item]
        await store.aput(("n",), "k", {"text": "two hens", "other": "a ferry"})
        assert (await store.asearch(("n",), query="two hens"))[0].score == pytest.approx(1, abs=0.01)
    async with KeepsStore(**place, index=False) as store:
        await store.aput(("m",), "k", {"text": "two hens"})
        assert await store.asearch(("m",), query="two hens") == []


async def test_long_searches_are_whole(store: KeepsStore) -> None:
    for number in range(20):
        await store.aput(("n",), str(number), {"v": "x" * 250_000}, index=False)
    assert len(await store.asearch(("n",), limit=50)) == 20
    assert len(await store.asearch(("n",), limit=18, offset=1)) == 18
    for start in range(0, 1_050, 350):
        await store.abatch([PutOp(("m", str(n)), "k", {}, index=False) for n in range(start, start + 350)])
    assert len(await store.asearch(("m",), limit=2_000)) == 1_050
    assert len(await store.alist_namespaces(prefix=("m",), limit=2_000)) == 1_050
    conditions = (MatchCondition("prefix", ("m",)), MatchCondition("prefix", ("*", "7")))
    assert await store.abatch([ListNamespacesOp(conditions)]) == [[("m", "7")]]


async def test_sync_methods_from_another_thread(place: dict[str, Any]) -> None:
    store = KeepsStore(**place)

    def work() -> Item | None:
        store.put(("n",), "k", {"v": 1})
        assert [each.key for each in store.search(("n",))] == ["k"]
        assert store.list_namespaces() == [("n",)]
        return store.get(("n",), "k")

    item = await asyncio.to_thread(work)
    assert item is not None
    assert item.value == {"v": 1}
    if isinstance(place["keeps"], Keeps):
        with pytest.raises(asyncio.InvalidStateError, match="event loop"):
            store.get(("n",), "k")
    await store.aclose()


@pytest.mark.slow_step("a database of its own is made")
def test_sync_methods_in_a_loop_and_without_one(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("langgraph")))
    monkeypatch.setenv("KEEPS_EMBEDDER", "none")
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    async def in_a_loop(store: KeepsStore) -> None:
        store.put(("n",), "k", {"v": 1})
        assert (await store.aget(("n",), "k")) is not None

    with KeepsStore() as store:
        asyncio.run(in_a_loop(store))
        (item,) = store.batch([GetOp(("n",), "k")])
        assert isinstance(item, Item)
        store.delete(("n",), "k")
        assert store.search((), query="anything") == []


async def test_many_at_once_are_one_round_trip(store: KeepsStore) -> None:
    await asyncio.gather(*(store.aput(("n",), str(n % 10), {"n": n}, index=False) for n in range(500)))
    found = await asyncio.gather(*(store.aget(("n",), str(n % 10)) for n in range(500)))
    assert all(each is not None for each in found)
    assert sorted(each.value["n"] for each in await store.asearch(("n",), limit=20)) == list(range(490, 500))
    await asyncio.gather(*(store.adelete(("n",), str(n)) for n in range(10)))
    assert await store.asearch(("n",)) == []


async def test_times_to_live(place: dict[str, Any]) -> None:
    minutes = 0.5 / 60
    omitting: TTLConfig = {"default_ttl": minutes, "refresh_on_read": False, "omit_expired": True}
    async with KeepsStore(**place, ttl=omitting) as store:
        await store.aput(("n",), "goes", {})
        await store.aput(("n",), "stays", {}, ttl=None)
        while await store.aget(("n",), "goes") is not None:
            await asyncio.sleep(0.02)
        assert [each.key for each in await store.asearch(("n",))] == ["stays"]
    shown: TTLConfig = {"default_ttl": minutes, "refresh_on_read": False, "omit_expired": False}
    async with KeepsStore(**place, ttl=shown) as store:
        await store.aput(("n",), "again", {})
        assert {each.key for each in await store.asearch(("n",))} == {"goes", "stays", "again"}, "they are not swept"
        await store.start_ttl_sweeper(0.1 / 60)
        while {each.key for each in await store.asearch(("n",))} != {"stays"}:
            await asyncio.sleep(0.02)
        await store.stop_ttl_sweeper()


@pytest.mark.parametrize("refreshes", [True, False])
async def test_expired_items_are_hidden_before_they_are_removed(place: dict[str, Any], refreshes: bool) -> None:
    """Not even a read that asks for a new time to live brings them back."""
    async with KeepsStore(**place, ttl={"refresh_on_read": refreshes}) as store:
        await store.aput(("n",), "gone", {"a": 1}, ttl=0.001 / 60)
        await store.aput(("n",), "stays", {"a": 1})
        assert await store.aget(("n",), "gone") is None
        assert [each.key for each in await store.asearch(("n",), query="a")] == ["stays"]
        assert [each.key for each in await store.asearch(("n",), filter={"a": 1})] == ["stays"]
        assert await store.alist_namespaces() == [("n",)]
        assert await store.asweep_ttl() == 1
        assert await store.asweep_ttl() == 0


async def test_a_sweep_removes_what_another_process_left(place: dict[str, Any]) -> None:
    async with KeepsStore(**place) as first:
        for number in range(3):
            await first.aput(("n",), str(number), {}, ttl=0.001 / 60)
    async with KeepsStore(**place) as second:
        assert await second.asweep_ttl() == 3


async def test_values_are_json_as_langgraphs_own_store_writes_it(store: KeepsStore) -> None:
    value: dict[Any, Any] = {"pair": (1, ("a", None)), 7: {2.5: "x", True: "y", None: "z"}, "list": [(1,)]}
    await store.aput(("n",), "k", value)
    item = await store.aget(("n",), "k")
    assert item is not None
    assert item.value == {"pair": [1, ["a", None]], "7": {"2.5": "x", "true": "y", "null": "z"}, "list": [[1]]}
    assert [each.key for each in await store.asearch(("n",), filter={"pair": (1, ("a", None))})] == ["k"]
    assert [each.key for each in await store.asearch(("n",), filter={7: {2.5: "x"}})] == ["k"]  # type: ignore[dict-item]
    with pytest.raises(ValidationFailedError, match="same name in JSON"):
        await store.aput(("n",), "twice", {1: "a", "1": "b"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (datetime(2026, 1, 31), "isoformat"),
        (uuid4(), "str"),
        ({1}, "list"),
        (b"x", "decode"),
        (date(2026, 1, 31), "iso"),
    ],
)
async def test_a_value_that_is_no_json_is_refused_with_what_to_write(
    store: KeepsStore, value: object, advice: str
) -> None:
    for wrong in ({"at": value}, {"deep": [{"at": value}]}):
        with pytest.raises(ValidationFailedError, match=advice):
            await store.aput(("n",), "k", wrong)
        with pytest.raises(ValidationFailedError, match=advice):
            await store.asearch(("n",), filter=wrong)


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"p": {"lang": "de"}}, {"a", "b"}),
        ({"p": {"lang": "de", "n": 1}}, {"a"}),
        ({"p": {"$eq": {"lang": "de"}}}, {"b"}),
        ({"p": {"n": {"$gte": 1}}}, {"a"}),
        ({"p": {"deep": {"x": [1, 2]}}}, {"c"}),
        ({"p": {"deep": {"x": {"$ne": [1]}}}}, {"c"}),
        ({"p": {}}, set[str]()),
        ({"n": float("nan")}, set[str]()),
        ({"n": {"$ne": float("nan")}}, {"a", "b", "c"}),
        ({"n": float("inf")}, set[str]()),
        ({"n": {"$lt": float("inf")}}, {"a", "b"}),
        ({"n": {"$gt": float("inf")}}, set[str]()),
        ({"n": {"$gt": float("-inf")}}, {"a", "b"}),
        ({"n": {"$gte": float("nan")}}, set[str]()),
        ({"n": "a\x00b"}, set[str]()),
        ({"n": {"$lte": "text\x00"}}, {"c"}),
        ({"n": {"$gte": "text\x00"}}, set[str]()),
        ({"n": {"$gt": "tex\x00"}}, {"c"}),
        ({"n\x00": 1}, set[str]()),
        ({"p": {"lang": ["d\x00"]}}, set[str]()),
    ],
)
async def test_filters_ask_for_objects_and_for_what_no_value_is(
    store: KeepsStore, wanted: dict[str, Any], keys: set[str]
) -> None:
    await store.aput(("n",), "a", {"p": {"lang": "de", "n": 1}, "n": 1})
    await store.aput(("n",), "b", {"p": {"lang": "de"}, "n": 2.5})
    await store.aput(("n",), "c", {"p": {"deep": {"x": [1, 2], "y": 3}}, "n": "text"})
    assert {each.key for each in await store.asearch(("n",), filter=wanted)} == keys
    assert {each.key for each in await store.asearch(("n",), filter=wanted, query="de")} == keys


async def test_a_label_names_the_user(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    async with KeepsStore(**place, user_label=1) as store:
        for user in ("alice", "bob", "уж/1"):
            await store.aput(("memories", user, "facts"), "k", {"of": user})
        assert [each.value for each in await store.asearch(("memories", "alice"))] == [{"of": "alice"}]
        assert await store.aget(("memories", "alice", "facts"), "other") is None
        mixed = await store.abatch(
            [GetOp(("memories", user, "facts"), "k") for user in ("alice", "bob", "nobody", "уж/1")]
        )
        assert [isinstance(each, Item) and each.value["of"] for each in mixed] == ["alice", "bob", False, "уж/1"]
        for op in (SearchOp(("memories",)), SearchOp(()), GetOp(("memories",), "k"), PutOp(("memories",), "k", {})):
            with pytest.raises(InvalidNamespaceError, match="Label 1"):
                await store.abatch([op])
        assert await store.alist_namespaces(prefix=("memories", "bob")) == [("memories", "bob", "facts")]
        assert await store.alist_namespaces(prefix=("*", "bob")) == [("memories", "bob", "facts")]
        everybody = await store.alist_namespaces(prefix=("memories", "*"), max_depth=2)
        assert everybody == [("memories", user) for user in ("alice", "bob", "уж/1")]
    bobs = keeps.memory(Scope(tenant, "bob"))
    assert [each.value for each in await bobs.search_items()] == [{"of": "bob"}]
    with pytest.raises(ValueError, match="give one of them"):
        KeepsStore(**place, user_label=1, user_id="alice")


async def test_a_key_of_one_user_serves_that_user_only(secured_url: str, tenant: str) -> None:
    async with KeepsStore(secured_url, token=token(tenant, "alice"), user_label=0) as store:
        await store.aput(("alice",), "k", {})
        for work in (
            store.aput(("bob",), "k", {}),
            store.aget(("bob",), "k"),
            store.asearch(("bob",)),
            store.alist_namespaces(),
        ):
            with pytest.raises(ForbiddenError):
                await work
    async with KeepsStore(secured_url, token=token(f"{tenant}-other", "alice")) as store:
        assert await store.asearch(()) == []
        assert await store.aget(("alice",), "k") is None


async def test_where_memory_is_away_reads_give_nothing_and_writes_raise() -> None:
    async with KeepsStore("http://127.0.0.1:9", tenant_id="acme") as store:
        assert await store.aget(("n",), "k") is None
        assert await store.asearch(("n",)) == []
        assert await store.alist_namespaces() == []
        assert store.failures["batch"] == 3
        with pytest.raises(KeepsError):
            await store.aput(("n",), "k", {})


async def test_langmems_tools_work_on_it(place: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports names that LangGraph has moved
        from langmem import create_manage_memory_tool, create_search_memory_tool

    async with KeepsStore(**place, user_label=1) as store:
        namespace = ("memories", "{langgraph_user_id}")
        manage = create_manage_memory_tool(namespace, store=store)
        search = create_search_memory_tool(namespace, store=store)
        alice: RunnableConfig = {"configurable": {"langgraph_user_id": "alice"}}
        bob: RunnableConfig = {"configurable": {"langgraph_user_id": "bob"}}
        said = await manage.ainvoke({"content": "Keeps two hens called Ada and Grace.", "action": "create"}, alice)
        key = said.split()[-1]
        assert "two hens" in str(await search.ainvoke({"query": "her chickens"}, alice))
        assert "two hens" not in str(await search.ainvoke({"query": "her chickens"}, bob))
        await manage.ainvoke({"content": "Keeps three hens.", "action": "update", "id": key}, alice)
        assert "three hens" in str(await search.ainvoke({"query": "her chickens"}, alice))
        await manage.ainvoke({"action": "delete", "id": key}, alice)
        assert "hens" not in str(await search.ainvoke({"query": "her chickens"}, alice))


@pytest.mark.slow_step("LangGraph is imported, and a database of its own made")
def test_the_example(made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("example")))
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    asked: list[str] = []

    class Scripted(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *rest: Any, **more: Any) -> str:
            asked.append(str(messages[0].text))
            return super()._call(messages, *rest, **more)

    with KeepsStore(user_label=1) as store:
        assert main(Scripted(responses=["Noted.", "No peanuts."]), store) == ["Noted.", "No peanuts."]
    assert "(nothing)" in asked[0]
    assert "allergic to peanuts" in asked[1]


@pytest.mark.slow_step("the suite of another package, in a process of its own")
def test_the_tests_of_langgraphs_own_postgres_store(made_home: Callable[..., Path], tmp_path: Path) -> None:
    source = sdist(langgraph_suite.PACKAGE, tmp_path)
    suite = tmp_path / "suite"
    (suite / "tests").mkdir(parents=True)
    for name in ("__init__.py", "embed_test_utils.py"):
        shutil.copy(source / "tests" / name, suite / "tests" / name)
    for name in langgraph_suite.FILES:
        text = (source / "tests" / name).read_text(encoding="utf-8")
        (suite / "tests" / name).write_text(f"{text}\n\n{langgraph_suite.OVERRIDES[name]}", encoding="utf-8")
    (suite / "tests" / "conftest.py").write_text(langgraph_suite.CONFTEST, encoding="utf-8")
    shutil.copy(Path(langgraph_suite.__file__), suite / "langgraph_suite.py")
    (suite / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8"
    )
    report = tmp_path / "report.xml"
    arguments = [sys.executable, "-m", "pytest", "-p", "no:anyio", "-q", "tests", f"--junit-xml={report}"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
    environment = {**kept, "KEEPS_HOME": str(made_home("suite"))}
    done = subprocess.run(arguments, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8_000:]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    passed = {(each.get("classname"), (each.get("name") or "").split("[")[0]) for each in cases}
    everything = sum(
        len(re.findall(r"^(?:async )?def test_", (source / "tests" / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in langgraph_suite.FILES
    )
    print(f"{len(passed)} of {everything} passed, {everything - len(passed)} left out by name")
    assert (everything, everything - len(passed)) <= (58, 20)
    assert len(passed) >= everything - 20
