"""Combine the scores of the arms into one ranking. Pure; the weights of recall are defined here.

Scores of the arms are normalised between the worst (0) and the best (1) candidate and added: on LoCoMo, rank fusion
was worse than BM25 alone. The late-interaction score leads, words and meaning support it, and in a conversation the
turns around a turn add to its score. All constants are round and lie on plateaus: small changes of any constant move
no data set by much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keeps.models.token_vectors import products

Scores = npt.NDArray[np.float64]

TOKENS_WEIGHT = 1.0
"""Late interaction: MaxSim over token vectors, less `LENGTH_PENALTY · ln(tokens / 64)` for long memories."""
VECTOR_WEIGHT = 0.2
COMMON_SHARE = 0.5
"""Share of the candidates' mean vector that is subtracted before similarity is computed.

The candidates belong to one user or one subject, so what they share does not distinguish them.
"""
TEXT_WEIGHT = 0.2
FIRST_STAGE_WEIGHT = 0.5
"""Weight of words and of vectors if no candidate has token vectors (another model), or this memory has none."""
UNINDEXED_WEIGHT = TOKENS_WEIGHT + VECTOR_WEIGHT + TEXT_WEIGHT
"""Weight of a memory that is not indexed yet: as much as all three scores together.

It is multiplied by the share of the question's words, by rarity, that the memory contains.
"""
LENGTH_PENALTY = 0.1
LENGTH_TOKENS = 64
STATED_WEIGHT, STATED_BONUS = 1.3, 0.2
"""Minimum share of its similarity that a stated preference scores when advice is requested, and its bonus."""
STATED_TOKENS = 64
NEXT_TURN_WEIGHT, SECOND_TURN_WEIGHT = 0.15, 0.1
ASKED_WEIGHT = 0.2
"""Extra weight of the preceding turn if it asks a question: an answer often uses other words than the question."""
SESSION_WEIGHT, SESSION_TOKENS_WEIGHT = 0.1, 0.2
"""Weights of the whole conversation: by words, and by late interaction with the best turn for each word."""
SPEAKER_WEIGHT = 0.4
DATE_WEIGHT = 0.5
ASKS_WEIGHT, REPEATS_WEIGHT = -0.2, -1.5
"""Penalties for a message that only asks: it answers nothing, least of all the same question."""
REPEATS_FROM, REPEATS_TO = 0.7, 0.95
"""Late-interaction scores at which a message begins to count, and fully counts, as the same question."""
IMPORTANCE_WEIGHT = 0.1
RETENTION_WEIGHT = 0.05
"""Weight of retention: fading memories are ranked lower before they are archived; others count in full."""
RECENCY_WEIGHT = 0.02
RECENCY_DAYS = 30.0
ARCHIVED_WEIGHT = -0.1
"""Ranks an archived memory below an equally relevant current one."""
KEY_WEIGHT = 2.0
GRAPH_WEIGHT = 0.1
"""Weight of memories that mention the question's entities, if the graph is searched (docs/adr/0013)."""
RERANKER_WEIGHT = 0.2
"""Weight of the reranker, a model that reads the question together with each of the best memories (docs/adr/0045)."""
SAME_TOPIC_SIMILARITY = 0.7
NEWER_FIRST_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Pairs of nearby candidates in a conversation: the scores of `others` count for `of`, times `weights`."""

    of: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]
    weights: Scores


@dataclass(slots=True)
class Candidates:
    """Features of n candidates: lists and arrays of length n. NaN where an arm has no value for a candidate.

    `keys`: the ids.
    `words`: share of the question's words, by rarity, that each candidate contains, 0 to 1.
    `centred`: similarity without the component that the candidates share.
    `session`, `session_tokens`: scores of the whole conversation, 0 to 1.
    `begins`: start of validity, as a number that grows with time.
    `message`, `assistant`: 1 for a message of a conversation, and for a message by the assistant.
    """

    keys: npt.NDArray[np.bytes_]
    text: Scores
    words: Scores
    vector: Scores
    centred: Scores
    tokens: Scores
    token_counts: Scores
    session: Scores
    session_tokens: Scores
    stated: Scores
    speaker: Scores
    date: Scores
    asks: Scores
    repeats: Scores
    importance: Scores
    retention: Scores
    age_days: Scores
    key_match: Scores
    graph: Scores
    archived: Scores
    message: Scores
    assistant: Scores
    begins: npt.NDArray[np.int64]
    sentences: npt.NDArray[np.float32]
    beside: Neighbours


@dataclass(frozen=True, slots=True)
class Part:
    """One arm or boost over all candidates."""

    name: str
    raw: Scores
    normalised: Scores
    weight: Scores
    points: Scores


def normalise(values: Scores) -> Scores:
    """Scale values between the smallest (0) and the largest (1). NaN counts as the smallest; equal values give 0."""
    missing = np.isnan(values)
    valid = values[~missing] if missing.any() else values
    if not len(valid):
        return np.zeros(len(values))
    least, most = valid.min(), valid.max()
    if most - least <= 1e-12:
        return np.where(missing | (values <= 0), 0.0, 1.0)
    return np.where(missing, 0.0, (values - least) / (most - least))


def without_nan(values: Scores) -> Scores:
    """Return the values with 0 for NaN."""
    return np.where(np.isnan(values), 0.0, values)


def alone(
    text: Scores, words: Scores, vector: Scores, centred: Scores, tokens: Scores, token_counts: Scores
) -> list[Part]:
    """Return the parts of the score that come from each candidate itself, without the turns around it."""
    has_tokens = ~np.isnan(tokens)
    penalty = LENGTH_PENALTY * np.log(np.maximum(1.0, token_counts / LENGTH_TOKENS))
    late = tokens - penalty
    unindexed = np.isnan(vector) & has_tokens.any()
    return [
        _part("tokens", tokens, normalise(late), np.where(has_tokens, TOKENS_WEIGHT, 0.0)),
        _part(
            "vector",
            vector,
            normalise(centred),
            np.where(has_tokens, VECTOR_WEIGHT, FIRST_STAGE_WEIGHT),
        ),
        _part(
            "text",
            text,
            np.where(unindexed, words, normalise(text)),
            np.where(unindexed, UNINDEXED_WEIGHT, np.where(has_tokens, TEXT_WEIGHT, FIRST_STAGE_WEIGHT)),
        ),
    ]


def weigh(candidates: Candidates) -> list[Part]:
    """Return the parts that add up to the score of each candidate."""
    parts = alone(
        candidates.text,
        candidates.words,
        candidates.vector,
        candidates.centred,
        candidates.tokens,
        candidates.token_counts,
    )
    base = np.sum([part.points for part in parts], axis=0)
    lane = STATED_WEIGHT * normalise(candidates.centred) + STATED_BONUS
    short = candidates.token_counts <= STATED_TOKENS
    parts.append(
        _part("stated", candidates.stated, np.where(short, candidates.stated * np.maximum(0.0, lane - base), 0.0), 1.0)
    )
    base = base + parts[-1].points
    fade = faded(candidates.token_counts)
    parts += [
        _part("neighbours", around := _around(base, candidates.beside), around, fade),
        _part("session", candidates.session, candidates.session, SESSION_WEIGHT * fade),
        _part("session_tokens", candidates.session_tokens, candidates.session_tokens, SESSION_TOKENS_WEIGHT * fade),
        _part("speaker", candidates.speaker, candidates.speaker, SPEAKER_WEIGHT),
        _part("date", candidates.date, candidates.date, DATE_WEIGHT),
        _part("asks", candidates.asks, candidates.asks, ASKS_WEIGHT),
        _part("repeats", candidates.tokens, candidates.repeats, REPEATS_WEIGHT),
        _part("importance", candidates.importance, candidates.importance, IMPORTANCE_WEIGHT),
        _part("retention", candidates.retention, candidates.retention, RETENTION_WEIGHT),
        _part("recency", candidates.age_days, np.exp(-candidates.age_days / RECENCY_DAYS), RECENCY_WEIGHT),
        _part("key", candidates.key_match, candidates.key_match, KEY_WEIGHT),
        _part("archived", candidates.archived, candidates.archived, ARCHIVED_WEIGHT),
        _part("graph", candidates.graph, normalise(candidates.graph), GRAPH_WEIGHT),
    ]
    return parts


def in_order(positions: Sequence[int], total: Scores, candidates: Candidates) -> list[int]:
    """Return positions of candidates by descending score."""
    some = np.array(positions, dtype=np.int64)
    high, low = candidates.keys.view(">u8").reshape(-1, 2)[some].T
    return newer_first(some[np.lexsort((low, high, -total[some]))].tolist(), total, candidates)


def reranked(positions: Sequence[int], answers: Sequence[float], count: int) -> Part:
    """Return the reranker's part: its scores of some of the `count` candidates."""
    raw, points = np.full(count, np.nan), np.zeros(count)
    raw[positions] = answers
    points[positions] = normalise(raw[positions])
    return _part("reranker", raw, points, RERANKER_WEIGHT)


def faded(token_counts: Scores) -> Scores:
    """Return the weight of a memory's context: the longer the memory, the smaller."""
    return np.minimum(1.0, LENGTH_TOKENS / np.maximum(token_counts, 1.0))


def repeats(asks: Scores, tokens: Scores) -> Scores:
    """Return how closely each message that only asks repeats the question, from 0 to 1."""
    same = (without_nan(tokens) - REPEATS_FROM) / (REPEATS_TO - REPEATS_FROM)
    return asks * np.clip(same, 0.0, 1.0)


def centred(sentences: npt.NDArray[np.float32], question: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine of each vector with the question's, after subtracting COMMON_SHARE of the vectors' mean."""
    common = COMMON_SHARE * sentences.mean(axis=0)
    own, asked = sentences - common, question - common
    lengths = np.sqrt(np.vecdot(own, own)) * np.sqrt(float(asked @ asked))
    return np.vecdot(own, asked) / np.maximum(lengths, 1e-9)


def of_sessions(
    best: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], sessions: npt.NDArray[np.int64]
) -> Scores:
    """Return how near the conversation of each candidate is, from 0 to 1 of the nearest.

    Each word of the question counts by its nearest turn.
    0 for candidates outside conversations, and for all if there is only one conversation.
    `best`: (candidates, words of the question), the similarity of each candidate's nearest word.
    `sessions`: a number for the conversation of each candidate, 0 for none.
    """
    result = np.zeros(len(best))
    inside = np.flatnonzero(sessions)
    names, of = np.unique(sessions[inside], return_inverse=True)
    if len(names) < 2 or not weights.sum():
        return result
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(len(names)))
    nearest = np.maximum(np.maximum.reduceat(best[inside[order]], starts, axis=0), -1.0)
    scores = normalise((np.vecdot(nearest, weights) / weights.sum()).astype(np.float64))
    result[inside] = scores[of]
    return result


def newer_first(order: Sequence[int], total: Scores, candidates: Candidates, depth: int = 30) -> list[int]:
    """Move the newer of two memories on one subject with almost equal scores to the front, among the best `depth`.

    Users mostly ask about the present, and a statement repeated in other words is often a change.
    """
    best = list(order[:depth])
    if len(best) < 2:
        return list(order)
    sentences, scores, begins = candidates.sentences[best], total[best], candidates.begins[best]
    outdated = (
        (products(sentences, sentences.T) >= SAME_TOPIC_SIMILARITY)
        & (scores[:, None] - scores <= NEWER_FIRST_MARGIN)
        & (begins[:, None] < begins)
    )
    result = list(best)
    done: set[int] = set()
    for newer, older in np.argwhere(np.triu(outdated, 1).T).tolist():
        if newer not in done and result.index(best[older]) < result.index(best[newer]):
            result.remove(best[newer])
            result.insert(result.index(best[older]), best[newer])
            done.add(newer)
    return result + list(order[depth:])


def _around(base: Scores, beside: Neighbours) -> Scores:
    """Return what the surrounding turns add to each candidate: their scores above the mean, weighted by nearness."""
    if not len(beside.of):
        return np.zeros(len(base))
    added = np.bincount(beside.of, beside.weights * (base - base.mean())[beside.others], len(base))
    return added.astype(np.float64, copy=False)


def _part(name: str, raw: Scores, normalised: Scores, weight: Scores | float) -> Part:
    weights = weight if isinstance(weight, np.ndarray) else np.full(len(normalised), weight)
    return Part(name, raw, normalised, weights, normalised * weights)
