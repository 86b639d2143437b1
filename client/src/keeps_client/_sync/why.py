# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Explanations: why a memory is believed, and why a question did not find it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from keeps_client._sync.base import Doing
from keeps_client.models.why import WHY, WHY_NOT, Belief, WhyNot


class Why(Doing):
    """Explanations of one memory."""

    def why(self, memory_id: UUID | str) -> Belief:
        """Return what a memory came from, with speakers and times, and what changed it. Raises NotFoundError."""
        return self._do(WHY, memory_id=memory_id)

    def why_not(
        self, memory_id: UUID | str, question: str, *, context: bool = False, budget_tokens: int = 4_000, **options: Any
    ) -> WhyNot:
        """Return the step at which a question lost a memory, and by how much.

        `context` looks for it in a context of `budget_tokens`, too. `options`: arguments of `recall`, such as `limit`.
        Raises NotFoundError.
        """
        return self._do(
            WHY_NOT, memory_id=memory_id, query=question, context=context, budget_tokens=budget_tokens, **options
        )
