"""Estimate how likely a hit answers the question, from 0 to 1. Pure.

Two logistic models, fitted by `keeps bench relevance --fit` to chats (LoCoMo, BEAM), documents (SciFact), preferences
(PrefEval) and a few memories of many people, each with questions that the memories do not answer (ADR 50). The first
estimates whether a hit answers; one of its inputs is the rank among the candidates, since of six memories the nearest
is mostly right, however far it is. The second estimates from the whole question whether any memory answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keeps.memory.recall import cues
from keeps.memory.recall.fusion import Candidates, Scores, normalise, without_nan

MANY_WORDS = 16
HIT_WEIGHTS = {
    "tokens": 6.5,  # late interaction of this hit or the turn beside it
    "vector": 0.2,
    "words": 2.7,  # share of the question's words, by rarity, that the hit contains
    "tokens_place": 2.1,  # 1 for the nearest candidate, 0 for the farthest
    "vector_place": 1.6,
    "date": 1.6,
    "speaker": 0.5,
    "asks": -1.0,  # the hit is itself a question
    "question_words": 1.0,  # ln(1 + words of the question)
    "rarity": 5.0,  # mean rarity of the question's words
    "unheard": -0.9,  # share of them that no memory contains
    "memories": -0.6,  # ln(memories): the nearest of many is nearer by chance
}
HIT_BIAS = -8.0
FAR_CAP, CAP_BY_NEARNESS = 0.3, 1.1
"""Maximum relevance of a hit with no similarity, however far the others are."""
KNOWN_WEIGHTS = {
    "tokens": 3.3,
    "vector": 1.0,
    "words": 3.6,
    "tokens_gap": 1.9,  # best less median
    "vector_gap": 1.4,
    "both": 1.8,  # tokens · vector
    "question_words": 1.95,
    "rarity": 5.7,
    "unheard": -0.7,
    "all_unheard": 0.7,
    "memories": -0.2,
    "personal": -0.3,
    "advice": 1.7,
    "question_mark": -0.6,
}
KNOWN_BIAS = -10.2
NOTHING_KNOWN_UNDER = -1.6
"""Log odds below which nothing is considered known.

Below it are 2 % of answerable questions, half of the questions about something else, and almost none of those that
narrowly miss.
"""
UNKNOWN_CAP = 0.2
"""Maximum relevance of hits if probably no memory answers."""
LEAST_WORDS = 0.25
"""Without vectors: minimum share of the question's words, by rarity, that a possible answer contains."""
NEAR_ENOUGH = 0.4
"""Mean of the best cosine and the best late interaction above which something is known, regardless of the words."""
NEAR_FROM, NEAR_TO = 0.2, 0.7
"""Mean of cosine and late interaction that counts as no similarity, and as full similarity."""


@dataclass(frozen=True, slots=True)
class Question:
    """Features of the question: number of memories searched, number of words, and cues of its wording.

    `rarity`: mean rarity of the words, 0 to 1.
    `unheard`: share of the words, by rarity, that no memory contains, 0 to 1.
    """

    memories: int
    words: int
    rarity: float
    unheard: float
    personal: bool
    advice: bool
    question_mark: bool


def question_of(text: str, memories: int, idf: Mapping[str, float]) -> Question | None:
    """Return the question's features; None if it has no words that count.

    `idf`: rarity of each word; under "" the rarity of a word that no memory contains.
    """
    rarest = idf.get("", 0.0)
    rarities = [value for term, value in idf.items() if term]
    if not rarities or rarest <= 0:
        return None
    unheard = sum(value for value in rarities if value >= rarest - 1e-9)
    return Question(
        memories,
        len(rarities),
        sum(rarities) / len(rarities) / rarest,
        unheard / (sum(rarities) or 1.0),
        cues.is_personal(text),
        bool(cues.preferences_behind(text)),
        text.rstrip().endswith("?"),
    )


def relevances(candidates: Candidates, question: Question | None, *, nothing_known: bool) -> Scores:
    """Return the relevance of each candidate. `nothing_known`: cap all of them at UNKNOWN_CAP.

    A candidate without vectors is as relevant as the share of the question's words that it contains.
    Without token vectors or words of the question, relevance is the similarity.
    """
    near = nearness(candidates)
    by_words = np.where(np.isnan(near), np.round(candidates.words, 4), near)
    has_tokens = ~np.isnan(candidates.tokens)
    if question is not None and has_tokens.any():
        tokens = without_nan(candidates.tokens)
        beside = tokens.copy()
        np.maximum.at(beside, candidates.beside.of, tokens[candidates.beside.others])
        features = {
            "tokens": beside,
            "vector": without_nan(candidates.vector),
            "words": candidates.words,
            "tokens_place": normalise(candidates.tokens),
            "vector_place": normalise(candidates.centred),
            "date": candidates.date,
            "speaker": candidates.speaker,
            "asks": candidates.asks,
        }
        log_odds = np.full(len(tokens), HIT_BIAS + _of_question(HIT_WEIGHTS, question))
        for name, values in features.items():
            log_odds += HIT_WEIGHTS[name] * values
        fitted = np.minimum(1 / (1 + np.exp(-log_odds)), FAR_CAP + CAP_BY_NEARNESS * near)
        by_words = np.where(has_tokens, np.round(fitted, 4), by_words)
    return np.minimum(by_words, UNKNOWN_CAP) if nothing_known else by_words


def is_nothing_known(candidates: Candidates, question: Question | None) -> bool:
    """Return whether probably no candidate answers the question."""
    if not len(candidates.words):
        return True
    tokens, vectors = candidates.tokens[~np.isnan(candidates.tokens)], candidates.vector[~np.isnan(candidates.vector)]
    if not len(tokens) or question is None:
        return bool(not len(vectors) and candidates.words.max() < LEAST_WORDS and not candidates.key_match.any())
    unembedded = np.isnan(candidates.tokens) & np.isnan(candidates.vector)
    if unembedded.any() and candidates.words[unembedded].max() >= LEAST_WORDS:
        return False  # A memory stored a moment ago, whose words are all that is known of it.
    vector = float(vectors.max()) if len(vectors) else 0.0
    if (float(tokens.max()) + vector) / 2 >= NEAR_ENOUGH:
        return False
    features = {
        "tokens": float(tokens.max()),
        "vector": vector,
        "words": float(candidates.words.max()),
        "tokens_gap": float(tokens.max() - np.median(tokens)),
        "vector_gap": vector - float(np.median(vectors)) if len(vectors) else 0.0,
        "both": float(tokens.max()) * vector,
    }
    log_odds = KNOWN_BIAS + _of_question(KNOWN_WEIGHTS, question)
    log_odds += sum(KNOWN_WEIGHTS[name] * value for name, value in features.items())
    return log_odds < NOTHING_KNOWN_UNDER


def nearness(candidates: Candidates) -> Scores:
    """Return the mean of cosine and late interaction, scaled from no similarity (0) to full similarity (1).

    NaN if neither is known.
    """
    both = np.array([candidates.vector, candidates.tokens])
    count = (~np.isnan(both)).sum(axis=0)
    mean = np.nansum(both, axis=0) / np.maximum(count, 1)
    share = (mean - NEAR_FROM) / (NEAR_TO - NEAR_FROM)
    return np.where(count > 0, np.round(np.clip(share, 0.0, 1.0), 4), np.nan)


def nearness_of(similarity: float) -> float:
    """Return a cosine on the scale of `nearness`, for texts without token vectors."""
    return round(min(max((similarity - NEAR_FROM) / (NEAR_TO - NEAR_FROM), 0.0), 1.0), 4)


def _of_question(weights: Mapping[str, float], question: Question) -> float:
    features = {
        "question_words": math.log1p(min(question.words, MANY_WORDS)),
        "rarity": question.rarity,
        "unheard": question.unheard,
        "all_unheard": float(question.unheard > 0.99),
        "memories": math.log(max(question.memories, 1)),
        "personal": float(question.personal),
        "advice": float(question.advice),
        "question_mark": float(question.question_mark),
    }
    return sum(weights[name] * value for name, value in features.items() if name in weights)
