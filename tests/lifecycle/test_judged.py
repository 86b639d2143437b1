"""What Keeps makes of people's words, on the sets in benchmarks/sets: the promises, and that they do not get worse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import judged

from keeps.engine import Keeps


async def test_different_facts_are_not_merged() -> None:
    found = await judged.pairs()
    assert found["different"] >= 75
    assert found.get("different, merged", 0) <= 0.01 * found["different"], found["wrong"]
    assert found["same, merged"] >= 0.5 * found["same"]


@pytest.mark.slow_step("a month of jobs")
async def test_identity_and_obligations_do_not_fade(made_home: Callable[..., Path]) -> None:
    found = await judged.importance(made_home("month"))
    assert found["lasting, stays"] >= 0.9 * found["lasting"], found["wrong"]
    assert found["passing, stays"] <= 0.05 * found["passing"], found["wrong"]


def test_prompts_are_understood_in_four_languages() -> None:
    found = judged.signals()
    for language in ("en", "de", "es", "fr"):
        assert found[f"{language}, right"] >= 0.95 * found[language], found["wrong"]


@pytest.mark.load
@pytest.mark.slow_step("some hundred statements, one after the other")
@pytest.mark.meaning
async def test_rules_replace_no_true_fact(keeps: Keeps) -> None:
    found = await judged.statements(keeps)
    assert found["traps"] >= 100
    assert found.get("traps, replaced", 0) <= 0.02 * found["traps"], found["wrong"]
    # What is not certain replaces nothing: both are told.
    assert found["changes, caught"] >= 0.15 * found["changes"]
    assert found["changes, caught"] + found["changes, half"] >= 0.55 * found["changes"]


@pytest.mark.load
@pytest.mark.slow_step("three months of jobs")
async def test_passing_remarks_are_found_months_later(
    made_home: Callable[..., Path],
) -> None:
    found = await judged.continuity(made_home("continuity"))
    # Four of forty need a turn that ranks 24th or later; a prompt of all hits told them, in 180 lines (ADR 51).
    for days, least in ((1, 0.9), (7, 0.9), (30, 0.9), (90, 0.85)):
        assert found[f"{days} days"] >= least, found[f"missed after {days}"]
