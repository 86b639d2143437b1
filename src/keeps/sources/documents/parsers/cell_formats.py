"""Display of cell values: a small part of Excel's number formats. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

Number = int | float
Kind = Literal["literal", "digit", "point", "comma", "percent", "exponent", "date", "elapsed", "text", "other"]
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]{0,99})"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\[\]\-]{0,30})(?:-[^\[\]]{0,30})?\]'
    r"|\[(?P<elapsed>h{1,9}|m{1,9}|s{1,9})\]|\[(?P<condition>[<>=][^\[\]]{0,30})\]|\[[^\[\]]{0,30}\]"
    r"|(?P<exponent>E[+\-]0{1,9})|(?P<noon>AM/PM|A/P)|(?P<date>y{1,9}|m{1,9}|d{1,9}|h{1,9}|s{1,9}(?:\.0{1,9})?)"
    r"|(?P<digit>[0#?])|(?P<point>\.)|(?P<comma>,)|(?P<percent>%)|(?P<text>@)|(?P<general>General)|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]{0,99}"|\\.|\[[^\[\]]{0,40}\]|[^;"\\\[]){0,255}')
_BY_LOCALE = frozenset(("mm-dd-yy", "m/d/yy", "m/d/yyyy", "m/d/yy h:mm", "m/d/yyyy h:mm"))
"""Formats whose display depends on the country."""
_COLOUR = re.compile(r"\[(black|white|red|green|blue|yellow|magenta|cyan)\]", re.IGNORECASE)
_MOST_TEXT = 40_000
"""Maximum characters of a cell: a format may repeat its text."""
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MOST_DIGITS, _MOST_FORMAT = 15, 255


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str


class _UnknownFormatError(Exception):
    pass


def shown(value: object, number_format: str) -> str | None:
    """Return a value as displayed in its cell; None if its format shows nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    sections = _sections(number_format[:_MOST_FORMAT])
    if isinstance(value, str):
        return _text(value, sections)
    try:
        if isinstance(value, datetime | date | time | timedelta):
            return _moment(value, number_format)
        if isinstance(value, int | float):
            return _number(value, sections)
    except (_UnknownFormatError, InvalidOperation, OverflowError, ValueError):
        pass
    return _plain(value)


def _text(value: str, sections: tuple[str, ...]) -> str | None:
    """Return a text in the section for texts: the fourth, or the last one if it has a placeholder for text."""
    try:
        tokens = _tokens(_section_for_texts(sections))
    except _UnknownFormatError:
        return value
    said = "".join(value if token.kind == "text" else token.text for token in tokens)
    return (said[:_MOST_TEXT] if len(said) > len(value) else said) if said.strip() else None


def _section_for_texts(sections: tuple[str, ...]) -> str:
    if len(sections) > 3:
        return sections[3]
    last = sections[len(sections) - 1]
    return last if "@" in last else "@"


def colour_name(value: object, number_format: str) -> str | None:
    """Return the name of the colour that a format gives a value."""
    if "[" not in number_format:
        return None
    sections = _sections(number_format[:_MOST_FORMAT])
    used = sections[0]
    if isinstance(value, str):
        used = _section_for_texts(sections)
    elif isinstance(value, int | float) and len(sections) > 1:
        used = sections[1] if value < 0 else sections[2] if value == 0 and len(sections) > 2 else used
    match = _COLOUR.search(used)
    return match[1] if match else None


def _plain(value: object) -> str:
    """Return a value without a format: numbers with the digits that a cell shows, dates without midnight."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.11g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d" if value.time() == time() else "%Y-%m-%d %H:%M:%S")
    if isinstance(value, time):
        return value.strftime("%H:%M" if value.second == 0 else "%H:%M:%S")
    return str(value)


@lru_cache(maxsize=1_000)
def _sections(number_format: str) -> tuple[str, ...]:
    sections: list[str] = []
    place = 0
    while True:
        match = _SECTION.match(number_format, place)
        sections.append(match[0] if match else "")
        place = match.end() if match else len(number_format)
        if place >= len(number_format) or number_format[place] != ";":
            return tuple(sections)
        place += 1


@lru_cache(maxsize=1_000)
def _tokens(section: str) -> tuple[Token, ...]:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(section):
        kind, text = match.lastgroup, match[0]
        if kind in ("condition", "general"):
            raise _UnknownFormatError
        if kind in ("quoted", "escaped", "currency", "literal"):
            tokens.append(Token("literal", match[kind]))
        elif kind in ("date", "noon"):
            tokens.append(Token("date", text.lower()))
        elif kind in ("digit", "point", "comma", "percent", "exponent", "text", "elapsed"):
            tokens.append(Token(kind, match[kind].lower() if kind == "elapsed" else text))  # pyright: ignore[reportArgumentType]
    return tuple(tokens)


def _number(value: Number, sections: tuple[str, ...]) -> str | None:
    used = sections[0]
    amount = Decimal(repr(value))
    if value < 0 and len(sections) > 1:
        used, amount = sections[1], -amount
    elif value == 0 and len(sections) > 2:
        used = sections[2]
    if not used.strip():
        return None if len(sections) > 1 else _plain(value)
    if used.strip().lower() == "general":
        return _plain(value)
    tokens = _tokens(used)
    if any(token.kind in ("date", "elapsed") for token in tokens):
        raise _UnknownFormatError
    if not any(token.kind == "digit" for token in tokens):
        return "".join(token.text for token in tokens) if not any(t.kind == "text" for t in tokens) else _plain(value)
    if any(token.kind == "literal" and token.text == "/" for token in tokens):
        raise _UnknownFormatError  # A fraction.
    sign = "-" if amount < 0 else ""
    return (sign + _filled(abs(amount), tokens)).strip()


def _filled(amount: Decimal, tokens: tuple[Token, ...]) -> str:
    """Return the tokens of a section with the digits of an amount filled in."""
    last = max(at for at, token in enumerate(tokens) if token.kind == "digit")
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), None)
    integers = [at for at, token in enumerate(tokens) if token.kind == "digit" and (point is None or at < point)]
    decimals = [
        token.text for at, token in enumerate(tokens) if token.kind == "digit" and point is not None and at > point
    ]
    exponent = next((token.text for token in tokens if token.kind == "exponent"), None)
    if exponent:
        return _scientific(amount, tokens, len(decimals))
    last_integer = integers[-1] if integers else last
    grouped = any(token.kind == "comma" for token in tokens[integers[0] : last_integer]) if integers else False
    scaled = sum(token.kind == "comma" for token in tokens[last + 1 :]) if point is None or last > point else 0
    amount = amount * 100 ** sum(token.kind == "percent" for token in tokens) / Decimal(1_000) ** scaled
    digits = f"{amount.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP):f}"
    whole, _, part = digits.partition(".")
    least = decimals.count("0") + decimals.count("?")
    while len(part) > least and part.endswith("0"):
        part = part[:-1]
    whole = whole.lstrip("0").rjust(sum(tokens[at].text == "0" for at in integers), "0")
    if grouped and whole:
        whole = f"{int(whole):,}".rjust(len(whole), "0")
    return _placed(tokens, integers, point, whole, part, as_one=grouped)


def _placed(
    tokens: tuple[Token, ...], integers: list[int], point: int | None, whole: str, part: str, *, as_one: bool
) -> str:
    places = dict.fromkeys(integers, "")
    if as_one or not integers:
        if integers:
            places[integers[0]] = whole
    else:
        rest = whole
        for at in reversed(integers[1:]):
            places[at], rest = rest[-1:], rest[:-1]
        places[integers[0]] = rest
    output: list[str] = []
    for at, token in enumerate(tokens):
        if at in places:
            output.append(places[at])
        elif at == point:
            output.append(f".{part}" if part else "")
        elif token.kind in ("literal", "percent"):
            output.append(token.text)
    return "".join(output)


def _scientific(amount: Decimal, tokens: tuple[Token, ...], decimals: int) -> str:
    mantissa, _, power = f"{amount:.{min(decimals, _MOST_DIGITS)}E}".partition("E")
    around = ["".join(token.text for token in tokens if token.kind == "literal")]
    return f"{mantissa}E{power[0]}{power[1:].rjust(2, '0')}{around[0]}"


def _moment(value: datetime | date | time | timedelta, number_format: str) -> str:
    if number_format.lower() in _BY_LOCALE or number_format.upper().startswith(("[$-F", "[$-X")):
        raise _UnknownFormatError
    tokens = _tokens(_sections(number_format)[0])
    if not any(token.kind in ("date", "elapsed") for token in tokens):
        raise _UnknownFormatError
    seconds = value.total_seconds() if isinstance(value, timedelta) else None
    if isinstance(value, timedelta):
        moment = datetime(1899, 12, 30) + value  # noqa: DTZ001  cells have no zone
    elif isinstance(value, time):
        moment = datetime.combine(date(1899, 12, 30), value)
    else:
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    twelve = any(token.text in ("am/pm", "a/p") for token in tokens)
    output: list[str] = []
    for at, token in enumerate(tokens):
        if token.kind == "elapsed":
            whole = seconds if seconds is not None else (moment - datetime(1899, 12, 30)).total_seconds()  # noqa: DTZ001
            output.append(str(int(whole // {"h": 3_600, "m": 60, "s": 1}[token.text[0]])).rjust(len(token.text), "0"))
        elif token.kind == "date":
            output.append(_part(moment, token.text, minutes=_is_minutes(tokens, at), twelve=twelve))
        elif token.kind in ("literal", "point", "comma"):
            output.append(token.text)
    return "".join(output).strip()


def _is_minutes(tokens: tuple[Token, ...], at: int) -> bool:
    """Return whether an m counts minutes: it follows hours, or seconds follow it."""
    if tokens[at].text not in ("m", "mm"):
        return False
    times = [(place, token.text[0]) for place, token in enumerate(tokens) if token.kind in ("date", "elapsed")]
    index = next(number for number, (place, _) in enumerate(times) if place == at)
    before = times[index - 1][1] if index else ""
    after = times[index + 1][1] if index + 1 < len(times) else ""
    return before == "h" or after == "s"


def _part(moment: datetime, code: str, *, minutes: bool, twelve: bool) -> str:
    first, length = code[0], len(code)
    if code in ("am/pm", "a/p"):
        name = "AM" if moment.hour < 12 else "PM"
        return name if code == "am/pm" else name[0]
    if first == "y":
        return f"{moment.year:04}" if length > 2 else f"{moment.year % 100:02}"
    if first == "m" and not minutes and length > 2:
        name = _MONTHS[moment.month - 1]
        return name[:3] if length == 3 else name if length == 4 else name[0]
    if first == "d" and length > 2:
        return _DAYS[moment.weekday()][: 3 if length == 3 else None]
    if first == "s":
        fraction = f".{moment.microsecond:06}"[: length - code.index(".")] if "." in code else ""
        return f"{moment.second:02}{fraction}" if code.startswith("ss") else f"{moment.second}{fraction}"
    hour = (moment.hour + 11) % 12 + 1 if twelve else moment.hour
    number = {"m": moment.minute if minutes else moment.month, "d": moment.day, "h": hour}[first]
    return f"{number:02}" if length > 1 else str(number)
