"""The arms of recall: each finds memories in its own way, and says how well they fit.

A new one is a statement in `queries.sql` with its function in `store.py`, a method here that `find` calls, and a field
of `Found`; what that is worth is said in `fusion.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from keeps.ai.embedder import Floats, QueryEmbedding
from keeps.clock import Clock
from keeps.db.session import Tx
from keeps.recall import bm25, fusion, store
from keeps.recall.conditions import Selection
from keeps.recall.misspelt import alike, first_letters
from keeps.recall.signs import Nearest
from keeps.recall.words import Layout, Postings, Scored, Spot, read_matches
from keeps.text.words import count_terms, stem, terms_of, words_of
from keeps_client.models import RecallRequest

MAX_TERMS, MAX_COMPARED = 128, 3
"""Of a very long question, so many words are searched, and so many unknown ones compared with what is there."""
SMALL_AUDIENCE = 5_000
"""Of so many memories, an unknown word is compared with all words; of more, with those that begin alike."""
PASSING, MANY_PASSING = 200, 400
"""How many go on from the signs of vectors to the vectors themselves, of up to 10,000 memories and of more."""
FILTERED = 512
"""So many of the best are looked at first, where a filter leaves some of them out."""
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
    """What the arms found, by memory. `scored`: all that hold a word of the question · `texts`: the best of those.

    `total`: how many memories the audience has. `idf`: how rare each word of the question is; under "" a word that no
    memory has. `all_words`: the score by text of a memory of usual length that holds each word once.
    """

    total: int
    scored: Scored
    all_words: float = 0.0
    texts: dict[UUID, Spot] = field(default_factory=dict[UUID, Spot])
    vector: dict[UUID, tuple[float, Spot | None]] = field(default_factory=dict[UUID, tuple[float, Spot | None]])
    keys: set[UUID] = field(default_factory=set[UUID])
    graph: dict[UUID, float] = field(default_factory=dict[UUID, float])
    idf: dict[str, float] = field(default_factory=dict[str, float])

    def matched(self, text: str) -> list[str]:
        """The words of a text that some memory has."""
        rarest = self.idf.get("", 0.0)
        return [term for term in dict.fromkeys(terms_of(text)) if self.idf.get(term, rarest) < rarest]

    def first(self) -> list[UUID]:
        """The best of each arm, best first by the mean of their normalised scores."""
        pool = list(dict.fromkeys([*sorted(self.keys), *self.texts, *self.vector, *self.graph]))
        if not pool:
            return []
        near = [self.vector.get(each, (np.nan, None)) for each in pool]
        by_text, _ = self.scored.at([self.texts.get(each) or spot for each, (_, spot) in zip(pool, near, strict=True)])
        vector = fusion.normalise(np.array([similarity for similarity, _ in near], dtype=np.float64))
        both = fusion.normalise(by_text) + vector + np.array([2.0 * (each in self.keys) for each in pool])
        return [pool[position] for position in np.argsort(-both, kind="stable")]


class Arms:
    """All ways to find memories, over the statements of `store`. `model`: whose vectors are compared."""

    def __init__(self, model: str, clock: Clock) -> None:
        self.model = model
        self._clock = clock

    async def find(self, tx: Tx, asked: Asked) -> Found:
        counts = count_terms(asked.request.query) if asked.request.scope != "indexed" else Counter[str]()
        terms = list(counts)[:MAX_TERMS]
        held = await store.postings(tx, terms, asked.selection, None if asked.query is None else self.model)
        found = Found(sum(each.memories for each in held), Scored(Layout(held)))
        if terms:
            _score_text(found, held, counts, terms)
            await self._misspelt(tx, asked, found)
            await self._best_by_text(tx, asked, found)
        if asked.query is not None:
            found.vector = await self.nearest(tx, held, asked.query.sentence, asked.selection, asked.depth)
        if "graph" in (asked.request.providers or ()):
            await self._graph(tx, asked, found)
        await self._key(tx, asked, found)
        return found

    async def most_similar(self, tx: Tx, sentence: Floats, selection: Selection) -> tuple[UUID, float] | None:
        """The one memory whose meaning is nearest, with its cosine similarity."""
        held = await store.postings(tx, [], selection, self.model)
        found = await self.nearest(tx, held, sentence, selection, 1)
        return next(((memory_id, similarity) for memory_id, (similarity, _) in found.items()), None)

    async def nearest(
        self, tx: Tx, held: Sequence[Postings], sentence: Floats, selection: Selection, limit: int
    ) -> dict[UUID, tuple[float, Spot | None]]:
        """The memories whose meaning is nearest: first by signs, then by cosine similarity. A filter is asked of more
        and more of them, until enough pass."""
        total = sum(each.memories for each in held)
        passing = max(PASSING if total <= 10_000 else MANY_PASSING, 2 * limit)
        filtered = selection.condition(1) is not None
        nearest, layout = Nearest(sentence, total if filtered else passing), Layout(held)
        for each, (_, _, start) in zip(held, layout.parts(), strict=True):
            if each.signs:
                nearest.see(each.signs, each.sign_size, start)
            async for size, signs in store.more_signs(tx, each, self.model):
                nearest.see(signs, size, start)
        positions = nearest.passing()
        found: dict[UUID, tuple[float, Spot | None]] = {}
        looked, step = 0, max(FILTERED, passing) if filtered else passing
        while looked < len(positions) and len(found) < limit:
            spots = layout.spots(positions[looked : looked + step])
            found |= await store.near(tx, self.model, sentence, spots, selection, limit - len(found))
            looked, step = looked + step, 8 * step
        return found

    async def _best_by_text(self, tx: Tx, asked: Asked, found: Found) -> None:
        """The best by text that are selected: a filter is asked of more and more of them, until enough pass."""
        depth = asked.depth
        filtered = asked.selection.condition(1) is not None
        looked, step = 0, max(FILTERED, depth) if filtered else depth
        while looked < len(found.scored.positions) and len(found.texts) < depth:
            spots = found.scored.layout.spots(found.scored.best(looked + step)[looked:])
            found.texts.update(await store.memories_at(tx, spots, asked.selection, depth - len(found.texts)))
            looked, step = looked + step, 8 * step
            if not filtered:
                return

    async def _misspelt(self, tx: Tx, asked: Asked, found: Found) -> None:
        """Words of the question that no memory has and no dictionary knows may be misspelt names."""
        compared = 0
        query = asked.query
        pieces = Counter(piece.lower() for piece in query.words) if query is not None else Counter[str]()
        for word in dict.fromkeys(words_of(asked.request.query)):
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
            begins = [""] if found.total <= SMALL_AUDIENCE else first_letters(word)
            similar = alike(stem(word), sorted(await store.vocabulary(tx, begins, asked.selection)))
            if similar:
                held = await store.postings(tx, list(similar), asked.selection)
                if Layout(held).same(found.scored.layout):
                    positions, matches = read_matches(held, list(similar))
                    likeness = np.array(list(similar.values()))
                    found.scored.add(positions, known * ((matches.frequencies > 0) * likeness).max(axis=1, initial=0.0))

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


def names_in(text: str) -> list[str]:
    """The words of a question, alone and up to four in a row, as names are compared."""
    words = [re.sub(r"['’]s?$", "", each) for each in _NAME_WORD.findall(text.lower())][:MAX_TERMS]
    return [" ".join(words[start : start + length]) for start in range(len(words)) for length in range(1, 5)]


def _score_text(found: Found, held: Sequence[Postings], counts: Counter[str], terms: Sequence[str]) -> None:
    positions, matches = read_matches(held, terms)
    found_in = (matches.frequencies > 0).sum(axis=0).astype(np.float64)
    idf = bm25.inverse_frequencies(found_in, found.total)
    found.idf = dict(zip(terms, idf.tolist(), strict=True))
    found.idf[""] = float(bm25.inverse_frequencies(np.zeros(1), found.total)[0])
    query_counts = np.array([counts[term] for term in terms], dtype=np.float64)
    found.all_words = float(idf @ query_counts)
    average_length = sum(each.words for each in held) / max(found.total, 1)
    found.scored.positions = positions
    found.scored.text = bm25.score(matches, idf, average_length, query_counts)
    found.scored.session = bm25.score_sessions(matches, query_counts)
