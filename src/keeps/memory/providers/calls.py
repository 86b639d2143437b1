"""Calls to providers, with time limits, circuit breakers and named faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.memory.providers.foreign import ProviderFailedError
from keeps.memory.providers.registry import Registry
from keeps.providers.contract import MemoryProvider
from keeps_client.models import ProviderCapabilities

TIMEOUT_SECONDS = 1.0
DIRECT_FACTOR = 5
"""Time limit of a direct call to one provider, as a multiple of its part of a recall."""
REBUILD_SECONDS = 3_600.0
ResultT = TypeVar("ResultT")


class ProviderCalls:
    """Calls providers for scopes. Each has `timeout_seconds` for its part of a recall."""

    def __init__(self, registry: Registry, timeout_seconds: float) -> None:
        self._registry = registry
        self._timeout_seconds = timeout_seconds

    async def call(
        self,
        scope: Scope,
        provider_id: str,
        work: Callable[[MemoryProvider], Awaitable[ResultT]],
        session_id: str | None = None,
        *,
        timeout_seconds: float | None = None,
    ) -> ResultT:
        """Run work with one provider. Providers of other packages are called only this way.

        Such a provider gets a time limit, and is not called for a while after failures. Raises ProviderFailedError, an
        UnavailableError that names the provider and its fault.
        """
        if not self._registry.is_foreign(provider_id):
            return await work(await self._registry.provider(scope, provider_id, session_id))
        seconds = timeout_seconds or DIRECT_FACTOR * self._timeout_seconds
        health = self._registry.health(scope, provider_id)
        if health.breaker.is_open():
            raise ProviderFailedError(provider_id, f"paused after repeated failures; the last one: {health.reason}")
        try:
            async with asyncio.timeout(seconds):
                result = await work(await self._registry.provider(scope, provider_id, session_id))
        except TimeoutError:
            reason = f"it took longer than {seconds:g} s"
            health.failed(reason)
            raise ProviderFailedError(provider_id, reason) from None
        except ProviderFailedError as error:
            health.failed(error.reason)
            raise
        health.succeeded()
        return result

    async def open(self, scope: Scope, provider_id: str) -> None:
        """Open a provider of another package without registering it. Raises ProviderFailedError."""
        seconds = DIRECT_FACTOR * self._timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._registry.foreign(scope, provider_id).open()
        except TimeoutError:
            raise ProviderFailedError(provider_id, f"it took longer than {seconds:g} s") from None

    async def rebuild(self, scope: Scope, provider_id: str) -> int:
        """Have a provider rebuild its derived data; return the number of entries."""
        return await self.call(scope, provider_id, lambda held: held.rebuild(), timeout_seconds=REBUILD_SECONDS)

    async def attempt(
        self,
        scope: Scope,
        name: str,
        work: Callable[[MemoryProvider], Awaitable[ResultT]],
        session_id: str | None = None,
    ) -> ResultT | None:
        """Run work with one of several providers within their timeout; return None when it fails."""
        health = self._registry.health(scope, name)
        try:
            if self._registry.is_foreign(name):
                return await self.call(scope, name, work, session_id, timeout_seconds=self._timeout_seconds)
            if health.breaker.is_open():
                return None
            async with asyncio.timeout(self._timeout_seconds):
                result = await work(await self._registry.provider(scope, name, session_id))
        except Exception as error:  # noqa: BLE001  whatever happens in one provider, the others still answer
            log().warning(
                "provider failed",
                provider=name,
                error=type(error).__name__,
                reason=error.reason if isinstance(error, ProviderFailedError) else "",
            )
            if not isinstance(error, ProviderFailedError):
                health.failed(type(error).__name__)
            return None
        health.succeeded()
        return result


async def capabilities_of(provider: MemoryProvider) -> ProviderCapabilities:
    return provider.capabilities()
