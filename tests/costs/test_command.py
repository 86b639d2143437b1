"""The command `keeps costs`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from keeps.doors.cli import costs as command
from keeps_client.models import BudgetState, CostLine, Costs
from tests.cli.test_cli import Cli, kept_running

LINE = CostLine(name="", calls=1_200, failed=3, prompt_tokens=90, completion_tokens=10, seconds=2.0, cost=0.000019)
DAY = date(2026, 3, 1)


def report(*lines: CostLine, level: str = "within", used: float = 0, unpriced: tuple[str, ...] = ()) -> Costs:
    state = {
        "budget": "tenant/day tokens",
        "used": used,
        "amount": 200,
        "starts_on": DAY,
        "resets_on": date(2026, 3, 2),
    }
    return Costs(
        tenant_id="acme",
        since=DAY,
        until=DAY,
        by="model",
        lines=lines,
        total=LINE.model_copy(update={"name": "total"}),
        budgets=(BudgetState.model_validate({**state, "level": level}),),
        unpriced=unpriced,
        llm="m",
    )


def test_without_an_llm_it_says_so(made_home: Callable[..., Path]) -> None:
    home = made_home("costs")
    with kept_running(home):
        assert Cli(home)("costs").stdout.strip() == command.NO_LLM


def test_costs_are_a_table_with_a_total(capsys: pytest.CaptureFixture[str]) -> None:
    command._print(report(LINE, LINE.model_copy(update={"name": "m"}), level="reached", used=200, unpriced=("",)))
    text = capsys.readouterr().out
    assert [line.split()[:3] for line in text.splitlines()[1:4]] == [
        ["(unknown)", "1,200", "3"],
        ["m", "1,200", "3"],
        ["total", "1,200", "3"],
    ]
    assert "1.9e-05" in text
    assert "without a price in KEEPS_LLM_PRICES: (unknown)" in text
    assert "budget tenant/day tokens: 200 of 200 (100%), used up until 2026-03-02" in text


def test_an_llm_that_was_not_asked_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    command._print(report())
    assert "No model was asked from 2026-03-01 to 2026-03-01. The LLM is m." in capsys.readouterr().out


@pytest.mark.parametrize(("amount", "text"), [(0, "0.00"), (1_234.5, "1,234.50"), (0.0123, "0.012")])
def test_amounts_have_digits(amount: float, text: str) -> None:
    assert command.money(amount) == text
