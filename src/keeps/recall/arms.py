"""The arms of recall: each finds memories in its own way, and says how well they fit.

A new one is a statement in `queries.sql` with its function in `store.py`, a method here that `find` calls, and a field
of `Found`; what that is worth is said in `fusion.py`.
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

from keeps.ai.embedder import Floats, QueryEmbedding
from keeps.clock import Clock
from keeps.db.session import Tx
from keeps.db.statements import Condition
from keeps.recall import bm25, store
from keeps.recall.conditions import Selection
from keeps.recall.kept import MANY_WORDS, KeptSigns, KeptWords, vocabulary_of
from keeps.recall.misspelt import Vocabulary, alike, first_letters, likest
from keeps.recall.signs import Nearest, read_signs
from keeps.recall.words import Holders, Layout, Positions, Postings, Scored, left_out_of, read_matches
from keeps.text.words import count_terms, is_spaceless, terms_by_word
from keeps_client.models import RecallRequest

MAX_TERMS, MAX_COMPARED = 128, 3
"""Of a very long question, so many words are searched, and so many unknown ones compared with what is there."""
SMALL_AUDIENCE = 5_000
"""Of so many memories, an unknown word is compared with all words; of more, with those that begin alike."""
NEAR, MANY_NEAR = 100, 200
"""So many of the best by the signs of their vectors are candidates, of up to 50,000 memories and of more. Of
28,000 real texts they hold .994 of the nearest ten."""
PASSING = 200
"""So many go on from signs to the vectors themselves, where the nearest alone are asked for."""
FILTERED = 512
"""So many of the best are looked at first, where a filter leaves some of them out."""
SEEN_AT_ONCE = 200_000
"""Of so many vectors the signs are compared in two milliseconds; of more in a thread of their own."""
_NAME_WORD = re.compile(r"@[\w.]+|[^\W_]+(?:['’.&-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and which memories may answer it. `query`: its vectors, where there is a model. `depth`: how many
    memories an arm that could go on finds."""

    request: RecallRequest
    selection: Selection
    query: QueryEmbedding | None
    depth: int


@dataclass(slots=True)
class Found:
    """What the arms found. `scored`: all that hold a word of the question · `holders`: which words · `places`: where
    the best by text and by meaning are · `keys`, `graph`: memories by their ids.

    `total`: how many memories the audience has. `idf`: how rare each word of the question is; under "" a word that no
    memory has. `all_words`: the score by text of a memory of usual length that holds each word once.
    """

    total: int
    scored: Scored
    all_words: float = 0.0
    holders: Holders = field(default_factory=Holders)
    places: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    keys: set[UUID] = field(default_factory=set[UUID])
    graph: dict[UUID, float] = field(default_factory=dict[UUID, float])
    idf: dict[str, float] = field(default_factory=dict[str, float])


class Arms:
    """All ways to find memories, over the statements of `store`. `model`: whose vectors are compared."""

    def __init__(self, model: str, clock: Clock) -> None:
        self.model = model
        self._clock = clock
        self._signs = KeptSigns()
        self._words = KeptWords()

    async def find(self, tx: Tx, asked: Asked) -> Found:
        counts = count_terms(asked.request.query) if asked.request.scope != "indexed" else Counter[str]()
        terms = list(counts)[:MAX_TERMS]
        vectors = None if asked.query is None else (self.model, asked.query.sentence.shape[0])
        # Of words alone, or where only some may answer, whoever holds a common one alone may be all there is to find.
        whole = asked.query is None or asked.request.as_of is not None or asked.selection.condition(1) is not None
        held = await store.postings(tx, terms, asked.selection, vectors, whole=whole)
        found = Found(sum(each.memories for each in held), Scored(Layout(held)))
        if terms:
            score_text(found, held, counts, terms)
            await self._misspelt(tx, asked, held, found)
        near = np.zeros(0, dtype=np.int64)
        if asked.query is not None:
            passing = max(NEAR if found.total <= 50_000 else MANY_NEAR, asked.depth)
            near = await self._near(tx, held, asked.query.sentence, asked.selection, passing)
        await self._look_up(tx, asked, found, near)
        if "graph" in (asked.request.providers or ()):
            await self._graph(tx, asked, found)
        await self._key(tx, asked, found)
        return found

    async def most_similar(self, tx: Tx, sentence: Floats, selection: Selection, limit: int) -> dict[UUID, float]:
        """Return the memories whose meaning is nearest, each with its cosine similarity."""
        held = await store.postings(tx, [], selection, (self.model, sentence.shape[0]))
        return await self.nearest(tx, held, sentence, selection, limit)

    async def nearest(
        self, tx: Tx, held: Sequence[Postings], sentence: Floats, selection: Selection, limit: int
    ) -> dict[UUID, float]:
        """The memories whose meaning is nearest: first by signs, then by cosine similarity. A filter is asked of more
        and more of them, until enough pass."""
        near, layout = await self._near(tx, held, sentence, selection, max(PASSING, 2 * limit)), Layout(held)
        found: dict[UUID, float] = {}
        looked, step = 0, max(FILTERED, 2 * limit)
        while looked < len(near) and len(found) < limit:
            places = layout.places(near[looked : looked + step])
            found |= await store.near(tx, self.model, sentence, places, selection, limit - len(found))
            looked, step = looked + step, 8 * step
        return found

    async def _near(
        self, tx: Tx, held: Sequence[Postings], sentence: Floats, selection: Selection, passing: int
    ) -> Positions:
        """The best by the signs of their vectors; all of them, where a filter is to be asked."""
        if selection.condition(1) is not None:
            passing = max(passing, sum(each.memories for each in held))
        nearest = Nearest(sentence, passing)
        for each, (_, _, start) in zip(held, Layout(held).parts(), strict=True):
            if each.signs:
                nearest.see(*read_signs(each.signs, each.sign_size), start)
            async for signs in self._signs.of(tx, each, self.model):
                if len(signs.places) > SEEN_AT_ONCE:
                    await asyncio.to_thread(nearest.see, signs.places, signs.columns, start)
                else:
                    nearest.see(signs.places, signs.columns, start)
        return await asyncio.to_thread(nearest.best) if passing > SEEN_AT_ONCE else nearest.best()

    def forget(self, tenant_id: str) -> None:
        """What is kept of a tenant's signs and words goes."""
        self._signs.forget(tenant_id)
        self._words.forget(tenant_id)

    async def _look_up(self, tx: Tx, asked: Asked, found: Found, near: Positions) -> None:
        """Where the best by text and by meaning are, of those that are selected. How near they really are is measured
        with everything else."""
        scored = found.scored
        if (condition := asked.selection.condition(6)) is None:
            found.places = _each_once(scored.best(asked.depth), near)
            return

        async def selected(count: int, best: Callable[[int], Positions]) -> Positions:
            return await _selected(tx, scored.layout, condition, asked.depth, count, best)

        texts = await selected(len(scored.positions), scored.best)
        found.places = _each_once(texts, await selected(len(near), lambda most: near[:most]))

    async def _misspelt(self, tx: Tx, asked: Asked, held: Sequence[Postings], found: Found) -> None:
        """Words of the question that no memory has and no dictionary knows may be misspelt names."""
        compared = 0
        newest: Vocabulary | None = None
        query = asked.query
        pieces = Counter(piece.lower() for piece in query.words) if query is not None else Counter[str]()
        for word, terms in dict(terms_by_word(asked.request.query)).items():
            known = min((found.idf.get(term, 0.0) for term in terms), default=0.0)
            if (
                known < found.idf.get("", 0.0)
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
            listed = [await self._words.of(tx, each, begins) for each in held]
            many = sum(len(each.words) for each in (newest, *listed)) > MANY_WORDS
            compared_with = partial(_likest, terms[-1], [newest, *listed])
            similar = await asyncio.to_thread(compared_with) if many else compared_with()
            if similar:
                holding = await store.postings(tx, list(similar), asked.selection, whole=True)
                if Layout(holding).same(found.scored.layout):
                    positions, matches = read_matches(holding, list(similar))
                    likeness = np.array(list(similar.values()))[matches.columns]
                    looks_like = np.zeros(len(positions))
                    np.maximum.at(looks_like, matches.rows, likeness)
                    found.scored.add(positions, known * looks_like)

    async def _graph(self, tx: Tx, asked: Asked, found: Found) -> None:
        names = names_in(asked.request.query)
        told = await store.speaking_of(tx, names, found.total, self._clock(), asked.depth)
        passing = await store.passing(tx, told.keys(), asked.selection)
        found.graph = {each: score for each, score in told.items() if each in passing}

    async def _key(self, tx: Tx, asked: Asked, found: Found) -> None:
        """A question may be the key of a memory, with its namespace before it or beside it."""
        namespace, _, key = asked.request.query.strip().rpartition("/")
        if key and " " not in key and (namespace or asked.request.namespace):
            there = await store.with_key(tx, namespace or asked.request.namespace or "", key)
            found.keys = await store.passing(tx, there, asked.selection)


def _likest(word: str, vocabularies: Sequence[Vocabulary]) -> dict[str, float]:
    return likest(reduce(or_, (alike(word, each) for each in vocabularies)))


async def _selected(
    tx: Tx, layout: Layout, condition: Condition, depth: int, count: int, best: Callable[[int], Positions]
) -> Positions:
    """The best that pass the filter: it is asked of more and more of the `count`, until `depth` do."""
    found = np.zeros(0, dtype=np.int64)
    looked, step = 0, max(FILTERED, depth)
    while looked < count and len(found) < depth:
        some = best(looked + step)[looked:]
        passing = await store.passing_at(tx, layout.places(some), condition, depth - len(found))
        found = np.concatenate((found, some[passing]))
        looked, step = looked + step, 8 * step
    return found


def _each_once(*positions: Positions) -> Positions:
    """In the order in which each comes first."""
    return np.array(list(dict.fromkeys(np.concatenate(positions).tolist())), dtype=np.int64)


def names_in(text: str) -> list[str]:
    """The words of a question, alone and up to four in a row, as names are compared."""
    words = [re.sub(r"['’]s?$", "", each) for each in _NAME_WORD.findall(text.lower())][:MAX_TERMS]
    return [" ".join(words[start : start + length]) for start in range(len(words)) for length in range(1, 5)]


def score_text(found: Found, held: Sequence[Postings], counts: Counter[str], terms: Sequence[str]) -> None:
    """What each memory has of the words of a question. A word whose lists were all left out is asked of nobody."""
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
    # Of a word that some lists were left out of nobody knows in how many conversations it is.
    found.scored.session = bm25.score_sessions(matches, np.where(left_out > 0, 0.0, query_counts))
