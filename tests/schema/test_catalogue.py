"""Checks of pg_catalog for every table; a new table that forgets something fails here, with the fix."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import asyncpg
import pytest

import keeps
from keeps.memory.memories.types import MEMORY
from keeps.memory.requests.activity import RequestSample
from keeps.state.items.store import ItemRow
from keeps.state.transcripts.store import TranscriptRow
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.db.statements import Statements
from keeps.store.events.store import ChainHead, Reach
from keeps_client import models
from keeps_client.models import insights
from tests.conftest import admin

STATEMENTS = {
    held.package: held
    for module in walk_packages(keeps.__path__, "keeps.")
    if not any(part in module.name for part in ("migrations", "__main__", "keeps.integrations."))
    for held in vars(import_module(module.name)).values()
    if isinstance(held, Statements)
}
"""Every file of statements that a module of ours reads."""
TABLES = [
    "api_keys",
    "audience_words",
    "budget_alerts",
    "databases",
    "document_passages",
    "documents",
    "entities",
    "entity_names",
    "events",
    "idempotency_keys",
    "item_pending",
    "item_refreshes",
    "item_vectors",
    "items",
    "llm_usage",
    "memories",
    "memory_access",
    "memory_pending",
    "memory_readings",
    "memory_vectors",
    "memory_words",
    "mentions",
    "model_usage",
    "operation_changes",
    "operations",
    "plan_correlations",
    "plans",
    "postings",
    "providers",
    "query_audit",
    "relations",
    "requests",
    "session_notes",
    "sessions",
    "space_members",
    "spaces",
    "storage_samples",
    "task_contexts",
    "task_subtasks",
    "tenant_jobs",
    "tenants",
    "transcript_entries",
    "transcript_values",
    "transcripts",
    "users",
    "vector_bits",
    "vector_counts",
    "webhook_failures",
    "webhooks",
    "working_memory",
]


async def tables_of(connection: asyncpg.Connection) -> list[asyncpg.Record]:
    return await connection.fetch(
        "SELECT oid, relname::text AS name, relrowsecurity, relforcerowsecurity, relispartition FROM pg_class WHERE"
        " relnamespace = 'keeps'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'alembic_version' ORDER BY"
        " relname"
    )


async def unforced(connection: asyncpg.Connection) -> list[str]:
    return [
        each["name"]
        for each in await tables_of(connection)
        if not (each["relrowsecurity"] and each["relforcerowsecurity"])
    ]


async def test_every_table_is_known_and_forces_row_security(raw: asyncpg.Connection) -> None:
    assert [each["name"] for each in await tables_of(raw) if not each["relispartition"]] == TABLES, (
        "a new table needs a row here and in policy/test_isolation.py"
    )
    assert await unforced(raw) == [], "schema/policies.sql forces it on every table"


async def test_a_table_that_is_not_forced_is_found(server: Any, fresh_database: Any) -> None:
    name = await fresh_database()
    connection = await asyncpg.connect(server.url("postgres", name))
    await connection.execute(
        "ALTER TABLE keeps.events NO FORCE ROW LEVEL SECURITY; CREATE TABLE keeps.careless (tenant_id text)"
    )
    assert await unforced(connection) == ["careless", "events"]
    await connection.close()


async def test_the_policies_are_those_that_were_looked_at(raw: asyncpg.Connection) -> None:
    """Whoever changes a rule changes tests/schema/policies.txt, where a reviewer sees what it means to PostgreSQL."""
    found = await raw.fetch(
        "SELECT tablename::text, policyname::text, permissive, roles::text, cmd, COALESCE(qual, ''),"
        " COALESCE(with_check, '') FROM pg_policies WHERE schemaname = 'keeps' ORDER BY 1, 2"
    )
    told = [" · ".join(" ".join(str(each).split()) for each in row) for row in found]
    assert told == (Path(__file__).parent / "policies.txt").read_text(encoding="utf-8").splitlines()
    assert {row["tablename"] for row in found if "keeps_app" in row["roles"]} == set(TABLES) - {"vector_counts"}
    assert {row["permissive"] for row in found} == {"PERMISSIVE"}, "engines that copy policies have lost the others"


async def test_every_table_has_a_policy_with_a_subquery(raw: asyncpg.Connection) -> None:
    """Citus therefore refuses to distribute any, as `keeps doctor` and ADR 41 say."""
    rows = await raw.fetch(
        "SELECT DISTINCT relname::text AS name FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid"
        " WHERE relnamespace = 'keeps'::regnamespace AND concat(polqual::text, polwithcheck::text) LIKE '%SUBLINK%'"
    )
    assert {row["name"] for row in rows} == set(TABLES)


async def test_every_primary_key_begins_with_the_tenant(raw: asyncpg.Connection) -> None:
    first = await raw.fetch(
        "SELECT conrelid::regclass::text AS name, attname::text AS column FROM pg_constraint JOIN pg_attribute ON"
        " attrelid = conrelid AND attnum = conkey[1] WHERE contype = 'p' AND connamespace = 'keeps'::regnamespace AND"
        " conrelid::regclass::text <> 'keeps.alembic_version'"
    )
    assert {each["name"]: each["column"] for each in first} == {
        f"keeps.{each['name']}": "tenant_id" for each in await tables_of(raw)
    }


async def test_every_foreign_key_is_indexed_and_begins_with_the_tenant(raw: asyncpg.Connection) -> None:
    bad = await raw.fetch(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'f' AND connamespace = 'keeps'::regnamespace AND NOT"
        " EXISTS ( SELECT FROM pg_index WHERE indrelid = conrelid AND (indkey::int2[])[0:LEAST(cardinality(conkey), 2)"
        " - 1] @> conkey[1:2])"
    )
    assert [each["conname"] for each in bad] == [], "add an index on the columns of the foreign key"


async def test_the_directory_of_cells_is_asked_by_functions_only(raw: asyncpg.Connection) -> None:
    found = await raw.fetch(
        "SELECT relname::text AS name, relrowsecurity AND relforcerowsecurity AS walled, (SELECT"
        " array_agg(polroles::regrole[]::text) FROM pg_policy WHERE polrelid = held.oid) AS policies,"
        " has_schema_privilege('keeps_app', relnamespace, 'USAGE') OR has_any_column_privilege('keeps_app', held.oid,"
        " 'SELECT, INSERT, UPDATE') OR has_table_privilege('keeps_app', held.oid, 'DELETE') AS reachable FROM pg_class"
        " AS held WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'keeps_cells') AND relkind = 'r'"
        " ORDER BY 1"
    )
    assert [tuple(row.values()) for row in found] == [
        (name, True, ["{keeps_owner}"], False) for name in ("cells", "frozen", "placements")
    ]


async def test_times_have_a_zone(raw: asyncpg.Connection) -> None:
    naive = await raw.fetch(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'keeps' AND data_type ="
        " 'timestamp without time zone'"
    )
    assert naive == []


async def test_every_definer_function_fixes_its_search_path_and_is_not_public(raw: asyncpg.Connection) -> None:
    functions = await raw.fetch(
        "SELECT proname::text, proconfig::text, COALESCE(proacl::text, 'public') AS acl FROM pg_proc WHERE pronamespace"
        " = 'keeps'::regnamespace AND prosecdef"
    )
    assert {each["proname"] for each in functions} == {
        "add_bits",
        "audience_versions",
        "changed_memories",
        "clear_plan",
        "count_memories",
        "count_rows",
        "count_state",
        "drop_audience",
        "drop_log",
        "drop_postings",
        "elsewhere",
        "erase_tenant",
        "erase_user",
        "event_owners",
        "find_api_key",
        "find_key",
        "find_tenants",
        "find_users",
        "fold_arrived",
        "fold_bits",
        "fold_words",
        "follow_memory",
        "follow_vectors",
        "follow_words",
        "forget_bits",
        "forget_words",
        "forget_undoer",
        "has_placements",
        "compare_counts",
        "correct_counts",
        "count_tenant",
        "count_users",
        "count_vectors",
        "discount_vectors",
        "index_missing",
        "index_waiting",
        "installation_counts",
        "list_cells",
        "list_spaces",
        "list_tenants",
        "log_differences",
        "log_requests",
        "log_cascade",
        "last_sequences",
        "leave_lists",
        "leave_shared_state",
        "item_owners",
        "make_event_partitions",
        "make_space",
        "memory_owners",
        "open_spaces",
        "memory_subjects",
        "place_tenant",
        "reached",
        "redact_events",
        "redact_graph_events",
        "redact_memory_events",
        "redact_own_events",
        "redact_plan_events",
        "redact_rows",
        "replay_counts",
        "replay_differences",
        "request_owners",
        "retire_events",
        "schedule_tenant",
        "job_has_work_at",
        "reschedule_job",
        "wake_jobs",
        "chain_events",
        "log_about_log",
        "record_retention",
        "declare_jobs",
        "take_due_jobs",
        "take_places",
        "take_turn",
        "tenants_elsewhere",
        "transcript_owners",
        "usage_of_all",
        "users_due",
        "users_of_tenant",
        "users_since",
        "users_to_index",
        "users_waiting",
        "users_with_other_models",
        "void_answers",
        "bundle_origin",
        "carried_tables",
        "carry_load",
        "carry_tables",
        "carry_next",
        "carry_open",
        "find_frozen_key",
        "freeze_begin",
        "freeze_end",
        "freeze_lock",
        "frozen_erase",
        "frozen_forget",
        "frozen_reseal",
        "frozen_tenant",
        "list_frozen",
        "note_use",
        "retirement_due",
        "thaw_end",
        "thaw_loaded",
        "thaw_lock",
        "unused_tenants",
        "webhooks_behind",
        "webhooks_due",
    }
    for each in functions:
        assert "search_path" in (each["proconfig"] or ""), each["proname"]
        assert not re.search(r"[{,]=", each["acl"]), f"{each['proname']} can be executed by PUBLIC"
        assert each["acl"] != "public", each["proname"]


async def test_a_query_with_parameters_is_plpgsql(raw: asyncpg.Connection) -> None:
    """Its plan is kept, and other engines take it. What is left in SQL are expressions, which are put where they are
    called."""
    found = await raw.fetch(
        "SELECT proname FROM pg_proc JOIN pg_language ON pg_language.oid = prolang"
        " WHERE lanname = 'sql' AND pronargs > 0 AND prokind = 'f'"
        " AND pronamespace IN ('keeps'::regnamespace, 'keeps_cells'::regnamespace)"
        r" AND pg_get_functiondef(pg_proc.oid) ~* '\m(from|insert|update|delete)\s+[a-z_.]+\s'"
    )
    assert [each["proname"] for each in found] == []


@pytest.mark.parametrize("package", sorted(STATEMENTS))
async def test_every_statement_can_be_prepared(raw: asyncpg.Connection, server: EmbeddedPostgres, package: str) -> None:
    """By the role that runs it. And where it says which type its rows are read into, it has that type's fields, all of
    them and no others."""
    if package == "keeps.operate.cells":
        async with admin(server, "keeps_test") as administrator:
            for statement in STATEMENTS[package].all():
                await administrator.prepare(statement.text)
        return
    for statement in STATEMENTS[package].all():
        prepared = await raw.prepare(statement.text)
        columns = {each.name for each in prepared.get_attributes()}
        if statement.reads is not None:
            name, elsewhere, more = statement.reads
            assert columns - more == fields_of(name) - elsewhere, f"{statement.name} does not read a {name}"


def fields_of(name: str) -> set[str]:
    kind: Any = (
        {
            "Reach": Reach,
            "ChainHead": ChainHead,
            "TranscriptRow": TranscriptRow,
            "ItemRow": ItemRow,
            "RequestSample": RequestSample,
        }.get(name)
        or getattr(models, name, None)
        or getattr(insights, name)
    )
    return set(kind.model_fields) if hasattr(kind, "model_fields") else {field.name for field in fields(kind)}


def test_every_file_of_statements_is_read() -> None:
    source = Path(str(files("keeps")))
    there = {f"keeps.{'.'.join(path.parent.relative_to(source).parts)}" for path in source.rglob("queries.sql")}
    assert there == set(STATEMENTS)


async def test_the_columns_of_a_memory_are_those_of_its_table(raw: asyncpg.Connection) -> None:
    found = await raw.fetch(
        "SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid ="
        " 'keeps.memories'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
    )
    said = {each["name"]: each["type"].replace("timestamp with time zone", "timestamptz") for each in found}
    assert said == dict(MEMORY.types)


async def test_migrating_again_changes_nothing(server: Any) -> None:
    from keeps.store.schema.migrate import migrate

    await migrate(server.url("keeps_owner"))
