"""BM25 over the statistics of one audience, and over its conversations. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2 and b = 0.75:
idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), idf = ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

K1 = 1.2
B = 0.75
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TextMatches:
    """Memories that contain at least one query term, with their term counts.

    Entry i says that memory `rows[i]` contains term `columns[i]`, `counts[i]` times. Each pair occurs once.
    `lengths`: words per memory.
    `sessions`: a number for the conversation of each memory, 0 for none.
    """

    terms: int
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    counts: Scores
    lengths: Scores
    sessions: npt.NDArray[np.int64]

    def held_by(self) -> Scores:
        """Return how many memories contain each term."""
        return np.bincount(self.columns, minlength=self.terms).astype(np.float64)


def inverse_frequencies(found_in: npt.NDArray[np.float64], total: float) -> Scores:
    """Return the inverse document frequency of each term: high if few of `total` memories contain it."""
    total = max(total, float(found_in.max(initial=0)))
    return np.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def score(matches: TextMatches, idf: Scores, average_length: float, query_counts: Scores) -> Scores:
    """Return the BM25 score of each match."""
    norm = K1 * (1 - B + B * matches.lengths / max(average_length, 1.0))
    scores = _saturated(matches.counts, norm[matches.rows], (idf * query_counts)[matches.columns])
    return _summed(matches.rows, scores, len(matches.lengths))


def score_sessions(matches: TextMatches, query_counts: Scores) -> Scores:
    """Return the BM25 score of each match's conversation, scaled from 0 to 1; 0 outside conversations.

    The length of a conversation is not known here, so it is estimated from its matching turns.
    """
    result = np.zeros(len(matches.lengths))
    names, index = _named(matches.sessions)
    is_session = names != 0
    count = int(is_session.sum())
    if count < 2:
        return result
    terms, every = matches.terms, len(names)
    lengths = _summed(index, matches.lengths, every)
    norm = K1 * (1 - B + B * lengths / lengths[is_session].mean())
    counts = _summed(index[matches.rows] * terms + matches.columns, matches.counts, every * terms)
    counts = counts.reshape(every, terms)[is_session]
    idf = inverse_frequencies((counts > 0).sum(axis=0).astype(np.float64), count)
    scores = np.zeros(every)
    scores[is_session] = _saturated(counts, norm[is_session, None], idf * query_counts).sum(axis=1)
    least, most = scores[is_session].min(), scores[is_session].max()
    if most > least:
        scores[is_session] = (scores[is_session] - least) / (most - least)
        result = scores[index]
    return result


def _summed(groups: npt.NDArray[np.int64], values: Scores, count: int) -> Scores:
    """Return the sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64, copy=False)


def _saturated(counts: Scores, norm: Scores, weight: Scores) -> Scores:
    return weight * counts * (K1 + 1) / (counts + norm)


def _named(sessions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct conversations, and the index of the conversation of each memory.

    Works like `numpy.unique`. Turns of one conversation are adjacent, so only the starts of runs are sorted.
    """
    if not len(sessions):
        return sessions, sessions
    begins = np.concatenate(([True], sessions[1:] != sessions[:-1]))
    names, which = np.unique(sessions[begins], return_inverse=True)
    return names, which.astype(np.int64)[np.cumsum(begins) - 1]
