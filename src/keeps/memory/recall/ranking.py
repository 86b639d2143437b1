"""Order candidates and explain their positions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
import numpy.typing as npt

from keeps.memory.recall import fusion, ordering
from keeps.memory.recall.arms import ArmResults
from keeps.memory.recall.fusion import Candidates, Part, Scores
from keeps.memory.recall.relevance import is_nothing_known, question_of, relevances
from keeps.memory.recall.rows import Rows
from keeps.memory.recall.updates import OPENING, involved, latest_first, statement_in
from keeps.memory.recall.words import Holders
from keeps_client.models import Explanation, Memory, RecallRequest, Tier

LEAST_SHARE = 0.01
"""Minimum share of the fitted correction, in points, that is explained separately."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ordered candidates of a question.

    `order`: positions of the candidates, best first.
    `weights`: weights of the question's words.
    `past`: for a request about a past moment, each row's memory as it was then.
    `dropped`: whether candidates were left out because they are no longer valid.
    `has_archived`: whether there may be archived memories.
    `holders`: which memories contain which words.
    """

    request: RecallRequest
    rows: Rows
    candidates: Candidates
    parts: list[Part]
    total: Scores
    order: list[int]
    idf: Mapping[str, float]
    weights: npt.NDArray[np.float32]
    past: Mapping[UUID, Memory]
    dropped: bool
    has_archived: bool
    holders: Holders
    relevance: Scores
    nothing_known: bool
    similarity: Scores
    features: Scores | None

    @classmethod
    def of(
        cls,
        request: RecallRequest,
        rows: Rows,
        candidates: Candidates,
        found: ArmResults,
        weights: npt.NDArray[np.float32],
        past: Mapping[UUID, Memory],
        *,
        dropped: bool,
        has_archived: bool = True,
    ) -> Ranking:
        parts = fusion.weigh(candidates)
        features: Scores | None = None
        if ordering.applies(candidates):
            words = len(request.query.split())
            features = ordering.features_of(candidates, parts, memories=found.total, question_words=words)
            parts.append(ordering.correction(candidates, features))
        question = question_of(request.query, found.total, found.idf)
        nothing_known = is_nothing_known(candidates, question)
        unordered = cls(
            request,
            rows,
            candidates,
            parts,
            np.sum([part.points for part in parts], axis=0),
            [],
            found.idf,
            weights,
            past,
            dropped,
            has_archived,
            found.holders,
            relevances(candidates, question, nothing_known=nothing_known),
            nothing_known,
            candidates.vector.round(4),
            features,
        )
        return replace(unordered, order=fusion.in_order(range(len(rows)), unordered.total, candidates))

    def wanted(self, count: int) -> list[UUID]:
        """Return the memories to read for the first `count` hits, and for `latest_first`, which may move some."""
        moved = self._involved()
        positions = dict.fromkeys([*self.order[: count + len(moved)], *moved])
        return [self.rows.memory_id(position) for position in positions]

    def latest_first(self, memories: Mapping[UUID, Memory]) -> Ranking:
        """Return the ranking in which a statement of a change precedes what it changes. `memories`: those `wanted`."""
        return replace(self, order=self._latest_first(self.order, self._involved(), memories))

    def reranked(self, positions: Sequence[int], answers: Sequence[float], memories: Mapping[UUID, Memory]) -> Ranking:
        """Return the ranking with the reranker's scores of the best candidates, at `positions`."""
        part = fusion.reranked(positions, answers, len(self.total))
        weighed = replace(self, parts=[*self.parts, part], total=self.total + part.points)
        best = fusion.in_order(positions, weighed.total, self.candidates)
        best = self._latest_first(best, best, memories)
        read = set(positions)
        return replace(weighed, order=best + [each for each in self.order if each not in read])

    def _involved(self) -> list[int]:
        return involved(self.order, self.rows.statements, self.request.query)

    def _latest_first(
        self, order: Sequence[int], positions: Sequence[int], memories: Mapping[UUID, Memory]
    ) -> list[int]:
        sentences = self.candidates.sentences
        read = [(position, memories.get(self.rows.memory_id(position))) for position in positions]
        return latest_first(
            order,
            {position: statement_in(memory) for position, memory in read if memory is not None},
            self.request.query,
            self.idf,
            lambda one, other: float(sentences[one] @ sentences[other]),
        )

    @property
    def places(self) -> dict[bytes, int]:
        """Return the position of each candidate, by its id."""
        return {key: position for position, key in enumerate(self.rows.ids())}

    def first(self, count: int) -> list[UUID]:
        return [self.rows.memory_id(position) for position in self.order[:count]]

    def tier(self, position: int) -> Tier:
        by_meaning = self.request.scope != "persistent" and self.rows.table["sentence"][position] > 0
        return "indexed" if by_meaning else "persistent"

    def explanation(self, position: int, content: str) -> Explanation:
        parts: list[Explanation.Part] = []
        for part in self.parts:
            if part.name == ordering.LEARNED:
                parts += self._learned(part, position)
                continue
            raw = float(part.raw[position])
            read = part.name == "reranker" and not np.isnan(raw)
            if part.weight[position] and (part.points[position] or read or part.name in ("tokens", "vector", "text")):
                parts.append(
                    Explanation.Part(
                        name=part.name,
                        raw=None if np.isnan(raw) else raw,
                        normalised=float(part.normalised[position]),
                        weight=float(part.weight[position]),
                        points=float(part.points[position]),
                        rank=1 + int((part.points > part.points[position]).sum()),
                    )
                )
        matched = self.holders.words_at(int(self.rows.positions[position]), content[:OPENING])
        return Explanation(parts=parts, matched_terms=matched)

    def _learned(self, part: Part, position: int) -> list[Explanation.Part]:
        """Return the fitted trees' contribution to a candidate, by feature; small shares are summed as `other`."""
        if self.features is None or not part.points[position]:
            return []
        rank = 1 + int((part.points > part.points[position]).sum())
        shares = ordering.fitted().shares(self.features[position])
        large = {name: share for name, share in shares.items() if abs(share) >= LEAST_SHARE}
        large["other"] = float(part.points[position]) - sum(large.values())
        return [
            Explanation.Part(
                name=f"{ordering.LEARNED}.{name}",
                raw=float(self.features[position, ordering.COLUMNS[name]]) if name in ordering.COLUMNS else None,
                normalised=share,
                weight=1.0,
                points=share,
                rank=rank,
            )
            for name, share in sorted(large.items(), key=lambda each: -abs(each[1]))
        ]
