"""Requests that ask the same question with other filters look its words up in the arrays once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.index import AudienceIndex
from keeps.memory.recall.index_source import IndexSource
from keeps.memory.recall.store import COMMON_FROM
from keeps.memory.recall.words import WordMatches


class SharedIndexSource(IndexSource):
    """Reads from arrays. Which memories contain a word depends on their lives only, not on the filter.

    `looked_up`: what the sources of one answer have read, by lives and words.
    """

    def __init__(
        self,
        indexes: Sequence[AudienceIndex],
        looked_up: dict[tuple[object, ...], Any],
        selection: Selection,
        *,
        vectors: bool,
    ) -> None:
        super().__init__(indexes, selection, vectors=vectors)
        self._looked_up = looked_up
        self._lives = selection.lives
        self._skips = sum(map(len, indexes)) > COMMON_FROM

    async def words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        whole = whole or not self._skips  # Among few memories no list is skipped.
        key = "words", self._lives, whole, *terms
        if key not in self._looked_up:
            self._looked_up[key] = await super().words(terms, whole=whole)
        return self._looked_up[key]
