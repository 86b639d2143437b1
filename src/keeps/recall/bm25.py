"""BM25 over the statistics of one audience, and the same over conversations. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2 and b = 0.75:
idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), idf = ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keeps.text.packing import PACKED

K1 = 1.2
B = 0.75
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TextMatches:
    """Memories that hold at least one wanted term. Row i of `frequencies` belongs to `ids[i]`, column j to term j."""

    ids: list[bytes]
    frequencies: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.float64]
    sessions: npt.NDArray[np.int64]


def read_matches(
    ids: bytes,
    packed: bytes,
    sizes: Sequence[int],
    lengths: Sequence[int],
    sessions: Sequence[int],
    term_hashes: Sequence[Sequence[int]],
) -> TextMatches:
    """Frequencies from packed rows. `term_hashes[j]`: the hashes of term j, one for each audience that was asked."""
    count, columns = len(lengths), len(term_hashes)
    entries = np.frombuffer(packed, dtype=PACKED)
    owners = np.repeat(np.arange(count), np.asarray(sizes, dtype=np.int64) // PACKED.itemsize)
    wanted = np.array([each for hashes in term_hashes for each in hashes], dtype=np.int32)
    column_of = np.repeat(np.arange(columns), [len(hashes) for hashes in term_hashes])
    frequencies: npt.NDArray[np.float64] = np.zeros((count, columns))
    if len(wanted) and len(entries):
        order = np.argsort(wanted, kind="stable")
        terms = entries["term"]
        place = np.minimum(np.searchsorted(wanted[order], terms), len(wanted) - 1)
        hit = wanted[order][place] == terms
        cell = owners[hit] * columns + column_of[order][place[hit]]
        counted = np.bincount(cell, weights=entries["count"][hit], minlength=count * columns)
        frequencies += counted.reshape(count, columns)
    split = [ids[start : start + 16] for start in range(0, len(ids), 16)]
    return TextMatches(split, frequencies, np.asarray(lengths, dtype=np.float64), np.asarray(sessions, dtype=np.int64))


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
