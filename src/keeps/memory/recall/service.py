"""Answer recall requests: run the arms, rank the candidates, return hits with reasons."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.base.cache.ttl_cache import TtlCache
from keeps.base.clock import Clock
from keeps.base.fairness import acting_for, current_tenant
from keeps.base.scope import Scope, in_zone, space_owner
from keeps.base.telemetry.metrics import Metrics
from keeps.base.text.searched import embedded_text
from keeps.base.text.words import language_of
from keeps.memory.recall import cues, store
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.arms import RecallQuery, find
from keeps.memory.recall.caches import SignsCache, WordsCache
from keeps.memory.recall.conditions import Selection, select
from keeps.memory.recall.hits import (
    descending,
    end_of_first,
    hits_of,
    later_statements,
    with_newer,
    without_repeats,
    without_small_talk,
)
from keeps.memory.recall.index_source import serves
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.measures import VectorFeatures, best_alone, meant, measure, token_weights
from keeps.memory.recall.passages import (
    LONG_CHARACTERS,
    Span,
    best_passage,
    nearest_sentence,
    sentence_with_terms,
    without_stop_words,
)
from keeps.memory.recall.ranking import Ranking
from keeps.memory.recall.reranking import RERANKED, Reranking
from keeps.memory.recall.rows import Packed, Rows, no_turns
from keeps.memory.recall.shared import SharedIndexSource
from keeps.memory.recall.source import DatabaseSource, Source
from keeps.memory.recall.updates import asks_of_the_past
from keeps.models.embedder import Embedder, Floats, QueryEmbedding, ReadsInPieces
from keeps.models.reranker import Reranker
from keeps.models.token_vectors import similarities
from keeps.store.db.session import Database
from keeps.store.events import store as events
from keeps_client.errors import KeepsError, NotFoundError, PayloadTooLargeError
from keeps_client.models import Hit, Memory, Passage, RecallRequest, RecallResult
from keeps_client.models.memories import Layer
from keeps_client.zones import zone_of

ARM_DEPTH, PAST_DEPTH = 60, 400
EXPANDED = 30
ASKED_KEPT, ASKED_SECONDS = 512, 600.0
MOST_ASKED = 1_200
"""Number of characters of a long question whose words are searched, about as many as the word limit covers.

The vector is that of the whole question.
"""
BEHIND_WEIGHT = 0.5
CATCHING_UP = 3
"""Number of times that arrays are brought up to date for one question, while others write."""
SETTLE_SECONDS = 0.6
"""Time that recall waits, if no hit is clear, for vectors of memories that this process just stored."""
CLEAR_RELEVANCE = 0.6
"""Relevance that a current hit must reach, or else the archive is searched too."""
PASSAGES = 20
"""Number of best hits whose passages are returned."""
MANY_PRODUCTS = 20_000_000
"""Bytes of word vectors times words of the question whose late interaction takes ten milliseconds.

Larger input runs in a thread.
"""
EMBEDDING_SECONDS = 20.0
"""Time limit for embedding a question; after it the answer comes from words alone. The first call loads the model."""
LOOKED_AT_AGAIN_SECONDS = 0.01
"""Reranking time above which the hits are read again, in case they were changed or erased."""


Choose = Callable[[str, Sequence[Span], npt.NDArray[np.float32], npt.NDArray[np.float32]], Span | None]
"""Picks a part of a text: `best_passage` or `nearest_sentence`."""


@dataclass(frozen=True, slots=True)
class RankedResult:
    """A result together with the ranking behind it."""

    result: RecallResult
    ranking: Ranking
    query: QueryEmbedding | None


@dataclass(frozen=True, slots=True)
class Question:
    """A request with the question's vectors.

    `failed`: the embedding model did not answer. `reranking`: reads the hits again; None if the request wants none.
    """

    request: RecallRequest
    query: QueryEmbedding | None
    failed: bool
    reranking: Reranking | None

    @property
    def least(self) -> int:
        """Return the number of memories to read at least."""
        return 0 if self.reranking is None else RERANKED


class RecallService:
    """Answers questions. Only reads; accesses are buffered and written later."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None,
        access: AccessBuffer,
        clock: Clock,
        reranker: Reranker | None = None,
        *,
        settled: Callable[[Scope, float], Awaitable[bool]],
        indexes: AudienceIndexes,
        metrics: Metrics,
        zone: tzinfo = UTC,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._reranking = None if reranker is None else Reranking(reranker)
        self._access = access
        self._clock = clock
        self._settled = settled
        self._zone = zone
        self._model = embedder.model if embedder is not None else ""
        self._caches = SignsCache(), WordsCache()
        self._indexes = indexes
        self._metrics = metrics
        self._warm = False
        self._asked: TtlCache[tuple[str, str, str], QueryEmbedding] = TtlCache(ASKED_KEPT, ASKED_SECONDS)
        """Vectors of recent questions, by tenant and user: a router asks several sources, and users ask again.

        Shared between users, the response time would reveal that somebody asked the same question.
        """

    async def recall(
        self, scope: Scope, request: RecallRequest, *, counted: bool = True, reranked: bool = True
    ) -> RecallResult:
        """Return the memories that best answer `request.query`, best first.

        `counted`: count an access to each relevant hit; a request for explanations counts none.
        `reranked`: call the reranker, if there is one.

        If the embedding model is unreachable, the answer comes from words alone and `partial` is set.
        If the model does not know the question's script, the answer also comes from words alone.
        If the reranker does not answer in time, the order stays as it was and `partial` is set.
        """
        return (await self.answer(scope, request, counted=counted, reranked=reranked)).result

    async def recall_all(
        self, scope: Scope, requests: Sequence[RecallRequest], *, counted: bool = True, reranked: bool = True
    ) -> list[RecallResult]:
        """Return what `recall` returns for each request; where arrays are held, their hits are read at once."""
        answers = await self._answer_all(scope, requests, counted=counted, reranked=reranked)
        return [answer.result for answer in answers]

    def holds(self, scope: Scope, layer: Layer) -> bool:
        """Return whether arrays are held and have memories of a layer."""
        with self._indexes.reading(scope) as indexes:
            return indexes is not None and any(index.has_layer(layer) for index in indexes)

    async def answer(
        self, scope: Scope, request: RecallRequest, *, counted: bool = True, reranked: bool = True
    ) -> RankedResult:
        """Recall, and keep the ranking for `nearest_sentences`."""
        (answer,) = await self._answer_all(scope, [request], counted=counted, reranked=reranked)
        return answer

    async def _answer_all(
        self, scope: Scope, requests: Sequence[RecallRequest], *, counted: bool, reranked: bool
    ) -> list[RankedResult]:
        if not requests:
            return []
        started = time.perf_counter()
        questions = await self._questions(scope, requests, reranked=reranked)
        now = self._clock()
        ranked = await self._answers_to_all(scope, questions, now)
        weak = [at for at, question in enumerate(questions) if question.query is not None and _is_weak(ranked[at][0])]
        if weak and await self._settled(scope, SETTLE_SECONDS):
            again = await self._answers_to_all(scope, [questions[at] for at in weak], now)
            for at, answer in zip(weak, again, strict=True):
                ranked[at] = answer
        answers: list[RankedResult] = []
        for question, (ranking, memories) in zip(questions, ranked, strict=True):
            answers.append(await self._result(scope, question, ranking, memories, now, started))
            if counted and not question.request.explain:
                self._access.add_hits(scope, answers[-1].result.hits, now)
        return answers

    async def _questions(self, scope: Scope, requests: Sequence[RecallRequest], *, reranked: bool) -> list[Question]:
        """Return the requests with their vectors. Questions with the same words are embedded once."""
        requests = [in_zone(scope, request) for request in requests]
        texts = list(dict.fromkeys(request.query for request in requests if request.scope != "persistent"))
        with acting_for(scope.tenant_id):
            embedded = await asyncio.gather(*(self._embed(text, scope.user_id) for text in texts))
        vectors = dict(zip(texts, embedded, strict=True))
        questions: list[Question] = []
        for request in requests:
            query, failed = (None, False) if request.scope == "persistent" else vectors[request.query]
            if query is not None and not query.reads and request.scope != "indexed":
                query = None
            reranks = reranked and request.rerank is not False and request.scope != "persistent"
            questions.append(Question(request, query, failed, self._reranking if reranks else None))
        return questions

    async def _result(
        self,
        scope: Scope,
        question: Question,
        ranking: Ranking,
        memories: Mapping[UUID, Memory],
        now: datetime,
        started: float,
    ) -> RankedResult:
        """Return the hits of a ranking, read again by the reranker if the question asks for it."""
        request, query = question.request, question.query
        failed = ["embedder"] if question.failed else []
        if question.reranking is not None:
            reranking_started = time.perf_counter()
            with acting_for(scope.tenant_id):
                ranking, read = await question.reranking.reranked(ranking, memories)
            failed += [] if read else ["reranker"]
            if time.perf_counter() - reranking_started > LOOKED_AT_AGAIN_SECONDS:
                memories = await self._still_there(scope, ranking, memories, now)
        hits = without_repeats(hits_of(ranking, memories, end_of_first(ranking, request.limit)))
        hits = without_small_talk(hits, request.query)[: request.limit]
        if query is not None and query.tokens is not None:
            passages = await self._passages(hits, ranking, query)
            hits = [
                hit.model_copy(update={"passage": passages[hit.memory_id]}) if hit.memory_id in passages else hit
                for hit in hits
            ]
        newer = later_statements(hits, ranking)
        hits = descending(with_newer(hits, newer, first=not asks_of_the_past(request.query)))
        nothing_known = not hits or ranking.nothing_known
        if request.min_relevance is not None:
            hits = [hit for hit in hits if hit.relevance is None or hit.relevance >= request.min_relevance]
        result = RecallResult.model_construct(
            hits=hits,
            nothing_known=nothing_known,
            took_ms=(time.perf_counter() - started) * 1e3,
            partial=bool(failed),
            failed_providers=failed,
        )
        return RankedResult(result, ranking, query)

    async def nearest_sentences(
        self, scope: Scope, answer: RankedResult, memories: Sequence[Memory]
    ) -> dict[UUID, Span]:
        """Return the characters of the sentence that answers best, for each of some hits.

        By the vectors of its words, or by shared words where a memory has no vectors. A memory that shares no word
        with the question is left out.
        """
        sentences: dict[UUID, Span] = {}
        language = language_of(answer.ranking.request.query)
        if memories and answer.query is not None and answer.query.tokens is not None:
            weights = without_stop_words(answer.ranking.weights, answer.query.words, language)
            with acting_for(scope.tenant_id):
                sentences = await self._marked(memories, answer.ranking, answer.query, weights, nearest_sentence)
        for memory in memories:
            if memory.memory_id not in sentences:
                span = sentence_with_terms(memory.content, answer.ranking.idf, language)
                if span is not None:
                    sentences[memory.memory_id] = span
        return sentences

    async def most_similar(self, scope: Scope, content: str, limit: int) -> list[tuple[Memory, float]]:
        """Return the user's own facts with the most similar meaning, nearest first, each with its cosine similarity.

        Empty without a model.
        """
        if self._embedder is None:
            return []
        (embedding,) = await self._embedder.embed([content])
        request = RecallRequest(query=content[:10_000], kinds=("semantic",), scope="own", limit=limit)
        selection = select(request, scope, self._clock())
        async with self._database.reading(scope) as tx:
            source = DatabaseSource(tx, selection, self._model, len(embedding.sentence), self._caches)
            nearest = await source.most_similar(embedding.sentence, limit)
            memories = await store.memories(tx, list(nearest), self._clock())
        similar = [
            (memories[memory_id], similarity) for memory_id, similarity in nearest.items() if memory_id in memories
        ]
        return sorted(similar, key=lambda pair: -pair[1])

    async def vector(self, scope: Scope, text: str) -> Floats | None:
        """Return the vector of a question as it is searched; None without a model or if it is unreachable."""
        with acting_for(scope.tenant_id):
            query, _ = await self._embed(text, scope.user_id)
        return None if query is None else query.sentence

    async def _passages(self, hits: Sequence[Hit], ranking: Ranking, query: QueryEmbedding) -> dict[UUID, Passage]:
        """Return the nearest sentences of each long memory."""
        long = [hit.memory for hit in hits[:PASSAGES] if len(hit.memory.content) >= LONG_CHARACTERS]
        spans = await self._marked(long, ranking, query, ranking.weights, best_passage)
        return {memory_id: Passage(start=start, end=end) for memory_id, (start, end) in spans.items()}

    async def _marked(
        self,
        memories: Sequence[Memory],
        ranking: Ranking,
        query: QueryEmbedding,
        weights: npt.NDArray[np.float32],
        choose: Choose,
    ) -> dict[UUID, Span]:
        """Return the part that `choose` picks of each memory that has word vectors.

        `weights`: weights of the question's words.
        """
        if not memories:
            return {}
        rows, place = ranking.rows, ranking.places
        places = [(memory, place[memory.memory_id.bytes]) for memory in memories if memory.memory_id.bytes in place]
        marked = [(memory, rows.tokens_of(each)) for memory, each in places if rows.table["tokens"][each]]
        if not marked or not isinstance(self._embedder, ReadsInPieces):
            return {}
        texts = [
            embedded_text(memory.kind, memory.content, memory.metadata, memory.trigger_condition, memory.layer)
            for memory, _ in marked
        ]
        spans = await self._embedder.spans(texts)
        return await asyncio.to_thread(_marked, marked, texts, spans, query, weights, choose)

    def forget(self, tenant_id: str) -> None:
        """Drop all cached memories and questions of a tenant, after an erasure."""
        for cache in (*self._caches, self._indexes):
            cache.forget(tenant_id)
        self._asked.drop(lambda key: key[0] == tenant_id)

    async def warm(self) -> None:
        """Load the embedding model, so that the loading time does not count against a context's time limit."""
        if self._embedder is not None and not self._warm:
            self._warm = True
            await self._embed("warm", "")

    async def _embed(self, text: str, user_id: str) -> tuple[QueryEmbedding | None, bool]:
        if self._embedder is None:
            return None, False
        key = current_tenant(), user_id, text
        cached = self._asked.get(key)
        if cached is not None:
            return cached, False
        try:
            behind = cues.preferences_behind(text)
            async with asyncio.timeout(EMBEDDING_SECONDS):
                query, *others = await asyncio.gather(*map(self._embedder.embed_query, (text, *behind)))
        except (KeepsError, TimeoutError):
            return None, True
        if others:
            sentence = query.sentence + BEHIND_WEIGHT * np.sum([each.sentence for each in others], axis=0)
            query = replace(query, sentence=(sentence / np.linalg.norm(sentence)).astype(np.float32))
        self._asked.put(key, query)
        return query, False

    async def _answers_to_all(
        self, scope: Scope, questions: Sequence[Question], now: datetime
    ) -> list[tuple[Ranking, Mapping[UUID, Memory]]]:
        """Return the ranking of each question and its best memories: of one moment where arrays are held."""
        if len({question.request.spaces for question in questions}) > 1:
            return [(await self._answers_to_all(scope, [question], now))[0] for question in questions]
        if all(serves(select(question.request, scope, now)) for question in questions):
            try:
                ranked = await self._answers_from_arrays(scope, questions, now)
            except PayloadTooLargeError:
                if len(questions) == 1:
                    raise
                return [(await self._answers_to_all(scope, [question], now))[0] for question in questions]
            self._metrics.cache.labels("audiences", "miss" if ranked is None else "hit").inc(len(questions))
            if ranked is not None:
                return ranked
            self._indexes.note(replace(scope, open_spaces=self._indexes.known_spaces(scope) or ()))
        return list(await asyncio.gather(*(self._answers(scope, question, now) for question in questions)))

    async def _answers(self, scope: Scope, question: Question, now: datetime) -> tuple[Ranking, Mapping[UUID, Memory]]:
        """Return the ranking and the best memories, as one transaction sees them."""
        request, query = question.request, question.query
        async with self._database.reading(scope) as tx:
            if request.as_of is not None:
                await events.check_reachable(tx, request.as_of)
            spaces = await store.open_spaces(tx)
            self._indexes.know_spaces(scope, spaces)
            scope = replace(scope, open_spaces=_chosen(spaces, request))
            dimensions = 0 if query is None else query.sentence.shape[0]

            def source(selection: Selection) -> DatabaseSource:
                return DatabaseSource(tx, selection, self._model, dimensions, self._caches)

            ranking = await self._ranking(source, scope, request, query, now)
            memories = ranking.past or await store.memories(tx, _wanted(ranking, question), now)
            return ranking.latest_first(memories), memories

    async def _answers_from_arrays(
        self, scope: Scope, questions: Sequence[Question], now: datetime
    ) -> list[tuple[Ranking, Mapping[UUID, Memory]]] | None:
        """Return what `_answers` does for each question, ranked in memory and read by one statement.

        None if the audiences are not held, or others write a lot.
        """
        for _ in range(CATCHING_UP):
            spaces = self._indexes.known_spaces(scope)
            if spaces is None or not _wanted_spaces(questions[0].request).keys() <= set(spaces):
                return None  # The user may have joined since: the database says so.
            scope = replace(scope, open_spaces=_chosen(spaces, questions[0].request))
            with self._indexes.reading(scope) as indexes:
                if indexes is None:
                    return None
                versions = [index.version for index in indexes]
                looked_up: dict[tuple[object, ...], Any] = {}
                rankings: list[Ranking] = []
                for question in questions:
                    request, query = question.request, question.query
                    source = partial(SharedIndexSource, indexes, looked_up, vectors=query is not None)
                    rankings.append(await self._ranking(source, scope, request, query, now))
                wanted = [_wanted(ranking, question) for ranking, question in zip(rankings, questions, strict=True)]
                every = list(dict.fromkeys(chain.from_iterable(wanted)))
                memories = await store.hits(self._database, scope, spaces, versions, every, now)
            if memories is not None:
                ranked: list[tuple[Ranking, Mapping[UUID, Memory]]] = []
                for ranking, ids in zip(rankings, wanted, strict=True):
                    own = {memory_id: memories[memory_id] for memory_id in ids if memory_id in memories}
                    ranked.append((ranking.latest_first(own), own))
                return ranked
            if not await self._indexes.catch_up(scope, versions):
                return None
        return None

    async def _ranking(
        self,
        source: Callable[[Selection], Source],
        scope: Scope,
        request: RecallRequest,
        query: QueryEmbedding | None,
        now: datetime,
    ) -> Ranking:
        """Rank the current memories, or with archived ones where no current one clearly answers."""
        ranking = await self._search(source, scope, request, query, now)
        if request.include_archived is None and request.as_of is None and ranking.has_archived and _is_weak(ranking):
            wider = request.model_copy(update={"include_archived": True})
            return await self._search(source, scope, wider, query, now)
        return ranking

    async def _search(
        self,
        source: Callable[[Selection], Source],
        scope: Scope,
        request: RecallRequest,
        query: QueryEmbedding | None,
        now: datetime,
    ) -> Ranking:
        selection = select(request, scope, now)
        ranking = await self._ranked(source(selection), request, selection, query)
        if len(ranking.order) < request.limit and ranking.dropped and not selection.filters:
            # Expired rows filled the arms: filter by time before the limits.
            selection = select(request, scope, now, always=True)
            ranking = await self._ranked(source(selection), request, selection, query)
        return ranking

    async def _ranked(
        self, source: Source, request: RecallRequest, selection: Selection, query: QueryEmbedding | None
    ) -> Ranking:
        depth = max(ARM_DEPTH if request.as_of is None else PAST_DEPTH, 2 * request.limit)
        if len(request.query) > MOST_ASKED:
            request = request.model_copy(update={"query": request.query[:MOST_ASKED]})
        recall_query = RecallQuery(request, selection, query, depth)
        results = await find(source, recall_query)
        weights = token_weights(query.words if query is not None else (), request.query, results)
        rows = await source.rows(results.places, {*results.keys, *results.graph})
        read = await _meant(rows, recall_query, weights)
        turns = no_turns(0)
        if best := best_alone(rows, read, recall_query, results, EXPANDED):
            others, turns = await source.around(rows, best)
            rows, read = rows.and_those(others), read.and_those(await _meant(others, recall_query, weights))
        here = await source.here(rows)
        dropped = request.as_of is None and not here.all()
        rows, read = rows.only(here), read.only(here)
        zone = zone_of(request.timezone) if request.timezone else self._zone
        candidates = measure(rows, read, recall_query, results, turns, weights, self._clock(), zone)
        return Ranking.of(
            request,
            rows,
            candidates,
            results,
            weights,
            source.past,
            dropped=dropped,
            has_archived=source.has_archived,
        )

    async def _still_there(
        self, scope: Scope, ranking: Ranking, memories: Mapping[UUID, Memory], now: datetime
    ) -> Mapping[UUID, Memory]:
        """Return the best memories that were neither changed nor erased while the reranker read."""
        async with self._database.reading(scope) as tx:
            again = await store.memories(tx, ranking.first(max(ranking.request.limit, RERANKED)), now)
        if ranking.past:
            return {memory_id: memory for memory_id, memory in memories.items() if memory_id in again}
        return {
            memory_id: memory
            for memory_id, memory in again.items()
            if memory_id in memories and memory.version == memories[memory_id].version
        }


def _wanted_spaces(request: RecallRequest) -> dict[str, str]:
    """Return the spaces that a request names, by their owners."""
    return {space_owner(space_id): space_id for space_id in request.spaces or ()}


def _chosen(spaces: tuple[str, ...], request: RecallRequest) -> tuple[str, ...]:
    """Return the owners of the spaces that a request searches, of those that the user may read.

    Raises NotFoundError for a space that the user may not read.
    """
    if request.spaces is None:
        return spaces
    wanted = _wanted_spaces(request)
    for owner, space_id in wanted.items():
        if owner not in spaces:
            raise NotFoundError(
                f"no space {space_id!r} that you are a member of; `keeps spaces list` (GET /v1/spaces) lists yours"
            )
    return tuple(sorted(wanted))


def _wanted(ranking: Ranking, question: Question) -> list[UUID]:
    """Return the memories to read for the hits of a question."""
    return ranking.wanted(max(end_of_first(ranking, question.request.limit), question.least))


def _is_weak(ranking: Ranking) -> bool:
    """Return whether no hit clearly answers the query, so that the archive is worth searching."""
    best = ranking.relevance[ranking.order[: ranking.request.limit]]
    return not bool((best >= CLEAR_RELEVANCE).any())


async def _meant(rows: Rows, asked: RecallQuery, weights: npt.NDArray[np.float32]) -> VectorFeatures:
    if rows.tokens.nbytes * len(weights) > MANY_PRODUCTS:
        return await asyncio.to_thread(meant, rows, asked, weights)
    return meant(rows, asked, weights)


def _marked(
    memories: Sequence[tuple[Memory, Packed]],
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
    query: QueryEmbedding,
    weights: npt.NDArray[np.float32],
    choose: Choose,
) -> dict[UUID, Span]:
    """Return the part of each memory's content that `choose` picks.

    `texts`: the embedded text of each memory, which ends with its content.
    `spans`: the characters of that text that each word vector covers.
    """
    marked: dict[UUID, Span] = {}
    for (memory, tokens), text, places in zip(memories, texts, spans, strict=True):
        # The stored vectors may belong to another version of the text.
        if query.tokens is None or len(tokens) != len(places):
            continue
        begin = len(text) - len(memory.content)
        inside = [(start - begin, end - begin) for start, end in places if start >= begin]
        before = len(places) - len(inside)
        span = choose(memory.content, inside, similarities(query.tokens, tokens[before:]), weights)
        if span is not None:
            marked[memory.memory_id] = span
    return marked
