"""Simulate the memories of many users over a year, by the rules of retention and promotion alone.

    keeps bench population [--users 10000]

A synthetic population: most of what is said is small talk, some is ordinary, little defines or binds somebody, and a
guess at importance is often wrong. What truly matters is asked for again and again, at first soon, then ever more
rarely; the rest hardly ever. Asking for what is archived is a loss that decay is to blame for. The gates must be gates:
the test fails where nobody or everybody passes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from keeps.memory.lifecycle.promotion import ACCESS_GAIN, GATE, MOST_ACCESS_GAIN, RECENCY_GAIN
from keeps.memory.memories.retention import ARCHIVED_UNDER, BASE_STRENGTH, RATE_PER_HOUR

HOURS = 365 * 24
MOST_ASKED = 40
# Share of what is said, the mean of the guessed importance and its spread, how often it is asked for in a year.
KINDS: dict[str, tuple[float, float, float, float]] = {
    "small talk": (0.45, 0.25, 0.10, 0.02),
    "ordinary": (0.35, 0.45, 0.12, 0.4),
    "useful": (0.15, 0.55, 0.12, 4.0),
    "defining": (0.05, 0.75, 0.12, 12.0),
}


@dataclass(frozen=True, slots=True)
class Fate:
    """Shares of the memories of one kind, or of all; `lost` is a share of what was asked for."""

    memories: int
    promoted: float
    archived: float
    asked: int
    lost: float


def simulate(users: int, *, memories_a_day: float = 2.0, seed: int = 1) -> dict[str, Fate]:
    """A year of `users`; what became of each kind, and of all."""
    random = np.random.default_rng(seed)
    count = int(users * memories_a_day * 365)
    names = list(KINDS)
    kind = random.choice(len(names), count, p=[KINDS[name][0] for name in names])
    table = np.array([KINDS[name][1:] for name in names])
    importance = np.clip(random.normal(table[kind, 0], table[kind, 1]), 0.1, 0.9)
    created = random.uniform(0, HOURS, count)
    asked = np.minimum(random.poisson(table[kind, 2] * (HOURS - created) / HOURS), MOST_ASKED)

    promoted = importance + RECENCY_GAIN >= GATE
    last_used, readings = created.copy(), np.zeros(count)
    archived = np.zeros(count, dtype=bool)
    lost = np.zeros(count)
    # The later a question, the longer since the last: times are spread evenly over the logarithm of age.
    age = np.exp(random.uniform(np.log(0.5), np.log(np.maximum(HOURS - created, 1.0))[:, None], (count, MOST_ASKED)))
    age[np.arange(MOST_ASKED) >= asked[:, None]] = np.inf
    age.sort(axis=1)
    for turn in range(MOST_ASKED):
        asking = asked > turn
        if not asking.any():
            break
        now = created + age[:, turn]
        faded = asking & ~promoted & (now > last_used + _hours_to_fade(importance, readings))
        archived |= faded
        lost += faded
        found = asking & ~archived
        readings[found] += 1
        last_used[found] = now[found]
        score = importance + np.minimum(MOST_ACCESS_GAIN, ACCESS_GAIN * np.log1p(readings)) + RECENCY_GAIN
        promoted |= found & (score >= GATE)
    archived |= ~promoted & (last_used + _hours_to_fade(importance, readings) < HOURS)

    def fate(chosen: Any) -> Fate:
        questions = int(asked[chosen].sum())
        return Fate(
            memories=int(chosen.sum()),
            promoted=float(promoted[chosen].mean()),
            archived=float(archived[chosen].mean()),
            asked=questions,
            lost=float(lost[chosen].sum() / questions) if questions else 0.0,
        )

    told = {name: fate(kind == number) for number, name in enumerate(names)}
    return {**told, "all": fate(np.ones(count, dtype=bool))}


def _hours_to_fade(importance: Any, readings: Any) -> Any:
    return np.log(1 / ARCHIVED_UNDER) / RATE_PER_HOUR * BASE_STRENGTH * (0.5 + importance) * (1 + np.log1p(readings))


def is_a_gate(found: dict[str, Fate]) -> bool:
    """Measure whether promotion and decay separate what matters from what does not."""
    everything = found["all"]
    return (
        0.01 < everything.promoted < 0.3
        and 0.3 < everything.archived < 0.97
        and found["defining"].promoted > 10 * found["small talk"].promoted
        and found["small talk"].archived > found["defining"].archived
        and everything.lost < 0.3
    )


def run(*, users: int, as_json: bool) -> int:
    found = simulate(users)
    if as_json:
        print(json.dumps({name: asdict(each) for name, each in found.items()}))
    else:
        print(f"{users:,} users, a year, {found['all'].memories:,} short-term memories")
        for name, each in found.items():
            print(
                f"  {name:<12} promoted {each.promoted:6.1%}  archived {each.archived:6.1%}  asked for {each.asked:>9,}"
                f" times, of it lost {each.lost:5.1%}"
            )
    return 0 if is_a_gate(found) else 1
