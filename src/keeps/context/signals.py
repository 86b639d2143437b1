"""What a message asks for besides its words, read by regular expressions in well under a millisecond. Pure.

Times are read in English ("last week", "in March", "two days ago", "since Monday"); in other languages by
dateparser, where it is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keeps.context.smalltalk import is_smalltalk

MOST_READ = 2_000
"""Characters: what a message asks for stands in its beginning."""

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_NUMBER = {name: number for number, month in enumerate(_MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
_MONTH = "(" + "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True)) + ")"
_DAYS: tuple[str, ...] = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
_DAY = "(" + "|".join(_DAYS) + ")"
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "a few": 4, "few": 4, "four": 4, "five": 5, "six": 6, "several": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}  # fmt: skip
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + ")"
_UNIT = r"(hour|day|night|week|weekend|month|year)s?"

_AGO = re.compile(rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b")
_PAST_UNITS = re.compile(rf"\b(?:in|over|during|within|for)?\s*(?:the )?(?:last|past|previous) {_COUNT} {_UNIT}\b")
_LAST = re.compile(rf"\b(last|this|previous|past) (?:{_UNIT}|{_DAY}|{_MONTH})\b")
_TODAY = re.compile(r"\b(today|tonight|this morning|this afternoon|this evening|just now|earlier today)\b")
_YESTERDAY = re.compile(r"\b(the day before yesterday|yesterday|last night)\b")
_RECENTLY = re.compile(r"\b(recently|lately|these days)\b")
_ON_DAY = re.compile(rf"\b(?:on|since) (?:last )?{_DAY}\b")
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?)(?:,? (\d{{4}}))?(?! ?\d)\b"
)
_IN_MONTH = re.compile(
    rf"\b(?:in|during|since|until|by|of|back in|early|late|mid)[ -]{_MONTH}(?:,? (\d{{4}}))?\b|\b{_MONTH} (\d{{4}})\b"
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_IN_YEAR = re.compile(r"\b(?:in|during|since|of) ((?:19|20)\d\d)\b")
_SINCE = re.compile(r"\bsince\b")

_IDENTITY = re.compile(
    r"\b(?:who am i|my name|what do you (?:know|remember) about me|about me|remember me|do you know me|my (?:profile|preferences|background)|tell me about myself)\b",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\b(?:how many (?:users|customers|orders|signups|sign-ups|rows|tickets|invoices|sales|sessions|requests)|mrr|arr|churn|revenue|conversion rate|kpi|metric|metrics"
    r"|average (?:order|revenue|price|time)|total (?:sales|revenue|orders|cost)|per (?:month|week|day|region|country|customer)|group by|top \d+ (?:customers|products|users|regions)|dashboard|report on)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r" ?(?:\? |;|\band then\b|\bafter that\b|\bas well as\b|,? and (?=(?:what|when|who|where|how|why|which|did|does|is|are|was|were)\b)) ?",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:compare|both|difference between|versus|vs\.?|in common|before and after)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Signals:
    """`names`: of smalltalk, identity, data, temporal, multi_step. `since`, `until`: the time that is asked about.
    `parts`: of a question of several steps, each of them."""

    names: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    parts: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.names


def read_signals(message: str, now: datetime) -> Signals:
    """The signals of a message that is sent at `now`."""
    text = " ".join(message[:MOST_READ].split())
    if is_smalltalk(text):
        return Signals(("smalltalk",))
    names: list[str] = []
    span = time_span(text, now)
    if span is not None:
        names.append("temporal")
    if _IDENTITY.search(text):
        names.append("identity")
    if _DATA.search(text):
        names.append("data")
    parts = tuple(part for each in _STEPS.split(text) if len(part := each.strip(" ?.,")) >= 8)
    if len(parts) > 1 or _COMPARED.search(text):
        names.append("multi_step")
    since, until = span or (None, None)
    return Signals(tuple(names), since, until, parts[:3] if len(parts) > 1 else ())


def time_span(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The stretch of the past that an English text speaks of, in UTC; None where it names none."""
    now = now.astimezone(UTC)
    found = _english(text.lower(), now)
    if found is None:
        return None
    since, until = found
    if _SINCE.search(text):
        until = _midnight(now) + timedelta(days=1)
    return (since, until) if since < until else None


def looks_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters and commonest words tell."""
    words = set(re.findall(r"[a-z']+", text.lower()))
    return not text.isascii() or (len(words) >= 3 and not words & _ENGLISH)


def foreign_span(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The day that a text in another language speaks of. Takes tens of milliseconds, and seconds at first: call it in a
    thread. None where dateparser is not installed."""
    try:
        from dateparser.search import search_dates  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "RETURN_AS_TIMEZONE_AWARE": False,
    }
    for _, moment in search_dates(text[:300], settings=settings) or []:
        begin = _midnight(moment.replace(tzinfo=UTC))
        if begin <= now:
            return begin, begin + timedelta(days=1)
    return None


_ENGLISH = frozenset(
    "the a an is are was were i you we it my your our what when where who how did do does have has to of in on for and that this me".split()
)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _english(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    today = _midnight(now)
    day = timedelta(days=1)
    if found := _YESTERDAY.search(text):
        back = 2 if found[1].startswith("the day") else 1
        return today - back * day, today - (back - 1) * day
    if _TODAY.search(text):
        return today, today + day
    if found := _AGO.search(text):
        return _ago(_count(found[1]), found[2], today)
    if found := _PAST_UNITS.search(text):
        return today - _LENGTHS[found[2]] * _count(found[1]), today + day
    if found := _ISO.search(text):
        return _calendar(int(found[1]), int(found[2]), int(found[3] or 0))
    if found := _DATE.search(text):
        month, number = _MONTH_NUMBER[found[2] or found[3]], int(found[1] or found[4])
        return _calendar(int(found[5]) if found[5] else _latest_year(now, month, number), month, number)
    if found := _LAST.search(text):
        return _relative(found[1], found[2], found[3], found[4], today)
    if found := _IN_MONTH.search(text):
        month, year = _MONTH_NUMBER[found[1] or found[3]], found[2] or found[4]
        return _calendar(int(year) if year else _latest_year(now, month, 1), month, 0)
    if found := _ON_DAY.search(text):
        return _weekday(found[1], today)
    if found := _IN_YEAR.search(text):
        return datetime(int(found[1]), 1, 1, tzinfo=UTC), datetime(int(found[1]) + 1, 1, 1, tzinfo=UTC)
    if _RECENTLY.search(text):
        return today - 14 * day, today + day
    return None


def _ago(count: int, unit: str, today: datetime) -> tuple[datetime, datetime]:
    """ "Two weeks ago" is not one day, but about two weeks ago."""
    if unit == "hour":
        return today - timedelta(hours=count), today + timedelta(days=1)
    length = _LENGTHS[unit]
    middle = today - length * count
    return (middle, middle + length) if unit in ("day", "night") else (middle - length / 2, middle + length / 2)


def _weekday(name: str, today: datetime) -> tuple[datetime, datetime]:
    """The last such day before today."""
    begin = today - timedelta(days=(today.weekday() - _DAYS.index(name)) % 7 or 7)
    return begin, begin + timedelta(days=1)


def _relative(
    which: str, unit: str | None, day: str | None, month: str | None, today: datetime
) -> tuple[datetime, datetime] | None:
    if day is not None:
        return _weekday(day, today)
    if month is not None:
        number = _MONTH_NUMBER[month]
        this_year = number < today.month or (number == today.month and which == "this")
        return _calendar(today.year if this_year else today.year - 1, number, 0)
    tomorrow = today + timedelta(days=1)
    match unit:
        case "week" | "weekend":
            monday = today - timedelta(days=today.weekday() + (0 if which == "this" else 7))
            return (monday + timedelta(days=5) if unit == "weekend" else monday), monday + timedelta(days=7)
        case "month":
            first = today.replace(day=1)
            return (first, tomorrow) if which == "this" else ((first - timedelta(days=1)).replace(day=1), first)
        case "year":
            first = today.replace(month=1, day=1)
            return (first, tomorrow) if which == "this" else (first.replace(year=first.year - 1), first)
        case "day" | "night":
            return today - timedelta(days=1), today
        case _:
            return None


def _calendar(year: int, month: int, day: int) -> tuple[datetime, datetime] | None:
    try:
        if day:
            begin = datetime(year, month, day, tzinfo=UTC)
            return begin, begin + timedelta(days=1)
        return datetime(year, month, 1, tzinfo=UTC), datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _latest_year(now: datetime, month: int, day: int) -> int:
    """Of a date without a year, the latest that is not to come."""
    return now.year if (month, day) <= (now.month, now.day) else now.year - 1


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _COUNTS[text]


_LENGTHS = {
    unit: timedelta(days=days)
    for unit, days in (
        ("hour", 1 / 24),
        ("day", 1),
        ("night", 1),
        ("week", 7),
        ("weekend", 7),
        ("month", 30),
        ("year", 365),
    )
}
