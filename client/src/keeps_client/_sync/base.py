# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""What every method stands on: one way to do an operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from keeps_client.endpoint import AnswerT, Endpoint


class Doing(ABC):
    """Methods name an operation and its arguments; how it is done is one method."""

    @abstractmethod
    def _do(self, endpoint: Endpoint[AnswerT], /, **fields: Any) -> AnswerT:
        """The answer. Raises the errors of keeps_client.errors."""
