"""Freezing and thawing: rows come back as they were, whatever interrupts it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.operate.freezing import freezing, thawing
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, NotFoundError
from tests.freezing.conftest import Cold, Rows, settings_of
from tests.policy.test_isolation import planted as planted  # A tenant with rows in every table.

CHANGED_BY_CALLS = ("tenants", "tenant_jobs", "memory_access", "operations", "requests")
"""Tables that a call or a job may change right after a thaw."""


class Interrupted(BaseException):
    """Ends a freeze or a thaw where a kill would."""


def interrupting(step: str) -> Any:
    def told(reached: str) -> None:
        if reached == step:
            raise Interrupted

    return told


async def filled(cold: Cold, tenant: str) -> None:
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    first = await alice.remember("The harbour is grey in November.", namespace="places", key="harbour")
    await alice.remember("The harbour is blue in June.", namespace="places", key="harbour")
    await alice.remember("The office closes at six.", visibility="tenant")
    await alice.create_plan(plan_id="plan", goal_event="goal", session_id="session")
    await alice.store("nothing", None, "plan")
    await alice.add_mention(first.memory_id, (await alice.add_entity("Leeds", entity_type="city")).entity_id)
    await cold.keeps.memory(Scope(tenant, "bob")).remember("Bob sings in the cellar.")
    await cold.service.flush()


async def assert_back(cold: Cold, tenant: str, before: Rows) -> None:
    """The next call finds everything, and no bundle and no entry is left."""
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    assert "The harbour is blue in June." in [hit.memory.content for hit in await alice.recall("harbour")]
    await cold.service.clear(tenant)
    after = await cold.rows(tenant)
    changed = {name: after[name] for name in CHANGED_BY_CALLS}
    assert after | changed == before | changed
    assert cold.bundles_of(tenant) == []
    assert tenant not in [each.tenant_id for each in await cold.service.all()]
    assert (await cold.keeps.service(EventService).verify_chain(alice.scope)).intact


async def test_all_rows_of_every_table_come_back(
    keeps: Keeps, planted: dict[str, str], app_url: str, server: EmbeddedPostgres, shared: Any, tmp_path: Path
) -> None:
    """The rows are equal as text, with the log, the chain, vectors and keys, before anything overdue is removed."""
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
        assert (await other.service(EventService).verify_chain(Scope(tenant, "alice"))).intact


async def test_an_interrupted_freeze_loses_and_doubles_nothing(cold: Cold, tenant: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    for step in freezing.STEPS[:-1]:
        with pytest.raises(Interrupted):
            await cold.service.freeze(tenant, told=interrupting(step))
        assert await cold.rows(tenant) == before, step
        assert await cold.service.find(tenant) is None
    with pytest.raises(Interrupted):  # The commit decides.
        await cold.service.freeze(tenant, told=interrupting("frozen"))
    assert await cold.held(tenant) == 0
    with pytest.raises(ConflictError, match="frozen already"):
        await cold.service.freeze(tenant)
    assert len(cold.bundles_of(tenant)) == 1
    await assert_back(cold, tenant, before)


async def test_an_interrupted_thaw_loses_and_doubles_nothing(cold: Cold, tenant: str) -> None:
    await filled(cold, tenant)
    before = await cold.rows(tenant)
    for step in thawing.STEPS:
        await cold.service.freeze(tenant)
        with pytest.raises(Interrupted):
            await cold.service.thaw(tenant, interrupting(step))
        assert await cold.held(tenant) in (0, sum(map(len, before.values()))), step
        await assert_back(cold, tenant, before)


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
    await assert_back(cold, tenant, before)


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
