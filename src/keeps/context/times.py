"""The stretch of the past that a message speaks of, read in English, German, Spanish and French. Pure.

Each rule is a pattern and a function from its match to a stretch in UTC, half open; weeks begin on Monday. The first
rule that matches decides, the most particular first. All patterns are short and linear: a message may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from keeps.text.names import DAYS, ENGLISH_MONTHS, MONTHS, one_of

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
MONTH_NUMBER = {name: number for number, names in enumerate(MONTHS, 1) for name in names} | ENGLISH_MONTHS
_MONTH = one_of(MONTH_NUMBER)
_DAY_NUMBER = {name: number for number, names in enumerate(DAYS) for name in names}
_DAY = one_of(_DAY_NUMBER)
_COUNTS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "a couple of": 2,
    "three": 3,
    "a few": 4,
    "few": 4,
    "four": 4,
    "five": 5,
    "six": 6,
    "several": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fourteen": 14,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "sixty": 60,
    "ninety": 90,
    "einem": 1,
    "einer": 1,
    "ein paar": 4,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
    "zehn": 10,
    "un": 1,
    "una": 1,
    "unos": 4,
    "unas": 4,
    "dos": 2,
    "tres": 3,
    "cuatro": 4,
    "cinco": 5,
    "seis": 6,
    "siete": 7,
    "ocho": 8,
    "nueve": 9,
    "diez": 10,
    "une": 1,
    "quelques": 4,
    "deux": 2,
    "trois": 3,
    "quatre": 4,
    "cinq": 5,
    "sept": 7,
    "huit": 8,
    "neuf": 9,
    "dix": 10,
}
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + ")"
_UNITS = {
    "hour": ("hours?", "stunden?", "horas?", "heures?"),
    "day": ("days?", "nights?", "tag(?:en|e)?", "días?", "jours?"),
    "week": ("weeks?", "wochen?", "semanas?", "semaines?"),
    "fortnight": ("fortnights?",),
    "weekend": ("weekends?",),
    "month": ("months?", "monat(?:en|e)?", "mes(?:es)?", "mois"),
    "quarter": ("quarters?",),
    "year": ("years?", "jahr(?:en|e)?", "años?", "ans?", "années?"),
}
_UNIT = "(" + "|".join(form for forms in _UNITS.values() for form in forms) + ")"
_LENGTHS = {
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": 7 * DAY,
    "fortnight": 14 * DAY,
    "weekend": 7 * DAY,
    "month": 30 * DAY,
    "quarter": 91 * DAY,
    "year": 365 * DAY,
}
_SEASONS = {
    "spring": 3,
    "frühling": 3,
    "frühjahr": 3,
    "primavera": 3,
    "printemps": 3,
    "summer": 6,
    "sommer": 6,
    "verano": 6,
    "été": 6,
    "autumn": 9,
    "fall": 9,
    "herbst": 9,
    "otoño": 9,
    "automne": 9,
    "winter": 12,
    "invierno": 12,
    "hiver": 12,
}
_SEASON = "(" + "|".join(_SEASONS) + ")"
_LAST_TIME = re.compile(
    r"\b(?:(?:our|the|my) (?:last|previous|earlier|most recent)"
    r" (?:conversation|chat|talk|session|discussion|call|meeting)|last time(?: we|"
    r" i)?|(?:talk(?:ing|ed)?|discuss(?:ed|ing)?|said|told"
    r"|mentioned|speaking|spoke)(?: about)?(?: it| that)? (?:before|earlier|previously)|letzten?"
    r" (?:gespräch|mal|unterhaltung|sitzung)|beim letzten mal"
    r"|(?:nuestra )?última (?:conversación|charla|vez|sesión)|(?:notre )?dernière"
    r" (?:conversation|discussion|fois|session))\b"
)
_SINCE = re.compile(r"\b(?:since|seit|desde|depuis)\b")


def speaks_of_last_time(text: str) -> bool:
    """Whether a message refers to an earlier conversation without saying when it was."""
    return _LAST_TIME.search(text.lower()) is not None


def time_span(text: str, now: datetime) -> Span | None:
    """The stretch of the past that a text speaks of, in UTC; None where it names none."""
    now = now.astimezone(UTC)
    plain = text.lower().replace("’", "'")
    for pattern, meant in _RULES:
        found = pattern.search(plain)
        if found is None:
            continue
        try:
            span = meant(found, now)
            tonight = _midnight(now) + DAY
        except (ValueError, OverflowError):  # no calendar has the first quarter of the year 0
            continue
        if span is None:
            continue
        since, until = span
        if _SINCE.search(plain):
            until = tonight
        if since < until and since <= now:
            return since, min(until, tonight)
    return None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _COUNTS[text]


def _unit(text: str) -> str:
    return next(name for name, forms in _UNITS.items() for form in forms if re.fullmatch(form, text))


def _calendar(year: int, month: int, day: int) -> Span | None:
    try:
        if day:
            begin = datetime(year, month, day, tzinfo=UTC)
            return begin, begin + DAY
        return datetime(year, month, 1, tzinfo=UTC), datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _latest_year(now: datetime, month: int, day: int) -> int:
    """Of a date without a year, the latest that is not to come."""
    return now.year if (month, day) <= (now.month, now.day) else now.year - 1


def _weekday(number: int, now: datetime) -> Span:
    """The last such day before today."""
    begin = _midnight(now) - timedelta(days=(now.weekday() - number) % 7 or 7)
    return begin, begin + DAY


def _ago(count: int, unit: str, now: datetime) -> Span:
    """ "Two weeks ago" is not one day, but about two weeks ago."""
    if unit == "hour":
        middle = now - timedelta(hours=count)
        around = timedelta(minutes=30) if count < 3 else timedelta(hours=1 + count / 24)
        return middle - around, middle + around
    if unit == "day":
        begin = _midnight(now) - timedelta(days=count)
        return begin, begin + DAY
    if unit in ("month", "year") and count <= 24:
        month = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
        span = _calendar(month // 12, month % 12 + 1, 0)
        if span is not None:
            return span[0] - (15 * DAY if unit == "year" else timedelta()), span[1] + (
                15 * DAY if unit == "year" else timedelta()
            )
    length = _LENGTHS[unit]
    middle = _midnight(now) - length * count
    return middle - length / 2, middle + length / 2


def _whole(unit: str, now: datetime, back: int) -> Span | None:
    """This unit of the calendar (`back` 0), the last one (1), the one before."""
    today = _midnight(now)
    match unit:
        case "day":
            return today - back * DAY, today - (back - 1) * DAY
        case "week" | "weekend" | "fortnight":
            monday = today - timedelta(days=today.weekday() + 7 * back)
            return (monday + 5 * DAY if unit == "weekend" else monday), monday + 7 * DAY
        case "month":
            month = now.year * 12 + now.month - 1 - back
            return _calendar(month // 12, month % 12 + 1, 0)
        case "quarter":
            quarter = now.year * 4 + (now.month - 1) // 3 - back
            return _quarter(quarter // 4, quarter % 4 + 1)
        case "year":
            return datetime(now.year - back, 1, 1, tzinfo=UTC), datetime(now.year - back + 1, 1, 1, tzinfo=UTC)
        case _:
            return None


def _quarter(year: int, quarter: int) -> Span:
    begin = datetime(year, 3 * quarter - 2, 1, tzinfo=UTC)
    return begin, datetime(year + quarter // 4, 3 * (quarter % 4) + 1, 1, tzinfo=UTC)


def _named_quarter(found: re.Match[str], now: datetime) -> Span:
    quarter, year = int(found[1]), int(found[2]) if found[2] else now.year
    if not found[2] and _quarter(year, quarter)[0] > now:
        year -= 1
    return _quarter(year, quarter)


def _season(found: re.Match[str], now: datetime) -> Span:
    month = _SEASONS[found[1]]
    year = now.year
    while datetime(year + (month + 3) // 13, (month + 2) % 12 + 1, 1, tzinfo=UTC) > now:
        year -= 1
    begin = datetime(year, month, 1, tzinfo=UTC)
    return begin, datetime(year + (month + 3) // 13, (month + 2) % 12 + 1, 1, tzinfo=UTC)


def _part_of(begin: datetime, part: str | None) -> Span:
    hours = {
        "morning": (6, 12),
        "früh": (6, 12),
        "morgen": (6, 12),
        "matin": (6, 12),
        "mañana": (6, 12),
        "afternoon": (12, 18),
        "nachmittag": (12, 18),
        "tarde": (12, 18),
        "après-midi": (12, 18),
        "evening": (18, 24),
        "abend": (18, 24),
        "soir": (18, 24),
        "noche": (18, 24),
        "night": (18, 30),
        "nacht": (18, 30),
        "nuit": (18, 30),
    }.get(part or "", (0, 24))
    return begin + timedelta(hours=hours[0]), begin + timedelta(hours=hours[1])


def _month_of(found: re.Match[str], now: datetime) -> Span | None:
    month, year = MONTH_NUMBER[found[1]], found[2]
    return _calendar(int(year) if year else _latest_year(now, month, 1), month, 0)


def _date(day: str, month: str, year: str | None, now: datetime) -> Span | None:
    number = MONTH_NUMBER[month]
    return _calendar(int(year) if year else _latest_year(now, number, int(day)), number, int(day))


def _between_days(found: re.Match[str], now: datetime) -> Span:
    last = _weekday(_DAY_NUMBER[found[2]], now)
    begin = last[0] - timedelta(days=(_DAY_NUMBER[found[2]] - _DAY_NUMBER[found[1]]) % 7)
    return begin, last[1]


def _compared(found: re.Match[str], now: datetime) -> Span | None:
    spans = [
        _calendar(_latest_year(now, MONTH_NUMBER[name], 1), MONTH_NUMBER[name], 0) for name in (found[1], found[2])
    ]
    return None if None in spans else (min(each[0] for each in spans if each), max(each[1] for each in spans if each))


_Meant = Callable[[re.Match[str], datetime], Span | None]
_MEANT: tuple[tuple[str, _Meant], ...] = (
    (
        r"\b(?:the )?day before yesterday\b|\bvorgestern\b|\b(?:anteayer|antes de ayer)\b|\bavant-hier\b",
        lambda _, now: _whole("day", now, 2),
    ),
    (
        (
            r"\b(?:yesterday|gestern|ayer|hier)(?: (?:in the |por la |au"
            r" )?(morning|afternoon|evening|night|früh|morgen|nachmittag|abend|nacht|mañana|tarde|noche|matin"
            r"|après-midi|soir))?\b(?!"
            r" (?:is|was) a (?:song|film|book|poem))"
        ),
        lambda found, now: _part_of(_midnight(now) - DAY, found[1]),
    ),
    (
        r"\b(?:last night|gestern nacht|anoche|la nuit dernière|cette nuit)\b",
        lambda _, now: _part_of(_midnight(now) - DAY, "night"),
    ),
    (
        (
            r"\b(?:this|heute|esta|ce)"
            r" (morning|afternoon|evening|früh|morgen|nachmittag|abend|mañana|tarde|noche|matin|soir)\b"
        ),
        lambda found, now: _part_of(_midnight(now), found[1]),
    ),
    (r"\b(?:earlier today|today|tonight|just now|heute|hoy|aujourd'hui)\b", lambda _, now: _whole("day", now, 0)),
    (r"\b(?:a year ago this month)\b", lambda _, now: _calendar(now.year - 1, now.month, 0)),
    (
        rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b|\b(?:vor|hace|il y a) {_COUNT} {_UNIT}\b",
        lambda found, now: _ago(_count(found[1] or found[3]), _unit(found[2] or found[4]), now),
    ),
    (r"\b(?:a fortnight ago)\b", lambda _, now: _ago(2, "week", now)),
    (
        rf"\b(?:last|past|previous|letzten|vergangenen|últimos|últimas|derniers|dernières) {_COUNT} {_UNIT}\b",
        lambda found, now: (_midnight(now) - _LENGTHS[_unit(found[2])] * _count(found[1]), _midnight(now) + DAY),
    ),
    (
        rf"\b(?:los|las|les|ces) {_COUNT} (?:últimos|últimas|derniers|dernières) {_UNIT}\b",
        lambda found, now: (_midnight(now) - _LENGTHS[_unit(found[2])] * _count(found[1]), _midnight(now) + DAY),
    ),
    (r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b", lambda found, _: _calendar(int(found[1]), int(found[2]), int(found[3] or 0))),
    (
        r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b",
        lambda found, _: (
            _calendar(int(found[3]), int(found[2]), int(found[1]))
            or _calendar(int(found[3]), int(found[1]), int(found[2]))
        ),
    ),
    (rf"\bcompare\b.{{0,80}}\b(?:in|of) {_MONTH}\b.{{0,80}}\b(?:in|of) {_MONTH}\b", _compared),
    (
        rf"\bbetween {_DAY} and {_DAY}\b|\bzwischen {_DAY} und {_DAY}\b",
        lambda found, now: _between_days(found, now) if found[1] else None,
    ),
    (r"\b(?:christmas day|weihnachten|navidad|noël)\b", lambda _, now: _calendar(_latest_year(now, 12, 25), 12, 25)),
    (r"\b(?:christmas eve|heiligabend|nochebuena)\b", lambda _, now: _calendar(_latest_year(now, 12, 24), 12, 24)),
    (
        rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? {_MONTH}(?:,?(?: de)? (\d{{4}}))?\b",
        lambda found, now: _date(found[1], found[2], found[3], now),
    ),
    (
        rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b(?![:\d])",
        lambda found, now: _date(found[2], found[1], found[3], now),
    ),
    (r"\bq([1-4])(?: (?:of )?(\d{4}))?\b", _named_quarter),
    (r"\b(?:the )?(week|month|year|weekend) before last\b", lambda found, now: _whole(found[1], now, 2)),
    (
        (
            rf"\b(?:last|past|previous) {_SEASON}\b|\bletzten {_SEASON}\b|\b(?:el |la )?{_SEASON}"
            rf" (?:pasado|pasada)\b|\bl'{_SEASON} dernier\b|\b{_SEASON} dernier\b"
        ),
        lambda found, now: _season(
            re.match(rf"{_SEASON}", next(each for each in found.groups() if each)) or found, now
        ),
    ),
    (r"\blast (week|weekend|month|quarter|year)\b", lambda found, now: _whole(found[1], now, 1)),
    (r"\bthis (week|weekend|month|quarter|year)\b", lambda found, now: _whole(found[1], now, 0)),
    (r"\b(?:previous|past) (week|weekend|month|quarter|year)\b", lambda found, now: _whole(found[1], now, 1)),
    (
        r"\b(?:letzte|vergangene|vorige)[rn]? woche\b|\bla semana pasada\b|\bla semaine (?:dernière|passée)\b",
        lambda _, now: _whole("week", now, 1),
    ),
    (
        r"\b(?:letzten|vergangenen|vorigen)[rn]? monat\b|\b(?:el )?mes pasado\b|\ble mois (?:dernier|passé)\b",
        lambda _, now: _whole("month", now, 1),
    ),
    (
        (
            r"\b(?:letztes|vergangenes|voriges|letzten) (?:jahr|jahres)\b|\b(?:el )?año pasado\b|\bl'(?:année"
            r" dernière|an dernier|an passé)\b"
        ),
        lambda _, now: _whole("year", now, 1),
    ),
    (
        (
            r"\b(?:letztes|im letzten|letzten) quartal\b|\b(?:el )?(?:último trimestre|trimestre pasado)\b|\b(?:au |le"
            r" )?(?:dernier trimestre|trimestre dernier)\b"
        ),
        lambda _, now: _whole("quarter", now, 1),
    ),
    (
        (
            r"\b(?:letztes|am letzten|letzten) wochenende\b|\b(?:el )?fin de semana pasado\b|\ble week-end"
            r" (?:dernier|passé)\b"
        ),
        lambda _, now: _whole("weekend", now, 1),
    ),
    (r"\b(?:diese woche|esta semana|cette semaine)\b", lambda _, now: _whole("week", now, 0)),
    (r"\b(?:diesen monat|este mes|ce mois(?:-ci)?)\b", lambda _, now: _whole("month", now, 0)),
    (
        rf"\b(?:last|on|since|previous|am|seit|letzten|el|desde el) (?:last )?{_DAY}\b|\b{_DAY} (?:pasado|dernier)\b",
        lambda found, now: _weekday(_DAY_NUMBER[found[1] or found[2]], now),
    ),
    (
        (
            r"\b(?:in|during|since|until|by|of|back in|early|late|mid|last|im|seit|en|desde|depuis|du mois de|au mois"
            rf" de)[ -]{_MONTH}(?:,?(?: de)? (\d{{4}}))?\b"
        ),
        _month_of,
    ),
    (rf"\b{_MONTH} (\d{{4}})\b", _month_of),
    (
        (
            r"\b(?:in|during|since|of|im jahr|en|seit|desde|depuis)"
            r" ((?:19|20)\d\d)\b.{0,60}\b(?:in|than|and|en|und|et|y) ((?:19|20)\d\d)\b"
        ),
        lambda found, _: (
            datetime(min(int(found[1]), int(found[2])), 1, 1, tzinfo=UTC),
            datetime(max(int(found[1]), int(found[2])) + 1, 1, 1, tzinfo=UTC),
        ),
    ),
    (
        r"\b(?:in|during|since|of|im jahr|en|seit|desde|depuis) ((?:19|20)\d\d)\b",
        lambda found, _: (datetime(int(found[1]), 1, 1, tzinfo=UTC), datetime(int(found[1]) + 1, 1, 1, tzinfo=UTC)),
    ),
    (
        r"\b(?:the other day|neulich|letztens|el otro día|l'autre jour)\b",
        lambda _, now: (_midnight(now) - 7 * DAY, now),
    ),
    (
        r"\b(?:recently|lately|these days|kürzlich|in letzter zeit|recientemente|últimamente|récemment|dernièrement)\b",
        lambda _, now: (_midnight(now) - 14 * DAY, _midnight(now) + DAY),
    ),
)
_RULES = tuple((re.compile(pattern), meant) for pattern, meant in _MEANT)
