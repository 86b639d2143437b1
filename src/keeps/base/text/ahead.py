"""Read the future date that a statement names, so that it can be shown until then. Pure.

English, German, Spanish and French. A weekday is the next one after the statement was made; a day and month without a
year are the next occurrence, if that is at most half a year away.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from keeps.base.text.names import DAYS, ENGLISH_MONTHS, MONTHS, one_of

MAX_CHARACTERS = 400
_DAY = timedelta(days=1)
_HALF_A_YEAR = timedelta(days=183)
_MONTH_NUMBER = {name: number for number, names in enumerate(MONTHS, 1) for name in names} | ENGLISH_MONTHS
_WEEKDAY = {name: number for number, names in enumerate(DAYS) for name in names}
_MONTH = one_of(_MONTH_NUMBER)
_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? {_MONTH}\b(?:,?(?: de)? (20\d\d)\b|(?!,?(?: de)? \d{{4}}))"
)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (20\d\d))?")
_MONTH_YEAR = re.compile(rf"\b{_MONTH}(?: de)? (20\d\d)\b")
_NEXT_DAY = re.compile(
    r"\b(?:is|to|on|by|until|till|this|next|coming|due|am|bis|nächsten|kommenden|el|este|próximo|hasta el|ce"
    r"|avant|d'ici) "
    rf"{one_of(_WEEKDAY)}\b"
)
_RELATIVE: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), days)
    for pattern, days in (
        (r"\b(?:tomorrow|morgen|mañana|demain)\b", 1),
        (r"\b(?:next week|nächste woche|la semana que viene|la próxima semana|la semaine prochaine)\b", 13),
        (r"\b(?:next month|nächsten monat|el mes que viene|el próximo mes|le mois prochain)\b", 61),
    )
)


def date_ahead(text: str, said_at: datetime) -> datetime | None:
    """Return the end of the last date after `said_at` that a text names; None if it names none."""
    plain = text[:MAX_CHARACTERS].lower().replace("’", "'")
    today = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    days: list[datetime] = []
    for match in _ISO.finditer(plain):
        days += _on(today, int(match[2]), int(match[3]), match[1])
    for match in _DAY_MONTH.finditer(plain):
        days += _on(today, _MONTH_NUMBER[match[2]], int(match[1]), match[3])
    for match in _MONTH_DAY.finditer(plain):
        days += _on(today, _MONTH_NUMBER[match[1]], int(match[2]), match[3])
    for match in [] if _DAY_MONTH.search(plain) or _MONTH_DAY.search(plain) else _MONTH_YEAR.finditer(plain):
        days += _on(today, _MONTH_NUMBER[match[1]], 28, match[2])
    for match in _NEXT_DAY.finditer(plain):
        days.append(today + timedelta(days=(_WEEKDAY[match[1]] - today.weekday()) % 7 or 7))
    days += [today + timedelta(days=count) for pattern, count in _RELATIVE if pattern.search(plain)]
    ahead = [day for day in days if day > today]
    return max(ahead) + _DAY if ahead else None


def _on(today: datetime, month: int, day: int, year: str | None) -> list[datetime]:
    try:
        if year is not None:
            return [today.replace(year=int(year), month=month, day=day)]
        date = today.replace(month=month, day=day)
        date = date if date > today else date.replace(year=today.year + 1)
    except ValueError:
        return []
    return [date] if date - today <= _HALF_A_YEAR else []
