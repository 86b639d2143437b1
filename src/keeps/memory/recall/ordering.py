"""Correct the sum of a candidate's parts with a fitted model of boosted trees. Pure.

The sum weighs every candidate alike, but short chats, long texts, documents and lists of facts need other weights. The
trees read the same parts, the length and author of each candidate, and what the best candidates have in common. They
are fitted by `keeps bench order --fit` (docs/adr/0052) and are stored in `ordering.json`.

A tree has at most eight leaves, so its seven comparisons form a number below 128, which looks up the leaf.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from keeps.memory.recall.fusion import Candidates, Part, Scores, without_nan

FEATURES = {
    "tokens": 1,
    "vector": 1,
    "text": 1,
    "neighbours": 1,
    "session": 1,
    "session_tokens": 1,
    "speaker": 1,
    "date": 1,
    "importance": 1,
    "recency": 1,
    "stated": 1,
    "asks": -1,
    "repeats": -1,
    "length": 0,
    "assistant": 0,
    "mean_length": 0,
    "messages": 0,
    "assistants": 0,
    "memories": 0,
    "best_tokens": 0,
    "ten_best_tokens": 0,
    "question_words": 0,
    "any_speaker": 0,
    "any_date": 0,
}
"""Names and directions of the features, in the order of the columns.

With direction 1 the score never falls as the feature rises, with -1 it never rises.
From `mean_length` on a feature describes all candidates of the question.
"""
COLUMNS = {name: column for column, name in enumerate(FEATURES)}
LEARNED = "learned"
BEST = 60
"""Number of candidates, best by their sums, over which the question's features are taken.

The trees are fitted to these.
"""
SPLITS = 7


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees of at most SPLITS comparisons.

    `columns`, `thresholds`: (trees, SPLITS).
    `leaves`: (trees, 2 ** SPLITS), the leaf for each outcome of the comparisons.
    `nodes`: the trees as stored, to explain a correction.
    """

    columns: npt.NDArray[np.int64]
    thresholds: npt.NDArray[np.float32]
    leaves: Scores
    nodes: Sequence[Mapping[str, Any]]

    def corrections(self, features: Scores) -> Scores:
        """Return the points that each row of features gains or loses."""
        trees = len(self.columns)
        values = np.ascontiguousarray(features.T, dtype=np.float32)[self.columns.ravel()]
        above = (values > self.thresholds.reshape(-1, 1)).view(np.uint8).reshape(trees, SPLITS, len(features))
        outcomes = above[:, 0].copy()
        for split in range(1, SPLITS):
            outcomes |= above[:, split] << split
        leaves = outcomes + (np.arange(trees) << SPLITS)[:, None]
        points: Scores = self.leaves.ravel()[leaves].sum(axis=0)
        return points

    def shares(self, features: Scores) -> dict[str, float]:
        """Return the contribution of each feature to the correction of one row.

        Adds up the change of the mean at each comparison (Saabas, 2014); the shares sum to the correction.
        """
        names, values = list(FEATURES), features.astype(np.float32)
        shares: dict[str, float] = {}
        for node in self.nodes:
            while "column" in node:
                child = node["above" if values[node["column"]] > np.float32(node["threshold"]) else "below"]
                name = names[node["column"]]
                shares[name] = shares.get(name, 0.0) + child["mean"] - node["mean"]
                node = child
        return shares


def trees_of(nodes: Sequence[Mapping[str, Any]]) -> Trees:
    """Build the tables of trees from nested nodes: {column, threshold, mean, below, above} or {mean}."""
    count = len(nodes)
    columns, thresholds = np.zeros((count, SPLITS), dtype=np.int64), np.full((count, SPLITS), np.inf, np.float32)
    leaves = np.zeros((count, 2**SPLITS))
    for place, root in enumerate(nodes):
        number = 0

        def fill(node: Mapping[str, Any], outcomes: npt.NDArray[np.bool_], place: int, root: float) -> None:
            nonlocal number
            if "column" not in node:
                leaves[place, outcomes] = node["mean"] - root
                return
            split, number = number, number + 1
            columns[place, split], thresholds[place, split] = node["column"], node["threshold"]
            is_above = (np.arange(2**SPLITS) >> split & 1).astype(bool)
            fill(node["below"], outcomes & ~is_above, place, root)
            fill(node["above"], outcomes & is_above, place, root)

        fill(root, np.ones(2**SPLITS, dtype=bool), place, root["mean"])
    return Trees(columns, thresholds, leaves, nodes)


@cache
def fitted() -> Trees:
    """Return the trees that are shipped. Raises ValueError if they were fitted to other features."""
    stored = json.loads(files("keeps.memory.recall").joinpath("ordering.json").read_text(encoding="utf-8"))
    if stored["features"] != list(FEATURES):
        raise ValueError("ordering.json was fitted to other features; run `keeps bench order --fit`")
    return trees_of(stored["trees"])


def features_of(candidates: Candidates, parts: Sequence[Part], *, memories: int, question_words: int) -> Scores:
    """Return the features of each candidate: (candidates, FEATURES).

    `memories`: number of memories that were searched; `question_words`: number of words in the question.
    """
    by_name = {part.name: part for part in parts}
    count = len(candidates.tokens)
    total = np.sum([part.points for part in parts], axis=0)
    best = np.argsort(-total, kind="stable")[:BEST]
    tokens = without_nan(candidates.tokens)
    length = np.log(np.maximum(candidates.token_counts, 1.0))
    best_tokens = np.sort(tokens)[::-1][:10]
    of_question = (
        length[best].mean(),
        candidates.message[best].mean(),
        candidates.assistant[best].mean(),
        np.log(max(memories, 1)),
        best_tokens.max(),
        best_tokens.mean(),
        np.log1p(question_words),
        candidates.speaker.max(),
        candidates.date.max(),
    )
    own = [
        *(by_name[name].normalised for name in ("tokens", "vector", "text")),
        *(by_name[name].points for name in ("neighbours", "session", "session_tokens")),
        *(candidates.speaker, candidates.date, candidates.importance),
        *(by_name["recency"].normalised, by_name["stated"].points, candidates.asks, candidates.repeats),
        length,
        candidates.assistant,
    ]
    return np.column_stack([*own, *(np.full(count, value) for value in of_question)])


def applies(candidates: Candidates) -> bool:
    """Return whether the trees apply: they were fitted to late interaction."""
    return bool((~np.isnan(candidates.tokens)).any())


def correction(candidates: Candidates, features: Scores) -> Part:
    """Return the correction of each candidate as a part like the others; 0 for candidates without token vectors."""
    points = np.where(np.isnan(candidates.tokens), 0.0, fitted().corrections(features))
    return Part(LEARNED, points, points, np.ones(len(points)), points)
