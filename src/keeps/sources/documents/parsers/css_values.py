"""Values of CSS: lengths in pixels, numbers, colours."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import tinycss2
import tinycss2.color5

Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0, 1.0)
_SYSTEM = {
    "canvas": WHITE,
    "field": WHITE,
    "window": WHITE,
    "canvastext": BLACK,
    "fieldtext": BLACK,
    "windowtext": BLACK,
}
_UNITS: dict[str, float] = {
    "": 1,
    "px": 1,
    "pt": 4 / 3,
    "pc": 16,
    "in": 96,
    "cm": 37.8,
    "mm": 3.78,
    "q": 0.94,
    "rem": 16,
    "vw": 12.8,
    "vh": 8,
    "vmin": 8,
    "vmax": 12.8,
    "svh": 8,
    "lvh": 8,
    "dvh": 8,
    "svw": 12.8,
    "cqw": 12.8,
}
_BY_FONT = {"em": 1.0, "ex": 0.5, "ch": 0.5, "lh": 1.2, "%": 0.01, "cap": 0.7}
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,12}\.?[0-9]{0,12}|\.[0-9]{1,12})(?:e[-+]?[0-9]{1,3})?")
_MOST_NESTED = 10


def _parsed(text: str) -> list[Any]:
    return tinycss2.parse_component_value_list(text)


def number(text: str) -> float | None:
    """Return a number, or a percentage as a share of 1; None for anything else."""
    share = text.endswith("%")
    value = length(text.removesuffix("%") if share else text)
    return value if value is None or not share else value / 100


@lru_cache(maxsize=5_000)
def length(text: str, font: float = 16.0, whole: float = 500.0) -> float | None:
    """Return a length in pixels; None for anything else.

    Args:
        font: The font size, for relative lengths.
        whole: The length that percentages refer to.
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = [part for part in _parsed(text[:500]) if part.type != "comment"]
    return _sum(parts, font, whole, 0)


def _sum(parts: list[Any], font: float, whole: float, depth: int) -> float | None:
    """Return the value of a calculation; products bind more tightly than sums."""
    parts = [part for part in parts if part.type != "whitespace"]
    if depth > _MOST_NESTED or not parts or len(parts) % 2 == 0:
        return None
    total, term = 0.0, _operand(parts[0], font, whole, depth)
    for sign, part in zip(parts[1::2], parts[2::2], strict=True):
        value = _operand(part, font, whole, depth)
        if term is None or value is None or sign.type != "literal":
            return None
        match sign.value:
            case "+" | "-":
                total, term = total + term, value if sign.value == "+" else -value
            case "*":
                term *= value
            case "/" if value:
                term /= value
            case _:
                return None
    return None if term is None or not math.isfinite(total + term) else total + term


def _operand(part: Any, font: float, whole: float, depth: int) -> float | None:
    if part.type == "number":
        return part.value
    if part.type == "percentage":
        return part.value * whole / 100
    if part.type == "dimension":
        unit = part.lower_unit
        scale = _BY_FONT[unit] * font if unit in _BY_FONT else _UNITS.get(unit)
        return None if scale is None else part.value * scale
    if part.type == "() block":
        return _sum(part.content, font, whole, depth + 1)
    if part.type == "function":
        values = [_sum(each, font, whole, depth + 1) for each in arguments(part.arguments)]
        sure = [value for value in values if value is not None]
        if len(sure) == len(values) and sure:
            match part.lower_name:
                case "calc" if len(sure) == 1:
                    return sure[0]
                case "min" | "max":
                    return min(sure) if part.lower_name == "min" else max(sure)
                case "clamp" if len(sure) == 3:
                    return max(sure[0], min(sure[1], sure[2]))
                case "abs" if len(sure) == 1:
                    return abs(sure[0])
                case _:
                    return None
    return None


def arguments(parts: list[Any]) -> list[list[Any]]:
    """Return the arguments of a function, split at commas."""
    lists: list[list[Any]] = [[]]
    for part in parts:
        if part.type == "literal" and part.value == ",":
            lists.append([])
        else:
            lists[-1].append(part)
    return lists


def functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each function in a value, with its arguments as text."""
    for part in _parsed(text[:1_000]):
        if part.type == "function":
            if any(argument.type == "literal" and argument.value == "," for argument in part.arguments):
                parts = arguments(part.arguments)
            else:
                parts = [[argument] for argument in part.arguments if argument.type != "whitespace"]
            yield part.lower_name, [tinycss2.serialize(argument).strip() for argument in parts]


@lru_cache(maxsize=5_000)
def colour(text: str) -> Colour | None:
    """Return a colour; None if it is not a colour or cannot be determined."""
    if text in _SYSTEM:
        return _SYSTEM[text]
    parsed: Any
    try:
        parsed = tinycss2.color5.parse_color(text[:200]) if text else None
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        return None
    if parsed is None:
        return _mixed(text[:200])
    if isinstance(parsed, str):
        return None
    values = [0.0 if value is None else float(value) for value in (*parsed.coordinates, parsed.alpha)]
    if not all(map(math.isfinite, values)):
        return None
    red, green, blue = _srgb(parsed.space, values[0], values[1], values[2], parsed)
    return _bounded(red), _bounded(green), _bounded(blue), _bounded(values[3])


def uniform(text: str) -> Colour | None:
    """Return the single colour of a value; None if its colours differ or there is none."""
    return _one(_colours(_parsed(text[:1_000]), 0))


def _mixed(text: str) -> Colour | None:
    """Return the colour of a `color-mix()` that mixes a colour with itself."""
    parts = _parsed(text)
    if len(parts) == 1 and parts[0].type == "function" and parts[0].lower_name == "color-mix":
        return _one(_colours(parts[0].arguments, 0))
    return None


def _one(colours: Iterator[Colour]) -> Colour | None:
    first = next(colours, None)
    if first is None or any(max(abs(a - b) for a, b in zip(first, other, strict=True)) > 0.02 for other in colours):
        return None
    return first


def _colours(parts: list[Any], depth: int) -> Iterator[Colour]:
    for part in parts:
        if part.type in ("ident", "hash", "function"):
            if (found := colour(tinycss2.serialize([part]).lower())) is not None:
                yield found
            elif part.type == "function" and depth < _MOST_NESTED:
                yield from _colours(part.arguments, depth + 1)


def _srgb(space: str, a: float, b: float, c: float, parsed: Any) -> tuple[float, float, float]:
    if space in ("lch", "oklch"):
        a, b, c = a, b * math.cos(math.radians(c)), b * math.sin(math.radians(c))
        space = space.replace("lch", "lab")
    if space == "oklab":
        return _of_oklab(a, b, c)
    if space == "lab":
        return _of_lab(a, b, c)
    if space in ("hsl", "hwb"):
        red, green, blue = parsed.to("srgb").coordinates
        return red, green, blue
    if space == "srgb-linear":
        return _gamma(a), _gamma(b), _gamma(c)
    return a, b, c  # Other wide colour spaces are close enough to distinguish white from grey.


def _of_oklab(light: float, a: float, b: float) -> tuple[float, float, float]:
    """Return a colour of OKLab as sRGB, by https://bottosson.github.io/posts/oklab/."""
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _gamma(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
        _gamma(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
        _gamma(-0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short),
    )


def _of_lab(light: float, a: float, b: float) -> tuple[float, float, float]:
    """Return a colour of CIE Lab (D50) as sRGB, by CSS Color 4."""
    y = (light + 16) / 116
    x, z = y + a / 500, y - b / 200
    x, y, z = (each**3 if each > 6 / 29 else 3 * (6 / 29) ** 2 * (each - 4 / 29) for each in (x, y, z))
    x, z = x * 0.96430, z * 0.82510
    return (
        _gamma(3.1341359 * x - 1.6173863 * y - 0.4906619 * z),
        _gamma(-0.9787954 * x + 1.9162543 * y + 0.0334428 * z),
        _gamma(0.0719554 * x - 0.2289769 * y + 1.4053860 * z),
    )


def _gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _bounded(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def legacy_colour(text: str) -> str:
    """Return the colour of an obsolete attribute as browsers interpret it: any text denotes one."""
    text = text.strip().lower()
    if text in ("", "transparent"):
        return text
    if colour(text) is not None and not text.startswith(("rgb", "hsl")):
        return text
    digits = "".join(sign if sign in "0123456789abcdef" else "0" for sign in text.removeprefix("#")[:128])
    digits = digits.ljust(-(-max(len(digits), 3) // 3) * 3, "0")
    third = len(digits) // 3
    parts = [digits[at : at + third][-8:] for at in (0, third, 2 * third)]
    while len(parts[0]) > 2 and all(part.startswith("0") for part in parts):
        parts = [part[1:] for part in parts]
    return "#" + "".join(part[:2].rjust(2, "0") for part in parts)
