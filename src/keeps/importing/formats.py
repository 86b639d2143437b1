"""Files as memories to store. Pure readers: each yields one `Record` for each thing it found, good or bad.

Every record has a key made from the file and its place in it. So importing again stores nothing twice, an import that
was stopped goes on where it ended, and a changed file updates what changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from keeps_client.errors import ValidationFailedError

Format = Literal["auto", "chat", "locomo", "markdown", "text"]
NAMESPACE = "import"
MAX_SECTION_CHARACTERS = 2_000
_ROLES = {"user", "assistant", "system", "tool"}


@dataclass(frozen=True, slots=True)
class Record:
    """One thing found: where, and either what to store or why not."""

    place: str
    memory: dict[str, Any] | None
    problem: str | None = None


def read(path: Path, form: Format) -> Iterator[Record]:
    """All records of a file or folder. Raises ValidationFailedError when it cannot be read as that format at all."""
    if not path.exists():
        raise ValidationFailedError(f"no such file or folder: {path}")
    match form if form != "auto" else guess(path):
        case "markdown":
            yield from _folder(path, (".md", ".markdown"), _markdown)
        case "text":
            yield from _folder(path, (".txt",), _text)
        case "locomo":
            yield from _locomo(path)
        case "chat":
            yield from _folder(path, (".json", ".jsonl"), _chat)
        case _:
            raise ValidationFailedError(f"unknown format {form!r}; there are chat, locomo, markdown and text")


def guess(path: Path) -> Format:
    """The format that a name, and for JSON the beginning of the content, suggests."""
    if path.is_dir():
        suffixes = {each.suffix.lower() for each in path.rglob("*") if each.is_file()}
        for form, known in (("markdown", {".md", ".markdown"}), ("chat", {".json", ".jsonl"}), ("text", {".txt"})):
            if suffixes & known:
                return cast("Format", form)
        raise ValidationFailedError(f"{path} holds no .md, .json, .jsonl or .txt files; name the --format")
    match path.suffix.lower():
        case ".md" | ".markdown":
            return "markdown"
        case ".json" | ".jsonl":
            with path.open(encoding="utf-8", errors="replace") as file:
                return (
                    "locomo"
                    if '"conversation"' in file.read(200_000) and "session_1" in path.read_text("utf-8", "replace")
                    else "chat"
                )
        case _:
            return "text"


def _folder(path: Path, suffixes: tuple[str, ...], reader: Callable[[str, str], Iterator[Record]]) -> Iterator[Record]:
    files = (
        [path]
        if path.is_file()
        else sorted(  # a link in a folder that somebody gave you may lead to your keys
            each
            for each in path.rglob("*")
            if each.is_file() and not each.is_symlink() and each.suffix.lower() in suffixes
        )
    )
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            yield Record(name, None, f"cannot be read as UTF-8 text: {error}")
            continue
        yield from reader(name, text)


def _chat(name: str, text: str) -> Iterator[Record]:
    """OpenAI-style: a list of messages, an object with `messages`, a list of those, or any of these a line (JSONL)."""
    conversations: list[tuple[str, Any, str]] = []
    loose: list[tuple[str, Any]] = []
    if name.lower().endswith(".jsonl"):
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield Record(f"{name}:{number}", None, f"is not JSON: {error}")
                continue
            if isinstance(value, dict) and "messages" in value:
                conversations.append(
                    (
                        f"{name}:{number}",
                        value["messages"],
                        str(value.get("id") or value.get("session_id") or f"{_stem(name)}-{number}"),
                    )
                )
            else:
                loose.append((f"{name}:{number}", value))
    else:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValidationFailedError(f"{name} is not JSON: {error}") from None
        many = (
            value
            if isinstance(value, list)
            and value
            and all(isinstance(each, dict) and "messages" in each for each in value)
            else [value]
        )
        for number, each in enumerate(many):
            if isinstance(each, dict) and "messages" in each:
                conversations.append(
                    (
                        f"{name}[{number}]",
                        each["messages"],
                        str(each.get("id") or each.get("session_id") or f"{_stem(name)}-{number}"),
                    )
                )
            elif isinstance(each, list):
                loose.extend((f"{name}[{position}]", message) for position, message in enumerate(each))
            else:
                yield Record(f"{name}[{number}]", None, "is neither a list of messages nor an object with messages")
    for place, messages, session in conversations:
        if not isinstance(messages, list):
            yield Record(place, None, "messages is not a list")
            continue
        for position, message in enumerate(messages):
            yield _message(f"{place}.messages[{position}]", message, session, position)
    for position, (place, message) in enumerate(loose):
        yield _message(place, message, _stem(name), position)


def _message(place: str, message: object, session: str, position: int) -> Record:
    if not isinstance(message, dict) or "content" not in message:
        return Record(place, None, "is not a message: an object with role and content")
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str) or not content.strip():
        return Record(place, None, "has no text")
    memory: dict[str, Any] = {
        "content": content,
        "kind": "episodic",
        "content_type": "message",
        "namespace": NAMESPACE,
        "key": f"{session}#{position}"[-255:],
        "session_id": session[:255],
        "source": place[:255],
    }
    role = message.get("role")
    if isinstance(role, str) and role in _ROLES:
        memory["role"] = role
    elif role is not None:
        return Record(place, None, f"unknown role {str(role)[:40]!r}; there are {', '.join(sorted(_ROLES))}")
    if isinstance(message.get("name"), str):
        memory["metadata"] = {"speaker": message["name"]}
    moment = next(
        (message[name] for name in ("timestamp", "created_at", "create_time", "time") if message.get(name) is not None),
        None,
    )
    if moment is not None:
        try:
            memory["valid_from"] = _moment(moment)
        except (ValueError, OverflowError, OSError):
            return Record(place, None, f"its time {str(moment)[:40]!r} is neither RFC 3339 nor seconds since 1970")
    return Record(place, memory)


def _locomo(path: Path) -> Iterator[Record]:
    """LoCoMo's JSON: a list of samples, each a `conversation` with sessions of dated turns between two speakers."""
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ValidationFailedError(f"{path.name} is not LoCoMo's JSON: {error}") from None
    if not isinstance(samples, list):
        raise ValidationFailedError(f"{path.name} is not LoCoMo's JSON: it should be a list of samples")
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
                    "key": f"locomo/{name}/{session}/{position}",
                    "session_id": f"{name}/{session}",
                    "source": place,
                    "metadata": {"speaker": str(turn.get("speaker", ""))},
                }
                if begun is not None:
                    memory["valid_from"] = begun + timedelta(seconds=position)
                yield Record(place, memory)


def _markdown(name: str, text: str) -> Iterator[Record]:
    """One memory for each section, under the headings that lead to it."""
    headings: list[str] = []
    section: list[str] = []
    number = 0
    fenced = False

    def finish() -> Iterator[Record]:
        nonlocal number
        body = "\n".join(section).strip()
        section.clear()
        for part in _pieces(body):
            number += 1
            content = f"{' › '.join(headings)}\n{part}" if headings else part
            yield Record(
                f"{name}#{number}",
                {
                    "content": content,
                    "content_type": "document",
                    "namespace": NAMESPACE,
                    "key": f"{name}#{number}"[-255:],
                    "source": name[-255:],
                    "metadata": {"path": name, "heading": " › ".join(headings)},
                },
            )

    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        match = None if fenced else re.match(r"(#{1,6})\s", line)
        title = line[match.end() :].strip().rstrip("#").rstrip() if match else ""
        if match is None or not title:
            section.append(line)
            continue
        yield from finish()
        del headings[len(match[1]) - 1 :]
        headings.append(title)
    yield from finish()


def _text(name: str, text: str) -> Iterator[Record]:
    """One memory for each paragraph, long ones cut at sentences."""
    for number, part in enumerate(_pieces(text), 1):
        yield Record(
            f"{name}#{number}",
            {
                "content": part,
                "content_type": "document",
                "namespace": NAMESPACE,
                "key": f"{name}#{number}"[-255:],
                "source": name[-255:],
                "metadata": {"path": name},
            },
        )


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs, gathered up to MAX_SECTION_CHARACTERS, and cut where one alone is longer."""
    gathered = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for piece in _cut(paragraph.strip()):
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


def _stem(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _moment(value: object) -> datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(str(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _locomo_time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
