"""An operator onboards and ends a tenant over HTTP; nobody else reaches another tenant that way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, NotFoundError
from tests.cli.test_cli import Cli
from tests.serving import serving


async def key_of(keeps: Keeps, tenant: str, role: str) -> str:
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"operator"})))
    return (await root.admin.make_key("k", roles=[role])).secret  # pyright: ignore[reportArgumentType]


async def test_operators_key_makes_the_first_key_of_a_tenant(keeps: Keeps, tenant: str) -> None:
    new = f"new-{uuid4().hex[:8]}"
    secret = await key_of(keeps, tenant, "operator")
    async with serving(keeps, auth="keys") as url:
        async with MemoryClient(url, token=secret) as operator:
            made = await operator.admin.make_key("first", roles=["admin"], tenant_id=new)
            assert (made.tenant_id, made.user_id, made.roles) == (new, None, ("admin",))
        async with MemoryClient(url, token=made.secret, user_id="alice") as alice:
            await alice.remember("In the new tenant.")
            assert len((await alice.list()).items) == 1
            assert (await alice.admin.make_key("second", tenant_id=new)).tenant_id == new
    assert (await keeps.memory(Scope(tenant, "alice")).list()).items == []


@pytest.mark.parametrize(("role", "error"), [("admin", NotFoundError), ("writer", ForbiddenError)])
async def test_key_of_another_tenant_needs_an_operator(
    keeps: Keeps, tenant: str, role: str, error: type[Exception]
) -> None:
    secret = await key_of(keeps, tenant, role)
    async with serving(keeps, auth="keys") as url, MemoryClient(url, token=secret, user_id="eve") as eve:
        with pytest.raises(error):
            await eve.admin.make_key("theirs", tenant_id=f"other-{uuid4().hex[:8]}")
        if role == "admin":
            with pytest.raises(ForbiddenError, match="operator"):
                await eve.admin.make_key("up", roles=["operator"], tenant_id=tenant)


async def test_administration_needs_no_user(keeps: Keeps, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {await key_of(keeps, tenant, 'admin')}"}
    async with serving(keeps, auth="keys") as url, aiohttp.ClientSession(url, headers=headers) as http:
        async with http.post("/v1/admin/keys", json={"name": "program"}) as answer:
            assert answer.status == 201
        async with http.get("/v1/memories") as answer:
            assert answer.status == 422


async def test_operator_onboards_exports_and_erases_over_http(keeps: Keeps, tenant: str) -> None:
    new, secret = f"new-{uuid4().hex[:8]}", await key_of(keeps, tenant, "operator")
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"operator"})))
    await root.remember("In the operator's own tenant.")
    async with serving(keeps, auth="keys") as url, MemoryClient(url, token=secret) as operator:
        made = await operator.admin.make_key("first", roles=["writer"], tenant_id=new)
        for user in ("alice", "bob", "carol"):
            async with MemoryClient(url, token=made.secret, user_id=user) as member:
                await member.remember(f"{user} likes tea.")
        assert [key.key_id for key in await operator.admin.list_keys(tenant_id=new)] == [made.key_id]
        assert await operator.admin.list_users(new, limit=2) == ["alice", "bob"]
        assert await operator.admin.list_users(new, after="bob") == ["carol"]
        lines = await operator.admin.export_lines(tenant_id=new, user_id="bob")
        assert "bob likes tea." in "".join(lines)
        assert "alice" not in "".join(lines)
        assert len(await operator.admin.export_lines(tenant_id=new)) > len(lines)
        receipt = await operator.admin.erase_user("bob", tenant_id=new)
        assert (receipt.tenant_id, receipt.user_id, receipt.complete) == (new, "bob", True)
        assert await operator.admin.list_users(new) == ["alice", "carol"]
        assert new in {each.tenant_id for each in await operator.admin.list_tenants(after=new[:-1], limit=1_000)}
        assert (await operator.admin.revoke_key(made.key_id, tenant_id=new)).revoked_at
        assert (await operator.admin.erase_tenant(new)).complete
        with pytest.raises(NotFoundError):
            await operator.admin.erase_tenant(new)
        assert await operator.admin.list_users(tenant) == ["root"]
    assert len((await root.list()).items) == 1


@pytest.mark.parametrize(("role", "error"), [("admin", NotFoundError), ("writer", ForbiddenError)])
async def test_tenant_in_the_path_needs_an_operator(
    keeps: Keeps, tenant: str, role: str, error: type[Exception]
) -> None:
    other = f"other-{uuid4().hex[:8]}"
    owner = keeps.memory(Scope(other, "alice", roles=frozenset({"admin"})))
    await owner.remember("Alice's secret is plum.")
    key = await owner.admin.make_key("theirs")
    secret = await key_of(keeps, tenant, role)
    async with serving(keeps, auth="keys") as url, MemoryClient(url, token=secret, user_id="eve") as eve:
        for call in (
            eve.admin.list_keys(tenant_id=other),
            eve.admin.revoke_key(key.key_id, tenant_id=other),
            eve.admin.list_users(other),
            eve.admin.erase_user("alice", tenant_id=other),
            eve.admin.export_lines(tenant_id=other),
            eve.admin.export_lines(tenant_id=other, user_id="alice"),
        ):
            with pytest.raises(error) as raised:
                await call
            assert "plum" not in str(raised.value)
    local = keeps.memory(Scope(tenant, "eve", roles=frozenset({role})))
    with pytest.raises(NotFoundError):
        await local.admin.export_lines(tenant_id=other)
    assert len((await owner.list()).items) == 1
    assert [each.revoked_at for each in await owner.admin.list_keys()] == [None]


async def test_admin_names_their_own_tenant_in_the_path(keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Alice likes tea.")
    secret = await key_of(keeps, tenant, "admin")
    async with serving(keeps, auth="keys") as url, MemoryClient(url, token=secret) as admin:
        assert await admin.admin.list_users(tenant) == ["alice"]
        assert "Alice likes tea." in "".join(await admin.admin.export_lines(tenant_id=tenant))


async def test_commands_reach_another_tenant_at_a_url(keeps: Keeps, tenant: str, tmp_path: Path) -> None:
    other, secret = f"other-{uuid4().hex[:8]}", await key_of(keeps, tenant, "operator")
    for user in ("alice", "bob"):
        await keeps.memory(Scope(other, user)).remember(f"{user} likes tea.")
    async with serving(keeps, auth="keys") as url:
        cli = Cli(tmp_path / "home", KEEPS_URL=url, KEEPS_TOKEN=secret)

        async def run(*arguments: str) -> str:
            return (await asyncio.to_thread(cli, *arguments, "--tenant", other)).stdout

        assert (await run("tenants", "users")).split() == ["alice", "bob"]
        assert "bob likes tea." in await run("export", "-", "--only-user", "bob")
        assert "nothing is left" in await run("tenants", "erase-user", "bob", "--yes")
        assert (await run("tenants", "users")).split() == ["alice"]
        await run("keys", "create", "app")
        assert "app" in await run("keys", "list")
