"""Keys and tokens with limits over HTTP, at each protocol that the server speaks."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, NotFoundError, UnauthenticatedError, ValidationFailedError
from tests.serving import JWT_SECRET, serving, token

SECRETS = ("murmur", "lease", "oven")


async def planted(keeps: Keeps, tenant: str) -> Any:
    alice = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await alice.remember("The invoice is 400 euros.", namespace="work")
    await alice.remember("The doctor found a heart murmur.", namespace="health")
    await alice.add_document("The lease ends in May.", source="lease")
    await alice.create_space("bakery")
    await alice.remember("The oven needs repair.", space="bakery")
    return alice


async def key(alice: Any, **limits: object) -> str:
    return (await alice.admin.make_key("limited", user_id="alice", limits=limits)).secret


async def test_limits_are_stored_and_listed(keeps: Keeps, tenant: str) -> None:
    alice = await planted(keeps, tenant)
    await key(alice, access="read", namespaces=["work"])
    (listed,) = await alice.admin.list_keys()
    assert listed.limits.model_dump(exclude_none=True) == {"access": "read", "namespaces": ("work",)}
    for role in ("admin", "operator"):
        with pytest.raises((ValidationFailedError, ForbiddenError), match=r"limited key|cannot grant"):
            await alice.admin.make_key("x", roles=[role], limits={"access": "read"})
    for limits in ({"access": "write"}, {"spaces": ["a b"]}, {"kinds": []}, {"namespaces": []}, {"more": 1}):
        with pytest.raises(ValidationFailedError):
            await alice.admin.make_key("x", limits=limits)
    assert (await alice.admin.make_key("x", limits={})).limits is None


@pytest.mark.parametrize(
    "path", ["/mem0/v1/memories/?user_id=alice", "/hindsight/v1/default/banks/alice/memories/list"]
)
async def test_other_protocols_show_nothing_that_a_key_does_not_cover(keeps: Keeps, tenant: str, path: str) -> None:
    alice = await planted(keeps, tenant)
    headers = {"Authorization": f"Bearer {await key(alice, namespaces=['work'])}"}
    async with (
        serving(keeps, auth="keys") as url,
        aiohttp.ClientSession(url, headers=headers) as http,
        http.get(path) as answer,
    ):
        body = await answer.text()
    assert not any(secret in body for secret in SECRETS)


async def test_a_stream_of_events_shows_what_a_key_covers(keeps: Keeps, tenant: str) -> None:
    alice = await planted(keeps, tenant)
    async with (
        serving(keeps, auth="keys") as url,
        MemoryClient(url, token=await key(alice, namespaces=["work"])) as work,
    ):
        await alice.remember("The doctor calls on Monday.", namespace="health")
        await alice.remember("The invoice is paid.", namespace="work")
        seen: list[str] = []
        async for event in work.subscribe(after=0):
            seen.append(str(event.data))
            if "paid" in seen[-1]:
                break
    assert len(seen) == 2
    assert not any(secret in text for secret in (*SECRETS, "doctor") for text in seen)


async def test_a_key_for_a_space_works_there_and_nowhere_else(keeps: Keeps, tenant: str) -> None:
    alice = await planted(keeps, tenant)
    await alice.create_space("garden")
    async with serving(keeps, auth="keys") as url:
        async with MemoryClient(url, token=await key(alice, spaces=["bakery"], access="read")) as one:
            assert [hit.text for hit in await one.recall("What needs repair, and when does the lease end?")] == [
                "The oven needs repair."
            ]
            with pytest.raises(ForbiddenError):
                await one.remember("x")
            with pytest.raises(NotFoundError):
                await one.for_space("garden").recall("anything")
            with pytest.raises(ForbiddenError):
                await one.admin.list_keys()
        async with MemoryClient(url, token=await key(alice, spaces=["bakery", "garden"])) as two:
            with pytest.raises(ForbiddenError, match="X-Space-ID"):
                await two.recall("anything")
            assert (await two.for_space("garden").remember("The hedge is cut.")).status == "created"
        async with MemoryClient(url, token=await key(alice, spaces=["bakery"])) as former:
            await alice.set_space_member("bakery", "bob", "curator")
            await alice.remove_space_member("bakery", "alice")
            with pytest.raises(NotFoundError):
                await former.recall("oven")


async def test_a_token_carries_limits_too(keeps: Keeps, tenant: str) -> None:
    await planted(keeps, tenant)
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET) as url:
        async with MemoryClient(url, token=token(tenant, "alice", "admin", limits={"kinds": ["procedural"]})) as skills:
            assert (await skills.recall("invoice, doctor, lease, oven")).hits == []
            with pytest.raises(ForbiddenError, match="limited"):
                await skills.admin.list_keys()
        async with MemoryClient(url, token=token(tenant, "alice", limits={"kinds": ["all"]})) as wrong:
            with pytest.raises(UnauthenticatedError, match="limits"):
                await wrong.recall("invoice")


async def test_readers_of_a_memory_are_named(keeps: Keeps, tenant: str) -> None:
    alice = await planted(keeps, tenant)
    await key(alice, namespaces=["work"])
    await alice.admin.make_key("adding", limits={"access": "append"})
    await alice.admin.make_key("all")
    await alice.set_space_member("bakery", "bob", "reader")
    await alice.set_space_member("bakery", "baker", "writer", member_type="agent")
    work = (await alice.recall("invoice", namespace="work"))[0].memory_id
    oven = (await alice.recall("oven", spaces=["bakery"]))[0].memory_id
    assert [(each.reader_type, each.reader_id) for each in await alice.list_readers(work)] == [
        ("user", "alice"),
        ("key", "all"),
        ("key", "limited"),
    ]
    assert {(each.reader_type, each.reader_id, each.role) for each in await alice.list_readers(oven)} == {
        ("user", "alice", "curator"),
        ("user", "bob", "reader"),
        ("agent", "baker", "writer"),
        ("key", "all", None),
    }
    bob = keeps.memory(Scope(tenant, "bob"))
    assert {each.reader_type for each in await bob.list_readers(oven)} == {"user", "agent"}
    with pytest.raises(NotFoundError):
        await bob.list_readers(work)


async def test_a_limited_token_administers_no_space(keeps: Keeps, tenant: str) -> None:
    alice = await planted(keeps, tenant)
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET) as url, aiohttp.ClientSession(url) as http:
        for limits, status in ((None, 200), ({"access": "read"}, 404)):
            headers = {"Authorization": f"Bearer {token(tenant, 'root', 'admin', limits=limits)}"}
            async with http.get("/v1/spaces/bakery", headers=headers) as answer:
                assert answer.status == status, await answer.text()
    # An administrator's answer has the role that the administrator has as a member.
    await alice.set_space_member("bakery", "root", "reader")
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    assert (await root.get_space("bakery")).role == "reader"
    assert (await root.update_space("bakery", title="Bread")).role == "reader"
    await alice.remove_space_member("bakery", "root")
    assert (await root.get_space("bakery")).role is None
