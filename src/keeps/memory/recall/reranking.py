"""Call the reranker for recall within a time limit; without an answer in time, the order stays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from keeps.base.telemetry.logs import log
from keeps.base.text.searched import embedded_text
from keeps.memory.recall.ranking import Ranking
from keeps.models.reranker import Reranker
from keeps_client.errors import UnavailableError
from keeps_client.models import Memory

RERANKED = 20
"""Number of best hits that the reranker reads."""
RERANKING_SECONDS, LOADING_SECONDS = 3.0, 20.0
"""Time limits of the reranker: in general, and until its first answer."""


class Reranking:
    """Asks a model to read the best hits together with their question."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._answers = False
        self._failure = ""
        """The last failure logged, cleared by the next answer."""

    async def reranked(self, ranking: Ranking, memories: Mapping[UUID, Memory]) -> tuple[Ranking, bool]:
        """Return the ranking with the model's scores of the best hits, and whether the model answered in time.

        `memories`: the best memories that still exist.
        """
        best = [
            (position, memories[memory_id])
            for memory_id, position in zip(ranking.first(RERANKED), ranking.order, strict=False)
            if memory_id in memories
        ]
        if len(best) < 2:
            return ranking, True
        texts = [
            embedded_text(each.kind, each.content, each.metadata, each.trigger_condition, each.layer)
            for _, each in best
        ]
        try:
            async with asyncio.timeout(RERANKING_SECONDS if self._answers else LOADING_SECONDS):
                answers = await self._reranker.scores(ranking.request.query, texts)
            if answers is None:
                return ranking, True
            scores = _numbers(answers, len(best))
        except (UnavailableError, TimeoutError):
            return ranking, False
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  the hits are valid without it
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            if type(error).__name__ != self._failure:
                self._failure = type(error).__name__
                log().warning("the reranker failed", model=self._reranker.model, error=self._failure)
            return ranking, False
        self._answers, self._failure = True, ""
        return ranking.reranked([position for position, _ in best], scores, memories), True


def _numbers(answers: Sequence[float], count: int) -> list[float]:
    """Return the answers as floats. Raises ValueError unless there is a finite number for each text."""
    scores = np.array(answers, dtype=np.float64)
    if scores.shape != (count,) or not np.isfinite(scores).all():
        raise ValueError(f"{count} texts have scores of shape {scores.shape}, or scores that are not numbers")
    return scores.tolist()
