"""Answer a question from the arrays of its audiences: the tenant's and the user's. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.memory.recall.arms import SMALL_AUDIENCE
from keeps.memory.recall.conditions import Selection
from keeps.memory.recall.index import LIVES, AudienceIndex, LifeCounts, RowNumbers
from keeps.memory.recall.misspelt import Vocabulary
from keeps.memory.recall.rows import Rows, Turns, hashes_of, ids_of, joined, moment_of
from keeps.memory.recall.signs import Nearest
from keeps.memory.recall.source import SEEN_AT_ONCE
from keeps.memory.recall.store import COMMON_FROM
from keeps.memory.recall.words import Positions, WordMatches, WordScores, matches_of
from keeps.models.embedder import Floats
from keeps_client.models import Memory, RecallRequest

BESIDE = 2
"""Number of turns before and after a turn that are read with it."""
Mask = npt.NDArray[np.bool_]


def serves(selection: Selection) -> bool:
    """Return whether arrays can answer: not about the past, by tags or fields, or over the graph."""
    request = selection.request
    needs_database = request.as_of, request.tags, request.filters
    return not selection.scope.agent_bound and all(each is None for each in needs_database) and not _over_graph(request)


def _over_graph(request: RecallRequest) -> bool:
    return "graph" in (request.providers or ())


class Part:
    """One audience as one question sees it.

    `selected`: its rows of the selected lives; `allowed`: those of them that also pass the filter.
    `positions`: the position of each row.
    """

    def __init__(self, index: AudienceIndex, selection: Selection, start: int) -> None:
        self.index = index
        self.count = len(index)
        self.table, self.details = index.table, index.details
        self._selection = selection
        self.lives = [life for life in LIVES if life in selection.lives and life in index.counts]
        sizes = [index.counts[life].next_place for life in self.lives]
        *self.starts, self.end = accumulate(sizes, initial=start)
        first = np.full(len(LIVES), -1, dtype=np.int64)
        for life, begin in zip(self.lives, self.starts, strict=True):
            first[LIVES.index(life)] = begin
        beginnings = first[self.details["life"]]
        self.selected: Mask = index.alive & (beginnings >= 0)
        self.positions: Positions = beginnings + self.details["place"]

    @cached_property
    def allowed(self) -> Mask:
        selection, table, details = self._selection, self.table, self.details
        request, moment = selection.request, moment_of(selection.request.valid_at or selection.now)
        mask = self.selected & (table["expires"] > moment_of(selection.now))
        begun = table["begins"] <= moment
        mask &= begun if request.valid_at else begun | (table["begins"] <= table["updated"])
        if not request.include_superseded:
            mask &= table["ends"] > moment
        several = ("kind", request.kinds), ("layer", request.layers), ("content_type", request.content_types)
        for name, wanted in several:
            if wanted is not None:
                mask &= np.isin(details[name], hashes_of(wanted))
        for column, name, one in (
            (details, "agent", request.agent_id),
            (table, "session", request.session_id),
            (details, "namespace", request.namespace),
        ):
            if one is not None:
                mask &= column[name] == hashes_of([one])[0]
        if request.min_importance is not None:
            mask &= table["importance"] >= request.min_importance
        if request.since is not None:
            mask &= table["begins"] >= moment_of(request.since)
        if request.until is not None:
            mask &= table["begins"] < moment_of(request.until)
        if request.scope in ("own", "shared"):
            mask &= (details["user"] == hashes_of([selection.scope.user_id])[0]) == (request.scope == "own")
        return mask

    @cached_property
    def turns(self) -> tuple[RowNumbers, npt.NDArray[np.int64]]:
        """Return the selected turns by conversation, in order, and the conversation of each."""
        order = self.index.order
        if len(order) and not (len(self.selected) == len(self.index) and self.selected[order].all()):
            order = order[order < self.count]
            order = order[self.selected[order]]
        return order, self.table["session"][order]

    def run_of(self, sessions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return where some conversations begin and end among the turns."""
        every = self.turns[1]
        return np.searchsorted(every, sessions), np.searchsorted(every, sessions, side="right")

    def beside(
        self, positions: Positions, first: npt.NDArray[np.intp], end: npt.NDArray[np.intp]
    ) -> tuple[RowNumbers, Mask]:
        """Return the rows before and after some turns, nearest first, (n, 4), and which of them exist."""
        order = self.turns[0]
        places = np.zeros(self.count, dtype=np.int64)
        places[order] = np.arange(len(order))
        near = places[self.rows_at(positions)][:, None] + np.array([-1, -2, 1, 2])
        there = (near >= first[:, None]) & (near < end[:, None])
        return order[np.where(there, near, 0)], there

    def rows_at(self, positions: Positions) -> RowNumbers:
        """Return the rows at positions of this part."""
        rows = np.zeros(len(positions), dtype=np.int64)
        of = np.searchsorted(np.array(self.starts), positions, side="right") - 1
        for number, (life, start) in enumerate(zip(self.lives, self.starts, strict=True)):
            here = of == number
            rows[here] = self.index.rows_at(LIVES.index(life), positions[here] - start)
        return rows

    def of_life(self, life: str) -> LifeCounts:
        return self.index.counts.get(life, LifeCounts())


class IndexSource:
    """Reads from the arrays of some audiences, in the order of their names."""

    past: Mapping[UUID, Memory] = {}

    def __init__(self, indexes: Sequence[AudienceIndex], selection: Selection) -> None:
        self._selection = selection
        self._parts: list[Part] = []
        for index in [index for index in indexes if len(index)] or indexes[:1]:
            self._parts.append(Part(index, selection, self._parts[-1].end if self._parts else 0))
        self._width = max(indexes[0].dimensions, 1)
        self.has_archived = any("archived" in index.counts for index in indexes)

    async def words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        if sum(part.count for part in self._parts) > SMALL_AUDIENCE:
            return await asyncio.to_thread(self._words, terms, whole=whole)
        return self._words(terms, whole=whole)

    async def other_words(self, terms: Sequence[str]) -> WordMatches | None:
        return await self.words(terms, whole=True)

    async def vocabularies(self, beginnings: Sequence[str]) -> list[Vocabulary]:
        def read() -> list[Vocabulary]:
            return [part.index.vocabulary(part.selected, beginnings) for part in self._parts]

        return await asyncio.to_thread(read)

    async def best(self, scored: WordScores, depth: int) -> Positions:
        if not self._selection.filters:
            return scored.best(depth)
        allowed = self._allowed_at(scored.positions)
        return WordScores(scored.positions[allowed], scored.text[allowed]).best(depth)

    async def nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        if sum(part.count for part in self._parts) > SEEN_AT_ONCE:
            return await asyncio.to_thread(self._nearest, sentence, passing, depth)
        return self._nearest(sentence, passing, depth)

    async def graph(self, names: Sequence[str], memories: int, depth: int) -> dict[UUID, float]:
        raise NotImplementedError("the graph is in the database")

    async def with_key(self, namespace: str, key: str) -> set[UUID]:
        found: set[UUID] = set()
        for part in self._parts:
            rows = part.index.with_key(namespace, key)
            rows = rows[part.allowed[rows]] if self._selection.filters else rows
            found.update(UUID(bytes=memory_id) for memory_id in ids_of(part.table[rows]))
        return found

    async def rows(self, positions: Positions, memory_ids: set[UUID]) -> Rows:
        halves = np.array([(each.int >> 64, each.int & (1 << 64) - 1) for each in memory_ids], dtype=np.uint64)
        chosen: list[RowNumbers] = []
        for number, part in enumerate(self._parts):
            start = self._parts[number - 1].end if number else 0
            rows = part.rows_at(positions[(positions >= start) & (positions < part.end)])
            if len(halves):
                with_id = np.isin(part.table["low"], halves[:, 1]) & np.isin(part.table["high"], halves[:, 0])
                rows = np.concatenate((rows, np.flatnonzero(with_id & part.selected)))
            chosen.append(rows)
        return self._gathered(chosen)

    async def around(self, rows: Rows, turns: Sequence[int]) -> tuple[Rows, Turns]:
        ids, beside = rows.ids(), Turns()
        chosen: list[list[RowNumbers]] = [[] for _ in self._parts]
        asked = np.array(turns, dtype=np.int64)
        sessions = rows.table["session"][asked]
        runs = [part.run_of(sessions) for part in self._parts]
        spread = np.sum([end > first for first, end in runs], axis=0) > 1
        for part, (first, end), found in zip(self._parts, runs, chosen, strict=True):
            mine = np.flatnonzero((end > first) & ~spread)
            if len(mine):
                numbers, there = part.beside(rows.positions[asked[mine]], first[mine], end[mine])
                found.append(numbers[there])
                names = ids_of(part.table[numbers.ravel()])
                for place, turn in enumerate(asked[mine].tolist()):
                    near = [names[4 * place + each] if there[place, each] else b"" for each in range(4)]
                    beside[ids[turn]] = list(filter(None, near[:BESIDE])), list(filter(None, near[BESIDE:]))
        for turn in asked[spread].tolist():
            beside[ids[turn]] = self._beside_in_all(int(rows.table["session"][turn]), ids[turn], chosen)
        known = rows.table["low"]
        numbers = [np.concatenate([*found, np.zeros(0, dtype=np.int64)]) for found in chosen]
        new = [each[~np.isin(part.table["low"][each], known)] for part, each in zip(self._parts, numbers, strict=True)]
        return self._gathered(new), beside

    async def here(self, rows: Rows) -> Mask:
        return self._selection.current(rows)

    def _words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        left_out = np.zeros(len(terms))
        found: list[tuple[npt.NDArray[np.int64], Positions, Part, RowNumbers, npt.NDArray[np.uint8]]] = []
        for part in self._parts:
            which, rows, counts = part.index.entries(terms)
            there = np.flatnonzero(rows < part.count)
            there = there[part.selected[rows[there]]]
            which, rows, counts = which[there], rows[there], counts[there]
            if not whole:
                skipped = self._common(part, which, rows, len(terms))
                left_out += np.bincount(which[skipped], minlength=len(terms))
                which, rows, counts = which[~skipped], rows[~skipped], counts[~skipped]
            found.append((which, part.positions[rows], part, rows, counts))
        positions, matches = matches_of(
            len(terms),
            np.concatenate([which for which, *_ in found]),
            np.concatenate([where for _, where, *_ in found]),
            np.concatenate([part.details["numbered"][rows] for *_, part, rows, _ in found]),
            np.concatenate([np.minimum(part.details["length"][rows], 32_767) for *_, part, rows, _ in found]),
            np.concatenate([counts for *_, counts in found]),
            self._parts[-1].end,
        )
        counted = [part.of_life(life) for part in self._parts for life in part.lives]
        memories, words = sum(each.memories for each in counted), sum(each.words for each in counted)
        return WordMatches(memories, words, positions, matches, left_out)

    def _common(self, part: Part, which: npt.NDArray[np.int64], rows: RowNumbers, terms: int) -> Mask:
        """Return the entries of words that most memories contain, as `recall_words` skips them."""
        skipped = np.zeros(len(which), dtype=bool)
        for life in part.lives:
            counted = part.of_life(life)
            if counted.memories <= COMMON_FROM or counted.vectors < counted.memories:
                continue
            of_life = part.details["life"][rows] == LIVES.index(life)
            holders = np.bincount(which[of_life], minlength=terms)
            many = holders > max(COMMON_FROM, counted.memories // 2)
            if (~many & (holders > 0)).any():
                skipped |= of_life & many[which]
        return skipped

    def _nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        filters = self._selection.filters
        if filters:
            passing = max(passing, sum(part.of_life(life).memories for part in self._parts for life in part.lives))
        nearest, seen = Nearest(sentence, passing), 0
        for part in self._parts:
            vector = part.selected & part.details["vector"]
            seen += int(vector.sum())
            allowed = part.allowed & vector if filters else vector
            some = None if allowed.all() else np.flatnonzero(allowed)
            nearest.see(part.positions, part.index.signs[:, : part.count], 0, some)
        best = nearest.best(seen)
        return best[:depth] if filters else best

    def _allowed_at(self, positions: Positions) -> Mask:
        allowed = np.zeros(len(positions), dtype=bool)
        start = 0
        for part in self._parts:
            here = (positions >= start) & (positions < part.end)
            allowed[here] = part.allowed[part.rows_at(positions[here])]
            start = part.end
        return allowed

    def _beside_in_all(
        self, session: int, turn: bytes, chosen: Sequence[list[RowNumbers]]
    ) -> tuple[list[bytes], list[bytes]]:
        """Return the turns beside one in a conversation that several parts hold, and add their rows to `chosen`."""
        rows: list[RowNumbers] = []
        for part in self._parts:
            first, end = part.run_of(np.array([session]))
            rows.append(part.turns[0][first[0] : end[0]])
        table = joined([part.table[each] for part, each in zip(self._parts, rows, strict=True)])
        of, numbers = np.repeat(np.arange(len(rows)), list(map(len, rows))), np.concatenate(rows)
        order = np.lexsort((table["low"], table["high"], table["begins"]))
        ids = ids_of(table[order])
        place = ids.index(turn)
        for each in order[max(place - BESIDE, 0) : place + 1 + BESIDE].tolist():
            chosen[int(of[each])].append(numbers[each : each + 1])
        return ids[max(place - BESIDE, 0) : place][::-1], ids[place + 1 : place + 1 + BESIDE]

    def _gathered(self, chosen: Sequence[RowNumbers]) -> Rows:
        """Return rows of each part that are selected and pass the filter, by id."""
        filters = self._selection.filters
        kept = [
            each[part.allowed[each] if filters else part.selected[each]]
            for part, each in zip(self._parts, map(np.unique, chosen), strict=True)
        ]
        both = [(part, rows) for part, rows in zip(self._parts, kept, strict=True) if len(rows)]
        if not both:
            return Rows(sentences=np.zeros((0, self._width), dtype=np.float32))
        table = joined([part.table[rows] for part, rows in both])
        order = np.lexsort((table["low"], table["high"]))
        tokens = [each for part, rows in both for each in part.index.tokens_of(rows)]
        return Rows(
            table[order],
            np.concatenate([part.positions[rows] for part, rows in both])[order],
            np.concatenate([part.index.sentences_of(rows) for part, rows in both])[order],
            np.concatenate([part.details["vector"][rows] for part, rows in both])[order],
            np.concatenate([tokens[place] for place in order.tolist()]),
        )
