"""Recall: arms over the index, one ranking, the hits with the reasons."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from uuid import UUID

import numpy as np

from keeps.ai.embedder import Embedder, QueryEmbedding
from keeps.ai.token_vectors import TOKEN_BYTES, max_similarity
from keeps.clock import Clock
from keeps.db.session import Database, Tx
from keeps.events import store as events
from keeps.memories.retention import retention
from keeps.recall import bm25, cues, fusion, store
from keeps.recall.access import AccessBuffer
from keeps.recall.bm25 import TextMatches
from keeps.recall.conditions import Selection, select
from keeps.recall.fusion import Candidates, Part
from keeps.recall.store import Candidate, read_sentences
from keeps.recall.updates import Told, latest_first
from keeps.scope import Scope
from keeps.text.words import count_terms, stem, terms_of, words_of
from keeps.turns import acting_for
from keeps_client.errors import KeepsError
from keeps_client.models import Explanation, Hit, Memory, RecallRequest, RecallResult

ARM_DEPTH, PAST_DEPTH = 60, 400
EXPANDED = 25
STATISTICS_SECONDS = 30.0
LOOKS_LIKE = 0.45
MAX_TERMS, MAX_COMPARED = 128, 3
"""Of a very long question, so many words are searched, and so many unknown ones compared with what is there."""
STOP_WORD_SHARE = 0.5
COMMON_MEMORIES = 2_000
ASKED_KEPT = 512
BEHIND_WEIGHT = 0.5
EMBEDDING_SECONDS = 20.0
"""So long a question waits for its vector; then the answer comes from words alone. The first one loads the model."""


_NAME_WORD = re.compile(r"@[\w.]+|[^\W_]+(?:['’.&-][^\W_]+)*")


@dataclass(slots=True)
class _Found:
    """What the arms found, by memory. `text` and `session` know a memory by the bytes of its id: they are many."""

    text: dict[bytes, float]
    session: dict[bytes, float]
    vector: dict[UUID, float]
    keys: set[UUID]
    graph: dict[UUID, float]
    idf: dict[str, float]
    total: int


class RecallService:
    """Answers questions. Reads only; readings are counted in a buffer and written later."""

    def __init__(self, database: Database, embedder: Embedder | None, access: AccessBuffer, clock: Clock) -> None:
        self._database = database
        self._embedder = embedder
        self._access = access
        self._clock = clock
        self._common_terms: dict[tuple[str, str], dict[str, float]] = {}
        self._statistics: dict[tuple[str, str], tuple[float, tuple[int, int]]] = {}
        self._warm = False
        self._asked: dict[str, QueryEmbedding] = {}
        """Vectors of the last questions: a router asks one of several sources, and users ask again."""

    async def recall(self, scope: Scope, request: RecallRequest, *, counted: bool = True) -> RecallResult:
        """The memories that best answer `request.query`, best first. `counted`: whether each hit has been read by that.

        Where the embedding model cannot be reached the answer comes from words alone, and says so by `partial`.
        """
        started = time.perf_counter()
        with acting_for(scope.tenant_id):
            query, partial = (None, False) if request.scope == "persistent" else await self._embed(request.query)
        now = self._clock()
        async with self._database.scoped(scope) as tx:
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
                tier="indexed" if request.scope != "persistent" and ranked.indexed(memory_id) else "persistent",
                explanation=ranked.explanation(position) if request.explain else None,
                relevance=ranked.relevance[position],
                similarity=ranked.similarity[position],
            )
            for memory_id, score, position in ranked.hits
            if memory_id in memories
        ]
        nothing_known = not hits or is_nothing_known(ranked.relevance, request.query, ranked.terms)
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
        async with self._database.scoped(scope) as tx:
            memories, _ = await self._audience_statistics(tx)
            found = await store.nearest(
                tx,
                self._embedder.model,
                embedding.sentence,
                selection.lives,
                selection.condition(7),
                first_pass=first_pass_for(memories, 1),
                limit=1,
            )
            for memory_id, similarity in found.items():
                memory = (await store.memories(tx, [memory_id], self._clock())).get(memory_id)
                return None if memory is None else (memory, similarity)
        return None

    async def warm(self) -> None:
        """Have the embedding model loaded: what takes its time once must not count against a question's."""
        if self._embedder is not None and not self._warm:
            self._warm = True
            await self._embed("warm")

    async def _embed(self, text: str) -> tuple[QueryEmbedding | None, bool]:
        if self._embedder is None:
            return None, False
        known = self._asked.get(text)
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
        if len(self._asked) >= ASKED_KEPT:
            del self._asked[next(iter(self._asked))]
        self._asked[text] = query
        return query, False

    async def _ranked(
        self, tx: Tx, request: RecallRequest, selection: Selection, query: QueryEmbedding | None
    ) -> _Ranked:
        depth = max(ARM_DEPTH if request.as_of is None else PAST_DEPTH, 2 * request.limit)
        found = await self._arms(tx, request, selection, query, depth)
        first = _first_stage(found, depth)
        turns = await store.neighbours(tx, first[:EXPANDED], selection.lives) if first else {}
        around = {other for before, after in turns.values() for other in (*before, *after)} - set(first)
        condition = selection.condition(3)
        if around and condition is not None:
            around = await store.passing(tx, list(around), condition)
        wanted = [*first, *sorted(around)]
        model = self._embedder.model if self._embedder else ""
        rows = {row.memory_id: row for row in await store.candidates(tx, wanted, model)}
        past: dict[UUID, Memory] = {}
        if request.as_of is not None:
            past = await store.as_of(
                tx, list(rows), request.as_of, selection.past(5), archived=request.include_archived
            )
            rows = {each: rows[each] for each in rows if each in past}
        current = [
            rows[each]
            for each in wanted
            if each in rows and selection.is_current(rows[each].valid_from, rows[each].valid_to, rows[each].expires_at)
        ]
        candidates = self._measure(current, request, query, found, turns)
        total, parts, order = fusion.rank(candidates)
        told = [Told(row.memory_id, row.opening, row.role, row.speaker, row.valid_from) for row in current]
        sentences = candidates.sentences
        order = latest_first(
            order, told, request.query, found.idf, lambda one, other: float(sentences[one] @ sentences[other])
        )
        hits = [(current[position].memory_id, float(total[position]), position) for position in order[: request.limit]]
        dropped = len(rows) > len(current)
        relevant = list(map(fusion.relevance, candidates.vector.tolist(), candidates.tokens.tolist()))
        similar = [None if np.isnan(each) else round(each, 4) for each in candidates.vector.tolist()]
        return _Ranked(
            hits, parts, current, past, relevant, similar, dropped=dropped, terms=_matched(request.query, found)
        )

    async def _arms(
        self, tx: Tx, request: RecallRequest, selection: Selection, query: QueryEmbedding | None, depth: int
    ) -> _Found:
        counts = count_terms(request.query) if request.scope != "indexed" else Counter[str]()
        terms = list(counts)[:MAX_TERMS]
        memories, words = await self._audience_statistics(tx)
        common = self._common_terms.setdefault((tx.scope.tenant_id, tx.scope.user_id), {})
        # Words that thousands of memories hold decide nothing where a rarer one is asked for, too.
        searched = [term for term in terms if term not in common] or terms
        matches = (
            await store.text_matches(tx, terms, searched, selection.lives, selection.condition(4)) if terms else None
        )
        found = _Found({}, {}, {}, set(), {}, {}, memories)
        if matches is not None:
            found_in = (matches.frequencies > 0).sum(axis=0).astype(np.float64)
            for column, term in enumerate(terms):
                if term not in searched:
                    found_in[column] = common[term]
                elif found_in[column] > COMMON_MEMORIES:
                    common[term] = float(found_in[column])
            _score_text(found, matches, terms, counts, found_in, words / max(memories, 1))
            await self._misspelt(tx, found, request.query, query, selection)
        if query is not None and self._embedder is not None:
            found.vector = await store.nearest(
                tx,
                self._embedder.model,
                query.sentence,
                selection.lives,
                selection.condition(7),
                first_pass=first_pass_for(memories, depth),
                limit=depth,
            )
        if request.providers is not None and "graph" in request.providers:
            found.graph = await store.speaking_of(tx, names_in(request.query), memories, self._clock(), depth)
            if found.graph and (condition := selection.condition(3)) is not None:
                allowed = await store.passing(tx, list(found.graph), condition)
                found.graph = {each: score for each, score in found.graph.items() if each in allowed}
        namespace, _, key = request.query.strip().rpartition("/")
        if key and " " not in key and (namespace or request.namespace):
            found.keys = set(await store.with_key(tx, namespace or request.namespace or "", key))
            if found.keys and (condition := selection.condition(3)) is not None:
                found.keys = await store.passing(tx, list(found.keys), condition)
        return found

    async def _misspelt(
        self, tx: Tx, found: _Found, text: str, query: QueryEmbedding | None, selection: Selection
    ) -> None:
        """Words of the question that no memory has and no dictionary knows may be misspelt names."""
        compared = 0
        pieces = Counter(piece.lower() for piece in query.words) if query is not None else Counter[str]()
        for word in dict.fromkeys(words_of(text)):
            known = found.idf.get(stem(word))
            if (
                known is None
                or known < found.idf.get("", 0.0)
                or len(word) < 4
                or not word.isalpha()
                or pieces.get(word) == 1
            ):
                continue
            compared += 1
            if compared > MAX_COMPARED:
                return
            similar = await store.looks_like(tx, word, LOOKS_LIKE, selection.lives)
            if similar and (condition := selection.condition(3)) is not None:
                allowed = await store.passing(tx, list(similar), condition)
                similar = {each: value for each, value in similar.items() if each in allowed}
            for memory_id, similarity in similar.items():
                found.text[memory_id.bytes] = found.text.get(memory_id.bytes, 0.0) + known * similarity

    async def _audience_statistics(self, tx: Tx) -> tuple[int, int]:
        """Kept for half a minute: a ranking does not change by the few memories that come in meanwhile."""
        who = (tx.scope.tenant_id, tx.scope.user_id)
        known = self._statistics.get(who)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        started = time.monotonic()
        answer = await store.statistics(tx)
        took = time.monotonic() - started
        if len(self._statistics) >= 10_000:
            self._statistics.clear()
            self._common_terms.clear()
        # An audience so large that counting it takes long is counted the less often.
        if answer[0] >= 100:
            self._statistics[who] = (time.monotonic() + max(STATISTICS_SECONDS, took * 1_000), answer)
        return answer

    def _measure(
        self,
        rows: Sequence[Candidate],
        request: RecallRequest,
        query: QueryEmbedding | None,
        found: _Found,
        turns: dict[UUID, tuple[list[UUID], list[UUID]]],
    ) -> Candidates:
        now = self._clock()
        text = request.query
        count = len(rows)
        names = frozenset(words_of(text))
        dates = cues.dates_in(text)
        advice = bool(cues.preferences_behind(text))
        sentences = np.zeros((count, query.sentence.shape[0] if query is not None else 1), dtype=np.float32)
        vector = np.full(count, np.nan)
        tokens = np.full(count, np.nan)
        if query is not None:
            has_vector = np.array([row.sentence is not None for row in rows], dtype=bool)
            if has_vector.any():
                sentences[has_vector] = read_sentences([row.sentence for row in rows if row.sentence is not None])
            vector = np.where(has_vector, sentences @ query.sentence, np.nan).astype(np.float64)
            if query.tokens is not None and request.rerank is not False:
                late = max_similarity(
                    query.tokens, _token_weights(query.words, found), [row.tokens or b"" for row in rows]
                )
                tokens = np.where([bool(row.tokens) for row in rows], late, np.nan).astype(np.float64)
        ids = [row.memory_id for row in rows]
        return Candidates(
            keys=[each.bytes for each in ids],
            text=np.array([found.text.get(each.bytes, 0.0) for each in ids], dtype=np.float64),
            vector=vector,
            tokens=tokens,
            token_counts=np.array([len(row.tokens or b"") // TOKEN_BYTES for row in rows], dtype=np.float64),
            session=np.array([found.session.get(each.bytes, 0.0) for each in ids], dtype=np.float64),
            stated=(
                np.array([cues.states_preference(row.opening, row.role) for row in rows], dtype=np.float64)
                if advice
                else np.zeros(count)
            ),
            speaker=np.array([cues.named_in(names, row.speaker) for row in rows], dtype=np.float64),
            date=(
                np.array([cues.date_match(dates, row.valid_from) for row in rows], dtype=np.float64)
                if dates
                else np.zeros(count)
            ),
            importance=np.array([row.importance for row in rows], dtype=np.float64),
            retention=np.array(
                [
                    (
                        retention(row.importance, row.access_count, row.last_used_at, now)
                        if row.layer == "short_term"
                        else 1.0
                    )
                    for row in rows
                ],
                dtype=np.float64,
            ),
            age_days=np.array(
                [max(0.0, (now - row.valid_from).total_seconds() / 86_400) for row in rows], dtype=np.float64
            ),
            key_match=np.array([each in found.keys for each in ids], dtype=np.float64),
            graph=np.array([found.graph.get(each, 0.0) for each in ids], dtype=np.float64),
            valid_from=[row.valid_from for row in rows],
            sentences=sentences,
            neighbours=_positions(ids, turns),
        )


@dataclass(frozen=True, slots=True)
class _Ranked:
    hits: list[tuple[UUID, float, int]]
    parts: list[Part]
    rows: list[Candidate]
    past: dict[UUID, Memory]
    relevance: list[float | None]
    similarity: list[float | None]
    dropped: bool
    terms: list[str]

    def indexed(self, memory_id: UUID) -> bool:
        return any(row.memory_id == memory_id and row.sentence is not None for row in self.rows)

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


def is_nothing_known(relevances: Sequence[float | None], query: str, terms: Sequence[str]) -> bool:
    """Whether nothing that was looked at speaks of the question, however few of it were asked for. `terms`: words of it
    that were said. Who asks for advice may be answered by a preference that is far from their words."""
    known = [each for each in relevances if each is not None]
    if not relevances or len(known) < len(relevances):
        return not relevances
    of_the_world = not terms and not cues.is_personal(query)
    least = fusion.OF_THE_WORLD_UNDER if of_the_world else fusion.NOTHING_KNOWN_UNDER
    return max(known) < least and not cues.preferences_behind(query)


def first_pass_for(memories: int, depth: int) -> int:
    """How many memories of an audience pass from the distance of sign bits to the exact one; 0 means all, at once.

    Measured on MiniLM vectors of real text, 200 of 5,882 keep 99.9 % of the nearest ten; of up to 2,000 reading all is
    as fast. Of 250,000 made-up ones, 400 keep 97.5 % and 1,250 keep 99.5 %.
    """
    if memories <= 2_000:
        return 0
    return max(200 if memories <= 10_000 else 400, memories // 200, 2 * depth)


def names_in(text: str) -> list[str]:
    """The words of a question, alone and up to four in a row, as names are compared."""
    words = [re.sub(r"['’]s?$", "", each) for each in _NAME_WORD.findall(text.lower())][:MAX_TERMS]
    return [" ".join(words[start : start + length]) for start in range(len(words)) for length in range(1, 5)]


def _score_text(
    found: _Found,
    matches: TextMatches,
    terms: list[str],
    counts: Counter[str],
    found_in: bm25.Scores,
    average_length: float,
) -> None:
    idf = bm25.inverse_frequencies(found_in, found.total)
    found.idf = dict(zip(terms, idf.tolist(), strict=True))
    found.idf[""] = float(bm25.inverse_frequencies(np.zeros(1), found.total)[0])
    if not matches.ids:
        return
    query_counts = np.array([counts[term] for term in terms], dtype=np.float64)
    found.text = dict(zip(matches.ids, bm25.score(matches, idf, average_length, query_counts).tolist(), strict=True))
    found.session = dict(zip(matches.ids, bm25.score_sessions(matches, query_counts).tolist(), strict=True))


def _token_weights(words: Sequence[str], found: _Found) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The square root of each word's rarity; stop words count as words that half the memories have."""
    common = float(bm25.inverse_frequencies(np.array([found.total * STOP_WORD_SHARE]), found.total)[0])
    known: dict[str, float] = {}
    for word in words:
        if word not in known:
            terms = terms_of(word)
            known[word] = found.idf.get(terms[0], common) if terms else common
    return np.sqrt(np.array([known[word] for word in words], dtype=np.float32))


def _first_stage(found: _Found, depth: int) -> list[UUID]:
    """The best of each arm, best first by the mean of their normalised scores."""
    by_text = [UUID(bytes=each) for each in _best(found.text, depth)]
    pool = list(dict.fromkeys([*sorted(found.keys), *by_text, *found.vector, *found.graph]))
    if not pool:
        return []
    text = fusion.normalise(np.array([found.text.get(each.bytes, 0.0) for each in pool], dtype=np.float64))
    vector = fusion.normalise(np.array([found.vector.get(each, np.nan) for each in pool], dtype=np.float64))
    both = text + vector + np.array([2.0 * (each in found.keys) for each in pool])
    return [pool[position] for position in np.argsort(-both, kind="stable")]


def _best(scores: dict[bytes, float], depth: int) -> list[bytes]:
    """The `depth` best, best first; of equals the smaller id."""
    keys = list(scores)
    if len(keys) > depth:
        values = np.fromiter(scores.values(), dtype=np.float64, count=len(keys))
        least = np.partition(values, len(keys) - depth)[len(keys) - depth]
        keys = [keys[position] for position in np.flatnonzero(values >= least)]
    return sorted(keys, key=lambda each: (-scores[each], each))[:depth]


def _positions(
    ids: Sequence[UUID], turns: dict[UUID, tuple[list[UUID], list[UUID]]]
) -> dict[int, list[tuple[int, float]]]:
    """For each candidate the candidates around it in its conversation, and their weights, from the known stretches."""
    place = {each: position for position, each in enumerate(ids)}
    following: dict[UUID, UUID] = {}
    for turn, (before, after) in turns.items():
        stretch = [*reversed(before), turn, *after]
        following.update(pairwise(stretch))
    found: dict[int, list[tuple[int, float]]] = {}

    def join(one: UUID, other: UUID, weight: float) -> None:
        if one in place and other in place:
            found.setdefault(place[one], []).append((place[other], weight))
            found.setdefault(place[other], []).append((place[one], weight))

    for turn, after in following.items():
        join(turn, after, fusion.NEXT_TURN_WEIGHT)
        if after in following:
            join(turn, following[after], fusion.SECOND_TURN_WEIGHT)
    return found


def _matched(text: str, found: _Found) -> list[str]:
    rarest = found.idf.get("", 0.0)
    return [term for term in dict.fromkeys(terms_of(text)) if found.idf.get(term, rarest) < rarest]
