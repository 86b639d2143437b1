"""From what the arms measured to one ranking. Pure; every constant of recall stands here.

Scores of our own arms are normalised between the worst (0) and the best (1) candidate and added: on LoCoMo, rank
fusion was worse than BM25 alone. The late-interaction score leads, words and meaning help, and in a conversation the
turns around a turn speak for it. All constants are round and flat: small changes of any move no data set by much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]

TOKENS_WEIGHT = 1.0
"""Late interaction: MaxSim over token vectors, less `LENGTH_PENALTY · ln(tokens / 64)` for long memories."""
VECTOR_WEIGHT = 0.2
COMMON_SHARE = 0.5
"""Similarity counts without half of what the vectors of all candidates have in common: they are of one user, or about
one matter, and what they share tells none from another."""
TEXT_WEIGHT = 0.2
FIRST_STAGE_WEIGHT = 0.5
"""Where no memory has token vectors (another model), and the memory none, words and vector count half each."""
UNINDEXED_WEIGHT = TOKENS_WEIGHT + VECTOR_WEIGHT + TEXT_WEIGHT
"""What is not indexed yet, beside what is: as much as all three, for the share of the question's words that it holds,
each by its rarity."""
LENGTH_PENALTY = 0.1
LENGTH_TOKENS = 64
STATED_WEIGHT, STATED_BONUS = 1.3, 0.2
"""When advice is asked for, a stated preference counts at least this share of its nearness to the question, and a
bonus."""
STATED_TOKENS = 64
NEXT_TURN_WEIGHT, SECOND_TURN_WEIGHT = 0.15, 0.1
ASKED_WEIGHT = 0.2
"""More for the turn before, where it asks: what answers a question is often said in other words than the question."""
SESSION_WEIGHT, SESSION_TOKENS_WEIGHT = 0.1, 0.2
"""For the whole conversation: by words, and by late interaction, each word of the question with its best turn."""
SPEAKER_WEIGHT = 0.4
DATE_WEIGHT = 0.5
ASKS_WEIGHT, REPEATS_WEIGHT = -0.2, -1.5
"""For a message that only asks: it answers nothing, least of all the same question."""
REPEATS_FROM, REPEATS_TO = 0.7, 0.95
"""Late interaction from which, and at which, a question counts as the same."""
IMPORTANCE_WEIGHT = 0.1
RETENTION_WEIGHT = 0.05
"""What fades is ranked lower before it is archived; what does not fade counts in full."""
RECENCY_WEIGHT = 0.02
RECENCY_DAYS = 30.0
ARCHIVED_WEIGHT = -0.1
"""An archived memory stands below a current one that is as relevant."""
KEY_WEIGHT = 2.0
GRAPH_WEIGHT = 0.1
"""For memories that mention the question's entities, where the graph is asked (docs/adr/0013)."""
RERANKER_WEIGHT = 0.2
"""For what a model says that reads the question together with each of the best, where there is one (docs/adr/0045)."""
SAME_TOPIC_SIMILARITY = 0.7
NEWER_FIRST_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Beside:
    """Pairs of candidates that stand near each other in a conversation: what `others` say counts for `of`, by
    `weights`."""

    of: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]
    weights: Scores


@dataclass(slots=True)
class Candidates:
    """What is known of n candidates: lists and arrays of length n. NaN where an arm says nothing of a candidate.

    `words`: the share of the question's words that each holds, by their rarity, 0 to 1. `centred`: the similarity
    without what the candidates have in common. `session`, `session_tokens`: of the whole conversation, 0 to 1.
    `begins`: when each began to be true, as a number that grows with time. `message`, `assistant`: 1 for a message of a
    conversation, and for one by the assistant.
    """

    keys: list[bytes]
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
    beside: Beside


@dataclass(frozen=True, slots=True)
class Part:
    """One arm or boost over all candidates."""

    name: str
    raw: Scores
    normalised: Scores
    weight: Scores
    points: Scores


def normalise(values: Scores) -> Scores:
    """Between the smallest (0) and the largest (1); what is unknown counts as the smallest; all equal give 0."""
    known = values[~np.isnan(values)]
    if not len(known) or known.max() - known.min() <= 1e-12:
        return np.where(np.isnan(values) | (values <= 0), 0.0, 1.0) if len(known) else np.zeros(len(values))
    return np.nan_to_num((values - known.min()) / (known.max() - known.min()), nan=0.0)


def alone(
    text: Scores, words: Scores, vector: Scores, centred: Scores, tokens: Scores, token_counts: Scores
) -> list[Part]:
    """What candidates say themselves, each without the others around it."""
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
    """What adds up to the score of each."""
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


def in_order(positions: Iterable[int], total: Scores, candidates: Candidates) -> list[int]:
    """Positions of candidates, best first by their scores."""
    lost, keys = (-total).tolist(), candidates.keys
    order = sorted(positions, key=lambda position: (lost[position], keys[position]))
    return newer_first(order, total, candidates)


def reranked(positions: Sequence[int], answers: Sequence[float], count: int) -> Part:
    """What a model that reads question and memory together says of some of `count` candidates."""
    raw, points = np.full(count, np.nan), np.zeros(count)
    raw[positions] = answers
    points[positions] = normalise(raw[positions])
    return _part("reranker", raw, points, RERANKER_WEIGHT)


def faded(token_counts: Scores) -> Scores:
    """What the context of a memory counts: the longer it is, the less."""
    return np.minimum(1.0, LENGTH_TOKENS / np.maximum(token_counts, 1.0))


def repeats(asks: Scores, tokens: Scores) -> Scores:
    """Return how much each message that only asks is the question again, from 0 to 1."""
    same = (np.nan_to_num(tokens, nan=0.0) - REPEATS_FROM) / (REPEATS_TO - REPEATS_FROM)
    return asks * np.clip(same, 0.0, 1.0)


def centred(sentences: npt.NDArray[np.float32], question: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The cosine of each of some vectors with the question's, without COMMON_SHARE of what all of them have in
    common."""
    common = COMMON_SHARE * sentences.mean(axis=0)
    own, asked = sentences - common, question - common
    lengths = np.sqrt(np.einsum("ij,ij->i", own, own)) * np.sqrt(float(asked @ asked))
    return np.einsum("ij,j->i", own, asked) / np.maximum(lengths, 1e-9)


def of_sessions(
    best: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], sessions: Sequence[str | None]
) -> Scores:
    """For each candidate, how near its whole conversation is, 0 to 1 of the nearest: each word of the question counts
    by the turn that is nearest to it. 0 where it belongs to none, or all belong to one.

    `best`: (candidates, words of the question), the nearest word of each candidate
    """
    result = np.zeros(len(best))
    number = {name: place for place, name in enumerate(dict.fromkeys(each for each in sessions if each is not None))}
    if len(number) < 2 or not weights.sum():
        return result
    inside = np.array([each is not None for each in sessions], dtype=bool)
    of = np.array([number[each] for each in sessions if each is not None], dtype=np.int64)
    nearest = np.full((len(number), best.shape[1]), -1.0, dtype=np.float32)
    np.maximum.at(nearest, of, best[inside])
    scores = normalise((nearest @ weights / weights.sum()).astype(np.float64))
    result[inside] = scores[of]
    return result


def newer_first(order: Sequence[int], total: Scores, candidates: Candidates, depth: int = 30) -> list[int]:
    """Among the best, of two memories on the same matter and with almost the same score, the newer comes first.

    Somebody who asks wants to know how things are now, and what is said twice with other words is often a change.
    """
    best = list(order[:depth])
    if len(best) < 2:
        return list(order)
    sentences, scores, begins = candidates.sentences[best], total[best], candidates.begins[best]
    outdated = (
        (np.einsum("ik,jk->ij", sentences, sentences) >= SAME_TOPIC_SIMILARITY)
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


def _around(base: Scores, beside: Beside) -> Scores:
    """What the turns around each candidate add: their scores over the mean, by nearness."""
    if not len(beside.of):
        return np.zeros(len(base))
    added = np.bincount(beside.of, beside.weights * (base - base.mean())[beside.others], len(base))
    return added.astype(np.float64, copy=False)


def _part(name: str, raw: Scores, normalised: Scores, weight: Scores | float) -> Part:
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), normalised.shape)
    return Part(name, raw, normalised, weights, normalised * weights)
