"""Which providers there are, and an open one for each scope that uses it.

Built-in ones are always there. Others come from installed packages (entry-point group `keeps.providers`) or from
`Keeps.open(providers={"name": factory})`. When a tenant first meets one, or one that says something new of itself, its
log gets `memory.provider.registered`, and the table `providers` holds what the last such event of each said.
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

from keeps.cache.breaker import Breaker
from keeps.clock import Clock, new_id
from keeps.db.session import Database, Tx
from keeps.db.statements import Statements
from keeps.events import store as events
from keeps.events.store import NewEvent
from keeps.providers.contract import MemoryProvider, ProviderContext, ProviderFactory
from keeps.providers.foreign import CLOSE_SECONDS, ForeignProvider, ProviderThread
from keeps.providers.markdown.folders import MarkdownFolders
from keeps.providers.working import WorkingShelves
from keeps.scope import Scope
from keeps.telemetry.logs import log
from keeps.tenants.service import Introducer
from keeps_client.errors import KeepsError, NotConfiguredError, NotFoundError
from keeps_client.models import ProviderCapabilities

QUERIES = Statements("keeps.providers")
GROUP = "keeps.providers"
MAX_OPEN = 1_000
LOCAL = ("working", "markdown")
BuiltIn = Callable[[Scope], MemoryProvider]


@dataclass(slots=True)
class Health:
    """How a provider does in one tenant. `reason`: its last fault, until it answers again."""

    breaker: Breaker = field(default_factory=Breaker)
    reason: str = ""

    def succeeded(self) -> None:
        self.breaker.succeeded()
        self.reason = ""

    def failed(self, reason: str) -> None:
        self.breaker.failed()
        self.reason = reason


class Registry:
    """Providers by name. `builtin` makes those of Keeps itself, which hold nothing and are made anew for each use."""

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
        """Every provider beside the database."""
        return [*LOCAL, *self._factories]

    def holding(self, scope: Scope, session_id: str | None) -> list[str]:
        """Providers beside the database that may hold something of a scope: those that are added always, the local ones
        where there is anything yet. Costs no more than a look."""
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
        """Whether a provider is that of another package."""
        return provider_id in self._factories

    def health(self, scope: Scope, provider_id: str) -> Health:
        """How a provider does in a tenant: what one tenant's entries and questions are too much for says nothing of it
        to others."""
        place = provider_id, scope.tenant_id
        found = self._health.setdefault(place, Health())
        self._health.move_to_end(place)
        if len(self._health) > MAX_OPEN:
            self._health.popitem(last=False)
        return found

    async def provider(self, scope: Scope, provider_id: str, session_id: str | None = None) -> MemoryProvider:
        """The provider for a scope, open. Raises NotFoundError, which names those that there are, and UnavailableError
        for one that cannot be opened."""
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
        """A provider of another package for a scope, which may not be open yet. Raises NotFoundError, which names those
        that there are."""
        if provider_id not in self._factories:
            raise NotFoundError(f"no provider {provider_id!r}; there are {', '.join(self.names)}")
        place = (provider_id, scope.tenant_id, scope.user_id)
        held = self._open.get(place)
        if held is None:
            folder = self._home / "providers" / provider_id / _folder(scope.tenant_id) / _folder(scope.user_id)
            context = ProviderContext(Scope(scope.tenant_id, scope.user_id), folder)
            make = partial(self._factories[provider_id], context)
            held = self._open[place] = ForeignProvider(provider_id, make, self._threads[provider_id])
            if len(self._open) > MAX_OPEN:
                self._close_later(*self._open.popitem(last=False))
        self._open.move_to_end(place)
        return held

    async def registered(self, scope: Scope) -> dict[str, datetime]:
        """When a tenant met each provider."""
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["provider_list"], scope.tenant_id)
        return {row["provider_id"]: row["registered_at"] for row in rows}

    @property
    def names(self) -> list[str]:
        """Every provider."""
        return [*LOCAL, *self._builtin, *self._factories]

    async def close(self) -> None:
        """Close every provider, each within a bounded time."""
        while self._open:
            self._close_later(*self._open.popitem())
        await asyncio.gather(*self._closing)
        await asyncio.gather(*(thread.close() for thread in self._threads.values()))
        await self.markdown.close()

    def _close_later(self, place: tuple[str, str, str], held: ForeignProvider) -> None:
        """Close a provider while nobody waits for it."""
        task = asyncio.get_running_loop().create_task(_closed(place[0], held))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _register(self, scope: Scope, capabilities: ProviderCapabilities) -> None:
        if (scope.tenant_id, capabilities.provider_id) in self._known:
            return

        async def work(tx: Tx) -> None:
            said = capabilities.model_dump(mode="json")
            rows = await tx.fetch(QUERIES["provider_list"], scope.tenant_id)
            if any(
                row["provider_id"] == capabilities.provider_id and json.loads(row["capabilities"]) == said
                for row in rows
            ):
                return
            now = self._clock()
            await tx.execute(
                QUERIES["provider_put"],
                scope.tenant_id,
                capabilities.provider_id,
                capabilities.tier,
                json.dumps(said),
                now,
            )
            data: dict[str, Any] = {
                "provider_id": capabilities.provider_id,
                "tier": capabilities.tier,
                "capabilities": said,
            }
            news = NewEvent(
                new_id(),
                "memory.provider.registered",
                f"provider/{capabilities.provider_id}",
                now,
                "private",
                scope.agent_id,
                data,
            )
            await events.append(tx, [news])

        await self._introducer.write(scope, work)
        self._known.add((scope.tenant_id, capabilities.provider_id))


def installed_factories() -> dict[str, ProviderFactory]:
    """The providers of installed packages. One whose package cannot be loaded fails when it is used, and is listed as
    failing."""
    factories: dict[str, ProviderFactory] = {}
    for entry in entry_points(group=GROUP):
        try:
            factories[entry.name] = cast("ProviderFactory", entry.load())
        except Exception as error:  # noqa: BLE001  another's package must not keep Keeps from opening
            log().warning("provider cannot be loaded", provider=entry.name, error=type(error).__name__)
            factories[entry.name] = partial(
                _unloadable, f"{entry.value} cannot be loaded: {type(error).__name__}; mend or uninstall its package"
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
    """A name of a tenant or user as the name of a folder: nothing of it is a path."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
