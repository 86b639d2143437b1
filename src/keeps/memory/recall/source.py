"""Sources that recall reads memories from: the database, or the arrays that a process holds of an audience.

Both return the same memories and numbers; tests/recall/test_index.py compares them to the last digit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.memory.recall import store
from keeps.memory.recall.caches import SignsCache, WordsCache, vocabulary_of
from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.cues import preferences_behind
from keeps.memory.recall.misspelt import Vocabulary
from keeps.memory.recall.rows import Rows, Turns
from keeps.memory.recall.signs import Nearest, read_signs
from keeps.memory.recall.words import Layout, Positions, Postings, WordMatches, WordScores, read_matches
from keeps.models.embedder import Floats
from keeps.store.db.session import Tx
from keeps_client.models import Memory

FILTERED = 512
"""Number of best candidates in the first batch that a filter checks."""
PASSING = 200
"""Minimum number of candidates that pass from signs to full vectors when only the nearest memories are wanted."""
SEEN_AT_ONCE = 200_000
"""Signs of this many vectors are compared in two milliseconds; larger comparisons run in a thread."""


class Source(Protocol):
    """The memories that may answer one question: of the lives and the filter that it selects.

    A position identifies a memory within one source.
    `has_archived`: whether there may be archived memories; known after `words`.
    `past`: for a request about a past moment, each row's memory as it was then; read by `here`.
    """

    has_archived: bool
    past: Mapping[UUID, Memory]

    async def words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        """Return the memories that contain some words. `whole`: read the lists of words that most contain, too."""
        ...

    async def other_words(self, terms: Sequence[str]) -> WordMatches | None:
        """Return the memories that contain other words; None if positions have changed since `words`."""
        ...

    async def vocabularies(self, beginnings: Sequence[str]) -> list[Vocabulary]:
        """Return the words of all memories that start with one of `beginnings`."""
        ...

    async def best(self, scored: WordScores, depth: int) -> Positions:
        """Return the best selected memories by text, best first."""
        ...

    async def nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        """Return the nearest memories by signs, best first: `passing` of all, or `depth` that pass the filter."""
        ...

    async def graph(self, names: Sequence[str], memories: int, depth: int) -> dict[UUID, float]:
        """Return selected memories that mention entities with these names, with their scores."""
        ...

    async def with_key(self, namespace: str, key: str) -> set[UUID]: ...

    async def rows(self, positions: Positions, memory_ids: set[UUID]) -> Rows:
        """Return the selected memories at some positions and with some ids, by id."""
        ...

    async def around(self, rows: Rows, turns: Sequence[int]) -> tuple[Rows, Turns]:
        """Return the turns beside some of `rows` that are not in `rows`, by id, and which turns are beside each."""
        ...

    async def here(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which candidates are valid and unexpired at the moment of the question."""
        ...


class DatabaseSource:
    """Reads by statements of one transaction.

    `model`, `dimensions`: the model whose vectors are compared, and their size, 0 without vectors.
    """

    def __init__(
        self, tx: Tx, selection: Selection, model: str, dimensions: int, caches: tuple[SignsCache, WordsCache]
    ) -> None:
        self._tx = tx
        self._selection = selection
        self._model = model
        self._dimensions = dimensions
        self._signs, self._vocabularies = caches
        self._held: list[Postings] = []
        self._layout = Layout(())
        self._newest: Vocabulary | None = None
        self.has_archived = True
        self.past: Mapping[UUID, Memory] = {}

    async def words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        vectors = (self._model, self._dimensions) if self._dimensions else None
        self._held = await store.postings(self._tx, terms, self._selection, vectors, whole=whole)
        self._layout = Layout(self._held)
        self.has_archived = not self._held or self._held[0].archived
        return read_matches(self._held, terms)

    async def other_words(self, terms: Sequence[str]) -> WordMatches | None:
        held = await store.postings(self._tx, terms, self._selection, whole=True)
        return read_matches(held, terms) if Layout(held).same(self._layout) else None

    async def vocabularies(self, beginnings: Sequence[str]) -> list[Vocabulary]:
        if self._newest is None:
            self._newest = await vocabulary_of(await store.newest_words(self._tx, self._selection))
        return [self._newest, *[await self._vocabularies.of(self._tx, each, beginnings) for each in self._held]]

    async def best(self, scored: WordScores, depth: int) -> Positions:
        if not self._selection.filters:
            return scored.best(depth)
        return await self._passing(len(scored.positions), scored.best, depth)

    async def nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        if not self._selection.filters:
            return await self._near(sentence, passing)
        near = await self._near(sentence, max(passing, sum(audience.memories for audience in self._held)))
        return await self._passing(len(near), lambda most: near[:most], depth)

    async def most_similar(self, sentence: Floats, limit: int) -> dict[UUID, float]:
        """Return the nearest memories by meaning: first by signs, then by cosine similarity.

        A filter checks growing batches until `limit` memories pass.
        """
        await self.words((), whole=False)
        near = await self._near(sentence, max(PASSING, 2 * limit))
        similarities: dict[UUID, float] = {}
        looked, step = 0, max(FILTERED, 2 * limit)
        while looked < len(near) and len(similarities) < limit:
            places = self._layout.places(near[looked : looked + step])
            more = limit - len(similarities)
            similarities |= await store.near(self._tx, self._model, sentence, places, self._selection, more)
            looked, step = looked + step, 8 * step
        return similarities

    async def graph(self, names: Sequence[str], memories: int, depth: int) -> dict[UUID, float]:
        scores = await store.speaking_of(self._tx, names, memories, self._selection.now, depth)
        passing = await store.passing(self._tx, scores.keys(), self._selection)
        return {each: score for each, score in scores.items() if each in passing}

    async def with_key(self, namespace: str, key: str) -> set[UUID]:
        there = await store.with_key(self._tx, namespace, key)
        return await store.passing(self._tx, there, self._selection)

    async def rows(self, positions: Positions, memory_ids: set[UUID]) -> Rows:
        return await store.candidates(self._tx, self._reading(), positions, memory_ids)

    async def around(self, rows: Rows, turns: Sequence[int]) -> tuple[Rows, Turns]:
        ids = rows.ids()
        return await store.around(self._tx, self._reading(), [ids[turn] for turn in turns], ids)

    async def here(self, rows: Rows) -> npt.NDArray[np.bool_]:
        request = self._selection.request
        if request.as_of is None:
            return self._selection.current(rows)
        archived = bool(request.include_archived)
        self.past = await store.as_of(self._tx, rows, request.as_of, self._selection, archived=archived)
        return np.array([UUID(bytes=memory_id) in self.past for memory_id in rows.ids()], dtype=bool)

    def _reading(self) -> store.Reading:
        advice = bool(preferences_behind(self._selection.request.query))
        return store.Reading(self._layout, self._selection, self._model, self._dimensions, advice)

    async def _near(self, sentence: Floats, passing: int) -> Positions:
        """Return the best positions by the signs of their vectors."""
        nearest = Nearest(sentence, passing)
        for audience, (_, _, start) in zip(self._held, self._layout.parts(), strict=True):
            if audience.signs:
                nearest.see(*read_signs(audience.signs, audience.sign_size), start)
            async for signs in self._signs.of(self._tx, audience, self._model):
                if len(signs.places) > SEEN_AT_ONCE:
                    await asyncio.to_thread(nearest.see, signs.places, signs.columns, start)
                else:
                    nearest.see(signs.places, signs.columns, start)
        return await asyncio.to_thread(nearest.best) if passing > SEEN_AT_ONCE else nearest.best()

    async def _passing(self, count: int, best: Callable[[int], Positions], depth: int) -> Positions:
        """Return the best positions that pass the filter.

        The filter checks growing batches of `count` candidates until `depth` pass.
        """
        selected = np.zeros(0, dtype=np.int64)
        looked, step = 0, max(FILTERED, depth)
        while looked < count and len(selected) < depth:
            some = best(looked + step)[looked:]
            places = self._layout.places(some)
            passing = await store.passing_at(self._tx, places, self._selection, depth - len(selected))
            selected = np.concatenate((selected, some[passing]))
            looked, step = looked + step, 8 * step
        return selected
