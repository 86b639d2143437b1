"""The filter language: what it selects, and that nothing unknown passes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.memories.filters import COLUMNS, OPERATORS, compile_filters
from keeps_client.errors import ValidationFailedError

ITEMS = [
    {
        "content": "apple pie",
        "kind": "semantic",
        "tags": ("food", "sweet"),
        "importance": 0.9,
        "metadata": {"n": 1, "who": {"name": "Ann"}},
    },
    {
        "content": "bread",
        "kind": "procedural",
        "tags": ("food",),
        "importance": 0.5,
        "metadata": {"n": 2, "who": {"name": "Ben"}},
    },
    {
        "content": "Cloudy day",
        "kind": "episodic",
        "importance": 0.1,
        "metadata": {"n": "three"},
        "namespace": "weather",
        "key": "today",
    },
]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": {"eq": "episodic"}}, "C"),
        ({"kind": {"ne": "episodic"}}, "ab"),
        ({"kind": {"in": ["episodic", "semantic"]}}, "aC"),
        ({"kind": {"nin": ["episodic"]}}, "ab"),
        ({"importance": {"gte": 0.5, "lt": 0.9}}, "b"),
        ({"content": {"contains": "CLOUD"}}, "C"),
        ({"content": {"substring": "Cloud"}}, "C"),
        ({"content": {"substring": "CLOUD"}}, ""),
        ({"content": {"isubstring": "%"}}, ""),
        ({"metadata.who.name": {"substring": "en"}}, "b"),
        ({"metadata.who.name": {"isubstring": "AN"}}, "a"),
        ({"metadata.n": {"substring": "hre"}}, "C"),
        ({"tags": {"contains": "sweet"}}, "a"),
        ({"tags": {"contains": ["food", "sweet"]}}, "a"),
        ({"tags": {"in": ["sweet", "food"]}}, "ab"),
        ({"tags": {"nin": ["food"]}}, "C"),
        ({"key": {"exists": True}}, "C"),
        ({"key": {"exists": False}}, "ab"),
        ({"key": {"ne": "today"}}, "ab"),
        ({"metadata.n": {"eq": 1}}, "a"),
        ({"metadata.n": {"gt": 1}}, "b"),
        ({"metadata.n": {"lte": "zzz"}}, "C"),
        ({"metadata.who.name": {"in": ["Ann", "Zoe"]}}, "a"),
        ({"metadata.who": {"exists": True}}, "ab"),
        ({"metadata": {"contains": {"who": {"name": "Ben"}}}}, "b"),
        ({"OR": [{"kind": {"eq": "episodic"}}, {"metadata.n": {"eq": 2}}]}, "bC"),
        ({"AND": [{"tags": {"contains": "food"}}, {"NOT": [{"metadata.n": {"eq": 2}}]}]}, "a"),
        ({"NOT": {"metadata.who.name": {"eq": "Ann"}}}, "bC"),
        ({"created_at": {"gt": "2001-01-01T00:00:00Z"}, "kind": {"eq": "semantic"}}, "a"),
        ({}, "abC"),
    ],
)
async def test_filters_select_alike_in_list_and_recall(
    memory: LocalMemory, filters: dict[str, Any], expected: str
) -> None:
    await memory.remember_many(ITEMS)
    assert {item.content[0] for item in (await memory.list(filters=filters)).items} == set(expected)
    found = await memory.recall("apple pie, bread and a cloudy day", filters=filters)
    assert {hit.memory.content[0] for hit in found.hits} == set(expected)


@pytest.mark.parametrize(
    "filters",
    [
        {"colour": {"eq": 1}},
        {"kind": {"like": "x"}},
        {"kind": "semantic"},
        {"kind": {}},
        {"content_hash": {"eq": "x"}},
        {"AND": []},
        {"AND": [[]]},
        {"importance": {"gt": "high"}},
        {"importance": {"contains": 1}},
        {"created_at": {"gt": "yesterday"}},
        {"memory_id": {"eq": "x"}},
        {"kind": {"in": "semantic"}},
        {"key": {"exists": "yes"}},
        {"key": {"eq": None}},
        {"tags": {"gt": "a"}},
        {"metadata.": {"eq": 1}},
        {"metadata.a": {"gt": None}},
        {"kind": {"eq": "\x00"}},
        {"kind; DROP TABLE x": {"eq": 1}},
        {"tags": {"contains": [1]}},
    ],
)
async def test_unknown_or_misused_filters_are_refused(memory: LocalMemory, filters: dict[str, Any]) -> None:
    for call in (memory.list(filters=filters), memory.recall("x", filters=filters)):
        with pytest.raises(ValidationFailedError):
            await call


def test_filter_depth_and_size_are_limited() -> None:
    deep: dict[str, Any] = {"kind": {"eq": "semantic"}}
    for _ in range(11):
        deep = {"NOT": [deep]}
    with pytest.raises(ValidationFailedError, match="deeper"):
        compile_filters(deep, 1)
    with pytest.raises(ValidationFailedError, match="more than 100"):
        many: Any = {"OR": [{"kind": {"eq": "semantic"}}] * 101}
        compile_filters(many, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*COLUMNS, "metadata.a", "metadata.a.b", "AND", "OR", "NOT"]) | st.text(max_size=10)
FILTERS = st.dictionaries(
    FIELDS, VALUES | st.dictionaries(st.sampled_from(OPERATORS) | st.text(max_size=5), VALUES, max_size=2), max_size=3
)


@given(FILTERS)
def test_filters_compile_to_bound_parameters_or_fail(filters: dict[str, Any]) -> None:
    try:
        condition = compile_filters(filters, 5)
    except ValidationFailedError:
        return
    for number in range(len(condition.values)):
        assert f"${number + 5}::" in condition.sql
    assert not any(mark in condition.sql for mark in (";", "--", "/*"))


@pytest.mark.parametrize(
    ("field", "count"),
    [
        ("metadata.a.b", 2),
        ('metadata."a.b"', 1),
        ('metadata."a.b".c', 1),
        ('metadata."x.y".z', 0),
        ("metadata.x.y.z", 1),
        ('metadata.d."e.f"', 1),
        ("metadata.plain", 1),
    ],
)
async def test_names_with_dots_are_found(keeps: Keeps, tenant: str, field: str, count: int) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    metadata: list[dict[str, Any]] = [{"a": {"b": 1}}, {"a.b": 1}, {"a.b": {"c": 1}}, {"x.y.z": 1}]
    metadata += [{"d": {"e.f": 1}}, {"plain": 1}]
    await memory.remember_many([{"content": str(each), "metadata": each} for each in metadata])
    assert len(await memory.list(filters={field: {"eq": 1}})) == count


@pytest.mark.parametrize("field", ["metadata.", "metadata.a..b", 'metadata."a', 'metadata."a"b', 'metadata."".a'])
async def test_path_without_names_is_refused(keeps: Keeps, tenant: str, field: str) -> None:
    with pytest.raises(ValidationFailedError, match="between its dots"):
        await keeps.memory(Scope(tenant, "alice")).list(filters={field: {"eq": 1}})
