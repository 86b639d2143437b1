"""Retention and promotion on a synthetic population: gates that nobody or everybody passes are defects."""

from __future__ import annotations

import pytest
from benchmarks import population


def test_gates_separate_important_from_unimportant() -> None:
    found = population.simulate(200)
    assert population.is_a_gate(found), found
    assert found["small talk"].promoted < 0.01
    assert found["defining"].lost < 0.35


@pytest.mark.parametrize(("gate", "archived_under"), [(0.0, 0.3), (9.0, 0.3), (0.8, 1e-40), (0.8, 0.9999)])
def test_ineffective_gates_are_detected(monkeypatch: pytest.MonkeyPatch, gate: float, archived_under: float) -> None:
    monkeypatch.setattr(population, "GATE", gate)
    monkeypatch.setattr(population, "ARCHIVED_UNDER", archived_under)
    assert not population.is_a_gate(population.simulate(200))
