"""The fitted correction of the order: its tables, its directions, and its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall import fusion, ordering
from tests.recall.test_pure import candidates

TREES = ordering.fitted()
LOWEST, HIGHEST = -2.0, 12.0
ROWS = st.lists(st.floats(LOWEST, HIGHEST), min_size=len(ordering.FEATURES), max_size=len(ordering.FEATURES))


def leaf_of(node: Mapping[str, Any], row: np.ndarray[Any, Any]) -> float:
    while "column" in node:
        node = node["above" if np.float32(row[node["column"]]) > np.float32(node["threshold"]) else "below"]
    return float(node["mean"])


def depth_of(node: Mapping[str, Any]) -> int:
    return 0 if "column" not in node else 1 + depth_of(node["below"]) + depth_of(node["above"])


def test_shipped_trees_fit_the_tables() -> None:
    assert len(TREES.nodes) > 10
    assert all(depth_of(tree) <= ordering.SPLITS for tree in TREES.nodes)


@given(ROWS)
def test_tables_give_the_leaf_of_each_tree(values: list[float]) -> None:
    row = np.array(values)
    expected = sum(leaf_of(tree, row) - tree["mean"] for tree in TREES.nodes)
    assert TREES.corrections(row[None])[0] == pytest.approx(expected)
    assert sum(TREES.shares(row).values()) == pytest.approx(expected)


@given(ROWS, st.floats(0, HIGHEST), st.sampled_from([name for name, way in ordering.FEATURES.items() if way]))
def test_more_evidence_never_counts_against_a_candidate(values: list[float], more: float, name: str) -> None:
    row = np.array(values)
    raised = row.copy()
    raised[ordering.COLUMNS[name]] += more
    before, after = TREES.corrections(np.array([row, raised]))
    assert (after - before) * ordering.FEATURES[name] >= -1e-9


def test_candidate_without_token_vectors_keeps_its_sum() -> None:
    some = candidates(30, 4)
    features = ordering.features_of(some, fusion.weigh(some), memories=100, question_words=6)
    part = ordering.correction(some, features)
    assert not part.points[np.isnan(some.tokens)].any()
    assert part.points[~np.isnan(some.tokens)].any()


async def test_explained_parts_add_up_to_the_score(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    texts = ["I moved to Lisbon in May.", "Where do I live?", "My sister lives in Porto.", "The ferry leaves at nine."]
    messages = [{"content": text, "kind": "episodic", "session_id": "s", "role": "user"} for text in texts]
    await alice.remember_many(messages, index="now")
    hits = (await alice.recall("Where do I live?", explain=True)).hits
    assert hits
    for hit in hits:
        assert hit.explanation is not None
        assert sum(part.points for part in hit.explanation.parts) == pytest.approx(hit.score, abs=2e-3)
        assert any(part.name.startswith("learned.") for part in hit.explanation.parts)
