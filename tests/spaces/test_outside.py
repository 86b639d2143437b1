"""Spaces from outside: forgotten memories, repeated requests, and a space without a curator."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from keeps import Keeps, Scope
from keeps_client.errors import ForbiddenError, NotFoundError
from tests.serving import token


async def test_forgotten_memory_is_shown_with_its_history(keeps: Keeps, tenant: str) -> None:
    alice, bob, mallory = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob", "mallory"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "bob", "reader")
    stored = await alice.for_space("bakery").remember("The oven needs repair.")
    await alice.for_space("bakery").forget(stored.memory_id)
    for member in (alice, bob):
        assert len(await member.history(stored.memory_id)) == 2
        assert (await member.get(stored.memory_id)).deleted_at is not None
    await bob.remove_space_member("bakery", "bob")
    for stranger in (bob, mallory):
        for call in (stranger.get(stored.memory_id), stranger.history(stored.memory_id)):
            with pytest.raises(NotFoundError):
                await call


async def test_repeated_change_of_an_administrator_has_the_role(secured_url: str, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice', roles=['admin'])}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        await session.post(f"{secured_url}/v1/spaces", json={"space_id": "bakery"})
        answers: list[Any] = []
        for _ in range(2):
            async with session.patch(
                f"{secured_url}/v1/spaces/bakery", json={"title": "Bread"}, headers={"Idempotency-Key": "once"}
            ) as answer:
                answers.append(await answer.json())
    assert [(each["title"], each["role"]) for each in answers] == [("Bread", "curator")] * 2


async def test_administrator_appoints_a_curator_after_the_only_one_is_erased(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "bob", "writer")
    await root.admin.erase_user("alice")
    assert (await bob.for_space("bakery").remember("The oven is repaired.")).status == "created"
    with pytest.raises(ForbiddenError):
        await bob.set_space_member("bakery", "bob", "curator")
    assert (await root.set_space_member("bakery", "bob", "curator")).role == "curator"
    assert (await bob.update_space("bakery", title="Bread")).role == "curator"
