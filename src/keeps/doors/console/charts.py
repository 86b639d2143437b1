"""Charts of requests over time, in SVG units, with the values at their axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keeps.memory.requests.activity import Activity, Bucket

WIDTH, HEIGHT = 600, 120
BAR = 0.8
"""Width of a bar, as a share of its place."""
FORMATS = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True)
class Rect:
    """A part of a bar, from its upper left corner. `series`: number of the colour."""

    name: str
    series: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a line. `name`: its time and value."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars or lines. `top`: the value at the upper edge, as text; the lower edge is 0."""

    title: str
    series: tuple[str, ...]
    top: str
    first: str
    last: str
    rects: tuple[Rect, ...] = ()
    lines: tuple[tuple[Point, ...], ...] = ()


def request_charts(activity: Activity) -> tuple[Chart, Chart, Chart]:
    """Return the number of requests, their latency, and the share that found nothing."""
    names = [bucket.start.strftime(FORMATS[activity.unit]) for bucket in activity.buckets]
    counts = [(bucket.recalls, bucket.contexts) for bucket in activity.buckets]
    most = _round_up(max(map(sum, counts)))
    slowest = _round_up(max((bucket.p95_ms or 0 for bucket in activity.buckets), default=0))
    worst = min(100, _round_up(max(100 * bucket.share for bucket in activity.buckets)))
    return (
        Chart(
            f"Recalls and contexts, by {activity.unit}",
            ("recalls", "contexts"),
            f"{most:,}",
            names[0],
            names[-1],
            rects=_stacks(names, counts, ("recalls", "contexts"), most),
        ),
        Chart(
            f"Latency, by {activity.unit}",
            ("median", "95 of 100 are faster"),
            f"{slowest:,} ms",
            names[0],
            names[-1],
            lines=(
                _line(names, [bucket.median_ms for bucket in activity.buckets], slowest),
                _line(names, [bucket.p95_ms for bucket in activity.buckets], slowest),
            ),
        ),
        Chart(
            f"Share that found nothing, by {activity.unit}",
            (),
            f"{worst} %",
            names[0],
            names[-1],
            rects=_shares(names, activity.buckets, worst),
        ),
    )


def _stacks(
    names: Sequence[str], columns: Sequence[Sequence[float]], series: Sequence[str], top: float
) -> tuple[Rect, ...]:
    rects: list[Rect] = []
    step = WIDTH / len(columns)
    for place, (name, values) in enumerate(zip(names, columns, strict=True)):
        below = 0.0
        for number, value in enumerate(values):
            high = HEIGHT * value / top
            if value:
                rects.append(
                    Rect(
                        f"{name}: {value:,} {series[number]}",
                        number,
                        round((place + (1 - BAR) / 2) * step, 1),
                        round(HEIGHT - below - high, 1),
                        round(BAR * step, 1),
                        round(high, 1),
                    )
                )
            below += high
    return tuple(rects)


def _shares(names: Sequence[str], buckets: Sequence[Bucket], top: float) -> tuple[Rect, ...]:
    shares = [(round(100 * bucket.share),) for bucket in buckets]
    return _stacks(names, shares, ("% found nothing",), top)


def _line(names: Sequence[str], values: Sequence[float | None], top: float) -> tuple[Point, ...]:
    """Return the points of a line, in the middle of their places; those without a value are left out."""
    step = WIDTH / len(values)
    return tuple(
        Point(f"{name}: {value:,.0f} ms", round((place + 0.5) * step, 1), round(HEIGHT - HEIGHT * value / top, 1))
        for place, (name, value) in enumerate(zip(names, values, strict=True))
        if value is not None
    )


def _round_up(value: float) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, …, so that the axis ends at a round number."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)
