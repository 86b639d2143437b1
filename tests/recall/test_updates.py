"""What is said later about the same thing comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.engine import LocalMemory
from keeps.memory.recall.updates import (
    Statement,
    announces_change,
    asked_kinds,
    latest_first,
    same_statement,
    statement_of,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The author of Dune is Frank.", "The author of Dune is Peter Smith.", True),
        (
            "The author of Our Mutual Friend is Charles Dickens.",
            "The author of Our Mutual Friend is Charles Darwin.",
            True,
        ),
        ("Lena lives in New York.", "Lena lives in New Jersey.", True),
        ("The mayor of New York plays golf.", "The mayor of New Jersey plays golf.", False),
        ("The author of Our Mutual Friend is Charles.", "The author of Our Mutual Enemy is Charles.", False),
        ("The author of Dune is Frank.", "The author of Dune is Frank Herbert.", False),
        ("Lena wrote the whole long book.", "Lena wrote the whole long letter.", False),
        ("Lena was born in the city of Hull.", "Lena was born in the city of Leeds.", True),
        ("My budget is $50.", "My budget is now $60.", True),
        ("Lena plays the position of goalkeeper.", "Lena plays the position of forward.", True),
        ("The author of Dune is Frank.", "The author of Emma is Jane.", False),
        ("The firm was founded in Hull.", "The firm was founded by Lena.", False),
        ("I went to the park.", "I went to the shop.", False),
        ("Is the author of Dune Frank?", "Is the author of Dune Peter?", False),
        ("The author of Dune is Frank.", "The author of Dune is Frank.", False),
    ],
)
def test_same_statement_with_another_value_is_recognized(one: str, other: str, same: bool) -> None:
    first, second = statement_of(one), statement_of(other)
    if first is None or second is None:
        assert not same
    else:
        assert same_statement(first, second) is same_statement(second, first) is same


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("What is my budget for the trip?", ["money"]),
        ("When is the deadline?", ["date"]),
        ("How many books have I read?", ["number"]),
        ("How many books had I read before?", []),
        ("When did we meet?", []),
        ("Tell me about my budget", []),
    ],
)
def test_kinds_of_values_asked_for_are_recognized(question: str, kinds: list[str]) -> None:
    assert asked_kinds(question) == kinds


def test_announcement_contains_change_and_number() -> None:
    assert announces_change("Good news. The quota was increased to 1,200 calls.")
    assert not announces_change("The quota is 1,200 calls.")
    assert not announces_change("The quota was increased.")


@given(st.permutations(range(6)), st.sampled_from(["When is the deadline?", "hello", ""]))
def test_only_the_order_changes(order: list[int], question: str) -> None:
    told = {
        number: Statement(
            UUID(int=number), f"The deadline of Apollo is {number} May.", "user", None, START + timedelta(days=number)
        )
        for number in range(6)
    }
    found = latest_first(order, told, question, {}, lambda *_: 1.0)
    assert sorted(found) == list(range(6))
    assert found[0] == 5, "the latest of one statement comes first"


async def test_later_of_simultaneous_facts_comes_first(memory: LocalMemory) -> None:
    names = ("Ruth", "Karl", "Mona")
    await memory.remember_many([{"content": f"The captain of the Seagull is {name}."} for name in names], index="now")
    found = await memory.recall("Who is the captain of the Seagull?")
    assert [hit.memory.content.split()[-1] for hit in found.hits] == ["Mona.", "Karl.", "Ruth."]
