"""The interface of embedding models: texts to vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from keeps.store.costs.spend import Spend

Floats = npt.NDArray[np.float32]
Meter = Callable[[str, str, Spend], None]
"""Takes the model, the job (`index` or `recall`) and what requests used."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vectors of one stored text.

    `sentence`: unit length, (dimensions,).
    `tokens`: packed token vectors for the second stage (see `token_vectors.py`), or None if the model has none.
    """

    sentence: Floats
    tokens: bytes | None


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The vectors of one question.

    `tokens`: (n, reduced dimensions); row i belongs to the word `words[i]`.
    `reads`: whether the model knows the script; if not, the vectors are meaningless, and words are searched.
    """

    sentence: Floats
    tokens: Floats | None
    words: tuple[str, ...]
    reads: bool = True


class Embedder(Protocol):
    """The interface that Keeps needs of an embedding model. Calls never run inside a transaction."""

    @property
    def model(self) -> str:
        """The tag that vectors are stored under; vectors with different tags cannot be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each text, in order. Raises UnavailableError or NotConfiguredError."""
        ...

    async def embed_query(self, text: str) -> QueryEmbedding: ...

    async def close(self) -> None: ...


@runtime_checkable
class ReadsInPieces(Protocol):
    """An embedder that can return the text positions of the word pieces that it embeds."""

    async def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]: ...


@runtime_checkable
class Metered(Protocol):
    """An embedder over the network, whose requests cost something. It calls `meter` after each."""

    meter: Meter | None
