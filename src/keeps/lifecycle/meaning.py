"""Whether what nobody asked for says something that lasts, by its meaning. Pure.

Who somebody is, what binds them, what was decided and how they want it can be said in more ways than rules know. A
linear classifier over the sentence vector of the built-in model tells it from talk, moods and errands; it was fitted on
`benchmarks/sets/lasting.jsonl` (`python tools/fit_lasting.py`), which was written for it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from keeps.text.importance import is_chatter
from keeps.text.lasting import is_passing

LEAST = 0.4
"""The probability from which on a text is taken for lasting."""
DATA = "data/lasting.npz"


@cache
def _weights() -> tuple[NDArray[np.float32], float]:
    with files("keeps.lifecycle").joinpath(DATA).open("rb") as file:
        held = np.load(file)
        return held["weights"], float(held["bias"])


def lasting_probability(sentence: NDArray[np.floating]) -> float:
    """Between 0 and 1, of a sentence vector of the built-in model: unit length, (384,)."""
    weights, bias = _weights()
    return float(1 / (1 + np.exp(-(sentence @ weights + bias))))


def lasting(text: str, sentence: NDArray[np.floating]) -> bool:
    """Whether a text, which means `sentence`, says something that must not fade in a month."""
    return not is_chatter(text) and not is_passing(text) and lasting_probability(sentence) >= LEAST
