"""Recall of trusted memories alone: the same from arrays and from the database, and as many as are asked for."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from keeps.base.scope import Scope
from keeps.base.text.trust import LEVELS, trust_of
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.why.service import WhyService
from keeps_client.models import RecallRequest, WhyNotQuestion
from keeps_client.models.names import Trust
from tests.recall.test_index import arrays, both_answers, clock, held, plain

__all__ = ["arrays", "clock", "plain"]
SOURCES: tuple[dict[str, Any], ...] = (
    {},
    {"role": "user"},
    {"role": "assistant"},
    {"metadata": {"trust": "agent"}},
    {"metadata": {"trust": "shared"}},
    {"metadata": {"trust": "document"}},
    {"metadata": {"trust": "low"}},
    {"source": "https://shop.example/page"},
    {"source": "  Web : page"},
    {"role": "tool"},
)


@pytest.fixture
async def alice(plain: Keeps, tenant: str) -> Scope:
    """A user with memories of every level, most of them of tools, and with what another user shares."""
    scope = Scope(tenant, "alice")
    memory = plain.memory(scope)
    for number in range(12):
        for place, fields in enumerate(SOURCES):
            await memory.remember(f"The harbour lamp {number} of row {place}.", index="later", **fields)
    for number in range(120):
        await memory.remember(f"Harbour lamp: offer {number}.", role="tool", source="tool:ads", index="later")
    bob = plain.memory(Scope(tenant, "bob"))
    for number in range(5):
        await bob.remember(f"Bob saw harbour lamp {number}.", visibility="tenant", index="later")
    await plain.service(Indexer).settle(scope)
    return scope


@pytest.mark.parametrize("level", get_args(Trust))
async def test_arrays_and_database_return_the_same_trusted_memories(
    plain: Keeps, arrays: Keeps, alice: Scope, level: Trust
) -> None:
    await held(arrays, alice)
    request = RecallRequest(query="harbour lamp", limit=60, min_trust=level)
    expected, got = await both_answers(plain, arrays, alice, request)
    assert [hit["memory"]["memory_id"] for hit in got[0]] == [hit["memory"]["memory_id"] for hit in expected[0]]
    levels = [
        trust_of(
            hit["memory"]["role"],
            hit["memory"]["source"],
            hit["memory"]["metadata"],
            hit["memory"]["layer"],
            own=hit["memory"]["user_id"] == "alice",
        )
        for hit in got[0]
    ]
    assert max(map(LEVELS.index, levels)) <= LEVELS.index(level)
    assert level in levels or level in ("document", "shared")


@pytest.mark.parametrize("engine", ["plain", "arrays"])
async def test_filter_leaves_as_many_hits_as_are_asked_for(
    request: pytest.FixtureRequest, plain: Keeps, arrays: Keeps, alice: Scope, engine: str
) -> None:
    keeps: Keeps = {"plain": plain, "arrays": arrays}[engine]
    if engine == "arrays":
        await held(arrays, alice)
    found = await keeps.memory(alice).recall("harbour lamp offer", limit=20, min_trust="user")
    assert len(found.hits) == 20
    assert {hit.memory.role for hit in found} <= {None, "user"}


@pytest.mark.parametrize("limit", [5, 60])
async def test_arrays_and_database_lose_a_memory_at_the_same_step(
    plain: Keeps, arrays: Keeps, alice: Scope, limit: int
) -> None:
    await held(arrays, alice)
    question = WhyNotQuestion(query="harbour lamp 3 of row 4", limit=limit, min_trust="shared")
    steps: set[str] = set()
    for memory in (await plain.memory(alice).list(limit=60)).items[::4]:
        expected = await plain.service(WhyService).why_not(alice, memory.memory_id, question)
        got = await arrays.service(WhyService).why_not(alice, memory.memory_id, question)
        assert (got.lost_at, got.rank, got.score) == (expected.lost_at, expected.rank, expected.score)
        steps.add(got.lost_at)
    everything = [
        await arrays.service(WhyService).why_not(alice, hit.memory_id, question)
        for hit in (await plain.memory(alice).recall("harbour lamp 3 of row 4", limit=60, min_trust="shared")).hits
    ]
    steps |= {each.lost_at for each in everything}
    assert "filter" in steps
    assert steps & {"nowhere", "rank"}
