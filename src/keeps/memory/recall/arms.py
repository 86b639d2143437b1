"""The arms of recall: each finds memories in its own way and scores how well they fit.

To add an arm, write a statement in `queries.sql` with its function in `store.py`, a method here that `find` calls and
a field of `ArmResults`. Its weight belongs in `fusion.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from uuid import UUID

import numpy as np

from keeps.base.clock import Clock
from keeps.base.text.words import count_terms, is_spaceless, terms_by_word
from keeps.memory.recall import bm25, store
from keeps.memory.recall.caches import MANY_WORDS, SignsCache, WordsCache, vocabulary_of
from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.misspelt import Vocabulary, alike, first_letters, likest
from keeps.memory.recall.signs import Nearest, read_signs
from keeps.memory.recall.words import Holders, Layout, Positions, Postings, WordScores, left_out_of, read_matches
from keeps.models.embedder import Floats, QueryEmbedding
from keeps.store.db.session import Tx
from keeps.store.db.statements import Condition
from keeps_client.models import RecallRequest

MAX_TERMS, MAX_COMPARED = 128, 3
"""Maximum number of words of a question that are searched, and of unknown words that are compared."""
SMALL_AUDIENCE = 5_000
"""Maximum audience in which an unknown word is compared with all words, not only with similar beginnings."""
NEAR, MANY_NEAR = 100, 200
"""Number of candidates chosen by the signs of their vectors: up to 50,000 memories, and above.

In 28,000 real texts these candidates contain 99.4 % of the ten nearest memories.
"""
PASSING = 200
"""Minimum number of candidates that pass from signs to full vectors when only the nearest memories are wanted."""
FILTERED = 512
"""Number of best candidates in the first batch that a filter checks."""
SEEN_AT_ONCE = 200_000
"""Signs of this many vectors are compared in two milliseconds; larger comparisons run in a thread."""
_NAME_WORD = re.compile(r"@[\w.]+|[^\W_]+(?:['’.&-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question and the selection of memories that may answer it.

    `query`: the question's vectors, None without a model.
    `depth`: number of memories that an arm returns at most.
    """

    request: RecallRequest
    selection: Selection
    query: QueryEmbedding | None
    depth: int


@dataclass(slots=True)
class ArmResults:
    """Results of the arms.

    `scored`: all memories that contain a word of the question.
    `holders`: which words each memory contains.
    `places`: positions of the best memories by text and by meaning.
    `keys`, `graph`: memories by id.
    `total`: number of memories in the audience.
    `idf`: rarity of each word of the question; under "" the rarity of a word that no memory contains.
    `all_words`: text score of a memory of average length that contains each word once.
    """

    total: int
    scored: WordScores
    all_words: float = 0.0
    holders: Holders = field(default_factory=Holders)
    places: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    keys: set[UUID] = field(default_factory=set[UUID])
    graph: dict[UUID, float] = field(default_factory=dict[UUID, float])
    idf: dict[str, float] = field(default_factory=dict[str, float])


class Arms:
    """All ways to find memories, built on the statements of `store`.

    `model`: the model whose vectors are compared.
    """

    def __init__(self, model: str, clock: Clock) -> None:
        self.model = model
        self._clock = clock
        self._signs = SignsCache()
        self._words = WordsCache()

    async def find(self, tx: Tx, asked: RecallQuery) -> ArmResults:
        counts = count_terms(asked.request.query) if asked.request.scope != "indexed" else Counter[str]()
        terms = list(counts)[:MAX_TERMS]
        vectors = None if asked.query is None else (self.model, asked.query.sentence.shape[0])
        # Without vectors, or with a filter, the only hits may be memories that contain nothing but a common word.
        whole = asked.query is None or asked.request.as_of is not None or asked.selection.condition(1) is not None
        postings = await store.postings(tx, terms, asked.selection, vectors, whole=whole)
        results = ArmResults(sum(audience.memories for audience in postings), WordScores(Layout(postings)))
        if terms:
            score_text(results, postings, counts, terms)
            await self._misspelt(tx, asked, postings, results)
        near = np.zeros(0, dtype=np.int64)
        if asked.query is not None:
            passing = max(NEAR if results.total <= 50_000 else MANY_NEAR, asked.depth)
            near = await self._near(tx, postings, asked.query.sentence, asked.selection, passing)
        await self._look_up(tx, asked, results, near)
        if "graph" in (asked.request.providers or ()):
            await self._graph(tx, asked, results)
        await self._key(tx, asked, results)
        return results

    async def most_similar(self, tx: Tx, sentence: Floats, selection: Selection, limit: int) -> dict[UUID, float]:
        """Return the memories whose meaning is nearest, each with its cosine similarity."""
        postings = await store.postings(tx, [], selection, (self.model, sentence.shape[0]))
        return await self.nearest(tx, postings, sentence, selection, limit)

    async def nearest(
        self, tx: Tx, held: Sequence[Postings], sentence: Floats, selection: Selection, limit: int
    ) -> dict[UUID, float]:
        """Return the nearest memories by meaning: first by signs, then by cosine similarity.

        A filter checks growing batches until `limit` memories pass.
        """
        near, layout = await self._near(tx, held, sentence, selection, max(PASSING, 2 * limit)), Layout(held)
        similarities: dict[UUID, float] = {}
        looked, step = 0, max(FILTERED, 2 * limit)
        while looked < len(near) and len(similarities) < limit:
            places = layout.places(near[looked : looked + step])
            similarities |= await store.near(tx, self.model, sentence, places, selection, limit - len(similarities))
            looked, step = looked + step, 8 * step
        return similarities

    async def _near(
        self, tx: Tx, held: Sequence[Postings], sentence: Floats, selection: Selection, passing: int
    ) -> Positions:
        """Return the best positions by the signs of their vectors; all positions if a filter follows."""
        if selection.condition(1) is not None:
            passing = max(passing, sum(audience.memories for audience in held))
        nearest = Nearest(sentence, passing)
        for audience, (_, _, start) in zip(held, Layout(held).parts(), strict=True):
            if audience.signs:
                nearest.see(*read_signs(audience.signs, audience.sign_size), start)
            async for signs in self._signs.of(tx, audience, self.model):
                if len(signs.places) > SEEN_AT_ONCE:
                    await asyncio.to_thread(nearest.see, signs.places, signs.columns, start)
                else:
                    nearest.see(signs.places, signs.columns, start)
        return await asyncio.to_thread(nearest.best) if passing > SEEN_AT_ONCE else nearest.best()

    def forget(self, tenant_id: str) -> None:
        """Drop the cached signs and words of a tenant."""
        self._signs.forget(tenant_id)
        self._words.forget(tenant_id)

    async def _look_up(self, tx: Tx, asked: RecallQuery, found: ArmResults, near: Positions) -> None:
        """Set the positions of the best selected memories by text and by meaning.

        Their exact similarity is measured later, together with everything else.
        """
        scored = found.scored
        if (condition := asked.selection.condition(6)) is None:
            found.places = _each_once(scored.best(asked.depth), near)
            return

        async def selected(count: int, best: Callable[[int], Positions]) -> Positions:
            return await _selected(tx, scored.layout, condition, asked.depth, count, best)

        texts = await selected(len(scored.positions), scored.best)
        found.places = _each_once(texts, await selected(len(near), lambda most: near[:most]))

    async def _misspelt(self, tx: Tx, asked: RecallQuery, held: Sequence[Postings], found: ArmResults) -> None:
        """Score memories with words similar to unknown words of the question, which may be misspelt names.

        Unknown words are those that no memory and no dictionary contains.
        """
        compared = 0
        newest: Vocabulary | None = None
        query = asked.query
        pieces = Counter(piece.lower() for piece in query.words) if query is not None else Counter[str]()
        for word, terms in dict(terms_by_word(asked.request.query)).items():
            rarity = min((found.idf.get(term, 0.0) for term in terms), default=0.0)
            if (
                rarity < found.idf.get("", 0.0)
                or len(word) < 4
                or is_spaceless(word[0])
                or not word.isalpha()
                or pieces.get(word) == 1
            ):
                continue
            compared += 1
            if compared > MAX_COMPARED:
                return
            begins = [""] if found.total <= SMALL_AUDIENCE else first_letters(word)
            if newest is None:
                newest = await vocabulary_of(await store.newest_words(tx, asked.selection))
            listed = [await self._words.of(tx, audience, begins) for audience in held]
            many = sum(len(vocabulary.words) for vocabulary in (newest, *listed)) > MANY_WORDS
            compared_with = partial(_likest, terms[-1], [newest, *listed])
            similar = await asyncio.to_thread(compared_with) if many else compared_with()
            if similar:
                holding = await store.postings(tx, list(similar), asked.selection, whole=True)
                if Layout(holding).same(found.scored.layout):
                    positions, matches = read_matches(holding, list(similar))
                    likeness = np.array(list(similar.values()))[matches.columns]
                    looks_like = np.zeros(len(positions))
                    np.maximum.at(looks_like, matches.rows, likeness)
                    found.scored.add(positions, rarity * looks_like)

    async def _graph(self, tx: Tx, asked: RecallQuery, found: ArmResults) -> None:
        names = names_in(asked.request.query)
        scores = await store.speaking_of(tx, names, found.total, self._clock(), asked.depth)
        passing = await store.passing(tx, scores.keys(), asked.selection)
        found.graph = {each: score for each, score in scores.items() if each in passing}

    async def _key(self, tx: Tx, asked: RecallQuery, found: ArmResults) -> None:
        """Look up the question as the key of a memory, with the namespace as its prefix or in the request."""
        namespace, _, key = asked.request.query.strip().rpartition("/")
        if key and " " not in key and (namespace or asked.request.namespace):
            there = await store.with_key(tx, namespace or asked.request.namespace or "", key)
            found.keys = await store.passing(tx, there, asked.selection)


def _likest(word: str, vocabularies: Sequence[Vocabulary]) -> dict[str, float]:
    return likest(reduce(or_, (alike(word, each) for each in vocabularies)))


async def _selected(
    tx: Tx, layout: Layout, condition: Condition, depth: int, count: int, best: Callable[[int], Positions]
) -> Positions:
    """Return the best positions that pass the filter.

    The filter checks growing batches of `count` candidates until `depth` pass.
    """
    selected = np.zeros(0, dtype=np.int64)
    looked, step = 0, max(FILTERED, depth)
    while looked < count and len(selected) < depth:
        some = best(looked + step)[looked:]
        passing = await store.passing_at(tx, layout.places(some), condition, depth - len(selected))
        selected = np.concatenate((selected, some[passing]))
        looked, step = looked + step, 8 * step
    return selected


def _each_once(*positions: Positions) -> Positions:
    """Return the distinct positions, in the order of their first occurrence."""
    return np.array(list(dict.fromkeys(np.concatenate(positions).tolist())), dtype=np.int64)


def names_in(text: str) -> list[str]:
    """Return the words of a question, alone and in runs of up to four, in the form in which names are compared."""
    words = [re.sub(r"['’]s?$", "", each) for each in _NAME_WORD.findall(text.lower())][:MAX_TERMS]
    return [" ".join(words[start : start + length]) for start in range(len(words)) for length in range(1, 5)]


def score_text(found: ArmResults, held: Sequence[Postings], counts: Counter[str], terms: Sequence[str]) -> None:
    """Score each memory by the words of a question. Words whose lists were all skipped count for no memory."""
    positions, matches = read_matches(held, terms)
    left_out, read_nowhere = left_out_of(held, terms)
    idf = bm25.inverse_frequencies(matches.held_by() + left_out, found.total)
    found.idf = dict(zip(terms, idf.tolist(), strict=True))
    found.idf[""] = float(bm25.inverse_frequencies(np.zeros(1), found.total)[0])
    query_counts = np.array([counts[term] for term in terms], dtype=np.float64)
    found.all_words = float(np.where(read_nowhere, 0.0, idf) @ query_counts)
    average_length = sum(each.words for each in held) / max(found.total, 1)
    found.scored.positions = positions
    common = frozenset(term for term, count in zip(terms, left_out.tolist(), strict=True) if count)
    found.holders = Holders(terms, positions, matches, common)
    found.scored.text = bm25.score(matches, idf, average_length, query_counts)
    # The number of conversations is unknown for a word with skipped lists.
    found.scored.session = bm25.score_sessions(matches, np.where(left_out > 0, 0.0, query_counts))
