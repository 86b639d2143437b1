"""Read times relative to today: "yesterday", "two weeks ago", "last month", "Friday of last week"."""

from __future__ import annotations

from keeps.memory.context.times import spans
from keeps.memory.context.times.dates import Dates
from keeps.memory.context.times.reading import Reading
from keeps.memory.context.times.spans import DAY, WEEK

_FOLLOWERS = frozenset(
    "end stop comma function in of to and from dash article since before after until between this".split()
)
_SKIPPED = frozenset(("article", "of", "in"))


class Relative(Dates):
    """Reads times relative to a local time `now`."""

    def point(self, position: int, *, led: bool = False) -> Reading | None:
        """Return the point that begins here. `led`: a preposition of time precedes it."""
        raise NotImplementedError

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
        if back == 0:  # "What is on today?" asks for no memory of today.
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
        """Read a count and a unit. `after` 1: the word for "ago" follows."""
        few = self._few(position)
        count, end = self._count(position) if few is None else (few[1], position + 1)
        what = self.at(end)
        if count is None and what.value == "half_year":  # "half a year ago"
            count = 1
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
                number = int(str(weekday.value))
                return Reading(*spans.weekday_weeks_ago(self.now, number, count), self._skip(end) + 1)
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

    def modified(self, position: int, _led: bool = True) -> Reading | None:
        """Read a unit or name with "last", "this" or "next", before or after it, depending on the language."""
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
        past = self.ago(self._skip(following))
        if past is not None and past[1] == "week":
            return Reading(*spans.weekday_weeks_ago(self.now, number, past[0]), past[2])
        foreign = self._tokens.language != "english"
        names_a_day = foreign and (self._tokens.mood == "past" or self.at(position - 1).kind == "article")
        if not (led or names_a_day or self.at(end).kind in _FOLLOWERS):
            return None
        if self.at(end).kind == "apostrophe" and not led and self._tokens.mood != "past":
            return None
        return Reading(*spans.weekday(self.now, number), end, "open", "weekday", "week")

    def _week_around(self, position: int) -> Reading | None:
        """Return the week that a weekday belongs to: "of last week", "letzter Woche", "de la semana pasada"."""
        if self.at(position).kind == "function":
            return None
        week = self.modified(self._skip(position))
        if week is None:
            week = self.point(self._skip(position), led=True) if self.at(position).kind in ("of", "in") else None
        return week if week is not None and (week.grain == "week" or week.tense == "future") else None

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

    def _skip(self, position: int) -> int:
        for _ in range(3):
            if self.at(position).kind not in _SKIPPED:
                break
            position += 1
        return position
