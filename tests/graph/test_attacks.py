"""What an attacker found in the log, the graph and the providers, and must not find again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.store.events.service import EventService
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import ConflictError, NotFoundError


def of(keeps: Keeps, tenant: str, *users: str) -> list[Any]:
    return [keeps.memory(Scope(tenant, user)) for user in users]


async def log_of(server: Any, tenant: str) -> str:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    rows = await connection.fetch(
        "SELECT events::text FROM keeps.events WHERE tenant_id = $1 UNION ALL SELECT answer::text FROM"
        " keeps.idempotency_keys WHERE tenant_id = $1",
        tenant,
    )
    await connection.close()
    return "\n".join(row[0] for row in rows)


async def equal(keeps: Keeps, tenant: str) -> bool:
    found = await keeps.service(EventService).verify(Scope(tenant, "ann"))
    assert found.differences == []
    return True


async def test_entity_with_memory_id_gets_no_access(keeps: Keeps, tenant: str) -> None:
    ann, bob, cat = of(keeps, tenant, "ann", "bob", "cat")
    shared = await ann.remember("shared fact", visibility="tenant")
    for visibility in ("tenant", "private"):
        await bob.add_entity("Plan", entity_id=shared.memory_id, visibility=visibility, properties={"s": "BOBSECRET"})
    now = datetime.now(UTC) + timedelta(seconds=5)
    for attempt in (cat.get_entity(shared.memory_id), cat.get_entity(shared.memory_id, as_of=now)):
        with pytest.raises(NotFoundError):
            await attempt
    assert "BOBSECRET" not in str(await cat.events(limit=200))
    assert "BOBSECRET" not in str(await ann.history(shared.memory_id))
    await ann.forget(shared.memory_id, hard=True)
    assert await equal(keeps, tenant)


async def test_foreign_entity_id_is_refused(keeps: Keeps, tenant: str) -> None:
    ann, bob = of(keeps, tenant, "ann", "bob")
    secret = await ann.add_entity("Secret")
    with pytest.raises(NotFoundError):
        await bob.add_entity("foo", entity_id=secret.entity_id)
    assert (await ann.get_entity(secret.entity_id)).name == "Secret"


async def test_an_erased_id_is_not_used_again(keeps: Keeps, tenant: str) -> None:
    ann, bob = of(keeps, tenant, "ann", "bob")
    shared = await ann.add_entity("A", visibility="tenant")
    await bob.add_relation(await bob.add_entity("B"), shared.entity_id, "knows")
    await ann.delete_entity(shared.entity_id, hard=True)
    assert await equal(keeps, tenant), "bob's edge went with it, and the log says so"
    with pytest.raises(ConflictError, match="erased"):
        await ann.add_entity("A", entity_id=shared.entity_id)


async def test_import_after_erasure_restores_only_its_rows(keeps: Keeps, tenant: str) -> None:
    ann, bob = of(keeps, tenant, "ann", "bob")
    shared = await ann.add_entity("A", visibility="tenant")
    told = await bob.remember("Bob knows A.")
    await bob.add_relation(await bob.add_entity("B"), shared.entity_id, "knows")
    await bob.add_mention(told.memory_id, shared.entity_id)
    lines = [line async for line in keeps.service(TransferService).export(ann.scope, "ann")]
    await keeps.service(TenantService).erase_user(ann.scope, "ann")
    assert await equal(keeps, tenant)
    assert (await keeps.service(TransferService).import_lines(ann.scope, lines)).stored == 1
    assert await equal(keeps, tenant)


async def test_erased_mention_is_absent_from_log(keeps: Keeps, tenant: str) -> None:
    (ann,) = of(keeps, tenant, "ann")
    told = await ann.remember("Ann met Al.")
    await ann.add_mention(told.memory_id, (await ann.add_entity("Al")).entity_id)
    lines = [
        line async for line in keeps.service(TransferService).export(ann.scope, "ann") if '"type": "memory"' in line
    ]
    await ann.forget(told.memory_id, hard=True)
    await keeps.service(TransferService).import_lines(ann.scope, lines)
    assert await equal(keeps, tenant)


async def test_imported_mentions_need_own_memories(keeps: Keeps, tenant: str) -> None:
    import json

    ann, bob = of(keeps, tenant, "ann", "bob")
    shared = await ann.remember("Ann met Al.", visibility="tenant")
    entity = await bob.add_entity("Al")
    row = {
        "memory_id": str(shared.memory_id),
        "entity_id": str(entity.entity_id),
        "user_id": "bob",
        "source": "user",
        "rejected": False,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    summary = await keeps.service(TransferService).import_lines(
        bob.scope, [json.dumps({"type": "mention", "row": row})]
    )
    assert (summary.stored, summary.failed) == (0, 1)


async def test_merges_of_merges_are_undone_in_turn(keeps: Keeps, tenant: str) -> None:
    (ann,) = of(keeps, tenant, "ann")
    a, b, c, x = [await ann.add_entity(name, entity_type="person") for name in "ABCX"]
    await ann.add_relation(c, x, "knows")
    before = datetime.now(UTC)
    await ann.merge_entities(b.entity_id, c.entity_id)
    await ann.merge_entities(a.entity_id, b.entity_id)
    assert len(await ann.get_relations(c.entity_id, as_of=before)) == 1
    with pytest.raises(ConflictError, match="undo that first"):
        await ann.unmerge_entity(c.entity_id)
    with pytest.raises(ConflictError, match="merged into"):
        await ann.add_entity("B", entity_type="person", entity_id=b.entity_id, properties={"x": 1})
    lines = [line async for line in keeps.service(TransferService).export(ann.scope, "ann")]
    other = Scope(f"{tenant}-2", "root")
    assert (await keeps.service(TransferService).import_lines(other, lines)).errors == []
    await ann.unmerge_entity(b.entity_id)
    await ann.unmerge_entity(c.entity_id)
    assert len(await ann.get_relations(c.entity_id)) == 1
    assert await equal(keeps, tenant)


async def test_erasing_entity_separates_merged_ones(keeps: Keeps, tenant: str) -> None:
    (ann,) = of(keeps, tenant, "ann")
    a, b, c = [
        await ann.add_entity(name, entity_type=kind) for name, kind in (("A", "org"), ("B", "person"), ("C", "person"))
    ]
    await ann.merge_entities(a.entity_id, b.entity_id)
    await ann.merge_entities(a.entity_id, c.entity_id)
    await ann.add_entity("B", entity_type="person")
    await ann.delete_entity(a.entity_id, hard=True)
    assert (await ann.get_entity(c.entity_id)).merged_into is None
    with pytest.raises(NotFoundError):
        await ann.get_entity(b.entity_id)
    assert await equal(keeps, tenant)


async def test_erasure_leaves_no_names(keeps: Keeps, tenant: str, server: Any) -> None:
    (ann,) = of(keeps, tenant, "ann")
    kept, gone = await ann.add_entity("Kept"), await ann.add_entity("Topsecretname", properties={"ssn": "123-secret"})
    await ann.merge_entities(kept.entity_id, gone.entity_id)
    during = datetime.now(UTC)
    await ann.unmerge_entity(gone.entity_id)
    erased = await ann.delete_entity(gone.entity_id, hard=True)
    assert (erased.name, erased.properties) == ("(erased)", {})
    told = await ann.remember("Yesterday Ludmila Petrova was my doctor.")
    await ann.read_entities()
    await ann.forget(told.memory_id, hard=True)
    assert (await ann.list_entities(name="Ludmila Petrova")).items == []
    log = await log_of(server, tenant)
    for secret in ("Topsecretname", "123-secret", "Ludmila"):
        assert secret not in log, secret
    assert (await ann.get_entity(kept.entity_id, as_of=during)).aliases == ()
    assert await equal(keeps, tenant)


async def test_agent_token_sees_no_names_of_others(keeps: Keeps, tenant: str) -> None:
    (ann,) = of(keeps, tenant, "ann")
    await ann.log_interaction("alpha", "user", "Yesterday I met Zorblax Quux.")
    await ann.read_entities()
    await ann.add_entity("Known")
    beta = keeps.memory(Scope(tenant, "ann", "beta", agent_bound=True))
    assert [each.name for each in (await beta.list_entities()).items] == ["Known"]
    assert "Zorblax" not in str(await beta.events(limit=200))


async def test_forged_history_is_rejected(keeps: Keeps, tenant: str, raw: asyncpg.Connection) -> None:
    """A defect that lets bob write any event still cannot speak for ann."""
    ann, bob, cat = of(keeps, tenant, "ann", "bob", "cat")
    shared = await ann.remember("The office closes at six.", visibility="tenant")
    await bob.remember("Bob was here.")
    async with raw.transaction():
        await raw.execute(
            "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'bob', true)", tenant
        )
        for number, subject in enumerate((str(shared.memory_id), "not-a-uuid")):
            await raw.execute(
                "INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id,"
                " visibility, data) SELECT $1, $3, gen_random_uuid(), 'memory.written', 'keeps', $2, now(), 'bob',"
                " 'tenant', jsonb_build_object('memory', to_jsonb(memories) || '{\"content\": \"FORGED\"}') FROM"
                " keeps.memories WHERE memory_id = $4",
                tenant,
                subject,
                900 + number,
                shared.memory_id,
            )
    now = datetime.now(UTC) + timedelta(seconds=5)
    for reader in (ann, cat):
        assert (await reader.get(shared.memory_id, as_of=now)).content == "The office closes at six."
        assert "FORGED" not in str((await reader.recall("office closes", as_of=now)).hits)
        await reader.events(limit=200)


async def test_long_names_can_be_erased(keeps: Keeps, tenant: str) -> None:
    user = "é" * 100
    (long,) = of(keeps, tenant, user)
    await long.remember("hello", namespace="n", key="k")
    await long.write_entry("markdown", "a", "v")
    assert (await long.recall("hello")).hits
    assert (await long.forget(namespace="n", key="k")).status == "forgotten"
    receipt = await keeps.service(TenantService).erase_user(long.scope, user)
    assert (receipt.complete, receipt.removed["provider markdown"]) == (True, 1)


async def test_an_erased_administrator_is_no_longer_named(keeps: Keeps, tenant: str) -> None:
    from keeps_client.models import NewWebhook

    (ann,) = of(keeps, tenant, "ann")
    await ann.remember("x")
    await keeps.service(WebhookService).add(ann.scope, NewWebhook(url="https://example.com"))
    await keeps.service(TenantService).erase_user(ann.scope, "ann")
    (held,) = await keeps.service(WebhookService).list(Scope(tenant, "bob"))
    assert held.created_by == ""
