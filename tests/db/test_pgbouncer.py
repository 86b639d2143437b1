"""Keeps behind a real PgBouncer."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.doors.cli.checks import run_checks
from keeps.memory.jobs import worker as jobs
from keeps.memory.jobs.worker import Worker
from keeps.store.db.embedded import EmbeddedPostgres
from tests.conftest import until

PGBOUNCER = shutil.which("pgbouncer") or "pgbouncer"
pytestmark = pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="needs pgbouncer")
INI = """
[databases]
{database} = host={socket} dbname={database}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
pidfile = {folder}/pid
server_login_retry = 1
"""


@asynccontextmanager
async def pooled(server: EmbeddedPostgres, database: str, mode: str, size: int) -> AsyncGenerator[str]:
    """The address of a PgBouncer in front of a server, run by the server's user, who may enter its socket's folder."""
    user = server.folder.user
    folder = Path(user.run("mktemp", "-d").stdout.strip())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ini = INI.format(database=database, socket=server.socket, port=port, folder=folder, mode=mode, size=size)
    password = server.password("keeps_app")
    for name, text in (("ini", ini), ("users", f'"keeps_app" "{password}"\n')):
        user.run("/bin/sh", "-c", 'cat >"$1"', "sh", str(folder / name), given=text)
    process = await asyncio.create_subprocess_exec(*user.command(PGBOUNCER, "-q", str(folder / "ini")))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        await until(listens, "PgBouncer listens")
        yield f"postgresql://keeps_app:{password}@127.0.0.1:{port}/{database}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        user.run("rm", "-rf", "--", str(folder))


async def _said(settings: Settings) -> list[str]:
    return [check.finding for check in await run_checks(settings) if check.name == "worker"]


@pytest.mark.parametrize("size", [1, 5])
async def test_doctor_and_log_say_that_a_worker_hears_nothing(
    server: Any, fresh_database: Any, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await fresh_database()
    capture = structlog.testing.LogCapture()
    monkeypatch.setattr(jobs, "log", lambda: structlog.wrap_logger(None, processors=[capture]))
    async with pooled(server, database, "transaction", size) as url:
        settings = Settings(home=tmp_path, database_url=url, embedder="none")
        (finding,) = await _said(settings)
        assert "KEEPS_WORKER_DATABASE_URL" in finding
        async with await open_keeps(settings) as keeps:
            keeps.service(Worker).start()
            await until(lambda: capture.entries, "the worker says it")
            assert capture.entries[0]["error"] == "deaf"
            assert "KEEPS_WORKER_DATABASE_URL" in capture.entries[0]["advice"]


async def test_address_past_the_pooler_is_heard(server: Any, fresh_database: Any, tmp_path: Path) -> None:
    database = await fresh_database()
    direct = server.url("keeps_app", database)
    async with pooled(server, database, "transaction", 5) as url:
        settings = Settings(home=tmp_path, database_url=url, worker_database_url=direct, embedder="none")
        assert await _said(settings) == []
    async with pooled(server, database, "session", 20) as url:
        assert await _said(Settings(home=tmp_path, database_url=url, embedder="none")) == []
