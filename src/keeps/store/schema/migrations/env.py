"""Alembic's entry point: runs the revisions, functions.sql and policies.sql in one transaction, through asyncpg."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.util import await_only

from keeps.store.schema.files import run_sql_file
from keeps.store.schema.words import index_words

WORDS_REVISION = "0011"
"""The last revision that changed the storage of a memory's words."""


def _migrate(connection: Connection) -> None:
    context.configure(connection=connection, version_table_schema="keeps")
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('keeps.migrate'))"))
        # Waiting for a table blocks everyone who needs it afterwards, so the wait is short.
        connection.execute(text(f"SET LOCAL lock_timeout = '{float(context.config.attributes['lock_seconds'])}s'"))
        before = context.get_context().get_current_revision()
        context.run_migrations()
        if context.config.attributes["whole"]:
            run_sql_file(connection, "functions.sql")
            if before is not None and before < WORDS_REVISION:
                await_only(index_words(cast("Any", connection.connection.driver_connection)))
            run_sql_file(connection, "policies.sql")


async def _run() -> None:
    engine = create_async_engine(context.config.attributes["url"], poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_migrate)
    finally:
        await engine.dispose()


asyncio.run(_run())
