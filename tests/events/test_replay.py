"""The rows are what the events tell: replay, verification, time travel, retention, and a log that only grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.rebuild import rebuild
from keeps.store.events.service import EventService
from keeps_client.errors import NotFoundError, ValidationFailedError
from keeps_client.models.memories import Kind
from tests.events.histories import History, SteppingClock

KINDS: tuple[Kind, ...] = ("semantic", "episodic", "procedural")


@pytest.fixture
async def stepping(app_url: str, shared: object) -> AsyncIterator[tuple[Keeps, SteppingClock]]:
    clock = SteppingClock()
    async with Keeps.open(database_url=app_url, embedder=shared, clock=clock) as keeps:
        yield keeps, clock


@given(seed=st.integers(0, 2**32))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_random_histories_are_replayed_to_the_byte(stepping: Any, seed: int) -> None:
    keeps, clock = stepping
    tenant = f"history-{seed}-{id(clock)}"
    history = History(keeps, tenant, seed, clock)
    await history.run(120)
    found = await keeps.service(EventService).verify(Scope(tenant, "alice"))
    assert found.differences == []
    assert history.done > 20
    await keeps.service(TenantService).erase_tenant(Scope(tenant, "alice"))


async def test_concurrent_writes_match_their_events(keeps: Keeps, tenant: str) -> None:
    histories = [History(keeps, tenant, seed) for seed in range(8)]
    await asyncio.gather(*(history.run(60) for history in histories))
    found = await keeps.service(EventService).verify(Scope(tenant, "alice"))
    assert found.differences == []
    assert found.events >= sum(found.compared.values()) > 0


async def test_row_changed_outside_log_is_reported(memory: LocalMemory, server: Any, tenant: str, keeps: Keeps) -> None:
    kept = await memory.remember("The gate code is swordfish.", namespace="n", key="k")
    lost = await memory.remember("This row will vanish.")
    await memory.store("k", 1, "p")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await connection.execute("UPDATE keeps.memories SET importance = 0.125 WHERE memory_id = $1", kept.memory_id)
    await connection.execute("DELETE FROM keeps.memories WHERE memory_id = $1", lost.memory_id)
    await connection.execute(
        "INSERT INTO keeps.working_memory SELECT tenant_id, plan_id, 'forged', user_id, value, version, expires_at,"
        " created_at, updated_at FROM keeps.working_memory WHERE tenant_id = $1",
        tenant,
    )
    await connection.close()
    found = await keeps.service(EventService).verify(memory.scope)
    assert not found.equal
    assert {(each.table, each.problem, tuple(each.columns)) for each in found.differences} == {
        ("memories", "differs", ("importance",)),
        ("memories", "told by events, but not stored", ()),
        ("working_memory", "stored, but told by no event", tuple(found.differences[-1].columns)),
    }
    assert "swordfish" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("statement", "problems"),
    [
        (
            "DELETE FROM keeps.events WHERE tenant_id = $1 AND sequence IN (2, 3)",
            [("events", {"sequence": 2, "to": 3}, "missing from the log")],
        ),
        (
            "DELETE FROM keeps.events WHERE tenant_id = $1 AND sequence = 4",
            [("events", {"sequence": 4, "to": 4}, "missing from the log")],
        ),
        (
            "UPDATE keeps.tenants SET last_sequence = 3 WHERE tenant_id = $1",
            [("events", {"sequence": 4}, "numbered after the last of the log")],
        ),
    ],
)
async def test_a_log_with_a_gap_is_found(
    memory: LocalMemory, server: Any, tenant: str, keeps: Keeps, statement: str, problems: list[Any]
) -> None:
    for name in "abcd":
        await memory.forget((await memory.remember(name)).memory_id, hard=True)
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await connection.execute("UPDATE keeps.tenants SET last_sequence = 4 WHERE tenant_id = $1", tenant)
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.log_change', 'erase', true)")
        await connection.execute("DELETE FROM keeps.events WHERE tenant_id = $1 AND sequence > 4", tenant)
    assert (await keeps.service(EventService).verify(memory.scope)).differences[4:] == []
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.log_change', 'erase', true)")
        await connection.execute(statement, tenant)
    await connection.close()
    found = await keeps.service(EventService).verify(memory.scope)
    assert [(each.table, each.row, each.problem) for each in found.differences if each.table == "events"] == problems


async def test_changed_content_and_event_are_detected(
    memory: LocalMemory, server: Any, tenant: str, keeps: Keeps
) -> None:
    kept = await memory.remember("The gate code is swordfish.")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.log_change', 'erase', true)")
        await connection.execute("SELECT set_config('app.current_tenant', $1, true)", tenant)
        await connection.execute(
            "UPDATE keeps.events SET data = jsonb_set(data, '{memory,content}', '\"marlin\"') WHERE tenant_id = $1",
            tenant,
        )
        await connection.execute("UPDATE keeps.memories SET content = 'marlin' WHERE tenant_id = $1", tenant)
    await connection.close()
    (found,) = (await keeps.service(EventService).verify(memory.scope)).differences
    assert (found.table, found.row, found.columns) == ("memories", {"memory_id": str(kept.memory_id)}, ["content_hash"])


async def test_any_words_of_any_kind_give_their_hash(memory: LocalMemory, keeps: Keeps) -> None:
    """SQL computes the hash as Python does."""
    hostile = "".join(map(chr, range(1, 256))) + '\u2028\u200b\ufeff\U0001f600 العربية \\ " \\u0000'
    moments = [None, datetime(2026, 1, 2, tzinfo=UTC), datetime(999, 1, 2, 3, 4, 5, 600_000, UTC)]
    for at, moment in enumerate(moments):
        for kind in KINDS:
            trigger: dict[str, Any] = {"trigger_condition": hostile[:200]} if kind == "procedural" else {}
            await memory.remember(
                f"{at}{hostile}", kind=kind, valid_from=moment, metadata={"speaker": hostile}, role="tool", **trigger
            )
    said = await memory.remember("As said", kind="episodic", metadata={"speaker": "ann"}, valid_from=moments[2])
    await memory.update(said.memory_id, metadata={"speaker": "bob"}, valid_from=moments[1])
    await memory.remember("Of odd speakers", kind="episodic", metadata={"speaker": {"b": 1e5, "a": 1.0}})
    found = await keeps.service(EventService).verify(memory.scope)
    assert (found.differences, found.compared["memories"]) == ([], 11)


async def test_replay_into_a_schema_rebuilds_rows_as_they_were(
    memory: LocalMemory, server: Any, tenant: str, keeps: Keeps
) -> None:
    await memory.remember("Lives in Leeds.", namespace="f", key="home")
    then = datetime.now(UTC)
    await memory.remember("Lives in Lisbon.", namespace="f", key="home")
    await memory.append_to_list("log", "one", "plan")
    url = server.url("postgres", "keeps_test")
    schema = "replayed_" + tenant.replace("-", "_")
    assert {each.table: each.rows for each in await keeps.service(EventService).replay(memory.scope, then)}[
        "memories"
    ] == 1
    rows = {each.table: each.rows for each in await rebuild(url, schema, tenant, then)}
    assert (rows["memories"], rows["working_memory"]) == (1, 0)
    with pytest.raises(ValidationFailedError, match="exists"):
        await rebuild(url, schema, tenant, None)
    connection = await asyncpg.connect(url)
    assert await connection.fetchval(f"SELECT content FROM {schema}.memories") == "Lives in Leeds."
    assert not await connection.fetchval("SELECT has_schema_privilege('keeps_app', $1, 'USAGE')", schema)
    await connection.execute(f"DROP SCHEMA {schema} CASCADE")
    assert {each.table: each.rows for each in await rebuild(url, schema, tenant, None)}["memories"] == 2
    difference = f"SELECT * FROM {schema}.memories EXCEPT SELECT * FROM keeps.memories"
    assert await connection.fetch(difference) == []
    await connection.execute(f"DROP SCHEMA {schema} CASCADE")
    await connection.close()


async def test_a_redacted_log_replays_without_a_trace(
    memory: LocalMemory, keeps: Keeps, tenant: str, server: Any
) -> None:
    secret = await memory.remember("The password is swordfish.", namespace="n", key="k")
    await memory.remember("The password is marlin.", namespace="n", key="k")
    await memory.store("k", {"password": "swordfish"}, "plan")
    bob = keeps.memory(Scope(tenant, "bob"))
    await memory.append_to_list("both", "from alice", "plan")
    await bob.append_to_list("both", "from bob", "plan")
    await memory.forget(secret.memory_id, hard=True)
    await memory.delete_plan_state("plan", "k")
    assert (await keeps.service(EventService).verify(memory.scope)).differences == []
    await keeps.service(TenantService).erase_user(memory.scope, "alice")
    assert (await keeps.service(EventService).verify(bob.scope)).differences == []
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    log = await connection.fetch("SELECT events::text FROM keeps.events WHERE tenant_id = $1", tenant)
    await connection.close()
    assert "swordfish" not in str(log)
    assert "marlin" not in str(log)
    assert "'alice'" not in str(log)


async def test_the_log_is_append_only_for_its_owner_too(memory: LocalMemory, server: Any, tenant: str) -> None:
    await memory.remember("Tea at five.")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    for statement in (
        f"UPDATE keeps.events SET data = '{{}}' WHERE tenant_id = '{tenant}'",
        f"DELETE FROM keeps.events WHERE tenant_id = '{tenant}'",
        "TRUNCATE keeps.events",
        f"DELETE FROM keeps.tenants WHERE tenant_id = '{tenant}'",
    ):
        with pytest.raises(asyncpg.PostgresError, match="append-only"):
            await connection.execute(statement)
    await connection.close()


async def test_a_fact_corrected_twice_answers_three_ways(stepping: Any, tenant: str) -> None:
    keeps, clock = stepping
    memory = keeps.memory(Scope(tenant, "alice"))
    moments: list[datetime] = []
    first = await memory.remember("Alice lives in Leeds.", namespace="f", key="home", tags=["old"])
    for text in ("Alice lives in Lisbon.", "Alice lives in Lagos."):
        moments.append(clock())
        clock.now += timedelta(days=10)
        await memory.remember(text, namespace="f", key="home", tags=["new"])
    moments.append(clock())
    await memory.remember("Bob owns a bakery.")
    answers = [(await memory.recall("where does Alice live", as_of=moment)).hits for moment in moments]
    assert [[hit.memory.content for hit in hits] for hits in answers] == [
        ["Alice lives in Leeds."],
        ["Alice lives in Lisbon."],
        ["Alice lives in Lagos."],
    ]
    assert {hit.memory.memory_id for hits in answers for hit in hits} == {first.memory_id}
    assert [(await memory.get(first.memory_id, as_of=moment)).content for moment in moments] == [
        "Alice lives in Leeds.",
        "Alice lives in Lisbon.",
        "Alice lives in Lagos.",
    ]
    tagged = await memory.recall("where does Alice live", as_of=moments[1], tags=["old"])
    assert tagged.hits == []
    with pytest.raises(NotFoundError):
        await memory.get(first.memory_id, as_of=moments[0] - timedelta(days=1))


async def test_as_of_shows_forgotten_but_not_erased(stepping: Any, tenant: str) -> None:
    keeps, clock = stepping
    memory = keeps.memory(Scope(tenant, "alice"))
    soft = await memory.remember("The wifi password is heron.", importance=0.9)
    hard = await memory.remember("The wifi password was osprey.")
    moment = clock()
    await memory.update(soft.memory_id, importance=0.1)
    await memory.forget(soft.memory_id)
    await memory.forget(hard.memory_id, hard=True)
    assert (await memory.recall("wifi password")).hits == []
    (hit,) = (await memory.recall("wifi password", as_of=moment)).hits
    assert (hit.memory.content, hit.memory.importance, hit.memory.deleted_at) == (
        "The wifi password is heron.",
        0.9,
        None,
    )
    later = await memory.recall("wifi password", as_of=clock())
    assert later.hits == []


async def test_as_of_excludes_later_knowledge(stepping: Any, tenant: str) -> None:
    keeps, clock = stepping
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Tea at five.")
    moment = clock()
    clock.now += timedelta(days=3)
    await memory.remember("The office moved to Porto.", valid_from=moment - timedelta(days=1))
    question = "where is the office"
    assert "Porto" not in str((await memory.recall(question, as_of=moment)).hits)
    assert "Porto" in str((await memory.recall(question, valid_at=moment)).hits)


async def test_anothers_past_is_as_closed_as_their_present(stepping: Any, tenant: str) -> None:
    keeps, clock = stepping
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    private = await alice.remember("Alice's diary is under the floorboard.")
    shared = await alice.remember("The office closes at six.", visibility="tenant")
    moment = clock()
    await alice.update(shared.memory_id, content="The office closes at seven.")
    found = (await bob.recall("diary office closes", as_of=moment)).hits
    assert [hit.memory.content for hit in found] == ["The office closes at six."]
    await alice.update(shared.memory_id, visibility="private")
    assert (await bob.recall("diary office closes", as_of=moment)).hits == []
    for wanted in (private.memory_id, shared.memory_id):
        with pytest.raises(NotFoundError):
            await bob.get(wanted, as_of=moment)


async def test_retention_keeps_events_for_replay(server: Any, fresh_database: Any, shared: object) -> None:
    name = await fresh_database()
    connection = await asyncpg.connect(server.url("postgres", name))
    async with Keeps.open(database_url=server.url("keeps_app", name), embedder=shared) as keeps:
        memory = keeps.memory(Scope("acme", "alice"))
        first = await memory.remember("Lives in Leeds.", namespace="f", key="home")
        await memory.remember("Lives in Lisbon.", namespace="f", key="home")
        await memory.update(first.memory_id, importance=0.3)
        for number in range(3):
            await memory.store("k", number, "plan")
        await memory.append_to_list("log", 1, "plan")
        await memory.append_to_list("log", 2, "plan")
        await memory.create_session(session_id="s")
        await memory.delete_session("s")
        before = (await keeps.service(EventService).verify(memory.scope)).compared
        # Half a year later: rows as if a month's partition had taken them when they were recorded.
        await connection.execute(
            "CREATE TABLE keeps.events_2026_01 PARTITION OF keeps.events FOR VALUES FROM ('2026-01-01Z') TO"
            " ('2026-02-01Z')"
        )
        await connection.execute("ALTER TABLE keeps.events_2026_01 OWNER TO keeps_owner")
        await connection.execute("SELECT set_config('app.log_change', 'test', false)")
        await connection.execute("UPDATE keeps.events SET recorded_at = '2026-01-15Z'")
        await connection.execute("SELECT set_config('app.log_change', '', false)")
        with pytest.raises(ValidationFailedError, match="30 days"):
            await keeps.service(EventService).retire(20)
        retired = await keeps.service(EventService).retire(100)
        assert (retired.kept, retired.removed) == (5, 7)
        assert await connection.fetchval("SELECT to_regclass('keeps.events_2026_01')") is None
        found = await keeps.service(EventService).verify(memory.scope)
        assert (found.differences, found.compared) == ([], before)
        assert (await keeps.service(EventService).retire(100)).removed == 0
        with pytest.raises(ValidationFailedError, match="is kept from"):
            await memory.recall("lives", as_of=datetime.now(UTC) - timedelta(days=400))
        with pytest.raises(ValidationFailedError, match="no longer stored"):
            async for _ in memory.subscribe(after=1):
                pass
    await connection.close()
