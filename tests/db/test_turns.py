"""Whoever asks much waits for themselves: queues, turns and connections, with a real PostgreSQL behind the pool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.fairness import FairQueue, FairSlots, TenantLocks, TextWorker, acting_for
from keeps.engine import Keeps
from keeps.store.db.pool import open_pool


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=60))
def test_a_queue_gives_one_of_each_tenant_in_turn(items: list[tuple[str, int]]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    for tenant, value in items:
        queue.put(tenant, (tenant, value))
    given_out = [queue.get() for _ in items]
    assert len(queue) == 0
    for tenant in "abc":
        assert [item for item in given_out if item[0] == tenant] == [item for item in items if item[0] == tenant]
    waiting = {tenant: [one for one, _ in items].count(tenant) for tenant in "abc"}
    served = dict.fromkeys("abc", 0)
    for tenant, _ in given_out:
        served[tenant] += 1
        assert all(served[tenant] - served[other] <= 1 for other in "abc" if served[other] < waiting[other])


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40), st.integers(1, 100))
def test_who_waits_with_little_does_not_pay_for_what_costs_others_much(loud: list[int], cost: int) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    for each in loud:
        queue.put("loud", ("loud", each), each)
    for _ in range(20):
        queue.put("quiet", ("quiet", cost), cost)
    given_out: dict[str, int] = {"loud": 0, "quiet": 0}
    while len(queue) and given_out["quiet"] < 20 * cost:
        tenant, each = queue.get()
        given_out[tenant] += each
        assert given_out["loud"] <= given_out["quiet"] + max(loud) + cost


async def test_one_of_a_tenant_at_a_time_and_others_at_once() -> None:
    locks = TenantLocks()
    inside: list[str] = []
    leave = asyncio.Event()

    async def enter(tenant: str) -> None:
        async with locks.turn(tenant, 5):
            inside.append(tenant)
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        for tenant in ("a", "a", "b"):
            group.create_task(enter(tenant))
        while len(inside) < 2:
            await asyncio.sleep(0)
        assert inside == ["a", "b"]
        with pytest.raises(TimeoutError):
            async with locks.turn("a", 0.01):
                pass
        leave.set()
    assert inside == ["a", "b", "a"]
    assert not locks._locks, "a lock that nobody wants is forgotten"


async def test_text_of_another_tenant_comes_in_between() -> None:
    worker = TextWorker()
    done: list[str] = []

    async def ask(tenant: str, count: int) -> None:
        with acting_for(tenant):
            assert await worker.map(lambda each: done.append(tenant) or each, list(range(count)), 1) == list(
                range(count)
            )

    await asyncio.gather(ask("loud", 100), ask("quiet", 3))
    assert [n for n, tenant in enumerate(done) if tenant == "quiet"][-1] < 10
    await worker.close()


@pytest.fixture
async def pool(keeps: Keeps, server: Any) -> Any:
    assert keeps, "makes the database"
    opened = await open_pool(server.url("keeps_app", "keeps_test"), size=4)
    yield opened
    await opened.close()


async def test_a_tenant_never_has_every_connection(pool: Any) -> None:
    mine = [await pool.acquire(5, "loud") for _ in range(3)]
    with pytest.raises(TimeoutError):
        await pool.acquire(0.05, "loud")
    other = await pool.acquire(1, "quiet")
    for connection in mine:
        pool.release(connection, "loud")
    pool.release(other, "quiet")
    assert pool.taken == 0


async def test_who_waits_is_served_in_turn_and_who_gives_up_leaves_no_trace(pool: Any) -> None:
    held = [await pool.acquire(5, "loud") for _ in range(3)] + [await pool.acquire(5, "other")]
    order: list[str] = []

    async def wait(tenant: str) -> None:
        connection = await pool.acquire(10, tenant)
        order.append(tenant)
        await asyncio.sleep(0)
        pool.release(connection, tenant)

    loud = [asyncio.create_task(wait("loud")) for _ in range(20)]
    gone = asyncio.create_task(wait("gone"))
    await asyncio.sleep(0)
    quiet = asyncio.create_task(wait("quiet"))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait({gone})
    for connection in held[:3]:
        pool.release(connection, "loud")
    pool.release(held[3], "other")
    await asyncio.gather(*loud, quiet)
    assert order.index("quiet") < 4, "a tenant's twenty do not come before another's one"
    assert "gone" not in order
    assert pool.taken == 0


async def test_a_tenant_that_is_alone_has_more_than_one_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = FairSlots(8, alone=6, beside=2)
    assert [await slots.take("a", 0.01) for _ in range(6)] == [False] * 6
    with pytest.raises(TimeoutError):
        await slots.take("a", 0.01)
    assert await slots.take("b", 0.01) is False, "there is always room for another"
    for _ in range(5):
        slots.leave("a")
    assert await slots.take("a", 0.01) is False
    with pytest.raises(TimeoutError):
        await slots.take("a", 0.01)
    waiting = asyncio.create_task(slots.take("a", 5))
    await asyncio.sleep(0)
    slots.leave("a")
    assert await waiting is True
    assert slots.taken == 3
    monkeypatch.setattr("keeps.base.fairness.NEAR_SECONDS", 0.0)
    assert [await slots.take("a", 0.01) for _ in range(4)] == [False] * 4, "the other has gone"
    for tenant in "aaaaaab":
        slots.leave(tenant)
    assert (slots.taken, dict(slots._held)) == (0, {})


async def test_a_place_that_nobody_waits_for_any_more_is_given_on() -> None:
    slots = FairSlots(1, alone=1, beside=1)
    await slots.take("a", 1)
    gone, next_one = (asyncio.create_task(slots.take(each, 5)) for each in "bc")
    await asyncio.sleep(0)
    slots.leave("a")
    gone.cancel()  # its turn has come, and it is gone
    assert await next_one is True
    assert slots.taken == 1
    slots.leave("c")
    assert slots.taken == 0


async def test_places_go_round_and_nobody_overtakes_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keeps.base.fairness.NEAR_SECONDS", 0.05)
    slots = FairSlots(8, alone=8, beside=1)
    order: list[str] = []

    async def work(name: str) -> None:
        await slots.take(name[0], 5)
        order.append(name)

    await slots.take("x", 1)
    for name in ("a1", "b1"):
        await work(name)
    tasks = [asyncio.create_task(work(name)) for name in ("a2", "a3", "b2", "b3")]
    await asyncio.sleep(0)
    assert order == ["a1", "b1"], "one each while others ask"
    slots.leave("a")
    slots.leave("b")
    assert slots.taken == 3
    await asyncio.sleep(0)
    assert order == ["a1", "b1", "a2", "b2"]
    newcomer = asyncio.create_task(work("a4"))
    await asyncio.gather(*tasks, newcomer)  # the others have stopped asking, and nobody leaves
    assert order.index("a4") > order.index("a3")


async def test_one_text_that_cannot_be_read_fails_nobody_elses(embedder: Any) -> None:
    async def embed(tenant: str, text: Any) -> Any:
        with acting_for(tenant):
            return await embedder.embed([text])

    *good, bad = await asyncio.gather(
        *(embed("a", f"Tea at {n}.") for n in range(3)), embed("b", None), return_exceptions=True
    )
    assert all(isinstance(each, list) for each in good)
    assert isinstance(bad, Exception)


async def test_who_comes_after_others_gave_up_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = FairSlots(4, alone=2, beside=1)
    await slots.take("a", 1)
    await slots.take("b", 1)
    with pytest.raises(TimeoutError):
        await slots.take("a", 0.01)
    monkeypatch.setattr("keeps.base.fairness.NEAR_SECONDS", 0.0)  # the other has gone
    assert await slots.take("a", 0.3) is True, "before anybody looks again"
