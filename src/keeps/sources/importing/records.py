"""Records read from a file, and keys that identify files and positions in them. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

NAMESPACE = "import"
MAX_SECTION_CHARACTERS = 2_000
MAX_LABEL = 255
_HASH_CHARACTERS = 16
_WORLDWIDE_ID_CHARACTERS = 16
_MILLISECONDS_FROM, _MICROSECONDS_FROM, _NANOSECONDS_FROM = 1e11, 1e14, 1e17
_YEARS = range(2, 9_999)
_DATE_IN_DIGITS = re.compile(r"(?:19|20)\d{6}")
_ZONE_NAMES = ("UTC", "GMT")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file: its place, and either a memory to store or the problem with it.

    `note`: the omitted parts, with the reason.
    """

    place: str
    memory: dict[str, Any] | None
    problem: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """An imported file. `name`: display name, relative to the folder; `path`: absolute, part of each key."""

    name: str
    path: str

    def key(self, place: object) -> str:
        return fitted(f"{self.path}#{place}")

    def scoped(self, identity: str) -> str:
        """Return an id of this file, such as that of a conversation, that no other file has.

        A UUID, or another id of that length, denotes the same conversation in every file.
        """
        return fitted(identity if len(identity) >= _WORLDWIDE_ID_CHARACTERS else f"{self.path}#{identity}")


def source_of(file: Path, root: Path) -> Source:
    name = file.name if file == root else file.relative_to(root).as_posix()
    return Source(name, file.resolve().as_posix())


def fitted(text: str) -> str:
    """Return a label of at most 255 characters; the start of a longer one is replaced by its hash."""
    if len(text) <= MAX_LABEL:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARACTERS]
    return f"{digest}…{text[-(MAX_LABEL - _HASH_CHARACTERS - 1) :]}"


def pieces(text: str) -> Iterator[str]:
    """Yield paragraphs, joined up to MAX_SECTION_CHARACTERS; a longer paragraph is split. Indentation stays."""
    gathered = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for piece in _cut(paragraph.strip("\n").rstrip()):
            if gathered and len(gathered) + len(piece) + 2 > MAX_SECTION_CHARACTERS:
                yield gathered
                gathered = ""
            gathered = f"{gathered}\n\n{piece}" if gathered else piece
    if gathered:
        yield gathered


def _cut(paragraph: str) -> Iterator[str]:
    while len(paragraph) > MAX_SECTION_CHARACTERS:
        end = max(paragraph.rfind(mark, 0, MAX_SECTION_CHARACTERS) for mark in (". ", "! ", "? ", "。", "\n"))
        end = end + 1 if end > MAX_SECTION_CHARACTERS // 2 else MAX_SECTION_CHARACTERS
        yield paragraph[:end].strip()
        paragraph = paragraph[end:].strip()
    if paragraph:
        yield paragraph


def moment_of(value: object) -> datetime | None:
    """Return a time in any of the formats that products export; None for an empty one.

    Supported: seconds, milliseconds, microseconds or nanoseconds since 1970 as numbers or text, RFC 3339 and other
    ISO 8601, RFC 2822, "2024-05-01 10:00:00 UTC", and the objects of MongoDB and Firestore.

    Raises ValueError for anything else.
    """
    match value:
        case None | "":
            return None
        case datetime():
            moment = value
        case date():
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        case {"$date": inner} | {"seconds": inner} | {"_seconds": inner}:
            return moment_of(inner)
        case bool():
            raise ValueError("a truth value is no time")
        case int() | float():
            moment = _since_1970(value)
        case str():
            text = value.strip()
            if not text:
                return None
            moment = _written(text)
        case _:
            raise ValueError("no time")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment.year not in _YEARS:
        raise ValueError("a year that cannot be stored")
    return moment


def _since_1970(value: float) -> datetime:
    """Return a time since 1970. The unit of `value` follows from its size, which is unambiguous in these centuries."""
    size = abs(value)
    try:
        for least, per_second in ((_NANOSECONDS_FROM, 1e9), (_MICROSECONDS_FROM, 1e6), (_MILLISECONDS_FROM, 1e3)):
            if size >= least:
                value /= per_second
                break
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError):
        raise ValueError("a number of seconds out of range") from None


def _written(text: str) -> datetime:
    if not _DATE_IN_DIGITS.fullmatch(text):
        with suppress(ValueError):
            return _since_1970(float(text))
    try:
        moment = text[:-3].rstrip() + "Z" if text.upper().endswith(_ZONE_NAMES) else text
        return datetime.fromisoformat(moment.replace("/", "-"))
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text)
    except (TypeError, IndexError):
        raise ValueError("no time") from None
