"""Import formats. Each reader is pure and yields one `Record` per entry, valid or not.

Each record has a key made of the file and its place in it. Importing again therefore stores nothing twice, a stopped
import continues where it ended, and a changed file updates its changed records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from keeps.sources.importing import chats, notes
from keeps.sources.importing.records import NAMESPACE, Record, Source, fitted, pieces, source_of
from keeps_client.errors import ValidationFailedError

Format = Literal["auto", "chat", "locomo", "markdown", "text"]
_MARKDOWN, _TEXT = (".md", ".markdown"), (".txt",)


def read(path: Path, form: Format) -> Iterator[Record]:
    """Yield all records of a file or folder. Raises ValidationFailedError if it does not have this format."""
    if not path.exists():
        raise ValidationFailedError(f"no such file or folder: {path}")
    match form if form != "auto" else guess(path):
        case "markdown":
            yield from _folder(path, _MARKDOWN, notes.records)
        case "text":
            yield from _folder(path, _TEXT, _text)
        case "locomo":
            yield from _locomo(path)
        case "chat":
            yield from _folder(path, chats.SUFFIXES, chats.records)
        case _:
            raise ValidationFailedError(f"unknown format {form!r}; there are chat, locomo, markdown and text")


def guess(path: Path) -> Format:
    """Return the format suggested by the name, and for JSON by the beginning of the content."""
    if path.is_dir():
        suffixes = {each.suffix.lower() for each in path.rglob("*") if each.is_file()}
        kinds: tuple[tuple[Format, tuple[str, ...]], ...] = (
            ("markdown", _MARKDOWN),
            ("chat", chats.SUFFIXES),
            ("text", _TEXT),
        )
        for form, known in kinds:
            if not suffixes.isdisjoint(known):
                return form
        raise ValidationFailedError(f"{path} holds no .md, .json, .jsonl or .txt files; name the --format")
    suffix = path.suffix.lower()
    if suffix in _MARKDOWN:
        return "markdown"
    if suffix not in chats.SUFFIXES:
        return "text"
    with path.open(encoding="utf-8", errors="replace") as file:
        begins = file.read(200_000)
    return "locomo" if '"conversation"' in begins and "session_1" in path.read_text("utf-8", "replace") else "chat"


def _folder(
    path: Path, suffixes: tuple[str, ...], reader: Callable[[Source, str], Iterator[Record]]
) -> Iterator[Record]:
    """Yield the records of a file, or of each file in a folder.

    An unreadable file in a folder becomes a record with a problem; an unreadable file named by the caller is an error.
    """
    files = (
        [path]
        if path.is_file()
        else sorted(  # Links are not followed: in a folder from someone else they may lead to private files.
            each
            for each in path.rglob("*")
            if each.is_file() and not each.is_symlink() and each.suffix.lower() in suffixes
        )
    )
    for file in files:
        source = source_of(file, path)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            yield Record(source.name, None, f"cannot be read as UTF-8 text: {error}")
            continue
        try:
            yield from reader(source, text)
        except ValidationFailedError as error:
            if path.is_file():
                raise
            yield Record(source.name, None, error.detail)


def _locomo(path: Path) -> Iterator[Record]:
    """Yield the records of LoCoMo's JSON: a list of samples.

    Each sample has a `conversation` with sessions of dated turns between two speakers.
    """
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ValidationFailedError(f"{path.name} is not LoCoMo's JSON: {error}") from None
    if not isinstance(samples, list):
        raise ValidationFailedError(f"{path.name} is not LoCoMo's JSON: it should be a list of samples")
    source = source_of(path, path)
    for number, sample in enumerate(samples):
        conversation = sample.get("conversation") if isinstance(sample, dict) else None
        if not isinstance(conversation, dict):
            yield Record(f"{path.name}[{number}]", None, "has no conversation")
            continue
        name = str(sample.get("sample_id", number))
        names = [str(key) for key, value in conversation.items() if isinstance(value, list)]
        sessions = sorted((key for key in names if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
        for session in sessions:
            begun = _locomo_time(str(conversation.get(f"{session}_date_time", "")))
            for position, turn in enumerate(conversation[session]):
                if not isinstance(turn, dict):
                    yield Record(f"{name} {session}:{position}", None, "is no turn: an object with speaker and text")
                    continue
                place = f"{name} {turn.get('dia_id', f'{session}:{position}')}"
                text = str(turn.get("text", ""))
                if turn.get("blip_caption"):
                    text += f" [shares image: {turn['blip_caption']}]"
                if not text.strip():
                    yield Record(place, None, "has no text")
                    continue
                memory: dict[str, Any] = {
                    "content": text,
                    "kind": "episodic",
                    "content_type": "message",
                    "namespace": NAMESPACE,
                    "key": source.key(f"{name}/{session}/{position}"),
                    "session_id": source.scoped(f"{name}/{session}"),
                    "source": place,
                    "metadata": {"speaker": str(turn.get("speaker", ""))},
                }
                if begun is not None:
                    memory["valid_from"] = begun + timedelta(seconds=position)
                yield Record(place, memory)


def _text(source: Source, text: str) -> Iterator[Record]:
    """Yield one memory for each paragraph; long ones are split at sentences."""
    for number, part in enumerate(pieces(text), 1):
        yield Record(
            f"{source.name}#{number}",
            {
                "content": part,
                "content_type": "document",
                "namespace": NAMESPACE,
                "key": source.key(number),
                "source": fitted(source.path),
                "metadata": {"path": source.name},
            },
        )


def _locomo_time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
