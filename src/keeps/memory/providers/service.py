"""Recall and forget over every provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.text.trust import LEVELS, trust_of
from keeps.memory.providers.builtin import joined_key
from keeps.memory.providers.calls import TIMEOUT_SECONDS, ProviderCalls, capabilities_of
from keeps.memory.providers.foreign import ProviderFailedError
from keeps.memory.providers.handle import ProviderHandle
from keeps.memory.providers.hits import ENTRY_ID_VERSION, id_of, memory_of
from keeps.memory.providers.merging import ProviderAnswer, merge
from keeps.memory.providers.registry import Registry
from keeps.memory.recall.service import RecallService
from keeps.providers.contract import MemoryProvider
from keeps.store.db.answers import plain
from keeps.store.db.repeats import request_id
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ForbiddenError, NotFoundError, UnavailableError, ValidationFailedError
from keeps_client.models import (
    Entry,
    Hit,
    Memory,
    NewEntry,
    ProviderCapabilities,
    ProviderInfo,
    Rebuilt,
    RecallRequest,
    RecallResult,
)
from keeps_client.models.events import EventType
from keeps_client.models.memories import Layer
from keeps_client.models.recall import WEAK_RELEVANCE
from keeps_client.validation import named

TIERS = frozenset({"working", "persistent", "indexed"})
LOCAL_TIERS = {"working": "working", "markdown": "persistent"}
OURS = frozenset({"postgres", "vector", "graph"})
"""Providers that are arms of the recall over the database, queried together in one round trip."""
IDENTITIES = plain(list[str])


class ProviderService:
    """Finds and forgets a scope's memories in every provider."""

    def __init__(
        self,
        registry: Registry,
        introducer: Introducer,
        recall: RecallService,
        clock: Clock,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._registry = registry
        self._introducer = introducer
        self._recall = recall
        self._clock = clock
        self._calls = ProviderCalls(registry, timeout_seconds)

    async def recall(
        self, scope: Scope, request: RecallRequest, *, counted: bool = True, reranked: bool = True
    ) -> RecallResult:
        """Query all requested providers concurrently; a slow or failing one costs at most its timeout.

        With the database alone this is the recall over the database.
        """
        (result,) = await self.recall_all(scope, [request], counted=counted, reranked=reranked)
        return result

    async def recall_all(
        self, scope: Scope, requests: Sequence[RecallRequest], *, counted: bool = True, reranked: bool = True
    ) -> list[RecallResult]:
        """Return what `recall` returns for each request; the database answers all at once."""
        started = time.perf_counter()
        others = [self._others(scope, request) for request in requests]
        ours = [request for request in requests if _asks_database(request)]
        work = self._recall.recall_all(scope, ours, counted=counted, reranked=reranked)
        if not any(others) and len(ours) == len(requests):
            return await work
        own, answers = await asyncio.gather(work, self._ask_all(scope, others, requests))
        results: list[RecallResult] = []
        from_database = iter(own)
        for request, names, found in zip(requests, others, answers, strict=True):
            mine = next(from_database) if _asks_database(request) else None
            results.append(mine if mine is not None and not names else _merged(request, mine, names, found, started))
        return results

    def asks_others(self, scope: Scope, request: RecallRequest) -> bool:
        """Return whether providers beside the database take part in an answer."""
        return bool(self._others(scope, request))

    def holds(self, scope: Scope, layer: Layer) -> bool:
        """Return whether the database's memories of a layer are held in memory."""
        return self._recall.holds(scope, layer)

    async def warm(self) -> None:
        """Load what would delay the first query."""
        await self._recall.warm()

    async def forget(self, scope: Scope, key: str) -> tuple[list[str], list[str]]:
        """Remove a key from every provider beside the database that has it.

        Returns the providers that removed it, and the read-only ones that keep it. Raises UnavailableError, which names
        the providers that may still have it, after all others have removed it.
        """
        others = self._registry.holding(scope, None)
        outcomes = await asyncio.gather(*(self._removed(scope, other, key) for other in others), return_exceptions=True)
        gone = [other for other, outcome in zip(others, outcomes, strict=True) if outcome is True]
        for other in gone:
            await self._log(scope, other, key, "memory.deleted")
        failed = [other for other, outcome in zip(others, outcomes, strict=True) if isinstance(outcome, BaseException)]
        if failed:
            log().warning("provider did not forget", providers=failed)
            raise UnavailableError(
                f"{', '.join(failed)} may still have it and did not delete it; the database deletes nothing before"
                " they do. Try again; `keeps providers list` shows the error"
            )
        return gone, [other for other, outcome in zip(others, outcomes, strict=True) if outcome is None]

    async def _removed(self, scope: Scope, provider_id: str, key: str) -> bool | None:
        """Return whether a provider removed a key; None if it is read-only and has the key."""

        async def remove(held: MemoryProvider) -> bool | None:
            if held.capabilities().read_only:
                return None if await held.read(key) is not None else False
            return await held.delete(key)

        try:
            return await self._calls.call(scope, provider_id, remove)
        except (NotFoundError, ValidationFailedError):
            return False  # A key that no entry of this provider can have.

    async def locate(
        self, scope: Scope, memory_id: UUID | None, namespace: str | None = None, key: str | None = None
    ) -> tuple[str, Entry] | None:
        """Return the provider and the entry of a hit, or None.

        A hit is identified by its id, or by the provider's name as its namespace and its key.
        """
        holding = self._registry.holding(scope, None)
        if memory_id is None:
            if namespace not in holding or key is None:
                return None
            entry = await self._calls.call(scope, namespace, lambda held: held.read(key))
            return None if entry is None else (namespace, entry)
        if memory_id.version != ENTRY_ID_VERSION:
            return None
        silent: list[str] = []
        for name in holding:
            keys = await self._calls.attempt(scope, name, lambda held: held.list_keys())
            if keys is None:
                silent.append(name)
            for each in keys or ():
                if id_of(scope, name, each) == memory_id:
                    return await self.locate(scope, None, name, each)
        if silent:
            raise UnavailableError(
                f"{memory_id} may be an entry of {', '.join(silent)}, which did not answer; try again"
            )
        return None

    async def infos(self, scope: Scope) -> list[ProviderInfo]:
        """Return every provider's state in a tenant.

        One that cannot be opened is listed as failing, with the reason.
        """
        registered = await self._registry.registered(scope)
        return list(
            await asyncio.gather(*(self._info(scope, name, registered.get(name)) for name in self._registry.names))
        )

    async def faults(self, scope: Scope) -> dict[str, str]:
        """Return the reason for each provider of another package that cannot be opened. Nothing is written."""
        faults: dict[str, str] = {}
        for name in filter(self._registry.is_foreign, self._registry.names):
            try:
                await self._calls.open(scope, name)
            except ProviderFailedError as error:
                faults[name] = error.reason
        return faults

    async def _info(self, scope: Scope, name: str, registered_at: datetime | None) -> ProviderInfo:
        problems: dict[str, str] = {}
        capabilities = ProviderCapabilities.model_construct(provider_id=name, tier="persistent", supports_search=False)
        try:
            capabilities = await self._calls.call(scope, name, capabilities_of)
        except ProviderFailedError as error:
            problems["provider"] = error.reason
        health = self._registry.health(scope, name)
        failing = bool(problems) or health.breaker.is_open()
        if failing and health.reason:
            problems.setdefault("provider", health.reason)
        if name == "markdown" and self._registry.markdown.has(scope):
            problems |= await self._registry.markdown.of(scope).problems()
        return ProviderInfo(
            **capabilities.model_dump(),
            builtin=not self._registry.is_foreign(name),
            state="failing" if failing else "active",
            registered_at=registered_at,
            problems=problems,
        )

    async def provider(self, scope: Scope, provider_id: str, session_id: str | None = None) -> MemoryProvider:
        """Return one provider, to use it directly. Its writes and deletions are logged."""
        if not self._registry.is_foreign(provider_id):
            return await self._registry.provider(scope, provider_id, session_id)
        return ProviderHandle(self, self._calls, scope, await self._calls.call(scope, provider_id, capabilities_of))

    async def write(
        self, scope: Scope, provider_id: str, key: str, new: NewEntry, session_id: str | None = None
    ) -> Entry:
        """Store an entry; return the stored one."""
        name = named("key", key, 355)
        await self.store(scope, provider_id, name, new.value, new.metadata, session_id)
        found = await self._calls.call(scope, provider_id, lambda held: held.read(name), session_id)
        return found or Entry(key=key, value=new.value, metadata=new.metadata)

    async def store(
        self,
        scope: Scope,
        provider_id: str,
        key: str,
        value: JsonValue,
        metadata: Mapping[str, JsonValue] | None,
        session_id: str | None = None,
    ) -> None:
        """Have a provider store a value, and log it."""
        await self._calls.call(scope, provider_id, lambda held: held.write(key, value, metadata), session_id)
        await self._log(scope, provider_id, key, "memory.written")

    async def remove(self, scope: Scope, provider_id: str, key: str, session_id: str | None = None) -> bool:
        """Have a provider delete a key, and log it; return whether the key existed."""
        removed = await self._calls.call(scope, provider_id, lambda held: held.delete(key), session_id)
        if removed:
            await self._log(scope, provider_id, key, "memory.deleted")
        return removed

    async def read(self, scope: Scope, provider_id: str, key: str, session_id: str | None = None) -> Entry:
        """Return an entry. Raises NotFoundError."""
        name = named("key", key, 355)
        found = await self._calls.call(scope, provider_id, lambda held: held.read(name), session_id)
        if found is None:
            raise NotFoundError(f"provider {provider_id} has no key {key!r}")
        return found

    async def delete(self, scope: Scope, provider_id: str, key: str, session_id: str | None = None) -> Entry:
        """Remove an entry and return it. Raises NotFoundError, and ForbiddenError if the provider is read-only."""
        if (await self._calls.call(scope, provider_id, capabilities_of, session_id)).read_only:
            raise ForbiddenError(f"the provider {provider_id} is read-only")
        gone = await self.read(scope, provider_id, key, session_id)
        await self.remove(scope, provider_id, key, session_id)
        return gone

    async def rebuild(self, scope: Scope, provider_id: str) -> Rebuilt:
        """Rebuild a provider's derived data for this scope."""
        return Rebuilt(provider_id=provider_id, entries=await self._calls.rebuild(scope, provider_id))

    async def append(self, scope: Scope, text: str) -> list[Entry]:
        """Run a text through the Markdown pipeline; return the new entries.

        A repeated request returns those that still exist.
        """
        markdown = self._registry.markdown.of(scope)
        before = await self._introducer.answered(scope, IDENTITIES)
        if before is not None:
            return await markdown.identified(before)
        request = request_id()
        made = await markdown.append(text, request)

        if request is not None:
            write = self._introducer.writing(scope, IDENTITIES)
            async for attempt in write:
                async with attempt:
                    write.result = [str(entry.metadata["id"]) for entry in made]
        return made

    async def erase(self, scope: Scope) -> tuple[dict[str, int], dict[str, int]]:
        """Remove all data of a user from the providers beside the database.

        Returns the number of entries removed from each provider, and the number left.
        """
        removed: dict[str, int] = {}
        left: dict[str, int] = {}
        for name in self._registry.beside:
            if name == "working":
                removed[name], left[name] = self._registry.shelves.remove_user(scope), 0
                continue
            try:
                if name == "markdown":
                    removed[name], left[name] = self._registry.markdown.remove_user(scope), 0
                    continue
                keys = await self._calls.call(scope, name, lambda held: held.list_keys())
                gone = [await self._calls.call(scope, name, lambda held, key=key: held.delete(key)) for key in keys]
                removed[name] = sum(gone)
                left[name] = len(await self._calls.call(scope, name, lambda held: held.list_keys()))
            except Exception as error:  # noqa: BLE001  another's defect is in the receipt, and ours is erased
                log().error("provider did not erase", provider=name, error=type(error).__name__)
                left[name] = 1
        return {name: count for name, count in removed.items() if count}, {
            name: count for name, count in left.items() if count
        }

    async def _log(self, scope: Scope, provider_id: str, key: str, what: EventType) -> None:
        """Log a change by a provider of another package.

        The event has the key, but not the content, which that provider stores and erases. Keeps' own providers log
        their writes; working memory is not durable and logs none.
        """
        if not self._registry.is_foreign(provider_id):
            return

        async for attempt in self._introducer.writing(scope):
            async with attempt as tx:
                data: dict[str, JsonValue] = {"key": key, "provider_id": provider_id}
                await events.append(
                    tx,
                    [NewEvent(new_id(), what, f"{provider_id}/{key}", self._clock(), "private", scope.agent_id, data)],
                )

    def forget_folders(self, tenants: Iterable[str]) -> None:
        """Remove the Markdown folders of tenants that are gone."""
        for tenant_id in tenants:
            self._registry.markdown.remove_tenant(tenant_id)

    async def close(self) -> None:
        await self._registry.close()

    def _others(self, scope: Scope, request: RecallRequest) -> list[str]:
        """Return the requested providers beside the database that may have an answer."""
        names = [] if scope.memories_only else self._registry.holding(scope, request.session_id)
        if request.providers is not None:
            if unknown := set(request.providers) - OURS - set(self._registry.beside):
                raise ValidationFailedError(
                    f"unknown provider {sorted(unknown)[0]!r}; there are"
                    f" {', '.join([*sorted(OURS), *self._registry.beside])}"
                )
            names = [name for name in names if name in request.providers]
        return [
            name
            for name in names
            if not (request.as_of or request.valid_at)  # Only the database knows the past.
            and request.scope != "shared"
            and (request.scope not in TIERS or LOCAL_TIERS.get(name, request.scope) == request.scope)
        ]

    async def _ask_all(
        self, scope: Scope, names: Sequence[Sequence[str]], requests: Sequence[RecallRequest]
    ) -> list[list[ProviderAnswer | None]]:
        """Return the answers of some providers to each request."""
        asked = [
            self._ask(scope, name, request) for some, request in zip(names, requests, strict=True) for name in some
        ]
        answers = iter(await asyncio.gather(*asked))
        return [[next(answers) for _ in some] for some in names]

    async def _ask(self, scope: Scope, name: str, request: RecallRequest) -> ProviderAnswer | None:
        """Return the hits of one provider; None if it failed or timed out."""
        filters: dict[str, object] = {}
        if request.content_types is not None:
            filters["content_types"] = request.content_types
        if request.since is not None:
            filters["since"] = request.since
        if request.until is not None:
            filters["until"] = request.until
        if request.namespace is not None:
            filters["prefix"] = f"{request.namespace}/"
        narrowed = (
            request.kinds,
            request.layers,
            request.agent_id,
            request.tags,
            request.filters,
            request.min_importance,
        )
        if any(value is not None for value in narrowed):
            return ProviderAnswer(name, [], [])  # Entries have none of these fields, so none passes.

        async def search(held: MemoryProvider) -> ProviderAnswer:
            tier = held.capabilities().tier
            if not held.capabilities().supports_search or (request.scope in TIERS and tier != request.scope):
                return ProviderAnswer(name, [], [])
            matches = await held.search(request.query, filters or None, request.limit)
            least = request.min_relevance or 0.0
            matching = [match for match in matches if match.relevance is None or match.relevance >= least]
            matching = [match for match in matching if _is_trusted(match.entry, request)]
            hits = [
                Hit.model_construct(
                    memory=memory_of(scope, name, match.entry, self._clock),
                    score=match.score,
                    relevance=match.relevance,
                    provider_id=name,
                    tier=tier,
                    explanation=None,
                )
                for match in matching
            ]
            return ProviderAnswer(name, hits, [match.entry.key for match in matching])

        return await self._calls.attempt(scope, name, search, request.session_id)


def _is_trusted(entry: Entry, request: RecallRequest) -> bool:
    """Return whether an entry may answer a request for trusted memories, by its metadata."""
    level = trust_of(None, None, entry.metadata or {})
    return request.min_trust is None or LEVELS.index(level) <= LEVELS.index(request.min_trust)


def _asks_database(request: RecallRequest) -> bool:
    return request.scope != "working" and (request.providers is None or bool(OURS & set(request.providers)))


def _merged(
    request: RecallRequest,
    own: RecallResult | None,
    names: Sequence[str],
    found: Sequence[ProviderAnswer | None],
    started: float,
) -> RecallResult:
    """Return the answers of the database, if it was asked, and of other providers as one."""
    answers: list[ProviderAnswer] = []
    failed: list[str] = []
    if own is not None:
        answers.append(ProviderAnswer("postgres", own.hits, [_known_as(hit.memory) for hit in own.hits]))
        failed += own.failed_providers
    for name, answer in zip(names, found, strict=True):
        if answer is None:
            failed.append(name)
        else:
            answers.append(answer)
    first = {key: None for answer in answers if answer.provider_id == "working" for key in answer.keys}
    hits = merge(answers, first, request.limit, explain=request.explain, query=request.query)
    others_know = any(
        hit.relevance is None or hit.relevance >= WEAK_RELEVANCE
        for answer in answers
        if answer.provider_id != "postgres"
        for hit in answer.hits
    )
    return RecallResult.model_construct(
        hits=hits,
        nothing_known=not others_know and (own is None or own.nothing_known),
        took_ms=(time.perf_counter() - started) * 1e3,
        partial=bool(failed) or (own is not None and own.partial),
        failed_providers=failed,
    )


def _known_as(memory: Memory) -> str:
    """Return the key of a memory; None for a superseded one, whose key names a newer memory."""
    return joined_key(memory) if memory.superseded_by is None else str(memory.memory_id)
