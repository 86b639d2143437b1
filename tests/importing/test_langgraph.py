"""The table of LangGraph's PostgresStore, in a database of its own, read into Keeps' items."""

from __future__ import annotations

import json

import pytest

from keeps.engine import LocalMemory
from keeps.sources.importing.langgraph import records
from keeps.sources.importing.service import run_import
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.conftest import admin

TABLE = """
CREATE TABLE store (
    prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL, created_at timestamptz DEFAULT now(),
    updated_at timestamptz DEFAULT now(), expires_at timestamptz, ttl_minutes int, PRIMARY KEY (prefix, key)
)
"""


async def _url(server: EmbeddedPostgres, name: str) -> str:
    async with admin(server) as connection:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
        await connection.execute(f'CREATE DATABASE "{name}"')
    return server.url("postgres", name)


async def test_items_keep_namespace_key_and_value(memory: LocalMemory, server: EmbeddedPostgres) -> None:
    url = await _url(server, "langgraph_store")
    rows = [
        (f"memories.{user}", f"k{number:03}", {"text": f"{user} {number}"})
        for user in ("alice", "bob")
        for number in range(600)
    ]
    async with admin(server, "langgraph_store") as connection:
        await connection.execute(TABLE)
        await connection.executemany(
            "INSERT INTO store (prefix, key, value) VALUES ($1, $2, $3)",
            [(prefix, key, json.dumps(value)) for prefix, key, value in rows] + [("memories.alice", "bad", "7")],
        )
        await connection.execute(
            "INSERT INTO store (prefix, key, value, expires_at) VALUES ('memories.alice', 'old', '{}', '2020-01-01')"
        )
    planned = await run_import(memory, records(url, "alice"), dry_run=True)
    assert (planned.read, planned.stored, len(planned.rejected)) == (601, 600, 1)
    summary = await run_import(memory, records(url, "alice"))
    assert (summary.statuses, summary.rejected) == (
        {"created": 600},
        [("store[memories.alice/bad]", "its value is not an object")],
    )
    item = await memory.get_item(["memories", "alice"], "k599")
    assert item is not None
    assert item.value == {"text": "alice 599"}
    assert await memory.get_item(["memories", "bob"], "k000") is None
    assert (await run_import(memory, records(url, "alice"))).known == 600


async def test_database_without_the_table_is_refused(server: EmbeddedPostgres) -> None:
    url = await _url(server, "langgraph_empty")
    with pytest.raises(ValidationFailedError, match="no table `store`"):
        [record async for record in records(url, None)]
    with pytest.raises(UnavailableError) as failure:
        [record async for record in records("postgresql://a:topsecret@127.0.0.1:9/x", None)]
    assert "topsecret" not in failure.value.detail
