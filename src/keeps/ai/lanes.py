"""Texts that wait for a local model: read together, in turn between tenants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from keeps.ai.embedder import Floats
from keeps.turns import FairQueue, current_tenant
from keeps_client.errors import KeepsError, UnavailableError

MOST_AT_ONCE = 64
"""Texts that are read together."""
MOST_READ = 12_000
"""Characters of a text: six windows hold fewer, whatever it is written in."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one text: the sentence vector, the vectors of its word pieces, and the word that each is a part of; `reads`:
    whether the model knows the script at all."""

    sentence: Floats
    tokens: Floats | None
    words: list[str]
    reads: bool = True


_Wanted = tuple[str, "asyncio.Future[Answer]"]


class Runtime(Protocol):
    """A loaded model."""

    def embed(self, texts: list[str], max_windows: int) -> list[Answer]: ...

    def spans(self, texts: list[str], max_windows: int) -> list[list[tuple[int, int]]]: ...

    def close(self) -> None: ...


class Lane:
    """Texts that wait for the model, and the thread that reads them: one of each tenant in turn, and no more at once
    than `characters`, so that nobody waits for somebody's thousand texts."""

    def __init__(self, name: str, load: Callable[[], Runtime], max_windows: int, characters: int) -> None:
        self._load = load
        self._runtime: Runtime | None = None
        self._max_windows = max_windows
        self._characters = characters
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"keeps-embedder-{name}")
        self._waiting: FairQueue[_Wanted] = FairQueue()
        self._alone: list[_Wanted] = []
        """What is read one by one, since together it could not be."""
        self._draining: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, texts: Sequence[str]) -> list[Answer]:
        if not texts:
            return []
        if self._closed:
            raise UnavailableError("the embedding model is closed")
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Answer]] = [loop.create_future() for _ in texts]
        for wanted in zip(texts, futures, strict=True):
            self._waiting.put(current_tenant(), wanted)
        if self._draining is None or self._draining.done():
            self._draining = loop.create_task(self._drain())
        return list(await asyncio.gather(*futures))

    async def spans(self, texts: Sequence[str], max_windows: int) -> list[list[tuple[int, int]]]:
        """Where the word pieces of some texts are; nowhere, before the model is loaded. In a thread apart: nobody who
        asks the model waits for it."""
        if self._runtime is None:
            return [[] for _ in texts]
        return await asyncio.to_thread(self._runtime.spans, list(texts), max_windows)

    async def close(self) -> None:
        self._closed = True
        if self._draining is not None:
            await asyncio.wait({self._draining})
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._runtime is not None:
            self._runtime.close()

    def _compute(self, texts: list[str]) -> list[Answer]:
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
