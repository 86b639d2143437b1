"""An operator makes the first key of a tenant over HTTP; nobody else reaches another tenant that way."""

from __future__ import annotations

from uuid import uuid4

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, NotFoundError
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
