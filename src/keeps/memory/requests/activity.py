"""Requests of a user over time, for the curves of the console."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Literal

Unit = Literal["hour", "day"]
STEP = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
HOURS, LEAST_DAYS = 24, 8
"""Number of buckets: always 24 hours, and at least 8 days."""


@dataclass(frozen=True, slots=True)
class RequestSample:
    """Time, kind and latency of one request."""

    kind: str
    asked_at: datetime
    took_ms: float
    found_nothing: bool


@dataclass(frozen=True, slots=True)
class Bucket:
    """The requests of one hour or day, in UTC. Without requests there is no latency."""

    start: datetime
    recalls: int
    contexts: int
    found_nothing: int
    median_ms: float | None
    p95_ms: float | None

    @property
    def share(self) -> float:
        """Return the share of requests without an answer, from 0 to 1."""
        return self.found_nothing / max(1, self.recalls + self.contexts)


@dataclass(frozen=True, slots=True)
class Activity:
    """Buckets in order of time without gaps, the last one with the present, and their total."""

    unit: Unit
    buckets: tuple[Bucket, ...]
    total: Bucket


def activity(samples: Sequence[RequestSample], now: datetime) -> Activity:
    """Group requests by hour if all are of the last 24 hours, else by day."""
    oldest = min((sample.asked_at for sample in samples), default=now)
    unit: Unit = "hour" if _start(oldest, "hour") > _start(now, "hour") - HOURS * STEP["hour"] else "day"
    last, step = _start(now, unit), STEP[unit]
    count = HOURS if unit == "hour" else max(LEAST_DAYS, (last - _start(oldest, unit)) // step + 1)
    grouped: dict[datetime, list[RequestSample]] = {last - step * (count - 1 - place): [] for place in range(count)}
    for sample in samples:
        # A clock that was ahead: its requests belong to the present.
        grouped[min(_start(sample.asked_at, unit), last)].append(sample)
    buckets = tuple(_bucket(start, requests) for start, requests in grouped.items())
    return Activity(unit, buckets, _bucket(buckets[0].start, samples))


def _bucket(start: datetime, samples: Iterable[RequestSample]) -> Bucket:
    samples = list(samples)
    latencies = sorted(sample.took_ms for sample in samples)
    return Bucket(
        start=start,
        recalls=sum(sample.kind == "recall" for sample in samples),
        contexts=sum(sample.kind == "context" for sample in samples),
        found_nothing=sum(sample.found_nothing for sample in samples),
        median_ms=median(latencies) if latencies else None,
        p95_ms=latencies[math.ceil(0.95 * len(latencies)) - 1] if latencies else None,
    )


def _start(moment: datetime, unit: Unit) -> datetime:
    moment = moment.astimezone(UTC)
    return moment.replace(hour=moment.hour if unit == "hour" else 0, minute=0, second=0, microsecond=0)
