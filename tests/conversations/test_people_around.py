"""Allergies and diets of people whom the user names, and the user's profession and workplace."""

import pytest

from keeps import Keeps, Scope
from keeps.memory.conversations.rules import read_facts
from tests.lifecycle.conftest import MovingClock


def keys(text: str) -> list[str]:
    return [fact.key for fact in read_facts(text) if not fact.ended]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tom is allergic to hazelnuts.", ["tom/allergy/hazelnuts"]),
        ("Tom's severely allergic to nuts and eggs.", ["tom/allergy/nuts", "tom/allergy/eggs"]),
        ("My younger son is allergic to penicillin.", ["my-younger-son/allergy/penicillin"]),
        ("My wife Anna is vegan.", ["my-wife/diet"]),
        ("My sister, Kate, is coeliac.", ["my-sister/diet"]),
        ("Mia is a vegetarian now.", ["mia/diet"]),
        ("I'm vegetarian, and Tom is allergic to hazelnuts.", ["user/diet", "tom/allergy/hazelnuts"]),
        ("I'm Dana, I'm a nurse at St. James's hospital.", ["user/name", "user/employer"]),
        ("I'm a nurse at a hospital.", ["user/occupation"]),
        ("Since Monday I'm a school nurse at De Regenboog.", ["user/employer"]),
        ("I live in Leeds and work at Barclays.", ["user/residence", "user/employer"]),
        ("I'm vegetarian and I have a peanut allergy.", ["user/diet", "user/allergy/peanut"]),
        ("I've got a severe tree nut allergy, so no pesto.", ["user/allergy/tree-nut"]),
        ("I'm Tom, I'm diabetic.", ["user/name", "user/health/diabetic"]),
        ("I'm a senior software engineer.", ["user/occupation"]),
        ("I've switched jobs, I now work at a GP practice in Headingley.", ["user/employer"]),
    ],
)
def test_clear_statements_are_facts(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Is Tom allergic to nuts?",
        "Do I have a peanut allergy?",
        "I have no allergy.",
        "I think Tom is allergic to homework.",
        "Tom is not allergic to cats.",
        "Nobody is allergic to peanuts.",
        "He is allergic to cats.",
        "Lasagne is vegetarian.",
        "This is a vegetarian restaurant.",
        "I'm a terrible nurse.",
        "I'm a bit of a doctor fan.",
        "I work at a desk.",
        "I work for a living.",
    ],
)
def test_opinions_and_things_are_no_facts(text: str) -> None:
    assert keys(text) == []


async def test_childs_allergy_stays_when_the_diet_changes(living: Keeps, tenant: str, clock: MovingClock) -> None:
    memory = living.memory(Scope(tenant, "dana"))
    first = [{"role": "user", "content": "I'm vegetarian, and Tom is allergic to hazelnuts."}]
    await memory.store_exchange(first, session_id="one")
    clock.forward(days=7)
    await memory.store_exchange([{"role": "user", "content": "I'm vegan now."}], session_id="two")
    context = await memory.context("What should I cook tonight?")
    assert "Tom is allergic to hazelnuts." in context.stable
    assert "hazelnuts. (until" not in context.text + context.volatile
    await memory.store_exchange(
        [{"role": "user", "content": "Tom is no longer allergic to hazelnuts."}], session_id="three"
    )
    assert "hazelnuts" not in (await memory.context("What should I cook tonight?")).stable


async def test_new_job_replaces_the_former_workplace(living: Keeps, tenant: str, clock: MovingClock) -> None:
    memory = living.memory(Scope(tenant, "dana"))
    for text in ("I'm a nurse at St. James's hospital.", "I've switched jobs, I now work at a GP practice."):
        await memory.store_exchange([{"role": "user", "content": text}], session_id="one")
        clock.forward(days=7)
    stable = (await memory.context("Where do I work?")).stable
    assert "I now work at a GP practice." in stable
    assert "James" not in stable


async def test_past_appointment_is_not_told_of_the_user(living: Keeps, tenant: str, clock: MovingClock) -> None:
    memory = living.memory(Scope(tenant, "dana"))
    said = [
        {"role": "user", "content": "My name is Dana."},
        {"role": "user", "content": "The dentist is on 4 May 2027."},
    ]
    await memory.store_exchange(said, session_id="one")
    receipt = (await memory.list(filters={"namespace": {"eq": "facts"}})).items
    (until,) = [fact.expires_at for fact in receipt if fact.expires_at]
    before = await memory.context("Who am I?")
    clock.now = until
    after = await memory.context("Who am I?")
    assert "dentist" in "".join(item.text for section in before.sections for item in section.items)
    facts = [item.text for section in after.sections if section.name == "long_term" for item in section.items]
    assert not [text for text in facts if "dentist" in text]


async def test_employer_stays_when_only_the_home_changes(living: Keeps, tenant: str, clock: MovingClock) -> None:
    memory = living.memory(Scope(tenant, "omar"))
    for day, text in (("one", "I live in Leeds and work at Barclays."), ("two", "I live in York now.")):
        await memory.store_exchange([{"role": "user", "content": text}], session_id=day)
        clock.forward(days=7)
    prompt = (await memory.context("Where do I work?")).prompt
    assert "I live in York now." in prompt
    assert "I live in Leeds and work at Barclays." in prompt
    assert "(earlier)" not in prompt
