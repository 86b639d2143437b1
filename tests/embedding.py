"""The embedders of the tests: hashed words by default, the real model for tests marked `meaning`."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from keeps.models.embedder import Embedding, Floats, QueryEmbedding
from keeps.models.local import MINILM, MINILM_DIMENSIONS, MiniLM
from keeps.models.token_vectors import DIMENSIONS, pack_tokens

WORD = re.compile(r"\w+")
MAX_WORDS, MAX_QUERY_WORDS = 1_500, 250
"""Words of a text and of a question that get a vector: about the six windows, and the one, of the real model."""
CACHED_CHARACTERS = 2_000


class HashedWords:
    """A deterministic embedder without a model: a text is the sum of one pseudo-random unit vector per distinct word.

    The cosine of two texts grows with the words that they share, and is about 0 where they share none. It knows no
    synonyms, and its relevance is not calibrated.
    """

    model = MINILM
    dimensions = MINILM_DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return await asyncio.to_thread(lambda: [_embedding(text) for text in texts])

    async def embed_query(self, text: str) -> QueryEmbedding:
        words = _words(text)[:MAX_QUERY_WORDS]
        return QueryEmbedding(_sentence(words), _tokens(words), tuple(words))

    async def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the start and end of each word that `embed` gives a token vector, in order."""
        return [[match.span() for match in itertools.islice(WORD.finditer(text), MAX_WORDS)] for text in texts]

    async def close(self) -> None: ...


def _words(text: str) -> list[str]:
    return [match.group().casefold() for match in itertools.islice(WORD.finditer(text), MAX_WORDS)]


def _embedding(text: str) -> Embedding:
    words = _words(text)
    return Embedding(_sentence(words), pack_tokens(_tokens(words)))


def _sentence(words: Sequence[str]) -> Floats:
    """Return a unit vector, (384,); a text without words has one of its own."""
    total = np.sum([_vector(word, MINILM_DIMENSIONS) for word in dict.fromkeys(words) or [""]], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def _tokens(words: Sequence[str]) -> Floats:
    """Return a unit vector for each word, (n, 128)."""
    return np.array([_vector(word, DIMENSIONS) for word in words], dtype=np.float32).reshape(-1, DIMENSIONS)


@lru_cache(maxsize=50_000)
def _vector(word: str, dimensions: int) -> Floats:
    """Return the unit vector of a word: the same in every process and run."""
    seed = int.from_bytes(hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest())
    values = np.random.default_rng(seed).standard_normal(dimensions)
    return (values / np.linalg.norm(values)).astype(np.float32)


class SwitchedEmbedder:
    """The embedder that the engines of a run share: `HashedWords`, or the real model while `real` is set.

    Short texts are embedded by the real model once: half of what tests store was stored by another test before.
    Engines may close it; the run closes `model`.
    """

    def __init__(self, model: MiniLM) -> None:
        self.model, self.dimensions = model.model, model.dimensions
        self.real = False
        self._real, self._hashed = model, HashedWords()
        self._cache: dict[str, Embedding] = {}

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        if not self.real:
            return await self._hashed.embed(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._cache]
        embeddings = dict(zip(new, await self._real.embed(new), strict=True))
        self._cache.update((text, vectors) for text, vectors in embeddings.items() if len(text) <= CACHED_CHARACTERS)
        return [embeddings[text] if text in embeddings else self._cache[text] for text in texts]

    async def embed_query(self, text: str) -> QueryEmbedding:
        return await (self._real if self.real else self._hashed).embed_query(text)

    async def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return await (self._real if self.real else self._hashed).spans(texts)

    async def close(self) -> None: ...
