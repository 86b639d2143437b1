"""Measure models: their queue, their time, and their cost."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager

from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.models.chat import ChatModel, ModelT, Spend
from keeps.models.embedder import Embedder, Embedding, QueryEmbedding, ReadsInPieces
from keeps.models.reranker import Reranker

Note = Callable[[Scope, str, int], Awaitable[None]]
"""Records what a tenant spent: scope, job, number of tokens."""


class CountedEmbedder:
    """An embedder with metrics of its queue and times, separately for questions and stored texts."""

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
        """Return no spans if the model cannot determine them."""
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


class CountedReranker:
    """A reranker with metrics of its times and outcomes."""

    def __init__(self, inner: Reranker, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    @property
    def model(self) -> str:
        return self._inner.model

    async def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        outcome = "failed"
        try:
            with self._metrics.reranking_seconds.time():
                answers = await self._inner.scores(question, texts)
            outcome = "unknown_language" if answers is None else "answered"
            return answers
        finally:
            self._metrics.rerankings.labels(outcome).inc()

    async def close(self) -> None:
        await self._inner.close()


class CountedChat:
    """An LLM for one job, with metrics of its calls and tokens, which are also recorded for the tenant."""

    def __init__(self, inner: ChatModel, metrics: Metrics, job: str, note: Note) -> None:
        self.inner = inner
        self.metrics = metrics
        self.job = job
        self.note = note

    def of(self, scope: Scope) -> ChatModel:
        """Return the LLM for the work of a scope."""
        return _ScopedChat(self, scope)


class _ScopedChat:
    def __init__(self, asked: CountedChat, scope: Scope) -> None:
        self._asked = asked
        self._scope = scope

    async def answer(self, instructions: str, text: str, shape: type[ModelT], spend: Spend | None = None) -> ModelT:
        parent, used = self._asked, list[int]()
        success = "false"
        try:
            answer = await parent.inner.answer(instructions, text, shape, used.append)
            success = "true"
            return answer
        finally:
            parent.metrics.llm_calls.labels(parent.job, success).inc()
            if tokens := sum(used):
                parent.metrics.llm_tokens.labels(parent.job).inc(tokens)
                await parent.note(self._scope, parent.job, tokens)
                if spend is not None:
                    spend(tokens)

    async def close(self) -> None:
        """Do nothing: the creator of the LLM closes it."""
