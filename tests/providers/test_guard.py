"""A bad provider costs its own answers only: types, sizes, text, time, exceptions, blocking."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import numpy as np
import pytest

from keeps.base.scope import Scope
from keeps.doors.cli.checks import _providers
from keeps.engine import Keeps
from keeps.memory.providers.service import ProviderService
from keeps.providers import Entry, Match, ProviderCapabilities, ProviderContext
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, NotFoundError, UnavailableError, ValidationFailedError
from tests.serving import serving

LARGE = "word " * 2_800_000
SELF: list[Any] = []
SELF.append(SELF)


class Settable:
    """A provider whose methods do what `behaviour` says; it is one dictionary for all its objects."""

    def __init__(self, context: ProviderContext, behaviour: dict[str, Any]) -> None:
        self._behaviour = behaviour
        self._entries: dict[str, Entry] = behaviour.setdefault("entries", {}).setdefault(context.scope.user_id, {})
        self._do("init")

    def capabilities(self) -> ProviderCapabilities:
        said = self._do("capabilities")
        return ProviderCapabilities(provider_id="bad", tier="persistent") if said is None else said

    async def write(self, key: str, value: Any, metadata: Any = None) -> None:
        await self._wait("write")
        self._entries[key] = Entry(key=key, value=value, metadata=dict(metadata or {}))

    async def read(self, key: str) -> Any:
        return await self._wait("read", lambda: self._entries.get(key))

    async def delete(self, key: str) -> Any:
        return await self._wait("delete", lambda: self._entries.pop(key, None) is not None)

    async def search(self, query: str, filters: Any = None, limit: int = 10) -> Any:
        self._behaviour.setdefault("searches", []).append(filters)
        return await self._wait("search", lambda: [Match(each, 1.0) for each in self._entries.values()][:limit])

    async def list_keys(self, filters: Any = None) -> Any:
        return await self._wait("list_keys", lambda: sorted(self._entries))

    async def rebuild(self) -> Any:
        return await self._wait("rebuild", lambda: len(self._entries))

    async def close(self) -> None:
        await self._wait("close")

    def _do(self, method: str) -> Any:
        behaviour = self._behaviour.get(method)
        return behaviour() if callable(behaviour) else behaviour

    async def _wait(self, method: str, otherwise: Callable[[], Any] = lambda: None) -> Any:
        answer = self._do(method) if method in self._behaviour else otherwise()
        return await answer if asyncio.iscoroutine(answer) else answer


def raises(error: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise error

    return work


@pytest.fixture
async def opened(app_url: str, shared: object) -> AsyncIterator[tuple[Keeps, dict[str, Any]]]:
    behaviour: dict[str, Any] = {}
    released = threading.Event()
    behaviour["block"] = released.wait
    async with Keeps.open(
        database_url=app_url,
        embedder=shared,
        providers={"bad": lambda context: Settable(context, behaviour)},
        provider_timeout_seconds=0.3,
    ) as keeps:
        yield keeps, behaviour
        released.set()


def entry(**fields: Any) -> Entry:
    return Entry.model_construct(**{"key": "k", "value": "v", "metadata": {}, "updated_at": None, **fields})


def match(**fields: Any) -> list[Match]:
    return [Match(entry(**fields), 1.0)]


GOOD = Entry(key="k", value="v")
ANSWERS: dict[str, Any] = {
    "none": None,
    "text": "text",
    "generator": (each for each in match()),
    "coroutine of nothing": 5,
    "entries": [GOOD],
    "dictionaries": [{"entry": {"key": "k", "value": "v"}, "score": 1}],
    "score text": [Match(GOOD, "high")],  # type: ignore[arg-type]
    "score none": [Match(GOOD, None)],  # type: ignore[arg-type]
    "score bool": [Match(GOOD, True)],
    "score nan": [Match(GOOD, math.nan)],
    "score infinite": [Match(GOOD, math.inf)],
    "score huge": [Match(GOOD, 10**400)],
    "score complex": [Match(GOOD, 1j)],  # type: ignore[arg-type]
    "no entry": [Match("k", 1.0)],  # type: ignore[arg-type]
    "surrogate in value": match(value="\ud800"),
    "surrogate in key": match(key="\ud800"),
    "surrogate in metadata": match(metadata={"a": ["\udfff"]}),
    "surrogate as a name": match(value={"\ud800": 1}),
    "nul": match(value="a\x00b"),
    "key number": match(key=5),
    "key bytes": match(key=b"k"),
    "key empty": match(key=""),
    "key long": match(key="k" * 400),
    "value object": match(value=object()),
    "value set": match(value={1}),
    "value bytes": match(value=b"x"),
    "value nan": match(value=math.nan),
    "value int names": match(value={1: 2}),
    "value of itself": match(value=SELF),
    "metadata list": match(metadata=[1]),
    "metadata large": match(metadata={"a": "x" * 70_000}),
    "time text": match(updated_at="yesterday"),
    "time number": match(updated_at=5),
    "value large": match(value=LARGE),
    "many values": match(value=[0] * 1_000_000),
    "together too large": [Match(entry(key=str(n), value="x" * 250_000), 1.0) for n in range(100)],
    "too many": [Match(entry(key=str(n)), 1.0) for n in range(5_000)],
    "half an entry": [Match(Entry.model_construct(key="k"), "x")],  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_wrong_search_answer_is_a_failed_provider(opened: Any, tenant: str, name: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Tea is served at five.")
    behaviour["search"] = lambda: ANSWERS[name]
    found = await memory.recall("tea", limit=200 if name == "together too large" else 10)
    assert [hit.memory.content for hit in found.hits] == ["Tea is served at five."]
    assert (found.failed_providers, found.partial) == (["bad"], True)
    assert "Tea is served" in (await memory.context("tea")).text
    found.model_dump_json()


async def test_numbers_of_numpy_are_scores(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    behaviour["search"] = lambda: (Match(GOOD, cast("float", np.float32(0.5))), Match(entry(key="other"), 2))
    found = await memory.recall("tea")
    assert [(hit.memory.key, hit.provider_id) for hit in found.hits] == [("k", "bad"), ("other", "bad")]
    found.model_dump_json()


FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "error": lambda _: raises(RuntimeError("defect")),
    "unprintable": lambda _: raises(Unprintable()),
    "exit": lambda _: raises(SystemExit(1)),
    "interrupt": lambda _: raises(KeyboardInterrupt()),
    "cancelled": lambda _: raises(asyncio.CancelledError()),
    "recursion": lambda _: raises(RecursionError()),
    "memory": lambda _: raises(MemoryError()),
    "group": lambda _: raises(BaseExceptionGroup("many", [ValueError(), KeyboardInterrupt()])),
    "surrogate in a refusal": lambda _: raises(ValidationFailedError("\ud800 is wrong")),
    "slow": lambda _: lambda: asyncio.sleep(60),
    "blocking": lambda behaviour: behaviour["block"],
}


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method in ("search", "init", "capabilities") for name in FAULTS if name != "slow"]
    + [("search", "slow")],
)
async def test_fault_in_recall_costs_its_own_answers(opened: Any, tenant: str, name: str, method: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Tea is served at five.")
    behaviour[method] = FAULTS[name](behaviour)
    found = await memory.recall("tea")
    assert [hit.memory.content for hit in found.hits] == ["Tea is served at five."]
    assert found.failed_providers == ["bad"]
    if name != "blocking":
        del behaviour[method]
        assert (await memory.recall("tea")).failed_providers == [], "it is asked again, and answers"


async def test_loop_goes_on_while_a_provider_blocks(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Tea is served at five.")
    blocked = threading.Event()

    def block() -> None:
        blocked.set()
        behaviour["block"]()

    behaviour["search"] = block
    recall = asyncio.create_task(memory.recall("tea"))
    await asyncio.to_thread(blocked.wait)
    assert (await memory.recall("tea", providers=["postgres"])).hits
    assert (await recall).failed_providers == ["bad"]


DIRECT: dict[str, Callable[[Any], Any]] = {
    "write": lambda memory: memory.write_entry("bad", "k", "v"),
    "read": lambda memory: memory.read_entry("bad", "k"),
    "delete": lambda memory: memory.delete_entry("bad", "k"),
    "rebuild": lambda memory: memory.rebuild_provider("bad"),
}
WRONG: dict[str, list[Any]] = {
    "write": [],
    "read": [
        "text",
        entry(key="other"),
        entry(value="\ud800"),
        entry(value=LARGE),
        {"key": "k"},
        entry(value=object()),
    ],
    "delete": [None, 1, "yes"],
    "rebuild": [None, -1, "5", True, 1.5, 10**30],
}


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize("name", [name for name in FAULTS if name != "surrogate in a refusal"])
async def test_fault_in_a_direct_call_is_unavailable(
    opened: Any, tenant: str, method: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.memory.providers.calls.REBUILD_SECONDS", 0.3)
    monkeypatch.setattr("keeps.memory.providers.calls.DIRECT_FACTOR", 1)
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "k", "v")
    behaviour[method] = FAULTS[name](behaviour)
    with pytest.raises(UnavailableError, match="the provider bad failed"):
        await DIRECT[method](memory)


@pytest.mark.parametrize(("method", "answer"), [(method, each) for method in WRONG for each in WRONG[method]])
async def test_wrong_answer_of_a_direct_call_is_unavailable(opened: Any, tenant: str, method: str, answer: Any) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "k", "v")
    behaviour[method] = lambda: answer
    with pytest.raises(UnavailableError, match="the provider bad failed"):
        await DIRECT[method](memory)


@pytest.mark.parametrize("answer", [None, "k", [1], ["\ud800"], [""], {"k"}, ["k" * 400]])
async def test_wrong_keys_are_unavailable_and_left_in_an_erasure(opened: Any, tenant: str, answer: Any) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "k", "v")
    behaviour["list_keys"] = lambda: answer
    with pytest.raises(UnavailableError):
        await (await memory.provider("bad")).list_keys()
    receipt = await memory.admin.erase_user("alice")
    assert receipt.remaining["provider bad"] == 1


async def test_refusals_of_a_provider_are_passed_on(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    for error in (ValidationFailedError("\ud800 is wrong"), ForbiddenError("no"), NotFoundError("x" * 10_000)):
        behaviour["write"] = raises(error)
        for _ in range(4):
            with pytest.raises(type(error)) as caught:
                await memory.write_entry("bad", "k", "v")
            caught.value.detail.encode()
            assert len(caught.value.detail) <= 500
    assert {each.state for each in await memory.list_providers()} == {"active"}


@pytest.mark.parametrize("method", ["init", "capabilities"])
async def test_provider_that_cannot_be_opened_is_listed_as_failing(opened: Any, tenant: str, method: str) -> None:
    keeps, behaviour = opened
    behaviour[method] = raises(RuntimeError("no licence for postgres://u:secret@host"))
    async with serving(keeps) as url, MemoryClient(url, tenant_id=tenant, user_id="alice") as client:
        infos = {each.provider_id: each for each in await client.list_providers()}
        with pytest.raises(UnavailableError):
            await client.write_entry("bad", "k", 1)
    bad = infos.pop("bad")
    assert bad.state == "failing"
    assert "RuntimeError: no licence" in bad.problems["provider"]
    assert "secret" not in bad.problems["provider"]
    assert {each.state for each in infos.values()} == {"active"}


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        {"provider_id": "bad", "tier": "persistent"},
        ProviderCapabilities.model_construct(provider_id="bad", tier="other"),
        ProviderCapabilities.model_construct(provider_id="bad", tier="persistent", content_types=("\ud800",)),
        ProviderCapabilities.model_construct(provider_id="bad", tier="persistent", content_types=5),
    ],
)
async def test_wrong_capabilities_are_a_failed_provider(opened: Any, tenant: str, answer: Any) -> None:
    keeps, behaviour = opened
    behaviour["capabilities"] = lambda: answer
    memory = keeps.memory(Scope(tenant, "alice"))
    infos = {each.provider_id: each for each in await memory.list_providers()}
    assert infos["bad"].state == "failing"
    assert "capabilities" in infos["bad"].problems["provider"]
    assert (await memory.recall("tea")).failed_providers == ["bad"]


async def test_provider_has_its_installed_name(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    behaviour["capabilities"] = lambda: ProviderCapabilities(provider_id="postgres", tier="persistent")
    infos = await keeps.memory(Scope(tenant, "alice")).list_providers()
    assert [each.provider_id for each in infos].count("postgres") == 1
    assert "bad" in [each.provider_id for each in infos]


@pytest.mark.parametrize("tier", ["working", "persistent", "indexed"])
async def test_declared_tier_selects_providers(opened: Any, tenant: str, tier: Any) -> None:
    keeps, behaviour = opened
    behaviour["capabilities"] = lambda: ProviderCapabilities(provider_id="bad", tier=tier)
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "k", "Tea is served at five.")
    for scope in ("working", "persistent", "indexed"):
        hits = (await memory.recall("tea", scope=scope)).hits
        assert [hit.tier for hit in hits if hit.provider_id == "bad"] == ([tier] if scope == tier else [])
    assert len(behaviour["searches"]) == 1


async def test_read_only_provider_is_not_written(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    behaviour["entries"] = {"alice": {"k": Entry(key="k", value="v")}}
    behaviour["capabilities"] = lambda: ProviderCapabilities(provider_id="bad", tier="persistent", read_only=True)
    memory = keeps.memory(Scope(tenant, "alice"))
    held = await memory.provider("bad")
    for work in (memory.write_entry("bad", "k", "x"), held.write("k", "x"), memory.delete_entry("bad", "k")):
        with pytest.raises(ForbiddenError):
            await work
    assert (await memory.read_entry("bad", "k")).value == "v"
    with pytest.raises(ForbiddenError):
        await memory.delete_entry("vector", "k")


async def test_declared_content_types_are_enforced(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    types: tuple[str, ...] = ("profile", "event")
    behaviour["capabilities"] = lambda: ProviderCapabilities(provider_id="bad", tier="persistent", content_types=types)
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "k", "tea", metadata={"content_type": "event"})
    for metadata in ({"content_type": "fact"}, {"content_type": 5}, {}):
        with pytest.raises(ValidationFailedError, match="profile, event"):
            await memory.write_entry("bad", "k", "v", metadata=metadata)
    assert (await memory.recall("tea", content_types=["fact"])).hits == []
    assert "searches" not in behaviour
    assert (await memory.recall("tea", content_types=["fact", "event"])).hits
    with pytest.raises(ValidationFailedError, match="entity"):
        await memory.write_entry("graph", "k", "v", metadata={"content_type": "fact"})
    types = ("note",)
    other = keeps.memory(Scope(tenant, "bob"))
    written = await other.write_entry("bad", "k", "tea")
    assert written.metadata == {"content_type": "note"}


async def test_writes_by_a_handle_are_in_the_log(opened: Any, tenant: str) -> None:
    keeps, _ = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    held = await memory.provider("bad")
    await held.write("k", "v")
    assert await held.delete("k")
    assert not await held.delete("k")
    events = await memory.events(types=["memory.written", "memory.deleted"])
    assert [(event.type, event.subject) for event in events] == [
        ("memory.written", "bad/k"),
        ("memory.deleted", "bad/k"),
    ]
    await held.close()
    await held.write("again", "v")


@pytest.mark.parametrize("name", ["error", "exit", "slow", "blocking"])
async def test_close_ends_whatever_a_provider_does(
    app_url: str, shared: object, tenant: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.memory.providers.foreign.CLOSE_SECONDS", 0.1)
    monkeypatch.setattr("keeps.memory.providers.registry.CLOSE_SECONDS", 0.1)
    released = threading.Event()
    behaviour: dict[str, Any] = {"block": released.wait}
    factory = {"bad": lambda context: Settable(context, behaviour)}
    async with Keeps.open(database_url=app_url, embedder=shared, providers=factory) as keeps:
        await keeps.memory(Scope(tenant, "alice")).write_entry("bad", "k", "v")
        behaviour["close"] = FAULTS[name](behaviour)
    released.set()


async def test_doctor_names_a_provider_that_cannot_be_opened(opened: Any) -> None:
    keeps, behaviour = opened
    assert await _providers(keeps) == []
    await keeps.service(ProviderService).close()
    behaviour["init"] = raises(RuntimeError("no licence"))
    (check,) = await _providers(keeps)
    assert (check.state, "no licence" in check.finding) == ("failed", True)


async def test_package_that_cannot_be_loaded_is_listed(
    app_url: str, shared: object, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import EntryPoint

    broken = EntryPoint("broken", "no_such_package:Provider", "keeps.providers")
    monkeypatch.setattr("keeps.memory.providers.registry.entry_points", lambda group: [broken])
    async with Keeps.open(database_url=app_url, embedder=shared) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        infos = {each.provider_id: each for each in await memory.list_providers()}
        assert infos["broken"].state == "failing"
        assert "no_such_package" in infos["broken"].problems["provider"]
        await memory.remember("Tea is served at five.")
        assert (await memory.recall("tea")).hits


@pytest.mark.parametrize("hard", [True, False], ids=["hard", "soft"])
@pytest.mark.parametrize("fault", ["raises", "hangs", "rests"])
@pytest.mark.parametrize("by_key", [True, False], ids=["key", "id"])
async def test_nothing_is_forgotten_before_every_provider_can(
    opened: tuple[Keeps, dict[str, Any]], tenant: str, fault: str, by_key: bool, hard: bool, monkeypatch: Any
) -> None:
    keeps, behaviour = opened
    monkeypatch.setattr("keeps.memory.providers.calls.DIRECT_FACTOR", 1)
    memory = keeps.memory(Scope(tenant, "alice"))
    stored = await memory.remember("The code is 4711.", namespace="notes", key="code")
    await (await memory.provider("bad")).write("notes/code", "The code is 4711.")
    wanted: Any = {"namespace": "notes", "key": "code"} if by_key else {"memory_id": stored.memory_id}
    if fault == "hangs":
        behaviour["delete"] = lambda: asyncio.sleep(60)
    elif fault == "raises":
        behaviour["delete"] = raises(OSError("gone"))
    else:
        health = keeps.service(ProviderService)._registry.health(Scope(tenant, "alice"), "bad")
        while not health.breaker.is_open():
            health.failed("it fails")
    with pytest.raises(UnavailableError, match="bad"):
        await memory.forget(**wanted, hard=hard)
    assert (await memory.get(stored.memory_id)).deleted_at is None
    behaviour.pop("delete", None)
    keeps.service(ProviderService)._registry.health(Scope(tenant, "alice"), "bad").succeeded()
    done = await memory.forget(**wanted, hard=hard)
    assert (done.status, set(done.providers)) == ("forgotten", {"postgres", "bad"})
    assert not (await memory.recall("code")).hits


async def test_forget_needs_all_providers(opened: tuple[Keeps, dict[str, Any]], tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    stored = await memory.remember("The code is 4711.", namespace="notes", key="a/code")
    behaviour["delete"] = raises(OSError("gone"))
    with pytest.raises(UnavailableError, match="bad"):
        await memory.forget_keys("notes", "a", hard=True)
    assert (await memory.get(stored.memory_id)).deleted_at is None


async def test_receipt_lists_read_only_providers(opened: tuple[Keeps, dict[str, Any]], tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    behaviour["capabilities"] = ProviderCapabilities(provider_id="bad", tier="persistent", read_only=True)
    behaviour["entries"] = {"alice": {"notes/code": Entry(key="notes/code", value="The code is 4711.")}}
    for key, kept in (("code", ("bad",)), ("other", ())):
        await memory.remember(f"The {key} is 4711.", namespace="notes", key=key)
        done = await memory.forget(namespace="notes", key=key, hard=True)
        assert (done.providers, done.failed_providers) == (("postgres",), kept)
