"""Recall from arrays: the same hits in the same order with the same numbers as from the database."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall import index, index_source, shared, store
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.conditions import select
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.service import RecallService
from keeps_client.models import RecallRequest
from tests.embedding import HashedWords

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = (
    "harbour lamp winter copper garden letter signal orchard engine river bridge tomato field morning rain book farm"
    " weight dinner guitar ticket doctor budget deadline"
).split()
NAMES = "Nina Jürgen Aoife Przybylski".split()


class SetClock:
    """A clock that stands still until it is set on."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def arrays(app_url: str, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keeps]:
    """An engine that answers from arrays once it has been asked."""
    monkeypatch.setattr("keeps.memory.recall.indexes.REST", 0)
    async with Keeps.open(database_url=app_url, embedder=HashedWords(), clock=clock) as keeps:
        yield keeps


@pytest.fixture
async def plain(app_url: str, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keeps]:
    """An engine that always answers from the database."""
    async with Keeps.open(database_url=app_url, embedder=HashedWords(), clock=clock) as keeps:
        monkeypatch.setattr(keeps.service(AudienceIndexes), "note", lambda _: None)
        # Vectors come when the test says so.
        monkeypatch.setattr(keeps.service(MemoryService), "_notice", lambda _: None)
        yield keeps


async def held(keeps: Keeps, scope: Scope) -> None:
    """Have the audiences of a scope held."""
    indexes = keeps.service(AudienceIndexes)
    for _ in range(2):
        indexes.note(scope)
    await indexes.settle()
    with indexes.reading(scope) as both:
        assert both is not None


async def answers(keeps: Keeps, scope: Scope, request: RecallRequest) -> tuple[list[dict[str, Any]], bool]:
    found = await keeps.service(RecallService).recall(scope, request, counted=False)
    return [hit.model_dump() for hit in found.hits], found.nothing_known


async def both_answers(plain: Keeps, arrays: Keeps, scope: Scope, request: RecallRequest) -> tuple[Any, Any]:
    """Return the answers of both, of one state: another engine of the run may have stored a vector in between."""
    while True:
        expected = await answers(plain, scope, request)
        got = await answers(arrays, scope, request)
        if expected == await answers(plain, scope, request):
            return expected, got


def differences(got: Any, expected: Any, where: str = "") -> Iterator[str]:
    """Yield where two answers differ, for the message of a failed test."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for name in expected:
            yield from differences(got.get(name), expected[name], f"{where}.{name}")
    elif isinstance(got, list | tuple) and isinstance(expected, list | tuple) and len(got) == len(expected):
        for number, (one, other) in enumerate(zip(got, expected, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif got != expected:
        yield f"{where}: {got!r} instead of {expected!r}"


def text_of(chance: random.Random) -> str:
    some = " ".join(chance.choices(WORDS, k=chance.randint(3, 12)))
    return chance.choice(
        [
            f"I moved the {some}.",
            f"I prefer {some} and never {chance.choice(WORDS)}",
            f"The deadline of {chance.choice(WORDS)} is {chance.choice(NAMES)} {chance.randint(1, 9)}",
            f"When did {chance.choice(NAMES)} see the {some}?",
            f"We increased the budget to ${chance.randint(100, 900)} for {some}.",
            f"{chance.choice(NAMES)} said: {some}",
            f"{some} " * chance.choice((1, 1, 30)),
        ]
    )


def memory_of(chance: random.Random, number: int) -> dict[str, Any]:
    said: dict[str, Any] = {"content": f"{text_of(chance)} {number}", "kind": chance.choice(["semantic", "episodic"])}
    if chance.random() < 0.6:
        said["session_id"] = f"s{number // 9}"
        said["role"] = chance.choice(["user", "assistant"])
    if chance.random() < 0.4:
        said["metadata"] = {"speaker": chance.choice(NAMES)}
    if chance.random() < 0.3:
        said["visibility"] = "tenant"
    if chance.random() < 0.2:
        said["valid_from"] = START - timedelta(hours=chance.randint(1, 900))
    if chance.random() < 0.1:
        said["expires_at"] = START + timedelta(minutes=chance.randint(1, 30))
    if chance.random() < 0.1:
        said |= {"namespace": "facts", "key": f"k{chance.randint(1, 9)}"}
    said["importance"] = chance.random()
    said["agent_id"] = chance.choice([None, "one", "two"])
    return said


def request_of(chance: random.Random) -> RecallRequest:
    words = " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
    query = chance.choice(
        [
            f"When did {chance.choice(NAMES)} see the {words}?",
            f"What is the deadline of {chance.choice(WORDS)}?",
            f"What is the budget for {words}?",
            f"Can you recommend a {words}?",
            f"przybilski harbuor {words}",
            "facts/k3",
            words,
            f"{words} in February 2026",
        ]
    )
    narrowed: dict[str, Any] = chance.choice(
        [
            {},
            {},
            {},
            {"kinds": ("episodic",)},
            {"agent_id": "one", "min_importance": 0.3},
            {"session_id": f"s{chance.randint(0, 9)}"},
            {"since": START - timedelta(hours=400), "until": START - timedelta(hours=20)},
            {"valid_at": START - timedelta(hours=100)},
            {"include_superseded": True, "include_archived": True},
            {"scope": chance.choice(["own", "shared", "persistent", "indexed"])},
            {"layers": ("short_term",), "namespace": None},
            {"namespace": "facts"},
            {"rerank": False},
        ]
    )
    return RecallRequest(query=query, limit=chance.choice([1, 5, 10, 40]), explain=chance.random() < 0.5, **narrowed)


async def change(keeps: Keeps, scope: Scope, chance: random.Random, number: int) -> None:
    """Do something that changes what recall finds."""
    memory = keeps.memory(scope)
    listed = (await memory.list(limit=100)).items
    known = [each.memory_id for each in listed if each.user_id == scope.user_id]
    match chance.randrange(9) if known else 0:
        case 0 | 1:
            batch = [memory_of(chance, number * 100 + each) for each in range(chance.randint(1, 6))]
            await memory.remember_many(batch, index=chance.choice(["now", "later"]))
        case 2:
            await memory.update(chance.choice(known), content=text_of(chance))
        case 3:
            await memory.update(chance.choice(known), visibility=chance.choice(["private", "tenant"]))
        case 4:
            await memory.forget(chance.choice(known), hard=chance.random() < 0.5)
        case 5:
            gone = chance.choice(known)
            await memory.forget(gone)
            if chance.random() < 0.5:
                await memory.restore(gone)
        case 6:
            await memory.update(chance.choice(known), importance=chance.random())
        case 7:
            turns = [{"role": role, "content": text_of(chance)} for role in ("user", "assistant")]
            await memory.store_exchange(turns, session_id=f"said-{number}")
        case _:
            await keeps.service(Indexer).index_user(scope)


@pytest.mark.parametrize("seed", range(8))
async def test_arrays_give_the_hits_of_the_database_to_the_last_digit(
    arrays: Keeps, plain: Keeps, clock: SetClock, tenant: str, seed: int
) -> None:
    chance = random.Random(seed)
    alice, bob = Scope(tenant, "alice"), Scope(tenant, "bob")
    for scope in (alice, bob):
        await plain.memory(scope).remember_many([memory_of(chance, number) for number in range(120)], index="now")
        await held(arrays, scope)
    compared = 0
    for number in range(16):
        await change(plain, chance.choice([alice, bob]), chance, number)
        clock.now += timedelta(minutes=chance.randint(0, 3))
        for scope in (alice, bob):
            request = request_of(chance)
            expected, got = await both_answers(plain, arrays, scope, request)
            assert got == expected, "\n".join([str(number), repr(request), *list(differences(got, expected))[:9]])
            compared += len(expected[0])
    assert compared > 50
    cache = arrays.core.metrics.cache
    answered = cache.labels("audiences", "hit")._value.get()  # noqa: SLF001
    asked = answered + cache.labels("audiences", "miss")._value.get()  # noqa: SLF001
    assert answered >= 0.8 * asked >= 20, "the arrays have answered, not the database"


@pytest.mark.parametrize("entries", [100_000, 500])
async def test_words_of_many_memories_are_skipped_alike(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    for module in (store, index_source, shared):
        monkeypatch.setattr(module, "COMMON_FROM", 100)
    for module in (store, index_source):
        monkeypatch.setattr(module, "MOST_ENTRIES", entries)
    chance, scope = random.Random(5), Scope(tenant, "alice")
    said = [
        {
            "content": f"harbour {'report ' * (number % 3 > 0)}{text_of(chance)} {number}",
            "kind": "episodic",
            "session_id": f"s{number // 200}",
            "visibility": "tenant" if number % 7 == 0 else "private",
        }
        for number in range(900)
    ]
    await plain.memory(scope).remember_many(said, index="now")
    await held(arrays, scope)
    narrowed: list[dict[str, Any]] = [{}, {"kinds": ("episodic",)}, {"scope": "persistent"}, {"limit": 60}]
    for number in range(12):
        query = f"harbour report {chance.choice(WORDS)} {number}"
        for more in narrowed:
            request = RecallRequest(query=query, explain=True, **more)
            got, expected = await answers(arrays, scope, request), await answers(plain, scope, request)
            assert got == expected, list(differences(got, expected))[:9]
        await plain.memory(scope).remember(f"harbour {query} once more", session_id="s1", kind="episodic")


async def test_other_processes_readings_are_known_soon(
    arrays: Keeps, plain: Keeps, clock: SetClock, tenant: str
) -> None:
    scope = Scope(tenant, "alice")
    for number in range(4):
        await plain.memory(scope).remember(f"the harbour keeps boat {number}", kind="episodic", importance=0.1)
    await held(arrays, scope)
    clock.now += timedelta(days=2)
    asked = RecallRequest(query="what does the harbour keep", explain=True)
    found = await plain.service(RecallService).recall(scope, asked)
    plain.service(AccessBuffer).add(scope, [found.hits[2].memory_id], clock.now)
    await plain.service(AccessBuffer).flush()
    await arrays.service(AudienceIndexes).sweep()
    assert await answers(arrays, scope, asked) == await answers(plain, scope, asked)


async def test_small_changes_are_applied_without_reading_the_audience_again(
    arrays: Keeps, plain: Keeps, tenant: str
) -> None:
    """Also what others shared and removed, which no event that this user may see tells."""
    alice, bob = Scope(tenant, "alice"), Scope(tenant, "bob")
    shared = [
        (await plain.memory(alice).remember(f"the harbour keeps boat {number}", visibility="tenant")).memory_id
        for number in range(6)
    ]
    await plain.memory(bob).remember("my harbour keeps nothing")
    await held(arrays, bob)
    with arrays.service(AudienceIndexes).reading(bob) as before:
        assert before is not None
    memory = plain.memory(alice)
    for change in (
        lambda: memory.forget(shared[0], hard=True),
        lambda: memory.forget(shared[1]),
        lambda: memory.update(shared[2], visibility="private"),
        lambda: memory.update(shared[3], content="the harbour keeps a ship"),
        lambda: memory.remember("the harbour keeps a raft", visibility="tenant"),
    ):
        await change()
        asked = RecallRequest(query="what does the harbour keep", limit=40)
        assert await answers(arrays, bob, asked) == await answers(plain, bob, asked)
        with arrays.service(AudienceIndexes).reading(bob) as after:
            assert after is not None
            assert after[0] is before[0]
            assert after[1] is before[1]


async def test_arrays_stay_within_their_bound(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    """The users who have not asked for longest go first; an audience of over half the bound is not held."""
    indexes = arrays.service(AudienceIndexes)
    scopes = [Scope(tenant, f"user-{number}") for number in range(3)]
    for scope in scopes:
        said = [{"content": f"the harbour keeps {scope.user_id}'s boat {number}"} for number in range(60)]
        await plain.memory(scope).remember_many(said, index="now")
    await held(arrays, scopes[0])
    each = indexes.size
    indexes.room = int(2.5 * each)
    await held(arrays, scopes[1])
    await held(arrays, scopes[2])
    assert indexes.size <= indexes.room
    for scope, there in zip(scopes, (False, True, True), strict=True):
        with indexes.reading(scope) as both:
            assert (both is not None) == there
    indexes.room = each
    for _ in range(3):
        indexes.note(scopes[0])
        await indexes.settle()
    with indexes.reading(scopes[0]) as both:
        assert both is None
    asked = RecallRequest(query="what does the harbour keep")
    assert await answers(arrays, scopes[0], asked) == await answers(plain, scopes[0], asked)


async def test_tidy_arrays_answer_as_before(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LEAST_TAIL", 10)
    chance, scope = random.Random(7), Scope(tenant, "alice")
    await plain.memory(scope).remember_many([memory_of(chance, number) for number in range(60)], index="now")
    await held(arrays, scope)
    indexes = arrays.service(AudienceIndexes)
    for number in range(3):
        await plain.memory(scope).remember_many([memory_of(chance, 100 * (number + 1) + each) for each in range(30)])
        for memory in (await plain.memory(scope).list(limit=20)).items[::4]:
            await plain.memory(scope).update(memory.memory_id, content=text_of(chance))
        for again in range(2):
            request = request_of(chance)
            expected, got = await both_answers(plain, arrays, scope, request)
            assert got == expected
            with indexes.reading(scope) as both:
                assert both is not None
                mine = both[1]
            assert mine.is_untidy or again or number
            await indexes.sweep()
            assert not mine.is_untidy or mine.is_wasteful
            await held(arrays, scope)


async def test_arrays_that_are_dropped_while_they_change_cost_nothing_but_themselves(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by an erasure in the same process, between two statements that bring them up to date."""
    scope = Scope(tenant, "alice")
    await plain.memory(scope).remember("the harbour keeps a boat")
    await held(arrays, scope)
    await plain.memory(scope).remember("the harbour keeps a ship")
    inner = store.index_changes

    async def dropped(*values: Any) -> Any:
        arrays.service(AudienceIndexes).forget(tenant)
        return await inner(*values)

    monkeypatch.setattr(store, "index_changes", dropped)
    asked = RecallRequest(query="what does the harbour keep")
    assert len((await arrays.service(RecallService).recall(scope, asked)).hits) == 2


async def test_question_that_is_overtaken_by_a_change_sees_its_own_moment(
    arrays: Keeps, plain: Keeps, tenant: str
) -> None:
    """Another question brings the arrays up to date while this one is being answered."""
    scope = Scope(tenant, "alice")
    first = await plain.memory(scope).remember("the harbour keeps a boat", importance=0.2)
    await plain.memory(scope).remember("the harbour keeps a lamp")
    await held(arrays, scope)
    indexes = arrays.service(AudienceIndexes)
    with indexes.reading(scope) as both:
        assert both is not None
        selection = select(RecallRequest(query="harbour"), scope, START)
        source = index_source.IndexSource(both, selection, vectors=True)
        before = (await source.words(["harbour"], whole=True)).positions
        await plain.memory(scope).update(first.memory_id, importance=0.9)
        await plain.memory(scope).remember_many([{"content": f"the harbour keeps ship {n}"} for n in range(40)])
        assert await indexes.catch_up(scope)
        assert (await source.words(["harbour"], whole=True)).positions.tolist() == before.tolist()
        assert (await source.rows(before, set())).table["importance"].min() == pytest.approx(0.2)
        assert "ship" not in {word for each in await source.vocabularies([""]) for word in each.words}
    assert len((await arrays.service(RecallService).recall(scope, RecallRequest(query="harbour", limit=60))).hits) == 42
