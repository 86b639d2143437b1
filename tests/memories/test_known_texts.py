"""A known text that is written again: whose memory it is, what stays, what ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client.models import Memory

TEXT = "The user prefers short answers."
GIVEN: dict[str, Any] = {
    "tags": ["style"],
    "importance": 0.9,
    "metadata": {"by": "planner", "nested": {"at": [1, None, "✓"]}},
    "source": "chat",
    "content_type": "preference",
    "expires_at": datetime(2100, 1, 1, tzinfo=UTC),
    "valid_from": datetime(2020, 1, 1, tzinfo=UTC),
    "value": {"length": "short"},
    "role": "user",
}


async def all_of(memory: Any, **wanted: Any) -> list[Memory]:
    filters: Any = {name: {"eq": value} for name, value in wanted.items()}
    return list(await memory.list(filters={"AND": [{name: how} for name, how in filters.items()]} if filters else None))


@pytest.mark.parametrize("owner", ["agent_id", "session_id"])
@pytest.mark.parametrize("kind", ["semantic", "procedural", "episodic"])
async def test_same_text_is_separate_by_agent_and_session(memory: Any, owner: str, kind: Any) -> None:
    first = await memory.remember(TEXT, kind=kind, **{owner: "one"}, **GIVEN)
    second = await memory.remember(TEXT, kind=kind, **{owner: "two"})
    nobody = await memory.remember(TEXT, kind=kind)
    assert [each.status for each in (first, second, nobody)] == ["created"] * 3
    again = await memory.remember(TEXT, kind=kind, **{owner: "one"}, role="user", valid_from=GIVEN["valid_from"])
    assert (again.status, again.memory_id) == ("unchanged", first.memory_id)
    assert again.memory == first.memory
    await memory.forget(second.memory_id, hard=True)
    assert [each.memory_id for each in await all_of(memory, **{owner: "one"})] == [first.memory_id]


async def test_same_text_is_separate_by_app(memory: Any) -> None:
    receipts = [await memory.remember(TEXT, metadata={"app_id": app}) for app in ("shop", "blog", "shop")]
    assert [each.status for each in receipts] == ["created", "created", "unchanged"]


async def test_text_belongs_to_scope_agent(keeps: Keeps, tenant: str) -> None:
    planner, coder = (keeps.memory(Scope(tenant, "alice", agent_id=agent)) for agent in ("planner", "coder"))
    assert [(await each.remember(TEXT)).status for each in (planner, coder, planner)] == [
        "created",
        "created",
        "unchanged",
    ]


async def test_batch_may_repeat_text_for_several_owners(memory: Any) -> None:
    items = [{"content": TEXT, "agent_id": agent} for agent in ("planner", "coder", "planner")] + [{"content": TEXT}]
    receipts = await memory.remember_many(items)
    assert [each.status for each in receipts] == ["created", "created", "unchanged", "created"]


@pytest.mark.parametrize("place", [{}, {"namespace": "facts", "key": "style"}])
async def test_unset_fields_stay(memory: Any, place: Any) -> None:
    first = await memory.remember(TEXT, **place, **GIVEN, visibility="tenant")
    nothing = {name: None for name in GIVEN if name not in ("content_type", "tags", "metadata", "expires_at")}
    for again in (
        await memory.remember(TEXT, **place),
        (await memory.remember_many([{"content": TEXT, **place, **nothing}]))[0],
    ):
        assert (again.status, again.memory_id, again.memory) == ("unchanged", first.memory_id, first.memory)
    changed = await memory.remember(TEXT, **place, tags=["tone"])
    assert (changed.status, changed.memory_id, changed.memory.tags) == ("updated", first.memory_id, ("tone",))
    assert changed.memory.metadata == first.memory.metadata


async def test_shared_text_keeps_private_memory_private(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    private = await alice.remember(TEXT, metadata={"diagnosis": "secret"}, tags=["private"])
    public = [await alice.remember(TEXT, visibility="tenant") for _ in range(2)]
    assert [each.status for each in public] == ["created", "unchanged"]
    (seen,) = await bob.list()
    assert (seen.memory_id, seen.metadata, seen.tags) == (public[0].memory_id, {}, ())
    kept = await alice.remember(TEXT)
    assert (kept.status, kept.memory) == ("unchanged", private.memory)


async def test_shared_text_stays_shared_by_default(memory: Any) -> None:
    first = await memory.remember(TEXT, visibility="tenant")
    again = await memory.remember(TEXT, tags=["style"])
    assert (again.memory_id, again.memory.visibility) == (first.memory_id, "tenant")


async def test_repeated_knowledge_keeps_its_fields(memory: Any) -> None:
    first = await memory.store_knowledge(TEXT, is_public=True, metadata={"a": 1}, tags=["t"], source="book")
    assert await memory.store_knowledge(TEXT) == first
    named = await memory.store_knowledge(TEXT, external_id="x", is_public=True, metadata={"a": 1}, tags=["t"])
    again = await memory.store_knowledge("Another text.", external_id="x")
    assert (again.id, again.is_public, again.metadata, again.tags) == (named.id, True, {"a": 1}, ["t"])


async def test_upserted_knowledge_keeps_metadata_of_each_agent(keeps: Keeps, tenant: str) -> None:
    planner, coder = (keeps.memory(Scope(tenant, "alice", agent_id=agent)) for agent in ("planner", "coder"))
    first = await planner.upsert_knowledge(TEXT, metadata={"a": 1})
    assert (await planner.upsert_knowledge(TEXT)).id == first.id
    other = await coder.upsert_knowledge(TEXT, metadata={"b": 2})
    assert (other.status, (await planner.get(first.id)).metadata) == ("created", {"a": 1})


async def test_assistant_repeats_facts_of_any_agent(memory: Any) -> None:
    await memory.remember(TEXT, agent_id="planner", session_id="before")
    done = await memory.store_exchange([{"role": "assistant", "content": TEXT}], session_id="now", agent_id="coder")
    assert done.messages[0].status == "unchanged"


async def test_new_value_has_its_own_expiry(memory: Any) -> None:
    place: Any = {"namespace": "papers", "key": "passport"}
    first = await memory.remember("The passport is at the hotel.", **place, ttl_days=5, tags=["t"], importance=0.9)
    same = await memory.remember("The passport is at the hotel.", **place)
    assert (same.status, same.memory.expires_at) == ("unchanged", first.memory.expires_at)
    new = await memory.remember("The passport is in the safe.", **place)
    assert (new.memory.expires_at, new.memory.tags, new.memory.importance) == (None, ("t",), 0.9)
    ends = await memory.remember("The passport is lost.", **place, ttl_days=1)
    assert ends.memory.expires_at is not None
    without = await memory.remember("The passport is lost.", **place, ttl_days=0)
    assert (without.status, without.memory.expires_at) == ("updated", None)
