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

_OCCASIONS = (
    r"(?:part(?:y|ies)|dinner|lunch|brunch|breakfast|cake|presents?|gifts?|cards?|trip|weekend|meal|drinks"
    r"|celebrations?|bash"
    r"|barbecue|bbq|do|concert|sale|outing|picnic|surprise)"
)
_FOR = r"(?:for|before|after|by|until|till|around|zum|zu|vor|nach|bis|para|por|antes|hasta|pour|avant|après)"
_EVERY_YEAR = re.compile(
    rf"(?<!\w)(?<!\w['’])(?:birthdays?|b-?days?|(?:wedding )?anniversar(?:y|ies)|name[ -]?days?"
    rf"|saint's day)\b(?! {_OCCASIONS}\b)"
    r"|\b(?:was|were|is) born\b|\bdate of birth\b|\b(?:every|each) (?:year|month|week|summer|winter|spring|autumn|fall"
    rf"|{'|'.join((*ENGLISH_MONTHS, *(day for day, *_ in DAYS)))})\b|\b(?:yearly|annual|annually|once a year)\b"
    r"|\b(?:geburtstage?|hochzeitstage?|jahrestage?|namenstage?|todestage?|jedes jahr|alle jahre|jährlich\w{0,2})\b"
    r"|\b(?:cumpleaños|cumple|aniversario|onomástica|cada año|todos los años|anualmente|nació)\b"
    r"|\b(?:anniversaires?|chaque année|tous les ans|né|née)\b"
)
_ONE_OCCASION = re.compile(
    rf"\b{_FOR} (?:[\w'’]{{1,20}} ){{0,3}}(?:\d{{1,3}}(?:st|nd|rd|th|\.)? )?(?:wedding )?(?:birthday|b-?day"
    rf"|anniversary|name[ -]?day|geburtstag"
    r"|hochzeitstag|cumpleaños|aniversario|anniversaire)\b|\b(?:until|till|bis|hasta|jusqu)\b|\b(?:fiesta|regalo"
    r"|fête|cadeau|tarta|gâteau) (?:de|d')"
)
_NUMBERED_DAY = re.compile(r"\b\d{1,2}[./]\d{1,2}(?:[./]|\b)")


def recurs_on_a_day(text: str, said_at: datetime) -> bool:
    """Return whether a text names a day that comes round again, such as a birthday, and not one occasion of it."""
    plain = text[:MAX_CHARACTERS].lower().replace("’", "'")
    if not _EVERY_YEAR.search(plain) or _ONE_OCCASION.search(plain):
        return False
    dated = any(pattern.search(plain) for pattern in (_DAY_MONTH, _MONTH_DAY, _NUMBERED_DAY))
    return dated or date_ahead(text, said_at) is not None


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
