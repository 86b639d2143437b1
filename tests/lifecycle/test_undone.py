"""What somebody undid is not done again, by any job."""

from __future__ import annotations

from datetime import timedelta

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from tests.lifecycle.conftest import MovingClock

DECISION = "ok team voted, we stay on the monolith and split out billing only"


@pytest.mark.meaning
async def test_decay_does_not_repeat_undone_promotion(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    allergy = await alice.remember("My daughter Mia is allergic to peanuts.", kind="episodic", role="user")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    assert (await alice.get(allergy.memory_id)).layer == "long_term"
    await alice.undo(done.operation_id)
    for days in (1, 20, 40):
        clock.forward(days=days)
        for job in ("promotion", "sessions", "decay"):
            await living.service(Lifecycle).run(tenant, job)
        assert (await alice.get(allergy.memory_id)).layer == "short_term"


@pytest.mark.meaning
async def test_promotion_does_not_repeat_undone_decay_promotion(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    decided = await alice.remember(DECISION, kind="episodic", role="user")
    clock.forward(days=20)
    done = await living.service(Lifecycle).run(tenant, "decay")
    assert done.counts == {"promoted": 1}
    await alice.undo(done.operation_id)
    await alice.update(decided.memory_id, importance=0.95)
    await living.service(Lifecycle).run(tenant, "promotion")
    assert (await alice.get(decided.memory_id)).layer == "short_term"


async def test_undone_summary_is_not_rewritten(living: Keeps, clock: MovingClock, tenant: str) -> None:
    agent = living.memory(Scope(tenant, "alice", "gardener"))
    for day in range(6):
        await agent.remember(f"Watered bed {day}.", kind="episodic", content_type="daily_log")
    clock.forward(days=20)
    await living.service(Lifecycle).run(tenant, "decay")
    done = await living.service(Lifecycle).run(tenant, "consolidation")
    assert done.counts == {"summarised": 1}
    await agent.undo(done.operation_id)
    clock.now += timedelta(days=7)
    await living.service(Lifecycle).run(tenant, "consolidation")
    assert not (await agent.list(filters={"content_type": {"eq": "summary"}})).items
