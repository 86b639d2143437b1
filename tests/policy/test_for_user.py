"""Who may act for any user does so with the same rights; nobody else does."""

from __future__ import annotations

import pytest

from keeps.base.scope import Scope
from keeps.doors.server.authorized_memory import AuthorizedMemory
from keeps.engine import Keeps
from keeps_client.errors import ForbiddenError


async def test_a_credential_of_one_user_reaches_no_other(keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "bob")).remember("Bob keeps bees.")
    served = AuthorizedMemory(keeps, Scope(tenant, "alice"), None)
    with pytest.raises(ForbiddenError):
        served.for_user("bob")
    assert (await served.for_user("alice").list()).items == []


async def test_a_credential_of_any_user_keeps_its_roles(keeps: Keeps, tenant: str) -> None:
    reader = Scope(tenant, "alice", roles=frozenset({"reader"}), any_user=True)
    served = AuthorizedMemory(keeps, reader, None).for_user("bob")
    with pytest.raises(ForbiddenError):
        await served.remember("Written without the right to.")
    assert (await served.list()).items == []
