"""Find the passage of a long memory whose words are nearest to the question's. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keeps.base.text.sentences import sentence_gaps
from keeps.base.text.words import terms_of

LONG_CHARACTERS = 1_000
"""Minimum length of a text that is searched for a passage; a shorter text is one passage."""
PASSAGE_TOKENS = 250
KEEPS_AT_LEAST = 0.9
"""Sentences at both ends are dropped as long as the passage keeps this share of its score."""
LONG_SENTENCE = 600
"""Maximum characters of a sentence. A longer one is treated as a list, and each of its lines is a sentence."""
Span = tuple[int, int]
_LINE_END = re.compile(r"\n\s*")


def best_passage(
    text: str, spans: Sequence[Span], nearness: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> Span | None:
    """Return the best passage of `text`: whole sentences with at most PASSAGE_TOKENS word vectors.

    `spans`: characters of the text that each word vector covers.
    `nearness`: (words of the text, words of the question).
    `weights`: weight of each word of the question.
    None if no word of the text has a vector.
    """
    if not len(spans):
        return None
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    sentences = _sentences(text)
    of = np.searchsorted([start for start, _ in sentences], starts, side="right") - 1
    # A part is a sentence with its words, or as many of them as fit into a passage.
    counted = np.arange(len(spans)) - np.searchsorted(of, of)
    begins = np.flatnonzero(counted % PASSAGE_TOKENS == 0)
    whole = counted[begins] == 0
    part_starts = np.where(whole, [sentences[which][0] for which in of[begins]], starts[begins])
    ends = np.array([sentences[which][1] for which in of[begins]])
    cut = np.flatnonzero(~whole)
    ends[cut - 1] = [spans[first - 1][1] for first in begins[cut]]
    nearest = np.maximum.reduceat(nearness, begins, axis=0)
    first, last = _best(nearest, np.diff(begins, append=len(spans)).astype(np.int64), weights)
    return int(part_starts[first]), int(ends[last])


def nearest_sentence(
    text: str, spans: Sequence[Span], nearness: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> Span | None:
    """Return the one sentence that is nearest to the question, the first of equals. Arguments as in `best_passage`."""
    if not len(spans):
        return None
    sentences = sentences_of(text)
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    of = np.maximum(0, np.searchsorted([start for start, _ in sentences], starts, side="right") - 1)
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    scores = np.einsum("ij,j->i", np.maximum.reduceat(nearness, begins, axis=0), weights)
    return sentences[of[begins[int((scores >= scores.max() - 1e-6).argmax())]]]


def without_stop_words(
    weights: npt.NDArray[np.float32], words: Sequence[str], language: str
) -> npt.NDArray[np.float32]:
    """Return the weights of a question's words, with 0 for stop words unless there are no others.

    In a small corpus every word is about as rare, so stop words would decide between the sentences of a passage.
    """
    meaning = np.array([bool(terms_of(word, language)) for word in words], dtype=np.float32)
    return weights * meaning if meaning.any() else weights


def sentence_with_terms(text: str, idf: Mapping[str, float], language: str) -> Span | None:
    """Return the sentence whose words have the highest summed rarity; None if it shares no word with the question.

    `idf`: the rarity of each search term of the question.
    """
    best, best_score = None, 0.0
    for start, end in sentences_of(text):
        score = sum(idf.get(term, 0.0) for term in set(terms_of(text[start:end], language)))
        if score > best_score:
            best, best_score = (start, end), score
    return best


def sentences_of(text: str) -> list[Span]:
    """Return the sentences of a text whose lines may be broken anywhere.

    A blank line ends a sentence; in a long stretch without a full stop, each line does.
    """
    spans: list[Span] = []
    start = 0
    for end, following in [*sentence_gaps(text, wrapped=True), (len(text), len(text))]:
        if end - start <= LONG_SENTENCE:
            spans.append((start, end))
        else:
            for line in _LINE_END.finditer(text, start, end):
                spans.append((start, line.start()))
                start = line.end()
            spans.append((start, end))
        start = following
    return [span for span in spans if text[span[0] : span[1]].strip()] or [(0, len(text))]


def _best(nearest: npt.NDArray[np.float32], sizes: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]) -> Span:
    """Return the first and last part of the best-scoring stretch that is short enough."""
    count = len(nearest)
    reached, size, last = nearest.copy(), sizes.copy(), np.arange(count)
    growing = np.arange(count)
    while len(growing):
        following = last[growing] + 1
        fits = following < count
        growing, following = growing[fits], following[fits]
        fits = size[growing] + sizes[following] <= PASSAGE_TOKENS
        growing, following = growing[fits], following[fits]
        reached[growing] = np.maximum(reached[growing], nearest[following])
        size[growing] += sizes[following]
        last[growing] = following
    scores = np.einsum("ij,j->i", reached, weights)
    first = int((scores >= scores.max() - 1e-6).argmax())
    final, enough = int(last[first]), KEEPS_AT_LEAST * float(scores[first])

    def holds(first: int, last: int) -> bool:
        return first <= last and float(np.einsum("j,j->", nearest[first : last + 1].max(axis=0), weights)) >= enough

    while holds(first + 1, final):
        first += 1
    while holds(first, final - 1):
        final -= 1
    return first, final


def _sentences(text: str) -> list[Span]:
    gaps = list(sentence_gaps(text))
    return list(zip([0, *(end for _, end in gaps)], [*(begin for begin, _ in gaps), len(text)], strict=True))
