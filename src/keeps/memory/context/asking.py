"""Ask the sources of a context about a question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.memory.context import pinned, sections
from keeps.memory.context.cache import AnswerCache, Key
from keeps.memory.context.sections import Item, Last
from keeps.memory.context.signals import Signals
from keeps.memory.context.sources import QUERIES, Fitting, SourceService
from keeps.memory.conversations.service import ConversationService
from keeps.memory.providers.service import ProviderService
from keeps.state.sessions.notes import digest
from keeps.store.db.session import Database
from keeps_client.models import ContextRequest, Hit, RecallRequest, RecallResult, SessionNotes
from keeps_client.models.context import SectionName
from keeps_client.models.memories import Layer

TEMPORAL_HITS, DOCUMENT_HITS, PASSAGES_NAMED = 40, 20, 10
REMEMBERED: tuple[Layer, ...] = ("short_term", "long_term")
HITS, LIST_HITS, LASTING_HITS = 40, 120, 10


@dataclass(slots=True)
class Asking:
    """One context request in progress."""

    scope: Scope
    request: ContextRequest
    now: datetime
    zone: tzinfo = UTC
    """Time zone of the user, in which days begin and end."""
    sources_ms: dict[str, float] = field(default_factory=dict[str, float])
    failed: list[str] = field(default_factory=list[str])
    passages: list[Hit] = field(default_factory=list[Hit])
    """Passages of documents about the question: the context names the documents without quoting them."""

    def wants(self, *names: SectionName) -> bool:
        """Return whether one of these sections is wanted. Documents are searched only on request."""
        asked = self.request.sections
        return names != ("documents",) if asked is None else bool(set(names) & set(asked))


class Asker:
    """Asks the sources of a context, each by a method of its own. Any of them may fail."""

    def __init__(
        self,
        database: Database,
        providers: ProviderService,
        exchanges: ConversationService,
        sources: SourceService,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._providers = providers
        self._exchanges = exchanges
        self._sources = sources
        self._metrics = metrics
        self._answers = AnswerCache()

    async def warm(self) -> None:
        """Load what would delay the first question."""
        await self._providers.warm()

    def forget(self, tenant_id: str) -> None:
        """Drop a tenant's cached answers and sources, after an erasure."""
        self._answers.forget(tenant_id)
        self._sources.forget(tenant_id)

    async def notes(self, asking: Asking) -> SessionNotes | None:
        assert asking.request.session_id is not None
        return await self._exchanges.notes(asking.scope, asking.request.session_id)

    async def last(self, asking: Asking) -> Last | None:
        """Return the subject of the last conversation, for a conversation that has just begun."""
        scope = asking.scope
        async with self._database.reading(scope) as tx:
            who = (scope.tenant_id, scope.user_id, asking.request.session_id)
            fresh = await tx.fetch_row(QUERIES["last_conversation"], *who, asking.now)
            over = await tx.fetch_row(QUERIES["last_summary"], *who)
        notes = None if fresh is None else SessionNotes.model_validate_json(fresh["notes"])
        if notes is not None and notes.message_count and (over is None or notes.updated_at >= over["valid_from"]):
            return Last(digest(notes), True, notes.updated_at)
        if over is None:
            return None
        return Last(over["content"], "trust" not in json.loads(over["metadata"]), over["valid_from"])

    async def memories(self, asking: Asking, read: Signals) -> list[RecallResult]:
        """Recall from the whole memory, and separately lasting memories, which must not be crowded out.

        Each step of a question with several steps is also recalled.
        """
        request = asking.request
        limit = LIST_HITS if "list" in read or "data" in read else HITS
        requests: list[RecallRequest] = []
        if asking.wants("conversations", "activity", "skills", "long_term", "temporal"):
            requests.append(
                RecallRequest(
                    query=request.query,
                    limit=limit,
                    agent_id=request.agent_id,
                    min_relevance=request.min_relevance,
                    timezone=request.timezone,
                )
            )
        if asking.wants("long_term"):
            requests.append(RecallRequest(query=request.query, limit=LASTING_HITS, kinds=("semantic",)))
        requests += [RecallRequest(query=part, limit=HITS, agent_id=request.agent_id) for part in read.parts]
        return await self._recalled(asking, requests)

    async def temporal(self, asking: Asking, read: Signals) -> RecallResult | None:
        results = await self._recalled(
            asking,
            [
                RecallRequest(
                    query=asking.request.query,
                    limit=TEMPORAL_HITS,
                    kinds=("episodic",),
                    since=read.since,
                    until=read.until,
                )
            ],
        )
        return results[0]

    async def documents(self, asking: Asking) -> RecallResult:
        request = RecallRequest(query=asking.request.query, limit=DOCUMENT_HITS, layers=("knowledge",))
        return (await self._recalled(asking, [request]))[0]

    async def knowledge(self, asking: Asking) -> Fitting:
        """Return the sources that fit the question."""
        return await self._sources.fitting(asking.scope, asking.request.query)

    async def pinned(self, asking: Asking) -> list[Item]:
        async with self._database.reading(asking.scope) as tx:
            return await pinned.items(tx, asking.request, asking.now, asking.zone)

    async def facts(self, asking: Asking) -> list[Item]:
        scope = asking.scope
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["facts_of_user"], scope.tenant_id, scope.user_id, asking.now)
        return sections.of_facts(rows, [json.loads(row["metadata"]) for row in rows], asking.zone)

    async def _recalled(self, asking: Asking, requests: Sequence[RecallRequest]) -> list[RecallResult]:
        """Recall, with cached answers if nothing was written since and all their memories are still visible."""
        scope = asking.scope
        who = (scope.tenant_id, scope.user_id, scope.agent_id if scope.agent_bound else None)
        keys: list[Key] = [(*who, request.model_dump_json(), "") for request in requests]
        every = [*keys, *map(_documents, keys)]
        answers = [cached for cached in map(self._answers.peek, every) if cached is not None]
        shown = {hit.memory.memory_id: hit.memory.version for cached in answers for hit in cached.hits}
        async with self._database.reading(scope) as tx:
            row = await tx.fetch_row(QUERIES["scope_position"], scope.tenant_id, scope.user_id)
            rows = await tx.fetch(QUERIES["still_there"], scope.tenant_id, list(shown), asking.now) if shown else []
        position = 0 if row is None else row["position"]
        there = {result["memory_id"]: result["version"] for result in rows}

        async def one(key: Key, request: RecallRequest) -> RecallResult:
            if self._providers.asks_others(scope, request):  # Changes in other providers cannot be detected.
                return await self._providers.recall(scope, request, counted=False, reranked=False)
            cached = self._answers.get(key, position)
            fresh = cached is not None and all(
                there.get(hit.memory.memory_id) == hit.memory.version for hit in cached.hits
            )
            self._metrics.cache.labels("answers", "hit" if fresh else "miss").inc()
            if cached is not None and fresh:
                named = self._answers.get(_documents(key), position)
                hits = [] if named is None else named.hits
                asking.passages += [hit for hit in hits if there.get(hit.memory.memory_id) == hit.memory.version]
                return cached
            results = await self._providers.recall(scope, request, counted=False, reranked=False)
            # Knowledge is named for look-up instead of quoted.
            if request.layers is None and any(hit.memory.layer == "knowledge" for hit in results.hits):
                passages = results.model_copy(
                    update={"hits": [hit for hit in results.hits if hit.memory.layer == "knowledge"][:PASSAGES_NAMED]}
                )
                self._answers.put(_documents(key), position, passages)
                asking.passages += passages.hits
                remembered_only = request.model_copy(update={"layers": REMEMBERED})
                results = await self._providers.recall(scope, remembered_only, counted=False, reranked=False)
            self._answers.put(key, position, results)
            return results

        results = await asyncio.gather(*map(one, keys, requests))
        asking.failed += [name for result in results for name in result.failed_providers if name not in asking.failed]
        return results


def _documents(key: Key) -> Key:
    """Return the cache key of the document passages for the same question."""
    return (*key[:4], "documents")
