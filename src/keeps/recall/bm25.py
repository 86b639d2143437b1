"""BM25 over the statistics of one audience, and the same over conversations. Pure.

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
    """Memories that hold at least one wanted term, and what they hold: entry i says that memory `rows[i]` holds term
    `columns[i]`, `counts[i]` times; each pair once.

    `lengths`, `sessions`: of each memory, in words, and a number for its conversation, 0 for none
    """

    terms: int
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    counts: Scores
    lengths: Scores
    sessions: npt.NDArray[np.int64]

    def held_by(self) -> Scores:
        """How many memories hold each term."""
        return np.bincount(self.columns, minlength=self.terms).astype(np.float64)


def inverse_frequencies(found_in: npt.NDArray[np.float64], total: float) -> Scores:
    """How rare each term is: high for one that few of `total` hold."""
    total = max(total, float(found_in.max(initial=0)))
    return np.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def score(matches: TextMatches, idf: Scores, average_length: float, query_counts: Scores) -> Scores:
    """BM25 of each match."""
    norm = K1 * (1 - B + B * matches.lengths / max(average_length, 1.0))
    said = _saturated(matches.counts, norm[matches.rows], (idf * query_counts)[matches.columns])
    return _summed(matches.rows, said, len(matches.lengths))


def score_sessions(matches: TextMatches, query_counts: Scores) -> Scores:
    """For each match, the BM25 of its whole conversation, 0 to 1 of the best; 0 where it belongs to none.

    A conversation's length is not known here, so it is taken from its matching turns.
    """
    result = np.zeros(len(matches.lengths))
    names, index = _named(matches.sessions)
    known = names != 0
    count = int(known.sum())
    if count < 2:
        return result
    terms, every = matches.terms, len(names)
    lengths = _summed(index, matches.lengths, every)
    norm = K1 * (1 - B + B * lengths / lengths[known].mean())
    counts = _summed(index[matches.rows] * terms + matches.columns, matches.counts, every * terms)
    counts = counts.reshape(every, terms)[known]
    idf = inverse_frequencies((counts > 0).sum(axis=0).astype(np.float64), count)
    scores = np.zeros(every)
    scores[known] = _saturated(counts, norm[known, None], idf * query_counts).sum(axis=1)
    least, most = scores[known].min(), scores[known].max()
    if most > least:
        scores[known] = (scores[known] - least) / (most - least)
        result = scores[index]
    return result


def _summed(groups: npt.NDArray[np.int64], values: Scores, count: int) -> Scores:
    """The sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64, copy=False)


def _saturated(counts: Scores, norm: Scores, weight: Scores) -> Scores:
    return weight * counts * (K1 + 1) / (counts + norm)


def _named(sessions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different conversations, and which of them each is: like numpy's unique, but turns of one follow each other,
    so only where another begins is sorted."""
    if not len(sessions):
        return sessions, sessions
    begins = np.concatenate(([True], sessions[1:] != sessions[:-1]))
    names, which = np.unique(sessions[begins], return_inverse=True)
    return names, which.astype(np.int64)[np.cumsum(begins) - 1]
