"""Processes that are killed at each step, and many tenants."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from time import monotonic

import pytest

from keeps.base.scope import Scope
from keeps.operate.freezing import freezing, thawing
from keeps_client.models import Memory, Page
from tests.conftest import SECRET_KEY
from tests.freezing.conftest import Cold
from tests.freezing.test_freezing import assert_back, filled

KILLED = Path(__file__).with_name("killed.py")
SOME = {("thaw", "filled")}
"""Steps that every run of the tests tries; those under load try all."""


async def kill_at(cold: Cold, what: str, step: str, tenant: str) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")},
        "KEEPS_DATABASE_URL": str(cold.settings.database_url),
        "KEEPS_SECRET_KEYS": SECRET_KEY,
        "KEEPS_FROZEN_STORE": str(cold.settings.frozen_store),
        "KEEPS_EMBEDDER": "none",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, str(KILLED), what, step, tenant, env=environment)
    assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("what", "step"),
    [
        pytest.param(what, step, marks=() if (what, step) in SOME else pytest.mark.load)
        for what, steps in (("freeze", freezing.STEPS), ("thaw", thawing.STEPS))
        for step in steps
    ],
)
async def test_a_killed_process_loses_and_doubles_nothing(cold: Cold, tenant: str, what: str, step: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    if what == "thaw":
        await cold.service.freeze(tenant)
    await kill_at(cold, what, step, tenant)
    assert await cold.held(tenant) in (0, sum(map(len, before.values())))
    if what == "freeze" and step != "frozen":
        assert await cold.rows(tenant) == before
        await cold.service.freeze(tenant)
    await assert_back(cold, tenant, before)


@pytest.mark.parametrize("tenants", [5, pytest.param(200, marks=pytest.mark.load)])
async def test_many_tenants_are_frozen_and_thawed(cold: Cold, tenant: str, tenants: int) -> None:
    names = [f"{tenant}-{number}" for number in range(tenants)]
    scopes = [Scope(name, "alice") for name in names]
    for scope in scopes:
        await cold.keeps.memory(scope).remember(f"The harbour of {scope.tenant_id} is grey.")
    await cold.service.flush()
    await cold.run("UPDATE keeps.tenants SET used_on = current_date - 200 WHERE starts_with(tenant_id, $1)", tenant)
    began = monotonic()
    frozen = [each async for each in cold.service.freeze_unused(180, tenants)]
    assert len(frozen) == tenants
    print(f"{tenants} tenants frozen in {monotonic() - began:.1f} s")
    (counts,) = await cold.run(
        "SELECT (SELECT count(*) FROM keeps.tenants WHERE starts_with(tenant_id, $1)) AS tenants, (SELECT count(*) FROM"
        " keeps.tenant_jobs WHERE starts_with(tenant_id, $1)) AS jobs, (SELECT count(*) FROM keeps.memories WHERE"
        " starts_with(tenant_id, $1)) AS memories",
        tenant,
    )
    assert tuple(counts) == (0, 0, 0)
    began = monotonic()
    pages: list[Page[Memory]] = []
    for first in range(0, tenants, 50):
        calls = (cold.keeps.memory(scope).list() for scope in scopes[first : first + 50])
        pages += await asyncio.gather(*calls)
    print(f"thawed in {monotonic() - began:.1f} s")
    assert [page.items[0].content for page in pages] == [f"The harbour of {name} is grey." for name in names]
    assert await cold.service.all() == []
