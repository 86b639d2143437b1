"""The reranker as recall asks it: in time, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from keeps.ai.reranker import Reranker
from keeps.recall.ranking import Ranking
from keeps.telemetry.logs import log
from keeps.text.searched import embedded_text
from keeps_client.errors import UnavailableError
from keeps_client.models import Memory

RERANKED = 20
"""So many of the best it reads."""
RERANKING_SECONDS, LOADING_SECONDS = 3.0, 20.0
"""So long a question waits for it, and until it has answered once."""


class Reranking:
    """Has a model read the best hits together with their question."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._answers = False
        self._failure = ""
        """The last that was logged, until it answers again."""

    async def reranked(self, ranking: Ranking, memories: Mapping[UUID, Memory]) -> tuple[Ranking, bool]:
        """The ranking with what the model says of the best of it; and whether it answered in time. `memories`: of the
        best, those that are there."""
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
            told = _numbers(answers, len(best))
        except (UnavailableError, TimeoutError):
            return ranking, False
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  the hits are there without it
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            if type(error).__name__ != self._failure:
                self._failure = type(error).__name__
                log().warning("the reranker failed", model=self._reranker.model, error=self._failure)
            return ranking, False
        self._answers, self._failure = True, ""
        return ranking.reranked([position for position, _ in best], told), True


def _numbers(answers: Sequence[float], count: int) -> list[float]:
    """Raises ValueError unless there is a number for each."""
    told = np.array(answers, dtype=np.float64)
    if told.shape != (count,) or not np.isfinite(told).all():
        raise ValueError(f"{count} texts have {told.shape} answers, or some that are no numbers")
    return told.tolist()
