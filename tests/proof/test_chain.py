"""The chain of a log: edits are found, by Keeps and by the script without it; what Keeps does leaves it whole."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.service import EventService
from keeps_client.models import Anchor, ChainBreak, NewMemory
from tests.events.histories import History
from tests.proof.logs import export, intruder, verify_alone

TEXTS = (
    "tea \u2028 and \u2029 lines",
    '\x01\x1f\x7f\x85 \\ " controls',
    "👩‍👩‍👧 漢字 שלום",
    "e\u0301 \ue000 \U0010fffd",
)
VALUES: tuple[Any, ...] = (1.0, 1e23, 1e-7, -0.0, 2**70, 0.1, {"b": 1, "aa": [None, True, {}]}, TEXTS[0])


@pytest.fixture
def events(keeps: Keeps) -> EventService:
    return keeps.service(EventService)


async def written(memory: LocalMemory, count: int = 5) -> None:
    for number in range(count):
        await memory.remember(f"Note {number} about tea.", namespace="n", key=f"k{number}")


async def test_history_of_several_users_is_a_chain(
    keeps: Keeps, tenant: str, tmp_path: Path, events: EventService
) -> None:
    histories = [History(keeps, tenant, seed) for seed in range(4)]
    await asyncio.gather(*(history.run(50) for history in histories))
    found = await events.verify_chain(Scope(tenant))
    assert (found.broken, found.first, found.older) == (None, 1, 0)
    assert found.events == found.last >= 100
    assert found.redacted > 0
    for contents in (True, False):
        log = await export(keeps, tenant, tmp_path / "log.jsonl", contents=contents)
        assert await verify_alone(log) == (0, f"verified up to event {found.last}, whose hash is {found.hash}\n")


async def test_script_reads_any_text_and_number(
    keeps: Keeps, memory: LocalMemory, tenant: str, tmp_path: Path, events: EventService
) -> None:
    await memory.remember_many([NewMemory(content=text, metadata={text: value}) for text in TEXTS for value in VALUES])
    for number, value in enumerate(VALUES):
        await memory.store(f"k{number}", value, "plan")
    assert (await events.verify_chain(memory.scope)).intact
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    code, said = await verify_alone(log)
    assert code == 0, said


async def test_batch_of_500_is_one_chain(memory: LocalMemory, events: EventService) -> None:
    await memory.remember_many([NewMemory(content=f"Fact {number}.") for number in range(500)])
    found = await events.verify_chain(memory.scope)
    assert (found.intact, found.events) == (True, 500)


EDITS: list[tuple[str, str, int, str]] = [
    (
        "contents",
        'UPDATE keeps.events SET data = data || \'{"key": "forged"}\' WHERE sequence = 3',
        3,
        "contents changed",
    ),
    ("subject", "UPDATE keeps.events SET subject = 'forged' WHERE sequence = 3", 3, "contents changed"),
    ("owner", "UPDATE keeps.events SET user_id = 'mallory' WHERE sequence = 3", 3, "contents changed"),
    ("audience", "UPDATE keeps.events SET visibility = 'tenant' WHERE sequence = 3", 3, "contents changed"),
    ("agent", "UPDATE keeps.events SET agent_id = 'mallory' WHERE sequence = 3", 3, "contents changed"),
    ("trace", "UPDATE keeps.events SET traceparent = '00-1' WHERE sequence = 3", 3, "contents changed"),
    ("type", "UPDATE keeps.events SET type = 'memory.expired' WHERE sequence = 3", 4, "not linked"),
    ("source", "UPDATE keeps.events SET source = 'elsewhere' WHERE sequence = 3", 4, "not linked"),
    ("time", "UPDATE keeps.events SET time = time - interval '1 microsecond' WHERE sequence = 3", 4, "not linked"),
    (
        "recorded",
        "UPDATE keeps.events SET recorded_at = recorded_at - interval '1 us' WHERE sequence = 3",
        4,
        "not linked",
    ),
    ("id", "UPDATE keeps.events SET event_id = gen_random_uuid() WHERE sequence = 3", 4, "not linked"),
    (
        "contents and their hash",
        "UPDATE keeps.events SET subject = 'x', contents_hash = keeps.contents_hash(salt, 'x', user_id, agent_id,"
        " visibility, traceparent, data) WHERE sequence = 3",
        4,
        "not linked",
    ),
    ("one removed", "DELETE FROM keeps.events WHERE sequence = 3", 3, "missing"),
    ("first removed", "DELETE FROM keeps.events WHERE sequence = 1", 1, "missing"),
    ("last removed", "DELETE FROM keeps.events WHERE sequence = 5", 5, "missing"),
    (
        "last removed and counted",
        "DELETE FROM keeps.events WHERE sequence = 5;"
        " UPDATE keeps.tenants SET last_sequence = 4 WHERE tenant_id = '{}'",
        4,
        "head differs",
    ),
    (
        "first retired",
        "DELETE FROM keeps.events WHERE sequence = 1; UPDATE keeps.tenants SET retired_sequence = 1"
        " WHERE tenant_id = '{}'",
        1,
        "removed without a record",
    ),
    (
        "swapped",
        "UPDATE keeps.events SET sequence = CASE sequence WHEN 2 THEN 3 ELSE 2 END WHERE sequence IN (2, 3)",
        2,
        "not linked",
    ),
    (
        "taken out of the chain",
        "UPDATE keeps.events SET previous_hash = NULL WHERE sequence = 3",
        3,
        "outside the chain",
    ),
    (
        "redacted by hand",
        "UPDATE keeps.events SET data = '{\"redacted\": true}', salt = '\\x00', redacted_by = 5 WHERE sequence = 3",
        3,
        "contents removed without a record",
    ),
    (
        "added",
        "INSERT INTO keeps.events SELECT (jsonb_populate_record(e, '{\"sequence\": 6}')).* FROM keeps.events AS e"
        " WHERE sequence = 5",
        6,
        "head differs",
    ),
]


@pytest.mark.parametrize(("edit", "sequence", "problem"), [each[1:] for each in EDITS], ids=[each[0] for each in EDITS])
async def test_edit_at_rest_is_reported(
    server: Any,
    keeps: Keeps,
    memory: LocalMemory,
    tenant: str,
    tmp_path: Path,
    events: EventService,
    edit: str,
    sequence: int,
    problem: str,
) -> None:
    await written(memory)
    head = await events.chain_head(memory.scope)
    async with intruder(server) as connection:
        edit = edit.replace("{}", tenant).replace(" WHERE sequence", f" WHERE tenant_id = '{tenant}' AND sequence")
        await connection.execute(edit)
    found = await events.verify_chain(memory.scope, [head])
    assert found.broken == ChainBreak(sequence=sequence, problem=problem)  # pyright: ignore[reportArgumentType]
    whole = await events.verify(memory.scope)
    assert (whole.equal, whole.chain.broken) == (False, found.broken)
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    code, said = await verify_alone(log, [head])
    assert code == 1, said


async def test_roll_back_is_found_with_an_anchor(
    server: Any, keeps: Keeps, memory: LocalMemory, tenant: str, tmp_path: Path, events: EventService
) -> None:
    await written(memory, 3)
    async with intruder(server) as connection:
        kept = await connection.fetchrow(
            "SELECT last_sequence, chain_hash FROM keeps.tenants WHERE tenant_id = $1", tenant
        )
        assert kept is not None
        await written(memory, 6)
        anchor = await events.chain_head(memory.scope)
        await connection.execute("DELETE FROM keeps.events WHERE tenant_id = $1 AND sequence > 3", tenant)
        await connection.execute(
            "UPDATE keeps.tenants SET last_sequence = 3, chain_hash = $2 WHERE tenant_id = $1",
            tenant,
            kept["chain_hash"],
        )
    assert (await events.verify_chain(memory.scope)).intact
    found = await events.verify_chain(memory.scope, [anchor])
    assert found.broken == ChainBreak(sequence=anchor.sequence, problem="older than an anchor")
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    assert (await verify_alone(log))[0] == 0
    assert await verify_alone(log, [anchor]) == (1, f"event {anchor.sequence}: older than an anchor\n")
    for number in range(9):  # A log that grew again beyond the anchor is another one.
        await memory.remember(f"Another {number}.")
    found = await events.verify_chain(memory.scope, [anchor])
    assert found.broken == ChainBreak(sequence=anchor.sequence, problem="anchor differs")
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    assert await verify_alone(log, [anchor]) == (1, f"event {anchor.sequence}: anchor differs\n")


async def test_anchors_of_the_log_and_of_others(memory: LocalMemory, events: EventService) -> None:
    await written(memory, 2)
    first = await events.chain_head(memory.scope)
    await memory.remember("More.")
    other = first.model_copy(update={"tenant_id": "another", "hash": "0" * 64})
    found = await events.verify_chain(memory.scope, [first, first, await events.chain_head(memory.scope), other])
    assert (found.intact, found.anchors) == (True, 2)


async def test_erasure_keeps_the_chain_and_leaves_nothing_to_guess(
    server: Any, keeps: Keeps, tenant: str, tmp_path: Path, events: EventService
) -> None:
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    secret = await alice.remember("The gate code is swordfish.", namespace="n", key="gate")
    await bob.remember("Tea at five.")
    before = await events.chain_head(alice.scope)
    async with intruder(server) as connection:
        row = await connection.fetchrow("SELECT * FROM keeps.events WHERE tenant_id = $1 AND sequence = 1", tenant)
        assert row is not None
        await alice.forget(secret.memory_id, hard=True)
        await keeps.service(TenantService).erase_user(alice.scope, "alice")
        left = await connection.fetchrow("SELECT * FROM keeps.events WHERE tenant_id = $1 AND sequence = 1", tenant)
        assert left is not None
        log = [dict(each) for each in await connection.fetch("SELECT * FROM keeps.events WHERE tenant_id = $1", tenant)]
    assert left["contents_hash"] == row["contents_hash"]
    assert left["salt"] != row["salt"]
    assert len(row["salt"]) == 16
    stored = str(log)
    assert "alice" not in stored
    assert row["salt"].hex() not in stored
    assert str(row["salt"]) not in stored
    found = await events.verify_chain(bob.scope, [before])
    assert (found.intact, found.redacted, found.anchors) == (True, 2, 1)
    path = await export(keeps, tenant, tmp_path / "log.jsonl")
    assert "swordfish" not in path.read_text(encoding="utf-8")
    assert (await verify_alone(path, [before]))[0] == 0


async def test_what_is_left_of_a_redacted_event_is_in_the_chain(
    server: Any, keeps: Keeps, memory: LocalMemory, tenant: str, tmp_path: Path, events: EventService
) -> None:
    kept = await memory.remember("The gate code is swordfish.")
    await memory.forget(kept.memory_id, hard=True)
    async with intruder(server) as connection:
        await connection.execute(
            "UPDATE keeps.events SET user_id = 'mallory' WHERE tenant_id = $1 AND sequence = 1", tenant
        )
    problem = "contents removed without a record"
    assert (await events.verify_chain(memory.scope)).broken == ChainBreak(sequence=1, problem=problem)
    path = await export(keeps, tenant, tmp_path / "log.jsonl")
    code, said = await verify_alone(path)
    assert (code, said.splitlines()[-1]) == (1, f"event 1: {problem}")


async def test_salts_are_distinct_and_not_derived_from_what_stays(
    server: Any, memory: LocalMemory, tenant: str
) -> None:
    await memory.remember_many([NewMemory(content=f"Fact {number}.") for number in range(50)])
    async with intruder(server) as connection:
        rows = await connection.fetch("SELECT * FROM keeps.events WHERE tenant_id = $1 ORDER BY sequence", tenant)
        left = await connection.fetchval("SELECT current_setting('app.chain', true)")
    salts = [row["salt"] for row in rows]
    assert len(set(salts)) == 50
    assert not left
    hashes = {hashlib.sha256(value + row["sequence"].to_bytes(8)).digest()[:16] for row in rows for value in salts}
    assert not hashes & set(salts)


async def test_events_from_before_the_chain_stay_outside(
    server: Any, keeps: Keeps, memory: LocalMemory, tenant: str, tmp_path: Path, events: EventService
) -> None:
    await written(memory, 3)
    async with intruder(server) as connection:  # As a migration finds them.
        await connection.execute(
            "UPDATE keeps.events SET salt = NULL, contents_hash = NULL, previous_hash = NULL WHERE tenant_id = $1",
            tenant,
        )
        await connection.execute("UPDATE keeps.tenants SET chain_hash = NULL WHERE tenant_id = $1", tenant)
    found = await events.verify_chain(memory.scope)
    assert (found.intact, found.first, found.older, found.hash) == (True, None, 3, None)
    later = await memory.remember("Written after the migration.")
    old = (await memory.list())[-1]
    await memory.forget(old.memory_id, hard=True)
    await memory.forget(later.memory_id, hard=True)
    found = await events.verify_chain(memory.scope)
    assert (found.intact, found.first, found.older) == (True, 4, 3)
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    assert (await verify_alone(log))[0] == 0
    async with intruder(server) as connection:
        await connection.execute(
            "UPDATE keeps.events SET salt = NULL, contents_hash = NULL, previous_hash = NULL"
            " WHERE tenant_id = $1 AND sequence = 4",
            tenant,
        )
    assert (await events.verify_chain(memory.scope)).broken == ChainBreak(sequence=5, problem="not linked")
    log = await export(keeps, tenant, tmp_path / "log.jsonl")
    assert await verify_alone(log) == (1, "event 5: not linked\n")


async def test_retention_shortens_the_chain(server: Any, fresh_database: Any, shared: object, tmp_path: Path) -> None:
    name = await fresh_database()
    async with Keeps.open(database_url=server.url("keeps_app", name), embedder=shared) as keeps:
        events, memory = keeps.service(EventService), keeps.memory(Scope("acme", "alice"))
        await written(memory, 3)
        await memory.update((await memory.list())[0].memory_id, importance=0.3)
        gone = await memory.remember("Soon gone.")
        await memory.forget(gone.memory_id, hard=True)
        anchors = [await events.chain_head(memory.scope)]
        connection = await asyncpg.connect(server.url("postgres", name))
        # Half a year later: recorded_at is in the hashes, so the clock is set back before the events are linked again.
        await connection.execute("SET session_replication_role = replica")
        await connection.execute("UPDATE keeps.events SET recorded_at = recorded_at - interval '200 days'")
        await relinked(connection)
        anchors = [await events.chain_head(memory.scope)]
        await written(keeps.memory(Scope("acme", "bob")), 2)
        anchors.append(await events.chain_head(memory.scope))
        assert (await events.verify_chain(memory.scope, anchors)).intact
        for _ in range(2):
            assert (await events.retire(100)).removed >= 0
            found = await events.verify_chain(memory.scope, anchors)
            assert (found.broken, found.retired_through > 2) == (None, True)
            assert found.anchors + found.anchors_retired == 2
            log = await export(keeps, "acme", tmp_path / "log.jsonl")
            code, said = await verify_alone(log, anchors[1:])
            assert code == 0, said
        await connection.execute("UPDATE keeps.events SET event_id = gen_random_uuid() WHERE sequence = 1")
        problem = "kept events differ"
        assert (await events.verify_chain(memory.scope)).broken == ChainBreak(
            sequence=found.retired_through, problem=problem
        )
        log = await export(keeps, "acme", tmp_path / "log.jsonl")
        assert (await verify_alone(log))[1].splitlines()[-1] == f"event {found.retired_through}: {problem}"
        await connection.close()


async def relinked(connection: asyncpg.Connection) -> None:
    """Compute the links of all events again, as whoever owns the database can."""
    await connection.execute("""
        DO $$
        DECLARE each record; head bytea;
        BEGIN
            FOR each IN SELECT * FROM keeps.events ORDER BY tenant_id, sequence LOOP
                IF each.sequence = 1 THEN head := keeps.chain_start(each.tenant_id, 0); END IF;
                UPDATE keeps.events SET previous_hash = head
                WHERE tenant_id = each.tenant_id AND sequence = each.sequence
                RETURNING keeps.event_hash(tenant_id, sequence, event_id, type, source, time, recorded_at,
                    contents_hash, previous_hash) INTO head;
                UPDATE keeps.tenants SET chain_hash = head WHERE tenant_id = each.tenant_id;
            END LOOP;
        END $$""")


async def test_whoever_computes_the_chain_again_is_found_with_an_anchor(
    server: Any, fresh_database: Any, shared: object
) -> None:
    name = await fresh_database()
    async with Keeps.open(database_url=server.url("keeps_app", name), embedder=shared) as keeps:
        events, memory = keeps.service(EventService), keeps.memory(Scope("acme", "alice"))
        await written(memory)
        anchor = await events.chain_head(memory.scope)
        async with intruder(server, name) as connection:
            await connection.execute("UPDATE keeps.events SET type = 'memory.expired' WHERE sequence = 2")
            await relinked(connection)
        assert (await events.verify_chain(memory.scope)).intact
        found = await events.verify_chain(memory.scope, [anchor])
        assert found.broken == ChainBreak(sequence=5, problem="anchor differs")


async def test_serving_role_cannot_choose_links(server: Any, app_url: str, memory: LocalMemory, tenant: str) -> None:
    await memory.remember("First.")
    connection = await asyncpg.connect(app_url)
    try:
        async with connection.transaction():
            await connection.execute(
                "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'alice', true),"
                " set_config('app.log_change', 'retire', true)",
                tenant,
            )
            await connection.execute("UPDATE keeps.tenants SET last_sequence = 2 WHERE tenant_id = $1", tenant)
            await connection.execute(
                "INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id,"
                " visibility, data, salt, previous_hash, contents_hash) VALUES ($1, 2, gen_random_uuid(),"
                " 'memory.written', 'keeps', 's', now(), 'alice', 'private', '{}', '', '', '')",
                tenant,
            )
    finally:
        await connection.close()
    async with intruder(server) as admin:
        row = await admin.fetchrow("SELECT * FROM keeps.events WHERE tenant_id = $1 AND sequence = 2", tenant)
    assert row is not None
    assert [len(row[name]) for name in ("salt", "previous_hash", "contents_hash")] == [16, 32, 32]


async def test_log_without_events_has_no_head(keeps: Keeps, tenant: str, events: EventService) -> None:
    found = await events.verify_chain(
        Scope(tenant, "alice"),
        [Anchor.model_validate({"tenant_id": tenant, "sequence": 3, "hash": "0" * 64, "time": "2026-01-01T00:00:00Z"})],
    )
    assert found.broken == ChainBreak(sequence=3, problem="older than an anchor")
    assert json.loads(found.model_dump_json())["events"] == 0


async def test_removed_tenant_leaves_no_event_to_its_namesake(
    server: Any, keeps: Keeps, memory: LocalMemory, tenant: str, events: EventService
) -> None:
    await written(memory)
    await keeps.memory(Scope(tenant, "bob")).remember("Tea at five.")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    try:
        for setting in ("", "another"):  # Without app.log_change, and with one that does not erase.
            await connection.execute("SELECT set_config('app.log_change', $1, false)", setting)
            with pytest.raises(asyncpg.PostgresError, match="append-only"):
                await connection.execute("DELETE FROM keeps.tenants WHERE tenant_id = $1", tenant)
        await keeps.service(TenantService).erase_tenant(memory.scope)
        assert await connection.fetchval("SELECT count(*) FROM keeps.events WHERE tenant_id = $1", tenant) == 0
    finally:
        await connection.close()
    await written(memory, 1)
    assert (await events.verify_chain(memory.scope)).events == 1
