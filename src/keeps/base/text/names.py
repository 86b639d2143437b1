"""Names of months and days in English, German, Spanish and French."""

from __future__ import annotations

from collections.abc import Iterable

MONTHS = (
    ("january", "januar", "enero", "janvier"),
    ("february", "februar", "febrero", "février"),
    ("march", "märz", "marzo", "mars"),
    ("april", "april", "abril", "avril"),
    ("may", "mai", "mayo", "mai"),
    ("june", "juni", "junio", "juin"),
    ("july", "juli", "julio", "juillet"),
    ("august", "august", "agosto", "août"),
    ("september", "september", "septiembre", "septembre"),
    ("october", "oktober", "octubre", "octobre"),
    ("november", "november", "noviembre", "novembre"),
    ("december", "dezember", "diciembre", "décembre"),
)
DAYS = (
    ("monday", "montag", "lunes", "lundi"),
    ("tuesday", "dienstag", "martes", "mardi"),
    ("wednesday", "mittwoch", "miércoles", "mercredi"),
    ("thursday", "donnerstag", "jueves", "jeudi"),
    ("friday", "freitag", "viernes", "vendredi"),
    ("saturday", "samstag", "sábado", "samedi"),
    ("sunday", "sonntag", "domingo", "dimanche"),
)
ENGLISH_MONTHS = {name: number for number, (month, *_) in enumerate(MONTHS, 1) for name in (month, month[:3])} | {
    "sept": 9
}
"""The number of each month, by its name and its abbreviation."""


def one_of(names: Iterable[str]) -> str:
    """Return a regular-expression group that matches any of the names."""
    return "(" + "|".join(sorted(names, key=len, reverse=True)) + ")"
