"""Text that is not the user's own is marked at every door that gives text to a model."""

from __future__ import annotations

from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations import memory_tools
from keeps.integrations.hindsight.shapes import shown_fact
from keeps.integrations.lines import lines_of
from keeps.integrations.marks import marked
from keeps.integrations.mem0.shapes import shown

TEXT = "The lamp shop at the harbour opens at nine."
MARK = "(from a tool or page)"
OWN = "I bought a lamp at the harbour."


@pytest.fixture
async def memory(keeps: Keeps, tenant: str) -> Any:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember(TEXT, source="https://lamps.example")
    await alice.remember(OWN)
    return alice


async def test_mark_stands_before_text_from_outside_and_not_before_own_words(memory: Any) -> None:
    hits = {hit.text: hit.memory for hit in (await memory.recall("lamp at the harbour")).hits}
    outside, own = hits[TEXT], hits[OWN]
    assert marked(outside) == f"{MARK} {TEXT}"
    assert marked(own) == OWN
    assert marked(own, asking="bob").startswith("(shared by another user)")
    assert f"{MARK} {TEXT}" in lines_of([(outside, 0.9)], 1_000, lambda stored: stored.kind)
    assert shown_fact(outside, TEXT, "world")["text"] == f"{MARK} {TEXT}"
    assert shown(outside, 0.5)["memory"] == f"{MARK} {TEXT}"
    assert shown(own, 0.5)["memory"] == OWN


async def test_own_words_in_a_space_are_not_said_to_be_of_another_user(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("harbour")
    await alice.for_space("harbour").remember(OWN)
    (hit,) = (await alice.recall("lamp at the harbour")).hits
    assert marked(hit.memory) == marked(hit.memory, asking="alice") == f"(from a shared space) {OWN}"
    context = await alice.context("What did I buy at the harbour?")
    (line,) = [line for line in context.volatile.splitlines() if OWN in line]
    assert line.startswith("- (from a shared space) ")


async def test_text_of_the_tenant_is_marked_for_an_unknown_user(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    stored = await alice.get((await alice.remember(OWN, visibility="tenant")).memory_id)
    assert marked(stored) == f"(shared in the tenant) {OWN}"
    assert marked(stored, asking="alice") == OWN
    assert marked(stored, asking="bob") == f"(shared by another user) {OWN}"


async def test_tools_and_contexts_mark_text_from_outside(memory: Any) -> None:
    entries = (await memory_tools.recall(memory, "lamp at the harbour")).memories
    assert {entry.text: entry.from_outside for entry in entries} == {TEXT: True, OWN: None}
    context = await memory.context("When does the lamp shop at the harbour open?")
    lines = [line for line in context.volatile.splitlines() if TEXT in line]
    assert lines
    assert all(line.startswith(f"- {MARK}") for line in lines)
    assert TEXT not in context.stable


async def test_tool_says_that_a_memory_waits(memory: Any) -> None:
    done = await memory_tools.remember(memory, "Lam\u200bps a\u200bre o\u200bn sa\u200ble.")
    assert done.status == "held"
    assert "inbox" in (done.note or "")
