"""Read dates and named periods from tokens: "5 May 2025", "2026-10-12", "Q3", "summer 2024", "Christmas"."""

from __future__ import annotations

from datetime import datetime

from keeps.memory.context.times import spans
from keeps.memory.context.times.reading import Reading, ordered
from keeps.memory.context.times.spans import Span
from keeps.memory.context.times.tokens import END, Token, Tokens

_ENDS = frozenset(("end", "stop", "comma", "dash", "to", "and", "until", "apostrophe"))
DAY_ARTICLES = ("el", "le", "día", "el día")
"""Words that make a following number a day of the month, as in "le 13"."""
QUARTER_LETTERS = {"q": "quarter", "t": "quarter", "h": "half_year"}


class Dates:
    """Reads dates, at a local time `now`."""

    def __init__(self, tokens: Tokens, now: datetime) -> None:
        self._tokens = tokens
        self._items, self._length = tokens.items, len(tokens.items)
        self.now = now

    def at(self, position: int) -> Token:
        return self._items[position] if 0 <= position < self._length else END

    def date(self, position: int, led: bool) -> Reading | None:
        """Read a day of the calendar. `led`: a preposition of time precedes it."""
        token = self.at(position)
        end = position + 1
        if token.kind == "iso":
            return self._iso(str(token.value), end)
        if token.kind == "date" or (token.kind == "weak_date" and led):
            first, second, third = (int(part) for part in str(token.value).split("-"))
            year, month, day = first, second, third
            if month > 12:
                month, day = day, month
            return Reading(*spans.date(year, month, day), end)
        if (
            token.kind == "day_month"
            and (led or self.at(position - 1).text in DAY_ARTICLES)
            and isinstance(token.value, tuple)
        ):
            slashed = "/" in token.text
            if slashed and (self._tokens.language in ("english", "german") or self.at(end).kind == "of"):
                return None
            day, month = int(token.value[0]), int(token.value[1])
            if month > 12:
                day, month = month, day
            return Reading(*spans.latest_date(self.now, month, day), end, "open", "day", "year")
        if token.kind in ("digits", "nth"):
            return (
                self._day_then_month(position, led=led)
                or self._day_of_relative_month(position)
                or self._day_alone(position, led=led)
            )
        if token.kind in ("month", "weak_month"):
            return self._month_then_day(position, led=led)
        return None

    def days_of_month(self, position: int) -> Reading | None:
        """Read "1 to 5 November", "the 3rd and the 7th of October", "November 2-6", "1. und dem 15. Oktober"."""
        position = self._articles(position)
        first, joint = self.at(position), position + 1
        if first.kind not in ("digits", "nth") or self.at(joint).kind not in ("to", "until", "dash", "and", "in"):
            return None
        last = self.date(self._articles(joint + 1), True)
        if last is None or last.grain != "day" or self.at(self._articles(joint + 1)).kind not in ("digits", "nth"):
            return None
        if not any("month" in self.at(place).kind for place in range(joint, last.end)):
            return None
        return self._with_first_day(int(str(first.value)), last)

    def _with_first_day(self, number: int, last: Reading) -> Reading | None:
        begin = last.since.replace(day=number)
        if begin > last.since:
            return None
        first = Reading(begin, begin + spans.DAY, last.end, last.tense, "day", last.cycle)
        if not last.cycle:
            return first._replace(until=last.until)
        first = first._replace(since=spans.latest_date(self.now, begin.month, begin.day)[0])
        return ordered(first._replace(until=first.since + spans.DAY), last, self.now)

    def named(self, position: int, led: bool) -> Reading | None:
        """Read a month, season, holiday, quarter, year, decade or weekend."""
        token = self.at(position)
        match token.kind:
            case "month" | "weak_month" | "season" | "weak_season":
                return self._month_or_season(position, led=led)
            case "holiday":
                follower = self.at(position + 1).kind
                if not led and follower == "word" and self._tokens.mood != "past":
                    return None  # As in "Easter eggs".
                year, end = self._year(position + 1)
                if year:
                    return Reading(*spans.holiday(str(token.value), year), end)
                return Reading(*spans.latest_holiday(self.now, str(token.value)), end, "open", "day", "year")
            case "decade":
                return Reading(*spans.year(int(str(token.value)), 10), position + 1, "past", "decade") if led else None
            case "digits":
                return self._year_alone(position, led=led)
            case "word":
                return self._short_quarter(position)
            case "calendar_week":
                return self._calendar_week(position)
            case "unit":
                return self._weekend(position, led=led)
            case _:
                return None

    def latest(self, token: Token, back: int) -> Span | None:
        """Return the latest such month, season or holiday, or an earlier one."""
        years = back - 1
        if token.kind in ("month", "weak_month", "season", "weak_season"):
            months = 3 if "season" in token.kind else 1
            since, _ = spans.latest_months(self.now, int(str(token.value)), months)
            return spans.month(since.year - years, since.month, months)
        if token.kind == "holiday":
            begin, _ = spans.latest_holiday(self.now, str(token.value))
            return spans.holiday(str(token.value), begin.year - years)
        return None

    def numbered(self, which: int, unit: str, position: int) -> Reading | None:
        """Return a quarter or half year by its number, of a year that may follow."""
        months = spans.MONTHS_IN[unit]
        if not 1 <= which <= 12 // months:
            return None
        year, end = self._year(position)
        first = (which - 1) * months + 1
        if year:
            return Reading(*spans.month(year, first, months), end, "past", unit)
        return Reading(*spans.latest_months(self.now, first, months), end, "open", unit, "year")

    def _articles(self, position: int) -> int:
        for _ in range(2):
            if self.at(position).kind in ("article", "of"):
                position += 1
        return position

    def _year(self, position: int) -> tuple[int, int]:
        """Return the year that follows, and the position after it; 0 where none does."""
        year, end = self._relative_year(position)
        if year:
            return year, end
        token = self.at(position)
        if token.kind in ("of", "comma", "in", "article") and self.at(position + 1).kind in (
            "digits",
            "article",
            "unit",
        ):
            position += 1
            if self.at(position).kind == "article":
                position += 1
            if self.at(position).value == "year":
                position += 1
            token = self.at(position)
            if token.kind != "digits":
                return 0, position - 1
        if token.kind == "digits" and len(token.text.rstrip(".")) == 4 and 1900 <= int(str(token.value)) < 2100:
            return int(str(token.value)), position + 1
        return 0, position

    def _relative_year(self, position: int) -> tuple[int, int]:
        """Return the year of "last year", "de l'année dernière", "letzten Jahres"; 0 where none follows."""
        position = self._articles(position)
        first, second = self.at(position), self.at(position + 1)
        modifier, unit = (second, first) if first.kind == "unit" else (first, second)
        back = {"last": 1, "this": 0, "before_last": 2}.get(modifier.kind)
        if unit.value != "year" or unit.kind != "unit" or back is None:
            return 0, position
        return self.now.year - back, position + 2

    def _years_end(self, position: int) -> tuple[int, int]:
        year, end = self._year(position)
        return (year, end) if year else (0, position)

    def _iso(self, text: str, end: int) -> Reading:
        year, month, *day = (int(part) for part in text[:10].split("-"))
        if day:
            return Reading(*spans.date(year, month, day[0]), end)
        return Reading(*spans.month(year, self._checked(month)), end, "past", "month")

    @staticmethod
    def _checked(month: int) -> int:
        if not 1 <= month <= 12:
            raise ValueError(month)
        return month

    def _day_then_month(self, position: int, *, led: bool) -> Reading | None:
        place = position + 1
        if self.at(place).kind in ("of", "dash"):
            place += 1
        month = self.at(place)
        if month.kind not in ("month", "weak_month") or int(str(self.at(position).value)) > 31:
            return None
        year, end = self._years_end(place + 1)
        if month.kind == "weak_month" and not led and not year and self.at(place + 1).kind not in _ENDS:
            return None
        return self._dated(int(str(month.value)), int(str(self.at(position).value)), year, end)

    def _month_then_day(self, position: int, *, led: bool) -> Reading | None:
        token, number = self.at(position), self.at(position + 1)
        place = position + 1
        if number.text == "the":
            place += 1
            number = self.at(place)
        if number.kind not in ("digits", "nth") or not 1 <= int(str(number.value)) <= 31:
            return None
        year, end = self._years_end(place + 1)
        weak = token.kind == "weak_month" and number.kind == "digits" and not year and not led
        if weak and self.at(place + 1).kind not in _ENDS:
            return None
        first = self._dated(int(str(token.value)), int(str(number.value)), year, end)
        return self._until_day(first, int(str(token.value)), end)

    def _until_day(self, first: Reading, month: int, end: int) -> Reading:
        """Read the second day of "November 2-6"."""
        if self.at(end).kind not in ("dash", "to", "until", "and"):
            return first
        place = self._articles(end + 1)
        last = self.at(place)
        if last.kind not in ("digits", "nth") or not first.since.day < int(str(last.value)) <= 31:
            return first
        if "month" in self.at(place + 1).kind or self.at(place + 1).kind in ("half", "of"):
            return first
        year, after = self._years_end(place + 1)
        if year:
            first = self._dated(month, first.since.day, year, after)
        return first._replace(until=spans.date(first.since.year, month, int(str(last.value)))[1], end=after)

    def _dated(self, month: int, day: int, year: int, end: int) -> Reading:
        if year:
            return Reading(*spans.date(year, month, day), end)
        return Reading(*spans.latest_date(self.now, month, day), end, "open", "day", "year")

    def _day_of_relative_month(self, position: int) -> Reading | None:
        """Read "the 9th of last month", "el 9 del mes pasado"."""
        place = self._articles(position + 1)
        first, second = self.at(place), self.at(place + 1)
        modifier, unit = (second, first) if first.kind == "unit" else (first, second)
        back = {"last": 1, "this": 0, "before_last": 2}.get(modifier.kind)
        if place == position + 1 or unit.kind != "unit" or unit.value != "month" or back is None:
            return None
        begin = spans.unit_at(self.now, "month", back)[0]
        return Reading(*spans.date(begin.year, begin.month, int(str(self.at(position).value))), place + 2)

    def _day_alone(self, position: int, *, led: bool) -> Reading | None:
        """Read "on the 13th", "am 13.", "el 13", "le 13": the latest such day."""
        token, before = self.at(position), self.at(position - 1)
        number = int(str(token.value))
        follows = self.at(position + 1).kind in (*_ENDS, "function", "in", "half")
        ordinal = (
            token.kind == "nth" and led and (before.kind in ("article", "in") or before.text.endswith(("zum", "vom")))
        )
        romance = token.kind == "digits" and before.text in DAY_ARTICLES and self.at(position + 1).kind in _ENDS
        if not follows or not (ordinal or romance) or not 1 <= number <= 31:
            return None
        return Reading(*spans.latest_day_of_month(self.now, number), position + 1, "open", "day")

    def _month_or_season(self, position: int, *, led: bool) -> Reading | None:
        token = self.at(position)
        months = 3 if "season" in token.kind else 1
        grain = "season" if months == 3 else "month"
        year, end = self._years_end(position + 1)
        number = int(str(token.value))
        if year:
            return Reading(*spans.month(year, number, months), end, "past", grain)
        following = self.at(position + 1)
        if not led or following.kind in ("digits", "figure"):
            return None
        if following.kind == "word" and "weak" in token.kind and self.at(position - 1).kind in ("article", "of"):
            return None
        if following.kind == "of" and "season" in token.kind:
            return None
        return Reading(*spans.latest_months(self.now, number, months), position + 1, "open", grain, "year")

    def _year_alone(self, position: int, *, led: bool) -> Reading | None:
        number = int(str(self.at(position).value))
        before = self.at(position - 1).kind
        if not 1900 <= number < 2100 or self.at(position + 1).kind == "sign":
            return None
        german = self._tokens.language == "german" and self._tokens.mood == "past"
        if not (led or german) or before == "by" or (before == "of" and self.at(position + 1).kind == "word"):
            return None
        return Reading(*spans.year(number), position + 1, "past", "year")

    def _short_quarter(self, position: int) -> Reading | None:
        """Read "Q3", "Q3 2025", "H1 2025"."""
        letter, number = self.at(position), self.at(position + 1)
        if letter.text not in QUARTER_LETTERS or number.kind != "digits" or len(number.text) != 1:
            return None
        year, _ = self._years_end(position + 2)
        if letter.text != "q" and not year:
            return None
        following = self.at(position + 2)
        if not year and (
            following.kind in ("digits", "figure") or (following.kind == "of" and self.at(position + 3).kind != "last")
        ):
            return None
        return self.numbered(int(str(number.value)), QUARTER_LETTERS[letter.text], position + 2)

    def _calendar_week(self, position: int) -> Reading | None:
        """Read "KW 44", "calendar week 44 2025"."""
        number = self.at(position + 1)
        if number.kind != "digits" or not 1 <= int(str(number.value)) <= 53:
            return None
        year, end = self._years_end(position + 2)
        for candidate in (year,) if year else (self.now.year, self.now.year - 1):
            begin = datetime.fromisocalendar(candidate, int(str(number.value)), 1)
            if begin <= self.now:
                return Reading(begin, begin + spans.WEEK, end, "past" if year else "open", "week")
        return None

    def _weekend(self, position: int, *, led: bool) -> Reading | None:
        if self.at(position).value != "weekend" or (
            self.at(position).text == "weekend" and self.at(position + 1).kind == "word"
        ):
            return None
        if not led and self.at(position - 1).kind != "article":
            return None
        return Reading(*spans.latest_weekend(self.now), position + 1, "open", "weekend", "week")
