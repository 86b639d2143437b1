"""Frozen tenants from outside: keys, erasure, damage, older bundles, retention, cells, and what costs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.bootstrap import open_keeps
from keeps.memory.jobs.worker import Worker
from keeps.memory.transfer.certificates import verify
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.freezing import bundles, service
from keeps.operate.freezing.directory import FrozenDirectory
from keeps.operate.freezing.freezing import Freeze
from keeps.sources.databases.sealing import KeyRing
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import ConflictError, KeepsError, NotFoundError, UnavailableError
from tests.conftest import SECRET_KEY, admin
from tests.freezing.conftest import Cold, settings_of
from tests.serving import serving


async def planted(cold: Cold, tenant: str) -> None:
    await cold.keeps.memory(Scope(tenant, "alice")).remember("The harbour is grey.")
    await cold.service.flush()


async def test_a_key_of_a_frozen_tenant_wakes_it_over_http(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    admin = cold.keeps.memory(Scope(tenant, "alice", roles=frozenset({"admin", "writer", "reader"}))).admin
    key = await admin.make_key("reader", roles=["reader"], user_id="alice")
    gone = await admin.make_key("gone", roles=["reader"], user_id="alice")
    await admin.revoke_key(gone.key_id)
    await cold.service.freeze(tenant)
    async with (
        serving(cold.keeps, auth="keys", jwt_secret=None) as url,
        aiohttp.ClientSession(headers={"X-Api-Key": key.secret}) as http,
    ):
        async with http.get(f"{url}/v1/memories", headers={"X-Api-Key": gone.secret}) as refused:
            assert refused.status == 401
        assert await cold.held(tenant) == 0, "a revoked key wakes nobody"
        async with http.get(f"{url}/v1/memories") as answer:
            assert answer.status == 200
            assert [each["content"] for each in (await answer.json())["items"]] == ["The harbour is grey."]
    assert await cold.service.find(tenant) is None


async def test_a_call_that_waits_too_long_is_told_when_to_try_again(
    cold: Cold, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    monkeypatch.setattr(service, "WAKE_SECONDS", 0.0)
    async with serving(cold.keeps) as url, aiohttp.ClientSession() as http:
        headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
        async with http.get(f"{url}/v1/memories", headers=headers) as answer:
            assert (answer.status, (await answer.json())["code"]) == (503, "unavailable")
            assert int(answer.headers["Retry-After"]) >= 1
            assert cold.folder.name not in await answer.text()
    monkeypatch.undo()
    assert (await cold.keeps.memory(Scope(tenant, "alice")).list()).items


async def test_erasing_a_frozen_tenant_removes_its_bundle(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    receipt = await cold.keeps.service(TenantService).erase_tenant(Scope(tenant, "operator"))
    assert (receipt.complete, receipt.removed["memories"]) == (True, 1)
    assert cold.bundles_of(tenant) == []
    assert await cold.service.find(tenant) is None
    assert await cold.held(tenant) == 0


async def test_erasing_a_tenant_whose_bundle_is_missing_gives_its_certificate(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    for each in cold.bundles_of(tenant):
        each.unlink()
    receipt = await cold.keeps.service(TenantService).erase_tenant(Scope(tenant, "operator"))
    assert (receipt.complete, receipt.removed["memories"]) == (True, 1)
    assert receipt.certificate is not None
    assert verify(receipt.certificate, None)["log"]["sequence"] == 1
    with pytest.raises(NotFoundError):
        await cold.service.thaw(tenant)


async def test_erasing_a_user_of_a_frozen_tenant_thaws_it(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.keeps.memory(Scope(tenant, "bob")).remember("Bob sings.")
    await cold.service.freeze(tenant)
    receipt = await cold.keeps.service(TenantService).erase_user(Scope(tenant, "admin"), "bob")
    assert receipt.complete
    assert cold.bundles_of(tenant) == []
    assert (await cold.keeps.memory(Scope(tenant, "alice")).list()).items


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "another's"])
async def test_a_damaged_bundle_leaves_the_tenant_frozen(cold: Cold, tenant: str, damage: str) -> None:
    other = f"{tenant}-other"
    for each in (tenant, other):
        await planted(cold, each)
        await cold.service.freeze(each)
    (path,) = cold.bundles_of(tenant)
    whole = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(whole[:-20])
        case "changed":
            path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        case _:
            path.write_bytes(cold.bundles_of(other)[0].read_bytes())
    with pytest.raises(UnavailableError) as told:
        await cold.keeps.memory(Scope(tenant, "alice")).list()
    assert path.name not in told.value.detail
    with pytest.raises(UnavailableError, match=path.name):
        await cold.service.thaw(tenant)
    assert await cold.held(tenant) == 0
    listed = {each.tenant_id: each for each in await cold.service.all(check=True)}
    assert (listed[tenant].state, listed[tenant].problem is not None) == ("frozen", damage == "missing")
    assert (await cold.keeps.memory(Scope(other, "alice")).list()).items, "others are unaffected"
    path.write_bytes(whole)
    await cold.service.thaw(tenant)
    assert (await cold.keeps.memory(Scope(tenant, "alice")).list()).items


async def rewritten(cold: Cold, tenant: str, revision: str, change: Any) -> None:
    """Replace the bundle of a tenant by one that an earlier release wrote: other columns, another digest."""
    directory = FrozenDirectory(cold.keeps.database, KeyRing([SECRET_KEY]))
    entry = await directory.find(tenant)
    assert entry is not None
    (path,) = cold.bundles_of(tenant)
    with bundles.reading(path, entry.key, entry.tenant.bundle) as reader:
        columns = {name: list(each) for name, each in reader.columns.items()}
        parts: list[tuple[str, str]] = []
        while (part := reader.next()) is not None:
            parts.append(part)
    columns, parts = change(columns, parts)
    with bundles.writing(path, entry.key, entry.tenant.bundle, {"revision": revision, "tables": columns}) as writer:
        for table, batch in parts:
            writer.add(table, batch, len(json.loads(batch)))
    await cold.run(
        "UPDATE keeps_cells.frozen SET digest = $2 WHERE tenant_hash = keeps.tenant_hash($1)",
        tenant,
        writer.contents.digest,
    )


def without(table: str, column: str) -> Any:
    def change(columns: dict[str, list[str]], parts: list[tuple[str, str]]) -> Any:
        place = columns[table].index(column)
        rows = [
            (
                name,
                json.dumps([row[:place] + row[place + 1 :] for row in json.loads(batch)]) if name == table else batch,
            )
            for name, batch in parts
        ]
        return {**columns, table: columns[table][:place] + columns[table][place + 1 :]}, rows

    return change


async def test_an_older_bundle_gets_the_defaults_of_later_columns(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    await rewritten(cold, tenant, bundles.OLDEST, without("tenants", "used_on"))
    await cold.service.thaw(tenant)
    assert (await cold.keeps.memory(Scope(tenant, "alice")).list()).items


@pytest.mark.parametrize(
    ("revision", "change", "said"),
    [
        ("0028", lambda columns, parts: (columns, parts), "thaw it with an earlier release"),
        ("9999", lambda columns, parts: (columns, parts), "newer than this Keeps"),
        (HEAD, lambda columns, parts: ({**columns, "users": ["tenant_id", "user_id", "former"]}, parts), "former"),
        (HEAD, without("memories", "content"), "does not exist|NULL|a field"),
    ],
)
async def test_a_bundle_that_cannot_be_loaded_is_refused(
    cold: Cold, tenant: str, revision: str, change: Any, said: str
) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    await rewritten(cold, tenant, revision, change)
    with pytest.raises(UnavailableError, match=said):
        await cold.service.thaw(tenant)
    assert await cold.held(tenant) == 0
    await cold.keeps.service(TenantService).erase_tenant(Scope(tenant, "operator"))


async def test_rows_that_were_not_frozen_are_refused_by_the_database(cold: Cold, tenant: str) -> None:
    """Whoever has the key of a bundle cannot forge a log."""
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    (digest,) = await cold.run(
        "SELECT digest FROM keeps_cells.frozen WHERE tenant_hash = keeps.tenant_hash($1)", tenant
    )

    def forged(columns: Any, parts: list[tuple[str, str]]) -> Any:
        return columns, [(name, batch.replace("grey", "blue")) for name, batch in parts]

    await rewritten(cold, tenant, HEAD, forged)
    await cold.run(
        "UPDATE keeps_cells.frozen SET digest = $2 WHERE tenant_hash = keeps.tenant_hash($1)", tenant, digest["digest"]
    )
    with pytest.raises(UnavailableError, match="not those that were frozen"):
        await cold.service.thaw(tenant)
    assert await cold.held(tenant) == 0


async def test_what_expired_while_frozen_is_gone_before_anyone_reads(cold: Cold, tenant: str) -> None:
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    kept = await alice.remember("The harbour is grey.")
    gone = await alice.remember("The code is 1234.", expires_at=datetime.now(UTC) + timedelta(days=1))
    await cold.run("UPDATE keeps.memories SET expires_at = now() WHERE memory_id = $1", gone.memory_id)
    await cold.service.freeze(tenant)
    steps: list[str] = []
    await cold.service.thaw(tenant, steps.append)
    assert steps.index("swept") < steps.index("ended")
    rows = await cold.run("SELECT memory_id FROM keeps.memories WHERE tenant_id = $1 AND deleted_at IS NULL", tenant)
    assert [row["memory_id"] for row in rows] == [kept.memory_id]


async def test_unused_tenants_are_found_and_frozen(cold: Cold, tenant: str) -> None:
    used = f"{tenant}-used"
    for each in (tenant, used):
        await planted(cold, each)
    await cold.run("UPDATE keeps.tenants SET used_on = current_date - 200 WHERE tenant_id = $1", tenant)
    assert [each for each, _ in await cold.service.unused(180, 10)] == [tenant]
    frozen = [each async for each in cold.service.freeze_unused(180, 10)]
    assert [each.tenant_id for each in frozen if not isinstance(each, KeepsError)] == [tenant]
    assert (await cold.keeps.memory(Scope(tenant, "alice")).list()).items
    assert await cold.service.unused(180, 10) == [], "a call uses it"


async def test_a_frozen_tenant_costs_one_row_and_no_job(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    assert await cold.held(tenant) == 0
    (counted,) = await cold.run(
        "SELECT count(*) AS entries FROM keeps_cells.frozen WHERE tenant_hash = keeps.tenant_hash($1)", tenant
    )
    assert counted["entries"] == 1
    worker = cold.keeps.service(Worker)

    class Queued:
        payload, attempts = tenant.encode(), 0

    await worker._run("expiry", Queued())  # type: ignore[arg-type]  # a job that was queued before the freeze
    assert await cold.held(tenant) == 0
    listed = {each.tenant_id: each for each in await cold.keeps.service(TenantService).page("", 1_000, frozen=True)}
    assert (listed[tenant].state, listed[tenant].memories, listed[tenant].users) == ("frozen", 1, 1)
    assert tenant not in {each.tenant_id for each in await cold.keeps.service(TenantService).page("", 1_000)}


async def test_keys_of_entries_can_be_replaced(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    newer = "another key of at least thirty-two characters"
    async with await open_keeps(replace(cold.settings, secret_keys=(newer, SECRET_KEY)), embedder=cold.shared) as keeps:
        assert await keeps.service(service.FreezeService).reseal() >= 1
    async with await open_keeps(replace(cold.settings, secret_keys=(newer,)), embedder=cold.shared) as keeps:
        assert (await keeps.memory(Scope(tenant, "alice")).list()).items


async def test_serving_role_reaches_no_entry(cold: Cold) -> None:
    connection = await asyncpg.connect(cold.settings.database_url)
    try:
        for statement in ("SELECT * FROM keeps_cells.frozen", "DELETE FROM keeps_cells.frozen"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()


async def test_batch_of_another_tenant_is_refused(cold: Cold, tenant: str) -> None:
    """A bundle cannot write rows of any other tenant than the one that is thawed."""
    await planted(cold, tenant)
    await cold.service.freeze(tenant)
    connection = await asyncpg.connect(cold.settings.database_url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('app.current_tenant', $1, true)", tenant)
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
                await connection.execute(
                    "SELECT keeps.carry_load('tenants', '{tenant_id}', $1)", json.dumps([["somebody-else"]])
                )
    finally:
        await connection.close()


async def test_without_a_freeze_in_progress_rows_are_neither_read_nor_loaded(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    connection = await asyncpg.connect(cold.settings.database_url)
    try:
        async with connection.transaction():
            await connection.execute(
                "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'alice', true),"
                " set_config('app.carrying', 'yes', true)",
                tenant,
            )
            with pytest.raises(asyncpg.PostgresError, match="not frozen"):
                async with connection.transaction():
                    await connection.execute("SELECT keeps.carry_load('tenants', '{tenant_id}', '[]')")
            with pytest.raises(asyncpg.PostgresError, match="no freeze of the tenant has begun"):
                async with connection.transaction():
                    await connection.execute("SELECT keeps.carry_open('memories', '{content}', 1000)")
            with pytest.raises(asyncpg.PostgresError):
                async with connection.transaction():
                    await connection.execute("DELETE FROM keeps.events")
            linked = await connection.fetchval(
                "INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id,"
                " visibility, data) SELECT tenant_id, last_sequence + 1, gen_random_uuid(), 'memory.stored', 's', 's',"
                " now(), 'alice', 'private', '{}' FROM keeps.tenants WHERE tenant_id = $1 RETURNING previous_hash",
                tenant,
            )
            assert linked is not None, "the trigger of the chain ran"
    finally:
        await connection.close()


async def test_a_call_that_waits_for_a_thaw_holds_no_connection(cold: Cold, tenant: str) -> None:
    """The watchdog of the tests checks that no step of it holds the event loop."""
    alice = cold.keeps.memory(Scope(tenant, "alice"))
    for number in range(20):
        await alice.store(f"key-{number}", "grey " * 10_000, "plan")
    await cold.service.freeze(tenant)
    calls = [asyncio.create_task(alice.list()) for _ in range(8)]
    pool = cold.keeps.database.main.pool
    taken: list[int] = []
    while not all(call.done() for call in calls):
        await asyncio.sleep(0)
        if is_thawing(cold, tenant):
            taken.append(pool.taken)
    assert taken, "the thaw was seen"
    assert min(taken) == 0
    assert [(await call).items for call in calls] == [[]] * 8


def is_thawing(cold: Cold, tenant: str) -> bool:
    return tenant in cold.service._thaws


async def test_a_copy_of_the_database_leaves_the_bundle(
    server: EmbeddedPostgres, fresh_database: Callable[[], Any], shared: Any, tmp_path: Path, tenant: str
) -> None:
    """Whoever tries a restored database must not take the bundles of the one that goes on."""
    database = await fresh_database()
    settings = settings_of(server.url("keeps_app", database), tmp_path)
    async with await open_keeps(settings, embedder=shared) as keeps:
        await keeps.memory(Scope(tenant, "alice")).remember("The harbour is grey.")
        await keeps.service(service.FreezeService).freeze(tenant)
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {database}_copy TEMPLATE {database}")
    for name in (f"{database}_copy", database):
        used = replace(settings, database_url=server.url("keeps_app", name))
        async with await open_keeps(used, embedder=shared) as keeps:
            assert (await keeps.memory(Scope(tenant, "alice")).list()).items
            assert await keeps.service(service.FreezeService).all() == []
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [], "the database that wrote it removed it"


async def test_two_freezes_at_once_lose_nothing_and_say_why(cold: Cold, tenant: str) -> None:
    await planted(cold, tenant)
    before = await cold.rows(tenant)
    service = cold.service
    ended = await asyncio.gather(service.freeze(tenant), service.freeze(tenant), return_exceptions=True)
    assert all(isinstance(each, Freeze | ConflictError | UnavailableError) for each in ended), ended
    if any(isinstance(each, Freeze) for each in ended):
        await service.thaw(tenant)
    assert (await cold.rows(tenant))["memories"] == before["memories"]
