"""Row security of spaces, as keeps_app and without the services: who sees and changes the rows of a space."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator
from uuid import uuid4

import asyncpg
import pytest

from keeps import Keeps, Scope
from keeps.base.scope import space_owner
from keeps.memory.recall.access import AccessBuffer
from keeps_client.errors import ForbiddenError
from keeps_client.models import NewTranscriptEntry
from keeps_client.models.spaces import SpaceRole
from tests.schema.test_catalogue import TABLES

OWNER = space_owner("cellar")
READERS, STRANGERS = ("cara", "walt", "rita"), ("fred", "late", "sam")
"""A curator, a writer and a reader; a former member, one whose membership has ended, one who never was a member."""
OF_THE_TENANT = {
    "api_keys",
    "budget_alerts",
    "databases",
    "llm_usage",
    "model_usage",
    "operations",
    "providers",
    "storage_samples",
    "tenant_jobs",
}
OF_THE_TENANT |= {"tenants", "webhook_failures", "webhooks"}
SHOWN = {
    "audience_words",
    "document_passages",
    "documents",
    "entities",
    "entity_names",
    "events",
    "memories",
    "memory_access",
    "memory_vectors",
    "memory_words",
    "mentions",
    "relations",
    "space_members",
    "spaces",
}
"""Tables of which a member sees rows of the space without entering it."""


@pytest.fixture
async def space(keeps: Keeps, app_url: str) -> AsyncGenerator[tuple[asyncpg.Connection, str]]:
    """A space with rows in nearly all tables, a connection as keeps_app, and the tenant."""
    tenant = f"tenant-{uuid4().hex[:12]}"
    cara = keeps.memory(Scope(tenant, "cara"))
    await cara.create_space("cellar", title="The cellar")
    roles: dict[str, SpaceRole] = {"walt": "writer", "rita": "reader", "fred": "curator", "late": "curator"}
    for user, role in roles.items():
        await cara.set_space_member("cellar", user, role)
    memory = cara.for_space("cellar")
    wine = await memory.remember("The wine lies in the third row.")
    await memory.recall("Where is the wine?")
    await memory.create_plan(plan_id="plan", goal_event="goal", session_id="session")
    await memory.update_plan("plan", correlation_ids=["correlation"])
    await memory.store("key", "value", "plan")
    await memory.store_task_context("task", event_type="work", sub_tasks=["sub"])
    row = await memory.add_entity("Row three", entity_type="place")
    await memory.add_relation(row, await memory.add_entity("Cellar"), "lies_in")
    await memory.add_mention(wine.memory_id, row.entity_id)
    await memory.read_entities()
    await memory.add_document("The key of the cellar hangs by the door.", source="keys")
    await memory.store_exchange([{"role": "user", "content": "I like the old port."}], session_id="talk")
    await memory.create_transcript("app", transcript_id="talk", state={"a": 1}, user_state={"b": 2})
    await memory.append_to_transcript("app", "talk", [NewTranscriptEntry(entry_id="1", entry="The port is in row one")])
    await memory.put_item(("notes",), "key", {"text": "Row one holds port."}, ttl_minutes=60)
    await memory.get_item(("notes",), "key", refresh_ttl=True)
    await cara.remove_space_member("cellar", "fred")
    await keeps.service(AccessBuffer).flush()
    connection = await asyncpg.connect(app_url)
    async with connection.transaction():
        await become(connection, tenant, OWNER, OWNER)
        await connection.execute("UPDATE keeps.space_members SET expires_at = now() WHERE member_id = 'late'")
    yield connection, tenant
    await connection.close()


async def become(connection: asyncpg.Connection, tenant: str, user: str, acting: str) -> None:
    await connection.execute(
        "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),"
        " set_config('app.acting_user', $3, true)",
        tenant,
        user,
        acting,
    )


async def seen(connection: asyncpg.Connection, tenant: str, user: str, acting: str) -> Counter[str]:
    """Count the rows of each table that belong to the space."""
    counts: Counter[str] = Counter()
    async with connection.transaction():
        await become(connection, tenant, user, acting)
        for table in TABLES:
            columns = await connection.fetch(
                "SELECT attname::text AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0",
                f"keeps.{table}",
            )
            names = {each["name"] for each in columns}
            owner = next((name for name in ("user_id", "audience") if name in names), None)
            if table in OF_THE_TENANT:
                continue
            condition = f"WHERE {owner} = '{OWNER}'" if owner else ""
            counts[table] = int(await connection.fetchval(f"SELECT count(*) FROM keeps.{table} {condition}") or 0)
    return counts


async def test_members_see_the_space_and_others_nothing(space: tuple[asyncpg.Connection, str]) -> None:
    connection, tenant = space
    inside = await seen(connection, tenant, OWNER, OWNER)
    assert {table for table, count in inside.items() if not count} <= {
        "idempotency_keys",
        "item_pending",
        "memory_pending",
        "operation_changes",
        "postings",
        "query_audit",
        "requests",
        "vector_bits",
        "vector_counts",  # keeps_app sees no row of it.
    }, "the test would prove nothing about an empty table"
    for member in READERS:
        assert await seen(connection, tenant, OWNER, member) == inside, member
        outside = await seen(connection, tenant, member, member)
        assert {table for table, count in outside.items() if count} - {"vector_bits", "postings", "users"} == SHOWN
    for stranger in STRANGERS:
        for user in (OWNER, stranger):
            assert not +await seen(connection, tenant, user, stranger), (user, stranger)
    for user, acting in ((OWNER, "cara"), (OWNER, OWNER), ("cara", "cara")):
        assert not +await seen(connection, f"other-{tenant}", user, acting)


async def test_an_acting_user_that_is_not_named_sees_nothing(space: tuple[asyncpg.Connection, str]) -> None:
    connection, tenant = space
    for acting in ("", space_owner("other")):
        assert not +await seen(connection, tenant, OWNER, acting)


@pytest.mark.parametrize("user", ["rita", *STRANGERS])
async def test_only_writers_change_a_space(space: tuple[asyncpg.Connection, str], user: str) -> None:
    """Neither with a transaction of the space nor with one's own does anything change, whatever the table."""
    connection, tenant = space
    tables = [table for table in TABLES if table not in {*OF_THE_TENANT, "users", "memory_access", "requests"}]
    for owner in (OWNER, user):
        for table in tables:
            for statement in (f"UPDATE keeps.{table} SET tenant_id = tenant_id", f"DELETE FROM keeps.{table}"):
                transaction = connection.transaction()
                await transaction.start()
                await become(connection, tenant, owner, user)
                try:
                    assert await connection.execute(statement) in {"UPDATE 0", "DELETE 0"} | (
                        {"DELETE 1"} if table == "space_members" and user in ("rita", "late") else set()
                    ), (statement, owner)
                except asyncpg.InsufficientPrivilegeError:
                    pass
                await transaction.rollback()
            transaction = connection.transaction()
            await transaction.start()
            await become(connection, tenant, OWNER, "cara")
            rows = await connection.fetch(f"SELECT * FROM keeps.{table} LIMIT 1")
            if rows:
                names = ", ".join(f'"{name}"' for name in rows[0].keys())  # noqa: SIM118  a record is no mapping
                places = ", ".join(f"${place}" for place in range(1, len(rows[0]) + 1))
                await become(connection, tenant, owner, user)
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(
                        f"INSERT INTO keeps.{table} ({names}) VALUES ({places})", *rows[0].values()
                    )
            await transaction.rollback()


async def test_a_writer_manages_no_members(space: tuple[asyncpg.Connection, str]) -> None:
    connection, tenant = space
    for user in (OWNER, "walt"):
        async with connection.transaction():
            await become(connection, tenant, user, "walt")
            raised = "UPDATE keeps.space_members SET role = 'curator' WHERE member_id = 'walt'"
            assert await connection.execute(raised) == "UPDATE 0"
            assert await connection.execute("UPDATE keeps.spaces SET title = 'mine'") == "UPDATE 0"
            assert await connection.execute("DELETE FROM keeps.space_members WHERE member_id = 'cara'") == "DELETE 0"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with connection.transaction():
            await become(connection, tenant, "walt", "walt")
            await connection.execute(
                "INSERT INTO keeps.space_members (tenant_id, space_id, member_type, member_id, role, added_at)"
                " VALUES ($1, 'cellar', 'user', 'sam', 'reader', now())",
                tenant,
            )


async def test_nothing_in_a_space_is_shared_with_the_tenant(space: tuple[asyncpg.Connection, str]) -> None:
    connection, tenant = space
    for table in ("memories", "documents", "entities", "relations"):
        with pytest.raises(asyncpg.CheckViolationError):
            async with connection.transaction():
                await become(connection, tenant, OWNER, "cara")
                await connection.execute(f"UPDATE keeps.{table} SET visibility = 'tenant'")


async def test_an_agent_is_a_member_by_its_binding(space: tuple[asyncpg.Connection, str], keeps: Keeps) -> None:
    connection, tenant = space
    cara = keeps.memory(Scope(tenant, "cara"))
    await cara.set_space_member("cellar", "sommelier", "reader", member_type="agent")
    async with connection.transaction():
        await become(connection, tenant, "sam", "sam")
        assert await connection.fetchval("SELECT count(*) FROM keeps.memories") == 0
        await connection.execute("SELECT set_config('app.bound_agent', 'sommelier', true)")
        assert await connection.fetchval("SELECT count(*) FROM keeps.memories") > 0


async def test_an_archived_space_is_written_by_nobody(space: tuple[asyncpg.Connection, str], keeps: Keeps) -> None:
    connection, tenant = space
    await keeps.memory(Scope(tenant, "cara")).update_space("cellar", archived=True)
    async with connection.transaction():
        await become(connection, tenant, OWNER, "walt")
        assert await connection.fetchval("SELECT count(*) FROM keeps.memories") > 0
        assert await connection.execute("UPDATE keeps.memories SET importance = 0") == "UPDATE 0"


async def test_functions_act_for_members_only(space: tuple[asyncpg.Connection, str]) -> None:
    """A function runs as the owner of the tables; named by a stranger of the space it finds and changes nothing."""
    connection, tenant = space
    before = await seen(connection, tenant, OWNER, OWNER)
    for stranger in STRANGERS:
        for call in ("keeps.erase_user()", "keeps.leave_shared_state()", "keeps.redact_rows('{}', '{}')"):
            transaction = connection.transaction()
            await transaction.start()
            await become(connection, tenant, OWNER, stranger)
            with contextlib.suppress(asyncpg.PostgresError):
                await connection.fetch(f"SELECT {call}")
                await transaction.commit()
                continue
            await transaction.rollback()
    assert await seen(connection, tenant, OWNER, OWNER) == before


async def test_an_erased_user_leaves_all_spaces(space: tuple[asyncpg.Connection, str], keeps: Keeps) -> None:
    """Also one who stored nothing: the membership and the name as actor are gone, what was written stays."""
    connection, tenant = space
    walt = keeps.memory(Scope(tenant, "walt")).for_space("cellar")
    memory = await walt.remember("The lamp is broken.")
    admin = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"}))).admin
    receipt = await admin.erase_user("walt")
    assert receipt.complete
    assert receipt.removed["space_members"] == 1
    cara = keeps.memory(Scope(tenant, "cara"))
    assert "walt" not in {member.member_id for member in (await cara.get_space("cellar")).member_list}
    assert (await cara.get(memory.memory_id)).content == "The lamp is broken."
    async with connection.transaction():
        await become(connection, tenant, OWNER, OWNER)
        assert await connection.fetchval("SELECT count(*) FROM keeps.events WHERE actor_id = 'walt'") == 0
        assert await connection.fetchval("SELECT count(*) FROM keeps.events WHERE subject LIKE '%walt%'") == 0


async def test_an_agent_of_a_curator_manages_nothing(space: tuple[asyncpg.Connection, str], keeps: Keeps) -> None:
    _, tenant = space
    agent = keeps.memory(Scope(tenant, "cara", "helper", agent_bound=True))
    assert (await agent.for_space("cellar").remember("The shelf is full.")).status == "created"
    for call in (
        agent.set_space_member("cellar", "sam", "reader"),
        agent.remove_space_member("cellar", "walt"),
        agent.update_space("cellar", title="mine"),
        agent.erase_space("cellar"),
    ):
        with pytest.raises(ForbiddenError):
            await call
