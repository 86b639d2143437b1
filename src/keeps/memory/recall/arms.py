"""The arms of recall: each finds memories in its own way and scores how well they fit.

To add an arm, write its statement in `queries.sql`, a method of both sources (`source.py`), a method here that `find`
calls and a field of `ArmResults`. Its weight belongs in `fusion.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from uuid import UUID

import numpy as np

from keeps.base.text.words import count_terms, is_spaceless, terms_by_word
from keeps.memory.recall import bm25
from keeps.memory.recall.caches import MANY_WORDS
from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.misspelt import Vocabulary, alike, first_letters, likest
from keeps.memory.recall.source import Source
from keeps.memory.recall.words import Holders, Positions, WordMatches, WordScores
from keeps.models.embedder import QueryEmbedding
from keeps_client.models import RecallRequest

MAX_TERMS, MAX_COMPARED = 128, 3
"""Maximum number of words of a question that are searched, and of unknown words that are compared."""
SMALL_AUDIENCE, FEW_WORDS = 5_000, 200_000
"""Maximum memories and words in all of them, up to which an unknown word is compared with all words.

Beyond, it is compared with those that begin like it.
"""
FEWEST_MEMORIES = 20
"""Number of memories that the rarity of words assumes at least: a word of the only memory is not a common one."""
NEAR, MANY_NEAR = 100, 200
"""Number of candidates chosen by the signs of their vectors: up to 50,000 memories, and above.

In 28,000 real texts these candidates contain 99.4 % of the ten nearest memories.
"""
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
    scored: WordScores = field(default_factory=WordScores)
    all_words: float = 0.0
    holders: Holders = field(default_factory=Holders)
    places: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    keys: set[UUID] = field(default_factory=set[UUID])
    graph: dict[UUID, float] = field(default_factory=dict[UUID, float])
    idf: dict[str, float] = field(default_factory=dict[str, float])


async def find(source: Source, asked: RecallQuery) -> ArmResults:
    """Run the arms."""
    counts = count_terms(asked.request.query) if asked.request.scope != "indexed" else Counter[str]()
    terms = list(counts)[:MAX_TERMS]
    # Without vectors, or with a filter, the only hits may be memories that contain nothing but a common word.
    whole = asked.query is None or asked.request.as_of is not None or asked.selection.filters
    matches = await source.words(terms, whole=whole)
    results = ArmResults(matches.memories)
    if terms:
        score_text(results, matches, counts, terms)
        await _misspelt(source, asked, results, few=matches.memories <= SMALL_AUDIENCE and matches.words <= FEW_WORDS)
    near = np.zeros(0, dtype=np.int64)
    if asked.query is not None:
        passing = max(NEAR if results.total <= 50_000 else MANY_NEAR, asked.depth)
        near = await source.nearest(asked.query.sentence, passing, asked.depth)
    # Their exact similarity is measured later, together with everything else.
    results.places = _each_once(await source.best(results.scored, asked.depth), near)
    if "graph" in (asked.request.providers or ()):
        results.graph = await source.graph(names_in(asked.request.query), results.total, asked.depth)
    results.keys = await _keyed(source, asked.request)
    return results


async def _misspelt(source: Source, asked: RecallQuery, found: ArmResults, *, few: bool) -> None:
    """Score memories with words similar to unknown words of the question, which may be misspelt names.

    Unknown words are those that no memory and no dictionary contains.
    """
    compared = 0
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
        vocabularies = await source.vocabularies([""] if few else first_letters(word))
        many = sum(len(vocabulary.words) for vocabulary in vocabularies) > MANY_WORDS
        compared_with = partial(_likest, terms[-1], vocabularies)
        similar = await asyncio.to_thread(compared_with) if many else compared_with()
        if similar and (holding := await source.other_words(list(similar))) is not None:
            likeness = np.array(list(similar.values()))[holding.matches.columns]
            looks_like = np.zeros(len(holding.positions))
            np.maximum.at(looks_like, holding.matches.rows, likeness)
            found.scored.add(holding.positions, rarity * looks_like)


async def _keyed(source: Source, request: RecallRequest) -> set[UUID]:
    """Look up the question as the key of a memory, with the namespace as its prefix or in the request."""
    namespace, _, key = request.query.strip().rpartition("/")
    if key and " " not in key and (namespace or request.namespace):
        return await source.with_key(namespace or request.namespace or "", key)
    return set()


def _likest(word: str, vocabularies: Sequence[Vocabulary]) -> dict[str, float]:
    return likest(reduce(or_, (alike(word, each) for each in vocabularies)))


def _each_once(*positions: Positions) -> Positions:
    """Return the distinct positions, in the order of their first occurrence."""
    return np.array(list(dict.fromkeys(np.concatenate(positions).tolist())), dtype=np.int64)


def names_in(text: str) -> list[str]:
    """Return the words of a question, alone and in runs of up to four, in the form in which names are compared."""
    words = [re.sub(r"['’]s?$", "", each) for each in _NAME_WORD.findall(text.lower())][:MAX_TERMS]
    return [" ".join(words[start : start + length]) for start in range(len(words)) for length in range(1, 5)]


def score_text(found: ArmResults, held: WordMatches, counts: Counter[str], terms: Sequence[str]) -> None:
    """Score each memory by the words of a question. Words of which no list was read count for no memory."""
    matches, left_out, holders = held.matches, held.left_out, held.matches.held_by()
    total = max(found.total, FEWEST_MEMORIES)
    idf = bm25.inverse_frequencies(holders + left_out, total)
    found.idf = dict(zip(terms, idf.tolist(), strict=True))
    found.idf[""] = float(bm25.inverse_frequencies(np.zeros(1), total)[0])
    query_counts = np.array([counts[term] for term in terms], dtype=np.float64)
    found.all_words = float(np.where((left_out > 0) & (holders == 0), 0.0, idf) @ query_counts)
    average_length = held.words / max(found.total, 1)
    common = frozenset(term for term, count in zip(terms, left_out.tolist(), strict=True) if count)
    found.holders = Holders(terms, held.positions, matches, common)
    # The number of conversations is unknown for a word with skipped lists.
    session = bm25.score_sessions(matches, np.where(left_out > 0, 0.0, query_counts))
    found.scored = WordScores(held.positions, bm25.score(matches, idf, average_length, query_counts), session)
