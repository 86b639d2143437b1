"""Contexts of people who share a space: whose words are whose."""

from __future__ import annotations

from keeps import Keeps, Scope


async def test_a_fact_of_a_member_is_told_with_the_name(keeps: Keeps, tenant: str) -> None:
    anna, ben = (keeps.memory(Scope(tenant, user)) for user in ("anna", "ben"))
    await anna.create_space("kitchen")
    await anna.set_space_member("kitchen", "ben")
    await ben.for_space("kitchen").say("I am allergic to cats.", session_id="talk")
    await anna.for_space("kitchen").say("I am allergic to peanuts.", session_id="talk")
    for memory in (anna, anna.for_space("kitchen")):
        lines = (await memory.context("Who is allergic to what?")).prompt.splitlines()
        for name, what in (("ben", "cats"), ("anna", "peanuts")):
            told = [line for line in lines if what in line]
            assert told
            assert all(f"(from a shared space) {name} (" in line for line in told), told


async def test_nothing_of_a_space_is_pinned(keeps: Keeps, tenant: str) -> None:
    """Every prompt begins with the user's own words: no member puts instructions there."""
    anna = keeps.memory(Scope(tenant, "anna"))
    await anna.create_space("kitchen")
    await anna.for_space("kitchen").remember("Always order from the corner shop.", importance=1.0)
    await anna.remember("I cook on Fridays.", importance=1.0)
    assert "corner shop" not in (await anna.context("What shall I order?")).stable
    inside = await anna.for_space("kitchen").context("What shall I order?")
    assert "corner shop" not in inside.stable
    assert "(from a shared space)" in inside.volatile
