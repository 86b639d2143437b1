"""Vectors of Markdown entries: computed in the background, held in memory, and again after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np

from keeps.base.fairness import acting_for
from keeps.base.telemetry.logs import log
from keeps.models.embedder import Embedder, Floats
from keeps_client.errors import KeepsError

MAX_TEXTS = 5_000
MAX_CHARACTERS = 2_000
BATCH = 16
WAIT_SECONDS = 0.4
"""Seconds that a search waits for vectors; entries without one are found by their words."""


class TextVectors:
    """The vectors of one folder's texts."""

    def __init__(self, embedder: Embedder, tenant_id: str) -> None:
        self._embedder = embedder
        self._tenant_id = tenant_id
        self._vectors: dict[str, Floats] = {}
        self._missing: list[str] = []
        self._task: asyncio.Task[None] | None = None

    async def similarities(self, query: str, texts: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine of the query and each text that has its vector by now."""
        wanted = dict.fromkeys(text[:MAX_CHARACTERS] for text in texts[:MAX_TEXTS])
        self._vectors = {text: vector for text, vector in self._vectors.items() if text in wanted}
        self._missing = [text for text in wanted if text not in self._vectors]
        if self._missing and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._derive())
        if self._task is not None:
            await asyncio.wait([self._task], timeout=WAIT_SECONDS)
        try:
            with acting_for(self._tenant_id):
                embedding = await self._embedder.embed_query(query)
        except KeepsError:
            return {}
        if not embedding.reads or not self._vectors:
            return {}
        known = dict(self._vectors)
        cosines = np.array(list(known.values())) @ embedding.sentence
        by_text = dict(zip(known, cosines.tolist(), strict=True))
        return {text: by_text[text[:MAX_CHARACTERS]] for text in texts if text[:MAX_CHARACTERS] in by_text}

    async def close(self) -> None:
        """Stop the background work."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _derive(self) -> None:
        """Embed texts without a vector until there are none."""
        while self._missing:
            batch, self._missing = self._missing[:BATCH], self._missing[BATCH:]
            try:
                with acting_for(self._tenant_id):
                    embeddings = await self._embedder.embed(batch)
            except KeepsError as error:
                log().warning("Markdown entries are matched by words only", error=type(error).__name__)
                return
            self._vectors |= {text: each.sentence for text, each in zip(batch, embeddings, strict=True)}
