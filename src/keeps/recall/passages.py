"""Where in a long memory the answer is: the stretch of sentences whose words are nearest to the question's. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LONG_CHARACTERS = 1_000
"""Shorter texts are a passage themselves."""
PASSAGE_TOKENS = 250
KEEPS_AT_LEAST = 0.9
"""Sentences at both ends that bring less than the tenth part are left out."""
Span = tuple[int, int]
_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？｡।॥؟۔።])(?![。！？」』”）)])\s*")


def best_passage(
    text: str, spans: Sequence[Span], nearness: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> Span | None:
    """The characters of `text` from the beginning of a sentence to the end of one, at most PASSAGE_TOKENS words apart.

    `spans`: of each word vector its characters in the text · `nearness`: (words of the text, words of the question) ·
    `weights`: of each word of the question. None where no word of the text has a vector.
    """
    if not len(spans):
        return None
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    sentences = _sentences(text)
    of = np.searchsorted([start for start, _ in sentences], starts, side="right") - 1
    # A part is a sentence with its words, or as many of them as a passage holds.
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


def _best(nearest: npt.NDArray[np.float32], sizes: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]) -> Span:
    """The parts, from the first to the last, that are nearest together; of all stretches that are short enough."""
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
    starts = [0, *(gap.end() for gap in _END.finditer(text))]
    ends = [*(gap.start() for gap in _END.finditer(text)), len(text)]
    return list(zip(starts, ends, strict=True))
