"""Reads one point of the calendar from tokens: a day, a week, a month, a season, or a part of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from keeps.context.times import spans
from keeps.context.times.dates import QUARTER_LETTERS, Dates
from keeps.context.times.reading import Reading
from keeps.context.times.spans import DAY, WEEK, Span
from keeps.context.times.tokens import Tokens

DEEPEST = 3
"""Expressions inside expressions, as in "the end of the first week of March"."""
LEADING = frozenset(
    "in of from since after before until between to by part ago_pre dash last this next past ordinal".split()
)
_FOLLOWERS = frozenset(
    "end stop comma function in of to and from dash article since before after until between this".split()
)
_SKIPPED = frozenset(("article", "of", "in"))


class Points(Dates):
    """Reads points, at a local time `now`."""

    def __init__(self, tokens: Tokens, now: datetime) -> None:
        super().__init__(tokens, now)
        self._depth = 0
        self._known: dict[tuple[int, bool, int], Reading | None] = {}

    def point(self, position: int, *, led: bool = False) -> Reading | None:
        """Return the point that begins here. `led`: a preposition of time stands before it."""
        begin, position = position, self._skip(position)
        token = self.at(position)
        if token.kind not in _READERS or (token.kind == "word" and token.text not in QUARTER_LETTERS):
            return None
        if self._depth >= DEEPEST or self._is_title(begin):
            return None
        led = led or self._is_led(begin)
        key = position, led, self._depth
        if key not in self._known:
            self._depth += 1
            try:
                self._known[key] = self._read(token.kind, position, led)
            finally:
                self._depth -= 1
        return self._known[key]

    def _read(self, kind: str, position: int, led: bool) -> Reading | None:
        for reader in _READERS[kind]:
            if reading := reader(self, position, led):
                return self._narrowed(reading)
        return None

    # ---- what stands around a point

    def _skip(self, position: int) -> int:
        for _ in range(3):
            if self.at(position).kind not in _SKIPPED:
                break
            position += 1
        return position

    def _is_led(self, position: int) -> bool:
        back = position - 1
        if self.at(position).kind == "in":
            return True
        while back >= 0 and self.at(back).kind == "article":
            back -= 1
        return self.at(back).kind in LEADING or (self.at(position).kind == "article" and self.at(back).kind in LEADING)

    def _is_title(self, position: int) -> bool:
        return self.at(position - 1).kind == "title" or any(
            self.at(position + ahead).kind == "title"
            and self.at(position + 1).text in ("is", "was", "ist", "es", "est")
            for ahead in (2, 3)
        )

    def _narrowed(self, reading: Reading) -> Reading:
        """Return the part of a day where one is named after it: "Monday evening", "lundi au soir"."""
        if reading.grain == "week" and reading.tense == "past":
            place = self._skip(reading.end)
            if self.at(place).kind == "weekday" and self.at(reading.end).kind != "of":
                begin = reading.since + DAY * int(str(self.at(place).value))
                reading = Reading(begin, begin + DAY, place + 1)
        if reading.grain not in ("day", "weekday") or reading.until - reading.since != DAY:
            return reading
        for skip in range(3):
            token = self.at(reading.end + skip)
            if token.kind == "half" or (token.text == "morgen" and reading.grain == "weekday"):
                part = "morning" if token.text == "morgen" else str(token.value)
                since, until = spans.half_of_day(reading.since, part)
                return reading._replace(since=since, until=until, end=reading.end + skip + 1)
            if token.kind not in ("in", "article"):
                break
        return reading

    # ---- points inside points

    def around(self, position: int, _led: bool = True) -> Reading | None:
        """Read "this time last year" and "l'année dernière à la même époque"."""
        token = self.at(position)
        exact = token.kind == "around_day"
        if token.kind in ("around", "around_day"):
            inner = self.modified(self._skip(position + 1))
            end = inner.end if inner else position
        else:
            inner = self.modified(position)
            end = inner.end + 1 if inner else position
            if inner is None or self.at(inner.end).kind not in ("around", "around_day"):
                return None
            exact = self.at(inner.end).kind == "around_day"
        if inner is None or inner.grain not in ("year", "month", "week"):
            return None
        months = {"year": 12, "month": 1}.get(inner.grain, 0)
        middle = spans.midnight(spans.months_before(self.now, months) if months else self.now - WEEK)
        around = DAY * (0 if exact else {"year": 7, "month": 3}.get(inner.grain, 1))
        return Reading(middle - around, middle + DAY + around, end)

    def no_time(self, position: int, _led: bool = True) -> Reading | None:
        """Read "every Monday", "happy Easter", "born in 1987": no time that is asked about."""
        inner = self.point(position + 1, led=True)
        return None if inner is None else inner._replace(tense="future")

    def part(self, position: int, _led: bool = True) -> Reading | None:
        """Read "early October", "Ende letzter Woche", "the beginning of the year"."""
        token = self.at(position)
        if token.kind != "part":
            return None
        following = self._skip(position + 1 + (self.at(position + 1).kind == "dash"))
        inner = self.point(following, led=True) or self._this_unit(following)
        if inner is None or inner.tense == "future":
            return inner
        since, until = _third(inner, str(token.value))
        return inner._replace(since=since, until=until)

    def _this_unit(self, position: int) -> Reading | None:
        token = self.at(position)
        if token.kind != "unit" or token.value in ("minute", "hour", "day"):
            return None
        return Reading(*spans.unit_at(self.now, str(token.value)), position + 1, "open", str(token.value))

    def ordinal(self, position: int, _led: bool = True) -> Reading | None:
        """Read "the first week of March", "the second half of October", "the last Friday of September"."""
        token = self.at(position)
        if token.kind == "ordinal" or (token.kind == "nth" and self.at(position + 1).kind in ("unit", "weekday")):
            which = int(str(token.value))
        elif token.kind == "last":
            which = -1
        else:
            return None
        count, end = self._count(position + 1)
        what = self.at(end)
        if what.kind in ("month_week", "month_half"):
            whole = Reading(*spans.latest_months(self.now, int(str(what.value))), end + 1, "open", "month", "year")
            return _nth(whole, which, what.kind.removeprefix("month_"), 1)
        if what.kind not in ("unit", "units", "half_of", "weekday"):
            return None
        if what.kind == "unit" and what.value in ("quarter", "half_year") and which > 0:
            return self.numbered(which, str(what.value), end + 1)
        following = self.at(end + 1).kind
        if following not in ("of", "in", "article"):
            return None
        inner = self.point(end + 1, led=True) or (self._this_unit(self._skip(end + 1)) if following == "of" else None)
        if inner is None or inner.tense == "future" or inner.until - inner.since < 2 * DAY:
            return None
        return _nth(inner, which, what.value if what.kind == "weekday" else str(what.value or "half"), count or 1)

    def unit_of(self, position: int, _led: bool = True) -> Reading | None:
        """Read "the week of 2 November", "the month of May", "the week before Christmas", "the year 2024"."""
        token = self.at(position)
        if token.kind not in ("unit", "units"):
            return None
        unit = str(token.value)
        joint = self.at(position + 1).kind
        if unit == "year" or (token.kind == "units" and unit == "year"):
            number = self.at(position + 1)
            plural = token.kind == "units" and number.kind == "digits" and int(str(number.value)) % 10 == 0
            if number.kind == "decade" or (plural and number.text[-4:] != "0000"):
                value = int(str(number.value))
                return Reading(*spans.year(value + 1900 if value < 100 else value, 10), position + 2, "past", "decade")
            if number.kind == "digits" and 1900 <= int(str(number.value)) < 2100:
                return Reading(*spans.year(int(str(number.value))), position + 2, "past", "year")
        if joint in ("before", "after", "ago_pre"):
            return self._beside(position, 7 if token.kind == "units" and unit == "day" else 1)
        if joint not in ("of", "in") or token.kind == "units" or unit in spans.MINUTES_IN:
            return None
        inner = self.point(position + 2, led=True)
        if inner is None or inner.tense == "future":
            return inner
        if inner.grain == unit or unit == "day":
            return inner
        if inner.grain in ("day", "weekday") and unit in ("week", "weekend", "month"):
            since, until = spans.unit_at(inner.since, unit)
            return inner._replace(since=since, until=until, grain=unit)
        return inner if self.at(position + 1).kind == "of" else None

    def _beside(self, position: int, count: int) -> Reading | None:
        """Read "the week before Christmas", "two days after 5 October", "das Wochenende vor zwei Wochen"."""
        unit, joint = str(self.at(position).value), self.at(position + 1)
        if unit not in spans.DAYS_IN or joint.kind not in ("before", "after", "ago_pre"):
            return None
        past = self.ago(position + 1)
        if past is not None and past[1] == "week" and unit == "weekend":
            return Reading(*spans.unit_at(self.now, unit, past[0]), past[2])
        inner = self.point(position + 2, led=True)
        if inner is None or inner.tense == "future" or (joint.kind == "ago_pre" and joint.text != "vor"):
            return None
        length = DAY * spans.DAYS_IN[unit] * count
        if joint.kind == "after":
            return inner._replace(since=inner.until, until=inner.until + length, grain="day")
        return inner._replace(since=inner.since - length, until=inner.since, grain="day")

    def half_of_point(self, position: int, _led: bool = True) -> Reading | None:
        """Read "the morning of 5 November", "la noche del lunes"."""
        token = self.at(position)
        if token.kind == "half" and self.at(position + 1).kind == "day_back":
            inner = self._day_back(position + 1)
            if inner.until - inner.since == DAY and inner.tense != "future":
                since, until = spans.half_of_day(inner.since, str(token.value))
                return inner._replace(since=since, until=until)
            return inner
        if token.kind != "half" or self.at(position + 1).kind not in ("of", "in", "before"):
            return None
        inner = self.point(position + 2, led=True)
        if inner is None or inner.until - inner.since != DAY or inner.tense == "future":
            return inner
        since, until = spans.half_of_day(inner.since, str(token.value))
        return inner._replace(since=since, until=until)

    # ---- relative to today

    def relative(self, position: int, _led: bool = True) -> Reading | None:
        token, now = self.at(position), self.now
        if token.kind == "day_back":
            return self._day_back(position)
        end = position + 1
        match token.kind:
            case "last_night":
                return Reading(*spans.half_of_day(now - DAY * int(str(token.value)), "night"), end)
            case "tonight":
                return Reading(*spans.half_of_day(now, "evening"), end, "open")
            case "half_today":
                return Reading(*spans.half_of_day(now, str(token.value)), end, "open")
            case "half_yesterday":
                return Reading(*spans.half_of_day(now - DAY, str(token.value)), end)
            case "recent":
                since = spans.midnight(now) - DAY * int(str(token.value))
                return Reading(since, spans.midnight(now) + DAY, end, "past", "recent")
            case _:
                return None

    def _day_back(self, position: int) -> Reading:
        token = self.at(position)
        back = int(str(token.value))
        since, until = spans.day(self.now - DAY * back)
        reading = Reading(since, until, position + 1, "future" if back < 0 else "past")
        if back == 0:  # "What is on today?" asks for no memory of today
            source = self.at(position - 1)
            reading = reading._replace(
                tense="past" if source.kind in ("from", "of") or source.text == "earlier" else "deadline"
            )
        earlier = self.ago(position + 1) if back >= 0 else None
        if earlier is None:
            return reading
        count, unit, end = earlier
        if unit not in spans.DAYS_IN and unit not in spans.MONTHS_IN:
            return reading
        begin = (
            since - DAY * spans.DAYS_IN[unit] * count
            if unit in spans.DAYS_IN
            else spans.months_before(since, spans.MONTHS_IN[unit] * count)
        )
        return Reading(begin, begin + DAY, end)

    def ago(self, position: int) -> tuple[int, str, int] | None:
        """Return count, unit and end of "two weeks ago", "vor zwei Wochen"."""
        before = self.at(position).kind == "ago_pre"
        count, end = self._count(position + 1 if before else position)
        unit = self.at(end)
        if count is None or unit.kind not in ("unit", "units"):
            return None
        if not before:
            if self.at(end + 1).kind != "ago":
                return None
            end += 1
        return count, str(unit.value), end + 1

    def ago_before(self, position: int) -> Reading | None:
        """Read "vor zwei Wochen", "hace dos viernes", "il y a quelques jours"."""
        return self._ago(position + 1, 0)

    def counted(self, position: int, _led: bool = True) -> Reading | None:
        """Read "two weeks ago", "two Fridays ago", "the three last days", "the last few months"."""
        if self.at(position).kind == "ago_pre":
            return self._ago(position + 1, 0)
        if reading := self._ago(position, 1):
            return reading
        count, end = self._count(position)
        few = self._few(position)
        if few:
            count, end = few[1], position + 1
        if count is not None and self.at(end).kind in ("unit", "units"):
            return self._beside(end, count)
        if count is not None and self.at(end).kind == "last" and self.at(end + 1).kind in ("unit", "units"):
            unit = str(self.at(end + 1).value)
            return Reading(*spans.rolling(self.now, count, unit), end + 2, "past", "rolling")
        return None

    def _ago(self, position: int, after: int) -> Reading | None:
        """Read a count and a unit; `after` 1: the word for "ago" stands after it."""
        few = self._few(position)
        count, end = self._count(position) if few is None else (few[1], position + 1)
        what = self.at(end)
        if count is None or (after and self.at(end + 1).kind != "ago"):
            return None
        end += 1 + after
        if what.kind in ("weekday", "weekdays"):
            return Reading(*spans.weekday(self.now, int(str(what.value)), count), end, "past", "weekday")
        if what.kind not in ("unit", "units"):
            return None
        unit = str(what.value)
        weekday = self.at(self._skip(end))
        if few:
            return Reading(spans.ago(self.now, few[1], unit)[0], spans.ago(self.now, few[0], unit)[1], end)
        if unit == "week":
            if weekday.kind == "day_back" and weekday.value == 0 and after:
                return Reading(*spans.day(self.now - WEEK * count), self._skip(end) + 1)
            if weekday.kind == "weekday":
                begin = spans.weekday(self.now, int(str(weekday.value)))[0] - WEEK * count
                return Reading(begin, begin + DAY, self._skip(end) + 1)
        if self.at(end).kind == "around_day" and unit in ("month", "year"):
            return Reading(*spans.day(spans.months_before(self.now, spans.MONTHS_IN[unit] * count)), end + 1)
        if self.at(end).kind == "around_day" and unit in spans.DAYS_IN:
            return Reading(*spans.day(self.now - DAY * spans.DAYS_IN[unit] * count), end + 1)
        grain = "day" if unit == "day" else "ago"
        return Reading(*spans.ago(self.now, count, unit), end, "past", grain)

    def duration(self, position: int) -> Reading | None:
        """Read "seit drei Tagen", "depuis deux semaines"."""
        position += self.at(position).kind == "ago_pre"
        few = self._few(position)
        count, end = self._count(position) if few is None else (few[1], position + 1)
        unit = self.at(end)
        if count is None or unit.kind not in ("unit", "units") or self.at(end + 1).kind == "ago":
            return None
        return Reading(*spans.rolling(self.now, count, str(unit.value)), end + 1, "past", "rolling")

    def _count(self, position: int) -> tuple[int | None, int]:
        token = self.at(position)
        if token.kind in ("number", "digits") and 0 < int(str(token.value)) < 1000:
            return int(str(token.value)), position + 1
        return None, position

    def _few(self, position: int) -> tuple[int, int] | None:
        token = self.at(position)
        return token.value if token.kind == "few" and isinstance(token.value, tuple) else None  # pyright: ignore[reportReturnType]

    # ---- last, this, next

    def modified(self, position: int, _led: bool = True) -> Reading | None:
        """Read what is named with "last", "this" or "next", before or after it in the languages that have it so."""
        token = self.at(position)
        if token.kind in ("last", "this", "next", "before_last"):
            return self._led_by(position)
        following = self.at(position + 1)
        if following.kind not in ("last", "next", "before_last"):
            return None
        if self._tokens.language in ("english", "german") and "unit" in self.at(position + 2).kind:
            return None  # "August last year": what follows is another expression
        if token.kind not in ("unit", "units", "weekday", "month", "weak_month", "season", "weak_season", "holiday"):
            return None
        how = "calendar" if following.value in ("either", "calendar") or token.kind != "units" else "rolling"
        if following.kind == "last" and following.text.startswith("écoul"):
            how = "rolling"
        return self._modify(following.kind, how, position, position + 2)

    def _led_by(self, position: int) -> Reading | None:
        token = self.at(position)
        count, end = self._count(position + 1)
        few = self._few(position + 1)
        if few:
            count, end = few[1], position + 2
        what = self.at(end)
        if (
            token.kind == "this" and count is None and what.kind == "last"
        ):  # "this past week", "ces trois derniers jours"
            return self._led_by(end)
        if count is not None and token.kind == "this":
            return self.counted(position + 1)
        if count is not None and what.kind in ("unit", "units"):
            if token.kind == "last":
                return Reading(*spans.rolling(self.now, count, str(what.value)), end + 1, "past", "rolling")
            return Reading(*spans.day(self.now), end + 1, "future") if token.kind == "next" else None
        if count is not None:
            return None
        how = str(token.value) if token.kind == "last" else ""
        if token.kind == "last" and what.kind == "unit":
            article = self.at(position - 1).kind == "article" and self.at(position - 2).kind == "in"
            german = token.text.startswith(("letzt", "vergangen", "vorig"))
            if (how == "calendar" and article and not german and token.text == "last") or (
                how == "either" and what.value in ("minute", "hour", "day", "week", "month", "year")
            ):
                how = "rolling"
        if self.at(end).kind == "half" and token.kind == "this":
            return Reading(*spans.half_of_day(self.now, str(what.value)), end + 1, "open")
        reading = self._modify(token.kind, how, end, end + 1)
        if reading and token.kind == "this" and self.at(end + 1).kind in ("last", "next"):
            return self.modified(end)
        return reading

    def _modify(self, modifier: str, how: str, position: int, end: int) -> Reading | None:
        """Return the unit, weekday, month, season or holiday at `position`, modified."""
        what = self.at(position)
        if modifier == "next":
            known = what.kind in ("unit", "units", "half", "quarter") or self._cyclic(position, 1) is not None
            return Reading(*spans.day(self.now), end, "future") if known else None
        if what.kind == "units":
            if modifier == "last":
                return Reading(*spans.rolling(self.now, 6 if what.value == "day" else 4, str(what.value)), end)
            return None
        if what.kind == "unit":
            return self._modified_unit(modifier, how, str(what.value), end)
        back = {"last": 1, "this": 1, "before_last": 2}[modifier]
        cyclic = self._cyclic(position, back)
        if cyclic is None:
            return None
        if modifier == "this" and what.kind == "weekday" and int(str(what.value)) == self.now.weekday():
            return cyclic._replace(since=spans.midnight(self.now), until=spans.midnight(self.now) + DAY, end=end)
        year = self.at(end)
        if modifier == "last" and year.kind == "digits" and what.kind != "weekday":
            return None
        tense = "open" if modifier == "this" else "past"
        if what.kind == "weekday" and modifier == "last":
            week = self.weekday(position, True)
            if week is not None and week.end > end:
                return week
        return cyclic._replace(end=end, tense=tense, cycle="" if modifier != "this" else cyclic.cycle)

    def _modified_unit(self, modifier: str, how: str, unit: str, end: int) -> Reading | None:
        if modifier == "last" and how == "rolling" and unit not in ("weekend", "quarter", "decade", "half_year"):
            return Reading(*spans.rolling(self.now, 1, unit), end, "past", "rolling")
        if unit in spans.MINUTES_IN:
            return Reading(*spans.rolling(self.now, 1, unit), end, "past", "rolling") if modifier == "last" else None
        if modifier == "this":
            span = spans.unit_at(self.now, unit)
            if span[0] > self.now and self._tokens.mood == "past":
                span = spans.unit_at(self.now, unit, 1)
            return Reading(*span, end, "open", unit)
        return Reading(*spans.unit_at(self.now, unit, 2 if modifier == "before_last" else 1), end, "past", unit)

    def _cyclic(self, position: int, back: int) -> Reading | None:
        """Return a weekday, month, season or holiday, `back` times ago."""
        token = self.at(position)
        number = token.value
        if token.kind in ("weekday", "weak_weekday"):
            return Reading(*spans.weekday(self.now, int(str(number)), back), position + 1, "open", "weekday", "week")
        span = self.latest(token, back)
        if span is None:
            return None
        grain = "season" if "season" in token.kind else "month" if "month" in token.kind else "day"
        return Reading(*span, position + 1, "open", grain, "year")

    def weekday(self, position: int, led: bool) -> Reading | None:
        """Read "Friday", "on Friday", "Friday last week", "Friday, 5 November", "Friday the 13th"."""
        token = self.at(position)
        end = position + 1
        if token.kind == "weekday_half" and isinstance(token.value, tuple):
            begin = spans.weekday(self.now, int(token.value[0]))[0]
            return Reading(*spans.half_of_day(begin, str(token.value[1])), end, "open", "weekday", "week")
        if token.kind not in ("weekday", "weak_weekday"):
            return None
        if token.kind == "weak_weekday" and self.at(position - 1).kind not in ("in", "last", "since", "this"):
            return None
        number = int(str(token.value))
        following = end + (self.at(end).kind == "comma")
        dated = self.date(self._skip(following), True)
        if dated is not None:
            return dated
        week = self._week_around(following)
        if week is not None and week.tense == "future":
            return week
        if week is not None and week.grain == "week":
            return week._replace(since=week.since + DAY * number, until=week.since + DAY * (number + 1), grain="day")
        if self.at(end).kind in ("in", "of"):
            month = self.named(self._skip(end), True)
            if month is not None and month.grain == "month":
                return month
        past = self.ago(following)
        if past is not None and past[1] == "week":
            begin = spans.weekday(self.now, number)[0] - WEEK * past[0]
            return Reading(begin, begin + DAY, past[2])
        foreign = self._tokens.language != "english"
        names_a_day = foreign and (self._tokens.mood == "past" or self.at(position - 1).kind == "article")
        if not (led or names_a_day or self.at(end).kind in _FOLLOWERS):
            return None
        if self.at(end).kind == "apostrophe" and not led and self._tokens.mood != "past":
            return None
        return Reading(*spans.weekday(self.now, number), end, "open", "weekday", "week")

    def _week_around(self, position: int) -> Reading | None:
        """Return the week that a weekday is said to be in: "of last week", "letzter Woche", "de la semana pasada"."""
        if self.at(position).kind == "function":
            return None
        week = self.modified(self._skip(position))
        if week is None:
            week = self.unit_of(self._skip(position)) if self.at(position).kind in ("of", "in") else None
        return week if week is not None and (week.grain == "week" or week.tense == "future") else None


def _third(reading: Reading, part: str) -> Span:
    """Return the early, middle or late part: of a month its days 1 to 10, 11 to 20 and the rest; else a third."""
    since, until = reading.since, reading.until
    if until - since <= DAY:
        return since, until
    if reading.grain == "month" and until - since < 32 * DAY:
        first, second = since + 10 * DAY, since + 20 * DAY
    elif reading.grain == "week":
        first, second = since + 2 * DAY, since + 4 * DAY
    else:
        months = (until.year - since.year) * 12 + until.month - since.month
        if months % 3 == 0 and since.day == 1:
            first = spans.month(since.year, since.month + months // 3)[0]
            second = spans.month(since.year, since.month + 2 * months // 3)[0]
        else:
            first, second = since + (until - since) / 3, since + 2 * (until - since) / 3
    return {"early": (since, first), "mid": (first, second), "late": (second, until)}[part]


def _nth(whole: Reading, which: int, what: object, count: int) -> Reading | None:
    """Return the n-th (-1: the last) half, weekday or unit within a span."""
    since, until = whole.since, whole.until
    if what == "half" or (what == "fortnight" and whole.grain == "month"):
        half = (until - since) / 2
        middle = since + DAY * 15 if whole.grain == "month" else spans.midnight(since + half)
        if whole.grain == "year":
            middle = spans.month(since.year, 7)[0]
        return whole._replace(since=since if which == 1 else middle, until=middle if which == 1 else until)
    if isinstance(what, int):
        if which < 0:
            begin = until - DAY * ((until.weekday() - what - 1) % 7 + 1)
        else:
            begin = since + DAY * ((what - since.weekday()) % 7) + WEEK * (which - 1)
        return whole._replace(since=begin, until=begin + DAY, grain="day")
    unit = str(what)
    if unit in ("day", "week"):
        length = DAY * spans.DAYS_IN[unit] * count
        begin = until - length if which < 0 else since + length * (which - 1)
        return whole._replace(since=begin, until=min(begin + length, until), grain=unit)
    if unit == "weekend":
        begin = since + DAY * ((5 - since.weekday()) % 7) + WEEK * (which - 1)
        if which < 0:
            begin = until - DAY * ((until.weekday() - 5 - 1) % 7 + 1)
        return whole._replace(since=begin, until=begin + 2 * DAY, grain=unit)
    if unit in spans.MONTHS_IN and spans.MONTHS_IN[unit] <= 6:
        months = spans.MONTHS_IN[unit] * count
        begin = (
            spans.month(until.year, until.month - months)[0]
            if which < 0
            else spans.month(since.year, since.month + months * (which - 1))[0]
        )
        return whole._replace(since=begin, until=spans.month(begin.year, begin.month, months)[1], grain=unit)
    return None


_Reader = Callable[[Points, int, bool], Reading | None]
_READERS: dict[str, tuple[_Reader, ...]] = {
    "around": (Points.around,),
    "around_day": (Points.around,),
    "no_time": (Points.no_time,),
    "part": (Points.part,),
    "ordinal": (Points.ordinal,),
    "nth": (Points.ordinal, Points.date),
    "last": (Points.around, Points.ordinal, Points.modified),
    "this": (Points.around, Points.modified),
    "next": (Points.modified,),
    "before_last": (Points.around, Points.modified),
    "unit": (Points.around, Points.unit_of, Points.modified, Points.named),
    "units": (Points.unit_of, Points.modified),
    "half": (Points.half_of_point,),
    "day_back": (Points.relative,),
    "last_night": (Points.relative,),
    "tonight": (Points.relative,),
    "half_today": (Points.relative,),
    "half_yesterday": (Points.relative,),
    "recent": (Points.relative,),
    "ago_pre": (Points.counted,),
    "number": (Points.counted,),
    "few": (Points.counted,),
    "digits": (Points.counted, Points.date, Points.named),
    "weekday": (Points.modified, Points.weekday),
    "weak_weekday": (Points.modified, Points.weekday),
    "weekday_half": (Points.weekday,),
    "month": (Points.modified, Points.date, Points.named),
    "weak_month": (Points.modified, Points.date, Points.named),
    "season": (Points.modified, Points.named),
    "weak_season": (Points.modified, Points.named),
    "holiday": (Points.modified, Points.named),
    "iso": (Points.date,),
    "date": (Points.date,),
    "weak_date": (Points.date,),
    "day_month": (Points.date,),
    "decade": (Points.named,),
    "calendar_week": (Points.named,),
    "word": (Points.named,),
}
"""The readers to try on each kind of token, in order."""
