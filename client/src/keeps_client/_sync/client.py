# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""Keeps over HTTP: the methods that the engine has in process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import TypeAdapter

from keeps_client._requests import call, parsed
from keeps_client._sync.admin import AdminClient
from keeps_client._sync.graph import GraphClient
from keeps_client._sync.layers import LayersClient
from keeps_client._sync.log import LogClient
from keeps_client._sync.providers import ProviderClient
from keeps_client._sync.state import StateClient
from keeps_client._sync.transport import Transport
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
from keeps_client.validation import Index, as_uuid, index_now, limited, listed, moment, named, validated, version

MANY = 64
RECEIPT, RECEIPTS, RESULT = TypeAdapter(Receipt), TypeAdapter(list[Receipt]), TypeAdapter(RecallResult)
MEMORY, MEMORIES, EVENTS = TypeAdapter(Memory), TypeAdapter(Page[Memory]), TypeAdapter(list[Event])


class MemoryClient(StateClient, GraphClient, ProviderClient, LogClient, LayersClient):
    """The memory of whoever the token names, at a Keeps server.

    with MemoryClient("http://127.0.0.1:8765", token="…") as memory:
        memory.remember("Alice is allergic to peanuts.")

    `token` is a JWT or an API key. Without one, `tenant_id`, `user_id` and `agent_id` say who asks, which only a server
    with KEEPS_AUTH=none believes (`user_id` also goes with an API key that may act for any user). Calls are sent again where nothing answered
    or the server asked to wait; writes carry an Idempotency-Key, so that this does nothing twice. Connections stay open
    until `close`.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8765",
        *,
        token: str | None = None,
        tenant_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        timeout_seconds: float = 30.0,
        max_connections: int = 100,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValidationFailedError(f"{base_url!r} is no URL of a server; write http://host:port")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for name, value in (("X-Tenant-ID", tenant_id), ("X-User-ID", user_id), ("X-Agent-ID", agent_id)):
            if value is not None:
                headers[name] = named(name, value, 255)
        if any("\n" in value or "\r" in value or not value.isascii() for value in headers.values()):
            raise ValidationFailedError("tokens and ids in headers must be ASCII without line breaks")
        super().__init__(Transport(base_url.rstrip("/"), headers, timeout_seconds, max_connections))
        self.admin = AdminClient(self._transport)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """A client from KEEPS_URL, KEEPS_TOKEN (a JWT or an API key), KEEPS_TENANT_ID, KEEPS_USER_ID, KEEPS_AGENT_ID."""
        given = os.environ if environment is None else environment
        return cls(
            given.get("KEEPS_URL") or "http://127.0.0.1:8765",
            token=given.get("KEEPS_TOKEN") or None,
            tenant_id=given.get("KEEPS_TENANT_ID") or None,
            user_id=given.get("KEEPS_USER_ID") or None,
            agent_id=given.get("KEEPS_AGENT_ID") or None,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def remember(
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
        new = validated(NewMemory, {"content": content, **chosen})
        return self._remember(new, index)

    def remember_many(
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
        if not news:
            return []
        soon = index_now(index) if index is not None else len(news) <= MANY
        body = {
            "items": [each.model_dump(mode="json", exclude_unset=True) for each in news],
            "index": "now" if soon else "later",
        }
        return parsed(RECEIPTS, self._transport.send(call("POST", "memories", "batch", body=body)))

    def get(self, memory_id: UUID | str, *, as_of: datetime | None = None) -> Memory:
        """One memory by id, also a forgotten or superseded one; with `as_of`, as it was known then. Raises NotFoundError,
        for someone else's, too."""
        wanted = call("GET", "memories", str(as_uuid(memory_id)), query={"as_of": moment(as_of)})
        return parsed(MEMORY, self._transport.send(wanted))

    def find(self, namespace: str, key: str) -> Memory | None:
        """The current memory of a key, or None."""
        wanted = {"namespace": named("namespace", namespace), "key": named("key", key)}
        page = parsed(MEMORIES, self._transport.send(call("GET", "memories", query=wanted)))
        return page.items[0] if page.items else None

    def list(
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
        wanted = {"filters": filters, "order": order, "limit": limited(limit), "cursor": cursor}
        return parsed(MEMORIES, self._transport.send(call("GET", "memories", query=wanted)))

    def update(
        self, memory_id: UUID | str, *, if_version: int | None = None, index: Index = "now", **changes: Any
    ) -> Receipt:
        """Change the named fields (those of MemoryChange). New content supersedes the old, which stays readable."""
        change = validated(MemoryChange, changes)
        query = {"index": "now" if index_now(index) else "later"}
        wanted = call(
            "PATCH", "memories", str(as_uuid(memory_id)), query=query, body=change, if_version=version(if_version)
        )
        return parsed(RECEIPT, self._transport.send(wanted))

    def forget(
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
        if memory_id is not None:
            wanted = call("DELETE", "memories", str(as_uuid(memory_id)), query={"hard": hard})
        elif namespace is not None and key is not None:
            query = {"namespace": named("namespace", namespace), "key": named("key", key), "hard": hard}
            wanted = call("DELETE", "memories", query=query)
        else:
            raise ValidationFailedError("say what to forget: a memory_id, or a namespace and a key")
        return parsed(RECEIPT, self._transport.send(wanted))

    def restore(self, memory_id: UUID | str) -> Receipt:
        """Bring back what was forgotten less than 30 days ago."""
        return parsed(RECEIPT, self._transport.send(call("POST", "memories", str(as_uuid(memory_id)), "restore")))

    def history(self, memory_id: UUID | str) -> list[Event]:
        """The events of one memory, oldest first."""
        return parsed(EVENTS, self._transport.send(call("GET", "memories", str(as_uuid(memory_id)), "history")))

    def recall(
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
        wanted = {name: value for name, value in arguments.items() if value is not None}
        request = validated(RecallRequest, wanted)
        return parsed(RESULT, self._transport.send(call("POST", "recall", body=request)))

    def _remember(self, new: NewMemory, index: Index) -> Receipt:
        query = {"index": "now" if index_now(index) else "later"}
        return parsed(RECEIPT, self._transport.send(call("POST", "memories", query=query, body=new)))
