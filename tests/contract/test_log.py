"""Events and subscriptions, the same in process, over HTTP and without await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.conftest import admin
from tests.writing import in_write


async def taken(memory: Any, count: int, **given: Any) -> list[Any]:
    """The first events of a subscription."""
    found: list[Any] = []
    subscription = memory.subscribe(**given)
    if not hasattr(subscription, "__aiter__"):
        # The sync client: its iterator waits in a thread.
        iterator = await subscription
        return await asyncio.to_thread(lambda: [event for _, event in zip(range(count), iterator, strict=False)])
    async for event in subscription:
        found.append(event)
        if len(found) == count:
            await subscription.aclose()
            break
    return found


async def test_events_are_paged_and_filtered(memory: Any) -> None:
    await memory.remember("Tea at five.", kind="semantic")
    await memory.remember("Hello.", kind="episodic")
    await memory.create_session(session_id="s")
    await memory.store("k", 1, "p")
    every = await memory.events()
    assert [(event.sequence, event.type) for event in every] == [
        (1, "memory.written"),
        (2, "memory.written"),
        (3, "session.created"),
        (4, "plan.state.written"),
    ]
    assert [event.sequence for event in await memory.events(after=1, limit=2)] == [2, 3]
    assert [event.sequence for event in await memory.events(types=["memory.*", "session.created"])] == [1, 2, 3]
    assert [event.sequence for event in await memory.events(types=["memory.written"], kinds=["episodic"])] == [2]
    assert (every[0].specversion, every[0].source, every[0].data["memory"]["content"]) == (
        "1.0",
        "keeps",
        "Tea at five.",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"after": -1},
        {"after": "x"},
        {"types": []},
        {"types": "memory"},
        {"limit": 0},
        {"kinds": [1]},
        {"types": ["memory_written"]},
        {"types": ["m%"]},
        {"kinds": ["x"]},
    ],
)
async def test_invalid_queries_are_refused(memory: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailedError):
        await memory.events(**wrong)


async def test_subscription_resumes_after_sequence_number(memory: Any) -> None:
    for number in range(5):
        await memory.store("k", number, "p")
    found = await taken(memory, 3, after=2)
    assert [(event.sequence, event.data["value"]) for event in found] == [(3, 2), (4, 3), (5, 4)]
    assert [event.sequence for event in await taken(memory, 1, after=0, types=["plan.*"])] == [1]


@pytest.mark.sync_client
async def test_subscription_receives_new_events(memory: Any, keeps: Keeps, tenant: str) -> None:
    await memory.store("before", 0, "p")
    waiting = asyncio.create_task(taken(memory, 2, types=["plan.state.*"]))
    other = keeps.memory(Scope(tenant, "alice"))
    heard: list[Any] = []
    for number in range(200):  # until the subscription, which says nothing of itself, is there
        await other.store("k", number, "p")
        if waiting.done():
            break
        await asyncio.sleep(0.05)
    heard = await waiting
    assert [event.data["key"] for event in heard] == ["k", "k"]
    assert heard[1].sequence == heard[0].sequence + 1


async def test_position_beyond_log_is_refused(memory: Any) -> None:
    await memory.store("k", 1, "p")
    with pytest.raises(ValidationFailedError, match="ends at 1"):
        await taken(memory, 1, after=50)


async def test_subscription_waits_for_lagging_server(keeps: Keeps, server: Any, tenant: str) -> None:
    """As a leader does that was replaced, and has not noticed yet."""
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember("One.", index="later")
    await keeps.service(Indexer).settle(alice.scope)
    async with (
        keeps.service(EventService).subscription(alice.scope, after=0, types=None, kinds=None) as subscription,
        admin(server, "keeps_test") as connection,
    ):
        read = await subscription.next_batch(5)
        last = await connection.fetchval("SELECT last_sequence FROM keeps.tenants WHERE tenant_id = $1", tenant)
        await connection.execute("UPDATE keeps.tenants SET last_sequence = 0 WHERE tenant_id = $1", tenant)
        with pytest.raises(UnavailableError, match="an old primary"):
            await subscription.next_batch(5)
        await connection.execute("UPDATE keeps.tenants SET last_sequence = $2 WHERE tenant_id = $1", tenant, last)
        await alice.remember("Two.", index="later")
        again = await subscription.next_batch(5)
    assert again[0].sequence == read[-1].sequence + 1


async def test_events_of_others_are_not_received(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    await alice.remember("Alice's diary.")
    await alice.remember("The office closes at six.", visibility="tenant")
    await bob.remember("Bob's note.")
    elsewhere = keeps.memory(Scope(f"{tenant}-other", "alice"))
    await elsewhere.remember("Elsewhere.")
    found = await taken(bob, 2, after=0)
    assert [event.data["memory"]["content"] for event in found] == ["The office closes at six.", "Bob's note."]


async def test_late_commit_is_not_missed(keeps: Keeps, tenant: str) -> None:
    """A writer that holds its number for long keeps later numbers waiting, so nobody reads past it."""
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.store("first", 0, "p")
    numbered, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Any) -> None:
        from keeps.state.working import store

        await store.put(tx, "p", "slow", 1, expires_at=None, now=keeps.service(MemoryService).now(), expected=None)
        numbered.set()
        await go_on.wait()

    stream: AsyncIterator[Any] = memory.subscribe(after=1)
    first = asyncio.create_task(anext(stream))  # type: ignore[arg-type]
    writer = asyncio.create_task(in_write(keeps.database, memory.scope, slow))
    await numbered.wait()
    fast = asyncio.create_task(memory.store("fast", 2, "p"))
    done, _ = await asyncio.wait({first, fast}, timeout=1.0)
    assert not done, "nothing is readable, and nobody has a later number"
    go_on.set()
    await asyncio.gather(writer, fast)
    assert [(await first).data["key"], (await anext(stream)).data["key"]] == ["slow", "fast"]
    await stream.aclose()  # type: ignore[attr-defined]
