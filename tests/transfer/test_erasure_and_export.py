"""Erasure leaves nothing, and an export comes back the same."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.sentences import sentence
from keeps.memory.indexing.service import Indexer
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.store.access.keys import KeyService
from keeps.store.events.service import EventService
from keeps_client import MemoryClient
from keeps_client.errors import NotFoundError, QuotaExceededError
from keeps_client.models import NewKey, NewTranscriptEntry, Quota
from keeps_client.workflow import WorkflowState
from tests.serving import token

TABLES = (
    "users",
    "audience_words",
    "memories",
    "memory_access",
    "memory_words",
    "memory_vectors",
    "sessions",
    "plans",
    "plan_correlations",
    "task_contexts",
    "task_subtasks",
    "working_memory",
    "entities",
    "entity_names",
    "relations",
    "mentions",
    "memory_readings",
    "idempotency_keys",
    "api_keys",
    "documents",
    "document_passages",
    "transcripts",
    "transcript_entries",
    "transcript_values",
    "items",
    "item_refreshes",
    "item_vectors",
    "events",
)


async def filled(keeps: Keeps, tenant: str, user: str) -> Any:
    """A user with something in every table, all of it saying swordfish."""
    memory = keeps.memory(Scope(tenant, user, roles=frozenset({"admin"})))
    await memory.remember("My password is swordfish.", namespace="n", key="k")
    await memory.remember("My password is swordfish no more.", namespace="n", key="k")
    await memory.remember("A shared swordfish.", visibility="tenant")
    await memory.log_interaction("agent", "user", "swordfish", session_id="swordfish-session")
    await memory.recall("password")
    await keeps.service(AccessBuffer).flush()
    await memory.create_plan(
        plan_id="swordfish-plan", goal_event="g", session_id="swordfish-session", goal_data={"x": "swordfish"}
    )
    await memory.update_plan("swordfish-plan", correlation_ids=["swordfish-correlation"])
    await memory.store_task_context(
        "swordfish-task", event_type="e", sub_tasks=["swordfish-sub"], data={"x": "swordfish"}
    )
    await memory.store("swordfish-key", "swordfish", "swordfish-plan")
    await memory.store("swordfish-key", "swordfish", "shared-plan")
    entity = await memory.add_entity(
        "Swordfish Inc", entity_type="org", aliases=["swordfish"], properties={"x": "swordfish"}
    )
    gone = await memory.add_entity("Old swordfish", entity_type="org")
    await memory.add_relation(entity, await memory.add_entity("Harbour"), "lies_in", properties={"x": "swordfish"})
    await memory.merge_entities(entity.entity_id, gone.entity_id)
    await memory.add_mention((await memory.find("n", "k")).memory_id, entity.entity_id)
    await memory.read_entities()
    for provider in ("working", "markdown"):
        await memory.write_entry(provider, "swordfish", "The swordfish swims.", metadata={"content_type": "event"})
    await memory.add_document("# Of the swordfish\n\nThe swordfish swims.", source=f"{user}-swordfish.md")
    await memory.create_transcript(
        "swordfish-app", transcript_id="t", state={"x": "swordfish"}, user_state={"y": "swordfish", "z": None}
    )
    await memory.put_item(("swordfish",), "k", {"x": "swordfish"}, ttl_minutes=60)
    await memory.put_item(("swordfish", "below"), "swordfish", {"x": None}, texts={"x": "a swordfish"})
    await memory.get_item(("swordfish",), "k", refresh_ttl=True)
    said = [NewTranscriptEntry(entry_id=str(number), entry={"text": "swordfish"}) for number in range(3)]
    await memory.append_to_transcript("swordfish-app", "t", said, state={"x": "a swordfish"})
    await memory.keeps.service(KeyService).make(memory.scope, NewKey(name="k", user_id=user))
    return memory


async def dump(connection: asyncpg.Connection, tenant: str) -> dict[str, list[str]]:
    return {
        table: [
            row[0]
            for row in await connection.fetch(
                f"SELECT t::text FROM keeps.{table} AS t WHERE tenant_id = $1 ORDER BY 1", tenant
            )
        ]
        for table in TABLES
    }


@pytest.fixture
async def superuser(server: Any) -> Any:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    yield connection
    await connection.close()


async def test_an_erased_user_is_nowhere(
    keeps: Keeps, tenant: str, secured_url: str, superuser: asyncpg.Connection
) -> None:
    await filled(keeps, tenant, "swordfish-alice")
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.remember("Bob's own fact.")
    await bob.store("bobs", 1, "shared-plan")
    async with MemoryClient(secured_url, token=token(tenant, "swordfish-alice")) as alice:
        await alice.append_to_list("log", "swordfish", "shared-plan")
    before = await dump(superuser, tenant)
    assert sum("swordfish" in row for rows in before.values() for row in rows) > 25
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        receipt = await root.admin.erase_user("swordfish-alice")
        assert receipt.complete
        assert set(receipt.remaining.values()) == {0}
        for table in (
            "memories",
            "memory_vectors",
            "memory_words",
            "sessions",
            "plans",
            "task_contexts",
            "working_memory",
            "api_keys",
            "idempotency_keys",
        ):
            assert receipt.removed[table] > 0, table
        assert receipt.events_redacted > 5
        with pytest.raises(NotFoundError):
            await root.admin.erase_user("swordfish-alice")
    after = await dump(superuser, tenant)
    left = [row for table, rows in after.items() for row in rows if "swordfish" in row]
    assert left == []
    assert len(after["events"]) >= len(before["events"]), "that something happened stays known"
    assert (await bob.list()).items[0].content == "Bob's own fact."
    assert await bob.retrieve("bobs", "shared-plan") == 1


async def test_an_erased_user_can_come_back_as_a_new_one(keeps: Keeps, tenant: str) -> None:
    alice = await filled(keeps, tenant, "alice")
    await alice.keeps.service(TenantService).erase_user(alice.scope, "alice")
    assert (await alice.list()).items == []
    assert (await alice.remember("A new life.")).status == "created"


async def test_an_erased_tenant_is_nowhere(keeps: Keeps, tenant: str, superuser: asyncpg.Connection) -> None:
    alice = await filled(keeps, tenant, "alice")
    await filled(keeps, f"{tenant}-other", "alice")
    receipt = await alice.keeps.service(TenantService).erase_tenant(alice.scope)
    assert (receipt.complete, receipt.removed["memories"] > 0, receipt.removed["events"] > 0) == (True, True, True)
    assert all(rows == [] for rows in (await dump(superuser, tenant)).values())
    other = await dump(superuser, f"{tenant}-other")
    assert all(rows for table, rows in other.items() if table != "idempotency_keys")


async def test_an_export_comes_back_the_same(keeps: Keeps, tenant: str, superuser: asyncpg.Connection) -> None:
    alice = await filled(keeps, tenant, "alice")
    await keeps.memory(Scope(tenant, "bob")).remember("Bob's own fact.")
    lines = [line async for line in alice.keeps.service(TransferService).export(alice.scope)]
    assert {json.loads(line)["row"]["user_id"] for line in lines} == {"alice", "bob"}
    only = [line async for line in alice.keeps.service(TransferService).export(alice.scope, "bob")]
    assert {json.loads(line)["row"]["user_id"] for line in only} == {"bob"}
    tables = (
        "memories",
        "sessions",
        "plans",
        "plan_correlations",
        "task_contexts",
        "task_subtasks",
        "working_memory",
        "entities",
        "entity_names",
        "relations",
        "mentions",
        "transcripts",
    )
    talk = await alice.get_transcript("swordfish-app", "t")
    items = await alice.search_items(("swordfish",))
    before = await dump(superuser, tenant)
    again = await alice.keeps.service(TransferService).import_lines(alice.scope, lines)
    assert (again.stored, again.unchanged, again.failed) == (0, len(lines), 0)
    await alice.keeps.service(TenantService).erase_tenant(alice.scope)
    looked = await alice.admin.import_lines([*lines, "no json"], dry_run=True)
    assert (looked.stored, looked.unchanged, len(looked.errors)) == (len(lines), 0, 1), looked.errors
    assert not any((await dump(superuser, tenant)).values()), "a dry run stores nothing"
    summary = await alice.keeps.service(TransferService).import_lines(alice.scope, lines)
    assert (summary.stored, summary.unchanged, summary.errors) == (len(lines), 0, [])
    after = await dump(superuser, tenant)
    before["mentions"] = [row for row in before["mentions"] if ",user," in row]  # what reading found is found again
    assert {name: after[name] for name in tables} == {name: before[name] for name in tables}
    assert (await keeps.service(EventService).verify(alice.scope)).differences == []
    assert await alice.get_transcript("swordfish-app", "t") == talk
    assert await alice.search_items(("swordfish",)) == items
    await keeps.service(Indexer).settle(alice.scope)
    assert (await alice.search_items(query="a swordfish"))[0].key == "swordfish", "vectors are made again"
    assert (await alice.recall("password")).hits[0].memory.content == "My password is swordfish no more."


async def test_every_list_is_exported_in_pages(keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a page has, each once and in order."""
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember_many([{"content": f"note {n} " + "x" * 40_000} for n in range(120)], index="later")
    sessions = [await alice.create_session(session_id=f"s{n:03}") for n in range(60)]
    plans = [await alice.create_plan(goal_event="goal", plan_id=f"p{n:03}") for n in range(60)]
    for number in range(60):
        await alice.set_plan_state("p000", f"k{number:03}", number)
    service: Any = keeps.service(TransferService)
    read, pages = service._read, list[int]()

    async def counted(*given: Any) -> Any:
        rows = await read(*given)
        pages.append(len(rows))
        return rows

    monkeypatch.setattr(service, "_read", counted)
    lines = [json.loads(line) async for line in keeps.service(TransferService).export(alice.scope)]

    def of(kind: str, name: str) -> list[str]:
        return [line["row"][name] for line in lines if line["type"] == kind]

    assert len(set(of("memory", "memory_id"))) == len(of("memory", "memory_id")) == 120
    assert of("session", "session_id") == [each.session_id for each in sessions]
    assert of("plan", "plan_id") == [each.plan_id for each in plans]
    assert of("working_memory", "key") == [f"k{number:03}" for number in range(60)]
    assert max(pages) < 120, "a page of long memories is short"


async def test_lines_that_cannot_be_stored_are_reported_and_the_others_go_on(keeps: Keeps, tenant: str) -> None:
    alice = await filled(keeps, tenant, "alice")
    lines = [line async for line in alice.keeps.service(TransferService).export(alice.scope)]
    other = keeps.memory(Scope(f"{tenant}-2", "root", roles=frozenset({"admin"})))
    good = json.loads(next(line for line in lines if '"memory"' in line))
    bad = [
        "no json",
        "[]",
        '{"type": "memory"}',
        '{"type": "x", "row": {"user_id": "a"}}',
        json.dumps({"type": "memory", "row": {"user_id": "alice"}}),
        json.dumps({"type": "memory", "row": {**good["row"], "memory_id": "x"}}),
        json.dumps({"type": "memory", "row": {**good["row"], "content": "a\x00b"}}),
        json.dumps({"type": "memory", "row": {**good["row"], "user_id": ""}}),
        json.dumps({"type": "working_memory", "row": {"user_id": "alice"}}),
    ]
    summary = await other.keeps.service(TransferService).import_lines(other.scope, [*bad, json.dumps(good), ""])
    assert (summary.stored, summary.failed) == (1, len(bad))
    assert [each.split(":")[0] for each in summary.errors] == [f"line {number}" for number in range(1, len(bad) + 1)]
    stored = (await keeps.memory(Scope(f"{tenant}-2", "alice")).list()).items
    assert [each.tenant_id for each in stored] == [f"{tenant}-2"], "the tenant is the importer's, whatever a line says"


async def test_over_http_an_export_goes_in_again(keeps: Keeps, tenant: str, secured_url: str) -> None:
    await filled(keeps, tenant, "alice")
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        lines = await root.admin.export_lines(user_id="alice")
        assert len(lines) > 5
    async with MemoryClient(secured_url, token=token(f"{tenant}-2", "root", "admin")) as other:
        looked = await other.admin.import_lines(lines, dry_run=True)
        assert (looked.stored, (await other.list()).items) == (len(lines), [])
        summary = await other.admin.import_lines(lines)
        assert (summary.stored, summary.failed) == (len(lines), 0)


async def test_a_quota_is_kept_by_the_database(keeps: Keeps, tenant: str, secured_url: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    receipt = await alice.remember("one")
    async with MemoryClient(secured_url, token=token("ops", "root", "operator")) as operator:
        info = await operator.admin.set_quota(tenant, max_memories=2)
        assert (info.memories, info.bytes, info.max_memories) == (1, len("one") + len("{}"), 2)
        assert tenant in [each.tenant_id for each in await operator.admin.list_tenants(after=tenant[:-1])]
    await alice.remember("two")
    for attempt in (alice.remember("three"), alice.remember_many([{"content": "four"}, {"content": "five"}])):
        with pytest.raises(QuotaExceededError, match="may hold 2 memories"):
            await attempt
    async with MemoryClient(secured_url, token=token(tenant, "alice")) as remote:
        with pytest.raises(QuotaExceededError, match="quota is used up") as refused:
            await remote.remember("six")
    assert (refused.value.code, refused.value.status) == ("quota_exceeded", 403)
    assert "storage is full" in sentence(refused.value)
    assert len((await alice.list()).items) == 2
    await alice.forget(receipt.memory_id, hard=True)
    assert (await alice.remember("three")).status == "created"
    await alice.keeps.service(TenantService).set_quota(tenant, Quota(max_bytes=20, max_memories=None))
    with pytest.raises(QuotaExceededError, match="may hold 20 bytes"):
        await alice.remember("x" * 30)
    page = await alice.keeps.service(TenantService).page(tenant[:-1], 1)
    assert (page[0].tenant_id, page[0].memories) == (tenant, 2)


async def test_erasing_a_user_keeps_state_that_others_wrote(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, name, roles=frozenset({"admin"}))) for name in ("alice", "bob"))
    await bob.create_plan(plan_id="plan", goal_event="g")
    for number in range(5):
        await alice.append_to_list("list", number, "plan")
    await bob.append_to_list("list", 5, "plan")
    await alice.store("counter", 1, "plan")
    await bob.increment("counter", "plan")
    await bob.store("own", "of bob", "plan")
    await alice.store("once", "of alice", "plan")
    await alice.delete_plan_state("plan", "once")
    await bob.store("once", "of bob", "plan")
    receipt = await alice.admin.erase_user("bob")
    assert (receipt.complete, receipt.removed["working_memory"]) == (True, 2)
    items = {item.key: item for item in await alice.list_plan_state("plan")}
    assert {key: item.value for key, item in items.items()} == {"list": [0, 1, 2, 3, 4, 5], "counter": 2}
    assert {item.user_id for item in items.values()} == {"alice"}
    assert await alice.append_to_list("list", 6, "plan") == [0, 1, 2, 3, 4, 5, 6]
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []


async def test_state_stays_until_its_last_writer_is_erased(keeps: Keeps, tenant: str) -> None:
    users = {name: keeps.memory(Scope(tenant, name, roles=frozenset({"admin"}))) for name in ("a", "b", "c")}
    for memory in users.values():
        await memory.append_to_list("list", "x", "plan")
    for gone, left in (("c", 1), ("a", 1), ("b", 0)):
        await users[gone].admin.erase_user(gone)
        assert len(await users["a"].list_plan_state("plan")) == left


async def test_an_import_keeps_which_keys_a_workflow_made(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await WorkflowState(memory, "plan").set("own", 1)
    await memory.store("plain", 2, "plan")
    lines = [line async for line in keeps.service(TransferService).export(memory.scope)]
    other = keeps.memory(Scope(f"{tenant}-other", "alice", roles=frozenset({"admin"})))
    await other.admin.import_lines(lines)
    await WorkflowState(other, "plan").clear()
    assert await WorkflowState(other, "plan").get_all() == {"action_history": [], "plain": 2}
    assert (await keeps.service(EventService).verify(Scope(f"{tenant}-other", "alice"))).differences == []


async def test_an_edited_line_is_a_memory_of_its_new_words(keeps: Keeps, tenant: str) -> None:
    """Its old hash would hide it from the next write of the same words, which would be stored twice."""
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await memory.remember("Tea at four.")
    lines = [
        line.replace("Tea at four.", "Tea at five.")
        async for line in keeps.service(TransferService).export(memory.scope)
    ]
    other = keeps.memory(Scope(f"{tenant}-other", "alice", roles=frozenset({"admin"})))
    assert (await other.admin.import_lines(lines)).stored == 1
    assert (await keeps.service(EventService).verify(other.scope)).differences == []
    assert (await other.remember("Tea at five.")).status == "unchanged"
    assert (await other.remember("Tea at four.")).status == "created"


async def test_an_edited_line_of_what_is_there_differs(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin"})))
    await memory.remember("Tea at four.", importance=0.7)
    await memory.put_item(("notes",), "k", {"text": "Tea at four."}, index=False)
    await memory.create_session("Tea at four.", session_id="s")
    await memory.create_plan("Tea at four.", plan_id="p")
    await memory.set_plan_state("p", "k", {"text": "Tea at four."})
    await memory.store_task_context("t", event_type="Tea at four.", sub_tasks=["u"])
    lines = await memory.admin.export_lines()
    again = await memory.admin.import_lines(lines)
    assert (again.unchanged, again.differs) == (len(lines), 0)
    edited = [line.replace("Tea at four.", "Tea at five.") for line in lines]
    for dry_run in (True, False):
        done = await memory.admin.import_lines(edited, dry_run=dry_run)
        assert (done.stored, done.unchanged, done.differs, done.failed) == (0, 0, len(lines), 0), done
    more = [line.replace('"importance": 0.7', '"importance": 0.8') for line in lines]
    assert (await memory.admin.import_lines(more)).differs == 1
