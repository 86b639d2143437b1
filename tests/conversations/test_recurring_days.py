"""Days that come round every year do not expire; single occasions do."""

from datetime import UTC, datetime

import pytest

from keeps import Keeps, Scope
from keeps.memory.conversations.rules import read_facts

NOW = datetime(2026, 11, 25, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "My son's birthday is 5 May.",
        "My son's birthday is 5 October.",
        "Anna's b-day is on March 3rd.",
        "Our wedding anniversary is on 3 March.",
        "Our 10th anniversary is on 12 December 2026.",
        "My brother's name day is 6 December.",
        "My sister Anna was born on 5 May.",
        "The boiler check is every year on 5 January.",
        "Mein Geburtstag ist am 5. Mai.",
        "Unser Hochzeitstag ist am 7. Dezember.",
        "El cumpleaños de mi hija es el 5 de enero.",
        "L'anniversaire de ma mère est le 5 mai.",
    ],
)
def test_recurring_days_do_not_expire(text: str) -> None:
    facts = read_facts(text, said_at=NOW)
    assert facts
    assert [fact.until for fact in facts] == [None] * len(facts)


@pytest.mark.parametrize(
    "text",
    [
        "Anna's birthday party is on 5 December.",
        "I need a cake for my son's birthday on 5 December.",
        "The dentist is on 5 December.",
        "The birthday dinner is on 5 December.",
        "The course is every week until 12 December.",
        "Die Geburtstagsfeier ist am 5. Dezember.",
        "La fiesta de cumpleaños es el 5 de diciembre.",
    ],
)
def test_single_occasions_expire(text: str) -> None:
    (fact,) = read_facts(text, said_at=NOW)
    assert fact.until is not None


@pytest.mark.parametrize(
    "text", ["Would my birthday be on 5 May?", "If my birthday were 5 May.", "I hate birthdays.", "Every year is hard."]
)
def test_uncertain_and_undated_days_are_no_statement(text: str) -> None:
    assert not [fact for fact in read_facts(text, said_at=NOW) if fact.attribute == "statement"]


async def test_birthday_stays_without_expiry(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    await memory.store_exchange([{"role": "user", "content": "My son's birthday is 5 May."}], session_id="one")
    (fact,) = (await memory.list(filters={"namespace": {"eq": "facts"}})).items
    assert fact.expires_at is None
