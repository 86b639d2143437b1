"""all-MiniLM-L6-v2 on onnxruntime: 384 dimensions, no network, no torch.

A text longer than a window of 254 word pieces is read in up to two windows; its sentence vector is the mean of
theirs, its tokens are those of both. The model runs in one thread of its own, and calls that wait for it are
answered together.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from keeps.db.session import forbid_inside_transaction
from keeps.models.artifacts import DATA, find_model, read_tokenizer
from keeps.models.embedder import Embedding, Floats, QueryEmbedding
from keeps.models.token_vectors import pack_tokens
from keeps.text.words import MAX_WORD_CHARACTERS, is_cjk
from keeps.turns import FairQueue, current_tenant
from keeps_client.errors import UnavailableError

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
WINDOW_TOKENS = 254
MAX_WINDOWS = 2
_START, _END = 101, 102
_BATCH_TOKENS = 512
MOST_AT_ONCE, CHARACTERS_AT_ONCE = 64, 6_000
"""Of texts that are read together."""
MOST_READ = 4_000
"""Characters of a text: two windows hold fewer, whatever it is written in."""
_Wanted = tuple[str, "asyncio.Future[tuple[Floats, Floats, list[str]]]"]


@dataclass(frozen=True, slots=True)
class _Window:
    ids: list[int]
    spans: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Read:
    sentence: Floats
    tokens: Floats
    words: list[str]


class MiniLM:
    """The local embedder. The model is loaded at the first call, once."""

    model = MODEL
    dimensions = DIMENSIONS

    def __init__(self, model_dir: Path | None = None) -> None:
        self._model_dir = model_dir
        self._runtime: _Runtime | None = None
        self._loading = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeps-embedder")
        self._asked: FairQueue[_Wanted] = FairQueue()
        self._stored: FairQueue[_Wanted] = FairQueue()
        self._draining: asyncio.Task[None] | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        answers = await self._run(texts, self._stored)
        return [Embedding(sentence, pack_tokens(tokens)) for sentence, tokens, _ in answers]

    async def embed_query(self, text: str) -> QueryEmbedding:
        ((sentence, tokens, words),) = await self._run([text], self._asked)
        return QueryEmbedding(sentence, tokens, tuple(words))

    async def close(self) -> None:
        self._closed = True
        if self._draining is not None:
            await asyncio.wait({self._draining})
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, texts: Sequence[str], queue: FairQueue[_Wanted]) -> list[tuple[Floats, Floats, list[str]]]:
        forbid_inside_transaction("the embedding model")
        if not texts:
            return []
        if self._closed:
            raise UnavailableError("the embedding model is closed")
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[tuple[Floats, Floats, list[str]]]] = [loop.create_future() for _ in texts]
        for wanted in zip(texts, futures, strict=True):
            queue.put(current_tenant(), wanted)
        if self._draining is None or self._draining.done():
            self._draining = loop.create_task(self._drain())
        return list(await asyncio.gather(*futures))

    async def _drain(self) -> None:
        """Answer whatever has come in since the last round, together, until nobody waits.

        Questions go first, for somebody waits for them; but every third round is for what is stored, so that many questions of one
        tenant never keep others from writing. A round takes one text of each tenant in turn, and no more characters than
        are read in some tenths of a second, so that a question never waits for somebody's thousand texts.
        """
        loop = asyncio.get_running_loop()
        rounds = 0
        while self._asked or self._stored:
            rounds += 1
            batch: list[_Wanted] = []
            characters = 0
            queue = self._stored if self._stored and rounds % 3 == 0 else self._asked or self._stored
            while queue and len(batch) < MOST_AT_ONCE and characters < CHARACTERS_AT_ONCE:
                wanted = queue.get()
                if not wanted[1].done():
                    batch.append(wanted)
                    characters += min(len(wanted[0]), MOST_READ)
            try:
                answers = await loop.run_in_executor(self._thread, self._compute, [text for text, _ in batch])
            except Exception as error:  # noqa: BLE001  every caller gets it
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    def _compute(self, texts: list[str]) -> list[tuple[Floats, Floats, list[str]]]:
        with self._loading:
            if self._runtime is None:
                self._runtime = _Runtime(self._model_dir)
        return self._runtime.embed(texts)


class _Runtime:
    """Tokenizer, session and projection, loaded. One thread at a time."""

    def __init__(self, model_dir: Path | None) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = True
        self._session: Any = onnxruntime.InferenceSession(
            str(find_model(model_dir)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_str(read_tokenizer())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._input_names = {each.name for each in self._session.get_inputs()}
        with files("keeps.models").joinpath(f"{DATA}/projection.npz").open("rb") as file:
            self._projection: Floats = np.load(file)["projection"].astype(np.float32)

    def embed(self, texts: list[str]) -> list[tuple[Floats, Floats, list[str]]]:
        encodings = self._tokenizer.encode_batch([text[:MOST_READ] for text in texts], add_special_tokens=False)
        windows: list[tuple[int, _Window]] = []
        for index, encoding in enumerate(encodings):
            for start in range(0, max(1, min(len(encoding.ids), MAX_WINDOWS * WINDOW_TOKENS)), WINDOW_TOKENS):
                end = start + WINDOW_TOKENS
                windows.append((index, _Window(encoding.ids[start:end], encoding.offsets[start:end])))
        read: list[_Read | None] = [None] * len(windows)
        for batch in _batches([len(window.ids) + 2 for _, window in windows]):
            outputs = self._forward([windows[position][1].ids for position in batch])
            for position, vectors in zip(batch, outputs, strict=True):
                index, window = windows[position]
                read[position] = self._read(texts[index], window, vectors)
        by_text: list[list[_Read]] = [[] for _ in texts]
        for (index, _), each in zip(windows, read, strict=True):
            if each is not None:
                by_text[index].append(each)
        return [_joined(parts) for parts in by_text]

    def _forward(self, batch: list[list[int]]) -> list[Floats]:
        longest = max(len(ids) for ids in batch) + 2
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(batch):
            ids[row, : len(each) + 2] = [_START, *each, _END]
            mask[row, : len(each) + 2] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (output, *_) = self._session.run(None, {name: feed[name] for name in self._input_names})
        return [output[row, : len(each) + 2] for row, each in enumerate(batch)]

    def _read(self, text: str, window: _Window, vectors: Floats) -> _Read:
        """Of one window: the sentence vector, and the reduced vectors of its word pieces, punctuation left out."""
        lexical = [n for n, (start, end) in enumerate(window.spans) if text[start:end].isalnum()]
        tokens = vectors[1:-1][lexical]
        tokens = _unit_rows(_unit_rows(tokens) @ self._projection)
        words = [_word_around(text, *window.spans[n]) for n in lexical]
        return _Read(_unit(vectors.mean(axis=0)), tokens, words)


def _joined(parts: list[_Read]) -> tuple[Floats, Floats, list[str]]:
    sentence = _unit(np.mean([part.sentence for part in parts], axis=0))
    return sentence, np.concatenate([part.tokens for part in parts]), [word for part in parts for word in part.words]


def _batches(lengths: list[int]) -> list[list[int]]:
    """Positions grouped by similar length, each group at most `_BATCH_TOKENS` with its padding."""
    groups: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        longest = lengths[position]
        if groups and (len(groups[-1]) + 1) * longest <= _BATCH_TOKENS:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _word_around(text: str, start: int, end: int) -> str:
    """The whole word that a word piece is a part of: at most 64 characters to each side. Where a script writes no spaces, the
    piece itself."""
    if is_cjk(text[start]):
        return text[start:end]
    first, last = max(0, start - MAX_WORD_CHARACTERS), min(len(text), end + MAX_WORD_CHARACTERS)
    while start > first and text[start - 1].isalnum():
        start -= 1
    while end < last and text[end].isalnum():
        end += 1
    return text[start:end]


def _unit(vector: Floats) -> Floats:
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)


def _unit_rows(vectors: Floats) -> Floats:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
