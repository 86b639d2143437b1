"""Run a sentence encoder: tokenizer, weights and projection. No network, no torch.

A text longer than a window is read in several; its sentence vector is the mean of theirs, and its tokens are those of
all windows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4
from zipfile import BadZipFile

import numpy as np

from keeps.base.text.words import MAX_WORD_CHARACTERS, is_spaceless
from keeps.models.bert import Bert, Ids
from keeps.models.common import COMMON, apart, unit
from keeps.models.embedder import Floats
from keeps.models.lanes import MOST_READ, Answer
from keeps.models.models import Model
from keeps.models.onnx import behind_others, open_onnx, processors
from keeps.models.scripts import bare, is_written_in, scripts_of
from keeps.models.token_vectors import DIMENSIONS
from keeps.models.tokenizer import open_tokenizer
from keeps_client.errors import NotConfiguredError

_BATCH_TOKENS = 512
_FITTED_ON = 8_000
"""Number of vocabulary pieces, evenly spread, from which a model's projection is made."""
_fitting = threading.Lock()
FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class _Window:
    ids: list[int]
    spans: list[tuple[int, int]]


class Encoder:
    """An encoder for one thread at a time.

    `gently`: run at low priority. Only the model's arithmetic, which holds no lock, is delayed this way.
    """

    def __init__(
        self, load: Callable[[], Model], *, prefix: Literal["question", "text"], threads: int = 0, gently: bool = False
    ) -> None:
        self.model = load()
        self._prefix = self.model.question_prefix if prefix == "question" else self.model.text_prefix
        # For texts that are read alone, use one thread each; otherwise the model's own threads, which inherit the
        # priority of the thread that creates them.
        at_once, own_threads = (processors(), 1) if self.model.graph is not None else (1, threads)
        behind = partial(ThreadPoolExecutor, thread_name_prefix="keeps-embedder-gentle", initializer=behind_others)
        self._gentle = behind(at_once) if gently else None
        self._run = self._when_idle(partial(_opened, self.model, own_threads))
        self._tokenizer = open_tokenizer(self.model.tokenizer, self.model.name)
        self._start, self._end = self._tokenizer.start, self._tokenizer.end
        self._padding = self._tokenizer.padding
        self._scripts = self.model.scripts
        self._projection: Floats | None = None
        self._common: Floats | None = None
        if self.model.centred:
            both = [prefix + text for prefix in (self.model.question_prefix, self.model.text_prefix) for text in COMMON]
            piece_ids = [pieces.ids for pieces in self._tokenizer.encode(both)]
            (read,) = self._forward([piece_ids])
            self._common = np.mean([self._sentence(entry) for entry in read], axis=0)

    def embed(self, texts: list[str], max_windows: int) -> list[Answer]:
        read = [self._prefix + text[:MOST_READ] for text in texts]
        windows = self._windows(read, max_windows)
        by_text: list[list[Answer]] = [[] for _ in texts]
        answers: dict[int, Answer] = {}
        lengths = [len(window.ids) + 2 for _, window in windows]
        together = [[n] for n in range(len(lengths))] if self.model.graph is not None else _batches(lengths)
        batches = [[windows[position][1].ids for position in batch] for batch in together]
        for batch, outputs in zip(together, self._forward(batches), strict=True):
            for position, vectors in zip(batch, outputs, strict=True):
                index, window = windows[position]
                answers[position] = self._read(read[index], window, vectors)
        for position, (index, _) in enumerate(windows):
            by_text[index].append(answers[position])
        return [self._joined(parts, reads=self._reads(text)) for text, parts in zip(texts, by_text, strict=True)]

    def spans(self, texts: list[str], max_windows: int) -> list[list[tuple[int, int]]]:
        """Return the characters of each embedded word piece, for each stored text."""
        before = len(self.model.text_prefix)
        read = [self.model.text_prefix + text[:MOST_READ] for text in texts]
        spans_of: list[list[tuple[int, int]]] = [[] for _ in texts]
        for index, window in self._windows(read, max_windows):
            spans = [_trimmed(read[index], *span) for span in window.spans]
            lexical = _lexical(read[index], spans, before)
            spans_of[index] += [(spans[n][0] - before, spans[n][1] - before) for n in lexical]
        return spans_of

    def _windows(self, read: list[str], max_windows: int) -> list[tuple[int, _Window]]:
        """Return the windows to read, each with the index of its text."""
        size = self.model.window
        windows: list[tuple[int, _Window]] = []
        for index, pieces in enumerate(self._tokenizer.encode(read)):
            for start in range(0, max(1, min(len(pieces.ids), max_windows * size)), size):
                part = slice(start, start + size)
                window = _Window(pieces.ids[part], pieces.offsets[part])
                windows.append((index, window))
        return windows

    def close(self) -> None:
        if self._gentle is not None:
            self._gentle.shutdown(wait=False)

    def _reads(self, text: str) -> bool:
        """Return whether the model knows the script of half of a text's letters; true without letters."""
        if self._scripts is None:
            self._scripts = scripts_of(self._tokenizer.vocabulary)
        return is_written_in(text, self._scripts)

    def _when_idle(self, work: Callable[[], FoundT]) -> FoundT:
        return work() if self._gentle is None else self._gentle.submit(work).result()

    def _forward(self, batches: list[list[list[int]]]) -> Iterator[list[Floats]]:
        """Yield the vectors of each window's pieces with both ends; only one vector if the model returns no more."""
        padded = [self._padded(batch) for batch in batches]
        around = len(self._start) + len(self._end)
        run = map if self._gentle is None else self._gentle.map
        for batch, output in zip(batches, run(self._computed, padded), strict=True):
            if output.ndim == 2:
                yield list(output[:, None, :])
            else:
                yield [output[row, : len(each) + around] for row, each in enumerate(batch)]

    def _computed(self, padded: tuple[Ids, Ids]) -> Floats:
        return self._run(*padded)

    def _padded(self, batch: list[list[int]]) -> tuple[Ids, Ids]:
        around = len(self._start) + len(self._end)
        ids = np.full((len(batch), max(len(window) for window in batch) + around), self._padding, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(batch):
            ids[row, : len(window) + around] = [*self._start, *window, *self._end]
            mask[row, : len(window) + around] = 1
        return ids, mask

    def _read(self, text: str, window: _Window, vectors: Floats) -> Answer:
        """Return the sentence vector of a window, and the reduced vectors of its word pieces without punctuation."""
        sentence = self._sentence(vectors)
        if not self.model.tokens or len(vectors) != len(window.ids) + len(self._start) + len(self._end):
            return Answer(sentence, None, [])
        spans = [_trimmed(text, *span) for span in window.spans]
        lexical = _lexical(text, spans, len(self._prefix))
        first = len(self._start)
        tokens = vectors[first : first + len(window.ids)][lexical]
        tokens = _unit_rows(_unit_rows(tokens) @ self._projected())
        return Answer(sentence, tokens, [_word_around(text, *spans[n]) for n in lexical])

    def _joined(self, parts: list[Answer], *, reads: bool) -> Answer:
        sentence = np.mean([part.sentence for part in parts], axis=0)
        tokens = [part.tokens for part in parts if part.tokens is not None]
        words = [word for part in parts for word in part.words]
        apart_from_all = unit(sentence) if self._common is None else apart(sentence, self._common)
        return Answer(apart_from_all, np.concatenate(tokens) if tokens else None, words, reads)

    def _sentence(self, vectors: Floats) -> Floats:
        return unit(vectors[0] if self.model.pooling == "cls" else vectors.mean(axis=0))

    def _projected(self) -> Floats:
        projection = self._projection
        if projection is None:
            path = self.model.projection
            with _fitting:
                projection = _projection_in(path)
                if projection is None:
                    self._fit()
                    projection = _projection_in(path)
            if projection is None:
                raise NotConfiguredError(f"{path} cannot be written or read; check the disk space")
            self._projection = projection
        return projection

    def _fit(self) -> None:
        """Compute the projection of token vectors from the model's vocabulary, and store it.

        It consists of the first 128 principal directions (uncentred) of the model's outputs for single pieces.
        """
        pieces = sorted(
            number
            for piece, number in self._tokenizer.vocabulary.items()
            if len(word := bare(piece)) > 1 and word.isalnum() and not piece.startswith("[")
        )
        chosen = pieces[:: max(1, len(pieces) // _FITTED_ON)]
        products: Any = 0.0
        for start in range(0, len(chosen), 128):
            (read,) = self._forward([[[number] for number in chosen[start : start + 128]]])
            vectors = _unit_rows(np.array([each[len(self._start)] for each in read])).astype(np.float64)
            products = products + vectors.T @ vectors
        _, directions = np.linalg.eigh(products)
        best = directions[:, ::-1][:, :DIMENSIONS]
        projection = np.zeros((len(best), DIMENSIONS))
        projection[:, : best.shape[1]] = best
        path = self.model.projection
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{path.stem}-{uuid4().hex}.npz")
        with suppress(FileNotFoundError):
            np.savez_compressed(made, projection=projection.astype(np.float16))
        made.replace(path)


def _projection_in(path: Path) -> Floats | None:
    """Return None if there is no projection, or it is damaged."""
    try:
        with path.open("rb") as file:
            return np.load(file)["projection"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _opened(model: Model, threads: int) -> Callable[[Ids, Ids], Floats]:
    if model.weights.suffix == ".safetensors":
        return Bert(model.weights, model.config or {}).run
    computed = open_onnx(model.weights, model.graph, threads)
    return lambda ids, mask: computed(ids, mask, np.zeros_like(ids))


def _batches(lengths: list[int]) -> list[list[int]]:
    """Return positions grouped by similar length, each group at most `_BATCH_TOKENS` with its padding."""
    groups: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        longest = lengths[position]
        if groups and (len(groups[-1]) + 1) * longest <= _BATCH_TOKENS:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _lexical(text: str, spans: list[tuple[int, int]], before: int) -> list[int]:
    """Return the indexes of the pieces that belong to words, after `before` characters of a prefix."""
    return [n for n, (start, end) in enumerate(spans) if start >= before and text[start:end].isalnum()]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without its leading space, which some tokenizers include."""
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _word_around(text: str, start: int, end: int) -> str:
    """Return the whole word around a word piece, at most 64 characters to each side.

    In scripts without spaces, return the piece itself.
    """
    if is_spaceless(text[start]):
        return text[start:end]
    first, last = max(0, start - MAX_WORD_CHARACTERS), min(len(text), end + MAX_WORD_CHARACTERS)
    while start > first and text[start - 1].isalnum():
        start -= 1
    while end < last and text[end].isalnum():
        end += 1
    return text[start:end]


def _unit_rows(vectors: Floats) -> Floats:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
