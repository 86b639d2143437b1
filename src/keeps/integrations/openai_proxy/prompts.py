"""Requests of chat completions and of responses: what a user says in them, and where a context goes. Pure.

A context is only inserted. Everything else of the request stays as it was sent, to the byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keeps.integrations.openai_proxy.spans import Edit, Span, edited, elements, members, quoted, whole_object
from keeps.integrations.storable import storable
from keeps.memory.conversations.service import without_contexts
from keeps_client.errors import ValidationFailedError

Api = Literal["chat/completions", "responses"]
QUESTION_CHARACTERS = 10_000
"""Maximum length of the question for a context: the end of a longer message."""
_LEADING = ("system", "developer")
_TEXT_PARTS = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request that was read.

    `users`: the values of `user` and `safety_identifier`, in this order. `session`, `previous`, `conversation` and
    `references`: ids that the request names. `first`: identifies the first message of a user; `so_far`: all messages
    up to the last one of a user.
    """

    api: Api
    text: str
    fields: dict[str, Span]
    messages: Sequence[Span]
    last_user: int | None
    user_text: str
    users: tuple[str, ...]
    session: str | None
    previous: str | None
    conversation: str | None
    references: tuple[str, ...]
    first: str
    so_far: str

    @property
    def question(self) -> str:
        return self.user_text[-QUESTION_CHARACTERS:].strip()

    @property
    def upstream_ids(self) -> list[str]:
        """Return the ids of what the provider stores, the one of the conversation first."""
        return [upstream_id for upstream_id in (self.previous, self.conversation, *self.references) if upstream_id]

    @property
    def is_stored_upstream(self) -> bool:
        """Return whether the provider stores the input, and repeats it before the input of later requests."""
        if self.api != "responses":
            return False
        store = self.fields.get("store")
        return store is None or store.value is not False or self.previous is not None or self.conversation is not None

    def with_context(self, stable: str, volatile: str) -> bytes:
        """Return the request with a context.

        `stable` ends the application's own instructions, and `volatile` begins the last message of the user. If the
        provider stores the input, both end the instructions, which it does not repeat in later requests.
        """
        edits: list[Edit] = []
        if self.is_stored_upstream:
            stable, volatile = "\n\n".join(part for part in (stable, volatile) if part), ""
        if stable:
            edits.append(self._at_start(stable))
        if volatile and self.last_user is not None:
            edit = self._inserted(self.messages[self.last_user], volatile, at_end=False)
            edits += [] if edit is None else [edit]
        return edited(self.text, edits).encode("utf-8")

    def _at_start(self, stable: str) -> Edit:
        if self.api == "responses":
            instructions = self.fields.get("instructions")
            if instructions is not None and isinstance(instructions.value, str):
                return _extended(instructions, stable, at_end=True)
            if self.is_stored_upstream or not self._leading():
                if instructions is not None:
                    return Edit(instructions.start, instructions.end, quoted(stable))
                at = self.text.index("{") + 1
                return Edit(at, at, f'"instructions":{quoted(stable)},')
        leading = self._leading()
        if leading and (edit := self._inserted(leading[-1], stable, at_end=True)) is not None:
            return edit
        at = leading[-1].end if leading else self.messages[0].start
        message = quoted({"role": leading[-1].value["role"] if leading else "system", "content": stable})
        return Edit(at, at, f",{message}" if leading else f"{message},")

    def _leading(self) -> list[Span]:
        """Return the instructions with which the messages begin."""
        count = next(
            (place for place, message in enumerate(self.messages) if _role(message.value) not in _LEADING),
            len(self.messages),
        )
        return list(self.messages[:count])

    def _inserted(self, message: Span, added: str, *, at_end: bool) -> Edit | None:
        """Return the edit that adds text to the content of a message; None if it has no content to add to."""
        if isinstance(message.value, str):  # an input that is one text
            return _extended(message, added, at_end=at_end)
        content = members(self.text, message).get("content")
        if content is not None and isinstance(content.value, str):
            return _extended(content, added, at_end=at_end)
        if content is not None and isinstance(content.value, list):
            part = quoted({"type": "text" if self.api == "chat/completions" else "input_text", "text": added})
            at = content.end - 1 if at_end else content.start + 1
            comma = "," if content.value else ""
            return Edit(at, at, f"{comma}{part}" if at_end else f"{part}{comma}")
        return None


def read_prompt(api: Api, body: bytes) -> Prompt:
    """Return the request in a body. Without messages in the form of its API, `messages` is empty.

    Raises ValidationFailedError for what is not a JSON object with distinct names. The provider might read it
    differently, and with it an id of another user.
    """
    try:
        text = body.decode("utf-8")
        fields = members(text, whole_object(text))
        messages = _messages(text, fields.get("messages" if api == "chat/completions" else "input"))
    except (ValueError, RecursionError):
        raise ValidationFailedError("the body must be a JSON object in UTF-8, with each name once") from None
    users = [place for place, message in enumerate(messages) if _role(message.value) == "user"]
    last_user = users[-1] if users else None
    metadata = _field(fields, "metadata")
    conversation, previous = _field(fields, "conversation"), _name(_field(fields, "previous_response_id"))
    return Prompt(
        api=api,
        text=text,
        fields=fields,
        messages=messages,
        last_user=last_user,
        user_text="" if last_user is None else without_contexts(storable(_text_of(messages[last_user].value))).strip(),
        users=tuple(name for field in ("user", "safety_identifier") if (name := _name(_field(fields, field)))),
        session=_name(metadata.get("session_id")) if isinstance(metadata, dict) else None,
        previous=previous,
        conversation=_name(conversation.get("id") if isinstance(conversation, dict) else conversation),
        references=tuple(_references(messages)) if api == "responses" else (),
        first="" if last_user is None else _digest([messages[users[0]].value]),
        so_far="" if last_user is None else _digest([previous or "", *(m.value for m in messages[: last_user + 1])]),
    )


def _messages(text: str, place: Span | None) -> list[Span]:
    """Return the messages of a request; none if they do not have the form of messages."""
    if place is None:
        return []
    if isinstance(place.value, str):
        return [place]
    messages = elements(text, place) if isinstance(place.value, list) else []
    return messages if all(isinstance(message.value, dict) for message in messages) else []


def _references(messages: Sequence[Span]) -> Iterator[str]:
    """Yield the ids of items that the provider stores and the input only names."""
    for message in messages:
        value = message.value
        if not isinstance(value, dict) or value.get("type") not in (None, "item_reference") or "role" in value:
            continue
        if name := _name(value.get("id")):
            yield name


def _extended(place: Span, added: str, *, at_end: bool) -> Edit:
    """Return the edit that adds text inside the quotes of a string."""
    at = place.end - 1 if at_end else place.start + 1
    gap = "\n\n" if place.value else ""
    return Edit(at, at, quoted(f"{gap}{added}" if at_end else f"{added}{gap}")[1:-1])


def _role(message: Any) -> str | None:
    return "user" if isinstance(message, str) else message.get("role")


def _text_of(message: Any) -> str:
    """Return the text of a message, without pictures, sound and files."""
    content = message if isinstance(message, str) else message.get("content")
    if isinstance(content, str):
        return content
    return texts_of(content)


def texts_of(parts: Any) -> str:
    """Return the texts of the parts of a content."""
    if not isinstance(parts, list):
        return ""
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in _TEXT_PARTS]
    return "\n".join(text for text in texts if isinstance(text, str))


def _digest(messages: Sequence[Any]) -> str:
    """Return a hash of messages, without instructions: these may contain the time."""
    hasher = hashlib.sha256()
    for message in messages:
        role = _role(message)
        if role not in _LEADING:
            content = message if isinstance(message, str) else [message.get("content"), message.get("output")]
            hasher.update(json.dumps([role, content], sort_keys=True).encode() + b"\n")
    return hasher.hexdigest()[:32]


def _field(fields: dict[str, Span], name: str) -> Any:
    return fields[name].value if name in fields else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
