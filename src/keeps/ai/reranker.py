"""The port: from a question and some texts to how well each answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """A model that reads a question together with a text. Calls never run inside a transaction."""

    @property
    def model(self) -> str: ...

    async def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """How well each text answers, in the model's own measure: more is better. None where the model does not know
        the question's language. Raises UnavailableError or NotConfiguredError."""
        ...

    async def close(self) -> None: ...
