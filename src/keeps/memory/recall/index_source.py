"""Answer a question from the arrays of its audiences: the tenant's and the user's. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.base.text.trust import LEVELS
from keeps.memory.recall.conditions import Selection, least_trust
from keeps.memory.recall.index import LIVES, AudienceIndex, RowNumbers
from keeps.memory.recall.misspelt import Vocabulary
from keeps.memory.recall.rows import (
    BESIDE,
    Rows,
    Turns,
    among,
    hashes_of,
    ids_of,
    in_sorted,
    joined,
    keys_of,
    moment_of,
    no_turns,
)
from keeps.memory.recall.signs import Nearest
from keeps.memory.recall.store import COMMON_FROM, MOST_ENTRIES
from keeps.memory.recall.words import Positions, WordMatches, WordScores, matches_of
from keeps.models.embedder import Floats
from keeps_client.models import Memory, RecallRequest

MANY_ROWS = 100_000
"""Number of memories above which words and signs are compared in a thread."""
MOST_VOCABULARIES = 8
NEAR = np.array([offset for offset in range(-BESIDE, BESIDE + 1) if offset])
"""Places of the turns beside one, from its own."""
Mask = npt.NDArray[np.bool_]


def serves(selection: Selection) -> bool:
    """Return whether arrays can answer: not about the past, by tags or fields, over the graph, or for a limited key."""
    request, scope = selection.request, selection.scope
    needs_database = request.as_of, request.tags, request.filters, scope.grant
    return not scope.agent_bound and all(each is None for each in needs_database) and not _over_graph(request)


def _over_graph(request: RecallRequest) -> bool:
    return "graph" in (request.providers or ())


class View:
    """The rows of some lives of an audience, as they were when a question came; questions share it until a change.

    `selected`: the rows of the lives. `positions`: the position of each row, from 0. `size`: number of positions.
    `vectors`: the rows that have a vector; None for all.
    `order`, `sessions`: the turns by conversation, in order, and the conversation of each.
    """

    def __init__(self, index: AudienceIndex, lives: Collection[str]) -> None:
        self.index = index
        self.count = len(index)
        self.table, self.details, self.signs = index.table, index.details, index.signs
        self.counts, self._places = index.counts, list(index.places)
        self.lives = [life for life in LIVES if life in lives and life in index.counts]
        *self.starts, self.size = accumulate((index.counts[life].next_place for life in self.lives), initial=0)
        first = np.full(len(LIVES), -1, dtype=np.int64)
        for life, begin in zip(self.lives, self.starts, strict=True):
            first[LIVES.index(life)] = begin
        beginnings = first[self.details["life"]]
        self.selected: Mask = index.alive & (beginnings >= 0)
        self.positions: Positions = beginnings + self.details["place"]
        with_vector = self.selected & self.details["vector"]
        self.vectors = None if with_vector.all() else np.flatnonzero(with_vector)
        self.order = index.order[self.selected[index.order]]
        self.sessions = self.table["session"][self.order]
        self.vocabularies: dict[tuple[str, ...], Vocabulary] = {}
        self._turns = np.zeros(self.count, dtype=np.int64)
        self._turns[self.order] = np.arange(len(self.order))

    async def vocabulary(self, beginnings: Sequence[str]) -> Vocabulary:
        """Return the words of the selected rows that start with one of `beginnings`."""
        key = tuple(beginnings)
        if key not in self.vocabularies:
            if len(self.vocabularies) == MOST_VOCABULARIES:
                self.vocabularies.clear()
            self.vocabularies[key] = await asyncio.to_thread(self.index.vocabulary, self.selected, key)
        return self.vocabularies[key]

    def run_of(self, sessions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return where some conversations begin and end among the turns."""
        return np.searchsorted(self.sessions, sessions), np.searchsorted(self.sessions, sessions, side="right")

    def beside(
        self, positions: Positions, first: npt.NDArray[np.intp], end: npt.NDArray[np.intp]
    ) -> tuple[RowNumbers, Mask]:
        """Return the rows before and after some turns, in their order, (n, 4), and which of them exist."""
        near = self._turns[self.rows_at(positions)][:, None] + NEAR
        there = (near >= first[:, None]) & (near < end[:, None])
        return self.order[np.where(there, near, 0)], there

    def rows_at(self, positions: Positions) -> RowNumbers:
        """Return the rows at some positions."""
        if len(self.lives) == 1:
            return self._places[LIVES.index(self.lives[0])][positions].astype(np.int64)
        rows = np.zeros(len(positions), dtype=np.int64)
        of = np.searchsorted(np.array(self.starts), positions, side="right") - 1
        for number, (life, start) in enumerate(zip(self.lives, self.starts, strict=True)):
            here = of == number
            rows[here] = self._places[LIVES.index(life)][positions[here] - start]
        return rows


class Part:
    """One audience in one question. `start`: the position of its first memory. `allowed`: the rows that may answer."""

    def __init__(self, view: View, selection: Selection, start: int) -> None:
        self.view = view
        self.start, self.end = start, start + view.size
        self._selection = selection

    @cached_property
    def allowed(self) -> Mask:
        selection, table, details = self._selection, self.view.table, self.view.details
        if not selection.filters:
            return self.view.selected
        request, moment = selection.request, moment_of(selection.request.valid_at or selection.now)
        mask = self.view.selected & (table["expires"] > moment_of(selection.now))
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
        if (level := least_trust(request)) is not None:
            mask &= details["trust"] <= level
            if level < LEVELS.index("shared"):
                scope = selection.scope
                mask &= details["user"] == hashes_of(["" if scope.space_id else scope.user_id])[0]
        if request.since is not None:
            mask &= table["begins"] >= moment_of(request.since)
        if request.until is not None:
            mask &= table["begins"] < moment_of(request.until)
        if request.scope in ("own", "shared"):
            mask &= (details["user"] == hashes_of([selection.scope.user_id])[0]) == (request.scope == "own")
        return mask

    def holds(self, positions: Positions) -> Mask:
        """Return which positions are in this part."""
        return (positions >= self.start) & (positions < self.end)

    def rows_at(self, positions: Positions) -> RowNumbers:
        return self.view.rows_at(positions - self.start)


class IndexSource:
    """Reads from the arrays of some audiences, in the order of their names.

    `vectors`: whether the question has a vector; without one nothing is compared by meaning.
    """

    past: Mapping[UUID, Memory] = {}

    def __init__(self, indexes: Sequence[AudienceIndex], selection: Selection, *, vectors: bool) -> None:
        self._selection = selection
        self._vectors = vectors
        self._parts: list[Part] = []
        for index in [index for index in indexes if len(index)] or indexes[:1]:
            view = view_of(index, selection.lives)
            self._parts.append(Part(view, selection, self._parts[-1].end if self._parts else 0))
        self._width = max(indexes[0].dimensions, 1) if vectors else 1
        self._memories = sum(len(index) for index in indexes)
        self.has_archived = any("archived" in index.counts and index.counts["archived"].memories for index in indexes)

    async def words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        if self._memories > MANY_ROWS:
            return await asyncio.to_thread(self._words, terms, whole=whole)
        return self._words(terms, whole=whole)

    async def other_words(self, terms: Sequence[str]) -> WordMatches | None:
        return await self.words(terms, whole=True)

    async def vocabularies(self, beginnings: Sequence[str]) -> list[Vocabulary]:
        return [await part.view.vocabulary(beginnings) for part in self._parts]

    async def best(self, scored: WordScores, depth: int) -> Positions:
        if not self._selection.filters:
            return scored.best(depth)
        allowed = self._allowed_at(scored.positions)
        return WordScores(scored.positions[allowed], scored.text[allowed]).best(depth)

    async def nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        if self._memories > MANY_ROWS:
            return await asyncio.to_thread(self._nearest, sentence, passing, depth)
        return self._nearest(sentence, passing, depth)

    async def graph(self, names: Sequence[str], memories: int, depth: int) -> dict[UUID, float]:
        raise NotImplementedError("the graph is stored in the database")

    async def with_key(self, namespace: str, key: str) -> set[UUID]:
        memory_ids: set[UUID] = set()
        for part in self._parts:
            rows = part.view.index.with_key(namespace, key)
            rows = rows[part.allowed[rows]] if self._selection.filters else rows
            memory_ids.update(UUID(bytes=memory_id) for memory_id in ids_of(part.view.table[rows]))
        return memory_ids

    async def rows(self, positions: Positions, memory_ids: set[UUID]) -> Rows:
        keys = np.array([each.bytes for each in memory_ids], dtype="S16")
        chosen: list[RowNumbers] = []
        for part in self._parts:
            rows = part.rows_at(positions[part.holds(positions)])
            if len(keys):
                rows = np.concatenate((rows, np.flatnonzero(among(part.view.table, keys) & part.view.selected)))
            chosen.append(rows)
        return self._gathered(chosen)

    async def around(self, rows: Rows, turns: Sequence[int]) -> tuple[Rows, Turns]:
        chosen: list[list[RowNumbers]] = [[] for _ in self._parts]
        turn_rows = np.array(turns, dtype=np.int64)
        beside = no_turns(len(turns))
        beside[:, BESIDE] = keys_of(rows.table[turn_rows])
        sessions = rows.table["session"][turn_rows]
        runs = [part.view.run_of(sessions) for part in self._parts]
        spread = np.sum([end > first for first, end in runs], axis=0) > 1
        for part, (first, end), chosen_here in zip(self._parts, runs, chosen, strict=True):
            mine = np.flatnonzero((end > first) & ~spread)
            if len(mine):
                positions = rows.positions[turn_rows[mine]] - part.start
                numbers, there = part.view.beside(positions, first[mine], end[mine])
                chosen_here.append(numbers[there])
                keys = keys_of(part.view.table[numbers.ravel()]).reshape(numbers.shape)
                beside[mine[:, None], BESIDE + NEAR] = np.where(there, keys, b"")
        for turn in np.flatnonzero(spread).tolist():
            self._beside_in_all(int(sessions[turn]), beside[turn], chosen)
        low = np.sort(rows.table["low"])
        numbers = [np.concatenate([*some, np.zeros(0, dtype=np.int64)]) for some in chosen]
        new = [
            some[~in_sorted(low, part.view.table["low"][some])] for part, some in zip(self._parts, numbers, strict=True)
        ]
        return self._gathered(new), beside

    async def here(self, rows: Rows) -> Mask:
        return self._selection.current(rows)

    def _words(self, terms: Sequence[str], *, whole: bool) -> WordMatches:
        left_out = np.zeros(len(terms))
        entries: list[tuple[npt.NDArray[np.int64], Positions, View, RowNumbers, npt.NDArray[np.uint8]]] = []
        wanted = hashes_of(terms)
        for part in self._parts:
            view = part.view
            which, rows, counts = view.index.entries(wanted)
            there = np.flatnonzero(rows < view.count)
            there = there[view.selected[rows[there]]]
            which, rows, counts = which[there], rows[there], counts[there]
            if not whole:
                skipped = self._common(view, which, rows, terms)
                left_out += np.bincount(which[skipped], minlength=len(terms))
                which, rows, counts = which[~skipped], rows[~skipped], counts[~skipped]
            entries.append((which, view.positions[rows] + part.start, view, rows, counts))
        positions, matches = matches_of(
            len(terms),
            np.concatenate([which for which, *_ in entries]),
            np.concatenate([where for _, where, *_ in entries]),
            np.concatenate([view.details["numbered"][rows] for *_, view, rows, _ in entries]),
            np.concatenate([np.minimum(view.details["length"][rows], 32_767) for *_, view, rows, _ in entries]),
            np.concatenate([counts for *_, counts in entries]),
            self._parts[-1].end,
        )
        counted = [part.view.counts[life] for part in self._parts for life in part.view.lives]
        memories, words = sum(life.memories for life in counted), sum(life.words for life in counted)
        return WordMatches(memories, words, positions, matches, left_out)

    def _common(self, view: View, which: npt.NDArray[np.int64], rows: RowNumbers, terms: Sequence[str]) -> Mask:
        """Return the entries of words that many memories contain, as `recall_words` skips them."""
        skipped = np.zeros(len(which), dtype=bool)
        for life in view.lives:
            counted = view.counts[life]
            if counted.memories <= COMMON_FROM or counted.vectors < counted.memories:
                continue
            of_life = view.details["life"][rows] == LIVES.index(life)
            holders = np.bincount(which[of_life], minlength=len(terms))
            most = holders > max(COMMON_FROM, counted.memories // 2)
            many = most & (~most & (holders > 0)).any()
            before = 0
            for word in sorted(range(len(terms)), key=lambda word: (holders[word], terms[word])):
                many[word] |= before > 0 and before + holders[word] > MOST_ENTRIES
                before += int(holders[word])
            skipped |= of_life & many[which]
        return skipped

    def _nearest(self, sentence: Floats, passing: int, depth: int) -> Positions:
        filters = self._selection.filters
        if filters:
            counted = [part.view.counts[life] for part in self._parts for life in part.view.lives]
            passing = max(passing, sum(each.memories for each in counted))
        nearest, seen = Nearest(sentence, passing), 0
        for part in self._parts:
            view = part.view
            some = view.vectors
            seen += view.count if some is None else len(some)
            if filters:
                some = np.flatnonzero(part.allowed & view.details["vector"])
            nearest.see(view.positions, view.signs, part.start, some)
        best = nearest.best(seen)
        return best[:depth] if filters else best

    def _allowed_at(self, positions: Positions) -> Mask:
        allowed = np.zeros(len(positions), dtype=bool)
        for part in self._parts:
            here = part.holds(positions)
            allowed[here] = part.allowed[part.rows_at(positions[here])]
        return allowed

    def _beside_in_all(self, session: int, beside: Turns, chosen: Sequence[list[RowNumbers]]) -> None:
        """Find the turns beside one in a conversation that several parts hold.

        Sets their ids in `beside`, which has that of the turn, and adds their rows to `chosen`.
        """
        rows: list[RowNumbers] = []
        for view in (part.view for part in self._parts):
            first, end = view.run_of(np.array([session]))
            rows.append(view.order[first[0] : end[0]])
        table = joined([part.view.table[row] for part, row in zip(self._parts, rows, strict=True)])
        of, numbers = np.repeat(np.arange(len(rows)), list(map(len, rows))), np.concatenate(rows)
        order = np.lexsort((table["low"], table["high"], table["begins"]))
        keys = keys_of(table[order])
        near = np.flatnonzero(keys == beside[BESIDE])[0] + np.arange(-BESIDE, BESIDE + 1)
        there = (near >= 0) & (near < len(order))
        beside[there] = keys[near[there]]
        for row in order[near[there]].tolist():
            chosen[int(of[row])].append(numbers[row : row + 1])

    def _gathered(self, chosen: Sequence[RowNumbers]) -> Rows:
        """Return rows of some part that are selected and pass the filter, by id."""
        both: list[Rows] = []
        for part, some in zip(self._parts, chosen, strict=True):
            if not len(some):
                continue
            rows = np.unique(some)
            allowed = rows[part.allowed[rows]]
            if len(allowed):
                both.append(self._gathered_of(part, allowed))
        if not both:
            return Rows(sentences=np.zeros((0, self._width), dtype=np.float32))
        rows = both[0].and_those(*both[1:])
        return rows.in_order(_by_id(rows.table["high"], rows.table["low"])) if len(both) > 1 else rows

    def _gathered_of(self, part: Part, rows: RowNumbers) -> Rows:
        """Return some rows of a part, by id."""
        view = part.view
        index, table = view.index, view.table
        rows = rows[_by_id(table["high"][rows], table["low"][rows])]
        return Rows(
            table[rows],
            view.positions[rows] + part.start,
            index.sentences_of(rows) if self._vectors else np.zeros((len(rows), 1), dtype=np.float32),
            view.details["vector"][rows] & self._vectors,
            np.concatenate(index.tokens_of(rows)),
        )


def _by_id(high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the order of rows by the halves of their ids."""
    return np.lexsort((low, high))


def view_of(index: AudienceIndex, lives: tuple[str, ...]) -> View:
    """Return the view of some lives of an audience; it is kept until the next change."""
    view = index.views.get(lives)
    if view is None:
        view = index.views[lives] = View(index, lives)
    return view
