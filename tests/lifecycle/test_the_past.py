"""What was known at a past moment stays what was known then, whatever jobs do later."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, NotFoundError
from tests.lifecycle.conftest import MovingClock

JOBS = ("sessions", "promotion", "decay", "expiry", "consolidation", "storage")
TEXTS = (
    "Nina lives in Porto.",
    "Nina lives in Lyon.",
    "The gate code is 4711.",
    "The gate code is 4712.",
    "Nina likes green tea.",
    "Nina likes green tea!",
    "We decided to ship on Friday.",
    "I am allergic to peanuts.",
)


async def told(memory: LocalMemory, ids: list[Any], entities: list[Any], moment: datetime) -> dict[str, Any]:
    """All that can be asked about a moment."""
    told: dict[str, Any] = {
        query: sorted(
            (str(hit.memory.memory_id), hit.memory.content, hit.memory.version, hit.memory.layer)
            for hit in (await memory.recall(query, as_of=moment, limit=200, include_archived=True)).hits
        )
        for query in ("Nina", "gate code", "what was decided?")
    }
    for each in ids:
        try:
            held = await memory.get(each, as_of=moment)
            told[str(each)] = (
                held.content,
                held.layer,
                held.archived_at,
                held.deleted_at,
                held.superseded_by,
                held.valid_to,
            )
        except NotFoundError:
            told[str(each)] = None
    for each in entities:
        try:
            edges = await memory.get_relations(each, as_of=moment)
            told[f"edges {each}"] = sorted((str(edge.target_id), edge.relation_type) for edge in edges)
        except NotFoundError:
            told[f"edges {each}"] = None
    tables = await memory.keeps.service(EventService).replay(memory.scope, moment)
    told["replay"] = {each.table: each.rows for each in tables}
    return told


async def _change(memory: LocalMemory, pick: random.Random, ids: list[Any], entities: list[Any]) -> None:
    match pick.randrange(8):
        case 0 | 1:
            given: dict[str, Any] = pick.choice(({}, {}, {"namespace": "n", "key": pick.choice("ab")}, {"ttl_days": 2}))
            ids.append((await memory.remember(pick.choice(TEXTS), **given)).memory_id)
        case 2 | 3:
            said = [{"role": "user", "content": f"{pick.choice(TEXTS)} It was day {pick.randrange(99)}."}]
            ids += [
                each.memory_id for each in (await memory.store_exchange(said, session_id=pick.choice("xyz"))).messages
            ]
        case 4:
            ids.append((await memory.log_activity(f"Filed report {pick.randrange(999)}.")).memory_id)
        case 5 if ids:
            await memory.forget(pick.choice(ids))
        case 6 if ids:
            await memory.update(pick.choice(ids), content=pick.choice(TEXTS), importance=pick.random())
        case _:
            one, other = [await memory.add_entity(name) for name in pick.sample(("Nina", "Ben", "Ada"), 2)]
            entities += [one.entity_id, other.entity_id]
            await memory.add_relation(one, other, pick.choice(("knows", "likes")))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_later_jobs_do_not_change_as_of(living: Keeps, clock: MovingClock, seed: int) -> None:
    await check_history(living, clock, seed)


async def check_history(living: Keeps, clock: MovingClock, seed: int, steps: int = 25) -> int:
    """One random history with a look at a few past moments before and after each job; how many looks were compared."""
    pick = random.Random(seed)
    tenant = f"past-{seed}-{id(pick)}"
    memory = living.memory(Scope(tenant, "alice"))
    await memory.remember("The first of all.")
    ids: list[Any] = []
    entities: list[Any] = []
    moments: list[datetime] = []
    looks = 0
    begun = clock.now
    for _ in range(steps):
        clock.forward(hours=pick.choice((0.01, 1, 5)))
        try:
            await _change(memory, pick, ids, entities)
        except (NotFoundError, ConflictError):
            pass
        moments.append(clock.now + timedelta(seconds=1))
        if pick.random() < 0.3 and clock.now - begun < timedelta(days=18):
            clock.forward(days=pick.choice((0.1, 1, 4, 8)))
            for moment in pick.sample(moments, min(2, len(moments))):
                known = list(dict.fromkeys(ids)), list(dict.fromkeys(entities))
                await living.service(Indexer).settle(memory.scope)
                before = await told(memory, *known, moment)
                job = pick.choice(JOBS)
                await living.service(Lifecycle).run(tenant, job)
                await living.service(Indexer).settle(memory.scope)
                assert await told(memory, *known, moment) == before, f"{job}, seed {seed}"
                looks += 1
    found = await living.service(EventService).verify(memory.scope)
    assert found.differences == []
    await living.service(TenantService).erase_tenant(memory.scope)
    return looks


@pytest.mark.parametrize("job", ["decay", "expiry"])
async def test_job_events_have_job_time(living: Keeps, clock: MovingClock, tenant: str, job: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    given: dict[str, Any] = {"kind": "episodic", "importance": 0.3} if job == "decay" else {"ttl_days": 1}
    receipt = await memory.remember("The barbecue was fun.", **given)
    clock.forward(days=1)
    before = clock.now - timedelta(hours=1)
    clock.forward(days=20)
    assert (await living.service(Lifecycle).run(tenant, job)).counts
    (last,) = (await memory.history(receipt.memory_id))[-1:]
    assert last.time == clock.now
    assert last.type == {"decay": "memory.archived", "expiry": "memory.expired"}[job]
    assert [hit.memory.memory_id for hit in (await memory.recall("barbecue", as_of=before)).hits] == [receipt.memory_id]
    rows: Callable[[datetime], Any] = lambda until: living.service(EventService).replay(memory.scope, until)  # noqa: E731
    assert (await rows(before))[0].rows == 1
