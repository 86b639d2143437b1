"""Reads on a streaming standby: never older than what was written, whatever the standby does."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import psutil
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.checks import _standbys  # pyright: ignore[reportPrivateUsage]
from keeps.engine import Keeps, LocalMemory
from keeps.memory.transfer.erasure import TenantService
from keeps.store.db import cell
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.embedded import server as servers
from keeps.store.db.statements import Statement
from keeps_client.errors import UnavailableError, ValidationFailedError

WHERE = Statement("where", "SELECT pg_is_in_recovery() AS standby")


@dataclass
class Pair:
    """A primary with a standby, and a Keeps that reads of both."""

    keeps: Keeps
    primary: EmbeddedPostgres
    standby: psutil.Process
    standby_url: str

    def memory(self, user: str = "alice") -> LocalMemory:
        return self.keeps.memory(Scope("acme", user))

    async def on_standby(self) -> bool:
        async with self.keeps.database.reading(Scope("acme", "alice")) as tx:
            row = await tx.fetch_row(WHERE)
        return bool(row and row["standby"])

    async def say(self, statement: str) -> None:
        connection = await asyncpg.connect(self.standby_url)
        await connection.execute(statement)
        await connection.close()


@pytest.fixture
async def pair(made_home: Callable[[str], Path], shared: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(cell, "AWAY_SECONDS", 0.2)
    home = made_home("primary")
    async with await EmbeddedPostgres.open(home) as primary:
        folder = primary.folder
        data, socket = folder.data.parent / "standby", folder.data.parent / "standby-socket"
        made = folder.user.run(
            *(
                str(folder.binaries / "bin" / "pg_basebackup"),
                "--dbname",
                primary.url("postgres"),
                "--pgdata",
                str(data),
            ),
            *("--write-recovery-conf", "--checkpoint=fast"),
        )
        assert made.returncode == 0, made.stderr
        folder.user.run("mkdir", "-m", "700", str(socket))
        process = servers.start(
            replace(folder, data=data, log=folder.data.parent / "standby.log"), socket, 60, {"wal_level": "logical"}
        )

        def url(role: str) -> str:
            return f"postgresql://{role}:{primary.password(role)}@/keeps?host={quote(str(socket), safe='')}"

        async with asyncio.timeout(60):
            while True:
                with suppress(OSError, asyncpg.PostgresError):
                    await (await asyncpg.connect(url("keeps_app"))).close()
                    break
                await asyncio.sleep(0.05)
        settings = load_settings(
            database_url=primary.app_url, given={"KEEPS_READ_DATABASE_URL": url("keeps_app"), "KEEPS_POOL_SIZE": "4"}
        )
        async with await open_keeps(settings, embedder=shared) as keeps:
            yield Pair(keeps, primary, process, url("postgres"))
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGQUIT)
            process.wait(30)


async def test_what_was_written_is_read_and_by_the_standby_where_it_has_it(pair: Pair) -> None:
    alice = pair.memory()
    for number in range(30):
        await alice.remember(f"The ferry number {number} is late.", index="later")
        found = await alice.recall(f"ferry number {number}", limit=50)
        assert any(hit.memory.content.endswith(f"{number} is late.") for hit in found.hits)
        assert len((await alice.list(limit=100)).items) == number + 1
    async with asyncio.timeout(30):
        while not await pair.on_standby():
            await asyncio.sleep(0.02)
    assert len((await alice.recall("ferry", limit=50)).hits) >= 20
    assert (await pair.memory("mallory").recall("ferry")).hits == []
    stranger = pair.keeps.memory(Scope("other", "alice"))
    assert (await stranger.recall("ferry")).hits == []


async def test_doctor_says_who_leads_and_who_lags(pair: Pair) -> None:
    leader, standby = await _standbys(pair.keeps)
    assert (leader.name, leader.state, standby.name, standby.state) == ("leader", "ok", "standby", "ok")
    pair.standby.send_signal(signal.SIGQUIT)
    pair.standby.wait(30)
    _, gone = await _standbys(pair.keeps)
    assert gone.state == "failed"
    assert "reads use the primary" in gone.finding


async def test_a_standby_that_lags_is_left_alone(pair: Pair) -> None:
    alice = pair.memory()
    await alice.remember("Before.", index="now")
    await pair.say("SELECT pg_wal_replay_pause()")
    await alice.remember("After the pause.", index="later")
    assert any(hit.memory.content == "After the pause." for hit in (await alice.recall("pause")).hits)
    assert not await pair.on_standby()
    await pair.say("SELECT pg_wal_replay_resume()")
    async with asyncio.timeout(30):
        while not await pair.on_standby():
            await asyncio.sleep(0.05)


async def test_who_was_erased_is_not_read_from_a_standby_that_lags(pair: Pair) -> None:
    alice = pair.memory()
    await alice.remember("A secret.", index="now")
    await pair.say("SELECT pg_wal_replay_pause()")
    await pair.keeps.service(TenantService).erase_user(alice.scope, "alice")
    assert (await alice.recall("secret")).hits == []
    assert (await alice.list()).items == []
    await pair.say("SELECT pg_wal_replay_resume()")


async def test_a_tenant_that_was_erased_and_comes_again_is_not_read_from_before(pair: Pair) -> None:
    alice = pair.memory()
    for number in range(5):
        await alice.remember(f"A secret {number}.", index="now")
    await pair.say("SELECT pg_wal_replay_pause()")
    await pair.keeps.service(TenantService).erase_tenant(alice.scope)
    await alice.remember("Anew.", index="later")
    assert [each.content for each in (await alice.list()).items] == ["Anew."]
    assert all("secret" not in hit.memory.content for hit in (await alice.recall("secret")).hits)
    await pair.say("SELECT pg_wal_replay_resume()")


async def test_what_was_written_here_is_not_missed_while_the_leader_is_away(pair: Pair) -> None:
    alice = pair.memory()
    await alice.remember("Before.", index="now")
    await alice.list()
    await pair.say("SELECT pg_wal_replay_pause()")
    await alice.remember("The last word.", index="later")
    pid = inspect_home(pair.primary.home).running_pid
    assert pid is not None
    os.kill(pid, signal.SIGQUIT)
    with pytest.raises(UnavailableError):
        await alice.list()


async def test_a_standby_that_dies_is_left_alone(pair: Pair) -> None:
    alice = pair.memory()
    await alice.remember("Still here.", index="now")
    pair.standby.send_signal(signal.SIGQUIT)
    pair.standby.wait(30)
    for _ in range(20):
        with suppress(UnavailableError):  # one that was reading when it died
            assert len((await alice.recall("here")).hits) == 1
    assert len((await alice.recall("here")).hits) == 1


async def test_while_the_primary_is_away_the_standby_answers(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = pair.memory()
    await alice.remember("Still here.", index="now")
    async with asyncio.timeout(30):
        while not await pair.on_standby():
            await asyncio.sleep(0.02)
    pid = inspect_home(pair.primary.home).running_pid
    assert pid is not None
    os.kill(pid, signal.SIGQUIT)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], 30)
    for _ in range(5):
        assert [hit.memory.content for hit in (await alice.recall("here")).hits] == ["Still here."]
        assert len((await alice.list()).items) == 1
    with pytest.raises(UnavailableError):
        await alice.remember("Nobody takes this.")


def test_standbys_go_with_a_database_of_ones_own() -> None:
    with pytest.raises(ValidationFailedError, match="need KEEPS_DATABASE_URL"):
        load_settings({"KEEPS_READ_DATABASE_URL": "postgresql://keeps_app@standby/keeps"})
    with pytest.raises(ValidationFailedError, match="KEEPS_READ_DATABASE_URL is not"):
        load_settings({"KEEPS_READ_DATABASE_URL": "standby:5432"}, database_url="postgresql://keeps_app@h/keeps")
