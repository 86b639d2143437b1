"""Measure models: their queue, their time, and their cost."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime

from pydantic import JsonValue

from keeps.base.fairness import current_tenant
from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.models.chat import ChatModel, ModelT, Spend
from keeps.models.embedder import Embedder, Embedding, Metered, QueryEmbedding, ReadsInPieces
from keeps.models.reranker import Reranker
from keeps.store.costs.usage import ModelUsage
from keeps_client.errors import UnavailableError

BY_RULES = frozenset({"sessions", "graph", "markdown"})
"""Jobs of the LLM that have rules in its place, and so stop when a budget is used up."""


class CountedEmbedder:
    """An embedder with metrics of its queue and times, separately for questions and stored texts."""

    def __init__(self, inner: Embedder, metrics: Metrics, usage: ModelUsage) -> None:
        self._inner = inner
        self._metrics = metrics
        self._usage = usage
        if isinstance(inner, Metered):
            inner.meter = self._note

    def _note(self, model: str, job: str, spend: Spend) -> None:
        """Count requests to an embedding model over the network for the tenant of this task."""
        self._usage.note(current_tenant(), job, model, "embedding", spend)

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
    """An LLM for one job: its calls, tokens and seconds are counted for the tenant, and for its budgets."""

    def __init__(self, inner: ChatModel, metrics: Metrics, job: str, usage: ModelUsage) -> None:
        self.inner = inner
        self.metrics = metrics
        self.job = job
        self.usage = usage

    @property
    def model(self) -> str:
        return str(getattr(self.inner, "model", type(self.inner).__name__))

    def of(self, scope: Scope) -> ScopedChat:
        """Return the LLM for the work of a scope."""
        return ScopedChat(self, scope)

    async def blocked_until(self, scope: Scope) -> datetime | None:
        """Return when this job may ask for a tenant again, if a budget is used up and rules can do its work."""
        return await self.usage.blocked_until(scope.tenant_id) if self.job in BY_RULES else None


class ScopedChat:
    """The LLM for the work of a scope. `spent`: what all its answers took."""

    def __init__(self, counted: CountedChat, scope: Scope) -> None:
        self._counted = counted
        self._scope = scope
        self.spent = Spend()

    async def answer(self, instructions: str, text: str, shape: type[ModelT], spend: Spend | None = None) -> ModelT:
        """Return the LLM's answer. Raises UnavailableError, also if a budget is used up."""
        parent, used = self._counted, Spend()
        if (until := await parent.blocked_until(self._scope)) is not None:
            raise UnavailableError(f"a budget of the LLM is used up until {until:%Y-%m-%d}")
        started, success = time.perf_counter(), "false"
        try:
            answer = await parent.inner.answer(instructions, text, shape, used)
            success = "true"
            return answer
        finally:
            # An LLM of the caller may count nothing, or only tokens.
            if not used.calls or (success == "false" and not used.failed):
                used.calls, used.failed = max(1, used.calls), used.failed + (success == "false")
            used.seconds = time.perf_counter() - started
            parent.metrics.llm_calls.labels(parent.job, success).inc()
            parent.metrics.llm_tokens.labels(parent.job).inc(used.tokens)
            parent.usage.note(self._scope.tenant_id, parent.job, parent.model, "llm", used)
            self.spent.add(used)
            if spend is not None:
                spend.add(used)

    def made(self, memories: int) -> dict[str, JsonValue]:
        """Return what its answers took, as metadata of the memories that they made."""
        spent = self.spent
        return {
            "job": self._counted.job,
            "model": self._counted.model,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "memories": memories,
        }

    async def close(self) -> None:
        """Do nothing: the creator of the LLM closes it."""
