"""all-MiniLM-L6-v2 on onnxruntime: 384 dimensions, no network, no torch.

A text longer than a window of 254 word pieces is read in up to two windows; its sentence vector is the mean of
theirs, its tokens are those of both. The model runs in threads of its own, and calls that wait for it are answered
together.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from keeps.ai.artifacts import DATA, find_model, read_tokenizer
from keeps.ai.embedder import Embedding, Floats, QueryEmbedding
from keeps.ai.token_vectors import pack_tokens
from keeps.db.session import forbid_inside_transaction
from keeps.text.words import MAX_WORD_CHARACTERS, is_cjk
from keeps.turns import FairQueue, current_tenant
from keeps_client.errors import KeepsError, UnavailableError

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
WINDOW_TOKENS = 254
MAX_WINDOWS = 2
_START, _END = 101, 102
_BATCH_TOKENS = 512
MOST_AT_ONCE, CHARACTERS_AT_ONCE = 64, 6_000
"""Of texts that are read together: some tenths of a second."""
QUESTION_CHARACTERS = 1_000
"""The same of questions: some hundredths."""
MOST_READ = 4_000
"""Characters of a text: two windows hold fewer, whatever it is written in."""
_Answer = tuple[Floats, Floats, list[str]]
_Wanted = tuple[str, "asyncio.Future[_Answer]"]


@dataclass(frozen=True, slots=True)
class _Window:
    ids: list[int]
    spans: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Read:
    sentence: Floats
    tokens: Floats
    words: list[str]


FoundT = TypeVar("FoundT")


class MiniLM:
    """The local embedder.

    Questions and texts that are stored have a model and a thread each: somebody waits for a question, and its few words
    need not wait for what is stored. Each is loaded at its first call.
    """

    model = MODEL
    dimensions = DIMENSIONS

    def __init__(self, model_dir: Path | None = None) -> None:
        self._questions = _Lane(
            "questions", partial(_Runtime, model_dir, threads=1), max_windows=1, characters=QUESTION_CHARACTERS
        )
        self._stored = _Lane(
            "stored", partial(_Runtime, model_dir, gently=True), max_windows=MAX_WINDOWS, characters=CHARACTERS_AT_ONCE
        )

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        forbid_inside_transaction("the embedding model")
        return [Embedding(sentence, pack_tokens(tokens)) for sentence, tokens, _ in await self._stored.run(texts)]

    async def embed_query(self, text: str) -> QueryEmbedding:
        """Of a question that is longer than a window, the first window is read."""
        forbid_inside_transaction("the embedding model")
        ((sentence, tokens, words),) = await self._questions.run([text])
        return QueryEmbedding(sentence, tokens, tuple(words))

    async def close(self) -> None:
        await asyncio.gather(self._questions.close(), self._stored.close())


class _Lane:
    """Texts that wait for the model, and the thread that reads them: one of each tenant in turn, and no more at once
    than `characters`, so that nobody waits for somebody's thousand texts."""

    def __init__(self, name: str, load: Callable[[], _Runtime], *, max_windows: int, characters: int) -> None:
        self._load = load
        self._runtime: _Runtime | None = None
        self._max_windows = max_windows
        self._characters = characters
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"keeps-embedder-{name}")
        self._waiting: FairQueue[_Wanted] = FairQueue()
        self._alone: list[_Wanted] = []
        """What is read one by one, since together it could not be."""
        self._draining: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, texts: Sequence[str]) -> list[_Answer]:
        if not texts:
            return []
        if self._closed:
            raise UnavailableError("the embedding model is closed")
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[_Answer]] = [loop.create_future() for _ in texts]
        for wanted in zip(texts, futures, strict=True):
            self._waiting.put(current_tenant(), wanted)
        if self._draining is None or self._draining.done():
            self._draining = loop.create_task(self._drain())
        return list(await asyncio.gather(*futures))

    async def close(self) -> None:
        self._closed = True
        if self._draining is not None:
            await asyncio.wait({self._draining})
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._runtime is not None:
            self._runtime.close()

    def _compute(self, texts: list[str]) -> list[_Answer]:
        if self._runtime is None:
            self._runtime = self._load()
        return self._runtime.embed(texts, self._max_windows)

    async def _drain(self) -> None:
        """Answer whatever has come in since the last round, together, until nobody waits."""
        loop = asyncio.get_running_loop()
        while batch := self._next():
            try:
                answers = await loop.run_in_executor(self._thread, self._compute, [text for text, _ in batch])
            except Exception as error:  # noqa: BLE001  whoever asked for it gets it
                if len(batch) > 1 and not isinstance(error, KeepsError):
                    self._alone += batch  # one text that cannot be read fails nobody else's
                    continue
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    def _next(self) -> list[_Wanted]:
        """Those that are read next, together; nobody who gave up meanwhile."""
        if self._alone:
            return [self._alone.pop()]
        batch: list[_Wanted] = []
        room = self._characters
        while self._waiting and len(batch) < MOST_AT_ONCE:
            text, future = self._waiting.peek()
            if not future.done():
                room -= min(len(text), MOST_READ)
                if batch and room < 0:
                    break
                batch.append((text, future))
            self._waiting.get()
        return batch


class _Runtime:
    """Tokenizer, session and projection, loaded. One thread at a time. `gently`: whatever else the machine has to do
    comes first; only the model's own arithmetic is put off so, which holds no lock."""

    def __init__(self, model_dir: Path | None, *, threads: int = 0, gently: bool = False) -> None:
        # Read at the import: without it, onnxruntime writes an id into the home and tells Microsoft what it runs.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = True
        # Threads that wait for work sleep: spinning, they take the processors from everybody else.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.intra_op_num_threads = threads
        self._gentle = ThreadPoolExecutor(1, "keeps-embedder-gentle", initializer=_behind_others) if gently else None
        # Its own threads are as gentle as the one that makes it.
        self._session: Any = self._when_idle(
            partial(
                onnxruntime.InferenceSession, str(find_model(model_dir)), options, providers=["CPUExecutionProvider"]
            )
        )
        self._tokenizer: Any = Tokenizer.from_str(read_tokenizer())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._input_names = {each.name for each in self._session.get_inputs()}
        with files("keeps.ai").joinpath(f"{DATA}/projection.npz").open("rb") as file:
            self._projection: Floats = np.load(file)["projection"].astype(np.float32)

    def embed(self, texts: list[str], max_windows: int) -> list[_Answer]:
        encodings = self._tokenizer.encode_batch([text[:MOST_READ] for text in texts], add_special_tokens=False)
        windows: list[tuple[int, _Window]] = []
        for index, encoding in enumerate(encodings):
            for start in range(0, max(1, min(len(encoding.ids), max_windows * WINDOW_TOKENS)), WINDOW_TOKENS):
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

    def close(self) -> None:
        if self._gentle is not None:
            self._gentle.shutdown(wait=False)

    def _when_idle(self, work: Callable[[], FoundT]) -> FoundT:
        return work() if self._gentle is None else self._gentle.submit(work).result()

    def _forward(self, batch: list[list[int]]) -> list[Floats]:
        longest = max(len(ids) for ids in batch) + 2
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(batch):
            ids[row, : len(each) + 2] = [_START, *each, _END]
            mask[row, : len(each) + 2] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        run = partial(self._session.run, None, {name: feed[name] for name in self._input_names})
        output, *_ = self._when_idle(run)
        return [output[row, : len(each) + 2] for row, each in enumerate(batch)]

    def _read(self, text: str, window: _Window, vectors: Floats) -> _Read:
        """Of one window: the sentence vector, and the reduced vectors of its word pieces, punctuation left out."""
        lexical = [n for n, (start, end) in enumerate(window.spans) if text[start:end].isalnum()]
        tokens = vectors[1:-1][lexical]
        tokens = _unit_rows(_unit_rows(tokens) @ self._projection)
        words = [_word_around(text, *window.spans[n]) for n in lexical]
        return _Read(_unit(vectors.mean(axis=0)), tokens, words)


def _behind_others() -> None:
    """Let this thread run when nothing else wants to; where a thread cannot be told so, it goes on as it is."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def _joined(parts: list[_Read]) -> _Answer:
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
    """The whole word that a word piece is a part of: at most 64 characters to each side. Where a script writes no
    spaces, the piece itself."""
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
