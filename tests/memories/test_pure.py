"""Pure parts of memories: importance, content identity, reconciling."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.base.text import importance, lasting
from keeps.base.text.cues import Cue, fold, split_alternatives
from keeps.base.text.importance import estimate_importance
from keeps.base.text.searched import searched_words
from keeps.base.unchecked import unchecked
from keeps.memory.memories.reconcile import Keep, Replace, StoreOlder, check_version, reconcile
from keeps.memory.memories.types import MEMORY, MemoryRow, content_hash, fact_hash, new_row
from keeps_client.errors import ConflictError
from keeps_client.models import Memory, NewMemory, Receipt

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = Scope("t", "u")


CUES = [cue for _, cue in lasting._KINDS] + [cue for cue, _ in importance._CUES]  # noqa: SLF001
WORDS = sorted({word for cue in CUES for word in re.findall("[a-zà-ÿ]{2,}", cue.source)})
ODD_CASES = st.sampled_from((str, str.upper, str.title, lambda text: text.replace("i", "İ").replace("s", "ſ")))


@given(st.lists(st.sampled_from([*WORDS, "i", "I'm", "my", "a", "3", "...", ":"]), max_size=12), ODD_CASES)
def test_cues_match_as_ignorecase_does(words: list[str], cased: Callable[[str], str]) -> None:
    text = cased(" ".join(words))
    for cue in CUES:
        assert cue.search(fold(text)) == bool(re.search(cue.source, text, re.IGNORECASE)), cue.source


def test_alternatives_are_split_at_the_top_level_only() -> None:
    assert list(split_alternatives(r"^a(b|c)|\|d|[|)]e|(?:f|(g|h))")) == ["^a(b|c)", r"\|d", "[|)]e", "(?:f|(g|h))"]
    assert Cue("^one|two").search("one")
    assert not Cue("^one").search("someone")


def test_unchecked_model_is_as_constructed() -> None:
    new = NewMemory(content="Tea at five.", tags=("t",), metadata={"a": 1})
    memory = new_row(new, SCOPE, new_id(), NOW).as_memory()
    values = {name: getattr(memory, name) for name in memory.model_fields_set}
    constructed = Memory.model_construct(**values)
    assert memory == constructed
    assert memory.model_fields_set == constructed.model_fields_set
    assert memory.model_dump_json() == constructed.model_dump_json()
    made = unchecked(Receipt, {"memory": memory, "status": "created", "memory_id": memory.memory_id, "other": 1})
    assert made.model_fields_set == {"memory", "status", "memory_id"}
    expected = Receipt.model_construct(status="created", memory_id=memory.memory_id, memory=memory)
    assert made.model_dump_json() == expected.model_dump_json()
    assert made.model_copy(update={"indexed": True}).indexed


@given(st.text(min_size=1))
def test_importance_stays_in_range(text: str) -> None:
    assert 0.1 <= estimate_importance(text) <= 0.9


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("She is allergic to penicillin.", "She walked along the street today."),
        ("I prefer the window seat.", "There was a seat there somehow."),
        ("We saw a green bus today.", "Ok, thanks!"),
    ],
)
def test_obligations_and_identity_have_more_importance(more: str, less: str) -> None:
    assert estimate_importance(more) > estimate_importance(less)


TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
NEW = st.builds(
    lambda content, value, when: NewMemory(
        content=content, namespace="n", key="k", value=value, **({"valid_from": when} if when else {})
    ),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([None, 1]),
    st.none() | TIMES,
)


@given(NEW, NEW)
def test_reconciling_never_loses_a_truth(first: NewMemory, second: NewMemory) -> None:
    stored = new_row(first, SCOPE, new_id(), NOW)
    new = new_row(second, SCOPE, new_id(), NOW + timedelta(seconds=1))
    outcome = reconcile(stored, new, frozenset(second.model_fields_set), new_id(), NOW + timedelta(seconds=1))
    match outcome:
        case Keep(current):
            assert (current.content, stored.memory_id) == (new.content, current.memory_id)
        case Replace(current, older):
            assert current.memory_id == stored.memory_id
            assert current.version == stored.version + 1
            assert current.content == new.content
            if current.content != stored.content:
                assert older is not None
                assert (older.content, older.superseded_by) == (stored.content, stored.memory_id)
                assert older.valid_to is not None
                assert older.valid_to >= older.valid_from
        case StoreOlder(older):
            assert (older.content, older.superseded_by) == (new.content, stored.memory_id)
            assert older.valid_to == stored.valid_from


@given(st.integers(0, 5) | st.none(), st.integers(1, 5) | st.none())
def test_version_is_compared_with_stored_row(expected: int | None, stored: int | None) -> None:
    row = None if stored is None else new_row(NewMemory(content="c"), SCOPE, new_id(), NOW).evolve(version=stored)
    if expected is None or expected == (stored or 0):
        check_version(row, expected)
    else:
        with pytest.raises(ConflictError):
            check_version(row, expected)


def test_experience_identity_includes_time() -> None:
    def row(**arguments: Any) -> MemoryRow:
        return new_row(NewMemory(content="same", **arguments), SCOPE, UUID(int=1), NOW)

    assert content_hash(row()) == content_hash(row(importance=0.9, tags=("t",))) == fact_hash("same")
    owners = [row(**each) for each in ({}, {"session_id": "a"}, {"agent_id": "a"}, {"metadata": {"app_id": "a"}})]
    assert len({each.content_hash for each in owners}) == 4
    assert {each.content_hash[:32] for each in owners} == {fact_hash("same")}
    assert row(kind="episodic", session_id="a").content_hash != row(kind="episodic", session_id="b").content_hash
    later = NOW + timedelta(1)
    assert row(kind="episodic", valid_from=NOW).content_hash != row(kind="episodic", valid_from=later).content_hash
    assert row(namespace="a").content_hash != row(namespace="b").content_hash


@given(NEW)
def test_row_equals_its_json(new: NewMemory) -> None:
    row = new_row(new, SCOPE, new_id(), NOW)
    assert row.with_json(row.as_json()) == row
    assert list(row.as_json()) == list(MEMORY.types)


def test_speaker_is_searchable() -> None:
    spoken = new_row(
        NewMemory(content="I like tea", kind="episodic", metadata={"speaker": "Zoë Quill"}), SCOPE, UUID(int=1), NOW
    )
    assert spoken.embedded_text == "Zoë Quill: I like tea"
    assert {"zoe", "quill", "tea"} <= set(searched_words(spoken.embedded_text, spoken.kind, (), None))


def test_ids_sort_by_creation() -> None:
    ids = [new_id() for _ in range(5_000)]
    assert ids == sorted(ids)
    assert {each.version for each in ids} == {7}
    assert len(set(ids)) == len(ids)
