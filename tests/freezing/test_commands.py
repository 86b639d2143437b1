"""The commands, the worker, and what removes old events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.checks import run_checks
from keeps.doors.cli.freezing import days_of
from keeps.memory.jobs.worker import Worker
from keeps.store.events.service import EventService
from keeps_client.errors import ValidationFailedError
from tests.cli.test_cli import Cli, kept_running
from tests.conftest import SECRET_KEY, admin
from tests.freezing.conftest import Cold


def test_commands_freeze_list_and_thaw_a_tenant(made_home: Callable[[str], Path], tmp_path: Path) -> None:
    cli = Cli(made_home("freezing"), KEEPS_SECRET_KEYS=SECRET_KEY, KEEPS_FROZEN_STORE=tmp_path.as_uri())
    with kept_running(cli.home):
        _freeze_by_commands(cli)


def _freeze_by_commands(cli: Cli) -> None:
    cli("remember", "Tea at five.", "--tenant", "acme")
    assert "froze 1 tenant" in cli("tenants", "freeze", "acme").stdout
    assert [(each["tenant_id"], each["state"]) for each in cli.json("tenants", "frozen")] == [("acme", "frozen")]
    assert "acme is back" in cli("tenants", "thaw", "acme").stdout


@pytest.mark.parametrize(("text", "days"), [("180d", 180), ("26w", 182), ("1y", 365)])
def test_periods_are_days_weeks_or_years(text: str, days: int) -> None:
    assert days_of(text) == days


@pytest.mark.parametrize("text", ["", "d", "180", "0d", "-1d", "1.5d", "1m", "200y", "soon"])
def test_other_periods_are_refused(text: str) -> None:
    with pytest.raises(ValidationFailedError, match="180d"):
        days_of(text)


async def test_doctor_names_frozen_tenants_whose_bundle_is_missing(cold: Cold, tenant: str) -> None:
    await cold.keeps.memory(Scope(tenant, "alice")).remember("The harbour is grey.")
    await cold.service.freeze(tenant)
    (path,) = cold.bundles_of(tenant)
    hidden = path.rename(path.with_suffix(".hidden"))
    checks = [check for check in await run_checks(cold.settings) if check.name == "frozen"]
    assert [(check.state, tenant in check.finding) for check in checks] == [("failed", True)]
    hidden.rename(path)
    checks = [check for check in await run_checks(cold.settings) if check.name == "frozen"]
    assert [check.state for check in checks] == ["ok"]
    await cold.service.thaw(tenant)


async def test_worker_freezes_unused_tenants(cold: Cold, tenant: str) -> None:
    await cold.keeps.memory(Scope(tenant, "alice")).remember("The harbour is grey.")
    await cold.service.flush()
    await cold.run("UPDATE keeps.tenants SET used_on = current_date - 100 WHERE tenant_id = $1", tenant)
    async with await open_keeps(replace(cold.settings, freeze_after_days=90), embedder=cold.shared) as keeps:
        worker = keeps.service(Worker)
        worker.start()
        while await cold.service.find(tenant) is None:
            await asyncio.sleep(0.05)
        await worker.close()
    assert await cold.held(tenant) == 0


async def test_events_that_were_retired_meanwhile_are_removed_at_the_thaw(cold: Cold, tenant: str) -> None:
    for name in (tenant, f"{tenant}-other"):
        alice = cold.keeps.memory(Scope(name, "alice"))
        receipt = await alice.remember("The harbour is grey.")
        await alice.update(receipt.memory_id, importance=0.9)
    async with admin(cold.server, cold.database) as connection:
        await connection.execute("SET app.log_change = 'retire'")
        await connection.execute("UPDATE keeps.events SET recorded_at = '2026-01-15Z', time = '2026-01-15Z'")
    await cold.service.freeze(tenant)
    await cold.keeps.service(EventService).retire(100)
    await cold.service.thaw(tenant)
    rows = await cold.run(
        "SELECT type FROM keeps.events WHERE tenant_id = $1 AND recorded_at < now() - interval '40 days'", tenant
    )
    assert [row["type"] for row in rows] == ["memory.written"], "the newest event of the memory is needed"


@pytest.mark.parametrize("value", ["folder", "file://host/folder", "file:///", "https://host/bucket", "s3://"])
def test_other_addresses_of_a_store_are_refused(value: str) -> None:
    with pytest.raises(ValidationFailedError, match="KEEPS_FROZEN_STORE"):
        load_settings({}, given={"KEEPS_FROZEN_STORE": value})


def test_freezing_by_the_worker_needs_a_store_and_keys() -> None:
    with pytest.raises(ValidationFailedError, match="KEEPS_FREEZE_AFTER_DAYS needs"):
        load_settings({}, given={"KEEPS_FREEZE_AFTER_DAYS": "90"})
