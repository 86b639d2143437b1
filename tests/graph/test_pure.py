"""Finding names in text, and path patterns: without a database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.memory.graph.finding import KnownNames, find_known, find_names, new_names, words_of_name
from keeps.memory.graph.patterns import parse_pattern
from keeps_client.errors import ValidationFailedError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("With Biscuit. Did Joanna call?", ["Biscuit", "Joanna"]),
        ("From Leeds I went to see Will Smith.", ["Leeds", "Will Smith"]),
        ("We met Maria Santos in Porto.", ["Maria Santos", "Porto"]),
        ("Maria came late. Then she left.", []),
        ("Hey Caroline! How are you?", ["Caroline"]),
        ("The Bank of Ireland and the Red Cross helped.", ["Bank of Ireland", "Red Cross"]),
        ('I read "Becoming Nicole" by Amy Ellis Nutt.', ["Becoming Nicole", "Amy Ellis Nutt"]),
        ("On Monday in July I saw Tom's dog.", ["Tom"]),
        ("ask @sam.w about it", ["@sam.w"]),
        ("Wow, NASA called!", ["NASA"]),
        ("Meu amigo João mora em São Paulo.", ["João", "São Paulo"]),
        ("I'm fine. OK. Thanks, English is hard.", []),
        ("", []),
        ("🙂 \x01 ' \" . @", []),
    ],
)
def test_names_are_what_writing_marks_as_such(text: str, expected: list[str]) -> None:
    assert find_names(text) == expected


def test_known_names_match_longest_first_ignoring_case() -> None:
    known: KnownNames[str] = KnownNames()
    for name in ("Maria", "Maria Santos", "Acme Corp.", "apple"):
        known.add(name, name)
    assert find_known("maria santos works for ACME corp, and Maria's brother, too.", known) == [
        "Maria Santos",
        "Acme Corp.",
        "Maria",
    ]
    assert find_known("An apple a day", known) == []
    assert find_known("apple", known) == ["apple"]
    assert find_known("Apple fell", known) == ["apple"]
    assert new_names(["Maria", "Zoe"], known, {words_of_name("zoe")}) == []


@given(st.text(max_size=300))
def test_found_names_occur_in_any_text(text: str) -> None:
    for name in find_names(text):
        assert 2 <= len(name) <= 100
        assert name in text
        known: KnownNames[int] = KnownNames()
        known.add(name, 1)
        assert len(known) == 1


def test_patterns_are_read() -> None:
    pattern = parse_pattern("person -works_at-> org|club <-works-at- * -*- city")
    assert pattern.start == "person"
    assert pattern.relations == ("works_at", "works-at", "*")
    assert (pattern.directions, pattern.entities) == ((">", "<", "-"), ("org|club", "*", "city"))


@given(st.text(alphabet="ab -<>*|_", max_size=30))
def test_no_pattern_breaks_the_reader(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except ValidationFailedError:
        return
    assert len(pattern.relations) == len(pattern.directions) == len(pattern.entities) >= 1
