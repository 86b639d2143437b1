"""The result of `memory.provider()` for a provider of another package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from pydantic import JsonValue

from keeps.base.scope import Scope
from keeps.memory.providers.calls import ProviderCalls
from keeps.providers.contract import Match, MemoryProvider
from keeps_client.models import Entry, ProviderCapabilities

ResultT = TypeVar("ResultT")


class EntryWriter(Protocol):
    """Writes entries and logs each write."""

    async def store(
        self, scope: Scope, provider_id: str, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None
    ) -> None: ...

    async def remove(self, scope: Scope, provider_id: str, key: str) -> bool: ...


class ProviderHandle:
    """One provider of another package, for one scope: each call is guarded, and each write is logged."""

    def __init__(
        self, writer: EntryWriter, calls: ProviderCalls, scope: Scope, capabilities: ProviderCapabilities
    ) -> None:
        self._writer = writer
        self._calls = calls
        self._scope = scope
        self._capabilities = capabilities
        self._provider_id = capabilities.provider_id

    def capabilities(self) -> ProviderCapabilities:
        return self._capabilities

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        await self._writer.store(self._scope, self._provider_id, key, value, metadata)

    async def read(self, key: str) -> Entry | None:
        return await self._call(lambda held: held.read(key))

    async def delete(self, key: str) -> bool:
        return await self._writer.remove(self._scope, self._provider_id, key)

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        return await self._call(lambda held: held.search(query, filters, limit))

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        return await self._call(lambda held: held.list_keys(filters))

    async def rebuild(self) -> int:
        return await self._calls.rebuild(self._scope, self._provider_id)

    async def close(self) -> None:
        """Close the provider's object for this scope; the next call makes it again."""
        await self._call(lambda held: held.close())

    async def _call(self, work: Callable[[MemoryProvider], Awaitable[ResultT]]) -> ResultT:
        return await self._calls.call(self._scope, self._provider_id, work)
