"""Embed texts by any server with OpenAI's API: in batches, with retries and time limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from keeps.base.cache.breaker import Breaker
from keeps.models.chat import counted_answer, counted_requests
from keeps.models.embedder import Embedding, Floats, Meter, QueryEmbedding
from keeps.store.costs.spend import Spend
from keeps.store.db.session import forbid_inside_transaction
from keeps_client.errors import NotConfiguredError, UnavailableError

BATCH = 128
CONCURRENT_BATCHES = 4
TIMEOUT_SECONDS = 30.0
TEXTS_SECONDS, QUESTION_SECONDS = 60.0, 10.0
"""Time limits of a batch of texts and of a question, with retries; callers then continue without vectors."""
RETRIES = 3
PASSING = (408, 409, 429)
"""HTTP statuses below 500 after which the request can be retried."""
MAX_WEIGHT = 24_000
"""Maximum weight of a text: one per ASCII character, three per byte of others, which approximates the tokens.

The limit of OpenAI's models is 8,192 tokens.
"""
MOST_DIMENSIONS = 16_000
"""PostgreSQL accepts no longer vectors."""
NO_VECTORS = "the embedding server's response does not have the format of OpenAI's API"
KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class _RefusedError(UnavailableError):
    """The server rejects this text, for example because it is too long."""


class OpenAIEmbedder:
    """The remote embedder. It returns sentence vectors only, so recall has no late-interaction stage with it."""

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, dimensions: int | None = None
    ) -> None:
        """Connect to a server.

        `dimensions`: request shorter vectors, if the model supports them; part of the model's tag.
        """
        try:
            import openai
        except ImportError:
            raise NotConfiguredError(
                "KEEPS_EMBEDDER=openai needs the package openai: pip install 'keeps[openai]'"
            ) from None
        try:
            self._client: Any = openai.AsyncOpenAI(
                base_url=base_url,
                api_key=api_key or ("none" if base_url else None),
                timeout=TIMEOUT_SECONDS,
                max_retries=RETRIES,
            )
        except openai.OpenAIError:
            raise NotConfiguredError(
                "KEEPS_EMBEDDER=openai needs KEEPS_EMBEDDING_API_KEY, or KEEPS_EMBEDDING_BASE_URL for a server of"
                " your own"
            ) from None
        self._errors = openai
        self._name = model
        self._asked = dimensions
        self._slots = asyncio.Semaphore(CONCURRENT_BATCHES)
        self._breaker = Breaker()
        self.meter: Meter | None = None
        self.dimensions = self._seen = dimensions or KNOWN_DIMENSIONS.get(model, 0)
        self.model = f"openai/{model}" + (f"/{dimensions}" if dimensions else "")

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        forbid_inside_transaction("the embedding model")
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]

        async def one(batch: Sequence[str]) -> list[Floats]:
            async with self._slots:
                return await self._ask(batch, TEXTS_SECONDS, "index")

        answers = await asyncio.gather(*map(one, batches))
        return [Embedding(vector, None) for answer in answers for vector in answer]

    async def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vector of a question, without waiting for stored texts."""
        forbid_inside_transaction("the embedding model")
        (vector,) = await self._ask([text], QUESTION_SECONDS, "recall")
        return QueryEmbedding(vector, None, ())

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, texts: Sequence[str], seconds: float, job: str) -> list[Floats]:
        """Ask the server, unless it failed several times in a row: then it is asked again after a while."""
        if not self._breaker.lets_through():
            raise UnavailableError("the embedding server does not answer; it is skipped for some seconds")
        spend, started = Spend(), time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._answer(texts, spend)
            vectors = self._checked(answer, len(texts), spend)
        except TimeoutError:
            self._breaker.failed()
            raise UnavailableError(f"the embedding server did not answer in {seconds:.0f} s") from None
        except _RefusedError:
            raise  # The error concerns this text; others are answered.
        except UnavailableError:
            self._breaker.failed()
            raise
        finally:
            spend.seconds = time.perf_counter() - started
            if self.meter is not None:
                self.meter(self._name, job, spend)
        self._breaker.succeeded()
        return vectors

    async def _answer(self, texts: Sequence[str], spend: Spend) -> Any:
        options = {"dimensions": self._asked} if self._asked else {}
        try:
            with counted_requests(spend):
                response = await self._client.embeddings.with_raw_response.create(
                    model=self._name, input=[_cut(text) for text in texts], encoding_format="float", **options
                )
            return counted_answer(response, spend)
        except self._errors.AuthenticationError as error:
            raise NotConfiguredError(
                f"the embedding server refused the API key ({error.status_code}); check KEEPS_EMBEDDING_API_KEY"
            ) from None
        except self._errors.APIStatusError as error:
            kind = UnavailableError if error.status_code in PASSING or error.status_code >= 500 else _RefusedError
            raise kind(
                f"the embedding server returned {error.status_code} for model {self._name}, after {RETRIES} retries"
            ) from None
        except self._errors.OpenAIError as error:
            raise UnavailableError(f"the embedding server cannot be reached ({type(error).__name__})") from None
        except (ValueError, OverflowError, RecursionError):  # The answer is not JSON, or contains no vector.
            raise UnavailableError(NO_VECTORS) from None

    def _checked(self, answer: Any, count: int, spend: Spend) -> list[Floats]:
        """Return one unit vector for each text, and count an answer without them as failed."""
        try:
            return self._vectors(answer, count)
        except UnavailableError:
            spend.reject()
            raise

    def _vectors(self, answer: Any, count: int) -> list[Floats]:
        """Return one unit vector for each text. A server may return anything, so everything else is rejected."""
        try:
            data = sorted(answer.data, key=lambda item: item.index)
            vectors = np.asarray([item.embedding for item in data], dtype=np.float32)
            numbered = [item.index for item in data] == list(range(count))
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise UnavailableError(NO_VECTORS) from None
        if not numbered or vectors.ndim != 2:
            raise UnavailableError(f"the embedding server returned {len(vectors)} vectors for {count} texts")
        dimensions = vectors.shape[1]
        if dimensions != (self._seen or dimensions) or dimensions > MOST_DIMENSIONS:
            raise UnavailableError(
                f"the embedding server returned vectors of {dimensions} numbers instead of"
                f" {self._seen or 'at most 16,000'}: it may serve another model under the same name"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise UnavailableError("the embedding server returned an invalid vector")
        self.dimensions = self._seen = dimensions
        return list(vectors / lengths)


def _cut(text: str) -> str:
    """Return as much of the beginning of a text as the model accepts."""
    if len(text) <= MAX_WEIGHT // 12 or (text.isascii() and len(text) <= MAX_WEIGHT):
        return text
    weights = (1 if each.isascii() else 3 * len(each.encode("utf-8", "replace")) for each in text[:MAX_WEIGHT])
    return text[: sum(1 for weight in accumulate(weights) if weight <= MAX_WEIGHT)]
