"""Requests and responses of mem0's API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from keeps.integrations.marks import marked
from keeps.integrations.mem0.filters import APP
from keeps.integrations.product_api import NotSupportedError
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Event, Memory, Receipt

NAMES = ("user_id", "agent_id", "app_id", "run_id")
NO_RUN = "mem0"
"""The session of messages without a run."""
QUEUED = "Memory processing has been queued for background execution"
NOTHING_SAID = "Nothing to remember: instructions and tool output are not memories of a user"
_NOT_SAID = ("system", "developer", "tool", "function")
"""Roles of messages from neither a person nor an agent."""


class Mem0NotSupportedError(NotSupportedError):
    api, page = "mem0's API", "docs/mem0.md"


class _Body(BaseModel):
    """A request body.

    Fields of `unsupported` would change the answer, so they are refused. Other unknown fields are ignored.
    """

    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)

    def refuse(self, *names: str) -> None:
        for name in names:
            if (self.__pydantic_extra__ or {}).get(name) not in (None, False, [], {}):
                raise Mem0NotSupportedError(f"`{name}`")


class _Of(_Body):
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None

    def named(self) -> dict[str, str]:
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


class Said(_Body):
    role: Literal["user", "assistant", "system", "developer", "tool", "function"] = "user"
    content: str | list[dict[str, Any]] | dict[str, Any] | None = None
    name: str | None = None

    def text(self) -> str:
        """Return the text of the message. Raises Mem0NotSupportedError for images and files."""
        parts = self.content if isinstance(self.content, list) else [self.content]
        texts: list[str] = []
        for part in parts:
            if isinstance(part, Mapping):
                if part.get("type", "text") != "text":
                    raise Mem0NotSupportedError(f"messages of type `{part.get('type')}`")
                texts.append(str(part.get("text", "")))
            else:
                texts.append(part or "")
        return "\n".join(texts)


class Adding(_Of):
    """A request to add `messages` verbatim, or with `infer` their facts."""

    messages: str | Said | list[Said]
    metadata: dict[str, Any] | None = None
    categories: list[str] | None = None
    infer: bool = True
    timestamp: float | str | None = None
    expiration_date: date | None = None
    filters: dict[str, Any] | None = None

    def said(self) -> list[Said]:
        """Return the messages of people and agents. Raises ValidationFailedError if no message has a text."""
        given = self.messages
        many = [Said(content=given)] if isinstance(given, str) else given if isinstance(given, list) else [given]
        texts = [each for each in many if each.text().strip()]
        if not texts:
            raise ValidationFailedError("messages: they contain no text")
        return [each for each in texts if each.role not in _NOT_SAID]


class Asking(_Of):
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str] | None = None
    start_date: str | float | None = None
    end_date: str | float | None = None
    fields: list[str] | None = None

    def conditions(self) -> dict[str, Any]:
        """Return all conditions as one filter of mem0."""
        parts: list[dict[str, Any]] = [{name: value} for name, value in self.named().items()]
        if self.filters:
            parts.append(self.filters)
        if self.metadata:
            parts.append({"metadata": self.metadata})
        if self.categories:
            parts.append({"categories": {"in": self.categories}})
        if self.start_date is not None:
            parts.append({"created_at": {"gte": self.start_date}})
        if self.end_date is not None:
            parts.append({"created_at": {"lte": self.end_date}})
        return parts[0] if len(parts) == 1 else {"AND": parts} if parts else {}


class Searching(Asking):
    query: str = Field(min_length=1)
    top_k: int | None = Field(default=None, ge=1)
    limit: int | None = Field(default=None, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)


class Changing(_Body):
    """A change of a memory. Newer servers and the platform use `text`; older ones `data` and `memory`."""

    text: str | None = None
    data: str | None = None
    memory: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: float | str | None = None
    expiration_date: date | None = None

    def content(self) -> str | None:
        return self.text or self.data or self.memory


class Chosen(Changing):
    memory_id: str


class Batch(_Body):
    memories: list[Chosen | str] = Field(min_length=1, max_length=1_000)

    def chosen(self) -> list[Chosen]:
        return [Chosen(memory_id=each) if isinstance(each, str) else each for each in self.memories]


class Outcome(BaseModel):
    """The result for each queued memory."""

    memories: list[tuple[UUID, str]]


def moment(given: float | str | None) -> datetime | None:
    """Parse a time of mem0: Unix seconds, or a date."""
    if given is None:
        return None
    try:
        if isinstance(given, str) and not given.replace(".", "", 1).lstrip("-").isdigit():
            found = datetime.fromisoformat(given)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        return datetime.fromtimestamp(float(given), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValidationFailedError("timestamp: is neither Unix seconds nor a date such as 2026-01-31") from None


def end_of(day: date) -> datetime:
    """Return the end of a day, since a memory lives through the day of its expiration."""
    try:
        return datetime.combine(day, time(), UTC) + timedelta(days=1)
    except OverflowError:
        raise ValidationFailedError("expiration_date: lies outside the years 1 to 9999") from None


def shown(memory: Memory, score: float | None = None, fields: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a memory as mem0 does: all fields, or its id, text, score and `fields`."""
    metadata = {name: value for name, value in memory.metadata.items() if name != APP}
    values: dict[str, Any] = {
        "id": str(memory.memory_id),
        "memory": memory.content if score is None else marked(memory),
        "user_id": memory.user_id,
        "agent_id": memory.agent_id,
        "app_id": memory.metadata.get(APP),
        "run_id": memory.session_id if memory.session_id != NO_RUN else None,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata,
        "categories": list(memory.tags),
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "timestamp": memory.valid_from.isoformat(),
        "expiration_date": (memory.expires_at - timedelta(microseconds=1)).date().isoformat()
        if memory.expires_at
        else None,
    }
    if score is not None:
        values["score"] = round(score, 4)
    if fields:
        return {name: value for name, value in values.items() if name in ("id", "memory", "score", *fields)}
    return values


_EVENTS = {"created": "ADD", "updated": "UPDATE", "superseded": "ADD", "restored": "UPDATE", "forgotten": "DELETE"}


def added(receipt: Receipt) -> dict[str, Any]:
    """Return the result for a memory that was added."""
    text = receipt.memory.content if receipt.memory else ""
    return {
        "id": str(receipt.memory_id),
        "memory": text,
        "event": _EVENTS.get(receipt.status, "NONE"),
        "data": {"memory": text},
    }


def past(memory_id: str, events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the history of a memory, oldest first: each change of its text, and its deletion."""
    entries: list[dict[str, Any]] = []
    before: str | None = None
    for event in events:
        stored = event.data.get("memory")
        text = stored.get("content") if isinstance(stored, Mapping) else None
        gone = (isinstance(stored, Mapping) and stored.get("deleted_at") is not None) or event.type == "memory.erased"
        if not gone and (not isinstance(text, str) or text == before):
            continue
        entries.append(
            {
                "id": str(event.id),
                "memory_id": memory_id,
                "user_id": event.userid,
                "event": "DELETE" if gone else "ADD" if before is None else "UPDATE",
                "old_memory": before,
                "new_memory": None if gone else text,
                "input": None,
                "metadata": None,
                "is_deleted": gone,
                "actor_id": None,
                "role": None,
                "created_at": entries[0]["created_at"] if entries else event.time.isoformat(),
                "updated_at": event.time.isoformat(),
            }
        )
        before = None if gone else str(text)
    return entries
