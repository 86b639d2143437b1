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
    """Memories that hold at least one wanted term: a row of `frequencies` is a memory, column j is term j.

    `lengths`: in words · `sessions`: a number for each conversation, 0 for none
    """

    frequencies: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.float64]
    sessions: npt.NDArray[np.int64]


def inverse_frequencies(found_in: npt.NDArray[np.float64], total: float) -> Scores:
    """How rare each term is: high for one that few of `total` hold."""
    total = max(total, float(found_in.max(initial=0)))
    return np.log(1 + (total - found_in + 0.5) / (found_in + 0.5))


def score(matches: TextMatches, idf: Scores, average_length: float, query_counts: Scores) -> Scores:
    """BM25 of each match."""
    tf = matches.frequencies
    norm = K1 * (1 - B + B * matches.lengths / max(average_length, 1.0))
    return (tf * (K1 + 1) / (tf + norm[:, None])) @ (idf * query_counts)


def score_sessions(matches: TextMatches, query_counts: Scores) -> Scores:
    """For each match, the BM25 of its whole conversation, 0 to 1 of the best; 0 where it belongs to none.

    A conversation's length is not known here, so it is taken from its matching turns.
    """
    result = np.zeros(len(matches.lengths))
    inside = matches.sessions != 0
    if not inside.any():
        return result
    names, index = np.unique(matches.sessions[inside], return_inverse=True)
    if len(names) < 2:
        return result
    tf = np.zeros((len(names), matches.frequencies.shape[1]))
    np.add.at(tf, index, matches.frequencies[inside])
    lengths = np.zeros(len(names))
    np.add.at(lengths, index, matches.lengths[inside])
    idf = inverse_frequencies((tf > 0).sum(axis=0).astype(np.float64), len(names))
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    scores = (tf * (K1 + 1) / (tf + norm[:, None])) @ (idf * query_counts)
    spread = scores.max() - scores.min()
    result[inside] = ((scores - scores.min()) / spread if spread > 0 else np.zeros(len(names)))[index]
    return result
