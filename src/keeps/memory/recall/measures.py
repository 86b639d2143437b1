"""Compute the features of each candidate as arrays that the ranking weighs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from keeps.base.text.asks import only_asks
from keeps.base.text.words import language_of, terms_of, words_of
from keeps.memory.memories.retention import retained
from keeps.memory.recall import bm25, cues, fusion
from keeps.memory.recall.arms import ArmResults, RecallQuery
from keeps.memory.recall.fusion import Candidates, Neighbours, Scores
from keeps.memory.recall.rows import SENTENCE_HEAD, Rows, Turns, moment_of, read_sentences
from keeps.models.token_vectors import TOKEN_BYTES, max_similarity, nearest_words

STOP_WORD_SHARE = 0.5
MICROSECONDS_OF_AN_HOUR = 3.6e9


@dataclass(frozen=True, slots=True)
class VectorFeatures:
    """Vector features of candidates, before they are compared with one another.

    `sentences`: (n, dimensions), zero where there is no vector.
    `nearest`: (n, words of the question), the cosine of the nearest word of each candidate.
    `tokens`: late interaction; NaN if a candidate has no word vectors or they are not to be used.
    """

    sentences: npt.NDArray[np.float32]
    has_vector: npt.NDArray[np.bool_]
    nearest: npt.NDArray[np.float32]
    tokens: Scores
    token_counts: Scores

    def and_those(self, others: VectorFeatures) -> VectorFeatures:
        return VectorFeatures(
            *(np.concatenate([getattr(self, each.name), getattr(others, each.name)]) for each in fields(self))
        )

    def only(self, wanted: npt.NDArray[np.bool_]) -> VectorFeatures:
        if wanted.all():
            return self
        return VectorFeatures(*(getattr(self, each.name)[wanted] for each in fields(self)))


def meant(rows: Rows, asked: RecallQuery, weights: npt.NDArray[np.float32]) -> VectorFeatures:
    """Compute the vector features of candidates.

    `weights`: weights of the question's words, from `token_weights`.
    """
    query, count = asked.query, len(rows)
    tokens, token_counts = np.full(count, np.nan), rows.of("tokens") / TOKEN_BYTES
    if query is None:
        nothing = np.zeros((count, 1), dtype=np.float32)
        return VectorFeatures(nothing, np.zeros(count, dtype=bool), nothing, tokens, token_counts)
    sentences = np.zeros((count, query.sentence.shape[0]), dtype=np.float32)
    # An earlier model with the same name may have produced vectors of another size.
    has_vector = rows.numbers["sentence"] == SENTENCE_HEAD + 2 * sentences.shape[1]
    if has_vector.any():
        vectors = rows.sentences if has_vector.all() else [rows.sentences[each] for each in np.flatnonzero(has_vector)]
        sentences[has_vector] = read_sentences(vectors)
    nearest = np.zeros((count, max(1, len(weights))), dtype=np.float32)
    if query.tokens is not None and asked.request.rerank is not False:
        nearest = nearest_words(query.tokens, rows.tokens)
        has_tokens = token_counts > 0
        tokens[has_tokens] = max_similarity(nearest, weights)[has_tokens]
    return VectorFeatures(sentences, has_vector, nearest, tokens, token_counts)


def best_alone(rows: Rows, read: VectorFeatures, asked: RecallQuery, found: ArmResults) -> npt.NDArray[np.intp]:
    """Return the positions of candidates, best first, by each candidate's own score."""
    vector, centred = _similar(read, asked)
    text, _ = found.scored.at(rows.positions)
    parts = fusion.alone(text, _held(text, found), vector, centred, read.tokens, read.token_counts)
    return np.argsort(-np.sum([part.points for part in parts], axis=0), kind="stable")


def measure(
    rows: Rows,
    read: VectorFeatures,
    asked: RecallQuery,
    found: ArmResults,
    turns: Turns,
    weights: npt.NDArray[np.float32],
    now: datetime,
    zone: tzinfo = UTC,
) -> Candidates:
    """Return the features of each row. `zone`: time zone of the dates in the question."""
    text, count = asked.request.query, len(rows)
    names = frozenset(words_of(text))
    dates = cues.dates_in(text)
    advice = bool(cues.preferences_behind(text))
    vector, centred = _similar(read, asked)
    has_tokens = ~np.isnan(read.tokens)
    session_tokens = np.zeros(count)
    if has_tokens.any():
        said_in = [name if there else None for name, there in zip(rows.sessions, has_tokens.tolist(), strict=True)]
        session_tokens = fusion.of_sessions(read.nearest, weights, said_in)
    text_scores, session_scores = found.scored.at(rows.positions)
    moment, importance = moment_of(now), rows.of("importance")
    unused_hours = np.maximum(0.0, moment - rows.of("used")) / MICROSECONDS_OF_AN_HOUR
    speakers = {name: cues.named_in(names, name) for name in set(rows.speakers)}
    keys = {memory_id.bytes for memory_id in found.keys}
    graph = {memory_id.bytes: score for memory_id, score in found.graph.items()}
    asks = _floats(
        session is not None and only_asks(opening)
        for session, opening in zip(rows.sessions, rows.openings, strict=True)
    )
    return Candidates(
        keys=rows.ids,
        text=text_scores,
        words=_held(text_scores, found),
        vector=vector,
        centred=centred,
        tokens=read.tokens,
        token_counts=read.token_counts,
        session=session_scores,
        session_tokens=session_tokens,
        stated=_floats(map(cues.states_preference, rows.openings, rows.roles)) if advice else np.zeros(count),
        speaker=_floats(speakers[name] for name in rows.speakers),
        date=_floats(cues.date_match(dates, rows.begins_at(memory_id).astimezone(zone)) for memory_id in range(count))
        if dates
        else np.zeros(count),
        asks=asks,
        repeats=fusion.repeats(asks, read.tokens) if only_asks(text) else np.zeros(count),
        importance=importance,
        retention=np.where(rows.fades, retained(importance, rows.of("reads"), unused_hours), 1.0),
        age_days=np.maximum(0.0, moment - rows.of("begins")) / (24 * MICROSECONDS_OF_AN_HOUR),
        key_match=_floats(memory_id in keys for memory_id in rows.ids) if keys else np.zeros(count),
        graph=_floats(graph.get(memory_id, 0.0) for memory_id in rows.ids) if graph else np.zeros(count),
        archived=_floats(rows.archived),
        message=_floats(session is not None for session in rows.sessions),
        assistant=_floats(role == "assistant" for role in rows.roles),
        begins=rows.of("begins"),
        sentences=read.sentences,
        beside=_beside(rows, turns, fusion.faded(read.token_counts)),
    )


def token_weights(words: Sequence[str], text: str, found: ArmResults) -> npt.NDArray[np.float32]:
    """Return the square root of the rarity of each word of a question.

    Stop words count as words that half of the memories contain.
    """
    language = language_of(text)
    common = float(bm25.inverse_frequencies(np.array([found.total * STOP_WORD_SHARE]), found.total)[0])
    rarity: dict[str, float] = {}
    for word in words:
        if word not in rarity:
            terms = terms_of(word, language)
            rarity[word] = found.idf.get(terms[0], common) if terms else common
    return np.sqrt(np.array([rarity[word] for word in words], dtype=np.float32))


def _similar(read: VectorFeatures, asked: RecallQuery) -> tuple[Scores, Scores]:
    """Return the cosine of each candidate with the question, plain and centred; NaN without a vector."""
    vector, centred = np.full(len(read.tokens), np.nan), np.full(len(read.tokens), np.nan)
    if asked.query is not None and read.has_vector.any():
        sentences = read.sentences[read.has_vector]
        vector[read.has_vector] = np.einsum("ij,j->i", sentences, asked.query.sentence)
        centred[read.has_vector] = fusion.centred(sentences, asked.query.sentence)
    return vector, centred


def _held(text: Scores, found: ArmResults) -> Scores:
    """Return the share of the question's words that each candidate contains."""
    return np.minimum(1.0, text / max(found.all_words, 1e-9))


def _floats(values: Iterable[float]) -> npt.NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)


def _beside(rows: Rows, turns: Turns, fade: Scores) -> Neighbours:
    """Return the pairs of candidates that are close in a conversation, from the known runs of turns."""
    place = {each: position for position, each in enumerate(rows.ids)}
    following: dict[bytes, bytes] = {}
    for turn, (before, after) in turns.items():
        following.update(pairwise([*reversed(before), turn, *after]))
    of: list[int] = []
    others: list[int] = []
    weights: list[float] = []

    def join(one: bytes, other: bytes, weight: float, *, next_turn: bool = True) -> None:
        if one in place and other in place:
            first, second = place[one], place[other]
            asked = fusion.ASKED_WEIGHT * float(fade[first]) if next_turn and "?" in rows.openings[first] else 0.0
            of.extend((first, second))
            others.extend((second, first))
            weights.extend((weight, weight + asked))

    for turn, after in following.items():
        join(turn, after, fusion.NEXT_TURN_WEIGHT)
        if after in following:
            join(turn, following[after], fusion.SECOND_TURN_WEIGHT, next_turn=False)
    return Neighbours(
        np.array(of, dtype=np.int64), np.array(others, dtype=np.int64), np.array(weights, dtype=np.float64)
    )
