"""The storage of CrewAI's memory: in a crew, in its `Memory`, and by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from crewai import Memory
from crewai.llms.base_llm import BaseLLM
from crewai.memory.encoding_flow import EncodingFlow
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.storage.factory import resolve_memory_storage, set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from examples.crewai_crew import main
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.crewai import KeepsStorage, text_of, text_vectors, use_keeps
from keeps_client.errors import ForbiddenError, UnavailableError
from tests.serving import token

own_deprecations = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""A crew reads fields of agents that CrewAI itself calls deprecated."""
HENS = "Alice keeps two hens called Ada and Grace."
CELLO = "Alice plays the cello on Sundays."
NOON = datetime(2026, 3, 1, 12)


class Parrot(BaseLLM):
    """Answers with everything that it was sent, so CrewAI's analysis by a model falls back to its defaults."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        said = messages if isinstance(messages, str) else "\n".join(str(each["content"]) for each in messages)
        return f"Thought: I know.\nFinal Answer: {said}"

    def supports_function_calling(self) -> bool:
        return False


@pytest.fixture(params=["in process", "over HTTP"])
def place(request: pytest.FixtureRequest, keeps: Keeps, server_url: str, tenant: str) -> dict[str, Any]:
    """Return the place of the memories, as arguments."""
    return {"keeps": keeps if request.param == "in process" else server_url, "tenant_id": tenant}


@pytest.fixture
def factory() -> Iterator[None]:
    yield
    set_memory_storage_factory(None)


def record(content: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord(content=content, **fields)


def vector(text: str) -> list[float]:
    return text_vectors([text])[0]


def searched(storage: KeepsStorage, text: str, **conditions: Any) -> list[str]:
    return [found.content for found, _ in storage.search(vector(text), **conditions)]


async def contents(keeps: Keeps, tenant: str, user: str = "alice") -> list[str]:
    return sorted(each.content for each in (await keeps.memory(Scope(tenant, user)).list(limit=200)).items)


@given(st.text(max_size=300))
def test_vectors_contain_their_text(text: str) -> None:
    from keeps.integrations.storable import storable

    made = vector(text)
    assert text_of([float(number) for number in made]) == storable(text)
    if text:
        assert EncodingFlow._cosine_similarity(made, vector(text)) > 0.999
        assert EncodingFlow._cosine_similarity(made, vector(text[::-1] + "x")) < 0.9


@pytest.mark.parametrize("foreign", [[], [0.1] * 384, [0.0] * 40, [1e300] * 40, [float("nan")] * 40, vector("x")[:-1]])
def test_vectors_of_others_are_refused(foreign: list[float]) -> None:
    with pytest.raises(ValueError, match="text_vectors"):
        text_of(foreign)


@own_deprecations
@pytest.mark.slow_step("CrewAI imports its parts when they are first used")
async def test_the_example(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    storage = KeepsStorage(user_id="alice", **place)
    first, second = await asyncio.to_thread(main, Parrot(model="parrot"), storage)
    assert "The memories above" not in first
    assert "The memories above" in second
    assert "allergic to peanuts" in second, "the second run was told what the first one said"
    assert storage.failures == {}
    assert await contents(keeps, tenant)


async def test_memory_remembers_and_recalls(place: dict[str, Any]) -> None:
    storage = KeepsStorage(user_id="alice", **place)
    assert isinstance(storage, StorageBackend)

    def work() -> None:
        memory = Memory(storage=storage, embedder=text_vectors, llm=Parrot(model="parrot"))
        told: dict[str, Any] = {"scope": "/home", "categories": ["animals"], "importance": 0.9}
        kept = memory.remember(HENS, metadata={"n": 1}, **told)
        assert kept is not None
        memory.remember(CELLO, scope="/music", categories=["music"], importance=0.5)
        for depth in ("shallow", "deep"):
            (best, *_) = memory.recall("What are the hens called?", depth=depth)
            assert (best.record.content, best.record.metadata, best.record.scope) == (HENS, {"n": 1}, "/home")
        assert [each.record.content for each in memory.recall("instrument", scope="/music", depth="shallow")] == [CELLO]
        assert memory.list_scopes() == ["/home", "/music"]
        assert memory.list_categories() == {"animals": 1, "music": 1}
        assert memory.update(kept.id, content="Alice keeps three hens.").content == "Alice keeps three hens."
        assert [each.content for each in memory.list_records("/home")] == ["Alice keeps three hens."]
        assert memory.forget(scope="/home") == 1
        memory.reset()
        assert memory.list_records() == []
        memory.close()

    await asyncio.to_thread(work)
    assert storage.failures == {}


@pytest.mark.parametrize("origin", [{"source": "https://lamps.example"}, {"metadata": {"trust": "low"}}])
async def test_text_from_outside_is_marked_where_models_read_it(place: dict[str, Any], origin: dict[str, Any]) -> None:
    text, mark = "The lamp shop opens at nine.", "(from a tool or page) "

    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        memory = Memory(storage=storage, embedder=text_vectors, llm=Parrot(model="parrot"))
        storage.save([record(text, id="lamps", **origin), record(HENS)])
        (match, *_) = memory.recall("lamp shop", depth="shallow", source=origin.get("source"))
        assert mark + text in match.format()
        assert memory.recall("hens", depth="shallow")[0].record.content == HENS
        assert [each.content for each in storage.list_records() if each.id == "lamps"] == [text]
        # As CrewAI consolidates: from what a search returned, without its source.
        storage.update(record("The lamp shop opens at ten.", id="lamps", metadata=match.record.metadata))
        assert searched(storage, "lamp shop")[0] == f"{mark}The lamp shop opens at ten."
        memory.close()

    await asyncio.to_thread(work)


async def test_private_records_stay_with_their_source(place: dict[str, Any]) -> None:
    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        memory = Memory(storage=storage, embedder=text_vectors, llm=Parrot(model="parrot"))
        storage.save([record(HENS, source="s1", private=True)])
        assert memory.recall("hens", depth="shallow") == []
        assert len(memory.recall("hens", depth="shallow", source="s1")) == 1
        memory.close()

    await asyncio.to_thread(work)


async def test_records_come_back_as_they_were(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    given: dict[str, Any] = {
        "id": "ключ/1",
        "scope": "/a/b",
        "categories": ["x", "y\nz"],
        "source": "s",
        "private": True,
    }
    wanted = record("👩‍👩‍👧 žluťoučký", importance=0.25, metadata={"a.b": [1, None], "": "ü"}, created_at=NOON, **given)

    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        for _ in range(2):
            storage.save([wanted])
        back = storage.get_record("ключ/1")
        assert back is not None
        assert back.model_dump(exclude={"last_accessed"}) == wanted.model_dump(exclude={"last_accessed"})
        assert storage.get_record("other") is None
        assert storage.count() == 1
        storage.update(wanted.model_copy(update={"content": "Changed.", "scope": "/c", "categories": []}))
        changed = storage.get_record("ключ/1")
        assert changed is not None
        assert (changed.content, changed.scope, changed.categories) == ("Changed.", "/c", [])
        assert storage.count("/a") == 0
        storage.close()
        assert storage.count() == 1, "it is opened again"
        storage.close()
        assert storage.failures == {}

    await asyncio.to_thread(work)
    assert await contents(keeps, tenant) == ["Changed."]


async def test_conditions(place: dict[str, Any]) -> None:
    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        records = [
            record("The pond is deep.", id="1", scope="/a", categories=["x"], metadata={"n": 1}, created_at=NOON),
            record("The pond is blue.", id="2", scope="/a/b", categories=["x", "y"], metadata={"n": 2, "m": "q"}),
            record("The pond is old.", id="3", scope="/ab", categories=["z"]),
            record("The pond is cold.", id="4"),
        ]
        storage.save(records)

        def ids(**conditions: Any) -> str:
            return "".join(sorted(found.id for found, _ in storage.search(vector("the pond"), **conditions)))

        assert ids() == ids(scope_prefix="/") == ids(scope_prefix="") == "1234"
        assert ids(scope_prefix="/a") == ids(scope_prefix="/a/") == ids(scope_prefix="a") == "12"
        assert ids(categories=["y", "z"]) == "23"
        assert ids(metadata_filter={"n": 2}) == ids(metadata_filter={"n": 2, "m": "q"}) == "2"
        assert ids(metadata_filter={"n": "2"}) == ids(categories=["q"]) == ids(scope_prefix="/b") == ""
        assert len(ids(limit=2)) == 2
        assert ids(limit=0) == ids(min_score=1.1) == ""
        assert [each.id for each in storage.list_records()][-1] == "1", "newest first"
        assert [each.id for each in storage.list_records(limit=1, offset=3)] == ["1"]
        assert storage.list_records(limit=0) == storage.list_records(offset=-1) == []
        assert storage.list_scopes() == ["/a", "/ab"]
        assert storage.list_scopes("/a") == ["/a/b"]
        assert storage.list_categories("/a") == {"x": 2, "y": 1}
        info = storage.get_scope_info("/a")
        assert (info.record_count, info.categories, info.child_scopes) == (2, ["x", "y"], ["/a/b"])
        assert info.oldest_record == NOON
        assert storage.get_scope_info("/none").record_count == 0
        assert storage.delete(record_ids=[]) == 0
        assert storage.delete(older_than=NOON) == 0
        assert storage.delete(older_than=NOON + timedelta(seconds=1)) == 1
        assert storage.delete(categories=["x"], record_ids=["2", "3"]) == 1
        storage.reset("/ab")
        assert [each.id for each in storage.list_records()] == ["4"]
        assert storage.delete() == 1
        assert storage.failures == {}
        storage.close()

    await asyncio.to_thread(work)


async def test_many_records(place: dict[str, Any]) -> None:
    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        storage.save([record(f"Fact number {n}.", id=f"{n}" + "x" * 200) for n in range(450)])
        assert storage.count() == 450
        assert storage.delete(record_ids=[f"{n}" + "x" * 200 for n in range(400)]) == 400
        assert len(storage.list_records(limit=1_000)) == 50
        assert storage.failures == {}
        storage.close()

    await asyncio.to_thread(work)


async def test_users_and_tenants_share_nothing(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.remember("Bob's door code.", namespace="crewai", key="9", visibility="tenant")

    def work() -> None:
        alice = KeepsStorage(user_id="alice", **place)
        others = [KeepsStorage(user_id="carol", **place)]
        others.append(KeepsStorage(user_id="alice", **{**place, "tenant_id": f"{tenant}-other"}))
        alice.save([record(HENS, id="1")])
        for other in others:
            assert searched(other, "hens, door code") == other.list_records() == []
            assert other.get_record("1") is other.get_record("9") is None
            assert other.delete(record_ids=["1"]) == other.delete() == 0
            other.save([record("Another one.", id="1")])
            other.reset()
        assert searched(alice, "hens, door code") == [HENS]
        assert alice.count() == 1
        for storage in (alice, *others):
            storage.close()

    await asyncio.to_thread(work)
    assert await contents(keeps, tenant, "bob") == ["Bob's door code."]


async def test_memories_of_other_programs_are_no_records(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember(HENS)

    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        assert searched(storage, "hens") == []
        assert storage.delete() == 0
        storage.close()

    await asyncio.to_thread(work)
    assert await contents(keeps, tenant) == [HENS]


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    def work() -> None:
        storage = KeepsStorage(secured_url, user_id="bob", token=token(tenant, "alice", "writer"))
        for call in (lambda: searched(storage, "hens"), lambda: storage.save([record(HENS)]), storage.count):
            with pytest.raises(ForbiddenError):
                call()
        storage.close()

    await asyncio.to_thread(work)


@pytest.mark.usefixtures("factory")
async def test_factory_makes_the_storage_of_each_user(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    def work() -> None:
        use_keeps(user_id="alice", **place)
        llm = Parrot(model="parrot")
        for spec, user in (("keeps", "alice"), ("lancedb", "alice"), ("keeps:bob", "bob")):
            memory = Memory(storage=spec, embedder=text_vectors, llm=llm)
            storage: Any = memory._storage
            assert isinstance(storage, KeepsStorage)
            assert storage.user_id == user
            memory.remember(f"Said by {user}.", scope="/", categories=["x"], importance=0.5)
            memory.close()
        assert resolve_memory_storage("./a-folder") is None, "CrewAI's own"

    await asyncio.to_thread(work)
    assert "Said by bob." in await contents(keeps, tenant, "bob")
    assert "Said by bob." not in await contents(keeps, tenant, "alice")


@own_deprecations
async def test_crew_continues_while_memory_is_away(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise UnavailableError("the database is away")

    for method in ("remember_many", "recall", "list", "find"):
        monkeypatch.setattr(f"keeps.engine.LocalMemory.{method}", away)
    storage = KeepsStorage(keeps, user_id="alice", tenant_id=tenant)

    def work() -> list[str]:
        storage.save([record(HENS)])
        assert searched(storage, "hens") == storage.list_records() == storage.list_scopes() == []
        assert storage.get_record("1") is None
        assert storage.delete() == storage.count() == 0
        return main(Parrot(model="parrot"), storage)

    with caplog.at_level(logging.WARNING, logger="keeps.integrations"):
        answers = await asyncio.to_thread(work)
    assert len(answers) == 2
    assert {"save", "search", "list_records", "list_scopes", "get_record", "delete", "count"} <= set(storage.failures)
    assert "the database is away" in caplog.text


async def test_odd_records(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    long = "Long talk about bees. " * 5_000

    def work() -> None:
        storage = KeepsStorage(user_id="alice", **place)
        storage.save([])
        storage.save(
            [
                record("nul \x00 here", id="nul\x00", scope="/\x00", categories=["\x00"], metadata={"\x00": "\ud800"}),
                record(long, id="long"),
                record(" ", id="blank"),
                record("x" * 300_000, id="too large"),
                record("Too much metadata.", id="metadata", metadata={"a": "x" * 70_000}),
                record("No JSON.", id="set", metadata={"a": {1}, "b": NOON, "c": float("nan")}),
            ]
        )
        assert storage.failures == {"save": 3}
        kept = {each.id: each for each in storage.list_records()}
        assert set(kept) == {"nul\ufffd", "long", "set"}
        assert kept["long"].content == long
        assert (kept["nul\ufffd"].content, kept["nul\ufffd"].metadata) == ("nul \ufffd here", {"\ufffd": "\ufffd"})
        assert storage.get_record("nul\x00") is not None
        assert searched(storage, "bees " * 20_000)[0] == long
        assert searched(storage, " ") == searched(storage, "") == []
        assert storage.delete(scope_prefix="/\x00", categories=["\x00"], metadata_filter={"\x00": "\ud800"}) == 1
        storage.close()

    await asyncio.to_thread(work)


async def test_methods_work_in_a_loop(place: dict[str, Any]) -> None:
    storage = KeepsStorage(user_id="alice", **place)
    await storage.asave([record(HENS, id="1")])
    assert [found.content for found, _ in await storage.asearch(vector("hens"))] == [HENS]
    assert await storage.adelete(record_ids=["1"]) == 1
    await asyncio.to_thread(storage.close)
