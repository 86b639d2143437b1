"""What the sources of a context say of a question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from keeps.context import sections, standing
from keeps.context.cache import AnswerCache, Key
from keeps.context.sections import Item, Last
from keeps.context.signals import Signals
from keeps.context.sources import QUERIES, Fitting, SourceService
from keeps.conversations.service import ConversationService
from keeps.db.session import Database
from keeps.providers.service import ProviderService
from keeps.scope import Scope
from keeps.sessions.notes import digest
from keeps.telemetry.metrics import Metrics
from keeps_client.models import ContextRequest, Hit, RecallRequest, RecallResult, SessionNotes
from keeps_client.models.context import SectionName
from keeps_client.models.memories import Layer

TEMPORAL_HITS, DOCUMENT_HITS, PASSAGES_NAMED = 40, 20, 10
REMEMBERED: tuple[Layer, ...] = ("short_term", "long_term")
HITS, LIST_HITS, LASTING_HITS = 40, 120, 10


@dataclass(slots=True)
class Asking:
    """One request on its way."""

    scope: Scope
    request: ContextRequest
    now: datetime
    zone: tzinfo = UTC
    """Where the user lives: days begin and end there."""
    sources_ms: dict[str, float] = field(default_factory=dict[str, float])
    failed: list[str] = field(default_factory=list[str])
    passages: list[Hit] = field(default_factory=list[Hit])
    """Of documents that speak of the question: they are not told, but named."""

    def wants(self, *names: SectionName) -> bool:
        """Whether one of these sections is to be filled. Documents are looked up only when they are asked for."""
        asked = self.request.sections
        return names != ("documents",) if asked is None else bool(set(names) & set(asked))


class Asker:
    """Asks the sources of a context, each when it is told to. Any may fail."""

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
        """Load what takes its time at the first question."""
        await self._providers.warm()

    def forget(self, tenant_id: str) -> None:
        """What is kept of a tenant's answers and sources goes: some of it was erased."""
        self._answers.forget(tenant_id)
        self._sources.forget(tenant_id)

    async def notes(self, asking: Asking) -> SessionNotes | None:
        assert asking.request.session_id is not None
        return await self._exchanges.notes(asking.scope, asking.request.session_id)

    async def last(self, asking: Asking) -> Last | None:
        """What the last conversation was about: for one that has just begun."""
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
        """Recall from the whole memory, and apart from it lasting memories, which must not be crowded out. A question
        of several steps is also asked step by step."""
        request = asking.request
        limit = LIST_HITS if "list" in read or "data" in read else HITS
        asked: list[RecallRequest] = []
        if asking.wants("conversations", "activity", "skills", "long_term", "temporal"):
            asked.append(
                RecallRequest(
                    query=request.query,
                    limit=limit,
                    agent_id=request.agent_id,
                    min_relevance=request.min_relevance,
                    timezone=request.timezone,
                )
            )
        if asking.wants("long_term"):
            asked.append(RecallRequest(query=request.query, limit=LASTING_HITS, kinds=("semantic",)))
        asked += [RecallRequest(query=part, limit=HITS, agent_id=request.agent_id) for part in read.parts]
        return await self._recalled(asking, asked)

    async def temporal(self, asking: Asking, read: Signals) -> RecallResult | None:
        found = await self._recalled(
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
        return found[0]

    async def documents(self, asking: Asking) -> RecallResult:
        request = RecallRequest(query=asking.request.query, limit=DOCUMENT_HITS, layers=("knowledge",))
        return (await self._recalled(asking, [request]))[0]

    async def knowledge(self, asking: Asking) -> Fitting:
        """The sources that fit the question."""
        return await self._sources.fitting(asking.scope, asking.request.query)

    async def standing(self, asking: Asking) -> list[Item]:
        async with self._database.reading(asking.scope) as tx:
            return await standing.items(tx, asking.request, asking.now, asking.zone)

    async def facts(self, asking: Asking) -> list[Item]:
        scope = asking.scope
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["facts_of_user"], scope.tenant_id, scope.user_id, asking.now)
        return sections.of_facts(rows, [json.loads(row["metadata"]) for row in rows], asking.zone)

    async def _recalled(self, asking: Asking, requests: Sequence[RecallRequest]) -> list[RecallResult]:
        """Answers, from the cache where nothing was written since, and all that they show can still be seen."""
        scope = asking.scope
        who = (scope.tenant_id, scope.user_id, scope.agent_id if scope.agent_bound else None)
        keys: list[Key] = [(*who, request.model_dump_json(), "") for request in requests]
        every = [*keys, *map(_documents, keys)]
        answers = [held for held in map(self._answers.peek, every) if held is not None]
        shown = {hit.memory.memory_id: hit.memory.version for held in answers for hit in held.hits}
        async with self._database.reading(scope) as tx:
            row = await tx.fetch_row(QUERIES["scope_position"], scope.tenant_id, scope.user_id)
            rows = await tx.fetch(QUERIES["still_there"], scope.tenant_id, list(shown), asking.now) if shown else []
        position = 0 if row is None else row["position"]
        there = {each["memory_id"]: each["version"] for each in rows}

        async def one(key: Key, request: RecallRequest) -> RecallResult:
            if self._providers.asks_others(scope, request):  # of what they hold nobody can say whether it changed
                return await self._providers.recall(scope, request, counted=False, reranked=False)
            held = self._answers.get(key, position)
            fresh = held is not None and all(there.get(hit.memory.memory_id) == hit.memory.version for hit in held.hits)
            self._metrics.cache.labels("answers", "hit" if fresh else "miss").inc()
            if held is not None and fresh:
                named = self._answers.get(_documents(key), position)
                hits = [] if named is None else named.hits
                asking.passages += [hit for hit in hits if there.get(hit.memory.memory_id) == hit.memory.version]
                return held
            found = await self._providers.recall(scope, request, counted=False, reranked=False)
            # Knowledge is looked up, not told.
            if request.layers is None and any(hit.memory.layer == "knowledge" for hit in found.hits):
                passages = found.model_copy(
                    update={"hits": [hit for hit in found.hits if hit.memory.layer == "knowledge"][:PASSAGES_NAMED]}
                )
                self._answers.put(_documents(key), position, passages)
                asking.passages += passages.hits
                told = request.model_copy(update={"layers": REMEMBERED})
                found = await self._providers.recall(scope, told, counted=False, reranked=False)
            self._answers.put(key, position, found)
            return found

        found = await asyncio.gather(*map(one, keys, requests))
        asking.failed += [name for each in found for name in each.failed_providers if name not in asking.failed]
        return found


def _documents(key: Key) -> Key:
    """Of the same question the passages of documents, which are named and not told."""
    return (*key[:4], "documents")
