"""Working memory of spaces beside that of the tenant: the same plan and key in each, and none hinders another."""

from __future__ import annotations

from uuid import uuid4

import pytest

from keeps import Keeps, Scope
from keeps.engine import LocalMemory
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError


@pytest.fixture
async def cara(keeps: Keeps) -> LocalMemory:
    """The curator of two spaces, who set the key `secret` of plan `launch` in both."""
    cara = keeps.memory(Scope(f"tenant-{uuid4().hex[:12]}", "cara"))
    for space in ("cellar", "attic"):
        await cara.create_space(space)
        await cara.for_space(space).store("secret", space, "launch")
    return cara


def stranger(keeps: Keeps, cara: LocalMemory) -> LocalMemory:
    return keeps.memory(Scope(cara.scope.tenant_id, "sam"))


async def test_key_of_a_space_does_not_block_the_tenant(keeps: Keeps, cara: LocalMemory) -> None:
    sam = stranger(keeps, cara)
    stored = await sam.store_if_version_matches("secret", 1, "launch", 0)
    assert (stored.version, stored.plan_id, stored.id) == (1, "launch", "launch/secret")
    assert await sam.increment("secret", "launch", 2) == 3
    assert [item.value for item in (await sam.list_plan_state("launch")).items] == [3]
    for space in ("cellar", "attic"):
        held = await cara.for_space(space).retrieve("secret", "launch")
        assert held == space


async def test_version_conflict_shows_the_own_key_only(keeps: Keeps, cara: LocalMemory) -> None:
    with pytest.raises(ConflictError) as refused:
        await stranger(keeps, cara).store_if_version_matches("secret", 1, "launch", 7)
    assert (refused.value.current_version, refused.value.current) == (0, None)


async def test_deleting_the_plan_of_a_user_keeps_state_of_spaces(keeps: Keeps, cara: LocalMemory) -> None:
    sam = stranger(keeps, cara)
    await sam.create_plan(plan_id="launch", goal_event="goal")
    await sam.store("secret", 1, "launch")
    await sam.delete_plan("launch")
    with pytest.raises(NotFoundError):
        await sam.get_plan_state("launch", "secret")
    assert await cara.for_space("cellar").retrieve("secret", "launch") == "cellar"


async def test_deleting_the_plan_of_a_space_clears_its_state_alone(keeps: Keeps, cara: LocalMemory) -> None:
    sam, cellar = stranger(keeps, cara), cara.for_space("cellar")
    await sam.create_plan(plan_id="launch", goal_event="goal")
    await sam.store("secret", 1, "launch")
    await cellar.create_plan(plan_id="launch", goal_event="goal")
    await cellar.delete_plan("launch")
    assert (await cellar.list_plan_state("launch")).items == []
    assert await sam.retrieve("secret", "launch") == 1
    assert await cara.for_space("attic").retrieve("secret", "launch") == "attic"


async def test_erased_user_hands_no_key_to_a_space(keeps: Keeps, cara: LocalMemory) -> None:
    sam = stranger(keeps, cara)
    await sam.store("secret", 1, "launch")
    await keeps.memory(Scope(sam.scope.tenant_id, "sam", roles=frozenset({"admin"}))).admin.erase_user("sam")
    tom = keeps.memory(Scope(sam.scope.tenant_id, "tom"))
    assert (await tom.list_plan_state("launch")).items == []
    assert await cara.for_space("cellar").retrieve("secret", "launch") == "cellar"


async def test_log_tells_keys_of_spaces_and_tenant_apart(keeps: Keeps, cara: LocalMemory) -> None:
    await stranger(keeps, cara).store("secret", 1, "launch")
    found = await keeps.service(EventService).verify(Scope(cara.scope.tenant_id, "cara"))
    assert (found.differences, found.compared["working_memory"]) == ([], 3)


@pytest.mark.parametrize("plan_id", ["(space) cellar\x1flaunch", "(space) any"])
async def test_plan_named_like_a_space_is_refused(keeps: Keeps, cara: LocalMemory, plan_id: str) -> None:
    sam = stranger(keeps, cara)
    with pytest.raises(ValidationFailedError, match="plan_id"):
        await sam.store("secret", 1, plan_id)
    with pytest.raises(ValidationFailedError, match="plan_id"):
        await sam.increment("secret", plan_id)
    with pytest.raises(NotFoundError):
        await sam.get_plan_state(plan_id, "secret")
