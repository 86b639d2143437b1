"""Where in a long memory the answer is: the stretch of sentences whose words are nearest to the question's. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keeps.text.names import SENTENCE_END

LONG_CHARACTERS = 1_000
"""Shorter texts are a passage themselves."""
PASSAGE_TOKENS = 250
KEEPS_AT_LEAST = 0.9
"""Sentences at both ends that bring less than the tenth part are left out."""
Span = tuple[int, int]


def best_passage(
    text: str, spans: Sequence[Span], nearness: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> Span | None:
    """The characters of `text` from the beginning of a sentence to the end of one, at most PASSAGE_TOKENS words apart.

    `spans`: of each word vector its characters in the text · `nearness`: (words of the text, words of the question) ·
    `weights`: of each word of the question. None where no word of the text has a vector.
    """
    sentences = _sentences(text)
    of = np.searchsorted([start for start, _ in sentences], [start for start, _ in spans], side="right") - 1
    held = np.flatnonzero(np.bincount(np.maximum(of, 0), minlength=len(sentences))) if len(spans) else []
    if not len(held):
        return None
    begins = np.searchsorted(of, held)
    nearest = np.maximum.reduceat(nearness, begins, axis=0)
    sizes = np.diff([*begins, len(spans)])
    best, chosen = -np.inf, (0, 0)
    for first in range(len(held)):
        last, size = first, int(sizes[first])
        reached = nearest[first].copy()
        while last + 1 < len(held) and size + sizes[last + 1] <= PASSAGE_TOKENS:
            last += 1
            size += int(sizes[last])
            np.maximum(reached, nearest[last], out=reached)
        score = float(reached @ weights)
        if score > best + 1e-6:
            best, chosen = score, (first, last)
    first, last = chosen

    def holds(first: int, last: int) -> bool:
        return first <= last and float(nearest[first : last + 1].max(axis=0) @ weights) >= KEEPS_AT_LEAST * best

    while holds(first + 1, last):
        first += 1
    while holds(first, last - 1):
        last -= 1
    return sentences[held[first]][0], sentences[held[last]][1]


def _sentences(text: str) -> list[Span]:
    starts = [0, *(gap.end() for gap in SENTENCE_END.finditer(text))]
    ends = [*(gap.start() for gap in SENTENCE_END.finditer(text)), len(text)]
    return list(zip(starts, ends, strict=True))
