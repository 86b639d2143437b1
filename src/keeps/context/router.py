"""The context router: read the signals of a message, ask the sources concurrently, fill a token budget.

A source that is too slow or fails is left out and named; the others still answer. No language model is called.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import TypeVar

from keeps.ai.tokens import TokenCounter
from keeps.clock import Clock
from keeps.context import sections, signals, standing
from keeps.context.asking import Asker, Asking
from keeps.context.filling import Filler, gather, span_name
from keeps.context.signals import Signals
from keeps.recall.access import AccessBuffer
from keeps.scope import Scope, in_zone
from keeps.telemetry.logs import log
from keeps.telemetry.metrics import Metrics
from keeps.turns import TextWorker, acting_for
from keeps_client.models import ContextRequest, ContextResult
from keeps_client.zones import zone_of

FoundT = TypeVar("FoundT")
SOURCE_SECONDS = 2.0
DATES_SECONDS = 0.5
COUNTED = 10
"""Number of shown memories that count as read; memories that only fill the budget keep fading."""
NOTHING_STORED = "Nothing that is remembered speaks of this question."
NOT_SURE = "Perhaps nothing that is remembered answers this question; the nearest memories are below."
NEAREST = 5
"""Number of memories shown if probably none answers the question: the answer may still be among them."""
CHARACTERS_ON_LOOP = 50_000
"""Maximum characters of memories for which a context is built on the event loop: about 20 ms."""


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

    async def context(self, scope: Scope, request: ContextRequest) -> ContextResult:
        """Return the context for the prompt of `request.query`: Markdown within the budget, and how it was chosen."""
        started = time.perf_counter()
        request = in_zone(scope, request)
        zone = zone_of(request.timezone) if request.timezone else self._zone
        scope = replace(scope, session_id=request.session_id or scope.session_id)  # Selects the scratchpad.
        asking = Asking(scope, request, self._clock(), zone)
        read = signals.read_signals(request.query, asking.now, zone)
        read_ms = (time.perf_counter() - started) * 1e3
        asks = not {"smalltalk", "follow_up"} & {*read.names}
        if asks and "temporal" not in read and signals.looks_foreign(request.query):
            read = await self._foreign(asking, read)
        await self._asker.warm()
        await self._filler.warm()
        waited = time.perf_counter()
        (notes, last, answers, temporal, facts, sources), (documents, lasting) = await asyncio.gather(
            asyncio.gather(
                self._source(
                    asking,
                    "session",
                    self._asker.notes(asking),
                    when=request.session_id is not None and asking.wants("session") and "smalltalk" not in read,
                ),
                self._source(
                    asking,
                    "last_session",
                    self._asker.last(asking),
                    when=asking.wants("session") and "smalltalk" not in read,
                ),
                self._source(asking, "memories", self._asker.memories(asking, read), when=asks),
                self._source(
                    asking,
                    "temporal",
                    self._asker.temporal(asking, read),
                    when="temporal" in read and asking.wants("temporal"),
                ),
                self._source(
                    asking, "identity", self._asker.facts(asking), when="identity" in read and asking.wants("long_term")
                ),
                self._source(
                    asking,
                    "knowledge",
                    self._asker.knowledge(asking),
                    when=asking.wants("knowledge"),
                ),
            ),
            asyncio.gather(
                self._source(
                    asking,
                    "documents",
                    self._asker.documents(asking),
                    when=asking.wants("documents") and asks,
                ),
                self._source(
                    asking, "standing", self._asker.standing(asking), when=asking.wants("long_term", "skills")
                ),
            ),
        )
        routed = time.perf_counter()
        answers = answers or []
        unknown = (
            bool(answers)
            and "identity" not in read
            and not (temporal and temporal.hits)
            and all(answer.nothing_known for answer in answers)
        )
        best = [answer.model_copy(update={"hits": answer.hits[:NEAREST]}) for answer in answers] if unknown else answers
        opening = ""
        if temporal is not None and not temporal.hits and read.since is not None and read.until is not None:
            opening = f"{span_name(read.since, read.until, asking.zone)} nothing was said that is remembered."
        if unknown:
            opening = NOT_SURE if any(answer.hits for answer in best) else NOTHING_STORED

        def told(_: None) -> ContextResult:
            gathered = gather(asking, read, notes, last, best, temporal, facts or [], sources.best if sources else [])
            gathered.items += [] if documents is None else sections.of_documents(documents.hits)
            offered = standing.told(lasting or [], sources.first if sources else (), request.sections)
            return self._filler.tell(asking, read, gathered, offered, opening)

        others = (answer for answer in (temporal, documents) if answer is not None)
        hits = [hit for answer in (*best, *others) for hit in answer.hits]
        if sum(len(hit.memory.content) for hit in hits) <= CHARACTERS_ON_LOOP:
            result = told(None)
        else:  # Long texts are processed in a thread, so that other callers are not blocked.
            with acting_for(scope.tenant_id):
                (result,) = await self._texts.map(told, [None])
        told_ids = {*result.memory_ids[:COUNTED]}
        self._access.add_hits(scope, (hit for hit in hits if hit.memory_id in told_ids), asking.now)
        ended = time.perf_counter()
        self._measured(result, ended - started)
        return result.model_copy(
            update={
                "nothing_known": unknown,
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
        self, asking: Asking, name: str, work: Coroutine[object, object, FoundT], *, when: bool
    ) -> FoundT | None:
        """Ask one source. Return None if it is not needed, failed, or was too slow."""
        if not when:
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
