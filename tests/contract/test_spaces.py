"""Spaces, in process and over HTTP: members with roles share memories, and those who leave see nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall.indexes import AudienceIndexes
from keeps_client import Memory, MemoryClient, sync
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models.spaces import SpaceRole
from tests.contract.conftest import InThreads
from tests.serving import token

WINE = "The wine lies in the third row of the cellar."


UserOf = Callable[[str], Any]


@pytest.fixture
async def user_of(request: pytest.FixtureRequest, keeps: Keeps, tenant: str, secured_url: str) -> AsyncIterator[UserOf]:
    """Return memories of users of one tenant, in process or with tokens over HTTP."""
    kind: str = request.node.callspec.params["memory"]
    async with AsyncExitStack() as stack:
        clients = {
            user_id: MemoryClient(secured_url, token=token(tenant, user_id, "writer"))
            for user_id in ("alice", "fred", "rita", "sam", "walt")
        }
        for client in clients.values():
            await stack.enter_async_context(client)
        blocking = sync.MemoryClient(secured_url, token=token(tenant, "alice", "writer"))
        stack.callback(blocking.close)

        def user(user_id: str) -> Any:
            if kind == "engine":
                return keeps.memory(Scope(tenant, user_id))
            return InThreads(blocking) if kind == "sync" else clients[user_id]

        yield user


@pytest.fixture
async def memory(request: pytest.FixtureRequest, user_of: UserOf) -> Memory:
    """Alice's memory, as a user without the rights of an administrator."""
    del request
    return user_of("alice")


@pytest.fixture
async def cellar(memory: Memory) -> Memory:
    """A space of Alice's with a reader, a writer, and a curator who will leave."""
    await memory.create_space("cellar", title="The cellar")
    roles: dict[str, SpaceRole] = {"rita": "reader", "walt": "writer", "fred": "curator"}
    for user_id, role in roles.items():
        await memory.set_space_member("cellar", user_id, role)
    return memory.for_space("cellar")


@pytest.mark.sync_client
async def test_a_space_is_created_renamed_archived_and_erased(memory: Memory) -> None:
    assert await memory.list_spaces() == []
    made = await memory.create_space("cellar", title="The cellar")
    assert (made.space_id, made.title, made.role, made.members) == ("cellar", "The cellar", "curator", 1)
    assert await memory.list_spaces() == [made]
    with pytest.raises(ConflictError, match="taken"):
        await memory.create_space("cellar")
    assert (await memory.update_space("cellar", title="Wines")).title == "Wines"
    assert (await memory.update_space("cellar", archived=True)).archived_at is not None
    assert (await memory.get_space("cellar")).title == "Wines"
    assert (await memory.update_space("cellar", archived=False)).archived_at is None
    assert (await memory.erase_space("cellar")).complete
    assert await memory.list_spaces() == []
    with pytest.raises(NotFoundError):
        await memory.get_space("cellar")
    assert (await memory.create_space("cellar")).title is None


async def test_an_archived_space_is_read_and_not_written(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    await cellar.remember(WINE)
    await memory.update_space("cellar", archived=True)
    assert [hit.text for hit in (await cellar.recall("wine cellar")).hits] == [WINE]
    for user in (cellar, user_of("walt").for_space("cellar")):
        with pytest.raises(ForbiddenError, match="archived"):
            await user.remember("The port lies in the first row.")


async def test_members_have_roles(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    detail = await memory.get_space("cellar")
    assert {member.member_id: member.role for member in detail.member_list} == {
        "alice": "curator",
        "fred": "curator",
        "rita": "reader",
        "walt": "writer",
    }
    rita, walt = user_of("rita"), user_of("walt")
    await walt.for_space("cellar").remember(WINE)
    assert (await rita.for_space("cellar").recall("wine cellar"))[0].text == WINE
    with pytest.raises(ForbiddenError, match="only read"):
        await rita.for_space("cellar").remember("Rita was here.")
    for user in (rita, walt):
        for change in (
            partial(user.set_space_member, "cellar", "sam"),
            partial(user.update_space, "cellar", title="Mine"),
            partial(user.erase_space, "cellar"),
            partial(user.remove_space_member, "cellar", "fred"),
        ):
            with pytest.raises(ForbiddenError, match="curator"):
                await change()
    assert (await memory.set_space_member("cellar", "rita", "writer")).role == "writer"
    await rita.for_space("cellar").remember("Rita was here.")


async def test_the_last_curator_stays(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    await user_of("fred").remove_space_member("cellar", "fred")
    with pytest.raises(ConflictError, match="last curator"):
        await memory.remove_space_member("cellar", "alice")
    with pytest.raises(ConflictError, match="last curator"):
        await memory.set_space_member("cellar", "alice", "reader")
    assert (await memory.get_space("cellar")).role == "curator"
    del cellar


@pytest.mark.sync_client
async def test_what_is_stored_in_a_space_is_found_by_members(memory: Memory) -> None:
    await memory.create_space("cellar")
    await memory.remember(WINE, space="cellar")
    await memory.store_exchange([{"role": "user", "content": "The port is old."}], session_id="talk", space="cellar")
    await memory.remember("Alice likes wine with cheese.")
    assert {hit.text for hit in (await memory.recall("wine")).hits} >= {WINE, "Alice likes wine with cheese."}
    assert [hit.text for hit in (await memory.recall("wine", spaces=[])).hits] == ["Alice likes wine with cheese."]
    assert WINE in (await memory.context("Where does the wine lie?", spaces=["cellar"])).prompt
    assert WINE not in (await memory.context("Where does the wine lie?", spaces=[])).prompt
    with pytest.raises(NotFoundError, match="elsewhere"):
        await memory.recall("wine", spaces=["elsewhere"])


async def test_every_noun_works_in_a_space(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    """Walt reads the rows that Alice stores; outside the space they are not among her own."""
    stored = await cellar.remember(WINE, namespace="rows", key="wine")
    await cellar.store_exchange([{"role": "user", "content": "The port lies below."}], session_id="talk")
    await cellar.create_plan(plan_id="plan", goal_event="sort")
    await cellar.store("step", 1, "plan")
    await cellar.put_item(("rows",), "one", {"text": "port"})
    document = await cellar.add_document("The key of the cellar hangs by the door.", source="keys")
    row = await cellar.add_entity("Row three", entity_type="place")
    walt = user_of("walt").for_space("cellar")
    assert (await walt.get(stored.memory_id)).content == WINE
    assert (await walt.session_notes("talk")) is not None
    assert (await walt.get_plan("plan")).goal_event == "sort"
    assert await walt.retrieve("step", "plan") == 1
    item = await walt.get_item(("rows",), "one")
    assert item is not None
    assert item.value == {"text": "port"}
    assert (await walt.get_document(document.document.document_id)).source == "keys"
    assert (await walt.get_entity(row.entity_id)).name == "Row three"
    assert WINE in (await walt.context("Where does the wine lie?")).prompt
    assert (await memory.list_plans()).items == []
    assert await memory.get_item(("rows",), "one") is None
    assert await memory.session_notes("talk") is None
    await walt.forget(stored.memory_id)
    assert WINE not in [hit.text for hit in (await cellar.recall("wine third row")).hits]


async def test_a_former_member_sees_nothing(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    await cellar.remember(WINE)
    fred = user_of("fred")
    assert [hit.text for hit in (await fred.recall("wine cellar")).hits] == [WINE]
    await fred.remove_space_member("cellar", "fred")
    assert (await fred.recall("wine cellar")).hits == []
    assert WINE not in (await fred.context("Where does the wine lie?")).prompt
    assert await fred.list_spaces() == []
    assert (await fred.list()).items == []
    assert await fred.events() == []
    inside = fred.for_space("cellar")
    for call in (
        partial(inside.recall, "wine"),
        partial(inside.add_document, "Fred was here.", source="fred"),
        partial(inside.remember, "Fred was here."),
        partial(anext, inside.subscribe()),
        partial(fred.remember, "Fred was here.", space="cellar"),
        partial(fred.recall, "wine", spaces=["cellar"]),
        partial(fred.get_space, "cellar"),
        partial(fred.remove_space_member, "cellar", "fred"),
    ):
        with pytest.raises(NotFoundError, match="no space 'cellar' that you are a member of"):
            await call()


@pytest.mark.parametrize("inside", [False, True])
async def test_a_running_subscription_ends_with_the_membership(
    memory: Memory, cellar: Memory, user_of: UserOf, inside: bool
) -> None:
    """A stream that began before shows what was written before, and nothing that is written after."""
    fred = user_of("fred").for_space("cellar") if inside else user_of("fred")
    await cellar.remember(WINE)
    seen: list[str] = []
    arrived = asyncio.Event()
    task = asyncio.create_task(_collect(fred, seen, arrived, WINE))
    async with asyncio.timeout(30):
        await arrived.wait()
        await memory.remove_space_member("cellar", "fred")
        await cellar.remember("The port lies in the first row.")
        last = asyncio.Event()
        await _collect(memory, [], last, "The port lies in the first row.")
        if not inside:
            arrived.clear()
            await fred.remember(WINE)
            await arrived.wait()
    task.cancel()
    with suppress(asyncio.CancelledError, NotFoundError):  # A stream that begins anew is refused.
        await task
    assert "The port lies in the first row." not in seen


async def _collect(of: Memory, seen: list[str], arrived: asyncio.Event, wanted: str) -> None:
    """Read a subscription, to the end of the task or of a text other than WINE."""
    async for event in of.subscribe(after=0):
        row: Any = event.data.get("memory") or {}
        seen.append(str(row.get("content")))
        if seen[-1] == wanted:
            arrived.set()
            if wanted != WINE:
                return


async def test_arrays_in_memory_answer_members_only(
    keeps: Keeps, memory: Memory, cellar: Memory, user_of: UserOf
) -> None:
    await cellar.remember(WINE)
    tenant = (await memory.get_space("cellar")).tenant_id
    fred = user_of("fred")
    indexes = keeps.service(AudienceIndexes)
    async with asyncio.timeout(60):
        while not {"(space) cellar", "fred"} <= {key[2] for key in _held(indexes) if key[1] == tenant}:
            assert (await fred.recall("wine cellar"))[0].text == WINE
            await asyncio.sleep(0)
    await memory.remove_space_member("cellar", "fred")
    assert (await fred.recall("wine cellar")).hits == []
    assert (await memory.recall("wine cellar"))[0].text == WINE


def _held(indexes: AudienceIndexes) -> Any:
    return list(indexes._held)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


async def test_agents_are_members_by_a_bound_credential(keeps: Keeps, memory: Memory, cellar: Memory) -> None:
    await cellar.remember(WINE, kind="episodic")
    await memory.set_space_member("cellar", "cook", "writer", member_type="agent")
    tenant = (await memory.get_space("cellar")).tenant_id
    cook = keeps.memory(Scope(tenant, "zoe", "cook", agent_bound=True))
    assert [hit.text for hit in (await cook.recall("wine cellar")).hits] == [WINE]
    await cook.for_space("cellar").remember("The cook needs a red wine.")
    unbound = keeps.memory(Scope(tenant, "zoe", "cook"))
    assert (await unbound.recall("wine cellar")).hits == []
    with pytest.raises(NotFoundError):
        await unbound.for_space("cellar").list()
    with pytest.raises(ForbiddenError, match="cannot create"):
        await cook.create_space("kitchen")


async def test_spaces_are_managed_from_outside(cellar: Memory) -> None:
    for call in (cellar.list_spaces, partial(cellar.create_space, "other"), partial(cellar.get_space, "cellar")):
        with pytest.raises(ValidationFailedError, match="from outside"):
            await call()


@pytest.mark.parametrize("space_id", ["", "a b", "ä", "-x", "x" * 65, "(shared)", "a/b"])
async def test_ids_of_spaces_have_letters_and_digits(memory: Memory, space_id: str) -> None:
    for call in (partial(memory.create_space, space_id), partial(memory.remember, "x", space=space_id)):
        with pytest.raises(ValidationFailedError):
            await call()


@pytest.mark.parametrize("user_id", ["(space) cellar", "(shared)"])
async def test_nobody_acts_as_an_owner_of_shared_data(
    keeps: Keeps, memory: Memory, cellar: Memory, server_url: str, user_id: str
) -> None:
    """Ids of users come from outside: a user who chose such a name gets nothing by it."""
    await cellar.remember(WINE)
    tenant = (await memory.get_space("cellar")).tenant_id
    with pytest.raises(ForbiddenError, match="nobody can act as it"):
        keeps.memory(Scope(tenant, user_id))
    with pytest.raises(ForbiddenError, match="nobody can act as it"):
        keeps.memory(Scope(tenant, "alice")).for_user(user_id)
    with pytest.raises(ForbiddenError, match="nobody can act as it"):
        async with MemoryClient(server_url, tenant_id=tenant, user_id=user_id) as client:
            await client.list()
    with pytest.raises(ValidationFailedError, match="nobody can act as it"):
        await memory.set_space_member("cellar", user_id)


async def test_a_tenant_is_exported_and_imported_with_its_spaces(keeps: Keeps, memory: Memory, cellar: Memory) -> None:
    await cellar.remember(WINE)
    tenant = (await memory.get_space("cellar")).tenant_id
    lines = await keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"}))).admin.export_lines()
    other = keeps.memory(Scope(f"copy-{tenant}", "alice", roles=frozenset({"admin"})))
    summary = await other.admin.import_lines(lines)
    assert (summary.failed, summary.errors) == (0, [])
    assert [(member.member_id, member.role) for member in (await other.get_space("cellar")).member_list] == [
        ("alice", "curator"),
        ("fred", "curator"),
        ("rita", "reader"),
        ("walt", "writer"),
    ]
    assert [stored.content for stored in (await other.for_space("cellar").list()).items] == [WINE]
    assert (await other.admin.verify_events()).equal


@pytest.mark.sync_client
async def test_a_curator_exports_a_space(memory: Memory) -> None:
    await memory.create_space("cellar")
    await memory.remember(WINE, space="cellar")
    await memory.remember("Alice likes tea.")
    lines = await memory.export_space_lines("cellar")
    assert [line.split('"')[3] for line in lines] == ["memory", "space", "space_member"]
    assert WINE in lines[0]


async def test_only_a_curator_exports_a_space(memory: Memory, cellar: Memory, user_of: UserOf) -> None:
    for user_id, error in (("rita", ForbiddenError), ("walt", ForbiddenError), ("sam", NotFoundError)):
        with pytest.raises(error):
            await user_of(user_id).export_space_lines("cellar")
    with pytest.raises(ValidationFailedError, match="from outside"):
        await cellar.export_space_lines("cellar")
    assert await memory.export_space_lines("cellar")


def test_a_client_names_the_space_in_a_header() -> None:
    client: Any = MemoryClient("http://localhost", user_id="alice").for_space("cellar")
    assert client._transport.headers["X-Space-ID"] == "cellar"  # noqa: SLF001
    assert "X-Space-ID" not in client.for_user("bob")._transport.headers  # noqa: SLF001
