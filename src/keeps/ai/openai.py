"""Embeddings from any server that speaks OpenAI's API: batched, retried, timed out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from keeps.ai.embedder import Embedding, Floats, QueryEmbedding
from keeps.db.session import forbid_inside_transaction
from keeps_client.errors import NotConfiguredError, UnavailableError

BATCH = 128
CONCURRENT_BATCHES = 4
TIMEOUT_SECONDS = 30.0
RETRIES = 3
MAX_CHARACTERS = 24_000
KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class OpenAIEmbedder:
    """The remote embedder. It gives sentence vectors only, so recall has no late-interaction stage with it."""

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, dimensions: int | None = None
    ) -> None:
        """`dimensions`: ask the model for shorter vectors, where it can give them; also part of the model's tag."""
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
        self.dimensions = dimensions or KNOWN_DIMENSIONS.get(model, 0)
        self.model = f"openai/{model}" + (f"/{dimensions}" if dimensions else "")

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        forbid_inside_transaction("the embedding model")
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        answers = await asyncio.gather(*(self._ask(batch) for batch in batches))
        return [Embedding(vector, None) for answer in answers for vector in answer]

    async def embed_query(self, text: str) -> QueryEmbedding:
        (found,) = await self.embed([text])
        return QueryEmbedding(found.sentence, None, ())

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, texts: Sequence[str]) -> list[Floats]:
        options = {"dimensions": self._asked} if self._asked else {}
        async with self._slots:
            try:
                answer = await self._client.embeddings.create(
                    model=self._name,
                    input=[text[:MAX_CHARACTERS] for text in texts],
                    encoding_format="float",
                    **options,
                )
            except self._errors.AuthenticationError as error:
                raise NotConfiguredError(
                    f"the embedding server refused the API key ({error.status_code}); check KEEPS_EMBEDDING_API_KEY"
                ) from None
            except self._errors.APIStatusError as error:
                raise UnavailableError(
                    f"the embedding server answered {error.status_code} for model {self._name}, after {RETRIES} retries"
                ) from None
            except self._errors.OpenAIError as error:
                raise UnavailableError(f"the embedding server cannot be reached ({type(error).__name__})") from None
        if len(answer.data) != len(texts):
            raise UnavailableError(f"the embedding server answered {len(answer.data)} vectors for {len(texts)} texts")
        vectors = [
            np.asarray(each.embedding, dtype=np.float32) for each in sorted(answer.data, key=lambda each: each.index)
        ]
        self.dimensions = len(vectors[0])
        return [vector / max(float(np.linalg.norm(vector)), 1e-9) for vector in vectors]
