"""Requests over time: how they are grouped and drawn, and whose they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keeps.base.scope import Scope
from keeps.doors.console.charts import HEIGHT, WIDTH, request_charts
from keeps.engine import Keeps, LocalMemory
from keeps.memory.requests.activity import HOURS, LEAST_DAYS, RequestSample, activity
from keeps.memory.requests.service import RequestService
from tests.console.test_pages import browsing
from tests.requests.test_pages import logging_url, page_of
from tests.requests.test_requests import logging, users
from tests.serving import token

__all__ = ["logging", "logging_url", "users"]
NOW = datetime(2026, 11, 28, 10, 30, tzinfo=UTC)
SAMPLES = some.lists(
    some.builds(
        RequestSample,
        kind=some.sampled_from(["recall", "context"]),
        asked_at=some.timedeltas(timedelta(days=-90), timedelta(hours=1)).map(lambda ago: NOW + ago),
        took_ms=some.floats(0, 1e6, width=32),
        found_nothing=some.booleans(),
    ),
    max_size=60,
)


def sample(ago: timedelta, took_ms: float = 10.0, *, found_nothing: bool = False) -> RequestSample:
    return RequestSample("recall", NOW - ago, took_ms, found_nothing)


@given(SAMPLES)
def test_every_request_is_in_one_bucket(samples: list[RequestSample]) -> None:
    result = activity(samples, NOW)
    assert sum(bucket.recalls + bucket.contexts for bucket in result.buckets) == len(samples)
    starts = [bucket.start for bucket in result.buckets]
    assert len({later - earlier for earlier, later in pairwise(starts)}) == 1
    assert starts[-1] <= NOW < starts[-1] + (starts[1] - starts[0])


@given(SAMPLES)
def test_charts_stay_inside_their_axes(samples: list[RequestSample]) -> None:
    for chart in request_charts(activity(samples, NOW)):
        for rect in chart.rects:
            assert rect.x >= 0
            assert rect.y >= -0.1
            assert rect.x + rect.width <= WIDTH
            assert rect.y + rect.height <= HEIGHT + 0.1
        assert all(0 <= point.x <= WIDTH and -0.1 <= point.y <= HEIGHT for line in chart.lines for point in line)


def test_one_day_is_drawn_by_hour_and_more_by_day() -> None:
    assert (activity([sample(timedelta(hours=22))], NOW).unit, HOURS) == ("hour", 24)
    assert activity([sample(timedelta(hours=25))], NOW).unit == "day"
    assert len(activity([sample(timedelta(days=2))], NOW).buckets) == LEAST_DAYS
    assert len(activity([sample(timedelta(days=40))], NOW).buckets) == 41


def test_latency_is_the_median_and_the_ninety_fifth_of_a_hundred() -> None:
    total = activity([sample(timedelta(), float(ms), found_nothing=ms > 75) for ms in range(1, 101)], NOW).total
    assert (total.median_ms, total.p95_ms, total.share) == (50.5, 95.0, 0.25)


@pytest.mark.parametrize(("slowest", "top"), [(0.4, "1 ms"), (12.0, "20 ms"), (20.0, "20 ms"), (730.0, "1,000 ms")])
def test_axis_ends_at_a_round_number(slowest: float, top: str) -> None:
    assert request_charts(activity([sample(timedelta(), slowest)], NOW))[1].top == top


async def test_overview_draws_the_requests_of_the_user_alone(logging: Keeps, logging_url: str, tenant: str) -> None:
    alice: LocalMemory = logging.memory(Scope(tenant, "alice"))
    await alice.remember("Alice is allergic to peanuts.", index="now")
    for _ in range(3):
        await alice.recall("What is Alice allergic to?")
    await alice.context("xyzzy")
    await logging.memory(Scope(tenant, "bob")).recall("What is Bob allergic to?")
    before = await logging.service(RequestService).activity(alice.scope, 7)
    assert (before.total.recalls, before.total.contexts) == (3, 1)
    async with browsing(logging_url, token(tenant, "alice", "reader")) as http:
        text = await page_of(http, "/ui/insights/numbers")
    assert "<strong>4</strong> <span>recalls and contexts in 7 days</span>" in text
    assert re.search(r"<title>\d{4}-\d\d-\d\d \d\d:00: 3 recalls</title>", text)
    assert len(re.findall('role="img" aria-label="(?:Recalls|Latency|Share)', text)) == 3
    assert await logging.service(RequestService).activity(alice.scope, 7) == before, "looking is not logged"
