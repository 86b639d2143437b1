"""Times named in questions: a development set of expressions and of traps in four languages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from keeps.context.times import time_span

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)  # a Wednesday


def rows(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("#")]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def agrees(span: tuple[datetime, datetime], since: datetime, until: datetime) -> bool:
    """Whether two spans share at least half of the shorter one, and neither is four times as long as the other."""
    shared = min(span[1], until) - max(span[0], since)
    shorter, longer = sorted((span[1] - span[0], until - since))
    return shared >= shorter / 2 and longer <= 4 * shorter


@pytest.mark.parametrize("row", rows("spans.txt"), ids=lambda row: f"{row[0]}: {row[1]}")
def test_span_of_question(row: list[str]) -> None:
    _, question, since, until, how, *now = row
    span = time_span(question, moment(now[0]) if now else NOW)
    expected = moment(since), moment(until)
    if how == "=":
        assert span == expected
    else:
        assert span is not None
        assert agrees(span, *expected), span


@pytest.mark.parametrize("row", rows("no_spans.txt"), ids=lambda row: f"{row[0]}: {row[1]}")
def test_message_without_past_time(row: list[str]) -> None:
    _, message, *now = row
    assert time_span(message, moment(now[0]) if now else NOW) is None
