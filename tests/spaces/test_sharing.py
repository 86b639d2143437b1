"""Sharing a memory: a copy in a space or for another agent, and its undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.base.text.trust import origin_of
from keeps.engine import Keeps
from keeps.memory.transfer.service import TransferService
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import Memory

TEXT = "The oven needs repair."


@pytest.fixture
async def alice(keeps: Keeps, tenant: str) -> Any:
    """A curator of a space in which walt writes and rita reads."""
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "walt", "writer")
    await alice.set_space_member("bakery", "rita", "reader")
    return alice


async def contents(memory: Any) -> list[str]:
    return sorted(each.content for each in (await memory.list()).items)


def origin(memory: Memory) -> str:
    return origin_of(memory.role, memory.source, memory.metadata)


async def test_a_copy_in_a_space_names_its_original(keeps: Keeps, tenant: str, alice: Any) -> None:
    stored = await alice.remember(TEXT, namespace="repairs", key="oven", tags=["oven"], agent_id="planner")
    receipt = await alice.share_memory(stored.memory_id, space="bakery")
    assert (receipt.status, receipt.memory.user_id) == ("created", "(space) bakery")
    assert receipt.memory_id != stored.memory_id
    shared_from = receipt.memory.metadata["shared_from"]
    assert shared_from.pop("shared_at") == receipt.memory.created_at.isoformat()
    assert shared_from == {"memory_id": str(stored.memory_id), "user_id": "alice", "agent_id": "planner"}
    assert receipt.memory.tags == ("oven",)
    rita = keeps.memory(Scope(tenant, "rita"))
    assert [hit.memory.memory_id for hit in (await rita.recall("What needs repair?")).hits] == [receipt.memory_id]
    assert await contents(keeps.memory(Scope(tenant, "sam"))) == []
    events = await alice.for_space("bakery").history(receipt.memory_id)
    first = events[0]
    assert (first.type, first.id, first.userid, first.actorid) == (
        "memory.written",
        receipt.event_id,
        "(space) bakery",
        "alice",
    )


async def test_sharing_again_is_unchanged_and_the_rows_are_separate(alice: Any) -> None:
    stored = await alice.remember(TEXT)
    first = await alice.share_memory(stored.memory_id, space="bakery")
    await alice.update(stored.memory_id, content="The oven works again.")
    again = await alice.share_memory(stored.memory_id, space="bakery")
    assert (again.status, again.memory_id, again.memory.content) == ("unchanged", first.memory_id, TEXT)
    await alice.for_space("bakery").update(first.memory_id, content="The oven is sold.")
    again = await alice.share_memory(stored.memory_id, space="bakery")
    assert (again.status, again.memory.content) == ("unchanged", "The oven is sold.")
    assert (await alice.get(stored.memory_id)).content == "The oven works again."
    await alice.forget(stored.memory_id, hard=True)
    assert await contents(alice.for_space("bakery")) == ["The oven is sold."]


async def test_undo_forgets_the_copy_alone(alice: Any) -> None:
    stored = await alice.remember(TEXT)
    inside = alice.for_space("bakery")
    await inside.remember(TEXT)  # of the space itself
    first = await alice.share_memory(stored.memory_id, space="bakery")
    undone = await alice.unshare_memory(stored.memory_id, space="bakery")
    assert (undone.status, undone.memory_id) == ("forgotten", first.memory_id)
    assert await contents(inside) == [TEXT]
    assert (await alice.get(stored.memory_id)).deleted_at is None
    with pytest.raises(NotFoundError, match="not shared with the space 'bakery'"):
        await alice.unshare_memory(stored.memory_id, space="bakery")
    assert (await alice.share_memory(stored.memory_id, space="bakery")).status == "created"
    assert await contents(inside) == [TEXT, TEXT]


async def test_another_agent_of_the_user_gets_a_copy(keeps: Keeps, tenant: str, alice: Any) -> None:
    stored = await alice.remember("I fixed the oven.", kind="episodic", agent_id="planner", session_id="monday")
    baker = keeps.memory(Scope(tenant, "alice", agent_id="baker", agent_bound=True))
    assert await contents(baker) == []
    receipt = await alice.share_memory(stored.memory_id, agent_id="baker")
    assert (receipt.status, receipt.memory.agent_id, receipt.memory.session_id) == ("created", "baker", None)
    assert receipt.memory.metadata["shared_from"]["agent_id"] == "planner"
    assert await contents(baker) == ["I fixed the oven."]
    other = await alice.share_memory(stored.memory_id, agent_id="seller")
    assert other.memory_id != receipt.memory_id
    assert (await alice.share_memory(stored.memory_id, agent_id="baker")).status == "unchanged"
    await alice.unshare_memory(stored.memory_id, agent_id="baker")
    assert await contents(baker) == []
    assert (await alice.get(other.memory_id)).deleted_at is None
    with pytest.raises(ValidationFailedError, match="already"):
        await alice.share_memory(stored.memory_id, agent_id="planner")


async def test_a_bound_agent_shares_facts_and_its_own_experiences(keeps: Keeps, tenant: str, alice: Any) -> None:
    await alice.set_space_member("bakery", "planner", "writer", member_type="agent")
    planner: Any = keeps.memory(Scope(tenant, "alice", agent_id="planner", agent_bound=True))
    fact = await planner.remember(TEXT)
    talk = await planner.remember("I fixed the oven.", kind="episodic")
    others = await alice.remember("I sold bread.", kind="episodic", agent_id="seller")
    assert (await planner.share_memory(fact.memory_id, agent_id="baker")).status == "created"
    assert (await planner.share_memory(talk.memory_id, space="bakery")).memory.agent_id == "planner"
    with pytest.raises(ForbiddenError, match="only facts"):
        await planner.share_memory(talk.memory_id, agent_id="baker")
    with pytest.raises(NotFoundError):
        await planner.share_memory(others.memory_id, space="bakery")


async def test_a_copy_is_trusted_as_its_original(keeps: Keeps, tenant: str, alice: Any) -> None:
    sources: list[dict[str, Any]] = [
        {"source": "https://example.com"},
        {"kind": "episodic", "role": "tool"},
        {"metadata": {"trust": "web"}},
        {"metadata": {"trust": "user"}},
    ]
    for number, marks in enumerate(sources):
        stored = await alice.remember(f"Note {number}.", **marks)
        original = await alice.get(stored.memory_id)
        for target in ({"space": "bakery"}, {"agent_id": "baker"}):
            copy = (await alice.share_memory(stored.memory_id, **target)).memory
            assert origin(copy) == origin(original) == ("own" if number == 3 else "tool")
            assert {**copy.metadata, "shared_from": None} == {**original.metadata, "shared_from": None}
    # The memory of another user counts as shared; as a copy it would count as the caller's own words.
    office = await keeps.memory(Scope(tenant, "bob")).remember("The office is closed.", visibility="tenant")
    for target in ({"space": "bakery"}, {"agent_id": "baker"}):
        with pytest.raises(ForbiddenError, match="only its owner"):
            await alice.share_memory(office.memory_id, **target)


async def test_members_share_from_one_space_into_another(keeps: Keeps, tenant: str, alice: Any) -> None:
    walt: Any = keeps.memory(Scope(tenant, "walt"))
    await walt.create_space("garage")
    stored = await walt.for_space("garage").remember(TEXT)
    for memory in (walt, walt.for_space("garage")):
        receipt = await memory.share_memory(stored.memory_id, space="bakery")
        assert receipt.memory.metadata["shared_from"]["user_id"] == "(space) garage"
    with pytest.raises(ForbiddenError, match="only its owner"):
        await walt.share_memory(stored.memory_id, agent_id="baker")
    inside = await walt.for_space("garage").share_memory(stored.memory_id, agent_id="baker")
    assert inside.memory.user_id == "(space) garage"
    with pytest.raises(ValidationFailedError, match="already"):
        await walt.share_memory(stored.memory_id, space="garage")
    with pytest.raises(NotFoundError):
        await alice.share_memory(stored.memory_id, space="bakery")
    await walt.for_space("garage").unshare_memory(stored.memory_id, space="bakery")
    assert await contents(alice.for_space("bakery")) == []


async def test_only_writers_of_the_space_share_into_it_and_undo(keeps: Keeps, tenant: str, alice: Any) -> None:
    stored = await alice.remember(TEXT)
    await alice.share_memory(stored.memory_id, space="bakery")
    rita, sam = (keeps.memory(Scope(tenant, user)) for user in ("rita", "sam"))
    other = keeps.memory(Scope(f"other-{tenant}", "alice"))
    walt: Any = keeps.memory(Scope(tenant, "walt"))
    for memory, error in ((rita, ForbiddenError), (sam, NotFoundError), (other, NotFoundError)):
        mine = await memory.remember("Mine.")
        with pytest.raises(error):
            await memory.share_memory(mine.memory_id, space="bakery")
        for memory_id in (stored.memory_id, mine.memory_id):
            with pytest.raises(error):
                await memory.unshare_memory(memory_id, space="bakery")
    with pytest.raises(NotFoundError):
        await walt.share_memory(stored.memory_id, space="bakery")  # which is private to Alice
    await alice.update_space("bakery", archived=True)
    with pytest.raises(ForbiddenError):
        await walt.unshare_memory(stored.memory_id, space="bakery")
    assert await contents(alice.for_space("bakery")) == [TEXT]


async def test_what_cannot_be_shared_says_why(alice: Any) -> None:
    stored = await alice.remember(TEXT)
    for targets in ({}, {"space": "bakery", "agent_id": "baker"}):
        for call in (alice.share_memory, alice.unshare_memory):
            with pytest.raises(ValidationFailedError, match="one target"):
                await call(stored.memory_id, **targets)
    with pytest.raises(NotFoundError):
        await alice.share_memory(uuid4(), space="bakery")
    tool = await alice.add_tool("mixer", purpose="mixes", visibility="private")
    document = await alice.add_document("The rent is due in May.", source="lease")
    passages = await alice.list(filters={"document_id": {"eq": str(document.document.document_id)}})
    for memory_id in (tool.memory_id, passages.items[0].memory_id):
        with pytest.raises(ConflictError, match=r"source|passage"):
            await alice.share_memory(memory_id, space="bakery")
    await alice.forget(stored.memory_id)
    with pytest.raises(NotFoundError):
        await alice.share_memory(stored.memory_id, space="bakery")
    taken = await alice.remember("Taken.")
    await alice.for_space("bakery").remember("Mine.", namespace="shared", key=str(taken.memory_id))
    for call in (alice.share_memory, alice.unshare_memory):
        with pytest.raises(ConflictError, match="another memory"):
            await call(taken.memory_id, space="bakery")


async def test_the_log_replays_to_the_same_rows(keeps: Keeps, alice: Any) -> None:
    stored = await alice.remember(TEXT)
    for target in ({"space": "bakery"}, {"agent_id": "baker"}):
        await alice.share_memory(stored.memory_id, **target)
        await alice.unshare_memory(stored.memory_id, **target)
        await alice.share_memory(stored.memory_id, **target)
    assert (await keeps.service(EventService).verify(alice.scope)).differences == []


async def test_an_export_keeps_the_copy_known(keeps: Keeps, tenant: str, alice: Any) -> None:
    stored = await alice.remember(TEXT)
    copy = await alice.share_memory(stored.memory_id, space="bakery")
    lines = [line async for line in keeps.service(TransferService).export(alice.scope, None)]
    there = keeps.memory(Scope(f"new-{tenant}", "alice", roles=frozenset({"admin"})))
    assert (await there.admin.import_lines(lines)).failed == 0
    assert {each.member_id for each in (await there.get_space("bakery")).member_list} == {"alice", "walt", "rita"}
    again = await there.share_memory(stored.memory_id, space="bakery")
    assert (again.status, again.memory_id) == ("unchanged", copy.memory_id)


async def test_a_repeated_request_shares_once(server_url: str, keeps: Keeps, tenant: str, alice: Any) -> None:
    stored = await alice.remember(TEXT)
    path = f"/v1/memories/{stored.memory_id}/share"
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}

    async def twice(method: str, key: str, **given: Any) -> list[tuple[int, Any]]:
        answers: list[tuple[int, Any]] = []
        for _ in range(2):
            async with http.request(method, path, headers={"Idempotency-Key": key}, **given) as answer:
                answers.append((answer.status, await answer.json()))
        return answers

    async with aiohttp.ClientSession(server_url, headers=headers) as http:
        shared = await twice("POST", "share", json={"space": "bakery"})
        assert [status for status, _ in shared] == [201, 201]
        assert shared[0][1]["memory_id"] == shared[1][1]["memory_id"]
        async with http.post(path, json={"space": "bakery"}) as answer:
            assert (answer.status, (await answer.json())["status"]) == (200, "unchanged")
        undone = await twice("DELETE", "undo", params={"space": "bakery"})
        assert [status for status, _ in undone] == [200, 200]
        assert {UUID(answer["memory_id"]) for _, answer in undone} == {UUID(shared[0][1]["memory_id"])}
    assert await contents(alice.for_space("bakery")) == []


async def test_nobody_forges_the_origin_of_a_copy(keeps: Keeps, tenant: str, alice: Any) -> None:
    original = await alice.remember(TEXT)
    forged = {"memory_id": str(original.memory_id), "user_id": "bob"}
    own = await alice.remember("A note.", metadata={"place": "office"})
    for call in (
        alice.remember("Not shared.", metadata={"shared_from": forged}),
        alice.remember_many([{"content": "Not shared.", "metadata": {"shared_from": None}}]),
        alice.store_exchange(
            [{"role": "user", "content": "Hello.", "metadata": {"shared_from": forged}}], session_id="s"
        ),
        alice.add_document("Not shared.", metadata={"shared_from": forged}),
        alice.update(own.memory_id, metadata={"shared_from": forged}),
    ):
        with pytest.raises(ValidationFailedError, match="shared_from"):
            await call
    copy = (await alice.share_memory(original.memory_id, space="bakery")).memory
    bakery = alice.for_space("bakery")
    with pytest.raises(ValidationFailedError, match="shared_from"):
        await bakery.update(copy.memory_id, metadata={"shared_from": forged})
    changed = await bakery.update(copy.memory_id, metadata={"place": "office"})
    assert changed.memory.metadata == {"place": "office", "shared_from": copy.metadata["shared_from"]}
    again = await bakery.update(copy.memory_id, metadata={**changed.memory.metadata, "place": "hall"})
    assert again.memory.metadata == {"place": "hall", "shared_from": copy.metadata["shared_from"]}
    assert (await alice.unshare_memory(original.memory_id, space="bakery")).status == "forgotten"


@pytest.mark.parametrize("user", ["keeps.jobs", "keeps.costs"])
async def test_nobody_acts_as_a_user_of_keeps_itself(keeps: Keeps, tenant: str, alice: Any, user: str) -> None:
    with pytest.raises(ForbiddenError, match="reserved"):
        keeps.memory(Scope(tenant, user))
    with pytest.raises(ForbiddenError, match="reserved"):
        alice.for_user(user)
    with pytest.raises(ValidationFailedError, match="reserved"):
        await alice.set_space_member("bakery", user)
    admin = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    with pytest.raises(ValidationFailedError, match="reserved"):
        await admin.admin.make_key("jobs", roles=["reader"], user_id=user)
