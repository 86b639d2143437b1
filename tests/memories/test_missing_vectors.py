"""Whatever write leaves a vector missing, the index catches up by itself."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing import service as indexing
from keeps.memory.indexing import store
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.db.session import Tx
from keeps.store.db.statements import Statement
from keeps.store.tenants.counts import TenantCounts
from keeps_client.errors import UnavailableError
from tests.writing import in_write

Write = Callable[[Any], Awaitable[object]]
WRITES: dict[str, Write] = {
    "remember": lambda memory: memory.remember("Anna keeps bees."),
    "remember_many": lambda memory: memory.remember_many([{"content": "Anna keeps bees."}], index="now"),
    "update": lambda memory: memory.update(memory.known, content="Anna keeps wasps."),
    "store_knowledge": lambda memory: memory.store_knowledge("Anna keeps bees."),
    "log_interaction": lambda memory: memory.log_interaction("agent", "user", "Anna keeps bees."),
    "store_skill": lambda memory: memory.store_skill("agent", "Smoke the bees first.", procedure_type="system_prompt"),
    "store_exchange": lambda memory: memory.store_exchange(
        [{"role": "user", "content": "Anna keeps bees."}], session_id="s"
    ),
    "end_session": lambda memory: memory.end_session("open"),
    "log_activity": lambda memory: memory.log_activity("Fed the bees."),
    "add_source": lambda memory: memory.add_source("hives", kind="database", purpose="Hives by field"),
    "put_item": lambda memory: memory.put_item(("bees",), "anna", {"text": "Anna keeps bees."}),
    "write_entry": lambda memory: memory.write_entry("postgres", "bees", "Anna keeps bees."),
}


class Fickle:
    """The model of the run, which is away as long as `away`."""

    def __init__(self, inner: Any) -> None:
        self.model, self.dimensions = inner.model, inner.dimensions
        self._inner = inner
        self.away = False

    async def embed(self, texts: Any) -> Any:
        if self.away:
            raise UnavailableError("the model is away")
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Any:
        if self.away:
            raise UnavailableError("the model is away")
        return await self._inner.embed_query(text)

    async def close(self) -> None: ...


@pytest.fixture
async def fickle(app_url: str, shared: Any) -> AsyncIterator[tuple[Keeps, Fickle]]:
    embedder = Fickle(shared)
    async with Keeps.open(database_url=app_url, embedder=embedder) as opened:
        yield opened, embedder


@pytest.mark.parametrize("name", WRITES)
async def test_unavailable_model_is_retried(fickle: tuple[Keeps, Fickle], tenant: str, name: str) -> None:
    keeps, embedder = fickle
    memory: Any = keeps.memory(Scope(tenant, "alice"))
    memory.known = (await memory.remember("Anna keeps hens.")).memory_id
    await memory.store_exchange([{"role": "user", "content": "Hens lay eggs."}], session_id="open")
    await keeps.service(Indexer).settle(memory.scope)
    embedder.away = True
    await WRITES[name](memory)
    embedder.away = False
    await keeps.service(Indexer).settle(memory.scope)
    assert (await memory.insights()).index_pending == 0, f"{name} tells the index of nothing"


async def test_item_is_embedded_after_model_returns(fickle: tuple[Keeps, Fickle], app_url: str, tenant: str) -> None:
    """By whoever works on due jobs: the process that stored it may have ended. What was changed meanwhile counts."""
    keeps, embedder = fickle
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.put_item(("hives",), "one", {"text": "Bees live here."})
    embedder.away = True
    for key, text in (("one", "The roof leaks."), ("two", "Wasps live here."), ("three", "Anna keeps hens.")):
        await memory.put_item(("hives",), key, {"text": text})
    await memory.put_item(("hives",), "four", {"text": "Not by meaning."}, index=False)
    await memory.delete_item(("hives",), "three")
    assert (await memory.insights()).index_pending == 2
    async with Keeps.open(database_url=app_url, embedder=embedder._inner) as other:
        await other.service(Lifecycle).run(tenant, "index")
        found = await other.memory(memory.scope).search_items(("hives",), query="Insects that live here.")
        assert [each.key for each in found] == ["two", "one"]
        assert (await memory.insights()).index_pending == 0


async def test_settling_waits_for_one_user(
    fickle: tuple[Keeps, Fickle], tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "BATCH", 1)
    keeps, _ = fickle
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    indexer: Any = keeps.service(Indexer)
    async with indexer._turn:  # nothing is indexed before both wait
        await alice.remember_many([{"content": f"Anna keeps {number} hens."} for number in range(30)], index="later")
        await bob.remember("Ben keeps wasps.", index="later")
    await indexer.settle(bob.scope)
    assert (tenant, "alice") in {*indexer._waiting, indexer._current}, "her other batches are not waited for"
    assert (await bob.insights()).index_pending == 0
    await keeps.service(Indexer).settle(alice.scope)
    assert (await alice.insights()).index_pending == 0


async def test_index_lag_counts_waiting_memories(fickle: tuple[Keeps, Fickle], tenant: str) -> None:
    """Over all tenants, and others write on the same database: so what one memory adds is looked for."""
    keeps, embedder = fickle
    embedder.away = True
    memory = keeps.memory(Scope(tenant, "alice"))
    for number in range(3):
        await memory.remember(f"Anna keeps {number} bees.")
    waiting, seconds = await keeps.service(Indexer).lag()
    assert waiting >= 3
    assert seconds > 0
    embedder.away = False
    await keeps.service(Indexer).settle(memory.scope)


async def test_users_with_vectors_of_other_models_are_found(keeps: Keeps, tenant: str) -> None:
    shared: dict[str, UUID] = {}
    for user in ("alice", "bob", "carol", "dave"):
        memory = keeps.memory(Scope(tenant, user))
        await memory.remember(f"{user} keeps bees.", index="now")
        told = await memory.remember(f"{user} is known to all.", index="now", visibility="tenant")
        shared[user] = told.memory.memory_id
    await in_write(keeps.database, Scope(tenant, "carol"), lambda tx: _older(tx, shared["carol"]))
    await in_write(keeps.database, Scope(tenant, "alice"), lambda tx: _older(tx, None))
    await TenantCounts(keeps.database, keeps.metrics).check(Scope(tenant))  # They were changed behind the counters.
    embedder = keeps.service(Indexer)._embedder
    assert embedder is not None
    found = await store.users_with_other_models(keeps.database, embedder.model)
    assert sorted(user for owner, user in found if owner == tenant) == ["alice", "carol"]
    await keeps.service(Indexer).drop_other_models()
    found = await store.users_with_other_models(keeps.database, embedder.model)
    assert [user for owner, user in found if owner == tenant] == []


async def _older(tx: Tx, memory_id: UUID | None) -> None:
    """As if a model of before had made the vectors: of this memory, or of all."""
    statement = (
        "UPDATE keeps.memory_vectors SET model = 'before' WHERE tenant_id = $1 AND user_id = $2"
        " AND ($3::uuid IS NULL OR memory_id = $3)"
    )
    await tx.execute(Statement("older", statement), tx.scope.tenant_id, tx.scope.user_id, memory_id)


async def test_a_batch_reads_its_queue_only(keeps: Keeps, tenant: str) -> None:
    """Whatever else the user has: an import of thousands stays linear."""
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember_many([{"content": f"Anna keeps {number} hens."} for number in range(400)], index="now")

    async def explained(tx: Tx) -> str:
        (stored, *_) = await tx.fetch(
            Statement("memory", "SELECT memory_id FROM keeps.memories WHERE tenant_id = $1 LIMIT 1"), tenant
        )
        await tx.execute(
            Statement("queue", "INSERT INTO keeps.memory_pending VALUES ($1, $2, 'alice')"), tenant, stored["memory_id"]
        )
        plan = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) "
        asked = Statement("explained", plan + store.QUERIES["memories_to_index"].text)
        return "\n".join(row[0] for row in await tx.fetch(asked, tenant, "alice", 64))

    plan = await in_write(keeps.database, memory.scope, explained)
    assert max(float(rows) for rows in re.findall(r"rows=([\d.]+) loops", plan)) == 1, plan


async def test_what_was_forgotten_does_not_wait(fickle: tuple[Keeps, Fickle], tenant: str) -> None:
    keeps, embedder = fickle
    memory = keeps.memory(Scope(tenant, "alice"))
    embedder.away = True
    stored = await memory.remember("Anna keeps bees.")
    await memory.forget(stored.memory_id)

    async def queue(tx: Tx) -> None:
        add = "INSERT INTO keeps.memory_pending VALUES ($1, $2, 'alice') ON CONFLICT DO NOTHING"
        await tx.execute(Statement("queue", add), tenant, stored.memory_id)

    await in_write(keeps.database, memory.scope, queue)
    embedder.away = False
    assert await keeps.service(Indexer).index_user(memory.scope) == 0
    assert (await memory.insights()).index_pending == 0
