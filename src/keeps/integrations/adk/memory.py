"""ADK's memory service: stores the messages of sessions, and finds them later."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types
from pydantic import BaseModel

from keeps.engine import Keeps
from keeps.integrations.adk.sessions import time_of
from keeps.integrations.arguments import WrongArgumentsError, memory_id_in, places_in
from keeps.integrations.marks import marked
from keeps.integrations.owners import NOT_ALLOWED, Owners, place_of
from keeps_client.checked import validated
from keeps_client.errors import (
    KeepsError,
    NotFoundError,
    ValidationFailedError,
)
from keeps_client.memory.whole import Memory
from keeps_client.models import GetItem, NewMemory, PutItem
from keeps_client.models import Memory as Stored
from keeps_client.models.names import Name

MOST_FOUND, AT_ONCE, INDEXED_AT_ONCE = 10, 200, 32
CONVERSATION = "conversation"
"""The category that tools show for messages of sessions."""
MAX_NAMESPACE_CHARACTERS = 100
_PLAIN = re.compile(r"(?!sha-)[A-Za-z0-9_.:-]{1,40}")
_EVERY_LIFE = {
    "OR": [{each: {"exists": there}} for each in ("deleted_at", "superseded_by") for there in (True, False)],
}


class _Category(BaseModel):
    namespace: Name


class KeepsMemoryService(BaseMemoryService):
    """Long-term memory of ADK's sessions.

    While memory is unavailable, a search finds nothing, and entries that could not be stored are logged and counted in
    `failures`. Adding the session again stores only the missing ones.

    Args:
        keeps: An open engine; the address of a server, with its `token`; or None: read from the environment.
        most: Maximum number of entries in the result of a search.
        min_relevance: From 0 to 1: leave out less relevant entries. Without it a search returns the nearest, each with
            its relevance in `custom_metadata`.
        uri: The same as `keeps`, after a scheme, as ADK's command line passes it.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        tenant_id: str | None = None,
        token: str | None = None,
        most: int = MOST_FOUND,
        min_relevance: float | None = None,
        uri: str | None = None,
        **_: Any,
    ) -> None:
        self._owners = Owners(place_of(keeps, uri), tenant_id=tenant_id, token=token)
        self._most = most
        self._min_relevance = min_relevance

    @property
    def failures(self) -> Mapping[str, int]:
        """The number of failures of memory, by method."""
        return self._owners.failures

    async def close(self) -> None:
        """Close what this object opened."""
        await self._owners.close()

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the messages of a session. Repeated calls store each message once, and never a deleted one again."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that have a text, each once.

        `custom_metadata` may contain `ttl_days`, `tags` and `importance`; the rest is stored as metadata.
        """
        texts = {event.id: (event, text) for event in events if (text := _text_of(event))}
        chosen, rest = _settings(custom_metadata)

        def fields_of(event: Event, text: str) -> dict[str, Any]:
            return {
                "content": text,
                "kind": "episodic",
                "content_type": "message",
                "namespace": namespace_of(app_name),
                "key": event.id,
                "session_id": session_id,
                "role": "user" if event.author == "user" else "assistant",
                "valid_from": time_of(event.timestamp),  # None: now, so that no text is lost for an impossible time
                "metadata": {**rest, **of_app(app_name), "speaker": (event.author or "")[:80]},
                **chosen,
            }

        async def store(memory: Memory) -> None:
            marked, stored = await _known(memory, app_name, user_id, list(texts))
            new = self._valid(
                "add_events_to_memory",
                (
                    fields_of(event, text)
                    for event_id, (event, text) in texts.items()
                    if event_id not in marked and event_id not in stored
                ),
            )
            await _store(memory, new)
            await _mark_known(
                memory, app_name, [new_memory.key for new_memory in new if new_memory.key] + sorted(stored - marked)
            )

        await self._written("add_events_to_memory", user_id, store)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are."""
        new: list[dict[str, Any]] = []
        for entry in memories:
            text = _said(entry.content)
            if not text:
                continue
            chosen, rest = _settings({**(custom_metadata or {}), **entry.custom_metadata})
            new.append(
                {
                    "content": text,
                    "namespace": namespace_of(app_name),
                    "key": entry.id,
                    "valid_from": None if entry.timestamp is None else _moment(entry.timestamp),
                    "metadata": {**rest, **of_app(app_name)} | ({"speaker": entry.author[:80]} if entry.author else {}),
                    **chosen,
                }
            )
        valid = self._valid("add_memory", new)
        await self._written("add_memory", user_id, lambda memory: _store(memory, valid))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories nearest to the question, best first; none while memory is unavailable."""
        if not query.strip():
            return SearchMemoryResponse()
        try:
            result = await self._owners.ask(
                user_id,
                lambda memory: memory.recall(
                    query[:10_000],
                    limit=self._most,
                    filters=own(app_name, user_id),
                    min_relevance=self._min_relevance,
                ),
            )
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("search_memory", error)
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry(hit.memory, hit.relevance) for hit in result.hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory by the id from a search. A deleted event is not stored again.

        As in ADK's own services, an unknown id is no error; it is logged and counted.
        """

        async def forget(memory: Memory) -> None:
            stored = await of_this_app(memory, app_name, memory_id or "")
            await forget_one(memory, app_name, stored, hard=False)

        try:
            await self._owners.ask(user_id, forget)
        except NotFoundError as error:
            self._owners.failed("delete_memory", error)

    def _valid(self, what: str, fields: Iterable[dict[str, Any]]) -> list[NewMemory]:
        """Return the memories that can be stored; report the others, such as one whose text is too long."""
        valid: list[NewMemory] = []
        for values in fields:
            try:
                new = validated(NewMemory, values)
            except ValidationFailedError as error:
                self._owners.failed(what, error)
                continue
            if not new.metadata.keys() - of_app("").keys():
                new.model_fields_set.discard("metadata")  # the app alone: the entry has no metadata of its own
            valid.append(new)
        return valid

    async def _written(self, what: str, user_id: str, work: Any) -> None:
        try:
            await self._owners.ask(user_id, work)
        except NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed(what, error)


def namespace_of(app_name: str, namespace: str | None = None) -> str:
    """Return the namespace of an app's memories; two different names never have the same."""
    plain = _PLAIN.fullmatch(app_name)
    app = f"adk/{app_name if plain else f'sha-{_digest(app_name)}'}"
    if namespace is None:
        return app
    short = len(app) + len(namespace) < MAX_NAMESPACE_CHARACTERS and not namespace.startswith("sha-")
    return f"{app}/{namespace if short else f'sha-{_digest(namespace)}'}"


def check_namespace(namespace: str) -> None:
    """Raise ValidationFailedError for a category that is no valid namespace in any app."""
    validated(_Category, {"namespace": namespace})


def of_app(app_name: str) -> dict[str, Any]:
    return {"adk_app": app_name}


def own(app_name: str, user_id: str) -> dict[str, Any]:
    """Return a filter for the user's own memories in an app, without those that others of the tenant share."""
    return {"AND": [{"metadata.adk_app": {"eq": app_name}}, {"user_id": {"eq": user_id}}]}


def _text_of(event: Event) -> str:
    """Return the text of an event that is addressed to others; empty for thoughts and for partial events."""
    return "" if event.partial else _said(event.content)


def _said(content: types.Content | None) -> str:
    parts = (content.parts if content is not None else None) or []
    text = "\n".join(part.text for part in parts if part.text and not part.thought)
    return text if text.strip() else ""


def _settings(custom: Mapping[str, object] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split custom metadata into fields of Keeps and the rest, which is stored as metadata."""
    given: dict[str, Any] = dict(custom or {})
    return {name: given.pop(name) for name in ("ttl_days", "tags", "importance") if name in given}, given


def _moment(text: str) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailedError(f"timestamp {text!r} is not an ISO 8601 time") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def _entry(memory: Stored, relevance: float | None) -> MemoryEntry:
    role = "user" if memory.role == "user" else "model"
    speaker = memory.metadata.get("speaker")
    return MemoryEntry(
        id=str(memory.memory_id),
        author=str(speaker) if speaker else None,
        timestamp=memory.valid_from.isoformat(),
        content=types.Content(role=role, parts=[types.Part(text=marked(memory))]),
        custom_metadata={name: value for name, value in memory.metadata.items() if name not in ("adk_app", "speaker")}
        | ({} if relevance is None else {"relevance": relevance}),
    )


async def _known(memory: Memory, app_name: str, user_id: str, event_ids: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the ids of events that are marked as known, and of those whose memories are stored or can be restored."""
    marked: set[str] = set()
    stored: set[str] = set()
    for start in range(0, len(event_ids), AT_ONCE):
        batch = list(event_ids[start : start + AT_ONCE])
        marks = await memory.read_items([_mark(app_name, event_id) for event_id in batch])
        marked |= {event_id for event_id, mark in zip(batch, marks, strict=True) if mark.item is not None}
        place = [{"namespace": {"eq": namespace_of(app_name)}}, {"key": {"in": batch}}]
        filters: Any = {"AND": [{"user_id": {"eq": user_id}}, *place, _EVERY_LIFE]}
        stored |= {
            stored_memory.key or "" for stored_memory in (await memory.list(filters=filters, limit=AT_ONCE)).items
        }
    return marked, stored


async def _mark_known(memory: Memory, app_name: str, event_ids: Sequence[str]) -> None:
    """Mark events as known. The marks outlive their memories, which may expire or be erased by any means."""
    for start in range(0, len(event_ids), AT_ONCE):
        marks = (_mark(app_name, each) for each in event_ids[start : start + AT_ONCE])
        await memory.batch_items(
            [PutItem(namespace=each.namespace, key=each.key, value={}, index=False) for each in marks]
        )


async def _store(memory: Memory, new: Sequence[NewMemory]) -> None:
    for start in range(0, len(new), AT_ONCE):
        some = list(new[start : start + AT_ONCE])
        receipts = await memory.remember_many(some, index="now" if len(new) <= INDEXED_AT_ONCE else "later")
        for new_memory, receipt in zip(some, receipts, strict=True):
            # Over HTTP, unset fields are not sent, so a new memory does not have its app yet.
            stored, app = receipt.memory, new_memory.metadata
            if (
                "metadata" not in new_memory.model_fields_set
                and stored is not None
                and not app.items() <= stored.metadata.items()
            ):
                await memory.update(stored.memory_id, metadata={**stored.metadata, **app}, if_version=stored.version)


async def of_this_app(memory: Memory, app_name: str, memory_id: str) -> Stored:
    """Return a memory of this app. Raises NotFoundError, also for a memory of another app."""
    found_id = memory_id_in(memory_id)
    if found_id is None:
        raise NotFoundError(f"no memory {memory_id[:100]!r}")
    held = await memory.get(found_id)
    if held.metadata.get("adk_app") != app_name or held.deleted_at is not None:
        raise NotFoundError(f"no memory {memory_id[:100]!r}")
    return held


async def find_of_model(memory: Memory, app_name: str, text: str) -> Stored:
    """Return the memory that a model names: by its id, as `namespace/key`, or by its key, as lines show it.

    Raises:
        NotFoundError: There is no such memory.
        WrongArgumentsError: The text is none of these.
    """
    if memory_id_in(text) is not None:
        try:
            return await of_this_app(memory, app_name, text)
        except NotFoundError:  # it may be the id of an event, which is used as a key
            pass
    for namespace, key in [*places_in(text), (CONVERSATION, text.strip())]:
        held = await find_by_key(memory, app_name, namespace, key)
        if held is not None:
            return held
    if memory_id_in(text) is not None or "/" in text:
        raise NotFoundError(f"no memory {text[:100]!r}")
    raise WrongArgumentsError(
        [
            f"memory_id: {text[:100]!r} is not an id; take the id that retrieve_memories shows, or give namespace and"
            " key in its place"
        ]
    )


async def find_by_key(memory: Memory, app_name: str, namespace: str, key: str) -> Stored | None:
    """Return the memory with the category and key that tools use, or None."""
    places = [namespace_of(app_name, namespace)]
    if namespace == CONVERSATION:
        places.append(namespace_of(app_name))
    for place in places:
        try:
            stored = await memory.find(place, key)
        except ValidationFailedError:  # no memory has such a name
            continue
        if stored is not None and stored.metadata.get("adk_app") == app_name:
            return stored
    return None


async def forget_one(memory: Memory, app_name: str, held: Stored, *, hard: bool) -> None:
    if held.key is not None and held.namespace == namespace_of(app_name):  # an event; its session may be added again
        await _mark_known(memory, app_name, [held.key])
    await memory.forget(held.memory_id, hard=hard)


def _mark(app_name: str, event_id: str) -> GetItem:
    """Return the user's item that marks an event as known.

    Its name comes from earlier versions, which only marked deleted events.
    """
    return GetItem(namespace=("adk", _digest(app_name), "deleted"), key=_digest(event_id))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
