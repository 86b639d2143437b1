"""Classify by meaning whether a text that nobody recalled says something lasting. Pure.

Identity, obligations, decisions and wishes can be expressed in more ways than rules know. A linear classifier over the
sentence vector of the built-in model distinguishes them from talk, moods and errands. It was fitted to
`benchmarks/sets/lasting.jsonl` (`python tools/fit_lasting.py`), which was written for it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from keeps.base.text.importance import is_chatter
from keeps.base.text.lasting import is_passing

LEAST = 0.4
"""Minimum probability of a lasting text."""
DATA = "data/lasting.npz"


@cache
def _weights() -> tuple[NDArray[np.float32], float]:
    with files("keeps.memory.lifecycle").joinpath(DATA).open("rb") as file:
        held = np.load(file)
        return held["weights"], float(held["bias"])


def lasting_probability(sentence: NDArray[np.floating]) -> float:
    """Return the probability, 0 to 1, for a sentence vector of the built-in model: unit length, (384,)."""
    weights, bias = _weights()
    return float(1 / (1 + np.exp(-(sentence @ weights + bias))))


def lasting(text: str, sentence: NDArray[np.floating]) -> bool:
    """Return whether a text with the vector `sentence` says something that must not fade within a month."""
    return not is_chatter(text) and not is_passing(text) and lasting_probability(sentence) >= LEAST
