"""The interface of rerankers: score how well each text answers a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """A model that reads a question together with a text. Calls never run inside a transaction."""

    @property
    def model(self) -> str: ...

    async def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """Return how well each text answers, on the model's own scale: more is better.

        None if the model does not know the question's language.
        Raises UnavailableError or NotConfiguredError.
        """
        ...

    async def close(self) -> None: ...
