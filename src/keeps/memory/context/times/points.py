"""Read one calendar point from tokens: a day, a week, a month, a season, or a part of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from keeps.memory.context.times import spans
from keeps.memory.context.times.dates import QUARTER_LETTERS
from keeps.memory.context.times.reading import Reading
from keeps.memory.context.times.relative import Relative
from keeps.memory.context.times.spans import DAY, WEEK, Span
from keeps.memory.context.times.tokens import Tokens

DEEPEST = 3
"""Maximum nesting of expressions, as in "the end of the first week of March"."""
LEADING = frozenset(
    "in about of from since after before until between to by part ago_pre dash last this next past ordinal".split()
)


class Points(Relative):
    """Reads points, at a local time `now`."""

    def __init__(self, tokens: Tokens, now: datetime) -> None:
        super().__init__(tokens, now)
        self._depth = 0
        self._known: dict[tuple[int, bool, int], Reading | None] = {}

    def point(self, position: int, *, led: bool = False) -> Reading | None:
        """Return the point that begins here. `led`: a preposition of time precedes it."""
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
        """Return the part of a day that is named after it: "Monday evening", "lundi au soir"."""
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

    def about(self, position: int, _led: bool = True) -> Reading | None:
        """Read "around 10 October": a day extended by three days on both sides."""
        inner = self.point(position + 1, led=True)
        if inner is None or inner.grain != "day" or inner.until - inner.since != DAY:
            return inner
        return inner._replace(since=inner.since - 3 * DAY, until=inner.until + 3 * DAY)

    def no_time(self, position: int, _led: bool = True) -> Reading | None:
        """Read "every Monday", "happy Easter", "born in 1987": times that are not asked about."""
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
        if few := self._few(position + 1):
            count, end = sum(few) // 2, position + 2
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
    "about": (Points.about,),
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
    "unit": (Points.around, Points.counted, Points.unit_of, Points.modified, Points.named),
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
