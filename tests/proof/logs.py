"""An exported log, and the script that verifies it without Keeps."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.events.service import EventService
from keeps_client.models import Anchor

SCRIPT = Path(__file__).parents[2] / "tools/verify_log.py"


async def export(keeps: Keeps, tenant: str, path: Path, *, contents: bool = True) -> Path:
    """Write the log of a tenant as `keeps events export` does."""
    lines: list[str] = []
    after = 0
    while page := await keeps.service(EventService).links(Scope(tenant), after=after, limit=200, contents=contents):
        lines += [link.model_dump_json() + "\n" for link in page]
        after = page[-1].sequence
    path.write_text("".join(lines), encoding="utf-8")
    return path


async def verify_alone(log: Path, anchors: Sequence[Anchor] = ()) -> tuple[int, str]:
    """Run the script in a Python without packages; return its exit code and what it printed."""
    arguments = [str(log)]
    if anchors:
        written = log.with_suffix(".anchors")
        written.write_text("".join(anchor.model_dump_json() + "\n" for anchor in anchors), encoding="utf-8")
        arguments.append(str(written))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(SCRIPT),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@asynccontextmanager
async def intruder(server: Any, database: str = "keeps_test") -> AsyncIterator[asyncpg.Connection]:
    """The administrator of PostgreSQL, whom the trigger of the log does not stop."""
    connection = await asyncpg.connect(server.url("postgres", database))
    try:
        await connection.execute("SET session_replication_role = replica")
        yield connection
    finally:
        await connection.close()
