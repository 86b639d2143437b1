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
