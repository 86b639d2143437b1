"""The text of an answer, read while it is passed on: JSON, or a stream of events. Pure."""

from __future__ import annotations

import json
from typing import Any

from keeps.integrations.openai_proxy.prompts import Api, texts_of
from keeps.integrations.storable import storable

MOST_IDS = 500
"""Maximum number of ids of one answer."""
MAX_LINE_BYTES = 256 << 10
"""Longer lines of a stream are not read: the last event of a response repeats all of it."""


class Answer:
    """Collects the assistant's text up to a number of characters, and the ids of a response."""

    def __init__(self, api: Api, most_characters: int) -> None:
        self._api = api
        self._left = most_characters
        self._parts: list[str] = []
        self._part: object = None
        self._ids: set[str] = set()
        self._new_ids: list[str] = []
        self.is_complete = False
        """True once the whole answer was read."""

    @property
    def text(self) -> str:
        return storable("".join(self._parts)).strip()

    def new_ids(self) -> list[str]:
        """Return the ids of the response and its items that were read since the last call."""
        ids, self._new_ids = self._new_ids, []
        return ids

    def read(self, body: bytes) -> None:
        """Read the body of an answer that is not a stream."""
        value = _loaded(body)
        if isinstance(value, dict):
            self.is_complete = True
            if self._api == "responses":
                self._read_response(value)
            else:
                message = _first_choice(value).get("message")
                content = message.get("content") if isinstance(message, dict) else None
                self._add(content if isinstance(content, str) else texts_of(content))

    def read_event(self, data: bytes) -> None:
        """Read the data of one event."""
        if data == b"[DONE]":
            self.is_complete = True
            return
        value = _loaded(data)
        if not isinstance(value, dict):
            return
        if self._api == "chat/completions":
            choice = _first_choice(value)
            delta = choice.get("delta")
            self._add(delta.get("content") if isinstance(delta, dict) else None)
            return
        kind, response = value.get("type"), value.get("response")
        self._add_id(response)
        self._add_id(value.get("item"))
        if kind == "response.output_text.delta":
            part = value.get("output_index"), value.get("content_index")
            if self._part not in (None, part):
                self._add("\n")
            self._part = part
            self._add(value.get("delta"))
        elif kind == "response.completed":
            self.is_complete = True

    def _read_response(self, value: dict[str, Any]) -> None:
        self._add_id(value)
        output = value.get("output")
        items: list[Any] = output if isinstance(output, list) else []
        for item in items:
            self._add_id(item)
        texts = [texts_of(item.get("content")) for item in items if isinstance(item, dict)]
        self._add("\n".join(text for text in texts if text))

    def _add_id(self, value: Any) -> None:
        name = value.get("id") if isinstance(value, dict) else None
        if isinstance(name, str) and name not in self._ids and len(self._ids) < MOST_IDS:
            self._ids.add(name)
            self._new_ids.append(name)

    def _add(self, text: Any) -> None:
        if isinstance(text, str) and text and self._left > 0:
            self._parts.append(text[: self._left])
            self._left -= len(text)


class EventReader:
    """Splits a stream into the data of its events, with bounded memory."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._rest = b""
        self._skips = False

    def see(self, piece: bytes) -> None:
        """Read the next piece of the stream."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole, self._rest = self._rest + line, b""
            if not self._skips and len(whole) <= MAX_LINE_BYTES and whole.startswith(b"data:"):
                self._answer.read_event(whole[5:].strip())
            self._skips = False
        if len(self._rest) + len(rest) > MAX_LINE_BYTES:
            self._rest, self._skips = b"", True
        elif not self._skips:
            self._rest += rest


def _first_choice(value: dict[str, Any]) -> dict[str, Any]:
    """Return the choice of index 0, or an empty one."""
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            return choice
    return {}


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
