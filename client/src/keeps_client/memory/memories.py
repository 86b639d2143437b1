"""Memories: remember, get, find, list, update, forget, restore, history, recall."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from keeps_client.checked import validated
from keeps_client.endpoint import is_default
from keeps_client.errors import ValidationFailedError
from keeps_client.memory.base import Doing
from keeps_client.models import Event, Filters, KeysChanged, Memory, NewMemory, Page, RecallResult, Receipt
from keeps_client.models.common import MAX_BATCH_ITEMS
from keeps_client.models.memories import (
    FORGET_KEY,
    FORGET_KEYS,
    FORGET_MEMORY,
    GET_HISTORY,
    GET_MEMORY,
    LIST_MEMORIES,
    MOVE_KEYS,
    REMEMBER,
    REMEMBER_MANY,
    RESTORE_MEMORY,
    UPDATE_MEMORY,
    Kind,
    Layer,
    Learn,
    MemoryOrder,
    ProcedureType,
    Role,
    Visibility,
)
from keeps_client.models.names import Trust
from keeps_client.models.recall import RECALL, RecallScope
from keeps_client.validation import Index

MANY = 64
"""Number of items up to which vectors are computed at once; for more, the index computes them later."""


class Memories(Doing):
    """Methods for memories."""

    async def remember(
        self,
        content: str,
        *,
        kind: Kind = "semantic",
        content_type: str = "fact",
        namespace: str | None = None,
        key: str | None = None,
        value: object = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
        metadata: Mapping[str, object] | None = None,
        visibility: Visibility = "private",
        space: str | None = None,
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
        """Store one memory; return when it is committed.

        The same content again is `unchanged`; the same namespace and key is `updated`, and the old version stays
        readable with `recall(include_superseded=True)` or `recall(as_of=…)`. `index="later"` computes the vector in the
        background, as does an unavailable model; until then recall matches its words only. `infer` is refused:
        `store_exchange` extracts facts. `space`: store it in this space, for its members.

        Raises ValidationFailedError (nothing is stored), ConflictError (`if_version`), UnavailableError.
        """
        if infer:
            raise ValidationFailedError(
                "infer=True does not apply to a single memory; store_exchange extracts facts from messages, with an"
                " LLM if one is configured"
            )
        named: dict[str, Any] = {
            "kind": kind,
            "content_type": content_type,
            "namespace": namespace,
            "key": key,
            "value": value,
            "tags": tags,
            "importance": importance,
            "metadata": metadata,
            "visibility": visibility,
            "space": space,
            "source": source,
            "agent_id": agent_id,
            "session_id": session_id,
            "ttl_days": ttl_days,
            "expires_at": expires_at,
            "valid_from": valid_from,
            "role": role,
            "trigger_condition": trigger_condition,
            "procedure_type": procedure_type,
            "if_version": if_version,
        }
        # Fields not given keep their stored values.
        given = {name: value for name, value in named.items() if not is_default(NewMemory, name, value)}
        if metadata is not None:
            given["metadata"] = metadata
        return await self._do(REMEMBER, content=content, index=index, **given)

    async def remember_many(
        self,
        items: Sequence[NewMemory | Mapping[str, object]],
        *,
        index: Index | None = None,
        learn: Learn | None = None,
    ) -> builtins.list[Receipt]:
        """Store up to 1,000 memories in one transaction, or none; return one receipt for each, in order.

        `index`: "later" computes the vectors in the background, the default for more than 64 items.
        `learn`: "facts" also stores what the user's messages state, in any order of their times; "user_facts" only
        facts about the user. The receipts of facts come after those of the items.
        """
        if not isinstance(items, list | tuple):
            raise ValidationFailedError("items must be a list of NewMemory")
        news = [
            item if isinstance(item, NewMemory) else validated(NewMemory, item, where=f"item {position}: ")
            for position, item in enumerate(items)
        ]
        if not news:
            return []
        if len(news) > MAX_BATCH_ITEMS:
            raise ValidationFailedError(
                f"a batch has at most {MAX_BATCH_ITEMS:,} items, and this one has {len(news):,}; split it"
            )
        soon: Index = "now" if len(news) <= MANY else "later"
        return await self._do(REMEMBER_MANY, items=news, index=soon if index is None else index, learn=learn)

    async def get(self, memory_id: UUID | str, *, as_of: datetime | None = None) -> Memory:
        """Return one memory by id, also a forgotten or superseded one; with `as_of`, as stored then. Raises
        NotFoundError, also for another user's memory.
        """
        return await self._do(GET_MEMORY, memory_id=memory_id, as_of=as_of)

    async def find(self, namespace: str, key: str) -> Memory | None:
        """Return the current memory of a key, or None."""
        page = await self._do(LIST_MEMORIES, namespace=namespace, key=key)
        return page.items[0] if page.items else None

    async def list(
        self,
        *,
        filters: Filters | None = None,
        order: MemoryOrder = "created",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """Return memories a page at a time: pass `next_cursor`, with the same `order`, for the next.

        `order`: `created` (newest first), `importance` (highest first), `recency` (last changed first), or `name` (by
        namespace and key; memories without a key come last).
        """
        return await self._do(LIST_MEMORIES, filters=filters, order=order, limit=limit, cursor=cursor)

    async def update(
        self, memory_id: UUID | str, *, if_version: int | None = None, index: Index = "now", **changes: Any
    ) -> Receipt:
        """Change the given fields (those of MemoryChange). New content supersedes the old, which stays readable."""
        return await self._do(UPDATE_MEMORY, memory_id=memory_id, if_version=if_version, index=index, body=changes)

    async def forget(
        self,
        memory_id: UUID | str | None = None,
        *,
        namespace: str | None = None,
        key: str | None = None,
        hard: bool = False,
        if_version: int | None = None,
    ) -> Receipt:
        """Forget a memory by id or by key: it is hidden immediately, and can be restored for 30 days.

        `hard` permanently removes it, its older versions, their vectors and the contents of their events. Raises
        ConflictError (`if_version`), and UnavailableError if a provider may still have it: nothing is forgotten unless
        all providers can forget it.
        """
        if memory_id is not None:
            return await self._do(FORGET_MEMORY, memory_id=memory_id, hard=hard, if_version=if_version)
        if namespace is None or key is None:
            raise ValidationFailedError("name the memory to forget: a memory_id, or a namespace and a key")
        return await self._do(FORGET_KEY, namespace=namespace, key=key, hard=hard, if_version=if_version)

    async def move_keys(self, namespace: str, key: str, to: str) -> KeysChanged:
        """Move a key, and all keys below it (`key/…`), with their older versions, all or none.

        Raises NotFoundError, and ConflictError if the target is occupied.
        """
        return await self._do(MOVE_KEYS, namespace=namespace, key=key, to=to)

    async def forget_keys(self, namespace: str, key: str, *, hard: bool = False) -> KeysChanged:
        """Forget the memories of a key and all keys below it (`key/…`), all or none.

        Raises NotFoundError.
        """
        return await self._do(FORGET_KEYS, namespace=namespace, key=key, hard=hard)

    async def restore(self, memory_id: UUID | str) -> Receipt:
        """Restore a memory that was forgotten less than 30 days ago."""
        return await self._do(RESTORE_MEMORY, memory_id=memory_id)

    async def history(self, memory_id: UUID | str) -> builtins.list[Event]:
        """Return the events of one memory, oldest first; of more than a thousand, the newest."""
        return await self._do(GET_HISTORY, memory_id=memory_id)

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
        min_trust: Trust | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        scope: RecallScope = "all",
        spaces: Sequence[str] | None = None,
        providers: Sequence[str] | None = None,
        include_archived: bool | None = None,
        include_superseded: bool = False,
        timezone: str | None = None,
        rerank: bool | None = None,
        explain: bool = False,
    ) -> RecallResult:
        """Return the memories that best answer `query`, best first: by default those that are true now.

        `since` and `until` limit the time at which a memory became true. `as_of` returns memories as stored then,
        including those changed or forgotten since; `valid_at` returns memories that were true then, as stored now.
        `spaces`: search only these spaces beside your own and shared memories; by default all that you are a member of.
        `min_trust` returns only memories of this level of trust or above: user, agent, shared, document or tool.
        `timezone`: the time zone of dates in the question. `rerank=False` omits late interaction and the reranker.
        `explain` adds the parts of each hit's score. Raises ValidationFailedError for unknown fields in `filters`.
        """
        return await self._do(
            RECALL,
            query=query,
            limit=limit,
            kinds=kinds,
            layers=layers,
            content_types=content_types,
            agent_id=agent_id,
            session_id=session_id,
            namespace=namespace,
            tags=tags,
            tags_match=tags_match,
            filters=filters,
            min_importance=min_importance,
            min_relevance=min_relevance,
            min_trust=min_trust,
            since=since,
            until=until,
            as_of=as_of,
            valid_at=valid_at,
            scope=scope,
            spaces=spaces,
            providers=providers,
            include_archived=include_archived,
            include_superseded=include_superseded,
            timezone=timezone,
            rerank=rerank,
            explain=explain,
        )

    async def get_relevant_memories_for_query(
        self, query: str, *, max_memories: int = 5, min_importance: float = 0.45
    ) -> builtins.list[Memory]:
        """Return the most important lasting memories for a question, best first.

        `min_importance` is their minimum importance; 0.45 is the estimate for an ordinary statement.
        """
        wanted = {"layers": ("long_term",), "min_importance": min_importance}
        found = await self._do(RECALL, query=query, limit=max_memories, **wanted)
        return [hit.memory for hit in found.hits]
