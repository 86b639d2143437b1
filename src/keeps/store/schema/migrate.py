"""Migrate a database to the newest schema, and grant the two roles their rights."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import asyncpg

from keeps.base.telemetry.logs import log
from keeps.store.schema.files import has_sql_file, read_sql_file, read_statements
from keeps.store.schema.revisions import HEAD, REVISIONS, WORDS_REVISION
from keeps.store.schema.words import index_words
from keeps_client.errors import UnavailableError

__all__ = ["Step", "migrate", "steps"]

CONNECT_SECONDS, LOCK_SECONDS, PAUSE_SECONDS, ATTEMPTS = 60, 3.0, 2.0, 30


@dataclass(frozen=True, slots=True)
class Step:
    """A revision of the schema, with its description."""

    revision: str
    what: str


async def migrate(owner_url: str, revision: str = HEAD) -> None:
    """Run all pending revisions as keeps_owner. Safe to call at any time, also by several processes at once.

    A table in use is waited for LOCK_SECONDS and tried again later, since waiting for a table blocks all others from
    it.

    Args:
        owner_url: postgresql://keeps_owner:…@host/database, or the URL of an administrator, who acts as keeps_owner
        revision: The last revision to run.

    Raises:
        UnavailableError: The table was in use all the time, or the schema is newer than this Keeps.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await _migrate_once(owner_url, revision)
            return
        except asyncpg.LockNotAvailableError:
            log().warning("a table is in use; the schema change is retried", attempt=attempt)
            await asyncio.sleep(PAUSE_SECONDS)
    raise UnavailableError(
        "the schema could not be changed: a table was always in use. Look for long transactions"
        " (pg_stat_activity), end them, and run keeps migrate again; nothing was changed"
    )


def steps(current: str | None, last: str = HEAD) -> list[Step]:
    """Return the pending steps of a database at this revision, in order; None: an empty database."""
    return [Step(revision, what) for revision, what in REVISIONS.items() if (current or "") < revision <= last]


async def _migrate_once(owner_url: str, last: str) -> None:
    """Run the pending revisions, functions.sql and policies.sql in one transaction."""
    connection = await asyncpg.connect(owner_url, timeout=CONNECT_SECONDS)
    try:
        # Each statement must see what the process that held the lock before committed.
        async with connection.transaction(isolation="read_committed"):
            await _run(connection, last)
    finally:
        await connection.close()


async def _run(connection: asyncpg.Connection, last: str) -> None:
    statements = read_statements("migrate.sql")
    await connection.execute(statements["act_as_owner"])
    await connection.execute(statements["lock"])
    # Waiting for a table blocks everyone who needs it afterwards, so the wait is short.
    await connection.execute(statements["wait_at_most"], f"{LOCK_SECONDS}s")
    current: str | None = None
    if await connection.fetchval(statements["has_version"]):
        current = await connection.fetchval(statements["version"])
    if current is None:
        await connection.execute(statements["make_version"])
    elif current > HEAD:
        raise UnavailableError(
            f"the schema is at revision {current}, which is newer than this Keeps, at {HEAD}; install the release that"
            " it was migrated with"
        )
    for step in steps(current, last):
        if has_sql_file(f"{step.revision}.sql"):
            await connection.execute(read_sql_file(f"{step.revision}.sql"))
    if (current or "") < last:
        await connection.execute(statements["insert_version" if current is None else "update_version"], last)
    if last == HEAD:  # The policies require the newest tables.
        await connection.execute(read_sql_file("functions.sql"))
        if current is not None and current < WORDS_REVISION:
            await index_words(connection)
        await connection.execute(read_sql_file("policies.sql"))
