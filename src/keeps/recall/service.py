"""Recall: arms over the index, one ranking, the hits with the reasons."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.ai.embedder import Embedder, Floats, QueryEmbedding, ReadsInPieces
from keeps.ai.token_vectors import TOKEN_BYTES, similarities
from keeps.cache.brief import Brief
from keeps.clock import Clock
from keeps.db.session import Database, Tx
from keeps.events import store as events
from keeps.recall import cues, fusion, store
from keeps.recall.access import AccessBuffer
from keeps.recall.arms import Arms, Asked
from keeps.recall.conditions import Selection, select
from keeps.recall.fusion import Part, Scores
from keeps.recall.measures import Meant, best_alone, meant, measure, token_weights
from keeps.recall.passages import LONG_CHARACTERS, Span, best_passage
from keeps.recall.relevance import is_nothing_known, nearness, question_of, relevances
from keeps.recall.rows import Rows, Turns
from keeps.recall.updates import STATEMENTS, Told, latest_first
from keeps.scope import Scope
from keeps.text.searched import embedded_text
from keeps.turns import acting_for, current_tenant
from keeps_client.errors import KeepsError
from keeps_client.models import Explanation, Hit, Memory, Passage, RecallRequest, RecallResult, Tier

ARM_DEPTH, PAST_DEPTH = 60, 400
EXPANDED = 30
ASKED_KEPT, ASKED_SECONDS = 512, 600.0
BEHIND_WEIGHT = 0.5
PASSAGES = 20
"""Of so many of the best hits the nearest sentences are said."""
MANY_TOKEN_BYTES = 4_000_000
"""Of so many word vectors the late interaction takes ten milliseconds; of more it is left to a thread."""
EMBEDDING_SECONDS = 20.0
"""So long a question waits for its vector; then the answer comes from words alone. The first one loads the model."""


class RecallService:
    """Answers questions. Reads only; readings are counted in a buffer and written later."""

    def __init__(self, database: Database, embedder: Embedder | None, access: AccessBuffer, clock: Clock) -> None:
        self._database = database
        self._embedder = embedder
        self._access = access
        self._clock = clock
        self._arms = Arms(embedder.model if embedder is not None else "", clock)
        self._warm = False
        self._asked: Brief[tuple[str, str], QueryEmbedding] = Brief(ASKED_KEPT, ASKED_SECONDS)
        """Vectors of the last questions: a router asks one of several sources, and users ask again."""

    async def recall(self, scope: Scope, request: RecallRequest, *, counted: bool = True) -> RecallResult:
        """The memories that best answer `request.query`, best first. `counted`: whether each hit has been read by that.

        Where the embedding model cannot be reached the answer comes from words alone, and says so by `partial`;
        where it knows nothing of the question's script, from words alone, too.
        """
        started = time.perf_counter()
        with acting_for(scope.tenant_id):
            query, partial = (None, False) if request.scope == "persistent" else await self._embed(request.query)
        if query is not None and not query.reads and request.scope != "indexed":
            query = None
        now = self._clock()
        async with self._database.reading(scope) as tx:
            if request.as_of is not None:
                await events.check_reachable(tx, request.as_of)
            selection = select(request, scope, now)
            ranked = await self._ranked(tx, request, selection, query)
            if (
                len(ranked.hits) < request.limit
                and ranked.dropped
                and request.as_of is None
                and selection.condition(1) is None
            ):
                # Rows whose time is over filled the arms: ask again with the time as a filter, before the limits.
                ranked = await self._ranked(tx, request, select(request, scope, now, always=True), query)
            memories = ranked.past or await store.memories(tx, [memory_id for memory_id, _, _ in ranked.hits], now)
        hits = [
            Hit.model_construct(
                memory=memories[memory_id],
                score=score,
                provider_id="vector" if request.scope == "indexed" else "postgres",
                tier=ranked.tier(request, position),
                explanation=ranked.explanation(position) if request.explain else None,
                relevance=_said(ranked.relevance[position]),
                similarity=_said(ranked.similarity[position]),
            )
            for memory_id, score, position in ranked.hits
            if memory_id in memories
        ]
        if query is not None and query.tokens is not None:
            passages = await self._passages(hits, ranked, query)
            hits = [
                hit.model_copy(update={"passage": passages[hit.memory_id]}) if hit.memory_id in passages else hit
                for hit in hits
            ]
        nothing_known = not hits or is_nothing_known(ranked.nearness, request.query, ranked.terms)
        if request.min_relevance is not None:
            hits = [hit for hit in hits if hit.relevance is None or hit.relevance >= request.min_relevance]
        if counted:
            self._access.add(scope, [hit.memory.memory_id for hit in hits], now)
        return RecallResult.model_construct(
            hits=hits,
            nothing_known=nothing_known,
            took_ms=(time.perf_counter() - started) * 1e3,
            partial=partial,
            failed_providers=["embedder"] if partial else [],
        )

    async def most_similar(self, scope: Scope, content: str) -> tuple[Memory, float] | None:
        """One's own fact whose meaning is nearest, with its cosine similarity; None where there is none, or no
        model."""
        if self._embedder is None:
            return None
        (embedding,) = await self._embedder.embed([content])
        request = RecallRequest(query=content[:10_000], kinds=("semantic",), scope="own", limit=1)
        selection = select(request, scope, self._clock())
        async with self._database.reading(scope) as tx:
            nearest = await self._arms.most_similar(tx, embedding.sentence, selection)
            if nearest is None:
                return None
            memory = (await store.memories(tx, [nearest[0]], self._clock())).get(nearest[0])
        return None if memory is None else (memory, nearest[1])

    async def vector(self, scope: Scope, text: str) -> Floats | None:
        """Of a question, as it is searched; None without a model, or where it cannot be reached."""
        with acting_for(scope.tenant_id):
            query, _ = await self._embed(text)
        return None if query is None else query.sentence

    async def _passages(self, hits: Sequence[Hit], ranked: _Ranked, query: QueryEmbedding) -> dict[UUID, Passage]:
        """Of long memories, by their ids, the sentences that are nearest to the question."""
        tokens_of = dict(zip(ranked.rows.ids, ranked.rows.tokens, strict=True))
        long = [
            (hit.memory, tokens)
            for hit in hits[:PASSAGES]
            if len(hit.memory.content) >= LONG_CHARACTERS and (tokens := tokens_of.get(hit.memory_id.bytes))
        ]
        if not long or not isinstance(self._embedder, ReadsInPieces):
            return {}
        read = [
            embedded_text(each.kind, each.content, each.metadata, each.trigger_condition, each.layer)
            for each, _ in long
        ]
        spans = await self._embedder.spans(read)
        return await asyncio.to_thread(_marked, long, read, spans, query, ranked.weights)

    def forget(self, tenant_id: str) -> None:
        """Whatever this process keeps of a tenant's memories and questions goes: some of it was erased."""
        self._arms.forget(tenant_id)
        self._asked.drop(lambda key: key[0] == tenant_id)

    async def warm(self) -> None:
        """Have the embedding model loaded: what takes its time once must not count against a question's."""
        if self._embedder is not None and not self._warm:
            self._warm = True
            await self._embed("warm")

    async def _embed(self, text: str) -> tuple[QueryEmbedding | None, bool]:
        if self._embedder is None:
            return None, False
        key = current_tenant(), text
        known = self._asked.get(key)
        if known is not None:
            return known, False
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

    async def _ranked(
        self, tx: Tx, request: RecallRequest, selection: Selection, query: QueryEmbedding | None
    ) -> _Ranked:
        depth = max(ARM_DEPTH if request.as_of is None else PAST_DEPTH, 2 * request.limit)
        asked = Asked(request, selection, query, depth)
        found = await self._arms.find(tx, asked)
        weights = token_weights(query.words if query is not None else (), request.query, found)
        now = self._clock()
        rows = await store.candidates(tx, found.spots(), {*found.keys, *found.graph}, selection, self._arms.model)
        read = await _meant(rows, asked, weights)
        best = [each for each in best_alone(rows, read, asked, found) if rows.sessions[each] is not None][:EXPANDED]
        turns: Turns = {}
        if best:
            ids = [rows.ids[each] for each in best]
            others, turns = await store.around(tx, ids, rows.ids, selection, self._arms.model)
            rows, read = rows.and_those(others), read.and_those(await _meant(others, asked, weights))
        past: dict[UUID, Memory] = {}
        here = selection.current(rows)
        if request.as_of is not None:
            past = await store.as_of(
                tx,
                [UUID(bytes=each) for each in rows.ids],
                request.as_of,
                selection,
                archived=request.include_archived,
            )
            here = np.array([UUID(bytes=each) in past for each in rows.ids], dtype=bool)
        dropped = request.as_of is None and not here.all()
        rows, read = rows.only(here), read.only(here)
        candidates = measure(rows, read, asked, found, turns, weights, now)
        total, parts, order = fusion.rank(candidates)
        told = {
            each: Told(
                rows.memory_id(each), rows.openings[each], rows.roles[each], rows.speakers[each], rows.begins_at(each)
            )
            for each in order[:STATEMENTS]
        }
        sentences = candidates.sentences
        order = latest_first(
            order, told, request.query, found.idf, lambda one, other: float(sentences[one] @ sentences[other])
        )
        hits = [(rows.memory_id(position), float(total[position]), position) for position in order[: request.limit]]
        relevant = relevances(candidates, question_of(found.total, found.idf))
        near, similar = nearness(candidates), candidates.vector.round(4)
        return _Ranked(
            hits,
            parts,
            rows,
            past,
            relevant,
            near,
            similar,
            dropped=dropped,
            terms=found.matched(request.query),
            weights=weights,
        )


@dataclass(frozen=True, slots=True)
class _Ranked:
    hits: list[tuple[UUID, float, int]]
    parts: list[Part]
    rows: Rows
    past: dict[UUID, Memory]
    relevance: Scores
    nearness: Scores
    similarity: Scores
    dropped: bool
    terms: list[str]
    weights: npt.NDArray[np.float32]

    def tier(self, request: RecallRequest, position: int) -> Tier:
        return (
            "indexed" if request.scope != "persistent" and self.rows.numbers["sentence"][position] > 0 else "persistent"
        )

    def explanation(self, position: int) -> Explanation:
        parts: list[Explanation.Part] = []
        for part in self.parts:
            raw = float(part.raw[position])
            if part.weight[position] and (part.points[position] or part.name in ("tokens", "vector", "text")):
                parts.append(
                    Explanation.Part(
                        name=part.name,
                        raw=None if np.isnan(raw) else raw,
                        normalised=float(part.normalised[position]),
                        weight=float(part.weight[position]),
                        points=float(part.points[position]),
                        rank=1 + int((part.points > part.points[position]).sum()),
                    )
                )
        return Explanation(parts=parts, matched_terms=self.terms)


def _said(score: float) -> float | None:
    return None if np.isnan(score) else float(score)


async def _meant(rows: Rows, asked: Asked, weights: npt.NDArray[np.float32]) -> Meant:
    if rows.numbers["tokens"].sum() > MANY_TOKEN_BYTES:
        return await asyncio.to_thread(meant, rows, asked, weights)
    return meant(rows, asked, weights)


def _marked(
    long: Sequence[tuple[Memory, bytes]],
    read: Sequence[str],
    spans: Sequence[Sequence[Span]],
    query: QueryEmbedding,
    weights: npt.NDArray[np.float32],
) -> dict[UUID, Passage]:
    """`read`: what of each memory has word vectors: its content, after who said it or when it applies. `spans`: of
    which characters they are."""
    passages: dict[UUID, Passage] = {}
    for (memory, tokens), text, places in zip(long, read, spans, strict=True):
        # What is stored may be of another version of the text.
        if query.tokens is None or len(tokens) != len(places) * TOKEN_BYTES:
            continue
        begin = len(text) - len(memory.content)
        inside = [(start - begin, end - begin) for start, end in places if start >= begin]
        before = (len(places) - len(inside)) * TOKEN_BYTES
        found = best_passage(memory.content, inside, similarities(query.tokens, tokens[before:]), weights)
        if found is not None:
            passages[memory.memory_id] = Passage(start=found[0], end=found[1])
    return passages
