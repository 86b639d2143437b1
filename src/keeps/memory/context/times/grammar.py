"""Find the past time span that a message names, in English, German, Spanish and French. Pure.

The message is read into tokens that do not depend on its language; one grammar reads those, from left to right. The
first expression that names a past time decides. Ambiguous expressions such as "on Friday" count as past unless the
message's verbs refer to the future.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, tzinfo

from keeps.memory.context.times import spans
from keeps.memory.context.times.dates import DAY_ARTICLES, QUARTER_LETTERS
from keeps.memory.context.times.points import Points
from keeps.memory.context.times.reading import Reading, joined, ordered, shifted
from keeps.memory.context.times.spans import DAY, EARLIEST, Span
from keeps.memory.context.times.tokens import NAMING_KINDS, Tokens, read_tokens

SOON = 60 * DAY
"""A date without a year that recurs within this time is not read as last year's, unless the verbs are past."""
REACH = 8
"""Maximum number of tokens between the start of an expression and the word that names its time."""
MOST_FUTURE = 20
"""Number of future times after which the search for a past time ends."""
_COMPARED = frozenset(
    "compare compared versus vs than als vergleiche vergleich compara comparado compare comparé".split()
)
_EDGES = frozenset(("since", "after", "before", "until", "by"))


def time_span(text: str, now: datetime, zone: tzinfo = UTC) -> Span | None:
    """Return the span of the past that a text names, in UTC; None if it names none.

    Args:
        text: The message; only its words matter, not their case.
        now: The time at which it was sent, with a UTC offset.
        zone: The user's time zone: days begin at its midnight.
    """
    tokens = read_tokens(text)
    if not any(_names_time(tokens, position) for position in range(len(tokens.items))):
        return None
    try:
        span = _Sentence(tokens, spans.local(now, zone)).span()
        return None if span is None else (spans.to_utc(span[0], zone), spans.to_utc(span[1], zone))
    except (ValueError, OverflowError):  # No calendar has such a date.
        return None


def _names_time(tokens: Tokens, position: int) -> bool:
    """Return whether a token can name the time of an expression; most small numbers need other tokens."""
    token = tokens.items[position]
    if token.kind == "digits":
        return len(token.text) == 4 or tokens.at(position - 1).text in DAY_ARTICLES
    return token.kind in NAMING_KINDS or token.text in QUARTER_LETTERS


class _Sentence:
    """One message being parsed."""

    def __init__(self, tokens: Tokens, now: datetime) -> None:
        self._tokens = tokens
        self._now = now
        self._tonight = spans.midnight(now) + DAY
        self._points = Points(tokens, now)

    def span(self) -> Span | None:
        """Return the first past time, or the union of those that are compared."""
        past_readings: list[Reading] = []
        compares = any(token.text in _COMPARED for token in self._tokens.items)
        near = self._near()
        position, future = 0, 0
        while position < len(self._tokens.items) and future < MOST_FUTURE:
            reading = None
            if near[position]:
                with suppress(ValueError, OverflowError):
                    reading = self._expression(position)
            if reading is None:
                position += 1
                continue
            begin, position = position, max(reading.end, position + 1)
            if self._is_past(reading, begin):
                if not compares:
                    return self._clamped(reading)
                past_readings.append(reading)
            else:
                future += 1
        if not past_readings:
            return None
        whole = past_readings[0]
        for other in past_readings[1:]:
            whole = joined(whole, other) if other.grain == whole.grain else whole
        return self._clamped(whole)

    def _near(self) -> list[bool]:
        """Return for each token whether a token that names a time follows within reach."""
        near: list[bool] = []
        left = 0
        for position in reversed(range(len(self._tokens.items))):
            left = REACH if _names_time(self._tokens, position) else left - 1
            near.append(left > 0)
        near.reverse()
        return near

    def _clamped(self, reading: Reading) -> Span:
        return reading.since, min(reading.until, max(self._tonight, reading.since))

    def _is_past(self, reading: Reading, begin: int) -> bool:
        if reading.tense == "future" or reading.since > self._now or reading.since >= reading.until:
            return False
        if reading.tense == "past" or self._tokens.mood == "past":
            return True
        if self._tokens.mood == "future" or reading.tense == "deadline":
            return False
        if self._tokens.mood == "present" and self._tokens.at(begin - 1).kind not in ("from", "of"):
            return self._tokens.at(begin).kind in ("from", "of", "since")
        return not (reading.cycle == "year" and shifted(reading, 1).since - self._now < SOON)

    def _expression(self, position: int) -> Reading | None:
        kind = self._tokens.at(position).kind
        if kind in ("from", "of", "between", "since", "in") and (reading := self._range(position)):
            return reading
        if (kind in _EDGES or kind == "ago_pre") and (reading := self._edge(position)):
            return reading
        first = self._points.point(position)
        if first is None:
            return None
        return self._continued(first)

    def _continued(self, first: Reading) -> Reading:
        """Return the range or the union that continues from a first point, or the point itself."""
        joint = self._tokens.at(first.end).kind
        if joint in ("to", "until", "dash", "and"):
            second = self._points.point(first.end + 1, led=True)
            if second is not None and second.tense != "future" and self._same_kind(first, second):
                if joint != "and":
                    return ordered(first, second, self._now)
                return joined(first, second)
        return first

    @staticmethod
    def _same_kind(first: Reading, second: Reading) -> bool:
        return first.grain == second.grain or {first.grain, second.grain} <= {"day", "weekday"}

    def _range(self, position: int) -> Reading | None:
        """Read "from … to …" and "between … and …"; a day may take its month from the other end."""
        days = self._points.days_of_month(position + 1)
        if days is not None:
            return days
        first = self._points.point(position + 1, led=True)
        if first is None or first.tense == "future":
            return None
        joint = self._tokens.at(first.end).kind
        if joint not in ("to", "until", "dash", "and", "in"):
            return None
        if joint == "and" and self._tokens.at(position).kind != "between":
            return None
        second = self._points.point(first.end + 1, led=True)
        if second is None or second.tense == "future":
            return None
        return ordered(first, second, self._now)

    def _edge(self, position: int) -> Reading | None:
        """Read "since …", "after …", "before …" and "until …"."""
        kind = self._tokens.at(position).kind
        if kind == "since" and (lasting := self._points.duration(position + 1)):
            return lasting
        if kind == "ago_pre" and (past := self._points.ago_before(position)):
            return past
        point = self._points.point(position + 1, led=True)
        if point is None or point.tense == "future":
            return point
        if kind == "ago_pre":  # German "vor dem 5. Mai", "vor Montag"
            if self._tokens.at(position).text != "vor":
                return None
            kind = "before"
        match kind:
            case "since":
                return point._replace(until=max(self._tonight, point.until), tense=self._since_tense(point), cycle="")
            case "after":
                return point._replace(since=point.until, until=self._tonight, tense=self._since_tense(point), cycle="")
            case "before":
                return point._replace(since=EARLIEST, until=point.since, tense="deadline", cycle="")
            case _:
                tense = "past" if self._tokens.mood == "past" else "deadline"
                return point._replace(since=EARLIEST, until=point.until, tense=tense, cycle="")

    def _since_tense(self, point: Reading) -> str:
        return "past" if point.tense in ("past", "open") and self._tokens.mood != "future" else "open"
