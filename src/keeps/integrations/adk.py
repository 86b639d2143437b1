"""Google's Agent Development Kit: a memory service, and tools that store, retrieve and delete.

    runner = Runner(agent=agent, app_name="concierge", memory_service=KeepsMemoryService(), …)

Whose memory it is comes from ADK's session: its user is the user in Keeps, its app is kept apart by the namespace. The
tenant comes from settings or the token. `adk web --memory_service_uri keeps:` works where `register()` was called, as
in a `services.py`, or with a `services.yaml` that names this class.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
except ImportError as error:
    raise ImportError("keeps.integrations.adk needs Google's ADK: pip install 'keeps[adk]'") from error

from google.adk.events.event import Event
from google.adk.sessions.session import Session

from keeps.engine import Keeps
from keeps.integrations.owners import Owners
from keeps_client.checked import validated
from keeps_client.errors import (
    ForbiddenError,
    KeepsError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.memory.whole import Memory
from keeps_client.models import Memory as Stored
from keeps_client.models import NewMemory
from keeps_client.models.recall import RELEVANCE_FLOOR

MOST_FOUND, AT_ONCE, INDEXED_AT_ONCE = 10, 200, 32
_PLAIN = re.compile(r"(?!sha-)[A-Za-z0-9_.:-]{1,40}")
_NOT_ALLOWED = (ForbiddenError, UnauthenticatedError)
"""Another user than the token's is an error, and no memory that is away."""
_EVERY_LIFE = {
    "OR": [{each: {"exists": there}} for each in ("deleted_at", "superseded_by") for there in (True, False)],
}


class KeepsMemoryService(BaseMemoryService):
    """Long-term memory of ADK's sessions.

    `keeps`: an open engine, the address of a server (with its `token`), or None for what the environment says; `uri` is
    the same behind a scheme, as ADK's command line gives it.
    `most`: how many entries a search gives; `min_relevance`: what is less relevant to the question is not given, so
    that a question about nothing finds nothing. Where memory is away a search finds nothing, and what could not be
    stored is logged and counted in `failures`: add the session again, and only what is missing is stored.
    """

    def __init__(
        self,
        keeps: Keeps | str | None = None,
        *,
        tenant_id: str | None = None,
        token: str | None = None,
        most: int = MOST_FOUND,
        min_relevance: float | None = RELEVANCE_FLOOR,
        uri: str | None = None,
        **_: Any,
    ) -> None:
        place = keeps if uri is None else uri.partition(":")[2]
        self._owners = Owners(None if place in ("", "//") else place, tenant_id=tenant_id, token=token)
        self._most = most
        self._min_relevance = min_relevance

    @property
    def failures(self) -> Mapping[str, int]:
        """How often memory was away, by what was asked of it."""
        return self._owners.failures

    async def close(self) -> None:
        """Let go of what was opened here."""
        await self._owners.close()

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what was said in a session. Again and again: what is known is known, what was deleted stays away."""
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
        """Store events with a text, each once. `custom_metadata` may hold `ttl_days`, `tags` and `importance`; the rest
        is stored as metadata."""
        said = {event.id: (event, text) for event in events if (text := _text_of(event))}
        chosen, rest = _settings(custom_metadata)

        def fields_of(event: Event, text: str) -> dict[str, Any]:
            return {
                "content": text,
                "kind": "episodic",
                "content_type": "message",
                "namespace": _namespace(app_name),
                "key": event.id,
                "session_id": session_id,
                "role": "user" if event.author == "user" else "assistant",
                "valid_from": datetime.fromtimestamp(event.timestamp, UTC),
                "metadata": {**rest, **_of_app(app_name), "speaker": (event.author or "")[:80]},
                **chosen,
            }

        async def store(memory: Memory) -> None:
            known = await _known(memory, app_name, user_id, list(said))
            new = (fields_of(event, text) for event_id, (event, text) in said.items() if event_id not in known)
            await _store(memory, self._valid("add_events_to_memory", new))

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
                    "namespace": _namespace(app_name),
                    "key": entry.id,
                    "valid_from": None if entry.timestamp is None else _moment(entry.timestamp),
                    "metadata": {**rest, **_of_app(app_name)}
                    | ({"speaker": entry.author[:80]} if entry.author else {}),
                    **chosen,
                }
            )
        valid = self._valid("add_memory", new)
        await self._written("add_memory", user_id, lambda memory: _store(memory, valid))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What speaks of the question, best first; nothing where memory is away."""
        if not query.strip():
            return SearchMemoryResponse()
        try:
            found = await self._owners.ask(
                user_id,
                lambda memory: memory.recall(
                    query[:10_000],
                    limit=self._most,
                    filters=_own(app_name, user_id),
                    min_relevance=self._min_relevance,
                ),
            )
        except _NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed("search_memory", error)
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry(hit.memory) for hit in found.hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory by the id that a search gave. An event that is deleted is not stored again. Raises
        NotFoundError."""
        if memory_id is None:
            raise ValidationFailedError("memory_id says which; to delete all of a user's, erase the user in Keeps")

        async def forget(memory: Memory) -> None:
            held = await _of_this_app(memory, app_name, memory_id)
            await _forget(memory, app_name, user_id, held, hard=False)

        await self._owners.ask(user_id, forget)

    def _valid(self, what: str, fields: Iterable[dict[str, Any]]) -> list[NewMemory]:
        """What can be stored; what cannot, such as a text that is too long, is reported, and costs no other."""
        found: list[NewMemory] = []
        for each in fields:
            try:
                found.append(validated(NewMemory, each))
            except ValidationFailedError as error:
                self._owners.failed(what, error)
        return found

    async def _written(self, what: str, user_id: str, work: Any) -> None:
        try:
            await self._owners.ask(user_id, work)
        except _NOT_ALLOWED:
            raise
        except KeepsError as error:
            self._owners.failed(what, error)


def register(scheme: str = "keeps") -> None:
    """Let `--memory_service_uri keeps:` name this service: `keeps:` as the environment says, `keeps:http://host:8765` a
    server."""
    from google.adk.cli.service_registry import get_service_registry

    def made(uri: str, **options: Any) -> KeepsMemoryService:
        options.pop("agents_dir", None)
        return KeepsMemoryService(uri=uri, **options)

    get_service_registry().register_memory_service(scheme, made)


class KeepsTools:
    """Tools by which a model stores, retrieves and deletes memories of the user that it talks to.

    agent = LlmAgent(tools=KeepsTools().tools, …)

    Whose they are is ADK's to say, never the model's. Where memory is away they answer in a sentence.
    """

    def __init__(
        self, keeps: Keeps | str | None = None, *, tenant_id: str | None = None, token: str | None = None
    ) -> None:
        self._owners = Owners(keeps, tenant_id=tenant_id, token=token)

    @property
    def tools(self) -> list[FunctionTool]:
        return [FunctionTool(each) for each in (self.store_memory, self.retrieve_memories, self.delete_memory)]

    async def close(self) -> None:
        """Let go of what was opened here."""
        await self._owners.close()

    async def store_memory(
        self,
        content: str,
        namespace: str,
        key: str,
        tool_context: ToolContext,
        tags: list[str] | None = None,
        importance: float = 0.5,
        ttl_days: float | None = None,
    ) -> str:
        """Remember something about the user for later conversations. The same namespace and key again replaces it.

        Args:
          content: What to remember, as a sentence.
          namespace: A category, such as preferences, facts or research.
          key: A short name within the category, such as citation_style.
          tags: Words to find it by.
          importance: From 0.0 to 1.0; what must never be forgotten is 0.9 or more.
          ttl_days: After so many days it is forgotten; leave it out to keep it.
        """
        app = tool_context.session.app_name

        async def store(memory: Memory) -> str:
            receipt = await memory.remember(
                content,
                namespace=_namespace(app, namespace),
                key=key,
                tags=tags or (),
                importance=importance,
                ttl_days=ttl_days,
                metadata={**_of_app(app), "namespace": namespace},
            )
            done = {"created": "Stored", "updated": "Replaced", "unchanged": "Known already"}
            return f"{done.get(receipt.status, 'Stored')}: {namespace}/{key} (id {receipt.memory_id})."

        return await self._answered("store_memory", tool_context, store)

    async def retrieve_memories(
        self,
        tool_context: ToolContext,
        query: str | None = None,
        namespace: str | None = None,
        tags: list[str] | None = None,
        all_tags: bool = False,
        min_importance: float = 0.0,
        limit: int = 10,
    ) -> str:
        """Find what is remembered about the user. Without a query: the most important first.

        Args:
          query: What to look for, as a question or words.
          namespace: Only of this category.
          tags: Only with one of these tags.
          all_tags: Only with all of these tags.
          min_importance: Only what is at least so important, from 0.0 to 1.0.
          limit: How many at most, 1 to 50.
        """
        app = tool_context.session.app_name

        async def find(memory: Memory) -> str:
            most = min(max(int(limit), 1), 50)
            conditions: list[dict[str, Any]] = [_own(app, tool_context.user_id)]
            if namespace is not None:
                conditions.append({"namespace": {"eq": _namespace(app, namespace)}})
            if tags:
                within = [{"tags": {"contains": each}} for each in tags]
                conditions.append({"AND" if all_tags else "OR": within})
            if min_importance > 0:
                conditions.append({"importance": {"gte": min_importance}})
            filters: Any = {"AND": conditions}
            if query and query.strip():
                asked = await memory.recall(query[:10_000], limit=most, filters=filters, min_relevance=RELEVANCE_FLOOR)
                found = [hit.memory for hit in asked.hits]
            else:
                found = list((await memory.list(filters=filters, order="importance", limit=most)).items)
            return "\n".join(map(_line, found)) or "Nothing is remembered that fits. It was looked up; there is none."

        return await self._answered("retrieve_memories", tool_context, find)

    async def delete_memory(
        self,
        tool_context: ToolContext,
        memory_id: str | None = None,
        namespace: str | None = None,
        key: str | None = None,
        hard_delete: bool = False,
    ) -> str:
        """Forget one memory, by its id or by its namespace and key.

        Args:
          memory_id: The id that retrieve_memories gave.
          namespace: With key, in place of the id.
          key: With namespace, in place of the id.
          hard_delete: Remove it for good. Otherwise it can be restored for 30 days.
        """
        app = tool_context.session.app_name

        async def forget(memory: Memory) -> str:
            if memory_id is not None:
                held = await _of_this_app(memory, app, memory_id)
            elif namespace is not None and key is not None:
                found = await memory.find(_namespace(app, namespace), key)
                if found is None:
                    raise NotFoundError(f"nothing is remembered under {namespace}/{key}")
                held = found
            else:
                return "Say which: give memory_id, or namespace and key. retrieve_memories shows them."
            await _forget(memory, app, tool_context.user_id, held, hard=hard_delete)
            return "Deleted for good." if hard_delete else "Deleted. It can be restored for 30 days."

        return await self._answered("delete_memory", tool_context, forget)

    async def _answered(self, what: str, context: ToolContext, work: Any) -> str:
        """A sentence that the model can act on, whatever happens."""
        try:
            return await self._owners.ask(context.user_id, work)
        except UnavailableError as error:
            self._owners.failed(what, error)
            return "Memory cannot be reached right now, so nothing was done. Go on without it, and try again later."
        except NotFoundError:
            return "There is no such memory. retrieve_memories shows what there is."
        except KeepsError as error:
            return f"That was not done: {error.detail}. Change it and call again."
        except (TypeError, ValueError):  # a model gives what it likes
            return "That was not done: an argument is of the wrong type. Change it and call again."


def _namespace(app_name: str, namespace: str | None = None) -> str:
    """Where memories of an app stand: no two names, however they are written, stand in the same place."""
    plain = _PLAIN.fullmatch(app_name)
    app = app_name if plain else f"sha-{_digest(app_name)}"
    return f"adk/{app}" if namespace is None else f"adk/{app}/{namespace}"


def _of_app(app_name: str) -> dict[str, Any]:
    return {"adk_app": app_name}


def _own(app_name: str, user_id: str) -> dict[str, Any]:
    """One's own in this app: what others of the tenant share is nothing that the user said."""
    return {"AND": [{"metadata.adk_app": {"eq": app_name}}, {"user_id": {"eq": user_id}}]}


def _text_of(event: Event) -> str:
    """What was said for others to hear: no thoughts, no parts of what is still being said."""
    return "" if event.partial else _said(event.content)


def _said(content: types.Content | None) -> str:
    parts = (content.parts if content is not None else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _settings(custom: Mapping[str, object] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Keeps knows by these names, and the rest, which is metadata."""
    given: dict[str, Any] = dict(custom or {})
    return {name: given.pop(name) for name in ("ttl_days", "tags", "importance") if name in given}, given


def _moment(text: str) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailedError(f"timestamp {text!r} is no ISO 8601 time") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def _entry(memory: Stored) -> MemoryEntry:
    role = "user" if memory.role == "user" else "model"
    speaker = memory.metadata.get("speaker")
    return MemoryEntry(
        id=str(memory.memory_id),
        author=str(speaker) if speaker else None,
        timestamp=memory.valid_from.isoformat(),
        content=types.Content(role=role, parts=[types.Part(text=memory.content)]),
        custom_metadata={name: value for name, value in memory.metadata.items() if name not in ("adk_app", "speaker")},
    )


def _line(memory: Stored) -> str:
    place = f"{memory.metadata.get('namespace', 'conversation')}/{memory.key}" if memory.key else "memory"
    tags = f", tags {', '.join(memory.tags)}" if memory.tags else ""
    content = " ".join(memory.content.split())
    return f"- {place}: {content} (importance {memory.importance:g}{tags}, id {memory.memory_id})"


async def _known(memory: Memory, app_name: str, user_id: str, event_ids: Sequence[str]) -> set[str]:
    """The events that are stored, or were and are deleted."""
    known: set[str] = set()
    cursor: str | None = None
    while event_ids:
        page = await memory.list_plan_state(_deleted(app_name, user_id), limit=100, cursor=cursor)
        known |= {each.key for each in page.items}
        cursor = page.next_cursor
        if cursor is None:
            break
    for start in range(0, len(event_ids), AT_ONCE):
        some = list(event_ids[start : start + AT_ONCE])
        filters: Any = {"AND": [{"namespace": {"eq": _namespace(app_name)}}, {"key": {"in": some}}, _EVERY_LIFE]}
        known |= {each.key or "" for each in (await memory.list(filters=filters, limit=AT_ONCE)).items}
    return known


async def _store(memory: Memory, new: Sequence[NewMemory]) -> None:
    for start in range(0, len(new), AT_ONCE):
        some = list(new[start : start + AT_ONCE])
        await memory.remember_many(some, index="now" if len(new) <= INDEXED_AT_ONCE else "later")


async def _of_this_app(memory: Memory, app_name: str, memory_id: str) -> Stored:
    """Raises NotFoundError, also for another app's."""
    try:
        held = await memory.get(UUID(memory_id))
    except ValueError:
        raise NotFoundError(f"no memory {memory_id!r}") from None
    if held.metadata.get("adk_app") != app_name or held.deleted_at is not None:
        raise NotFoundError(f"no memory {memory_id!r}")
    return held


async def _forget(memory: Memory, app_name: str, user_id: str, held: Stored, *, hard: bool) -> None:
    if held.key is not None and held.namespace == _namespace(app_name):  # an event: its session may be added again
        await memory.set_plan_state(_deleted(app_name, user_id), held.key, value=True)
    await memory.forget(held.memory_id, hard=hard)


def _deleted(app_name: str, user_id: str) -> str:
    """The plan whose keys are the events that were deleted: that is known longer than what they said."""
    return f"{_namespace(app_name)}/deleted/{_digest(user_id)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
