"""One recall over every provider: fused by rank, each key once, the truth about who failed, and in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from keeps.base.cache.breaker import Breaker
from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.providers.merging import ProviderAnswer, merge
from keeps.memory.providers.service import ProviderService
from keeps.memory.providers.working import WorkingShelves
from keeps.memory.recall.service import RecallService
from keeps.providers import Entry, Match, ProviderCapabilities, ProviderContext
from keeps.store.events.service import EventService
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models import Hit, Memory


class Notes:
    """A provider of a third party, in memory; it can be told to be slow or broken."""

    def __init__(self, name: str, context: ProviderContext, mood: dict[str, Any]) -> None:
        self._name, self._mood = name, mood
        self._held: dict[str, str] = mood.setdefault("held", {}).setdefault(
            (context.scope.tenant_id, context.scope.user_id), {}
        )

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(provider_id=self._name, tier="persistent")

    async def write(self, key: str, value: Any, metadata: Any = None) -> None:
        self._held[key] = value

    async def read(self, key: str) -> Entry | None:
        return Entry(key=key, value=self._held[key]) if key in self._held else None

    async def delete(self, key: str) -> bool:
        return self._held.pop(key, None) is not None

    async def search(self, query: str, filters: Any = None, limit: int = 10) -> list[Match]:
        self._mood["asked"] = self._mood.get("asked", 0) + 1
        if self._mood.get("broken"):
            raise RuntimeError("a defect of somebody else")
        if self._mood.get("slow"):
            await asyncio.sleep(60)
        words = set(query.lower().split())
        found = [
            Match(Entry(key=key, value=text), len(words & set(text.lower().split())))
            for key, text in self._held.items()
        ]
        return sorted((each for each in found if each.score), key=lambda each: -each.score)[:limit]

    async def list_keys(self, filters: Any = None) -> list[str]:
        return sorted(self._held)

    async def rebuild(self) -> int:
        return 0

    async def close(self) -> None: ...


@pytest.fixture
async def moods(app_url: str, shared: object) -> AsyncIterator[tuple[Keeps, dict[str, dict[str, Any]]]]:
    """An engine with two providers more: `notes` and `troubled`."""
    moods: dict[str, dict[str, Any]] = {"notes": {}, "troubled": {}}
    factories = {name: lambda context, n=name: Notes(n, context, moods[n]) for name in moods}
    async with Keeps.open(
        database_url=app_url, embedder=shared, providers=factories, provider_timeout_seconds=0.3
    ) as keeps:
        yield keeps, moods


async def test_all_tiers_are_asked_and_fused(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    memory = keeps.memory(Scope(tenant, "alice", session_id="s"))
    await memory.remember("Tea is served at five.", namespace="house", key="tea")
    await memory.write_entry("notes", "cake", "Cake with the tea on Sunday.")
    await memory.write_entry("working", "now", "The tea kettle is on.")
    found = await memory.recall("tea", explain=True)
    assert {(hit.provider_id, hit.tier, hit.memory.key) for hit in found.hits} == {
        ("working", "working", "now"),
        ("postgres", "indexed", "tea"),
        ("notes", "persistent", "cake"),
    }
    assert (found.hits[0].provider_id, found.hits[0].memory.layer) == ("working", "session"), (
        "this session's keys come first"
    )
    assert (found.partial, found.failed_providers) == (False, [])
    for hit in found.hits:
        assert hit.explanation.parts[0].name == f"provider {hit.provider_id}"
        assert hit.score == pytest.approx(sum(part.points for part in hit.explanation.parts))
    assert found.hits[0].memory.memory_id == (await memory.recall("tea")).hits[0].memory.memory_id, "ids stay"


async def test_scope_and_providers_select_sources(moods: Any, tenant: str) -> None:
    keeps, troubles = moods
    memory = keeps.memory(Scope(tenant, "alice", session_id="s"))
    await memory.remember("Tea is served at five.")
    await memory.write_entry("notes", "cake", "Cake with the tea on Sunday.")
    await memory.write_entry("working", "now", "The tea kettle is on.")

    async def who(**given: Any) -> set[str]:
        return {hit.provider_id for hit in (await memory.recall("tea", **given)).hits}

    assert await who(scope="working") == {"working"}
    assert await who(scope="persistent") == {"postgres", "notes"}
    assert await who(scope="indexed") == {"vector"}
    assert await who(scope="own") == {"working", "postgres", "notes"}
    assert await who(scope="shared") == set()
    assert await who(providers=["notes"]) == {"notes"}
    assert await who(providers=["postgres", "working"]) == {"postgres", "working"}
    assert await who(kinds=["semantic"]) == {"postgres"}, "entries have no kind, so none passes"
    asked = troubles["troubled"]["asked"]
    assert await who(providers=["postgres"]) == {"postgres"}
    assert troubles["troubled"]["asked"] == asked
    with pytest.raises(ValidationFailedError, match="nobody"):
        await memory.recall("tea", providers=["nobody"])
    other = keeps.memory(Scope(tenant, "alice", session_id="another"))
    assert "working" not in {hit.provider_id for hit in (await other.recall("tea")).hits}
    assert "working" in {
        hit.provider_id for hit in (await other.recall("tea", session_id="s", providers=["working"])).hits
    }


async def test_same_key_comes_from_nearest_tier(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    memory = keeps.memory(Scope(tenant, "alice", session_id="s"))
    await memory.remember("The plan is to sail.", namespace="trip", key="plan")
    await memory.write_entry("notes", "trip/plan", "The plan is to fly.")
    await memory.write_entry("working", "trip/plan", "The plan is to walk.")
    found = await memory.recall("plan", explain=True)
    assert [(hit.provider_id, hit.memory.content) for hit in found.hits] == [("working", "The plan is to walk.")]
    assert {part.name for part in found.hits[0].explanation.parts if part.points} == {
        "provider working",
        "provider postgres",
        "provider notes",
    }


@pytest.mark.parametrize("trouble", ["slow", "broken"])
async def test_slow_provider_is_named_after_timeout(moods: Any, tenant: str, trouble: str) -> None:
    keeps, troubles = moods
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Tea is served at five.")
    await memory.write_entry("notes", "cake", "Cake with the tea on Sunday.")
    troubles["troubled"][trouble] = True
    started = time.monotonic()
    found = await memory.recall("tea")
    assert time.monotonic() - started < 5
    assert {hit.provider_id for hit in found.hits} == {"postgres", "notes"}
    assert (found.partial, found.failed_providers) == (True, ["troubled"])
    for _ in range(4):
        found = await memory.recall("tea")
        assert (found.partial, found.failed_providers) == (True, ["troubled"]), (
            "it tells the truth while the breaker is open, too"
        )
    assert troubles["troubled"]["asked"] == 3, "after three failures it is left alone"
    states = {each.provider_id: each.state for each in await memory.list_providers()}
    assert (states["troubled"], states["notes"]) == ("failing", "active")
    others = keeps.memory(Scope(f"{tenant}-other", "alice"))
    assert {each.state for each in await others.list_providers()} == {"active"}, (
        "what fails a tenant rests for it alone"
    )
    troubles["troubled"].clear()
    keeps.service(ProviderService)._registry.health(Scope(tenant, "alice"), "troubled").breaker._until = 0.0
    assert (await memory.recall("tea")).partial is False, "it is asked again, and answers"


async def test_an_older_truth_is_shown_beside_the_newer(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    memory = keeps.memory(Scope(tenant, "alice"))
    for where, day in (("Rome", 1), ("Oslo", 2)):
        begins = datetime(2026, 1, day, tzinfo=UTC)
        await memory.remember(f"Dora lives in {where}.", namespace="home", key="dora", valid_from=begins)
    found = await memory.recall("Where does Dora live?", include_superseded=True)
    assert [hit.memory.content for hit in found.hits] == ["Dora lives in Oslo.", "Dora lives in Rome."]
    assert len((await memory.recall("Where does Dora live?")).hits) == 1


async def test_forgetting_reaches_every_provider_that_holds_the_key(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    memory = keeps.memory(Scope(tenant, "alice", session_id="s"))
    receipt = await memory.remember("The plan is to sail.", namespace="trip", key="plan")
    for name in ("notes", "working"):
        await memory.write_entry(name, "trip/plan", "The plan is to fly.")
    await memory.write_entry("notes", "trip/other", "Another plan")
    gone = await memory.forget(receipt.memory_id)
    assert (gone.status, gone.providers) == ("forgotten", ("postgres", "working", "notes"))
    assert [hit.memory.key for hit in (await memory.recall("plan")).hits] == ["trip/other"]
    only = await memory.forget(namespace="trip", key="other")
    assert (only.status, only.providers) == ("forgotten", ("notes",))
    with pytest.raises(NotFoundError):
        await memory.forget(namespace="trip", key="other")


async def test_provider_is_registered_once_per_tenant(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    for user in ("alice", "bob"):
        await keeps.memory(Scope(tenant, user)).write_entry("notes", "k", "v")
    events = await keeps.memory(Scope(tenant, "alice")).events(types=["memory.provider.registered"])
    assert [(event.data["provider_id"], event.data["tier"]) for event in events] == [("notes", "persistent")]
    infos = {each.provider_id: each for each in await keeps.memory(Scope(tenant, "alice")).list_providers()}
    assert set(infos) == {"working", "markdown", "postgres", "vector", "graph", "notes", "troubled"}
    assert infos["notes"].registered_at is not None
    assert (infos["vector"].read_only, infos["graph"].supports_graph, infos["notes"].builtin) == (True, True, False)
    with pytest.raises(NotFoundError, match="postgres"):
        await keeps.memory(Scope(tenant, "alice")).provider("nobody")


async def test_database_recall_is_one_round_trip(memory: LocalMemory, monkeypatch: Any) -> None:
    await memory.remember("Tea is served at five.")
    asked: list[str] = []
    inner = memory.keeps.service(RecallService).recall_all

    async def recall_all(scope: Any, requests: Any, **named: Any) -> Any:
        asked.extend(request.query for request in requests)
        return await inner(scope, requests, **named)

    monkeypatch.setattr(memory.keeps.service(RecallService), "recall_all", recall_all)
    monkeypatch.setattr("keeps.memory.providers.service.merge", None)
    assert len((await memory.recall("tea")).hits) == 1
    assert asked == ["tea"]


async def test_working_memory_is_bounded_by_bytes() -> None:
    from keeps.base.clock import utc_now

    shelves = WorkingShelves(utc_now, session_bytes=1_000, tenant_bytes=2_500, total_bytes=3_500)

    async def put(tenant_id: str, session_id: str, key: str, size: int) -> None:
        await shelves.of(Scope(tenant_id, "u"), session_id).write(key, "x" * size)

    session = ("t", "u", "s")
    for number in range(5):
        await put("t", "s", f"key-{number}", 300)
    shelves.get(session, "key-3")
    await put("t", "s", "key-5", 300)
    assert [held.entry.key for held in shelves.held(session)] == ["key-4", "key-3", "key-5"], (
        "the least recently used went"
    )
    await put("quiet", "q", "k", 900)
    for other in range(9):
        await put("t", str(other), "k", 900)
    assert shelves.held(session) == [], "whole sessions go, the longest unused first"
    assert shelves.get(("t", "u", "8"), "k") is not None
    await put("third", "q", "k", 900)
    assert shelves.get(("t", "u", "7"), "k") is None, "who has most makes room"
    for quiet in ("quiet", "third"):
        assert shelves.get((quiet, "u", "q"), "k") is not None, "what others put away takes nobody's"
    long = asyncio.create_task(put("quiet", "long", "k", 20_000))
    await asyncio.sleep(0)  # it is held, and its words are being counted
    assert shelves.remove_user(Scope("quiet", "u")) == 1
    await long
    assert not shelves.has(Scope("quiet", "u"), "long"), "what is erased meanwhile does not come back"
    assert not shelves.has(Scope("quiet", "u"), "q")


def test_a_breaker_rests_after_three_failures_in_a_row() -> None:
    breaker = Breaker()
    for outcome in (breaker.failed, breaker.failed, breaker.succeeded, breaker.failed, breaker.failed):
        outcome()
    assert not breaker.is_open()
    breaker.failed()
    assert breaker.is_open()


def test_merging_prefers_common_hits() -> None:
    def hit(name: str, tier: str) -> Hit:
        return Hit.model_construct(
            memory=Memory.model_construct(content=name), score=1.0, provider_id=name, tier=tier, explanation=None
        )

    one = ProviderAnswer("one", [hit("a", "indexed"), hit("b", "indexed")], ["a", "b"])
    other = ProviderAnswer("other", [hit("c", "persistent"), hit("b", "persistent")], ["c", "b"])
    merged = merge([one, other], {}, 10, explain=False)
    assert [each.memory.content for each in merged] == ["b", "a", "c"]
    assert merged[0].tier == "persistent"
    assert merge([], {}, 10, explain=True) == []
    assert len(merge([one, other], {}, 1, explain=False)) == 1


async def test_foreign_provider_events_contain_no_content(moods: Any, tenant: str) -> None:
    keeps, _ = moods
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("notes", "cake", "Cake with the tea on Sunday.")
    await memory.write_entry("notes", "trip/plan", "The plan is to fly.")
    await memory.delete_entry("notes", "cake")
    await memory.forget(namespace="trip", key="plan")
    told = [(event.type, event.subject) for event in (await memory.events())]
    assert [each for each in told if each[1].startswith("notes/")] == [
        ("memory.written", "notes/cake"),
        ("memory.written", "notes/trip/plan"),
        ("memory.deleted", "notes/cake"),
        ("memory.deleted", "notes/trip/plan"),
    ]
    assert "Sunday" not in str(await memory.events())
    assert (await keeps.service(EventService).verify(memory.scope)).equal
