"""Models that are counted: what waits for them, how long it took, what it cost."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from keeps.ai.chat import ChatModel, ModelT, Spend
from keeps.ai.embedder import Embedder, Embedding, QueryEmbedding, ReadsInPieces
from keeps.telemetry.metrics import Metrics


class CountedEmbedder:
    """An embedder whose queue and times are in the metrics: of questions, and of what is stored."""

    def __init__(self, inner: Embedder, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        with self._counted("stored", len(texts)):
            return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> QueryEmbedding:
        with self._counted("question", 1):
            return await self._inner.embed_query(text)

    async def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Nothing, where the model cannot say it."""
        return await self._inner.spans(texts) if isinstance(self._inner, ReadsInPieces) else [[] for _ in texts]

    async def close(self) -> None:
        await self._inner.close()

    @contextmanager
    def _counted(self, kind: str, texts: int) -> Generator[None]:
        waiting = self._metrics.embedding_waiting.labels(kind)
        started = time.perf_counter()
        waiting.inc(texts)
        try:
            yield
        finally:
            waiting.dec(texts)
            self._metrics.embedding_seconds.labels(kind).observe(time.perf_counter() - started)


class CountedChat:
    """An LLM whose calls and tokens are in the metrics, under the job that asks."""

    def __init__(self, inner: ChatModel, metrics: Metrics, job: str) -> None:
        self._inner = inner
        self._metrics = metrics
        self._job = job

    async def answer(self, instructions: str, text: str, shape: type[ModelT], spend: Spend | None = None) -> ModelT:
        def spent(tokens: int) -> None:
            self._metrics.llm_tokens.labels(self._job).inc(tokens)
            if spend is not None:
                spend(tokens)

        success = "false"
        try:
            answer = await self._inner.answer(instructions, text, shape, spent)
            success = "true"
            return answer
        finally:
            self._metrics.llm_calls.labels(self._job, success).inc()

    async def close(self) -> None:
        await self._inner.close()


def counted_chat(inner: ChatModel | None, metrics: Metrics, job: str) -> CountedChat | None:
    return None if inner is None else CountedChat(inner, metrics, job)
