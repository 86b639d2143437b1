"""The result of reading an expression: a span, its end in the tokens, and how certainly it is past."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from keeps.memory.context.times.spans import DAY, WEEK

NEAR = 31 * DAY


class Reading(NamedTuple):
    """A span read from tokens.

    `end`: the position after its last token.
    `tense`: "past", "future", "open" (could be either) or "deadline" (past only if the verbs are).
    `grain`: the calendar unit.
    `cycle`: "year" or "week" if the span recurs and the latest one was taken.
    """

    since: datetime
    until: datetime
    end: int
    tense: str = "past"
    grain: str = "day"
    cycle: str = ""


def shifted(reading: Reading, count: int) -> Reading:
    """Return the same expression some cycles later (or, with a negative count, earlier)."""
    if reading.cycle == "week":
        return reading._replace(since=reading.since + count * WEEK, until=reading.until + count * WEEK)
    length = reading.until - reading.since
    since = _years_later(reading.since, count)
    until = _years_later(reading.until, count) if reading.until.day == 1 else since + length
    return reading._replace(since=since, until=until)


def _years_later(moment: datetime, years: int) -> datetime:
    try:
        return moment.replace(year=moment.year + years)
    except ValueError:  # 29 February
        return moment.replace(year=moment.year + years, day=28) + timedelta(days=1)


def ordered(first: Reading, last: Reading, now: datetime) -> Reading:
    """Return the range from one reading to the other; an end without a year or week takes it from the other end."""
    if first.cycle == "week" == last.cycle:
        while first.since > last.since:
            first = shifted(first, -1)
    elif first.cycle == "year" == last.cycle:
        if last.since < first.since:
            last = shifted(last, 1)
        if last.since > now + NEAR:
            first, last = shifted(first, -1), shifted(last, -1)
    elif first.cycle:
        for _ in range(200):
            if first.since <= last.since:
                break
            first = shifted(first, -1)
        while first.cycle == "year" and shifted(first, 1).since <= min(last.since, now):
            first = shifted(first, 1)
    elif last.cycle:
        for _ in range(200):
            if last.since >= first.since and shifted(last, -1).since < first.since:
                break
            last = shifted(last, 1 if last.since < first.since else -1)
        if first.grain == "weekday" and last.cycle == "week" and last.since > now:
            first = first._replace(since=first.since - WEEK, until=first.until - WEEK)
            last = shifted(last, -1)
    tense = "past" if "past" in (first.tense, last.tense) else "open"
    return Reading(first.since, last.until, last.end, tense, last.grain, first.cycle and last.cycle)


def joined(first: Reading, last: Reading) -> Reading:
    """Return the span that covers both."""
    return first._replace(
        since=min(first.since, last.since), until=max(first.until, last.until), end=max(first.end, last.end)
    )
