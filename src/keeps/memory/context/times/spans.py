"""Calendar arithmetic on local wall-clock times: days, weeks, months, quarters, seasons and holidays.

All times here are naive and local; `time_span` converts its result to UTC at the end. Spans are half open and weeks
begin on Monday. Functions raise ValueError or OverflowError if no calendar has such a date.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
WEEK = 7 * DAY
EARLIEST = datetime(1900, 1, 1)  # noqa: DTZ001
"""Begin of a span such as "before March" that has none."""
HALF_DAYS = {"morning": (6, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""First and last hour of each part of a day, counted from its midnight."""
MONTHS_IN = {"month": 1, "quarter": 3, "half_year": 6, "year": 12, "decade": 120}
DAYS_IN = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
MINUTES_IN = {"minute": 1, "hour": 60}


def local(moment: datetime, zone: tzinfo) -> datetime:
    """Return the wall-clock time in a zone."""
    return moment.astimezone(zone).replace(tzinfo=None)


def to_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Return the UTC time of a wall-clock time in a zone."""
    return moment.replace(tzinfo=zone).astimezone(UTC)


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def day(moment: datetime) -> Span:
    begin = midnight(moment)
    return begin, begin + DAY


def date(year: int, month: int, number: int) -> Span:
    return day(datetime(year, month, number))  # noqa: DTZ001


def month(year: int, number: int, months: int = 1) -> Span:
    """Return `months` months; `number` may lie outside 1 to 12."""
    first = year * 12 + number - 1
    last = first + months
    return datetime(first // 12, first % 12 + 1, 1), datetime(last // 12, last % 12 + 1, 1)  # noqa: DTZ001


def year(number: int, years: int = 1) -> Span:
    return month(number, 1, 12 * years)


def half_of_day(begin: datetime, part: str) -> Span:
    first, last = HALF_DAYS[part]
    return midnight(begin) + timedelta(hours=first), midnight(begin) + timedelta(hours=last)


def latest_date(now: datetime, month_number: int, number: int) -> Span:
    """Return the latest such date that is not to come; 29 February may be years ago."""
    for year_number in range(now.year, now.year - 9, -1):
        if (year_number, month_number, number) <= (now.year, now.month, now.day):
            try:
                return date(year_number, month_number, number)
            except ValueError:
                continue
    raise ValueError


def latest_day_of_month(now: datetime, number: int) -> Span:
    """Return the latest day with this number in its month."""
    for back in range(4):
        begin = month(now.year, now.month - back)[0]
        try:
            span = day(begin.replace(day=number))
        except ValueError:
            continue
        if span[0] <= now:
            return span
    raise ValueError


def latest_months(now: datetime, first: int, months: int = 1) -> Span:
    """Return the latest such month or season that has begun."""
    span = month(now.year, first, months)
    return span if span[0] <= now else month(now.year - 1, first, months)


def weekday(now: datetime, number: int, back: int = 1) -> Span:
    """Return the last such day before today, or the one before it, and so on."""
    begin = midnight(now) - timedelta(days=(now.weekday() - number) % 7 or 7) - WEEK * (back - 1)
    return begin, begin + DAY


def weekday_weeks_ago(now: datetime, number: int, weeks: int) -> Span:
    """Return "Friday a week ago", a week before the last Friday, or "Friday three weeks ago", that of that week."""
    if weeks < 2:
        return weekday(now, number, 2)
    return day(unit_at(now, "week", weeks)[0] + number * DAY)


def unit_at(moment: datetime, unit: str, back: int = 0) -> Span:
    """Return the calendar unit that contains a moment (`back` 0), or an earlier one."""
    if unit in MINUTES_IN:
        length = timedelta(minutes=MINUTES_IN[unit])
        return moment - length * back, moment - length * (back - 1)
    if unit == "day":
        return day(moment - back * DAY)
    if unit in DAYS_IN:
        monday = midnight(moment) - timedelta(days=moment.weekday()) - WEEK * back * (2 if unit == "fortnight" else 1)
        return (monday + 5 * DAY if unit == "weekend" else monday), monday + (2 if unit == "fortnight" else 1) * WEEK
    months = MONTHS_IN[unit]
    return month(0, (moment.year * 12 + moment.month - 1) // months * months - back * months + 1, months)


def latest_weekend(now: datetime) -> Span:
    """Return the latest weekend that has begun."""
    span = unit_at(now, "weekend")
    return span if span[0] <= now else unit_at(now, "weekend", 1)


def months_before(moment: datetime, months: int) -> datetime:
    """Return the same day some months earlier, or that month's last day."""
    begin, end = month(moment.year, moment.month - months)
    return begin + min(timedelta(days=moment.day - 1), end - DAY - begin)


def rolling(now: datetime, count: int, unit: str) -> Span:
    """Return the last `count` units, up to and with today."""
    if unit in MINUTES_IN:
        return now - timedelta(minutes=MINUTES_IN[unit]) * count, now
    today = midnight(now)
    since = today - DAY * DAYS_IN[unit] * count if unit in DAYS_IN else months_before(today, MONTHS_IN[unit] * count)
    return since, today + DAY


def ago(now: datetime, count: int, unit: str) -> Span:
    """Return the time around `count` units ago: people round, so "two weeks ago" is a week wide."""
    if unit in MINUTES_IN:
        length = timedelta(minutes=MINUTES_IN[unit])
        around = length / 2 if unit == "hour" and count < 3 else length * max(1.0, count / 4)
        return now - length * count - around, min(now, now - length * count + around)
    if unit == "day":
        return day(now - DAY * count)
    if unit in DAYS_IN:
        middle = midnight(now) - DAY * DAYS_IN[unit] * count
        return (unit_at(middle, "weekend")) if unit == "weekend" else (middle - 3 * DAY, middle + 4 * DAY)
    if unit in ("month", "half_year"):
        return month(now.year, now.month - count * MONTHS_IN[unit])
    if unit == "year" and count == 1:
        since, until = month(now.year - 1, now.month)
        return since - 15 * DAY, until + 15 * DAY
    return unit_at(now, unit, count)


def easter(year_number: int) -> datetime:
    """Return Easter Sunday, by the anonymous Gregorian algorithm."""
    a, (b, c) = year_number % 19, divmod(year_number, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month_number, number = divmod(h + m - 7 * n + 114, 31)
    return datetime(year_number, month_number, number + 1)  # noqa: DTZ001


def holiday(name: str, year_number: int) -> Span:
    """Return a holiday of a year. Movable ones count from Easter or are the n-th weekday of a month."""
    if name in FIXED_HOLIDAYS:
        month_number, number, days = FIXED_HOLIDAYS[name]
        begin = datetime(year_number, month_number, number)  # noqa: DTZ001
        return begin, begin + days * DAY
    if name in EASTER_HOLIDAYS:
        offset, days = EASTER_HOLIDAYS[name]
        begin = easter(year_number) + offset * DAY
        return begin, begin + days * DAY
    month_number, weekday_number, nth, offset = WEEKDAY_HOLIDAYS[name]
    first, after = month(year_number, month_number)
    if nth < 0:
        begin = after - DAY * ((after.weekday() - weekday_number - 1) % 7 + 1)
    else:
        begin = first + DAY * ((weekday_number - first.weekday()) % 7) + WEEK * (nth - 1)
    return day(begin + offset * DAY)


def latest_holiday(now: datetime, name: str) -> Span:
    span = holiday(name, now.year)
    return span if span[0] <= now else holiday(name, now.year - 1)


FIXED_HOLIDAYS = {
    "christmas_eve": (12, 24, 1),
    "christmas_day": (12, 25, 1),
    "boxing_day": (12, 26, 1),
    "christmas": (12, 24, 3),
    "new_years_eve": (12, 31, 1),
    "new_year": (1, 1, 1),
    "epiphany": (1, 6, 1),
    "valentine": (2, 14, 1),
    "womens_day": (3, 8, 1),
    "st_patrick": (3, 17, 1),
    "april_fools": (4, 1, 1),
    "may_day": (5, 1, 1),
    "july_fourth": (7, 4, 1),
    "halloween": (10, 31, 1),
    "all_saints": (11, 1, 1),
    "german_unity": (10, 3, 1),
    "nicholas": (12, 6, 1),
    "san_juan": (6, 24, 1),
}
"""Month, day and length in days."""
EASTER_HOLIDAYS = {
    "carnival": (-52, 6),
    "ash_wednesday": (-46, 1),
    "holy_week": (-7, 8),
    "good_friday": (-2, 1),
    "easter": (-2, 4),
    "easter_sunday": (0, 1),
    "easter_monday": (1, 1),
    "ascension": (39, 1),
    "pentecost": (48, 3),
}
"""Offset from Easter Sunday and length in days."""
WEEKDAY_HOLIDAYS = {
    "thanksgiving": (11, 3, 4, 0),
    "black_friday": (11, 3, 4, 1),
    "cyber_monday": (11, 3, 4, 4),
    "labor_day": (9, 0, 1, 0),
    "memorial_day": (5, 0, -1, 0),
    "mothers_day": (5, 6, 2, 0),
}
"""Month, weekday, which one of the month (-1: the last), offset in days."""
