"""Compute how well a short-term memory is still retained. Pure; after Ebbinghaus' curve of forgetting.

    retention = exp(-0.1 · hours since the last use / S)
    S         = 14 · (0.5 + importance) · (1 + ln(1 + number of recalls))

An ordinary memory (importance 0.5) that nobody reads falls below 0.3 after 7 days; one of importance 0.9 that was
recalled ten times, after 33 days. Long-term memories and knowledge do not fade. `keeps.fades_at` is the same in SQL.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

ARCHIVED_UNDER = 0.3
RATE_PER_HOUR = 0.1
BASE_STRENGTH = 14.0


def strength(importance: float, access_count: int) -> float:
    """Return the resistance to fading; 14 for an ordinary memory that nobody has read."""
    return BASE_STRENGTH * (0.5 + importance) * (1 + math.log1p(access_count))


def retention(importance: float, access_count: int, last_used_at: datetime, now: datetime) -> float:
    """Return a value between 1 (just used) and 0. A clock that jumped back counts as no time passed."""
    hours = max(0.0, (now - last_used_at).total_seconds() / 3_600)
    return math.exp(-RATE_PER_HOUR * hours / strength(importance, access_count))


def retained(
    importance: npt.NDArray[np.float64], access_count: npt.NDArray[np.int64], hours: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the `retention` of many memories, from the hours since each was last used."""
    return np.exp(-RATE_PER_HOUR * hours / (BASE_STRENGTH * (0.5 + importance) * (1 + np.log1p(access_count))))


def fades_at(importance: float, access_count: int, last_used_at: datetime) -> datetime:
    """Return the time at which retention falls to 0.3, unless the memory is used before."""
    hours = math.log(1 / ARCHIVED_UNDER) / RATE_PER_HOUR * strength(importance, access_count)
    return last_used_at + timedelta(hours=hours)
