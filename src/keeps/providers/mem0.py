"""mem0 as a provider, around a `mem0.Memory` of yours: `Keeps.open(providers={"mem0": mem0_provider(client)})`.

mem0 identifies users by a string. Keeps passes the JSON of tenant and user, so no two scopes share one, whatever
characters their names contain. Entries are stored as they are (`infer=False`): the caller extracts statements.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol, cast

from pydantic import JsonValue

from keeps.base.scope import Scope
from keeps.providers.contract import Filters, Match, MemoryProvider, ProviderContext, ProviderFactory, text_of
from keeps_client.checked import validated
from keeps_client.models import Entry, NewEntry, ProviderCapabilities
from keeps_client.validation import named

MAX_ENTRIES = 10_000
_CAPABILITIES = ProviderCapabilities(provider_id="mem0", tier="persistent")


class Mem0Client(Protocol):
    """The part of `mem0.Memory` that is used; it blocks, so it is called in threads."""

    def add(self, messages: object, *, user_id: str, metadata: Mapping[str, object], infer: bool) -> Any: ...
    def get_all(self, *, user_id: str, limit: int) -> Any: ...
    def search(self, query: str, *, user_id: str, limit: int) -> Any: ...
    def delete(self, memory_id: str) -> Any: ...


def mem0_provider(client: Mem0Client) -> ProviderFactory:
    """Return a factory for `Keeps.open(providers=…)`. One client serves all scopes."""
    turn = asyncio.Lock()

    def make(context: ProviderContext) -> MemoryProvider:
        return Mem0Provider(client, context.scope, turn)

    return make


class Mem0Provider:
    """One scope's entries in mem0.

    mem0 has no keys, so `turn` excludes other writers while a key's old entry is replaced.
    """

    def __init__(self, client: Mem0Client, scope: Scope, turn: asyncio.Lock) -> None:
        self._client = client
        self._owner = json.dumps([scope.tenant_id, scope.user_id])
        self._turn = turn

    def capabilities(self) -> ProviderCapabilities:
        return _CAPABILITIES

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        new = validated(NewEntry, {"value": value, "metadata": dict(metadata or {})})
        name = named("key", key, 355)
        tagged = {"keeps": json.dumps({"key": name, "value": new.value, "metadata": new.metadata})}
        messages = [{"role": "user", "content": text_of(new.value) or name}]
        async with self._turn:
            before = await self._held(name)
            await asyncio.to_thread(self._client.add, messages, user_id=self._owner, metadata=tagged, infer=False)
            for identity, _ in before:
                await asyncio.to_thread(self._client.delete, identity)

    async def read(self, key: str) -> Entry | None:
        held = await self._held(key)
        return held[-1][1] if held else None

    async def delete(self, key: str) -> bool:
        async with self._turn:
            held = await self._held(key)
            for identity, _ in held:
                await asyncio.to_thread(self._client.delete, identity)
        return bool(held)

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        wanted = Filters.of(filters)
        if not query.strip():
            return []
        asked = limit if filters is None else MAX_ENTRIES
        answer = await asyncio.to_thread(self._client.search, query[:10_000], user_id=self._owner, limit=asked)
        found = [(_entry(each), float(each.get("score") or 0.0)) for each in _results(answer)]
        matches = [Match(entry, score) for entry, score in found if entry is not None and wanted.pass_by(entry)]
        return matches[:limit]

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        return sorted(entry.key for _, entry in await self._held(None) if wanted.pass_by(entry))

    async def rebuild(self) -> int:
        return 0

    async def close(self) -> None: ...

    async def _held(self, key: str | None) -> list[tuple[str, Entry]]:
        """Return the ids and entries of a key, or of all."""
        answer = await asyncio.to_thread(self._client.get_all, user_id=self._owner, limit=MAX_ENTRIES)
        found = [(str(each["id"]), _entry(each)) for each in _results(answer)]
        return [(identity, entry) for identity, entry in found if entry is not None and key in (None, entry.key)]


def _results(answer: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", answer["results"] if isinstance(answer, dict) else answer)


def _entry(stored: dict[str, Any]) -> Entry | None:
    """Return an entry stored in mem0; None for one that Keeps did not store."""
    try:
        record: dict[str, Any] = json.loads((stored.get("metadata") or {})["keeps"])
    except (KeyError, ValueError, TypeError):
        return None
    moment = stored.get("updated_at") or stored.get("created_at")
    return Entry(
        key=record["key"],
        value=record["value"],
        metadata=record["metadata"],
        updated_at=datetime.fromisoformat(moment) if isinstance(moment, str) else None,
    )
