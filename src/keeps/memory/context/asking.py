"""Ask the sources of a context about a question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from keeps.base.scope import Scope
from keeps.base.text.trust import origin_of
from keeps.memory.context import pinned, reading, sections
from keeps.memory.context.reading import ContextRows
from keeps.memory.context.sections import Item, Last
from keeps.memory.context.signals import Signals
from keeps.memory.context.sources import Fitting, SourceService
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

    def needs(self, read: Signals) -> frozenset[str]:
        """Return the names of the sources that the question needs."""
        in_session = self.wants("session") and "smalltalk" not in read
        needed = {
            "session": in_session and self.request.session_id is not None,
            "last_session": in_session,
            "memories": read.asks,
            "temporal": "temporal" in read and self.wants("temporal"),
            "documents": self.wants("documents") and read.asks,
            "identity": "identity" in read and self.wants("long_term"),
            "knowledge": self.wants("knowledge"),
            "standing": self.wants("long_term", "skills"),
        }
        return frozenset(name for name, is_needed in needed.items() if is_needed)


@dataclass(frozen=True, slots=True)
class Reads:
    """The two reads that the sources of one context share: two round trips, at the same time.

    `rows`: what is told whatever is asked. `recalled`: what the question finds, by source.
    """

    rows: asyncio.Task[ContextRows]
    recalled: asyncio.Task[dict[str, list[RecallResult]]]


class Asker:
    """Asks the sources of a context, each by a method of its own. Any of them may fail."""

    def __init__(
        self, database: Database, providers: ProviderService, exchanges: ConversationService, sources: SourceService
    ) -> None:
        self._database = database
        self._providers = providers
        self._exchanges = exchanges
        self._sources = sources

    async def warm(self) -> None:
        """Load what would delay the first question."""
        await self._providers.warm()

    def forget(self, tenant_id: str) -> None:
        """Drop a tenant's cached sources, after an erasure."""
        self._sources.forget(tenant_id)

    @asynccontextmanager
    async def reading(self, asking: Asking, read: Signals, needed: frozenset[str]) -> AsyncGenerator[Reads]:
        """Read for the sources that are needed. What nobody waits for any more at the end is cancelled."""
        parts = needed & reading.PARTS
        if asking.scope.space_id is not None:
            parts -= reading.OF_A_USER
        rows = reading.read(self._database, asking.scope, asking.request, parts, asking.now, model=self._sources.model)
        tasks = asyncio.create_task(rows), asyncio.create_task(self._recall(asking, _requests(asking, read, needed)))
        try:
            yield Reads(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def notes(self, asking: Asking, reads: Reads) -> SessionNotes | None:
        assert asking.request.session_id is not None
        rows = await asyncio.shield(reads.rows)
        return await self._exchanges.notes_from(asking.request.session_id, rows.notes, rows.messages(), asking.now)

    async def last(self, reads: Reads) -> Last | None:
        """Return the subject of the last conversation, for a conversation that has just begun."""
        rows = await asyncio.shield(reads.rows)
        over = next(iter(rows.of("last_session")), None)
        notes = None if rows.last_notes is None else SessionNotes.model_validate_json(rows.last_notes)
        if notes is not None and notes.message_count and (over is None or notes.updated_at >= over["valid_from"]):
            return Last(digest(notes), True, notes.updated_at)
        if over is None:
            return None
        return Last(
            over["content"],
            origin_of(over["role"], over["source"], json.loads(over["metadata"])) == "own",
            over["valid_from"],
        )

    async def memories(self, reads: Reads) -> list[RecallResult]:
        """Return what was found in the whole memory, in lasting memories, and for each step of the question."""
        return (await asyncio.shield(reads.recalled))["memories"]

    async def temporal(self, reads: Reads) -> RecallResult | None:
        return (await asyncio.shield(reads.recalled))["temporal"][0]

    async def documents(self, reads: Reads) -> RecallResult:
        return (await asyncio.shield(reads.recalled))["documents"][0]

    async def knowledge(self, asking: Asking, reads: Reads) -> Fitting:
        """Return the sources that fit the question."""
        fingerprint = (await asyncio.shield(reads.rows)).fingerprint
        return await self._sources.fitting(asking.scope, asking.request.query, fingerprint)

    async def pinned(self, asking: Asking, reads: Reads) -> list[Item]:
        return pinned.items((await asyncio.shield(reads.rows)).of("standing"), asking.scope.user_id, asking.zone)

    async def facts(self, asking: Asking, reads: Reads) -> list[Item]:
        rows = (await asyncio.shield(reads.rows)).of("identity")
        return sections.of_facts(rows, [json.loads(row["metadata"]) for row in rows], asking.zone)

    async def _recall(self, asking: Asking, requests: dict[str, list[RecallRequest]]) -> dict[str, list[RecallResult]]:
        every = [request for several in requests.values() for request in several]
        results = iter(await self._recalled(asking, every))
        return {name: [next(results) for _ in several] for name, several in requests.items()}

    async def _recalled(self, asking: Asking, requests: Sequence[RecallRequest]) -> list[RecallResult]:
        """Recall for all requests at once.

        Knowledge is named for look-up instead of quoted: a request that finds some is answered without it. Where the
        memories are held in memory, both answers are read by the same statement.
        """
        scope = asking.scope
        narrowed = {
            at: request.model_copy(update={"layers": REMEMBERED})
            for at, request in enumerate(requests)
            if request.layers is None and not self._providers.asks_others(scope, request)
        }
        ahead = narrowed if self._providers.holds(scope, "knowledge") else {}
        results = await self._answers(scope, [*requests, *ahead.values()])
        results, others = results[: len(requests)], dict(zip(ahead, results[len(requests) :], strict=True))
        naming = [at for at in narrowed if any(hit.memory.layer == "knowledge" for hit in results[at].hits)]
        late = [at for at in naming if at not in others]
        others |= dict(zip(late, await self._answers(scope, [narrowed[at] for at in late]), strict=True))
        for at in naming:
            passages = [hit for hit in results[at].hits if hit.memory.layer == "knowledge"]
            asking.passages += passages[:PASSAGES_NAMED]
            results[at] = others[at]
        asking.failed += [name for result in results for name in result.failed_providers if name not in asking.failed]
        return results

    async def _answers(self, scope: Scope, requests: Sequence[RecallRequest]) -> list[RecallResult]:
        return await self._providers.recall_all(scope, requests, counted=False, reranked=False)


def _requests(asking: Asking, read: Signals, needed: frozenset[str]) -> dict[str, list[RecallRequest]]:
    """Return what to recall for each source."""
    query, spaces = asking.request.query, asking.request.spaces
    requests: dict[str, list[RecallRequest]] = {}
    if "memories" in needed:
        requests["memories"] = _memory_requests(asking, read)
    if "temporal" in needed:
        requests["temporal"] = [
            RecallRequest(
                query=query, limit=TEMPORAL_HITS, kinds=("episodic",), since=read.since, until=read.until, spaces=spaces
            )
        ]
    if "documents" in needed:
        requests["documents"] = [RecallRequest(query=query, limit=DOCUMENT_HITS, layers=("knowledge",), spaces=spaces)]
    return requests


def _memory_requests(asking: Asking, read: Signals) -> list[RecallRequest]:
    """Return requests for the whole memory, and for lasting memories, which must not be crowded out.

    Each step of a question with several steps has a request of its own.
    """
    request = asking.request
    requests: list[RecallRequest] = []
    if asking.wants("conversations", "activity", "skills", "long_term", "temporal"):
        requests.append(
            RecallRequest(
                query=request.query,
                limit=LIST_HITS if "list" in read or "data" in read else HITS,
                agent_id=request.agent_id,
                min_relevance=request.min_relevance,
                timezone=request.timezone,
                spaces=request.spaces,
            )
        )
    if asking.wants("long_term"):
        requests.append(
            RecallRequest(query=request.query, limit=LASTING_HITS, kinds=("semantic",), spaces=request.spaces)
        )
    return [
        *requests,
        *(
            RecallRequest(query=part, limit=HITS, agent_id=request.agent_id, spaces=request.spaces)
            for part in read.parts
        ),
    ]
