"""The arms of recall: each finds memories in its own way, and says how well they fit.

A new one is a statement in `queries.sql` with its function in `store.py`, a method here that `find` calls, and a field
of `Found`; what that is worth is said in `fusion.py`.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from keeps.ai.embedder import Floats, QueryEmbedding
from keeps.clock import Clock
from keeps.db.session import Tx
from keeps.recall import bm25, fusion, store
from keeps.recall.bm25 import TextMatches
from keeps.recall.conditions import Selection
from keeps.text.words import count_terms, stem, terms_of, words_of
from keeps_client.models import RecallRequest

STATISTICS_SECONDS = 30.0
LOOKS_LIKE = 0.45
MAX_TERMS, MAX_COMPARED = 128, 3
"""Of a very long question, so many words are searched, and so many unknown ones compared with what is there."""
COMMON_MEMORIES = 2_000
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
    """What the arms found, by memory. `text` and `session` know a memory by the bytes of its id: they are many.

    `total`: how many memories the audience has. `idf`: how rare each word of the question is; under "" a word that no
    memory has. `all_words`: the score by text of a memory of usual length that holds each word once.
    """

    total: int
    all_words: float = 0.0
    text: dict[bytes, float] = field(default_factory=dict[bytes, float])
    session: dict[bytes, float] = field(default_factory=dict[bytes, float])
    vector: dict[UUID, float] = field(default_factory=dict[UUID, float])
    keys: set[UUID] = field(default_factory=set[UUID])
    graph: dict[UUID, float] = field(default_factory=dict[UUID, float])
    idf: dict[str, float] = field(default_factory=dict[str, float])

    def matched(self, text: str) -> list[str]:
        """The words of a text that some memory has."""
        rarest = self.idf.get("", 0.0)
        return [term for term in dict.fromkeys(terms_of(text)) if self.idf.get(term, rarest) < rarest]

    def first(self, depth: int) -> list[UUID]:
        """The best of each arm, best first by the mean of their normalised scores."""
        by_text = [UUID(bytes=each) for each in _best(self.text, depth)]
        pool = list(dict.fromkeys([*sorted(self.keys), *by_text, *self.vector, *self.graph]))
        if not pool:
            return []
        text = fusion.normalise(np.array([self.text.get(each.bytes, 0.0) for each in pool], dtype=np.float64))
        vector = fusion.normalise(np.array([self.vector.get(each, np.nan) for each in pool], dtype=np.float64))
        both = text + vector + np.array([2.0 * (each in self.keys) for each in pool])
        return [pool[position] for position in np.argsort(-both, kind="stable")]


class Arms:
    """All ways to find memories, over the statements of `store`. `model`: whose vectors are compared."""

    def __init__(self, model: str, clock: Clock) -> None:
        self.model = model
        self._clock = clock
        self._common_terms: dict[tuple[str, str], dict[str, float]] = {}
        self._statistics: dict[tuple[str, str], tuple[float, tuple[int, int]]] = {}

    async def find(self, tx: Tx, asked: Asked) -> Found:
        memories, words = await self._audience(tx)
        found = Found(memories)
        if asked.request.scope != "indexed":
            await self._words(tx, asked, found, words / max(memories, 1))
        if asked.query is not None:
            await self._meaning(tx, asked, found, asked.query)
        if "graph" in (asked.request.providers or ()):
            await self._graph(tx, asked, found)
        await self._key(tx, asked, found)
        return found

    async def nearest(self, tx: Tx, sentence: Floats, selection: Selection, limit: int) -> dict[UUID, float]:
        """The memories whose meaning is nearest, with their cosine similarity."""
        memories, _ = await self._audience(tx)
        passing = first_pass_for(memories, limit)
        return await store.nearest(tx, self.model, sentence, selection, first_pass=passing, limit=limit)

    async def _words(self, tx: Tx, asked: Asked, found: Found, average_length: float) -> None:
        counts = count_terms(asked.request.query)
        terms = list(counts)[:MAX_TERMS]
        if not terms:
            return
        common = self._common_terms.setdefault((tx.scope.tenant_id, tx.scope.user_id), {})
        # Words that thousands of memories hold decide nothing where a rarer one is asked for, too.
        searched = [term for term in terms if term not in common] or terms
        matches = await store.text_matches(tx, terms, searched, asked.selection)
        found_in = (matches.frequencies > 0).sum(axis=0).astype(np.float64)
        for column, term in enumerate(terms):
            if term not in searched:
                found_in[column] = common[term]
            elif found_in[column] > COMMON_MEMORIES:
                common[term] = float(found_in[column])
        _score_text(found, matches, counts, terms, found_in, average_length)
        await self._misspelt(tx, asked, found)

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
            similar = await store.looks_like(tx, word, LOOKS_LIKE, asked.selection.lives)
            for memory_id in await store.passing(tx, similar.keys(), asked.selection):
                before = found.text.get(memory_id.bytes, 0.0)
                found.text[memory_id.bytes] = before + known * similar[memory_id]

    async def _meaning(self, tx: Tx, asked: Asked, found: Found, query: QueryEmbedding) -> None:
        found.vector = await self.nearest(tx, query.sentence, asked.selection, asked.depth)

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

    async def _audience(self, tx: Tx) -> tuple[int, int]:
        """How many memories and words an audience has, kept for half a minute: a ranking does not change by the few
        that come in meanwhile."""
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
    found: Found,
    matches: TextMatches,
    counts: Counter[str],
    terms: Sequence[str],
    found_in: bm25.Scores,
    average_length: float,
) -> None:
    idf = bm25.inverse_frequencies(found_in, found.total)
    found.idf = dict(zip(terms, idf.tolist(), strict=True))
    found.idf[""] = float(bm25.inverse_frequencies(np.zeros(1), found.total)[0])
    if not matches.ids:
        return
    query_counts = np.array([counts[term] for term in terms], dtype=np.float64)
    found.all_words = float(idf @ query_counts)
    found.text = dict(zip(matches.ids, bm25.score(matches, idf, average_length, query_counts).tolist(), strict=True))
    found.session = dict(zip(matches.ids, bm25.score_sessions(matches, query_counts).tolist(), strict=True))


def _best(scores: dict[bytes, float], depth: int) -> list[bytes]:
    """The `depth` best, best first; of equals the smaller id."""
    keys = list(scores)
    if len(keys) > depth:
        values = np.fromiter(scores.values(), dtype=np.float64, count=len(keys))
        least = np.partition(values, len(keys) - depth)[len(keys) - depth]
        keys = [keys[position] for position in np.flatnonzero(values >= least)]
    return sorted(keys, key=lambda each: (-scores[each], each))[:depth]
