"""The memory of one scope: the methods that the SDK's `MemoryClient` has, too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from keeps.scoped_graph import ScopedGraph
from keeps.scoped_layers import ScopedLayers
from keeps.scoped_log import ScopedLog
from keeps.scoped_providers import ScopedProviders
from keeps.scoped_state import ScopedState
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    Event,
    Filters,
    Memory,
    MemoryChange,
    NewMemory,
    Page,
    RecallRequest,
    RecallResult,
    Receipt,
)
from keeps_client.models.memories import Kind, Layer, MemoryOrder, ProcedureType, Role, Visibility
from keeps_client.models.recall import RecallScope
from keeps_client.validation import Index, as_uuid, index_now, listed, moment, named, validated, version

MANY = 64


class ScopedMemory(ScopedState, ScopedGraph, ScopedProviders, ScopedLog, ScopedLayers):
    """The memory of one scope. The same methods as the SDK's `MemoryClient`."""

    async def remember(
        self,
        content: str,
        *,
        kind: Kind = "semantic",
        content_type: str = "fact",
        namespace: str | None = None,
        key: str | None = None,
        value: Any = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        metadata: dict[str, Any] | None = None,
        visibility: Visibility = "private",
        source: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        ttl_days: float | None = None,
        expires_at: datetime | None = None,
        valid_from: datetime | None = None,
        role: Role | None = None,
        trigger_condition: str | None = None,
        procedure_type: ProcedureType | None = None,
        infer: bool = False,
        index: Index = "now",
        if_version: int | None = None,
    ) -> Receipt:
        """Store one memory; returns when it is committed.

        The same content again is `unchanged`; the same namespace and key is `updated`, and the old truth stays
        readable with `recall(include_superseded=True)` or `recall(as_of=…)`. `index="later"` leaves the vector to the
        background, as does a model that is away; until then the memory is found by its words. `infer` is refused: facts are read in conversations (`store_exchange`).
        Raises ValidationFailedError (nothing is stored), ConflictError (`if_version`), UnavailableError.
        """
        if infer:
            raise ValidationFailedError(
                "infer=True is not possible for a single memory; store_exchange reads facts in what is said, with an LLM where there is one"
            )
        offered = {
            "kind": (kind, "semantic"), "content_type": (content_type, "fact"), "namespace": (namespace, None), "key": (key, None),
            "value": (value, None), "tags": (listed(tags), ()), "importance": (importance, None), "metadata": (metadata, None),
            "visibility": (visibility, "private"), "source": (source, None), "agent_id": (agent_id, None), "session_id": (session_id, None),
            "ttl_days": (ttl_days, None), "expires_at": (expires_at, None), "valid_from": (valid_from, None), "role": (role, None),
            "trigger_condition": (trigger_condition, None), "procedure_type": (procedure_type, None), "if_version": (if_version, None),
        }  # fmt: skip
        chosen = {
            name: value for name, (value, default) in offered.items() if value is not default and value != default
        }
        return await self.remember_new(validated(NewMemory, {"content": content, **chosen}), index=index)

    async def remember_new(self, new: NewMemory, *, index: Index = "now") -> Receipt:
        """The same, of a NewMemory."""
        return await self.services.memories.remember(self.scope, new, index_now=index_now(index))

    async def remember_many(
        self, items: Sequence[NewMemory | dict[str, Any]], *, index: Index | None = None
    ) -> list[Receipt]:
        """Store up to 1,000 memories in one transaction, or none; one receipt for each, in order.

        `index`: "later" leaves the vectors to the background, the default for more than 64 items.
        """
        if not isinstance(items, list | tuple):
            raise ValidationFailedError("items must be a list of NewMemory")
        news: list[NewMemory] = [
            item if isinstance(item, NewMemory) else validated(NewMemory, item, where=f"item {position}: ")
            for position, item in enumerate(items)
        ]
        soon = index_now(index) if index is not None else len(news) <= MANY
        return await self.services.memories.remember_many(self.scope, news, index_now=soon)

    async def get(self, memory_id: UUID | str, *, as_of: datetime | None = None) -> Memory:
        """One memory by id, also a forgotten or superseded one; with `as_of`, as it was known then. Raises NotFoundError,
        for someone else's, too."""
        return await self.services.memories.get(self.scope, as_uuid(memory_id), as_of=moment(as_of))

    async def find(self, namespace: str, key: str) -> Memory | None:
        """The current memory of a key, or None."""
        return await self.services.memories.find(self.scope, named("namespace", namespace), named("key", key))

    async def list(
        self,
        *,
        filters: Filters | None = None,
        order: MemoryOrder = "created",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """Memories a page at a time: pass `next_cursor`, with the same `order`, on for the next.

        `order`: `created` (newest first), `importance` (highest first), `recency` (last changed first), or `name`
        (by namespace and key; what has no key comes last).
        """
        start = None if cursor is None else named("cursor", cursor)
        return await self.services.memories.list(self.scope, filters=filters, order=order, limit=limit, cursor=start)

    async def update(
        self, memory_id: UUID | str, *, if_version: int | None = None, index: Index = "now", **changes: Any
    ) -> Receipt:
        """Change the named fields (those of MemoryChange). New content supersedes the old, which stays readable."""
        return await self.change(memory_id, validated(MemoryChange, changes), if_version=if_version, index=index)

    async def change(
        self, memory_id: UUID | str, change: MemoryChange, *, if_version: int | None = None, index: Index = "now"
    ) -> Receipt:
        """The same, of a MemoryChange."""
        return await self.services.memories.update(
            self.scope, as_uuid(memory_id), change, if_version=version(if_version), index_now=index_now(index)
        )

    async def forget(
        self,
        memory_id: UUID | str | None = None,
        *,
        namespace: str | None = None,
        key: str | None = None,
        hard: bool = False,
    ) -> Receipt:
        """Forget by id or by key: hidden at once, restorable for 30 days. `hard` removes it, its older truths, their
        vectors and the contents of their events now, for good."""
        if hard not in (True, False):
            raise ValidationFailedError("hard must be true or false")
        wanted = None if memory_id is None else as_uuid(memory_id)
        place = (
            None if namespace is None else named("namespace", namespace),
            None if key is None else named("key", key),
        )
        return await self.services.forgetting.forget(self.scope, wanted, *place, hard=hard)

    async def restore(self, memory_id: UUID | str) -> Receipt:
        """Bring back what was forgotten less than 30 days ago."""
        return await self.services.memories.restore(self.scope, as_uuid(memory_id))

    async def history(self, memory_id: UUID | str) -> list[Event]:
        """The events of one memory, oldest first."""
        return await self.services.memories.history(self.scope, as_uuid(memory_id))

    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Sequence[Kind] | None = None,
        layers: Sequence[Layer] | None = None,
        content_types: Sequence[str] | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        namespace: str | None = None,
        tags: Sequence[str] | None = None,
        tags_match: Literal["any", "all"] = "any",
        filters: Filters | None = None,
        min_importance: float | None = None,
        min_relevance: float | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        scope: RecallScope = "all",
        providers: Sequence[str] | None = None,
        include_archived: bool = False,
        include_superseded: bool = False,
        rerank: bool | None = None,
        explain: bool = False,
    ) -> RecallResult:
        """The memories that best answer `query`, best first: what is true now, unless you ask otherwise.

        `since` and `until` bound when a memory began to be true. `as_of` asks what was true and known then, with what was changed
        or forgotten since; `valid_at` what was true then, as it is known now. `rerank=False` leaves out the late-interaction stage. `explain` adds to each hit every number that went into its score. Raises ValidationFailedError for unknown fields in `filters`.
        """
        arguments = {
            "query": query, "limit": limit, "kinds": listed(kinds), "layers": listed(layers), "content_types": listed(content_types),
            "agent_id": agent_id, "session_id": session_id, "namespace": namespace, "tags": listed(tags), "tags_match": tags_match,
            "filters": filters, "min_importance": min_importance, "min_relevance": min_relevance, "since": since, "until": until, "as_of": as_of, "valid_at": valid_at, "scope": scope,
            "providers": listed(providers), "include_archived": include_archived, "include_superseded": include_superseded,
            "rerank": rerank, "explain": explain,
        }  # fmt: skip
        return await self.ask(validated(RecallRequest, arguments))

    async def ask(self, request: RecallRequest) -> RecallResult:
        """The same, of a RecallRequest."""
        return await self.services.providers.recall(self.scope, request)
