"""The database as providers: `postgres`, the memories; `vector`, their index; `graph`, the entities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import JsonValue

from keeps.base.scope import Scope
from keeps.memory.graph.service import GraphService
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.providers.contract import Filters, Match, text_of, writable_metadata
from keeps_client.checked import validated
from keeps_client.errors import ForbiddenError, NotFoundError
from keeps_client.models import Entity, Entry, Memory, NewEntity, NewMemory, ProviderCapabilities, RecallRequest
from keeps_client.models.common import MAX_LIMIT, NAME_PATTERN
from keeps_client.models.names import is_namespace
from keeps_client.validation import named

NAMESPACE = "memory"
"""Namespace of keys that name none."""
_ESCAPED_SLASH = re.compile(r"%(?:25)*2F")


def split_key(key: str) -> tuple[str, str]:
    """Return a provider's key as namespace and key: `notes/2026/plan` is `plan` in `notes/2026`. One to one."""
    namespace, slash, rest = key.rpartition("/")
    if not slash or not rest or namespace == NAMESPACE or not is_namespace(namespace):
        return NAMESPACE, key
    return namespace, rest.replace("%2F", "/").replace("%25", "%") if _ESCAPED_SLASH.search(rest) else rest


def joined_key(memory: Memory) -> str:
    """Return the key under which a provider knows a memory: its namespace and key, or else its id."""
    if memory.key is None or memory.namespace is None:
        return str(memory.memory_id)
    if memory.namespace == NAMESPACE:
        return memory.key
    # A slash inside the key itself is written as in a URL, or the key would seem to be of another namespace.
    escapes = "/" in memory.key or _ESCAPED_SLASH.search(memory.key)
    rest = memory.key.replace("%", "%25").replace("/", "%2F") if escapes else memory.key
    return f"{memory.namespace}/{rest}"


class PostgresProvider:
    """The user's own memories that have a key, as entries: durable, with an event for each write."""

    _capabilities = ProviderCapabilities(provider_id="postgres", tier="persistent")
    _scope_of_search: Literal["persistent", "indexed"] = "persistent"

    def __init__(self, scope: Scope, memories: MemoryService, recall: RecallService, indexer: Indexer) -> None:
        self._scope = scope
        self._memories = memories
        self._recall = recall
        self._indexer = indexer

    def capabilities(self) -> ProviderCapabilities:
        return self._capabilities

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        namespace, rest = split_key(named("key", key, 355))
        attributes = dict(metadata or {})
        kind = attributes.get("content_type", "fact")
        new = validated(
            NewMemory,
            {
                "namespace": namespace,
                "key": rest,
                "content": text_of(value) or "(empty)",
                "value": {"value": value},
                "metadata": attributes,
                "content_type": kind,
            },
        )
        await self._memories.remember(self._scope, new, index_now=True)

    async def read(self, key: str) -> Entry | None:
        found = await self._memories.find(self._scope, *split_key(key))
        return None if found is None or found.user_id != self._scope.user_id else entry_of(found)

    async def delete(self, key: str) -> bool:
        try:
            await self._memories.forget(self._scope, None, *split_key(key), hard=False)
        except NotFoundError:
            return False
        return True

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        wanted = Filters.of(filters)
        if not query.strip():
            return []
        own: dict[str, Any] = {"AND": [{"key": {"exists": True}}, {"user_id": {"eq": self._scope.user_id}}]}
        chosen = {
            "query": query[:10_000],
            "limit": MAX_LIMIT if filters else min(limit, MAX_LIMIT),
            "scope": self._scope_of_search,
            "filters": own,
        }
        request = validated(RecallRequest, chosen)
        found = await self._recall.recall(self._scope, request)
        matches = [Match(entry_of(hit.memory), hit.score) for hit in found.hits]
        return [each for each in matches if wanted.pass_by(each.entry)][:limit]

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        keys: list[str] = []
        cursor: str | None = None
        own: dict[str, Any] = {"AND": [{"key": {"exists": True}}, {"user_id": {"eq": self._scope.user_id}}]}
        while True:
            page = await self._memories.list(self._scope, filters=own, limit=MAX_LIMIT, cursor=cursor)
            keys += [joined_key(each) for each in page.items if wanted.pass_by(entry_of(each))]
            cursor = page.next_cursor
            if cursor is None:
                return sorted(keys)

    async def rebuild(self) -> int:
        """Return 0, since the memories are the source."""
        return 0

    async def close(self) -> None: ...


class VectorProvider(PostgresProvider):
    """The same memories searched by meaning: derived, so read-only, and can be rebuilt."""

    _capabilities = ProviderCapabilities(provider_id="vector", tier="indexed", read_only=True)
    _scope_of_search = "indexed"

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:  # noqa: ARG002
        raise ForbiddenError("the vector index is derived; write to postgres")

    async def delete(self, key: str) -> bool:  # noqa: ARG002
        return False

    async def rebuild(self) -> int:
        """Drop the user's own vectors and compute them again. Meanwhile memories are found by their words."""
        return await self._indexer.rebuild(self._scope)


class GraphProvider:
    """Entities as entries: the key is `type/name`, the value their properties."""

    _capabilities = ProviderCapabilities(
        provider_id="graph", tier="persistent", supports_graph=True, content_types=("entity",)
    )

    def __init__(self, scope: Scope, graph: GraphService) -> None:
        self._scope = scope
        self._graph = graph

    def capabilities(self) -> ProviderCapabilities:
        return self._capabilities

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Store the value as the properties; one that is not an object is stored under `value`."""
        kind, name = _entity_key(named("key", key, 355))
        writable_metadata(self._capabilities, metadata)
        properties: dict[str, JsonValue] = {"value": value, "metadata": dict(metadata or {})}
        new = validated(NewEntity, {"name": name, "entity_type": kind, "properties": properties})
        await self._graph.add_entity(self._scope, new)

    async def read(self, key: str) -> Entry | None:
        found = await self._find(key)
        return None if found is None else _entity_entry(found)

    async def delete(self, key: str) -> bool:
        found = await self._find(key)
        if found is not None:
            await self._graph.delete_entity(self._scope, found.entity_id, hard=False)
        return found is not None

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        """Return the entities whose name, alias or properties contain words of the query, those with most first."""
        wanted = Filters.of(filters)
        words = set(query.casefold().split())
        matches: list[Match] = []
        for entity in await self._own():
            entry = _entity_entry(entity)
            held = set(
                f"{entity.name} {' '.join(entity.aliases)} {text_of(entry.value)}".casefold().replace(".", " ").split()
            )
            if (shared := len(words & held)) and wanted.pass_by(entry):
                matches.append(Match(entry, shared / len(words)))
        return sorted(matches, key=lambda each: (-each.score, each.entry.key))[:limit]

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        entries = [_entity_entry(each) for each in await self._own()]
        return sorted(each.key for each in entries if wanted.pass_by(each))

    async def rebuild(self) -> int:
        return 0

    async def close(self) -> None: ...

    async def _find(self, key: str) -> Entity | None:
        kind, name = _entity_key(key)
        page = await self._graph.page(self._scope, name=name, entity_type=kind, limit=MAX_LIMIT, cursor=None)
        return next((each for each in page.items if each.user_id == self._scope.user_id), None)

    async def _own(self) -> list[Entity]:
        entities: list[Entity] = []
        cursor: str | None = None
        while True:
            page = await self._graph.page(self._scope, name=None, entity_type=None, limit=MAX_LIMIT, cursor=cursor)
            entities += [each for each in page.items if each.user_id == self._scope.user_id]
            cursor = page.next_cursor
            if cursor is None:
                return entities


def entry_of(memory: Memory) -> Entry:
    """Return a memory as a provider's entry."""
    wrapped = memory.value
    value: JsonValue = wrapped["value"] if isinstance(wrapped, dict) and set(wrapped) == {"value"} else memory.content
    metadata: dict[str, JsonValue] = {**memory.metadata, "content_type": memory.content_type}
    return Entry(key=joined_key(memory), value=value, metadata=metadata, updated_at=memory.updated_at)


def _entity_key(key: str) -> tuple[str, str]:
    kind, slash, name = key.partition("/")
    return (kind, name) if slash and name and len(kind) <= 100 and re.fullmatch(NAME_PATTERN, kind) else ("custom", key)


def _entity_entry(entity: Entity) -> Entry:
    known = entity.properties
    value: JsonValue = known.get("value", known)
    metadata = known.get("metadata")
    key = entity.name if entity.entity_type == "custom" else f"{entity.entity_type}/{entity.name}"
    return Entry(
        key=key,
        value=value,
        metadata={**(metadata if isinstance(metadata, dict) else {}), "content_type": "entity"},
        updated_at=entity.updated_at,
    )
