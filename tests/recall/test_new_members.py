"""A process that holds arrays learns at once who joins and who leaves a space."""

from __future__ import annotations

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client.errors import NotFoundError
from tests.recall.test_index import arrays, clock, held, plain

__all__ = ["arrays", "clock", "plain"]


async def test_a_space_that_is_named_right_after_joining_is_found(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice, bob = plain.memory(Scope(tenant, "alice")), arrays.memory(Scope(tenant, "bob"))
    await alice.create_space("apollo")
    await alice.remember("The launch is on 3 May.", space="apollo", index="now")
    await plain.memory(bob.scope).remember("I water the plants.", index="now")
    await held(arrays, bob.scope)
    with pytest.raises(NotFoundError):
        await bob.recall("launch", spaces=["apollo"])
    await alice.set_space_member("apollo", "bob")  # another process
    assert (await bob.recall("launch", spaces=["apollo"]))[0].text == "The launch is on 3 May."
    await held(arrays, bob.scope)
    await alice.remove_space_member("apollo", "bob")
    assert "The launch is on 3 May." not in {hit.text for hit in await bob.recall("launch")}
    with pytest.raises(NotFoundError):
        await bob.recall("launch", spaces=["apollo"])
