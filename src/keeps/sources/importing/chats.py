"""Chats in the format of OpenAI's API, and in the exports of other products. Pure.

A file contains one JSON value, or one per line: messages, conversations, or lists of them. A conversation is an object
with its messages under one of `_MESSAGES`; ChatGPT's export stores them as a tree under `mapping`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from keeps.sources.importing.records import NAMESPACE, Record, Source, fitted, moment_of
from keeps_client.errors import ValidationFailedError

SUFFIXES = (".json", ".jsonl", ".ndjson")
_LINES = (".jsonl", ".ndjson")
_MESSAGES = ("messages", "chat_messages", "conversation", "conversations", "contents", "mapping")
_CONTENT = ("content", "text", "value", "parts")
_ROLE = ("role", "sender", "from", "author", "user")
_TIME = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "sent_at", "ts")
_IDENTITY = ("id", "session_id", "conversation_id", "uuid", "thread_id")
_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
NOT_A_MESSAGE = (
    "is not a message: an object with `role` and `content`. Chats of OpenAI, ChatGPT, Claude and the like are read; of"
    ' another product write lines such as {"role": "user", "content": "…", "timestamp": "…"}. If this is no chat, name'
    " its format: --format locomo, markdown, text or keeps"
)


class _Sessions:
    """Numbers the messages of each session in a file, also if the session continues elsewhere in it."""

    def __init__(self) -> None:
        self._next: Counter[str] = Counter()

    def position(self, session: str) -> int:
        self._next[session] += 1
        return self._next[session] - 1


def records(source: Source, text: str) -> Iterator[Record]:
    """Yield a record for each message. Raises ValidationFailedError for a file that is not JSON."""
    sessions = _Sessions()
    for place, value, problem in _values(source, text):
        if problem is not None:
            yield Record(f"{source.name}{place}", None, problem)
        elif (messages := _messages(value)) is None:
            yield _message(f"{source.name}{place}", value, fitted(source.path), sessions)
        else:
            session = _session(source, place, value)
            if not isinstance(messages, list):
                yield Record(f"{source.name}{place}", None, "its messages are not a list")
                continue
            for number, message in enumerate(cast("list[object]", messages)):
                yield _message(f"{source.name}{place}.messages[{number}]", message, session, sessions)


def _values(source: Source, text: str) -> Iterator[tuple[str, object, str | None]]:
    """Yield each message or conversation of a file with its place, or with the reason why it is unreadable."""
    whole: object = None
    try:
        whole = json.loads(text)
    except RecursionError:
        if not source.name.lower().endswith(_LINES):
            raise ValidationFailedError(f"{source.name} is nested too deeply") from None
        by_line = True
    except ValueError as error:
        by_line = source.name.lower().endswith(_LINES) or _is_json(text.lstrip().split("\n", 1)[0])
        if not by_line:
            raise ValidationFailedError(
                f"{source.name} is not JSON: {error}. Name its format: --format chat, locomo, markdown, text or keeps"
            ) from None
    else:
        by_line = source.name.lower().endswith(_LINES) and "\n" not in text.strip()
    if by_line:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield f":{number}", json.loads(line), None
                except (ValueError, RecursionError) as error:
                    yield f":{number}", None, f"is not JSON: {error}"
        return
    listed = isinstance(whole, list)
    for number, value in enumerate(cast("list[object]", whole) if listed else [whole]):
        yield f"[{number}]", value, None


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


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
    held = conversation[name]
    return _thread(held, conversation.get("current_node")) if name == "mapping" else held


def _thread(nodes: object, last: object) -> object:
    """Return the messages of ChatGPT's tree that lead to its current node, oldest first; all if no node is current."""
    if not isinstance(nodes, dict):
        return nodes
    tree = cast("dict[str, Any]", nodes)
    way: list[Any] = []
    if last in tree:
        seen: set[object] = set()
        while isinstance(node := tree.get(cast("str", last)), dict) and last not in seen:
            seen.add(last)
            way.append(node)
            last = node.get("parent")
        way.reverse()
    else:
        way = list(tree.values())
    return [node["message"] for node in way if isinstance(node, dict) and _says_something(node.get("message"))]


def _says_something(message: object) -> bool:
    """Return whether a node of ChatGPT's tree has a message with text: its root and tool calls do not."""
    return isinstance(message, dict) and bool(_text(cast("dict[str, Any]", message)).strip())


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
    memory: dict[str, Any] = {
        "content": content,
        "kind": "episodic",
        "content_type": "message",
        "namespace": NAMESPACE,
        "key": fitted(f"{session}#{position}"),
        "session_id": session,
        "source": fitted(place),
    }
    notes: list[str] = []
    role, speaker, note = _author(entry)
    if role:
        memory["role"] = role
    if speaker:
        memory["metadata"] = {"speaker": speaker}
    if note:
        notes.append(note)
    moment = next((entry[name] for name in _TIME if entry.get(name) is not None), None)
    try:
        valid_from = moment_of(moment)
    except ValueError:
        notes.append(f"the time {str(moment)[:40]!r} cannot be read; the memory is dated today")
    else:
        if valid_from is not None:
            memory["valid_from"] = valid_from
    return Record(place, memory, note="; ".join(notes) or None)


def _author(message: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Return the role, the speaker, and a note about an unknown role, which is used as the speaker."""
    author: object = next((message[name] for name in _ROLE if message.get(name) not in (None, "")), None)
    speaker: object = message.get("name")
    if isinstance(author, dict):
        person = cast("dict[str, Any]", author)
        speaker, author = person.get("name") or speaker, person.get("role") or person.get("name")
    if author is None:
        author = message.get("type") if str(message.get("type")).lower() in _ROLES else None
    role = _ROLES.get(author.strip().lower()) if isinstance(author, str) else None
    if role is None and isinstance(author, str):
        speaker = speaker or author
    note = None
    if role is None and message.get("role") not in (None, ""):
        note = f"the role {str(author)[:40]!r} is unknown, and left out"
    return role, speaker if isinstance(speaker, str) and speaker.strip() else None, note


def _text(message: Mapping[str, Any]) -> str:
    for name in _CONTENT:
        if name in message and (text := _plain(message[name])).strip():
            return text
    return ""


def _plain(content: object) -> str:
    """Return the text of a message's content: text, parts of text, or an object with either."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (_plain(part) for part in cast("list[object]", content))
        return "\n".join(part for part in parts if part)
    if isinstance(content, dict):
        held = cast("dict[str, Any]", content)
        return next((text for name in ("text", "parts", "content") if (text := _plain(held.get(name)))), "")
    return ""
