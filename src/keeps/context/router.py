"""The context router: reads the signals of a message, asks the sources at once, and fills a budget of tokens.

A source that is too slow or fails is left out and named; the others still answer. Nothing is asked of a language model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from keeps.ai.tokens import TokenCounter
from keeps.clock import Clock
from keeps.context import sections, signals, standing
from keeps.context.budget import Offer, allocate, shares
from keeps.context.cache import AnswerCache
from keeps.context.sections import TITLES, Gathered, Item, Last
from keeps.context.signals import Signals
from keeps.context.sources import QUERIES, SourceService
from keeps.conversations.service import CONTEXT_BEGIN, CONTEXT_END, ConversationService
from keeps.db.session import Database
from keeps.providers.service import ProviderService
from keeps.recall.access import AccessBuffer
from keeps.recall.relevance import NO_FIGURES_UNDER
from keeps.scope import Scope
from keeps.sessions.notes import digest
from keeps.telemetry.logs import log
from keeps.telemetry.metrics import Metrics
from keeps.turns import TextWorker, acting_for
from keeps_client.models import (
    ContextItem,
    ContextRequest,
    ContextResult,
    ContextSection,
    Hit,
    LeftOut,
    RecallRequest,
    RecallResult,
    SessionNotes,
    Source,
)
from keeps_client.models.context import SectionName
from keeps_client.models.memories import Layer

FoundT = TypeVar("FoundT")
"""The namespace of what can be looked up."""
SOURCE_SECONDS = 2.0
DATES_SECONDS = 0.5
TOKENS_A_HIT = 22
"""A short turn of a conversation; so many hits are asked for as could fill the budget."""
TEMPORAL_HITS, DOCUMENT_HITS, PASSAGES_NAMED = 40, 20, 10
REMEMBERED: tuple[Layer, ...] = ("short_term", "long_term")
LEAST_HITS = 30
LEFT_OUT_TOLD = 50
COUNTED = 10
"""So many of what is shown have been read by it; what only fills the budget keeps fading."""
SPARE = 100_000
BEGIN = f"{CONTEXT_BEGIN} -->"
NOTHING_KNOWN = "Nothing that is remembered speaks of this question."
CHARACTERS_ON_LOOP = 50_000
"""Characters of memories of which a context is made on the event loop: some 20 ms."""


@dataclass(slots=True)
class _Asking:
    """One request on its way."""

    scope: Scope
    request: ContextRequest
    now: datetime
    sources_ms: dict[str, float] = field(default_factory=dict[str, float])
    failed: list[str] = field(default_factory=list[str])
    passages: list[Hit] = field(default_factory=list[Hit])
    """Of documents that speak of the question: they are not told, but named."""

    def wants(self, *names: SectionName) -> bool:
        """Whether one of these sections is to be filled. Documents are looked up only when they are asked for."""
        asked = self.request.sections
        return names != ("documents",) if asked is None else bool(set(names) & set(asked))


class ContextRouter:
    """Decides what an LLM is told. `seconds`: how long a source may take."""

    def __init__(
        self,
        database: Database,
        providers: ProviderService,
        exchanges: ConversationService,
        sources: SourceService,
        counter: TokenCounter,
        access: AccessBuffer,
        clock: Clock,
        metrics: Metrics,
        *,
        seconds: float = SOURCE_SECONDS,
    ) -> None:
        self._database = database
        self._providers = providers
        self._exchanges = exchanges
        self._sources = sources
        self._counter = counter
        self._counts = False
        self._access = access
        self._clock = clock
        self._seconds = seconds
        self._metrics = metrics
        self._answers = AnswerCache()
        self._lasting = standing.Standing()
        self._texts, self._dates = TextWorker(), TextWorker()

    async def close(self) -> None:
        await self._texts.close()
        await self._dates.close()

    async def context(self, scope: Scope, request: ContextRequest) -> ContextResult:
        """What to put into the prompt of `request.query`: Markdown within the budget, and how it came about."""
        started = time.perf_counter()
        asking = _Asking(scope, request, self._clock())
        read = signals.read_signals(request.query, asking.now)
        read_ms = (time.perf_counter() - started) * 1e3
        if "smalltalk" not in read and "temporal" not in read and signals.looks_foreign(request.query):
            read = await self._foreign(asking, read)
        await self._providers.warm()
        if not self._counts:  # the tokenizer is read at its first use, which takes its time
            await asyncio.to_thread(self._counter.count, [CONTEXT_END])
            self._counts = True
        waited = time.perf_counter()
        (notes, last, answers, temporal, facts, known), (documents, lasting) = await asyncio.gather(
            asyncio.gather(
                self._source(
                    asking,
                    "session",
                    self._notes(asking),
                    when=request.session_id is not None and asking.wants("session") and "smalltalk" not in read,
                ),
                self._source(
                    asking, "last_session", self._last(asking), when=asking.wants("session") and "smalltalk" not in read
                ),
                self._source(asking, "memories", self._memories(asking, read), when="smalltalk" not in read),
                self._source(
                    asking,
                    "temporal",
                    self._temporal(asking, read),
                    when="temporal" in read and asking.wants("temporal"),
                ),
                self._source(
                    asking, "identity", self._facts(asking), when="identity" in read and asking.wants("long_term")
                ),
                self._source(
                    asking,
                    "knowledge",
                    self._sources.fitting(scope, request.query),
                    when=asking.wants("knowledge"),
                ),
            ),
            asyncio.gather(
                self._source(
                    asking,
                    "documents",
                    self._documents(asking),
                    when=asking.wants("documents") and "smalltalk" not in read,
                ),
                self._source(asking, "standing", self._standing(asking), when=asking.wants("long_term", "skills")),
            ),
        )
        routed = time.perf_counter()
        answers = answers or []
        # Where nothing speaks of the question, what is least unlike it is left out, and it is said that nothing is
        # known.
        unknown = (
            bool(answers)
            and "identity" not in read
            and not (temporal and temporal.hits)
            and all(each.nothing_known or ("data" in read and _says_no_figures(each)) for each in answers)
        )
        found = [] if unknown else answers
        said = NOTHING_KNOWN if unknown else ""

        def told(_: None) -> ContextResult:
            gathered = self._gather(
                asking, read, notes, last, found, temporal, facts or [], known.best if known else []
            )
            gathered.items += [] if documents is None else sections.of_documents(documents.hits)
            offered = standing.told(lasting or [], known.first if known else (), request.sections)
            return self._apart(asking, self._fill(asking, read, gathered, said), gathered.items, offered, said)

        asked = (each for each in (temporal, documents) if each is not None)
        hits = [hit for answer in (*found, *asked) for hit in answer.hits]
        if sum(len(hit.memory.content) for hit in hits) <= CHARACTERS_ON_LOOP:
            result = told(None)
        else:  # long texts are read in a thread of their own: other callers go on meanwhile
            with acting_for(scope.tenant_id):
                (result,) = await self._texts.map(told, [None])
        self._access.add(scope, result.memory_ids[:COUNTED], asking.now)
        ended = time.perf_counter()
        self._measured(result, ended - started)
        return result.model_copy(
            update={
                "router_ms": read_ms + (ended - routed) * 1e3,
                "took_ms": (ended - started) * 1e3,
                "sources_ms": {**asking.sources_ms, "all": (routed - waited) * 1e3},
            }
        )

    def _measured(self, result: ContextResult, seconds: float) -> None:
        self._metrics.context_seconds.observe(seconds)
        self._metrics.context_tokens.observe(result.tokens)
        for section in result.sections:
            self._metrics.context_sections.labels(section.name).inc()
        if result.degraded:
            self._metrics.context_degraded.inc()

    async def _source(
        self, asking: _Asking, name: str, work: Coroutine[object, object, FoundT], *, when: bool
    ) -> FoundT | None:
        """Ask one source; None where it need not be asked, failed, or was too slow."""
        if not when:
            work.close()
            return None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._seconds):
                return await work
        except Exception as error:  # noqa: BLE001  whatever happens to one source, the prompt must not wait for it
            log().warning("context source failed", source=name, error=type(error).__name__)
            asking.failed.append(name)
            return None
        finally:
            asking.sources_ms[name] = (time.perf_counter() - started) * 1e3

    async def _foreign(self, asking: _Asking, read: Signals) -> Signals:
        """A time named in another language, if it can be read soon enough."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(DATES_SECONDS):
                with acting_for(asking.scope.tenant_id):
                    (span,) = await self._dates.map(
                        lambda query: signals.foreign_span(query, asking.now), [asking.request.query]
                    )
        except Exception as error:  # noqa: BLE001  a parser of any text that people send: what it cannot read names no time
            log().debug("no time was read", error=type(error).__name__)
            span = None
        asking.sources_ms["dates"] = (time.perf_counter() - started) * 1e3
        return read if span is None else Signals((*read.names, "temporal"), *span, read.parts)

    async def _notes(self, asking: _Asking) -> SessionNotes | None:
        assert asking.request.session_id is not None
        return await self._exchanges.notes(asking.scope, asking.request.session_id)

    async def _last(self, asking: _Asking) -> Last | None:
        """What the last conversation was about: for one that has just begun."""
        scope = asking.scope
        async with self._database.reading(scope) as tx:
            who = (scope.tenant_id, scope.user_id, asking.request.session_id)
            fresh = await tx.fetch_row(QUERIES["last_conversation"], *who, asking.now)
            over = await tx.fetch_row(QUERIES["last_summary"], *who)
        notes = None if fresh is None else SessionNotes.model_validate_json(fresh["notes"])
        if notes is not None and notes.message_count and (over is None or notes.updated_at >= over["updated_at"]):
            return Last(digest(notes), trusted=True)
        if over is None:
            return None
        return Last(over["content"], trusted="trust" not in json.loads(over["metadata"]))

    async def _memories(self, asking: _Asking, read: Signals) -> list[RecallResult]:
        """What the whole memory says, and for certain what is lasting. A question of several steps is asked step by
        step, too."""
        request = asking.request
        limit = min(200, max(LEAST_HITS, request.budget_tokens // TOKENS_A_HIT))
        asked: list[RecallRequest] = []
        if asking.wants("conversations", "activity", "skills", "long_term", "temporal"):
            asked.append(
                RecallRequest(
                    query=request.query, limit=limit, agent_id=request.agent_id, min_relevance=request.min_relevance
                )
            )
        if asking.wants("long_term"):
            asked.append(RecallRequest(query=request.query, limit=2 * sections.LONG_TERM_TOP, kinds=("semantic",)))
        asked += [RecallRequest(query=part, limit=LEAST_HITS, agent_id=request.agent_id) for part in read.parts]
        return await self._recalled(asking, asked)

    async def _temporal(self, asking: _Asking, read: Signals) -> RecallResult | None:
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

    async def _documents(self, asking: _Asking) -> RecallResult:
        request = RecallRequest(query=asking.request.query, limit=DOCUMENT_HITS, layers=("knowledge",))
        return (await self._recalled(asking, [request]))[0]

    async def _standing(self, asking: _Asking) -> list[Item]:
        async with self._database.reading(asking.scope) as tx:
            return await self._lasting.items(tx, asking.request, asking.now)

    async def _facts(self, asking: _Asking) -> list[Item]:
        scope = asking.scope
        async with self._database.reading(scope) as tx:
            rows = await tx.fetch(QUERIES["facts_of_user"], scope.tenant_id, scope.user_id, asking.now)
        return sections.of_facts(rows, [json.loads(row["metadata"]) for row in rows])

    async def _recalled(self, asking: _Asking, requests: Sequence[RecallRequest]) -> list[RecallResult]:
        """Answers, from the cache where nothing was written since, and all that they show can still be seen."""
        scope = asking.scope
        who = (scope.tenant_id, scope.user_id, scope.agent_id if scope.agent_bound else None)
        keys = [(who, request.model_dump_json()) for request in requests]
        every = [*keys, *((key, "documents") for key in keys)]
        answers = [held for held in map(self._answers.peek, every) if held is not None]
        shown = {hit.memory.memory_id: hit.memory.version for held in answers for hit in held.hits}
        async with self._database.reading(scope) as tx:
            row = await tx.fetch_row(QUERIES["scope_position"], scope.tenant_id, scope.user_id)
            rows = await tx.fetch(QUERIES["still_there"], scope.tenant_id, list(shown), asking.now) if shown else []
        position = 0 if row is None else row["position"]
        there = {each["memory_id"]: each["version"] for each in rows}

        async def one(key: Hashable, request: RecallRequest) -> RecallResult:
            if self._providers.asks_others(scope, request):  # of what they hold nobody can say whether it changed
                return await self._providers.recall(scope, request, counted=False, reranked=False)
            held = self._answers.get(key, position)
            fresh = held is not None and all(there.get(hit.memory.memory_id) == hit.memory.version for hit in held.hits)
            self._metrics.cache.labels("answers", "hit" if fresh else "miss").inc()
            if held is not None and fresh:
                named = self._answers.get((key, "documents"), position)
                hits = [] if named is None else named.hits
                asking.passages += [hit for hit in hits if there.get(hit.memory.memory_id) == hit.memory.version]
                return held
            found = await self._providers.recall(scope, request, counted=False, reranked=False)
            # Knowledge is looked up, not told.
            if request.layers is None and any(hit.memory.layer == "knowledge" for hit in found.hits):
                passages = found.model_copy(
                    update={"hits": [hit for hit in found.hits if hit.memory.layer == "knowledge"][:PASSAGES_NAMED]}
                )
                self._answers.put((key, "documents"), position, passages)
                asking.passages += passages.hits
                told = request.model_copy(update={"layers": REMEMBERED})
                found = await self._providers.recall(scope, told, counted=False, reranked=False)
            self._answers.put(key, position, found)
            return found

        found = await asyncio.gather(*map(one, keys, requests))
        asking.failed += [name for each in found for name in each.failed_providers if name not in asking.failed]
        return found

    def _gather(
        self,
        asking: _Asking,
        read: Signals,
        notes: SessionNotes | None,
        last: Last | None,
        answers: Sequence[RecallResult],
        temporal: RecallResult | None,
        facts: Sequence[Item],
        known: Sequence[tuple[Source, bool]],
    ) -> Gathered:
        """All that the sources found, as items of sections."""
        gathered = Gathered()
        begun = notes is not None and notes.message_count > 0
        shown_last = None if begun else last
        gathered.items += sections.of_notes(notes, shown_last)
        gathered.items += facts
        if temporal is not None and temporal.hits:
            top = max(temporal.hits[0].score, 1e-9)
            gathered.items += [
                sections.as_item(hit.memory, asking.scope.user_id, hit.score / top, hit.score, "temporal")
                for hit in temporal.hits
            ]
        present = [note.text[:200] for note in notes.items if note.kind == "message"] if notes else []
        for answer in answers:
            sections.of_hits(
                gathered,
                [hit for hit in answer.hits if shown_last is None or hit.memory.content != shown_last.text],
                asking=asking.scope.user_id,
                temporal="temporal" in read,
                in_session=present,
                session_id=asking.request.session_id,
            )
        gathered.items += sections.of_sources(known, data_first="data" in read)
        gathered.items += sections.of_titles(asking.passages)
        if asking.request.sections is not None:
            gathered.items = [item for item in gathered.items if item.section in asking.request.sections]
        sections.without_doubles(gathered)
        lasting = [item for item in gathered.items if item.section == "long_term"]
        for item in lasting[sections.LONG_TERM_TOP :]:
            item.spare = "identity" not in read
        return gathered

    def _fill(self, asking: _Asking, read: Signals, gathered: Gathered, said: str) -> ContextResult:
        """Choose what fits, render it, and count it: what is told is exact. `said`: what is told before all else."""
        budget = asking.request.budget_tokens
        headings = [f"## {title}" for title in TITLES.values()]
        begin = f"{BEGIN}\n{said}" if said else BEGIN
        frame, *counts = self._counter.count([f"{begin}\n{CONTEXT_END}", *headings])
        titles = dict(zip(TITLES, counts, strict=True))
        self._count(gathered.items)
        offers = [
            Offer(item.section, position + (SPARE if item.spare else 0), item.tokens, item.value, item.memory_id)
            for position, item in enumerate(gathered.items)
        ]
        chosen = allocate(offers, max(0, budget - frame), titles)
        shown_items = [gathered.items[offer.position % SPARE] for offer in chosen]
        text, tokens, items = self._fitted(shown_items, budget, begin, always=bool(said) and frame <= budget)
        shown = {id(item) for item in items}
        missed = sorted((item for item in gathered.items if id(item) not in shown), key=lambda item: -item.value)
        aside = [*((item, "budget") for item in missed), *gathered.aside][:LEFT_OUT_TOLD]
        limits = shares(budget)
        return ContextResult.model_construct(
            text=text,
            tokens=tokens,
            budget_tokens=budget,
            tokenizer=self._counter.name,
            signals=read.names,
            since=read.since,
            until=read.until,
            sections=tuple(
                ContextSection.model_construct(
                    name=name,
                    title=title,
                    tokens=sum(item.tokens for item in mine),
                    share_tokens=limits[name],
                    items=tuple(map(_told, mine)),
                )
                for name, title in TITLES.items()
                if (mine := [item for item in items if item.section == name])
            ),
            left_out=tuple(
                LeftOut.model_construct(
                    section=item.section, memory_id=item.memory_id, tokens=item.tokens, reason=reason, score=item.score
                )
                for item, reason in aside
            ),
            nothing_known=bool(said),
            degraded=bool(asking.failed),
            degraded_sources=tuple(asking.failed),
        )

    def _apart(
        self, asking: _Asking, result: ContextResult, found: Sequence[Item], offered: Sequence[Item], said: str
    ) -> ContextResult:
        """The same in two parts, within the same budget: what stays the same until something is written, and what this
        question found."""
        budget = asking.request.budget_tokens
        self._count(offered)
        stable, taken, kept = self._fitted(standing.within(offered, budget), budget, BEGIN, always=False)
        gathered = Gathered(standing.rest(found, kept))
        less = _Asking(asking.scope, asking.request.model_copy(update={"budget_tokens": budget - taken}), asking.now)
        volatile = self._fill(less, Signals((), None, None), gathered, said).text
        return result.model_copy(update={"stable": stable, "volatile": volatile})

    def _count(self, items: Sequence[Item]) -> None:
        """Give items that have none yet their tokens."""
        new = [item for item in items if not item.tokens]
        for item, tokens in zip(new, self._counter.count([f"- {item.text}" for item in new]), strict=True):
            item.tokens = tokens

    def _fitted(self, items: list[Item], budget: int, begin: str, *, always: bool) -> tuple[str, int, list[Item]]:
        """The rendered text, its tokens, and its items: while headings of days make it too long, the least of them
        go."""
        while True:
            text = sections.render(items, begin, CONTEXT_END)
            if not items and always:
                text = f"{begin}\n{CONTEXT_END}"
            tokens = (
                sum(self._counter.count(text.split("\n"))) if self._counter.adds_up else self._counter.count([text])[0]
            )
            if tokens <= budget or not items:
                return text, tokens, items
            excess = tokens - budget
            going: set[int] = set()
            for item in sorted(items, key=lambda each: each.value):
                going.add(id(item))
                excess -= item.tokens
                if excess <= 0:
                    break
            items = [item for item in items if id(item) not in going]


def _says_no_figures(answer: RecallResult) -> bool:
    """Whether nothing that was found is near enough to a question for business figures to hold them."""
    known = [hit.relevance for hit in answer.hits]
    return all(each is not None and each < NO_FIGURES_UNDER for each in known)


def _told(item: Item) -> ContextItem:
    return ContextItem.model_construct(
        memory_id=item.memory_id, text=item.text, tokens=item.tokens, score=item.score, trusted=item.trusted
    )
