"""Times named in questions: a development set of expressions and of traps in four languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.memory.context.times import time_span
from keeps_client.zones import zone_of

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
def test_question_time_span_is_parsed(row: list[str]) -> None:
    _, question, since, until, how, *now = row
    span = time_span(question, moment(now[0]) if now else NOW)
    expected = moment(since), moment(until)
    if how == "=":
        assert span == expected
    else:
        assert span is not None
        assert agrees(span, *expected), span


@pytest.mark.parametrize("row", rows("no_spans.txt"), ids=lambda row: f"{row[0]}: {row[1]}")
def test_message_without_past_time_has_no_span(row: list[str]) -> None:
    _, message, *now = row
    assert time_span(message, moment(now[0]) if now else NOW) is None


def test_yesterday_is_the_users_yesterday() -> None:
    now = datetime(2026, 11, 18, 4, 30, tzinfo=UTC)  # still the evening of the 17th in New York
    span = time_span("What did I say yesterday?", now, ZoneInfo("America/New_York"))
    assert span == (datetime(2026, 11, 16, 5, tzinfo=UTC), datetime(2026, 11, 17, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("day", "since", "hours"),
    [
        ("29 March", "2026-03-28T23:00", 23),
        ("25 October", "2026-10-24T22:00", 25),
        ("30 March", "2026-03-29T22:00", 24),
    ],
)
def test_day_of_clock_change_has_its_own_length(day: str, since: str, hours: int) -> None:
    span = time_span(f"What did we do on {day}?", NOW, ZoneInfo("Europe/Berlin"))
    assert span is not None
    assert span[0] == moment(since)
    assert span[1] - span[0] == timedelta(hours=hours)


@pytest.mark.parametrize(
    "name", ["Foo", "Europe", "../etc/passwd", "+25:00", "", "Europe/Berlin\n", "localtime", "posix/UTC"]
)
def test_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        zone_of(name)


@pytest.mark.parametrize(("name", "hours"), [("UTC", 0), ("+02:00", 2), ("-0530", -5.5), ("Asia/Kolkata", 5.5)])
def test_zone_may_be_name_or_offset(name: str, hours: float) -> None:
    assert NOW.astimezone(zone_of(name)).utcoffset() == timedelta(hours=hours)


WORDS = (
    "last this next since in on the ago week weekend month quarter q1 year years spring winter monday evening february"
    " 29 30 0 1 3 99999 0000 9999 2024-13-45 31.12.9999 1/2/3 vor jahren hace été from to between and before after"
    " until of end of early first half ' - , . due every may 9999-12-31 decade fortnight minutes morgen mañana noche"
)


@given(st.text(max_size=400) | st.lists(st.sampled_from(WORDS.split()), max_size=16).map(" ".join))
def test_spans_never_fail_and_begin_in_the_past(message: str) -> None:
    span = time_span(message, NOW, ZoneInfo("America/New_York"))
    if span is not None:
        assert span[0] < span[1]
        assert span[0] <= NOW
