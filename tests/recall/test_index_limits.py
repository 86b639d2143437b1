"""Arrays at their limits: of changes that are read, of memory, and of what a question sees while they change."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall import indexes, store
from keeps.memory.recall.indexes import AudienceIndexes
from keeps_client.models import RecallRequest
from tests.recall.test_index import answers, arrays, clock, held, plain

__all__ = ["arrays", "clock", "plain"]


async def contents(keeps: Keeps, scope: Scope, question: str, **more: Any) -> list[str]:
    return [hit.memory.content for hit in (await keeps.memory(scope).recall(question, limit=5, **more)).hits]


async def test_shared_change_after_many_events_of_others_is_found(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "MOST_CHANGES", 20)
    alice, bob, eve = (Scope(tenant, user) for user in ("alice", "bob", "eve"))
    wombat = await plain.memory(alice).remember("the harbour keeps a wombat", visibility="tenant", index="now")
    await plain.memory(bob).remember("my lamp is here", index="now")
    await held(arrays, bob)
    await plain.memory(eve).remember_many([{"content": f"my ticket {number}"} for number in range(250)], index="now")
    await plain.memory(alice).forget(wombat.memory_id, hard=True)
    await plain.memory(alice).remember("the harbour keeps a platypus", visibility="tenant", index="now")
    assert (await contents(arrays, bob, "platypus"))[0] == "the harbour keeps a platypus"


@pytest.mark.parametrize("changes", [21, 201])
async def test_own_change_after_many_of_another_memory_is_found(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    monkeypatch.setattr(indexes, "MOST_CHANGES", 20)
    memory = plain.memory(Scope(tenant, "bob"))
    wombat = await memory.remember("the harbour keeps a wombat", index="now", importance=0.1)
    lamp = await memory.remember("my lamp is here", index="now")
    await held(arrays, memory.scope)
    for number in range(changes):
        await memory.update(lamp.memory_id, importance=0.3 + (number % 50) / 100)
    await memory.update(wombat.memory_id, importance=0.95)
    found = await contents(arrays, memory.scope, "wombat", min_importance=0.9)
    assert found == ["the harbour keeps a wombat"]


async def test_words_prepared_for_comparison_count(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    scope = Scope(tenant, "alice")
    words = ["".join(letters) for letters in product("abcdefghijklmno", repeat=3)]
    said = [{"content": " ".join(f"{word}tram" for word in words[number::30])} for number in range(30)]
    await plain.memory(scope).remember_many(said, index="now")
    await held(arrays, scope)
    held_indexes = arrays.service(AudienceIndexes)
    before = held_indexes.size
    with held_indexes.reading(scope) as both:
        assert both is not None
        await answers(arrays, scope, RecallRequest(query="abxctram abxctram", scope="persistent"))
    assert held_indexes.size > before + 100_000
    assert held_indexes.size == sum(each.index.size for each in held_indexes._held.values())  # noqa: SLF001


async def test_audience_larger_than_estimated_is_given_up(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "BYTES_OF_A_MEMORY", 1)
    monkeypatch.setattr(indexes, "BYTES_OF_A_WORD", 0)
    monkeypatch.setattr(indexes, "PLACES_AT_ONCE", 20)
    small, large = Scope(tenant, "bob"), Scope(tenant, "alice")
    await plain.memory(small).remember("the harbour keeps a boat", index="now")
    said = [{"content": f"the harbour keeps boat {number} in the garden"} for number in range(300)]
    await plain.memory(large).remember_many(said, index="now")
    held_indexes = arrays.service(AudienceIndexes)
    held_indexes.room = 400_000
    await held(arrays, small)
    reads: list[int] = []
    inner = store.index_rows

    async def counted(*values: Any) -> Any:
        reads.append(1)
        return await inner(*values)

    monkeypatch.setattr(store, "index_rows", counted)
    for _ in range(4):
        held_indexes.note(large)
        await held_indexes.settle()
    assert 0 < len(reads) < 300 / 20, "reading stops at the limit, and is not tried again"
    assert held_indexes.size <= held_indexes.room // 2
    with held_indexes.reading(small) as both:
        assert both is not None, "what others hold stays"


@pytest.mark.parametrize("superseded", [False, True])
async def test_question_during_a_change_waits_for_it(
    arrays: Keeps, plain: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, superseded: bool
) -> None:
    alice, bob = Scope(tenant, "alice"), Scope(tenant, "bob")
    said = [{"content": f"the harbour keeps boat {number}", "visibility": "tenant"} for number in range(6)]
    first, *_ = await plain.memory(alice).remember_many(said, index="now")
    await plain.memory(bob).remember("my harbour keeps nothing", index="now")
    await held(arrays, bob)
    going, seen = asyncio.Event(), asyncio.Event()
    inner = store.index_ids

    async def slow(*values: Any) -> Any:
        read = await inner(*values)
        seen.set()
        await going.wait()
        return read

    monkeypatch.setattr(store, "index_ids", slow)
    await plain.memory(alice).forget(first.memory_id, hard=True)
    more = [{"content": f"the harbour keeps raft {number}", "visibility": "tenant"} for number in range(40)]
    await plain.memory(alice).remember_many(more, index="now")
    change = asyncio.create_task(arrays.service(AudienceIndexes).catch_up(bob))
    await seen.wait()
    request = RecallRequest(query="harbour raft", limit=60, include_superseded=superseded)
    question = asyncio.create_task(answers(arrays, bob, request))
    for _ in range(20):
        await asyncio.sleep(0)
    going.set()
    assert await change
    assert len((await question)[0]) == 46


async def test_question_without_a_vector_is_answered_alike(
    arrays: Keeps, plain: Keeps, tenant: str, clock: Any
) -> None:
    memory = plain.memory(Scope(tenant, "alice"))
    await memory.remember("The budget of the harbour was $300 in the garden", index="now")
    clock.now = clock.now.replace(hour=13)
    later = "We increased the budget of the harbour to $500 in the garden in the winter tomato"
    await memory.remember(later, index="now")
    await held(arrays, memory.scope)
    request = RecallRequest(query="What is the budget of the harbour garden?", scope="persistent")
    assert await answers(arrays, memory.scope, request) == await answers(plain, memory.scope, request)
