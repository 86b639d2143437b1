"""Records read from a file, and keys that identify files and positions in them. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import IO, Any

from keeps_client.errors import ValidationFailedError
from keeps_client.models.memories import Learn

NAMESPACE = "import"
MAX_SECTION_CHARACTERS = 2_000
MAX_LABEL = 255
_HASH_CHARACTERS = 16
_WORLDWIDE_ID_CHARACTERS = 16
_MILLISECONDS_FROM, _MICROSECONDS_FROM, _NANOSECONDS_FROM = 1e11, 1e14, 1e17
_YEARS = range(2, 9_999)
_DATE_IN_DIGITS = re.compile(r"(?:19|20)\d{6}")
_ZONE_NAMES = ("UTC", "GMT")
MAX_TEXT_BYTES = 64 << 20
_HEAD_BYTES = 1 << 18
_MEMBER = re.compile(r'(?<!\\)"([A-Za-z_]+)"\s*:')


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file: its place, and either a memory to store or the problem with it.

    Attributes:
        place: File and position, for the report.
        memory: Arguments of `remember`.
        item: An item of a LangGraph store instead of a memory.
        learn: What is learnt from a message of the user.
        problem: Reason why it cannot be stored.
        note: The omitted parts, with the reason. Without a memory and a problem: a file that is not part of the format.
        valid_to: End of the time in which the memory was true.
        owner: User to whom it belongs in the other product.
    """

    place: str
    memory: dict[str, Any] | None
    problem: str | None = None
    note: str | None = None
    valid_to: datetime | None = None
    owner: str | None = None
    item: dict[str, Any] | None = None
    learn: Learn | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """An imported file.

    Attributes:
        name: Display name, relative to the folder or archive.
        path: Absolute, part of each key.
        open: Opens it for one pass.
    """

    name: str
    path: str
    open: Callable[[], IO[bytes]]

    def text(self) -> str:
        """Return the content. Raises ValidationFailedError unless it is UTF-8 of at most MAX_TEXT_BYTES."""
        with self.open() as file:
            content = file.read(MAX_TEXT_BYTES + 1)
        if len(content) > MAX_TEXT_BYTES:
            raise ValidationFailedError(f"{self.name} has more than {MAX_TEXT_BYTES >> 20} MB; divide it")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValidationFailedError(f"{self.name} cannot be read as UTF-8 text: {error}") from None

    def names(self) -> frozenset[str]:
        """Return the names of JSON members at the beginning of the file, which tell formats apart."""
        with self.open() as file:
            return frozenset(_MEMBER.findall(file.read(_HEAD_BYTES).decode("utf-8", "replace")))

    def key(self, place: object) -> str:
        return fitted(f"{self.path}#{place}")

    def scoped(self, identity: str) -> str:
        """Return an id of this file, such as that of a conversation, that no other file has.

        A UUID, or another id of that length, denotes the same conversation in every file.
        """
        return fitted(identity if len(identity) >= _WORLDWIDE_ID_CHARACTERS else f"{self.path}#{identity}")


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files that can be imported.

    Attributes:
        name: Value of `--format`.
        about: One line for the list of formats.
        read: Yields a record for each entry of a file, valid or not.
        member: Matches the names of the files that are read in a folder or an archive.
        recognises: Returns whether a file has this format, by its name and beginning.
    """

    name: str
    about: str
    read: Callable[[Source], Iterator[Record]]
    member: re.Pattern[str]
    recognises: Callable[[Source], bool]


JSON_FILES = re.compile(r"\.(json|jsonl|ndjson)$", re.IGNORECASE)
MARKDOWN_FILES = re.compile(r"\.(md|markdown)$", re.IGNORECASE)


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
            raise ValueError("a boolean is not a time")
        case int() | float():
            moment = _since_1970(value)
        case str():
            text = value.strip()
            if not text:
                return None
            moment = _written(text)
        case _:
            raise ValueError("not a time")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment.year not in _YEARS:
        raise ValueError("a year out of range")
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
        raise ValueError("not a time") from None
