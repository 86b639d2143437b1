"""Limited keys and tokens, enforced by the database: read, append, spaces, namespaces, kinds."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from keeps import Keeps, Scope
from keeps.base.scope import Grant, in_space
from keeps.engine import LocalMemory
from keeps_client.errors import ForbiddenError, NotFoundError, ValidationFailedError
from tests.policy.test_spaces import OF_THE_TENANT
from tests.schema.test_catalogue import TABLES

INDEX = {"audience_words", "memory_pending", "memory_vectors", "memory_words", "postings", "vector_bits"}
READABLE = {"idempotency_keys", "memory_access", "mentions", "requests", "tenants", "users"}
"""Tables without contents that every transaction of the user may read."""


@pytest.fixture
async def alice(keeps: Keeps) -> LocalMemory:
    scope = Scope(f"tenant-{uuid4().hex[:12]}", "alice", roles=frozenset({"writer"}))
    memory = keeps.memory(scope)
    await memory.remember("The invoice of the bakery is 400 euros.", namespace="work")
    await memory.remember("The doctor found a heart murmur.", namespace="health")
    await memory.remember("Answer the bakery politely.", kind="procedural", namespace="work")
    await memory.remember("The bakery closes at noon.", visibility="tenant")
    await memory.store_exchange([{"role": "user", "content": "I like rye bread of the bakery."}], session_id="talk")
    await memory.create_plan(plan_id="plan", goal_event="goal")
    await memory.store("key", "value", "plan")
    await memory.put_item(("notes",), "key", {"text": "The bakery"})
    await memory.add_entity("Bakery")
    await memory.add_document("The lease of the bakery ends in May.", source="lease", visibility="private")
    await memory.create_space("bakery")
    await memory.create_space("garden")
    await memory.remember("The bakery oven needs repair.", space="bakery")
    await memory.remember("The garden needs water.", space="garden")
    return memory


def limited(memory: LocalMemory, **limits: object) -> LocalMemory:
    scope = memory.scope
    grant = Grant(**limits)  # pyright: ignore[reportArgumentType]
    return LocalMemory(
        memory.keeps,
        Scope(scope.tenant_id, scope.user_id, roles=scope.roles, acting_user=scope.acting_user, grant=grant),
    )


async def texts(memory: LocalMemory, query: str = "the bakery and the doctor and the garden") -> set[str]:
    return {hit.text for hit in await memory.recall(query, limit=50)}


async def seen(app_url: str, memory: LocalMemory) -> dict[str, int]:
    """Count the rows of each table that a transaction with these limits sees, whatever a service would ask."""
    connection = await asyncpg.connect(app_url)
    user, bound, acting, grant = memory.scope.reader
    counts: dict[str, int] = {}
    async with connection.transaction():
        await connection.execute(
            "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true),"
            " set_config('app.bound_agent', $3, true), set_config('app.acting_user', $4, true),"
            " set_config('app.grant', $5, true)",
            memory.scope.tenant_id,
            user,
            bound,
            acting,
            grant,
        )
        for table in TABLES:
            counts[table] = await connection.fetchval(f"SELECT count(*) FROM keeps.{table}")
    await connection.close()
    return {table: count for table, count in counts.items() if count and table not in OF_THE_TENANT}


async def test_a_namespace_covers_its_memories_and_nothing_else(alice: LocalMemory, app_url: str) -> None:
    work = limited(alice, namespaces=("work",))
    assert await texts(work) == {"The invoice of the bakery is 400 euros.", "Answer the bakery politely."}
    assert {each.namespace for each in (await work.list(limit=50)).items} == {"work"}
    context = await work.context("What is known of the bakery and the doctor?")
    assert "400 euros" in context.prompt
    assert not any(secret in context.prompt for secret in ("murmur", "rye", "lease", "noon", "oven"))
    tables = await seen(app_url, work)
    assert set(tables) <= {"memories", "events", "spaces", "space_members", *INDEX, *READABLE}
    assert tables["memories"] == tables["memory_words"] == 2
    assert tables["events"] == 2
    with pytest.raises(ForbiddenError, match="namespace"):
        await work.remember("The doctor is away.", namespace="health")
    with pytest.raises(ForbiddenError, match="namespace"):
        await work.remember("The doctor is away.")
    assert (await work.remember("The baker is Tom.", namespace="work")).status == "created"
    (health,) = [each for each in (await alice.list(limit=50)).items if each.namespace == "health"]
    for call in (work.get(health.memory_id), work.forget(health.memory_id), work.update(health.memory_id, content="x")):
        with pytest.raises(NotFoundError):
            await call
    for call in (
        work.get_plan("plan"),
        work.get_item(("notes",), "key"),
        work.list_documents(),
        work.create_space("x"),
    ):
        with pytest.raises(ForbiddenError):
            await call
    assert (await alice.get(health.memory_id)).deleted_at is None


async def test_kinds_cover_these_alone(alice: LocalMemory, app_url: str) -> None:
    skills = limited(alice, kinds=("procedural",))
    assert await texts(skills) == {"Answer the bakery politely."}
    assert (await seen(app_url, skills))["memories"] == 1
    with pytest.raises(ForbiddenError, match="kind"):
        await skills.remember("The baker is Tom.")


async def test_reading_stores_nothing(alice: LocalMemory, app_url: str) -> None:
    reading = limited(alice, access="read")
    assert await texts(reading) == await texts(alice)
    with pytest.raises(ForbiddenError, match="only read"):
        await reading.remember("x")
    connection = await asyncpg.connect(app_url)
    for table in TABLES:
        if table in {*OF_THE_TENANT, "users", "memory_access", "requests"}:
            continue
        for statement in (f"UPDATE keeps.{table} SET tenant_id = tenant_id", f"DELETE FROM keeps.{table}"):
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(
                "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'alice', true),"
                " set_config('app.acting_user', 'alice', true), set_config('app.grant', $2, true)",
                alice.scope.tenant_id,
                reading.scope.reader[3],
            )
            try:
                assert (await connection.execute(statement)).endswith(" 0"), statement
            except asyncpg.InsufficientPrivilegeError:
                pass
            await transaction.rollback()
    await connection.close()


async def test_adding_shows_nothing_and_tells_nothing(alice: LocalMemory, app_url: str) -> None:
    adding = limited(alice, access="append")
    known = "The doctor found a heart murmur."
    receipts = [await adding.remember(known, namespace="health") for _ in range(2)]
    assert {receipt.status for receipt in receipts} == {"created"}
    with adding.idempotent("once"):
        first = await adding.remember("The baker is Tom.")
    with adding.idempotent("once"):
        assert await adding.remember("The baker is Tom.") == first
    for call in (
        adding.recall("doctor"),
        adding.list(),
        adding.get(receipts[0].memory_id),
        adding.forget(receipts[0].memory_id),
        adding.context("doctor"),
        adding.get_plan("plan"),
    ):
        with pytest.raises(ForbiddenError, match="only add"):
            await call
    with pytest.raises(ValidationFailedError, match="key"):
        await adding.remember("x", namespace="health", key="heart")
    assert set(await seen(app_url, adding)) <= READABLE | {
        "audience_words",
        "memory_pending",
        "spaces",
        "space_members",
    }
    assert [text for text in await texts(alice, "heart murmur") if "murmur" in text] == [known]
    assert len([each for each in (await alice.list(limit=50)).items if each.content == known]) == 3


async def test_a_space_covers_nothing_outside(alice: LocalMemory, app_url: str, keeps: Keeps) -> None:
    outside = limited(alice, spaces=("bakery",))
    assert await texts(outside) == set()
    assert set(await seen(app_url, outside)) <= {"spaces", "space_members"}
    inside = LocalMemory(keeps, in_space(outside.scope, "bakery"))
    assert await texts(inside) == {"The bakery oven needs repair."}
    assert (await seen(app_url, inside))["memories"] == 1
    with pytest.raises(NotFoundError):
        await texts(LocalMemory(keeps, in_space(outside.scope, "garden")))
    assert (await inside.remember("The oven is repaired.")).status == "created"
    reading = LocalMemory(keeps, in_space(limited(alice, spaces=("bakery",), access="read").scope, "bakery"))
    with pytest.raises(ForbiddenError, match="only read"):
        await reading.remember("x")


async def test_limits_hold_while_others_write_in_the_same_moment(alice: LocalMemory) -> None:
    """Writes of one tenant share transactions; a limited one never does."""
    adding, work = limited(alice, access="append"), limited(alice, namespaces=("work",))
    receipts = await asyncio.gather(
        *(
            memory.remember(f"Note {number}", namespace="work")
            for number in range(10)
            for memory in (alice, adding, work)
        )
    )
    assert all(receipt.memory_id for receipt in receipts)
    assert len([each for each in (await alice.list(limit=100)).items if each.content.startswith("Note")]) == 20
