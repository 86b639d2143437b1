"""Which providers there are, and an open one for each scope that uses it.

Built-in ones are always there. Others come from installed packages (entry-point group `keeps.providers`) or from
`Keeps.open(providers={"name": factory})`. When a tenant first meets one, or one that says something new of itself, its
log gets `memory.provider.registered`, and the table `providers` holds what the last such event of each said.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
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
from keeps.providers.markdown.folders import MarkdownFolders
from keeps.providers.working import WorkingShelves
from keeps.scope import Scope
from keeps.telemetry.logs import log
from keeps.tenants.service import Introducer
from keeps_client.errors import NotConfiguredError, NotFoundError
from keeps_client.models import ProviderCapabilities, ProviderInfo

QUERIES = Statements("keeps.providers")
GROUP = "keeps.providers"
MAX_OPEN = 1_000
LOCAL = ("working", "markdown")
BuiltIn = Callable[[Scope], MemoryProvider]


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
        self._open: OrderedDict[tuple[str, str, str], MemoryProvider] = OrderedDict()
        self._known: set[tuple[str, str]] = set()
        self._breakers: OrderedDict[tuple[str, str], Breaker] = OrderedDict()

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

    def breaker(self, scope: Scope, provider_id: str) -> Breaker:
        """Of a provider in a tenant: what one tenant's entries and questions are too much for says nothing of it to
        others."""
        place = provider_id, scope.tenant_id
        found = self._breakers.setdefault(place, Breaker())
        self._breakers.move_to_end(place)
        if len(self._breakers) > MAX_OPEN:
            self._breakers.popitem(last=False)
        return found

    async def provider(self, scope: Scope, provider_id: str, session_id: str | None = None) -> MemoryProvider:
        """The provider for a scope. Raises NotFoundError, which names those that there are."""
        if provider_id == "working":
            return self.shelves.of(scope, session_id)
        if provider_id == "markdown":
            return self.markdown.of(scope)
        if provider_id in self._builtin:
            return self._builtin[provider_id](scope)
        if provider_id not in self._factories:
            known = ", ".join([*LOCAL, *self._builtin, *self._factories])
            raise NotFoundError(f"no provider {provider_id!r}; there are {known}")
        place = (provider_id, scope.tenant_id, scope.user_id)
        held = self._open.get(place)
        if held is None:
            folder = self._home / "providers" / provider_id / _folder(scope.tenant_id) / _folder(scope.user_id)
            held = self._factories[provider_id](ProviderContext(Scope(scope.tenant_id, scope.user_id), folder))
            self._open[place] = held
            if len(self._open) > MAX_OPEN:
                await self._open.popitem(last=False)[1].close()
            await self._register(scope, held.capabilities())
        self._open.move_to_end(place)
        return held

    async def infos(self, scope: Scope) -> list[ProviderInfo]:
        """Every provider, as it can be used in a tenant."""
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(QUERIES["provider_list"], scope.tenant_id)
        met = {row["provider_id"]: row["registered_at"] for row in rows}
        found: list[ProviderInfo] = []
        for name in (*LOCAL, *self._builtin, *self._factories):
            capabilities = (await self.provider(scope, name)).capabilities()
            state = "failing" if self.breaker(scope, name).is_open() else "active"
            problems = (
                await self.markdown.of(scope).problems() if name == "markdown" and self.markdown.has(scope) else {}
            )
            info = ProviderInfo(
                **capabilities.model_dump(),
                builtin=name not in self._factories,
                state=state,
                registered_at=met.get(name),
                problems=problems,
            )
            found.append(info)
        return found

    async def close(self) -> None:
        for held in self._open.values():
            try:
                await held.close()
            except Exception as error:  # noqa: BLE001  another's defect must not keep us from closing the rest
                log().warning(
                    "provider did not close", provider=held.capabilities().provider_id, error=type(error).__name__
                )
        self._open.clear()
        await self.markdown.close()

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
    """The providers of installed packages. Raises NotConfiguredError that names a package which cannot be loaded."""
    found: dict[str, ProviderFactory] = {}
    for entry in entry_points(group=GROUP):
        try:
            found[entry.name] = cast("ProviderFactory", entry.load())
        except Exception as error:
            raise NotConfiguredError(
                f"the memory provider {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error};"
                " mend or uninstall its package"
            ) from error
    return found


def _folder(name: str) -> str:
    """A name of a tenant or user as the name of a folder: nothing of it is a path."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
