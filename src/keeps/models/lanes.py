"""Queue work for a local model: read in batches, in turn between tenants."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from keeps.base.fairness import FairQueue, current_tenant
from keeps.models.embedder import Floats
from keeps_client.errors import KeepsError, UnavailableError

MOST_AT_ONCE = 64
"""Maximum number of texts that are read together."""
TRIED_AGAIN_SECONDS = 60.0
MOST_READ = 12_000
"""Maximum characters of a text: six windows contain fewer in any script."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The vectors of one text.

    `sentence`: the sentence vector.
    `tokens`: vectors of the word pieces.
    `words`: the word that each piece belongs to.
    `reads`: whether the model knows the script.
    """

    sentence: Floats
    tokens: Floats | None
    words: list[str]
    reads: bool = True


class Runtime(Protocol):
    """The interface of a loaded sentence encoder."""

    def embed(self, texts: list[str], max_windows: int) -> list[Answer]: ...

    def spans(self, texts: list[str], max_windows: int) -> list[list[tuple[int, int]]]: ...

    def close(self) -> None: ...


class Closing(Protocol):
    def close(self) -> None: ...


RuntimeT = TypeVar("RuntimeT", bound=Closing)
AskedT = TypeVar("AskedT")
AnswerT = TypeVar("AnswerT")


class Lane(Generic[RuntimeT, AskedT, AnswerT]):
    """A queue for a model, and the thread that serves it.

    Tenants take turns, by characters, and a batch has at most `characters`, so that no tenant waits for another's
    thousand texts. A model that cannot be loaded is tried again after a minute.

    `load`: loads the model at the first call.
    `read`: returns the model's answers to a batch.
    `size`: returns the characters of one request.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], RuntimeT],
        read: Callable[[RuntimeT, list[AskedT]], list[AnswerT]],
        size: Callable[[AskedT], int],
        characters: int,
    ) -> None:
        self._load = load
        self._read = read
        self._size = size
        self.runtime: RuntimeT | None = None
        self._characters = characters
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"keeps-model-{name}")
        self._waiting: FairQueue[tuple[AskedT, asyncio.Future[AnswerT]]] = FairQueue()
        self._alone: list[tuple[AskedT, asyncio.Future[AnswerT]]] = []
        """Requests that are read one by one, since their batch failed."""
        self._draining: asyncio.Task[None] | None = None
        self._broken: tuple[KeepsError | None, float] = None, 0.0
        self._closed = False

    async def run(self, asked: Sequence[AskedT]) -> list[AnswerT]:
        if not asked:
            return []
        if self._closed:
            raise UnavailableError("the model is closed")
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[AnswerT]] = [loop.create_future() for _ in asked]
        for wanted in zip(asked, futures, strict=True):
            self._waiting.put(current_tenant(), wanted, self._size(wanted[0]))
        if self._draining is None or self._draining.done():
            self._draining = loop.create_task(self._drain())
        return list(await asyncio.gather(*futures))

    async def close(self) -> None:
        self._closed = True
        if self._draining is not None:
            await asyncio.wait({self._draining})
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self.runtime is not None:
            self.runtime.close()

    def _compute(self, asked: list[AskedT]) -> list[AnswerT]:
        if self.runtime is None:
            error, until = self._broken
            if error is not None and time.monotonic() < until:
                raise error.with_traceback(None)
            try:
                self.runtime = self._load()
            except KeepsError as error:
                self._broken = error, time.monotonic() + TRIED_AGAIN_SECONDS
                raise
        return self._read(self.runtime, asked)

    async def _drain(self) -> None:
        """Answer requests in batches until none are waiting."""
        loop = asyncio.get_running_loop()
        while batch := self._next():
            try:
                answers = await loop.run_in_executor(self._thread, self._compute, [asked for asked, _ in batch])
            except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001  callers get any error, even a panic in Rust
                if len(batch) > 1 and not isinstance(error, KeepsError):
                    self._alone += batch  # A request that cannot be read must not fail the others.
                    continue
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    def _next(self) -> list[tuple[AskedT, asyncio.Future[AnswerT]]]:
        """Return the next batch, without requests that were cancelled in the meantime."""
        if self._alone:
            return [self._alone.pop()]
        batch: list[tuple[AskedT, asyncio.Future[AnswerT]]] = []
        room = self._characters
        while self._waiting and len(batch) < MOST_AT_ONCE:
            request, future = self._waiting.peek()
            if not future.done():
                room -= self._size(request)
                if batch and room < 0:
                    break
                batch.append((request, future))
            self._waiting.get()
        return batch
