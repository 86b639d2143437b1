"""The context router: read the signals of a message, ask the sources concurrently, fill a token budget.

A source that is too slow or fails is left out and named; the others still answer. No language model is called.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import TypeVar

from keeps.base.clock import Clock
from keeps.base.fairness import TextWorker, acting_for
from keeps.base.scope import Scope, in_zone
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps.memory.context import pinned, sections, signals
from keeps.memory.context.asking import Asker, Asking
from keeps.memory.context.filling import Filler, gather, span_name
from keeps.memory.context.sections import Item, Last
from keeps.memory.context.signals import Signals
from keeps.memory.context.sources import Fitting
from keeps.memory.recall.access import AccessBuffer
from keeps.models.tokens import TokenCounter
from keeps_client.models import ContextRequest, ContextResult, RecallResult, SessionNotes
from keeps_client.zones import zone_of

FoundT = TypeVar("FoundT")
SOURCE_SECONDS = 2.0
DATES_SECONDS = 0.5
COUNTED = 10
"""Number of shown memories that count as read; memories that only fill the budget keep fading."""
NOTHING_STORED = "No stored memory is about this question."
NOT_SURE = "The stored memories may not answer this question."
NEAREST = 5
"""Number of memories shown if probably none answers the question: the answer may still be among them."""
CHARACTERS_ON_LOOP = 50_000
"""Maximum characters of memories for which a context is built on the event loop: about 20 ms."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the sources; None or empty for a source that was not asked, failed, or was too slow."""

    notes: SessionNotes | None
    last: Last | None
    memories: list[RecallResult]
    temporal: RecallResult | None
    facts: list[Item]
    capabilities: Fitting | None
    documents: RecallResult | None
    pinned_items: list[Item]


class ContextRouter:
    """Chooses the context of an LLM.

    `seconds`: time limit of each source.
    `zone`: time zone of users that give none.
    """

    def __init__(
        self,
        asker: Asker,
        counter: TokenCounter,
        access: AccessBuffer,
        clock: Clock,
        metrics: Metrics,
        *,
        seconds: float = SOURCE_SECONDS,
        zone: tzinfo = UTC,
    ) -> None:
        self._asker = asker
        self._filler = Filler(counter)
        self._access = access
        self._clock = clock
        self._seconds = seconds
        self._zone = zone
        self._metrics = metrics
        self._texts, self._dates = TextWorker(), TextWorker()

    async def close(self) -> None:
        await self._texts.close()
        await self._dates.close()

    async def warm(self) -> None:
        """Load the embedding model and the tokenizer, which takes time once."""
        await self._asker.warm()
        await self._filler.warm()

    async def context(self, scope: Scope, request: ContextRequest) -> ContextResult:
        """Return the context for the prompt of `request.query`: Markdown within the budget, and how it was chosen."""
        started = time.perf_counter()
        request = in_zone(scope, request)
        zone = zone_of(request.timezone) if request.timezone else self._zone
        scope = replace(scope, session_id=request.session_id or scope.session_id)  # Selects the scratchpad.
        asking = Asking(scope, request, self._clock(), zone)
        read = signals.read_signals(request.query, asking.now, zone)
        read_ms = (time.perf_counter() - started) * 1e3
        if read.asks and "temporal" not in read and signals.looks_foreign(request.query):
            read = await self._foreign(asking, read)
        await self.warm()
        waiting = time.perf_counter()
        answers = await self._ask_sources(asking, read)
        answered = time.perf_counter()
        result = await self._fill(asking, read, answers)
        ended = time.perf_counter()
        self._measured(result, ended - started)
        return result.model_copy(
            update={
                "router_ms": read_ms + (ended - answered) * 1e3,
                "took_ms": (ended - started) * 1e3,
                "sources_ms": {**asking.sources_ms, "all": (answered - waiting) * 1e3},
            }
        )

    async def _ask_sources(self, asking: Asking, read: Signals) -> Answers:
        """Ask all sources that the question needs, at the same time."""
        asker, needed = self._asker, asking.needs(read)
        async with asker.reading(asking, read, needed) as reads:
            (notes, last, memories, temporal, facts, capabilities), (documents, lasting) = await asyncio.gather(
                asyncio.gather(
                    self._source(asking, "session", asker.notes(asking, reads), needed),
                    self._source(asking, "last_session", asker.last(reads), needed),
                    self._source(asking, "memories", asker.memories(reads), needed),
                    self._source(asking, "temporal", asker.temporal(reads), needed),
                    self._source(asking, "identity", asker.facts(asking, reads), needed),
                    self._source(asking, "knowledge", asker.knowledge(asking, reads), needed),
                ),
                asyncio.gather(
                    self._source(asking, "documents", asker.documents(reads), needed),
                    self._source(asking, "standing", asker.pinned(asking, reads), needed),
                ),
            )
        return Answers(
            notes, last, memories or [], temporal, facts or [], capabilities, documents, pinned_items=lasting or []
        )

    async def _fill(self, asking: Asking, read: Signals, answers: Answers) -> ContextResult:
        """Fill the budget from the answers, and count the shown memories as read."""
        memories, temporal = answers.memories, answers.temporal
        unknown = (
            bool(memories)
            and "identity" not in read
            and not (temporal and temporal.hits)
            and all(answer.nothing_known for answer in memories)
        )
        if unknown:
            memories = [answer.model_copy(update={"hits": answer.hits[:NEAREST]}) for answer in memories]
        opening = ""
        if temporal is not None and not temporal.hits and read.since is not None and read.until is not None:
            opening = f"{span_name(read.since, read.until, asking.zone)} there are no stored memories."
        if unknown:
            opening = NOT_SURE if any(answer.hits for answer in memories) else NOTHING_STORED
            if answers.pinned_items:  # They may answer it: an allergy answers "Plan a dinner".
                opening = f"Apart from what is known, {opening[0].lower()}{opening[1:]}"
        best, first = (
            ((), ()) if answers.capabilities is None else (answers.capabilities.best, answers.capabilities.first)
        )

        def write(_: None) -> ContextResult:
            gathered = gather(asking, read, answers.notes, answers.last, memories, temporal, answers.facts, best)
            gathered.items += [] if answers.documents is None else sections.of_documents(answers.documents.hits)
            offered = pinned.told(answers.pinned_items, first, asking.request.sections)
            return self._filler.tell(asking, read, gathered, offered, opening)

        others = (answer for answer in (temporal, answers.documents) if answer is not None)
        hits = [hit for answer in (*memories, *others) for hit in answer.hits]
        if sum(len(hit.memory.content) for hit in hits) <= CHARACTERS_ON_LOOP:
            result = write(None)
        else:  # Long texts are processed in a thread, so that other callers are not blocked.
            with acting_for(asking.scope.tenant_id):
                (result,) = await self._texts.map(write, [None])
        shown_ids = {*result.memory_ids[:COUNTED]}
        self._access.add_hits(asking.scope, (hit for hit in hits if hit.memory_id in shown_ids), asking.now)
        return result.model_copy(update={"nothing_known": unknown})

    def _measured(self, result: ContextResult, seconds: float) -> None:
        self._metrics.context_seconds.observe(seconds)
        self._metrics.context_tokens.observe(result.tokens)
        for section in result.sections:
            self._metrics.context_sections.labels(section.name).inc()
        if result.degraded:
            self._metrics.context_degraded.inc()

    async def _source(
        self, asking: Asking, name: str, work: Coroutine[object, object, FoundT], needed: frozenset[str]
    ) -> FoundT | None:
        """Ask one source. Return None if it is not needed, failed, or was too slow."""
        if name not in needed:
            work.close()
            return None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._seconds):
                return await work
        except Exception as error:  # noqa: BLE001  no failure of one source may delay the prompt
            log().warning("context source failed", source=name, error=type(error).__name__)
            asking.failed.append(name)
            return None
        finally:
            asking.sources_ms[name] = (time.perf_counter() - started) * 1e3

    async def _foreign(self, asking: Asking, read: Signals) -> Signals:
        """Add a time named in another language to the signals, if it can be read soon enough."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(DATES_SECONDS):
                with acting_for(asking.scope.tenant_id):
                    (span,) = await self._dates.map(
                        lambda query: signals.foreign_span(query, asking.now, asking.zone), [asking.request.query]
                    )
        except Exception as error:  # noqa: BLE001  a text that the parser cannot read names no time
            log().debug("no time was read", error=type(error).__name__)
            span = None
        asking.sources_ms["dates"] = (time.perf_counter() - started) * 1e3
        return read if span is None else Signals((*read.names, "temporal"), *span, read.parts)
