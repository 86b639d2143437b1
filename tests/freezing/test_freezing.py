"""Freezing and thawing: rows come back as they were, whatever interrupts it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.operate.freezing import freezing, thawing
from keeps.operate.freezing.service import FreezeService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.errors import ConflictError, NotFoundError, UnavailableError
from tests.conftest import opened_on
from tests.freezing.conftest import Cold, settings_of
from tests.policy.test_isolation import planted as planted  # A tenant with rows in every table.


class Interrupted(BaseException):
    """Ends a freeze or a thaw where a kill would."""


def interrupting(step: str) -> Any:
    def told(reached: str) -> None:
        if reached == step:
            raise Interrupted

    return told


async def filled(cold: Cold, tenant: str) -> None:
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    first = await alice.remember("The harbour is grey in November.", key="harbour")
    await alice.remember("The harbour is blue in June.", key="harbour")
    await alice.remember("The office closes at six.", visibility="tenant")
    await alice.create_plan(plan_id="plan", goal_event="goal", session_id="session")
    await alice.store("nothing", None, "plan")
    await alice.add_mention(first.memory_id, (await alice.add_entity("Leeds", entity_type="city")).entity_id)
    await cold.keeps.memory(Scope(tenant, "bob")).remember("Bob sings in the cellar.")


async def test_all_rows_of_every_table_come_back(
    keeps: Keeps, planted: dict[str, str], app_url: str, server: EmbeddedPostgres, shared: Any, tmp_path: Path
) -> None:
    """The rows are equal as text, with the log, the chain, vectors and keys, before anything overdue is removed."""
    from keeps.bootstrap import open_keeps

    tenant = planted["tenant"]
    settings = settings_of(app_url, tmp_path)
    async with await open_keeps(settings, embedder=shared) as other:
        cold = Cold(other, settings, tmp_path, server, "keeps_test", shared)
        before = await cold.rows(tenant)
        assert [name for name, rows in before.items() if not rows] == []
        done = await cold.service.freeze(tenant)
        assert done.rows == sum(map(len, before.values()))
        assert await cold.held(tenant) == 0
        with pytest.raises(Interrupted):
            await cold.service.thaw(tenant, interrupting("loaded"))
        assert await cold.rows(tenant) == before
        await cold.service.thaw(tenant)
        assert cold.bundles == []
        assert (await other.memory(Scope(tenant, "alice")).verify_events()).intact


@pytest.mark.parametrize("step", freezing.STEPS)
async def test_an_interrupted_freeze_loses_and_doubles_nothing(cold: Cold, tenant: str, step: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    with pytest.raises(Interrupted):
        await cold.service.freeze(tenant, told=interrupting(step))
    if step == "frozen":  # The commit decides.
        assert await cold.held(tenant) == 0
        with pytest.raises(ConflictError, match="frozen already"):
            await cold.service.freeze(tenant)
    else:
        assert await cold.rows(tenant) == before
        assert await cold.service.find(tenant) is None
        await cold.service.freeze(tenant)
    assert len([each for each in cold.bundles if _is_of(each, tenant)]) == 1
    assert len(await cold.keeps.memory(Scope(tenant, "alice")).recall("harbour")) > 0
    assert await cold.rows(tenant) | _changed(await cold.rows(tenant)) == before | _changed(await cold.rows(tenant))
    assert [each for each in cold.bundles if _is_of(each, tenant)] == []


@pytest.mark.parametrize("step", thawing.STEPS)
async def test_an_interrupted_thaw_loses_and_doubles_nothing(cold: Cold, tenant: str, step: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    await cold.service.freeze(tenant)
    with pytest.raises(Interrupted):
        await cold.service.thaw(tenant, interrupting(step))
    assert await cold.held(tenant) in (0, sum(map(len, before.values())))
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    assert "The harbour is blue in June." in [hit.memory.content for hit in await alice.recall("harbour")]
    after = await cold.rows(tenant)
    assert after | _changed(after) == before | _changed(after)
    await cold.service.clear(tenant)
    assert [each for each in cold.bundles if _is_of(each, tenant)] == []
    assert [each for each in await cold.service.all() if each.tenant_id == tenant] == []
    assert (await alice.verify_events()).intact


async def test_two_engines_thaw_a_tenant_once(cold: Cold, tenant: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    await cold.service.freeze(tenant)
    async with cold.another() as other:
        found = await asyncio.gather(
            *(
                keeps.memory(Scope(tenant, "alice")).recall("When does the office close?")
                for keeps in (cold.keeps, other)
                for _ in range(10)
            )
        )
    assert all(hits for hits in found)
    after = await cold.rows(tenant)
    assert after | _changed(after) == before | _changed(after)


async def test_a_write_thaws_and_is_stored(cold: Cold, tenant: str) -> None:
    await filled(cold, tenant)
    await cold.service.freeze(tenant)
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    await alice.remember("The ferry leaves at nine.")
    contents = [memory.content for memory in (await alice.list()).items]
    assert {"The ferry leaves at nine.", "The harbour is blue in June."} <= set(contents)


async def test_an_unknown_tenant_cannot_be_frozen_or_thawed(cold: Cold, tenant: str) -> None:
    with pytest.raises(NotFoundError):
        await cold.service.freeze(tenant)
    with pytest.raises(NotFoundError, match="not frozen"):
        await cold.service.thaw(tenant)


def _changed(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the tables that a call or a job may change right after a thaw."""
    return {name: rows[name] for name in ("tenants", "tenant_jobs", "memory_access", "operations", "requests")}


def _is_of(path: Path, tenant: str) -> bool:
    import hashlib

    return path.name.startswith(hashlib.sha256(tenant.encode()).hexdigest())
