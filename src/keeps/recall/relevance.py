"""How relevant a hit is, from 0 to 1, whatever the other candidates are. Pure.

A score says which of the candidates fits best; it cannot say that none fits. This is a logistic function of what recall
measured, fitted to what answers questions and what is found for questions that others were asked (LoCoMo and BEAM, each
with questions of its other conversations, whole and in small parts; ADR 31). All numbers are round, and flat: small
changes of any move neither set by much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keeps.recall import cues
from keeps.recall.fusion import Candidates, Scores

BEST_TOKENS, OWN_TOKENS, OWN_VECTOR, OWN_WORDS, DATE, LENGTH = 22.0, 13.0, 3.5, 5.0, 6.0, 1.0
"""Late interaction of the best hit, and of this one or the turn beside it; its cosine; the share of the question's
words that it holds; its date, where one is asked for; the logarithm of its tokens, up to LONG."""
WORDS, RARITY, UNHEARD, MEMORIES = 2.5, 5.0, -3.0, -0.7
"""The logarithm of how many words the question has, up to MANY; how rare they are; the share that nobody ever said; the
logarithm of how many memories there are: of more, the best is nearer by chance."""
MIDDLE, SLOPE = 28.0, 0.5
FEW_WORDS = 2
"""Who asks by so few words, all of which were said, looks for those: what holds none of them is as relevant as it is
near. The best hit has nearly the whole of them, which says nothing of the others."""
NEAR_ALONE, NEAR_AMONG, NEAR_SLOPE, NEAR_MIDDLE = 0.26, 0.077, 12.0, 1.1
"""What shares no word with its question is relevant by its nearness: to a single memory from the first, and more for
each factor e that there are more; there it is as relevant as a floor of 0.25 asks."""
LONG, MANY = 54.0, 16
NEAR_FROM, NEAR_TO = 0.2, 0.7
"""The mean of cosine and late interaction that is no nearness at all, and full nearness. Unrelated English sentences
lie between 0.2 and 0.35, answers mostly over 0.4."""
NOTHING_KNOWN_UNDER, OF_THE_WORLD_UNDER = 0.15, 0.25
"""Where the best hit is less near, nothing is known. A question of which no word was ever said here, and that is not
about oneself, is one about the world: of 140 that others wrote, what answered such a one had 0.31 at least. Others may
be far from the words that answer them."""
NO_FIGURES_UNDER = 0.5
"""A question that asks for business figures is answered by what says them nearly in its words, or not at all: where all
hits are less relevant, it is not."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is known of a question by its words: how many, their mean rarity, and the share of it that was never said,
    both from 0 to 1; and how many memories it is put to."""

    memories: int
    words: int
    rarity: float
    unheard: float


def question_of(memories: int, idf: Mapping[str, float]) -> Question | None:
    """None where words say nothing. `idf`: of each word; under "" that of a word that no memory has."""
    rarest = idf.get("", 0.0)
    known = [value for term, value in idf.items() if term]
    if not known or rarest <= 0:
        return None
    unheard = sum(value for value in known if value >= rarest - 1e-9)
    return Question(memories, len(known), sum(known) / len(known) / rarest, unheard / (sum(known) or 1.0))


def relevances(candidates: Candidates, question: Question | None) -> Scores:
    """Of each candidate; NaN where nothing was measured. Without token vectors, or words, by nearness alone."""
    near = nearness(candidates)
    known = ~np.isnan(candidates.tokens)
    if question is None or not known.any():
        return near
    tokens = np.nan_to_num(candidates.tokens, nan=0.0)
    beside = tokens.copy()
    np.maximum.at(beside, candidates.beside.of, tokens[candidates.beside.others])
    log_odds = (
        BEST_TOKENS * tokens.max()
        + OWN_TOKENS * beside
        + OWN_VECTOR * np.nan_to_num(candidates.vector, nan=0.0)
        + OWN_WORDS * candidates.words
        + DATE * candidates.date
        + LENGTH * np.log1p(np.minimum(candidates.token_counts, LONG))
        + WORDS * np.log1p(min(question.words, MANY))
        + RARITY * question.rarity
        + UNHEARD * question.unheard
    )
    log_memories = np.log(max(question.memories, 1))
    by_words = SLOPE * (log_odds + MEMORIES * log_memories - MIDDLE)
    by_nearness = NEAR_SLOPE * (near - NEAR_ALONE - NEAR_AMONG * log_memories) - NEAR_MIDDLE
    if question.words <= FEW_WORDS and not question.unheard:
        by_words = np.where(candidates.words > 0, by_words, -np.inf)
    fitted = np.round(1 / (1 + np.exp(-np.fmax(by_words, by_nearness))), 4)
    # A preference answers who asks for advice though it shares no word with the question.
    fitted = np.where(candidates.stated > 0, np.fmax(fitted, near), fitted)
    return np.where(known, fitted, near)


def nearness(candidates: Candidates) -> Scores:
    """The mean of cosine and late interaction, between what is none and what is full nearness; NaN where neither was
    measured."""
    both = np.array([candidates.vector, candidates.tokens])
    count = (~np.isnan(both)).sum(axis=0)
    mean = np.nansum(both, axis=0) / np.maximum(count, 1)
    share = (mean - NEAR_FROM) / (NEAR_TO - NEAR_FROM)
    return np.where(count > 0, np.round(np.clip(share, 0.0, 1.0), 4), np.nan)


def is_nothing_known(nearest: Scores, query: str, terms: Sequence[str]) -> bool:
    """Whether nothing that was looked at speaks of the question, however few of it were asked for. `terms`: words of it
    that were said. Who asks for advice may be answered by a preference that is far from their words."""
    if not len(nearest) or np.isnan(nearest).any():
        return not len(nearest)
    of_the_world = not terms and not cues.is_personal(query)
    least = OF_THE_WORLD_UNDER if of_the_world else NOTHING_KNOWN_UNDER
    return bool(nearest.max() < least) and not cues.preferences_behind(query)
