"""Chats in the format of OpenAI's API, and of products that export a similar one. Pure.

A file contains one JSON value, or one per line: messages, conversations, or lists of them. A conversation is an object
with its messages under one of `_MESSAGES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from keeps.sources.importing.json_stream import values
from keeps.sources.importing.messages import ROLES, message_record, text_of
from keeps.sources.importing.records import JSON_FILES, Format, Record, Source, fitted

_MESSAGES = ("messages", "chat_messages", "conversation", "conversations", "contents")
_CONTENT = ("content", "text", "value", "parts")
_ROLE = ("role", "sender", "from", "author", "user")
_TIME = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "sent_at", "ts")
_IDENTITY = ("id", "session_id", "conversation_id", "uuid", "thread_id")
NOT_A_MESSAGE = (
    "is not a message: an object with `role` and `content`. Keeps reads chats of OpenAI, ChatGPT, Claude and similar"
    " products; for"
    ' another product write lines such as {"role": "user", "content": "…", "timestamp": "…"}. If this is no chat, name'
    " its format with --format; `keeps import --help` lists them"
)


class _Sessions:
    """Numbers the messages of each session in a file, also if the session continues elsewhere in it."""

    def __init__(self) -> None:
        self._next: Counter[str] = Counter()

    def position(self, session: str) -> int:
        self._next[session] += 1
        return self._next[session] - 1


def records(source: Source) -> Iterator[Record]:
    """Yield a record for each message. Raises ValidationFailedError for a file that is not JSON."""
    sessions = _Sessions()
    for entry in values(source):
        place = f"{source.name}{entry.place}"
        if entry.problem is not None:
            yield Record(place, None, entry.problem)
        elif (messages := _messages(entry.value)) is None:
            yield _message(place, entry.value, fitted(source.path), sessions)
        elif not isinstance(messages, list):
            yield Record(place, None, "its messages are not a list")
        else:
            session = _session(source, entry.place, entry.value)
            for number, message in enumerate(cast("list[object]", messages)):
                yield _message(f"{place}.messages[{number}]", message, session, sessions)


def _messages(value: object) -> object:
    """Return the messages of a conversation; None if the value is not a conversation."""
    if isinstance(value, list) and value:
        return cast("list[object]", value)
    if not isinstance(value, dict):
        return None
    conversation = cast("dict[str, Any]", value)
    name = next((name for name in _MESSAGES if isinstance(conversation.get(name), list | dict)), None)
    if name is None:
        return conversation.get("messages")
    return conversation[name]


def _session(source: Source, place: str, value: object) -> str:
    conversation: Mapping[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    identity = next((conversation[name] for name in _IDENTITY if conversation.get(name) not in (None, "")), None)
    return fitted(f"{source.path}{place}") if identity is None else source.scoped(str(identity))


def _message(place: str, message: object, session: str, sessions: _Sessions) -> Record:
    position = sessions.position(session)
    if not isinstance(message, dict) or not any(name in message for name in _CONTENT):
        return Record(place, None, NOT_A_MESSAGE)
    entry = cast("dict[str, Any]", message)
    content = _text(entry)
    if not content.strip():
        return Record(place, None, "has no text")
    role, speaker, note = _author(entry)
    return message_record(
        place,
        session,
        position,
        content,
        role=role,
        speaker=speaker,
        sent_at=next((entry[name] for name in _TIME if entry.get(name) is not None), None),
        notes=[note] if note else [],
    )


def _author(message: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Return the role, the speaker, and a note about an unknown role, which is used as the speaker."""
    author: object = next((message[name] for name in _ROLE if message.get(name) not in (None, "")), None)
    speaker: object = message.get("name")
    if isinstance(author, dict):
        person = cast("dict[str, Any]", author)
        speaker, author = person.get("name") or speaker, person.get("role") or person.get("name")
    if author is None:
        author = message.get("type") if str(message.get("type")).lower() in ROLES else None
    role = ROLES.get(author.strip().lower()) if isinstance(author, str) else None
    if role is None and isinstance(author, str):
        speaker = speaker or author
    note = None
    if role is None and message.get("role") not in (None, ""):
        note = f"the role {str(author)[:40]!r} is unknown and omitted"
    return role, speaker if isinstance(speaker, str) and speaker.strip() else None, note


def _text(message: Mapping[str, Any]) -> str:
    for name in _CONTENT:
        if name in message and (text := text_of(message[name])).strip():
            return text
    return ""


FORMAT = Format(
    "chat",
    "chats in JSON or JSON lines: OpenAI, Gemini, ShareGPT, LangChain, Slack, Telegram, Discord",
    records,
    JSON_FILES,
    lambda source: JSON_FILES.search(source.name) is not None,
)
