"""Consolidation: duplicates merged, faded weeks summed up, stale facts flagged; all of it undone as one."""

from __future__ import annotations

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.lifecycle.duplicates import same_fact
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.events.service import EventService
from tests.lifecycle.conftest import MovingClock


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Alice likes hiking in the hills.", "Alice likes to hike in the hills.", False),
        ("The budget is $50.", "The budget is $60.", False),
        ("He eats meat.", "He does not eat meat.", False),
        ("The boat leaves from Hull.", "The boat leaves from Leeds.", False),
        ("The meeting is on Monday.", "The meeting is on Tuesday.", False),
        ("Docker uses cgroups and namespaces.", "Docker uses namespaces and cgroups.", True),
        ("Alice and Bob hired Carl.", "Bob and Alice hired Carl.", True),
        ("Take salt or pepper.", "Take pepper or salt.", True),
        ("Alice hired Bob.", "Bob hired Alice.", False),
        ("He drinks tea and not coffee.", "He drinks coffee and not tea.", False),
        ("Alice likes tea and Bob coffee.", "Alice likes coffee and Bob tea.", False),
        ("The red car and the blue house.", "The blue car and the red house.", False),
    ],
)
def test_near_duplicates_need_same_numbers_names_and_negations(one: str, other: str, same: bool) -> None:
    assert same_fact(one, other, 0.97) is same
    assert not same_fact(one, other, 0.8)


async def test_merged_near_duplicates_can_be_separated(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    one = await alice.remember("On Fridays Alice hikes in the hills.", tags=["sport"], importance=0.4)
    two = await alice.remember("Well, Alice hikes in the hills on Fridays.", tags=["hills"], importance=0.8)
    other = await alice.remember("On Fridays Alice hikes in the 3 hills.")
    before = (await alice.list()).items
    clock.forward(days=1)
    done = await living.service(Lifecycle).run(tenant, "consolidation")
    assert done.counts == {"merged": 1}
    kept = await alice.get(two.memory_id)
    assert (kept.tags, kept.importance) == (("hills", "sport"), 0.8)
    assert kept.metadata["merged_from"] == [str(one.memory_id)]
    assert (await alice.get(one.memory_id)).superseded_by == two.memory_id
    assert [each.memory_id for each in (await alice.list()).items] == [other.memory_id, two.memory_id]
    assert "sport" in [tag for hit in (await alice.recall("sport")).hits for tag in hit.memory.tags]
    assert await living.service(Lifecycle).run(tenant, "consolidation") is None
    assert (await alice.undo(done.operation_id)).counts == {"merged": 1, "undone": 2}
    assert (await alice.list()).items == before
    assert (await living.service(EventService).verify(alice.scope)).equal
    clock.forward(days=8)
    await alice.update(one.memory_id, importance=0.5)
    assert await living.service(Lifecycle).run(tenant, "consolidation") is None, "what was taken back is not done again"


async def test_week_of_faded_activities_becomes_summary(living: Keeps, clock: MovingClock, tenant: str) -> None:
    agent = living.memory(Scope(tenant, "alice", "gardener"))
    for day in range(6):
        await agent.log_activity(f"Watered the tomatoes; bed {day} must be weeded by Friday.")
        clock.forward(hours=20)
    clock.forward(days=20)
    await living.service(Lifecycle).run(tenant, "decay")
    done = await living.service(Lifecycle).run(tenant, "consolidation")
    assert done.counts == {"summarised": 1}
    (summary,) = (await agent.list(filters={"content_type": {"eq": "summary"}})).items
    assert summary.content.startswith("Daily log, week of 2026-03-02: 6 entries.\n- Watered the tomatoes; bed 0")
    assert await living.service(Lifecycle).run(tenant, "consolidation") is None
    await agent.undo(done.operation_id)
    assert (await agent.list(filters={"content_type": {"eq": "summary"}})).items == []
    assert (await living.service(EventService).verify(agent.scope)).equal


async def test_memory_unread_for_half_a_year_is_flagged(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    old = await alice.remember("The old printer stood on the third floor.", importance=0.4)
    kept = await alice.remember("Alice is allergic to peanuts.")
    clock.forward(days=200)
    done = await living.service(Lifecycle).run(tenant, "consolidation")
    assert done.counts == {"stale": 1}
    assert (await alice.get(old.memory_id)).metadata["stale_since"] == "2026-09-18"
    assert "stale_since" not in (await alice.get(kept.memory_id)).metadata
    await alice.undo(done.operation_id)
    assert (await alice.get(old.memory_id)).metadata == {}
