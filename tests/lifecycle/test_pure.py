"""Retention and promotion, as docs/layers.md says them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.memory.lifecycle.promotion import is_promoted, promotion_score
from keeps.memory.memories.retention import fades_at, retention
from keeps.parts import PARTS
from keeps_client.models.operations import JobName

START = datetime(2026, 1, 1, tzinfo=UTC)
importances = st.floats(0, 1)
counts = st.integers(0, 10_000)
hours = st.floats(0, 24 * 3_650)


def test_unread_ordinary_memory_fades_in_seven_days() -> None:
    assert fades_at(0.5, 0, START) - START == pytest.approx(timedelta(days=7), abs=timedelta(hours=1))


def test_important_used_memory_lasts_a_month() -> None:
    assert fades_at(0.9, 10, START) - START == pytest.approx(timedelta(days=33), abs=timedelta(days=1))


@given(importances, counts, hours, hours)
def test_retention_only_falls_with_time(importance: float, count: int, one: float, other: float) -> None:
    sooner, later = sorted((one, other))
    at = [retention(importance, count, START, START + timedelta(hours=each)) for each in (sooner, later)]
    assert 0 <= at[1] <= at[0] <= 1


@given(importances, counts, hours)
def test_importance_and_accesses_only_increase_retention(importance: float, count: int, passed: float) -> None:
    now = START + timedelta(hours=passed)
    assert retention(importance, count + 1, START, now) >= retention(importance, count, START, now)
    assert promotion_score(importance, count + 1, START, now) >= promotion_score(importance, count, START, now)


def test_clock_set_back_archives_nothing() -> None:
    assert retention(0.5, 0, START, START - timedelta(days=400)) == 1


def test_nothing_is_promoted_in_its_first_hour() -> None:
    assert not is_promoted(1.0, 100, START, START, START + timedelta(minutes=59))
    assert is_promoted(1.0, 100, START, START, START + timedelta(minutes=61))


async def test_sql_matches_python(raw: asyncpg.Connection) -> None:
    for importance, count in ((0.0, 0), (0.5, 0), (0.5, 3), (0.9, 10), (1.0, 100_000)):
        told = await raw.fetchval("SELECT keeps.fades_at($1, $2, $3)", importance, count, START)
        assert abs(told - fades_at(importance, count, START)) < timedelta(milliseconds=1)


def test_every_job_is_documented() -> None:
    assert {job.name for part in PARTS for job in part.jobs} == set(get_args(JobName))
