"""The registry of providers, with one open object for each scope that uses a provider.

Built-in providers are always present. Others come from installed packages (entry-point group `keeps.providers`) or from
`Keeps.open(providers={"name": factory})`. When a tenant first uses one, or one whose capabilities changed, its log gets
`memory.provider.registered`; the table `providers` holds the latest such event of each.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from keeps.base.cache.breaker import Breaker
from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.memory.providers.foreign import CLOSE_SECONDS, ForeignProvider, ProviderThread
from keeps.memory.providers.markdown.folders import MarkdownFolders
from keeps.memory.providers.working import WorkingShelves
from keeps.providers.contract import MemoryProvider, ProviderContext, ProviderFactory
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps.store.tenants.service import Introducer
from keeps_client.errors import KeepsError, NotConfiguredError, NotFoundError
from keeps_client.models import ProviderCapabilities

QUERIES = Statements("keeps.memory.providers")
GROUP = "keeps.providers"
MAX_OPEN = 1_000
LOCAL = ("working", "markdown")
BuiltIn = Callable[[Scope], MemoryProvider]


@dataclass(slots=True)
class Health:
    """The state of a provider in one tenant. `reason` is its last fault, until it answers again."""

    breaker: Breaker = field(default_factory=Breaker)
    reason: str = ""

    def succeeded(self) -> None:
        self.breaker.succeeded()
        self.reason = ""

    def failed(self, reason: str) -> None:
        self.breaker.failed()
        self.reason = reason


class Registry:
    """Providers by name. `builtin` makes those of Keeps, which have no state and are made for each use."""

    def __init__(
        self,
        database: Database,
        introducer: Introducer,
        clock: Clock,
        shelves: WorkingShelves,
        markdown: MarkdownFolders,
        builtin: Mapping[str, BuiltIn],
        factories: Mapping[str, ProviderFactory],
        home: Path,
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock
        self.shelves = shelves
        self.markdown = markdown
        self._builtin = builtin
        self._factories = factories
        self._home = home
        self._open: OrderedDict[tuple[str, str, str], ForeignProvider] = OrderedDict()
        self._threads = {name: ProviderThread(name) for name in factories}
        self._closing: set[asyncio.Task[None]] = set()
        self._known: set[tuple[str, str]] = set()
        self._health: OrderedDict[tuple[str, str], Health] = OrderedDict()

    @property
    def beside(self) -> list[str]:
        """Return every provider beside the database."""
        return [*LOCAL, *self._factories]

    def holding(self, scope: Scope, session_id: str | None) -> list[str]:
        """Return the providers beside the database that may have data of a scope.

        These are the added ones always, and the local ones if they have any data, found with one look at the disk.
        """
        local = [
            name
            for name, holds in (
                ("working", self.shelves.has(scope, session_id)),
                ("markdown", self.markdown.has(scope)),
            )
            if holds
        ]
        return [*local, *self._factories]

    def is_foreign(self, provider_id: str) -> bool:
        """Return whether a provider comes from another package."""
        return provider_id in self._factories

    def health(self, scope: Scope, provider_id: str) -> Health:
        """Return the state of a provider in a tenant; a fault in one tenant does not affect others."""
        place = provider_id, scope.tenant_id
        health = self._health.setdefault(place, Health())
        self._health.move_to_end(place)
        if len(self._health) > MAX_OPEN:
            self._health.popitem(last=False)
        return health

    async def provider(self, scope: Scope, provider_id: str, session_id: str | None = None) -> MemoryProvider:
        """Return an open provider for the scope.

        Raises:
            NotFoundError: There is no such provider; the message names those that exist.
            UnavailableError: It cannot be opened.
        """
        if provider_id == "working":
            return self.shelves.of(scope, session_id)
        if provider_id == "markdown":
            return self.markdown.of(scope)
        if provider_id in self._builtin:
            return self._builtin[provider_id](scope)
        held = self.foreign(scope, provider_id)
        await self._register(scope, await held.open())
        return held

    def foreign(self, scope: Scope, provider_id: str) -> ForeignProvider:
        """Return a provider of another package for a scope, which may not be open yet.

        Raises NotFoundError, which names those that exist.
        """
        if provider_id not in self._factories:
            raise NotFoundError(f"no provider {provider_id!r}; the providers are {', '.join(self.names)}")
        place = (provider_id, scope.tenant_id, scope.user_id)
        provider = self._open.get(place)
        if provider is None:
            folder = self._home / "providers" / provider_id / _folder(scope.tenant_id) / _folder(scope.user_id)
            context = ProviderContext(Scope(scope.tenant_id, scope.user_id), folder)
            make = partial(self._factories[provider_id], context)
            provider = self._open[place] = ForeignProvider(provider_id, make, self._threads[provider_id])
            if len(self._open) > MAX_OPEN:
                self._close_later(*self._open.popitem(last=False))
        self._open.move_to_end(place)
        return provider

    async def registered(self, scope: Scope) -> dict[str, datetime]:
        """Return the time at which a tenant first used each provider."""
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["provider_list"], tx.scope.tenant_id)
        return {row["provider_id"]: row["registered_at"] for row in rows}

    @property
    def names(self) -> list[str]:
        """Return every provider."""
        return [*LOCAL, *self._builtin, *self._factories]

    async def close(self) -> None:
        """Close every provider, each within a time limit."""
        while self._open:
            self._close_later(*self._open.popitem())
        await asyncio.gather(*self._closing)
        await asyncio.gather(*(thread.close() for thread in self._threads.values()))
        await self.markdown.close()

    def _close_later(self, place: tuple[str, str, str], held: ForeignProvider) -> None:
        """Close a provider without waiting for it."""
        task = asyncio.get_running_loop().create_task(_closed(place[0], held))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _register(self, scope: Scope, capabilities: ProviderCapabilities) -> None:
        if (scope.tenant_id, capabilities.provider_id) in self._known:
            return
        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                await _store_capabilities(tx, capabilities, self._clock())
        self._known.add((scope.tenant_id, capabilities.provider_id))


async def _store_capabilities(tx: Tx, capabilities: ProviderCapabilities, now: datetime) -> None:
    """Store what a provider declares, with an event, unless it is stored just so already."""
    declared = capabilities.model_dump(mode="json")
    rows = await tx.fetch(QUERIES["provider_list"], tx.scope.tenant_id)
    if any(
        row["provider_id"] == capabilities.provider_id and json.loads(row["capabilities"]) == declared for row in rows
    ):
        return
    await tx.execute(
        QUERIES["provider_put"],
        tx.scope.tenant_id,
        capabilities.provider_id,
        capabilities.tier,
        json.dumps(declared),
        now,
    )
    data: dict[str, Any] = {
        "provider_id": capabilities.provider_id,
        "tier": capabilities.tier,
        "capabilities": declared,
    }
    news = NewEvent(
        new_id(),
        "memory.provider.registered",
        f"provider/{capabilities.provider_id}",
        now,
        "private",
        tx.scope.agent_id,
        data,
    )
    await events.append(tx, [news])


def installed_factories() -> dict[str, ProviderFactory]:
    """Return the providers of installed packages.

    One whose package cannot be loaded fails when it is used, and is listed as failing.
    """
    factories: dict[str, ProviderFactory] = {}
    for entry in entry_points(group=GROUP):
        try:
            factories[entry.name] = cast("ProviderFactory", entry.load())
        except Exception as error:  # noqa: BLE001  another's package must not keep Keeps from opening
            log().warning("provider cannot be loaded", provider=entry.name, error=type(error).__name__)
            factories[entry.name] = partial(
                _unloadable, f"{entry.value} cannot be loaded: {type(error).__name__}; fix or uninstall its package"
            )
    return factories


def _unloadable(reason: str, _: ProviderContext) -> MemoryProvider:
    raise NotConfiguredError(reason)


async def _closed(provider_id: str, held: ForeignProvider) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await held.close()
    except (KeepsError, TimeoutError) as error:
        log().warning("provider did not close", provider=provider_id, error=type(error).__name__)


def _folder(name: str) -> str:
    """Return the name of a tenant or user encoded as one folder, which cannot act as a path."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
