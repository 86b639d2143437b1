"""Compute the features of each candidate as arrays that the ranking weighs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.base.text.asks import only_asks
from keeps.base.text.words import language_of, terms_of, words_of
from keeps.memory.memories.retention import retained
from keeps.memory.recall import bm25, cues, fusion
from keeps.memory.recall.arms import ArmResults, RecallQuery
from keeps.memory.recall.fusion import Candidates, Neighbours, Scores
from keeps.memory.recall.rows import Rows, Turns, keys_of, moment_of, name_parts
from keeps.models.token_vectors import max_similarity, nearest_words

STOP_WORD_SHARE = 0.5
MICROSECONDS_OF_AN_HOUR = 3.6e9


@dataclass(frozen=True, slots=True)
class VectorFeatures:
    """Nearness of the words of candidates to those of the question.

    `nearest`: (n, words of the question), the cosine of the nearest word of each candidate.
    `tokens`: late interaction; NaN if a candidate has no word vectors or they are not to be used.
    """

    nearest: npt.NDArray[np.float32]
    tokens: Scores

    def and_those(self, others: VectorFeatures) -> VectorFeatures:
        return VectorFeatures(
            np.concatenate((self.nearest, others.nearest)), np.concatenate((self.tokens, others.tokens))
        )

    def only(self, wanted: npt.NDArray[np.bool_]) -> VectorFeatures:
        return self if wanted.all() else VectorFeatures(self.nearest[wanted], self.tokens[wanted])


def meant(rows: Rows, asked: RecallQuery, weights: npt.NDArray[np.float32]) -> VectorFeatures:
    """Compute late interaction with candidates.

    `weights`: weights of the question's words, from `token_weights`.
    """
    query, counts = asked.query, rows.token_counts
    tokens = np.full(len(rows), np.nan)
    if query is None or query.tokens is None or asked.request.rerank is False:
        return VectorFeatures(np.zeros((len(rows), max(1, len(weights))), dtype=np.float32), tokens)
    nearest = nearest_words(query.tokens, rows.tokens, counts)
    tokens[counts > 0] = max_similarity(nearest, weights)[counts > 0]
    return VectorFeatures(nearest, tokens)


def best_alone(rows: Rows, read: VectorFeatures, asked: RecallQuery, found: ArmResults, most: int) -> list[int]:
    """Return the best candidates of conversations, by each candidate's own score, best first."""
    if not rows.table["session"].any():
        return []
    vector, centred = _similar(rows, asked)
    text, _ = found.scored.at(rows.positions)
    parts = fusion.alone(text, _held(text, found), vector, centred, read.tokens, rows.token_counts.astype(np.float64))
    order = np.argsort(-np.sum([part.points for part in parts], axis=0), kind="stable")
    return order[rows.table["session"][order] != 0][:most].tolist()


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
    text, table = asked.request.query, rows.table
    dates = cues.dates_in(text)
    vector, centred = _similar(rows, asked)
    token_counts = rows.token_counts.astype(np.float64)
    has_tokens = ~np.isnan(read.tokens)
    nothing = np.zeros(len(rows))
    session_tokens = nothing
    if has_tokens.any():
        session_tokens = fusion.of_sessions(read.nearest, weights, np.where(has_tokens, table["session"], 0))
    text_scores, session_scores = found.scored.at(rows.positions)
    moment, importance, begins = moment_of(now), table["importance"].copy(), table["begins"].copy()
    unused_hours = np.maximum(0.0, moment - table["used"]) / MICROSECONDS_OF_AN_HOUR
    graph = {memory_id.bytes: score for memory_id, score in found.graph.items()}
    message = (table["session"] != 0).astype(np.float64)
    asks = message * table["asks"]
    keys = keys_of(table)
    return Candidates(
        keys=keys,
        text=text_scores,
        words=_held(text_scores, found),
        vector=vector,
        centred=centred,
        tokens=read.tokens,
        token_counts=token_counts,
        session=session_scores,
        session_tokens=session_tokens,
        stated=table["states"].astype(np.float64) if cues.preferences_behind(text) else nothing,
        speaker=_named(table["speaker"], text),
        date=_floats(cues.date_match(dates, rows.begins_at(each).astimezone(zone)) for each in range(len(rows)))
        if dates
        else nothing,
        asks=asks,
        repeats=fusion.repeats(asks, read.tokens) if only_asks(text) else nothing,
        importance=importance,
        retention=np.where(table["fades"], retained(importance, table["reads"], unused_hours), 1.0),
        age_days=np.maximum(0.0, moment - begins) / (24 * MICROSECONDS_OF_AN_HOUR),
        key_match=_floats(UUID(bytes=memory_id) in found.keys for memory_id in rows.ids()) if found.keys else nothing,
        graph=_floats(graph.get(memory_id, 0.0) for memory_id in rows.ids()) if graph else nothing,
        archived=table["archived"].astype(np.float64),
        message=message,
        assistant=table["assistant"].astype(np.float64),
        begins=begins,
        sentences=rows.sentences,
        beside=_beside(keys, table["question"], turns, fusion.faded(token_counts)),
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


def _similar(rows: Rows, asked: RecallQuery) -> tuple[Scores, Scores]:
    """Return the cosine of each candidate with the question, plain and centred; NaN without a vector."""
    vector, centred = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    there = rows.has_vector
    if asked.query is not None and there.any():
        sentences = rows.sentences if there.all() else rows.sentences[there]
        vector[there] = np.vecdot(sentences, asked.query.sentence)
        centred[there] = fusion.centred(sentences, asked.query.sentence)
    return vector, centred


def _named(speakers: npt.NDArray[np.int64], text: str) -> Scores:
    """Return 1 for each candidate whose speaker a question names, else 0."""
    named = np.zeros(len(speakers), dtype=bool)
    if speakers.any():
        for part in name_parts(words_of(text)):
            named |= (speakers == part).any(axis=1)
    return named.astype(np.float64)


def _held(text: Scores, found: ArmResults) -> Scores:
    """Return the share of the question's words that each candidate contains."""
    return np.minimum(1.0, text / max(found.all_words, 1e-9))


def _floats(values: Iterable[float]) -> npt.NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)


def _beside(keys: npt.NDArray[np.bytes_], question: npt.NDArray[np.bool_], turns: Turns, fade: Scores) -> Neighbours:
    """Return the pairs of candidates that are close in a conversation, from the known runs of turns."""
    if not len(keys) or not len(turns):
        return Neighbours(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    first, second = turns[:, :-1].ravel(), turns[:, 1:].ravel()
    known = np.flatnonzero((first != b"") & (second != b""))
    known = known[np.sort(np.unique(first[known], return_index=True)[1])]
    first, second = first[known], second[known]
    after = _places(first, second)
    third = np.where(after < 0, b"", second[after])
    turn, next_turn, third_turn = np.split(_places(keys, np.concatenate((first, second, third))), 3)
    of, others = np.repeat(turn, 2), np.column_stack((next_turn, third_turn)).ravel()
    asked = np.where(question[turn], fusion.ASKED_WEIGHT * fade[turn], 0.0)
    weights = np.empty((len(turn), 2, 2))
    weights[:, 0], weights[:, 1] = fusion.NEXT_TURN_WEIGHT, fusion.SECOND_TURN_WEIGHT
    weights[:, 0, 1] += asked
    there = (of >= 0) & (others >= 0)
    pairs = np.column_stack((of, others))[there]
    return Neighbours(pairs.ravel(), pairs[:, ::-1].ravel(), weights.reshape(-1, 2)[there].ravel())


def _places(keys: npt.NDArray[np.bytes_], wanted: npt.NDArray[np.bytes_]) -> npt.NDArray[np.int64]:
    """Return where each wanted key is among `keys`; -1 if it is not."""
    order = np.argsort(keys)
    found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[found] == wanted, found, -1)
