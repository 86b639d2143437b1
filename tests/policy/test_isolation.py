"""The wall, attacked with raw SQL as keeps_app: what a defect or an injection in the application could send."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from keeps.base.clock import new_id, utc_now
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.doors.cli.checks import run_checks
from keeps.engine import Keeps
from keeps.memory.memories.types import MemoryRow
from keeps.memory.operations.service import Change, record
from keeps.memory.recall.access import AccessBuffer
from keeps.part import Run
from keeps.store.db.pool import open_pool
from keeps.store.db.probe import has_citus, probe
from keeps.store.db.provision import provision
from keeps.store.db.session import Database
from keeps_client.errors import KeepsError, NotFoundError, UnavailableError
from keeps_client.models import NewTranscriptEntry
from tests.schema.test_catalogue import STATEMENTS, TABLES
from tests.writing import in_write

SOURCE = Path(__file__).parents[2] / "src" / "keeps"


@pytest.fixture(scope="module")
async def planted(keeps: Keeps, app_url: str, server: Any) -> dict[str, str]:
    """Alice has a private and a shared memory, both recalled once, so every table holds rows of this tenant."""
    tenant = f"tenant-{uuid4().hex[:12]}"
    alice = keeps.memory(Scope(tenant, "alice"))
    private = await alice.remember("Alice's private diary is under the floorboard.")
    shared = await alice.remember("The office closes at six.", visibility="tenant")
    await alice.recall("Where is the private diary?")
    await alice.recall("When does the office close?")
    await alice.create_plan(plan_id="plan", goal_event="goal", session_id="session")
    await alice.update_plan("plan", correlation_ids=["correlation"])
    await alice.store("key", "Alice's value", "plan")
    await alice.store_task_context("task", event_type="work", sub_tasks=["sub"])
    leeds = await alice.add_entity("Leeds", entity_type="city")
    await alice.add_relation(leeds, await alice.add_entity("England"), "lies_in")
    await alice.add_mention(private.memory_id, leeds.entity_id)
    await alice.read_entities()
    await alice.add_document("The spare key is in the shed.", source="keys", visibility="private")
    await alice.store_exchange([{"role": "user", "content": "The spare key lies under the mat."}], session_id="talk")
    await alice.create_transcript("app", transcript_id="talk", state={"a": 1}, user_state={"b": 2})
    await alice.append_to_transcript(
        "app", "talk", [NewTranscriptEntry(entry_id="1", entry="The key is under the mat")]
    )
    await alice.put_item(("notes",), "key", {"text": "The key is under the mat."}, ttl_minutes=60)
    await alice.get_item(("notes",), "key", refresh_ttl=True)
    await alice.create_space("cellar")
    run = Run(new_id(), tenant, "promotion", utc_now())
    row = MemoryRow.of(await alice.get(private.memory_id))
    await in_write(keeps.database, alice.scope, lambda tx: record(tx, run, [Change(None, row)]))
    raw = await asyncpg.connect(app_url)
    await raw.execute("BEGIN")
    await become(raw, tenant, "alice")
    await raw.execute(
        "INSERT INTO keeps.api_keys (tenant_id, key_id, name, key_hash, hint, roles, created_by, created_at)"
        " VALUES ($1, gen_random_uuid(), 'key', sha256(convert_to($1, 'UTF8')), 'x', '{writer}', 'alice', now())",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.idempotency_keys (tenant_id, user_id, idempotency_key, request_hash, answer) VALUES ($1,"
        " 'alice', 'k', 'h', '{}')",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.webhooks (tenant_id, webhook_id, url, types, secret, active, position, next_attempt_at,"
        " created_by, created_at) VALUES ($1, $2, 'https://example.com', '{*}', 'secret', false, 0, now(), 'alice',"
        " now())",
        tenant,
        private.memory_id,
    )
    await raw.execute(
        "INSERT INTO keeps.webhook_failures (tenant_id, webhook_id, sequence, attempts, error, failed_at) VALUES ($1,"
        " $2, 1, 1, 'HTTP 500', now())",
        tenant,
        private.memory_id,
    )
    await raw.execute(
        "INSERT INTO keeps.storage_samples (tenant_id, day, memories, bytes, events) VALUES ($1, now(), 1, 1, 1)",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.databases (tenant_id, database_id, name, dialect, location, credential, key_id, purpose,"
        " asked_by, allowed, samples, tables, warnings, described_at, created_by, created_at, updated_at, version)"
        " VALUES ($1, gen_random_uuid(), 'shop', 'sqlite', '/shop.db', '\\x00', 'k', 'p', 'reader', '{}', '{}', '[]',"
        " '{}', now(), 'alice', now(), now(), 1)",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.query_audit (tenant_id, audit_id, user_id, database_name, outcome, tables, row_count,"
        " took_ms, asked_at) VALUES ($1, gen_random_uuid(), 'alice', 'shop', 'allowed', '{}', 0, 0, now())",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.requests (tenant_id, request_id, user_id, kind, door, query, arguments, asked_at, took_ms,"
        " hits, left_out, found_nothing, answer, omitted) VALUES ($1, gen_random_uuid(), 'alice', 'recall', 'http',"
        " 'Where is it?', '{}', now(), 1, 0, 0, true, '[]', '[]')",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.llm_usage (tenant_id, day, job, tokens) VALUES ($1, now(), 'graph', 1)", tenant
    )
    await raw.execute(
        "INSERT INTO keeps.model_usage (tenant_id, day, job, model, kind, calls, failed, prompt_tokens,"
        " completion_tokens, seconds) VALUES ($1, now(), 'graph', 'm', 'llm', 1, 0, 1, 0, 0.1)",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.budget_alerts (tenant_id, budget, starts_on, level) VALUES ($1, 'tenant/day tokens', now(),"
        " 'warned')",
        tenant,
    )
    await raw.execute(
        "INSERT INTO keeps.memory_pending (tenant_id, memory_id, user_id) VALUES ($1, $2, 'alice') ON CONFLICT DO"
        " NOTHING",
        tenant,
        private.memory_id,
    )
    await raw.execute("INSERT INTO keeps.item_pending SELECT tenant_id, row_id, user_id FROM keeps.items")
    await raw.execute(
        "INSERT INTO keeps.providers (tenant_id, provider_id, tier, capabilities, registered_at) VALUES ($1, 'notes',"
        " 'persistent', '{}', now())",
        tenant,
    )
    await raw.execute("COMMIT")
    await raw.close()
    superuser = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await superuser.execute(
        "INSERT INTO keeps.postings SELECT $1, audience, 'current', 'diary', agent, 0, '\\x00' FROM (VALUES ('alice',"
        " 'helper'), ('', '')) AS held(audience, agent)",
        tenant,
    )
    await superuser.close()
    await keeps.service(AccessBuffer).flush()
    return {"tenant": tenant, "private": str(private.memory_id), "shared": str(shared.memory_id)}


async def count(connection: asyncpg.Connection, table: str) -> int | None:
    return await connection.fetchval(f"SELECT count(*) FROM keeps.{table}")


async def become(connection: asyncpg.Connection, tenant: str, user: str) -> None:
    await connection.execute(
        "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)", tenant, user
    )


@pytest.mark.parametrize("table", TABLES)
async def test_without_a_tenant_no_row_is_seen(raw: asyncpg.Connection, planted: dict[str, str], table: str) -> None:
    assert await count(raw, table) == 0


@pytest.mark.parametrize("table", TABLES)
async def test_empty_settings_see_no_row(raw: asyncpg.Connection, planted: dict[str, str], table: str) -> None:
    async with raw.transaction():
        await become(raw, "", "")
        assert await count(raw, table) == 0


@pytest.mark.parametrize("table", TABLES)
async def test_another_tenant_sees_no_row(
    raw: asyncpg.Connection, planted: dict[str, str], table: str, server: Any
) -> None:
    superuser = await asyncpg.connect(server.url("postgres", "keeps_test"))
    held = await superuser.fetchval(f"SELECT count(*) FROM keeps.{table} WHERE tenant_id = $1", planted["tenant"])
    await superuser.close()
    assert held > 0, "the test would prove nothing on an empty table"
    async with raw.transaction():
        await become(raw, "a-stranger", "alice")
        assert await count(raw, table) == 0
        assert await raw.fetchval(f"SELECT count(*) FROM keeps.{table} WHERE tenant_id = $1", planted["tenant"]) == 0


async def test_other_users_see_only_shared_memories(
    raw: asyncpg.Connection, planted: dict[str, str], server: Any
) -> None:
    async with raw.transaction():
        await become(raw, planted["tenant"], "bob")
        for table in ("memories", "memory_words", "memory_vectors", "memory_access"):
            assert [str(row["memory_id"]) for row in await raw.fetch(f"SELECT memory_id FROM keeps.{table}")] == [
                planted["shared"]
            ], table
        assert {row["subject"] for row in await raw.fetch("SELECT subject FROM keeps.events")} == {planted["shared"]}
        for table in (
            "users",
            "sessions",
            "plans",
            "plan_correlations",
            "task_contexts",
            "task_subtasks",
            "idempotency_keys",
            "entities",
            "entity_names",
            "relations",
            "mentions",
            "memory_readings",
            "documents",
            "document_passages",
            "transcripts",
            "transcript_entries",
            "transcript_values",
            "items",
            "item_refreshes",
            "item_vectors",
            "item_pending",
            "requests",
        ):
            assert await raw.fetch(f"SELECT * FROM keeps.{table}") == [], table
        # Working memory is the tenant's, by design; keys of access are the tenant administrators' to manage.
        assert [row["key"] for row in await raw.fetch("SELECT key FROM keeps.working_memory")] == ["key"]


INSERTS = {
    "items": (
        "INSERT INTO keeps.items (tenant_id, user_id, namespace, key, row_id, value, version, created_at, updated_at)"
        " VALUES ($1, $2, 'notes.', 'forged', gen_random_uuid(), '{}', 1, now(), now())"
    ),
    "item_refreshes": (
        "INSERT INTO keeps.item_refreshes (tenant_id, user_id, row_id, ends_at) VALUES ($1, $2, gen_random_uuid(),"
        " now())"
    ),
    "item_pending": "INSERT INTO keeps.item_pending (tenant_id, user_id, row_id) VALUES ($1, $2, gen_random_uuid())",
    "item_vectors": (
        "INSERT INTO keeps.item_vectors (tenant_id, user_id, namespace, row_id, field, model, embedding, bits) VALUES"
        " ($1, $2, 'notes.', gen_random_uuid(), '$', 'm', '[1]', B'1')"
    ),
    "transcripts": (
        "INSERT INTO keeps.transcripts (tenant_id, user_id, app, transcript_id, row_id, entry_count, version,"
        " created_at, updated_at) VALUES ($1, $2, 'app', 'forged', gen_random_uuid(), 0, 1, now(), now())"
    ),
    "transcript_entries": (
        "INSERT INTO keeps.transcript_entries (tenant_id, user_id, app, transcript_id, position, row_id, entry_id, at,"
        " entry, bytes) VALUES ($1, $2, 'app', 'talk', 2, gen_random_uuid(), 'forged', now(), '{}', 2)"
    ),
    "transcript_values": (
        "INSERT INTO keeps.transcript_values (tenant_id, user_id, app, transcript_id, key, row_id, value, updated_at)"
        " VALUES ($1, $2, 'app', '', 'forged', gen_random_uuid(), '1', now())"
    ),
    "documents": (
        "INSERT INTO keeps.documents (tenant_id, document_id, user_id, title, format, file_hash, metadata, tags,"
        " visibility, pages, pages_without_text, characters, tail, version, created_at, updated_at) VALUES ($1,"
        " gen_random_uuid(), $2, 'forged', 'text', 'x', '{}', '{}', 'tenant', 0, 0, 1, '', 1, now(), now())"
    ),
    "document_passages": (
        "INSERT INTO keeps.document_passages (tenant_id, document_id, position, user_id, visibility, memory_id, starts,"
        " ends, headings, gap) VALUES ($1, gen_random_uuid(), 0, $2, 'tenant', gen_random_uuid(), 0, 1, '{}', '')"
    ),
    "entities": (
        "INSERT INTO keeps.entities (tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility,"
        " source, version, created_at, updated_at) VALUES ($1, gen_random_uuid(), $2, 'forged', 'x', '{}', '{}',"
        " 'private', 'user', 1, now(), now())"
    ),
    "entity_names": (
        "INSERT INTO keeps.entity_names (tenant_id, user_id, name_key, entity_id, visibility) VALUES ($1, $2, 'forged',"
        " gen_random_uuid(), 'tenant')"
    ),
    "relations": (
        "INSERT INTO keeps.relations (tenant_id, relation_id, user_id, source_id, target_id, relation_type, properties,"
        " weight, visibility, valid_from, event_id, version, created_at, updated_at) VALUES ($1, gen_random_uuid(), $2,"
        " gen_random_uuid(), gen_random_uuid(), 'x', '{}', 1, 'private', now(), gen_random_uuid(), 1, now(), now())"
    ),
    "mentions": (
        "INSERT INTO keeps.mentions (tenant_id, memory_id, entity_id, user_id, source, rejected, created_at,"
        " updated_at) VALUES ($1, gen_random_uuid(), gen_random_uuid(), $2, 'user', false, now(), now())"
    ),
    "memory_readings": (
        "INSERT INTO keeps.memory_readings (tenant_id, memory_id, user_id, version) VALUES ($1, gen_random_uuid(),"
        " $2, 1)"
    ),
    "users": "INSERT INTO keeps.users (tenant_id, user_id) VALUES ($1, $2)",
    "events": (
        "INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id, visibility,"
        " data) VALUES ($1, 999999, gen_random_uuid(), 'forged', 'x', 'x', now(), $2, 'private', '{}')"
    ),
    "memories": (
        "INSERT INTO keeps.memories (tenant_id, memory_id, user_id, kind, layer, content, content_type, metadata, tags,"
        " importance, visibility, content_hash, valid_from, version, created_at, updated_at) VALUES ($1,"
        " gen_random_uuid(), $2, 'semantic', 'long_term', 'forged', 'fact', '{}', '{}', 0.5, 'private', 'x', now(), 1,"
        " now(), now())"
    ),
    "memory_words": (
        "INSERT INTO keeps.memory_words (tenant_id, memory_id, user_id, audience, life, agent, place, session,"
        " word_count, words, counts) VALUES ($1, gen_random_uuid(), $2, $2, 'current', '', 0, 0, 1, 'x', '\\x01')"
    ),
    "postings": (
        "INSERT INTO keeps.postings (tenant_id, audience, life, word, agent, first, packed)"
        " VALUES ($1, $2, 'current', 'forged', '', 0, '')"
    ),
    "audience_words": (
        "INSERT INTO keeps.audience_words (tenant_id, audience, life, memories, words, next_place, folded_to)"
        " VALUES ($1, $2, 'archived', 1, 1, 1, 0)"
    ),
    "sessions": (
        "INSERT INTO keeps.sessions (tenant_id, user_id, session_id, metadata, version, last_interaction, created_at,"
        " updated_at) VALUES ($1, $2, 'forged', '{}', 1, now(), now(), now())"
    ),
    "plans": (
        "INSERT INTO keeps.plans (tenant_id, user_id, plan_id, goal_event, goal_data, status, state, correlation_ids,"
        " version, created_at, updated_at) VALUES ($1, $2, 'forged', 'g', '{}', 'running', '{}', '{}', 1, now(), now())"
    ),
    "plan_correlations": (
        "INSERT INTO keeps.plan_correlations (tenant_id, user_id, correlation_id, plan_id) VALUES ($1, $2, 'c', 'plan')"
    ),
    "task_contexts": (
        "INSERT INTO keeps.task_contexts (tenant_id, user_id, task_id, event_type, response_topic, data, sub_tasks,"
        " state, version, created_at, updated_at) VALUES ($1, $2, 'forged', 'e', 't', '{}', '[]', '{}', 1, now(),"
        " now())"
    ),
    "task_subtasks": (
        "INSERT INTO keeps.task_subtasks (tenant_id, user_id, sub_task_id, task_id) VALUES ($1, $2, 's', 'task')"
    ),
    "working_memory": (
        "INSERT INTO keeps.working_memory (tenant_id, plan_id, key, user_id, value, version, created_at, updated_at)"
        " VALUES ($1, 'plan', 'forged', $2, '1', 1, now(), now())"
    ),
    "idempotency_keys": (
        "INSERT INTO keeps.idempotency_keys (tenant_id, user_id, idempotency_key, request_hash, answer)"
        " VALUES ($1, $2, 'forged', 'h', '{}')"
    ),
    "memory_vectors": (
        "INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding)"
        " VALUES ($1, gen_random_uuid(), 'm', $2, $2, 'current', '[1]')"
    ),
    "vector_bits": (
        "INSERT INTO keeps.vector_bits (tenant_id, audience, life, folded, first, model, size, packed)"
        " VALUES ($1, $2, 'current', false, 999, 'm', 5, '')"
    ),
}


@pytest.mark.parametrize("table", INSERTS)
@pytest.mark.parametrize("victim", [("{tenant}", "alice"), ("{tenant}", "bob"), ("elsewhere", "mallory")])
async def test_nothing_is_inserted_for_another_tenant_or_user(
    raw: asyncpg.Connection, planted: dict[str, str], table: str, victim: tuple[str, str]
) -> None:
    owner = victim[0].format(**planted)
    async with raw.transaction():
        await become(raw, planted["tenant"], "mallory")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with raw.transaction():
                await raw.execute(INSERTS[table], owner, victim[1])


async def test_foreign_audience_is_refused(raw: asyncpg.Connection, planted: dict[str, str]) -> None:
    async with raw.transaction():
        await become(raw, planted["tenant"], "mallory")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with raw.transaction():
                await raw.execute(
                    INSERTS["memory_vectors"].replace("$2, $2", "$2, 'alice'"), planted["tenant"], "mallory"
                )


async def test_shared_memory_is_read_only_for_others(
    raw: asyncpg.Connection, planted: dict[str, str], keeps: Keeps
) -> None:
    async with raw.transaction():
        await become(raw, planted["tenant"], "bob")
        for statement in (
            "UPDATE keeps.memories SET content = 'defaced'",
            "UPDATE keeps.memories SET user_id = 'bob'",
            "DELETE FROM keeps.memories",
            "UPDATE keeps.memory_vectors SET life = 'deleted'",
            "DELETE FROM keeps.memory_vectors",
        ):
            assert (await raw.execute(statement)).split()[-1] == "0", statement
    bob = keeps.memory(Scope(planted["tenant"], "bob"))
    for attempt in (
        bob.update(planted["shared"], content="defaced"),
        bob.forget(planted["shared"]),
        bob.restore(planted["shared"]),
    ):
        with pytest.raises(NotFoundError):
            await attempt


async def test_an_owner_cannot_give_a_row_away(raw: asyncpg.Connection, planted: dict[str, str]) -> None:
    async with raw.transaction():
        await become(raw, planted["tenant"], "alice")
        for change in ("user_id = 'bob'", "tenant_id = 'elsewhere'"):
            with pytest.raises(asyncpg.PostgresError):
                async with raw.transaction():
                    await raw.execute(f"UPDATE keeps.memories SET {change}")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE keeps.events SET data = '{}'",
        "DELETE FROM keeps.events",
        "TRUNCATE keeps.events",
        "TRUNCATE keeps.memories CASCADE",
        "ALTER TABLE keeps.memories DISABLE ROW LEVEL SECURITY",
        "SET ROLE keeps_owner",
        "SET ROLE postgres",
        "DELETE FROM keeps.tenants",
        "UPDATE keeps.tenants SET tenant_id = 'mine'",
        "DROP POLICY memories_read ON keeps.memories",
        "CREATE TABLE keeps.mine (x int)",
    ],
)
async def test_keeps_app_may_not(raw: asyncpg.Connection, planted: dict[str, str], statement: str) -> None:
    async with raw.transaction():
        await become(raw, planted["tenant"], "alice")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with raw.transaction():
                await raw.execute(statement)


async def test_redaction_reaches_only_ones_own_events(raw: asyncpg.Connection, planted: dict[str, str]) -> None:
    for tenant, user in ((planted["tenant"], "bob"), ("elsewhere", "alice"), ("", "")):
        async with raw.transaction():
            await become(raw, tenant, user)
            assert await raw.fetchval("SELECT keeps.redact_memory_events($1, NULL)", planted["private"]) == 0


async def test_the_library_treats_anothers_row_as_absent(keeps: Keeps, planted: dict[str, str]) -> None:
    for scope in (Scope("elsewhere", "alice"), Scope(planted["tenant"], "bob")):
        stranger = keeps.memory(scope)
        errors: list[str] = []
        for known in (planted["private"], "01890000-0000-7000-8000-000000000000"):
            for method in ("get", "history", "forget", "restore"):
                with pytest.raises(KeepsError) as caught:
                    await getattr(stranger, method)(known)
                errors.append(f"{method}: {caught.value.code} {caught.value.detail}".replace(known, "ID"))
        assert errors[:4] == errors[4:], "another's row and no row must not be told apart"
        assert not [
            hit for hit in (await stranger.recall("diary floorboard", limit=200)).hits if "diary" in hit.memory.content
        ]
        assert planted["private"] not in {str(item.memory_id) for item in (await stranger.list(limit=200)).items}


async def test_two_tenants_at_once_on_one_pool_never_mix(keeps: Keeps, tenant: str) -> None:
    async def live(number: int) -> None:
        memory = keeps.memory(Scope(f"{tenant}-{number % 4}", f"user-{number % 3}"))
        await memory.remember(f"secret of {number % 4} and {number % 3}")
        for hit in (await memory.recall("secret", limit=50)).hits:
            assert hit.memory.content == f"secret of {number % 4} and {number % 3}"

    await asyncio.gather(*(live(number) for number in range(60)))


async def test_settings_do_not_outlive_a_transaction(database: Database, tenant: str, app_url: str) -> None:
    pool = await open_pool(app_url, size=1)
    single = Database(pool)
    with pytest.raises(RuntimeError):
        async with single.scoped(Scope(tenant, "alice")):
            raise RuntimeError("a defect in the middle")
    connection = await pool.acquire(5)
    assert await connection.fetchval("SELECT current_setting('app.current_tenant', true)") in (None, "")
    pool.release(connection)
    await single.close()


async def test_probe_refuses_unsafe_roles_and_missing_policies(server: Any, fresh_database: Any) -> None:
    name = await fresh_database()

    async def refusal(role: str) -> str:
        database = Database(await open_pool(server.url(role, name), size=1))
        try:
            with pytest.raises(UnavailableError) as caught:
                await probe(database.main)
            return caught.value.detail
        finally:
            await database.close()

    assert "superuser" in await refusal("postgres")
    assert "owns" in await refusal("keeps_owner")
    connection = await asyncpg.connect(server.url("postgres", name))
    await connection.execute("ALTER TABLE keeps.memories NO FORCE ROW LEVEL SECURITY")
    assert "not enabled and forced on keeps.memories" in await refusal("keeps_app")
    await connection.execute("ALTER TABLE keeps.memories FORCE ROW LEVEL SECURITY")
    await connection.execute("INSERT INTO keeps.tenants VALUES ('seen')")
    await connection.execute("CREATE POLICY hole ON keeps.tenants FOR SELECT TO keeps_app USING (true)")
    assert "sees rows of keeps.tenants without a tenant" in await refusal("keeps_app")
    await connection.close()


async def test_the_probe_asks_every_table_there_is(server: Any, fresh_database: Any) -> None:
    """A hole in any table is found before serving, also in one that no list names: the catalogue is the list."""
    name = await fresh_database()
    connection = await asyncpg.connect(server.url("postgres", name))
    tables = [
        row[0]
        for row in await connection.fetch(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'keeps'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND relname <> 'alembic_version' ORDER BY 1"
        )
    ]
    assert len(tables) >= 30
    await connection.execute("SET session_replication_role = replica")  # rows of one table alone
    for table, check in await connection.fetch(
        "SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint"
        " WHERE contype = 'c' AND connamespace = 'keeps'::regnamespace AND conislocal AND coninhcount = 0"
    ):
        await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {check}")
    database = Database(await open_pool(server.url("keeps_app", name), size=1))
    for table in tables:
        async with connection.transaction():
            await connection.execute(f"CREATE POLICY hole ON keeps.{table} FOR SELECT TO keeps_app USING (true)")
            columns = await connection.fetch(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'keeps' AND"
                " table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER'",
                table,
            )
            await connection.execute(
                f"INSERT INTO keeps.{table} ({', '.join(each[0] for each in columns)}) VALUES"
                f" ({', '.join(_anything(each[1]) for each in columns)})"
            )
        with pytest.raises(UnavailableError, match=f"sees rows of keeps.{table} without a tenant"):
            await probe(database.main)
        await connection.execute(f"DROP POLICY hole ON keeps.{table}")
    await probe(database.main)
    await database.close()
    await connection.close()


def _anything(kind: str) -> str:
    """A value of a type."""
    of_kind = {
        "text": "'x'",
        "uuid": "gen_random_uuid()",
        "timestamp with time zone": "now()",
        "date": "current_date",
        "jsonb": "'{}'",
        "integer": "1",
        "bigint": "1",
        "smallint": "1",
        "double precision": "0.5",
        "real": "0.5",
        "boolean": "true",
        "bytea": "'\\x00'",
        "ARRAY": "'{}'",
        "bit varying": "B'1'",
        "interval": "'1 day'",
    }
    return of_kind.get(kind, "array_fill(1::real, ARRAY[384])::halfvec")


async def test_a_processor_that_cannot_run_pgvector_is_named(server: Any, fresh_database: Any) -> None:
    """The distance function is replaced by one that ends its process, as an illegal instruction would."""
    name = await fresh_database()
    connection = await asyncpg.connect(server.url("postgres", name))
    await connection.execute(
        "CREATE OR REPLACE FUNCTION public.cosine_distance(halfvec, halfvec) RETURNS double precision LANGUAGE plpgsql"
        " IMMUTABLE STRICT AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN 0; END $$; GRANT EXECUTE"
        " ON FUNCTION pg_terminate_backend TO keeps_app"
    )
    await connection.close()
    database = Database(await open_pool(server.url("keeps_app", name), size=1))
    with pytest.raises(UnavailableError, match="AVX2"):
        await probe(database.main)
    await database.close()


async def test_an_engine_that_breaks_a_promise_is_named(server: Any, fresh_database: Any) -> None:
    """By a version() of the database's own, which comes before PostgreSQL's."""
    name = await fresh_database()
    connection = await asyncpg.connect(server.url("postgres", name))
    await connection.execute(
        "SET allow_system_table_mods = on; INSERT INTO pg_extension VALUES (99999, 'citus', 10, 11, false, '13.0')"
    )
    database = Database(await open_pool(server.url("keeps_app", name), size=1))
    await probe(database.main)
    assert await has_citus(database.main)
    await database.close()
    checks = await run_checks(load_settings(database_url=server.url("keeps_app", name), given={}))
    (finding,) = [check for check in checks if check.name == "database"]
    assert finding.state == "note"
    assert "Citus refuses policies with subqueries" in finding.finding
    for said, lacks in (
        ("PostgreSQL 15.2-YB-2.25.0.0-b489 on x86_64-pc-linux-gnu", "LISTEN"),
        ("CockroachDB CCL v25.1.0 (x86_64-pc-linux-gnu)", "bit_hamming_ops"),
    ):
        await connection.execute(
            f"CREATE OR REPLACE FUNCTION public.version() RETURNS text LANGUAGE sql AS $$ SELECT '{said}' $$"
        )
        for role in ("keeps_app", "postgres"):
            await connection.execute(f"ALTER ROLE {role} IN DATABASE {name} SET search_path = public, pg_catalog")
        database = Database(await open_pool(server.url("keeps_app", name), size=1))
        with pytest.raises(UnavailableError, match=lacks):
            await probe(database.main)
        await database.close()
        with pytest.raises(UnavailableError, match=lacks):
            await provision(None, server.url("postgres", name), {})
    await connection.close()


def test_transactions_and_sql_stay_in_their_files() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        name = path.relative_to(SOURCE).as_posix()
        if name in (
            "sources/databases/host.py",
            "sources/databases/describing.py",
            "sources/importing/langgraph.py",
        ):
            continue  # it asks others' servers, in a process of its own, and never Keeps'
        if name not in (
            "store/db/session.py",
            "store/db/transaction.py",
            "store/db/provision.py",
            "store/schema/migrate.py",
        ):  # the last two for administrators
            assert not re.search(r"\.transaction\(|['\"]BEGIN|set_config", text), (
                f"{name} must go through store/db/session.py"
            )
        if not name.startswith(("store/db/", "store/schema/")):
            assert "import asyncpg" not in text, f"{name} speaks to asyncpg"
            assert not re.search(r"['\"](SELECT|INSERT INTO|UPDATE|DELETE FROM) ", text), (
                f"{name} holds SQL; move it into queries.sql"
            )


def test_every_statement_on_a_tenant_table_names_the_tenant() -> None:
    for package in (
        "keeps.store.tenants",
        "keeps.store.events",
        "keeps.memory.memories",
        "keeps.memory.recall",
        "keeps.memory.indexing",
    ):
        for statement in STATEMENTS[package].all():
            if (
                "keeps." in statement.text
                and "keeps.users_" not in statement.text
                and "installation_counts" not in statement.text
                and "redact" not in statement.name
                # Functions read the tenant from the transaction's settings themselves.
                and not re.search(r"(SELECT|FROM) keeps\.\w+\(", statement.text)
            ):
                assert "tenant_id" in statement.text, f"{package}: {statement.name}"
