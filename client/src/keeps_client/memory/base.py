"""The base of all methods, which runs an operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.errors import NotFoundError
from keeps_client.models.tasks import Deleted


class Doing(ABC):
    """Runs operations: each method names an operation and its arguments, and `_do` runs it."""

    @abstractmethod
    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        """Run an operation and return its answer. Raises the errors of keeps_client.errors."""

    async def _find(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT | None:
        """Return the answer, or None if nothing was found."""
        try:
            return await self._do(endpoint, **fields)
        except NotFoundError:
            return None

    async def _delete(self, endpoint: Endpoint[Deleted, Any, Any], missing_ok: bool, /, **fields: Any) -> Deleted:
        """Delete; with `missing_ok`, return `deleted` False if there is nothing."""
        if not missing_ok:
            return await self._do(endpoint, **fields)
        return await self._find(endpoint, **fields) or Deleted(deleted=False, message="there was nothing to delete")
