"""A clock that jumps by hours, both ways: what is written later is later, and nothing is lost, doubled or hidden."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.events.service import EventService


class Jumping:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.mark.meaning
async def test_a_clock_that_jumps_changes_no_order(app_url: str, shared: Any, tenant: str) -> None:
    clock = Jumping()
    async with Keeps.open(database_url=app_url, embedder=shared, clock=clock) as keeps:
        alice = keeps.memory(Scope(tenant, "alice"))
        seen: list[str] = []
        for number, hours in enumerate((0, -1, 2, -3, 1, -1, 1)):
            clock.now += timedelta(hours=hours)
            said = f"Alice lives in town {number}."
            await alice.remember(said, namespace="home", key="town")
            seen.append(said)
            await alice.remember(f"Alice bought {number} loaves.", kind="episodic", session_id="talk")
            assert [each.content for each in (await alice.list(filters={"key": {"eq": "town"}})).items] == [said]
            found = [hit.memory.content for hit in (await alice.recall("Where does Alice live?", limit=20)).hits]
            assert said in found
            assert not set(seen[:-1]) & set(found)
        held = (await alice.list(filters={"key": {"eq": "town"}})).items[0]
        told = [event.sequence for event in await alice.history(held.memory_id)]
        assert told == sorted(told)
        assert len((await alice.list(filters={"kind": {"eq": "episodic"}})).items) == 7
        key = await alice.admin.make_key("program", expires_at=clock.now + timedelta(minutes=30))
        clock.now -= timedelta(hours=1)
        assert [each.key_id for each in await alice.admin.list_keys()] == [key.key_id]
        context = await alice.context("Where does Alice live?")
        assert seen[-1] in context.text
        verified = await keeps.service(EventService).verify(alice.scope)
        assert verified.equal, verified.differences
