"""Unique indexes are a way to learn of rows that nobody may see: whoever writes the same value is refused.

Each index has the owner among its columns, or an id that nobody can guess, or a reason here.
"""

from __future__ import annotations

from typing import Any

import asyncpg

from keeps.store.schema.migrate import migrate
from tests.conftest import admin

OWNERS = {"user_id", "audience"}
RANDOM_IDS = {
    "audit_id",
    "document_id",
    "entity_id",
    "event_id",
    "key_id",
    "memory_id",
    "operation_id",
    "relation_id",
    "request_id",
    "row_id",
    "webhook_id",
}
"""UUIDs that Keeps makes, and `row_id`, which it counts."""
BY_NAME = {
    "api_keys_hash_unique": "the hash of a random secret",
    "budget_alerts_pkey": "written by the server, read by all users of the tenant",
    "databases_name_unique": "all users of the tenant see its databases",
    "databases_pkey": "ids that Keeps makes",
    "events_pkey": "numbers that the server counts",
    "llm_usage_pkey": "written by the server, read by all users of the tenant",
    "model_usage_pkey": "written by the server, read by all users of the tenant",
    "providers_pkey": "all users of the tenant see its providers",
    "space_members_pkey": "only curators of the space write it",
    "spaces_pkey": "the id is the address of the space; docs/spaces.md says that strangers learn that it is taken",
    "storage_samples_pkey": "written by the server, read by all users of the tenant",
    "tenant_jobs_pkey": "written by the server, read by all users of the tenant",
    "tenants_pkey": "only operators create tenants by name",
    "vector_counts_pkey": "written by triggers; keeps_app sees no row",
    "working_memory_pkey": "the tenant shares it; in a space plan_id begins with the owner, by a constraint",
}


async def test_unique_indexes_reveal_no_hidden_rows(raw: asyncpg.Connection) -> None:
    found = await raw.fetch(
        "SELECT indexes.relname::text AS name, ARRAY(SELECT pg_get_indexdef(indexrelid, place, true) FROM"
        " generate_series(1, indnkeyatts) AS place) AS columns FROM pg_index JOIN pg_class AS indexes ON indexes.oid ="
        " indexrelid WHERE indisunique AND indexes.relnamespace = 'keeps'::regnamespace AND NOT"
        " indexes.relispartition AND indexes.relname <> 'alembic_version_pkc'"
    )
    by_name = {row["name"] for row in found if not {*row["columns"]} & (OWNERS | RANDOM_IDS)}
    assert by_name == BY_NAME.keys(), "make it unique by owner, or write here why it reveals nothing"


async def test_working_memory_of_spaces_moves_apart(server: Any, fresh_database: Any) -> None:
    name = await fresh_database()
    async with admin(server, name) as connection:
        await connection.execute(
            "ALTER TABLE keeps.working_memory DROP CONSTRAINT working_memory_plan_of_owner;"
            " INSERT INTO keeps.tenants (tenant_id) VALUES ('acme');"
            " INSERT INTO keeps.users (tenant_id, user_id) VALUES ('acme', 'alice'), ('acme', '(space) cellar')"
        )
        for owner in ("alice", "(space) cellar"):
            await connection.execute(
                "INSERT INTO keeps.working_memory (tenant_id, plan_id, key, user_id, value, version, created_at,"
                " updated_at) VALUES ('acme', 'launch', $1, $1, '1', 1, now(), now())",
                owner,
            )
        await connection.execute("UPDATE keeps.alembic_version SET version_num = '0030'")
        await migrate(server.url("keeps_owner", name))
        found = await connection.fetch("SELECT user_id, plan_id FROM keeps.working_memory WHERE tenant_id = 'acme'")
    assert {row["user_id"]: row["plan_id"] for row in found} == {
        "alice": "launch",
        "(space) cellar": "(space) cellar\x1flaunch",
    }
