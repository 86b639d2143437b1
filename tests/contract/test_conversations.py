"""Conversations, context, insights and operations, the same in process, over HTTP and without await."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client import MemoryClient
from keeps_client.errors import NotFoundError, ValidationFailedError

SAID = [
    {"role": "user", "content": "I moved to Leeds. We decided to sail on Friday."},
    {"role": "assistant", "content": "Noted."},
]


@pytest.mark.sync_client
async def test_conversation_reaches_next_prompt(memory: Any) -> None:
    receipt = await memory.store_exchange(SAID, session_id="a/b c")
    assert [each.status for each in receipt.messages] == ["created", "created"]
    assert [each.memory.content for each in receipt.facts] == ["I moved to Leeds.", "We decided to sail on Friday."]
    notes = await memory.session_notes("a/b c")
    assert notes == receipt.notes
    assert await memory.session_notes("other") is None
    ended = await memory.end_session("a/b c")
    assert ended.memory.content_type == "session_summary"
    assert (await memory.get_session("a/b c")).ended_at is not None
    await memory.add_source("metrics", kind="database", purpose="Users by day")
    assert [each.name for each in await memory.list_sources()] == ["metrics"]
    result = await memory.context(
        "Where does the user live?", session_id="next", budget_tokens=500, sections=["long_term", "knowledge"]
    )
    assert "I moved to Leeds." in result.text
    assert [section.name for section in result.sections] == ["long_term", "knowledge"]
    assert result.tokens <= 500
    assert (await memory.remove_source("metrics")).status == "forgotten"
    found = await memory.get_relevant_memories_for_query("Where does the user live?")
    assert [each.content for each in found] == ["I moved to Leeds."]


async def test_activities_insights_and_audit(memory: Any) -> None:
    receipt = await memory.log_activity("Watered the tomatoes.", activity="task", metadata={"bed": 2})
    assert (receipt.memory.content_type, receipt.memory.metadata) == ("task", {"bed": 2})
    assert (await memory.insights()).by_kind == {"episodic": 1}
    assert (await memory.audit_junk()).junk_share == 0


async def test_operations_are_listed_and_missing_ones_not_found(memory: Any) -> None:
    assert (await memory.operations(job="decay", status="completed")).items == []
    for attempt in (memory.operation, memory.undo):
        with pytest.raises(NotFoundError):
            await attempt(uuid4())


async def test_named_day_uses_the_time_zone(memory: Any) -> None:
    question = "What did I say on 2026-03-29?"
    for zone, since, until in (
        (None, "2026-03-29T00:00", "2026-03-30T00:00"),
        ("Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:00"),  # clocks go forward
        ("-05:00", "2026-03-29T05:00", "2026-03-30T05:00"),
    ):
        result = await memory.context(question, timezone=zone)
        assert (f"{result.since:%Y-%m-%dT%H:%M}", f"{result.until:%Y-%m-%dT%H:%M}") == (since, until)
    assert (await memory.recall(question, timezone="Europe/Berlin")).hits == []


async def test_callers_time_zone_applies_to_all_calls(keeps: Keeps, server_url: str, tenant: str) -> None:
    local = keeps.memory(Scope(tenant, "alice", timezone="Europe/Berlin"))
    async with MemoryClient(server_url, tenant_id=tenant, user_id="alice", timezone="Europe/Berlin") as client:
        for memory in (local, client):
            result = await memory.context("What did I say on 2026-03-29?")
            assert f"{result.since:%Y-%m-%dT%H:%M}" == "2026-03-28T23:00"
            result = await memory.context("What did I say on 2026-03-29?", timezone="UTC")
            assert f"{result.since:%Y-%m-%dT%H:%M}" == "2026-03-29T00:00"
    for make in (lambda: Scope(tenant, timezone="localtime"), lambda: MemoryClient(server_url, timezone="Mars/Base")):
        with pytest.raises(ValidationFailedError, match="unknown time zone"):
            make()
    async with aiohttp.ClientSession(server_url) as http:
        headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice", "X-Timezone": "Mars/Base"}
        async with http.post("/v1/context", json={"query": "x"}, headers=headers) as answer:
            assert answer.status == 422
            assert "Mars/Base" in (await answer.json())["detail"]


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.store_exchange([], session_id="s"),
        lambda memory: memory.store_exchange([{"role": "user", "content": "x"}], session_id=""),
        lambda memory: memory.context("x", budget_tokens=1),
        lambda memory: memory.context("x", timezone="Europe/Atlantis"),
        lambda memory: memory.recall("x", timezone="Europe/Atlantis"),
        lambda memory: memory.log_activity("x", activity="sleep"),
        lambda memory: memory.add_source("a b", kind="api", purpose="x"),
        lambda memory: memory.operations(limit=0),
        lambda memory: memory.operation("no id"),
    ],
)
async def test_invalid_input_raises_the_same_errors(memory: Any, call: Any) -> None:
    with pytest.raises(ValidationFailedError):
        await call(memory)
