"""Many writers at once: one wins, the others get a conflict or a clean update; nothing is lost and nobody crashes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.erasure import TenantService
from keeps.store.db.repeats import Request, repeatable
from keeps.store.db.statements import Statement
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import Receipt


async def test_one_of_many_creators_wins(memory: LocalMemory) -> None:
    answers = await asyncio.gather(
        *(memory.remember(f"by {n}", namespace="n", key="k", if_version=0, index="later") for n in range(20)),
        return_exceptions=True,
    )
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
    assert sum(isinstance(answer, ConflictError) for answer in answers) == 19


async def test_concurrent_updates_of_a_key_are_serialized(memory: LocalMemory) -> None:
    receipts = await asyncio.gather(
        *(memory.remember(f"by {n}", namespace="n", key="k", index="later") for n in range(30))
    )
    assert sorted(receipt.memory.version for receipt in receipts) == list(range(1, 31))
    current = await memory.find("n", "k")
    written = [event for event in await memory.history(current.memory_id) if event.type == "memory.written"]
    assert {cast("Any", event.data)["memory"]["content"] for event in written} == {f"by {n}" for n in range(30)}


async def test_compare_and_set_loses_no_increment(memory: LocalMemory) -> None:
    created = await memory.remember("counter", value=0, namespace="n", key="k")

    async def add() -> None:
        while True:
            current = await memory.get(created.memory_id)
            try:
                await memory.update(
                    created.memory_id, value=int(str(current.value)) + 1, if_version=current.version, index="later"
                )
                return
            except ConflictError:
                continue

    await asyncio.gather(*(add() for _ in range(12)))
    assert (await memory.get(created.memory_id)).value == 12


async def test_same_content_of_concurrent_callers_is_stored_once(memory: LocalMemory) -> None:
    receipts = await asyncio.gather(*(memory.remember("the same") for _ in range(25)))
    assert sorted(receipt.status for receipt in receipts) == ["created"] + ["unchanged"] * 24
    assert len({receipt.memory_id for receipt in receipts}) == 1


async def test_concurrent_forget_and_write_stay_consistent(
    keeps: Keeps, app_url: str, shared: Any, tenant: str
) -> None:
    async with Keeps.open(database_url=app_url, embedder=shared) as second:
        one, two = keeps.memory(Scope(tenant, "alice")), second.memory(Scope(tenant, "alice"))

        async def worker(memory: LocalMemory, number: int) -> None:
            for turn in range(10):
                receipt = await memory.remember(f"{number}.{turn}", namespace="n", key="k", index="later")
                if turn % 3 == 0:
                    await memory.forget(receipt.memory_id)

        await asyncio.gather(*(worker(memory, number) for number, memory in enumerate((one, two, one, two))))
        await one.remember("last", namespace="n", key="k")
        assert (await two.find("n", "k")).content == "last"


async def test_first_writes_of_a_new_user_do_not_collide(app_url: str, shared: Any, tenant: str) -> None:
    async def first(number: int) -> str:
        async with Keeps.open(database_url=app_url, embedder=shared) as keeps:
            return (await keeps.memory(Scope(tenant, "newcomer")).remember(f"hello {number}", index="later")).status

    assert await asyncio.gather(*(first(number) for number in range(4))) == ["created"] * 4


async def test_erased_user_can_be_created_again(keeps: Keeps, tenant: str, server: Any) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("before")
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    await keeps.service(TenantService).erase_tenant(memory.scope)
    left = [
        await connection.fetchval(f"SELECT count(*) FROM keeps.{table} WHERE tenant_id = $1", tenant)
        for table in ("users", "memories", "memory_words", "memory_vectors", "events")
    ]
    await connection.close()
    assert left == [0, 0, 0, 0, 0]
    assert (await memory.remember("after")).status == "created"


async def test_sequences_have_no_gaps_and_follow_commits(keeps: Keeps, tenant: str, server: Any) -> None:
    memories = [keeps.memory(Scope(tenant, f"user-{number}")) for number in range(4)]
    await asyncio.gather(
        *(memories[n % 4].remember(f"text {n % 30}", visibility="tenant", index="later") for n in range(80))
    )
    for memory in memories:
        await keeps.service(Indexer).settle(memory.scope)  # or an event comes while they are read
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    events = await connection.fetch(
        "SELECT sequence, recorded_at FROM keeps.events WHERE tenant_id = $1 ORDER BY sequence", tenant
    )
    await connection.close()
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert len(events) >= 80


async def test_replaying_the_events_gives_the_same_rows(memory: LocalMemory, server: Any, tenant: str) -> None:
    """Each event carries the whole row, so the last event of a subject is its row, to the byte; an erased one has
    none."""
    first = await memory.remember(
        "v1 ünï😀", namespace="n", key="k", metadata={"a": [1, 2.5, None]}, tags=["x", "y"], importance=0.123456789
    )
    await memory.remember("v2", namespace="n", key="k", value={"z": 1, "a": [True]})
    await memory.update(first.memory_id, importance=0.9)
    gone = await memory.remember("secret")
    await memory.forget(gone.memory_id, hard=True)
    hidden = await memory.remember("hidden", kind="episodic", role="user", session_id="s")
    await memory.forget(hidden.memory_id)
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    last = await connection.fetch(
        "SELECT DISTINCT ON (subject) subject, type, data FROM keeps.events WHERE tenant_id = $1"
        " AND type LIKE 'memory.%' ORDER BY subject, sequence DESC",
        tenant,
    )
    images = [json.loads(row["data"])["memory"] for row in last if row["type"] != "memory.erased"]
    differences = await connection.fetchval(
        "WITH replayed AS (SELECT (jsonb_populate_record(NULL::keeps.memories, image)).* FROM"
        " jsonb_array_elements($1::jsonb) AS image), stored AS (SELECT * FROM keeps.memories WHERE tenant_id = $2)"
        " SELECT count(*) FROM ((TABLE replayed EXCEPT TABLE stored) UNION ALL (TABLE stored EXCEPT TABLE replayed)) AS"
        " different",
        json.dumps(images),
        tenant,
    )
    stored = await connection.fetchval("SELECT count(*) FROM keeps.memories WHERE tenant_id = $1", tenant)
    await connection.close()
    assert (differences, stored) == (0, len(images))


async def test_idempotent_writes_share_commits_and_run_once(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))

    async def send(key: str, content: str) -> Receipt:
        with repeatable(Request(key, content.encode())):
            return await memory.remember(content, index="later")

    await memory.remember("The first introduces the user.")
    receipts = await asyncio.gather(*(send(f"key-{number % 20}", f"Remark {number % 20}.") for number in range(60)))
    assert len({receipt.memory_id for receipt in receipts}) == 20, "a request that is sent three times at once is one"
    assert {receipt.status for receipt in receipts} == {"created"}
    again = await send("key-3", "Remark 3.")
    assert (again.memory_id, again.status) == (receipts[3].memory_id, "created")
    other, same = await asyncio.gather(send("key-3", "Another."), send("key-4", "Remark 4."), return_exceptions=True)
    assert isinstance(other, ConflictError), "one that conflicts fails alone"
    assert isinstance(same, Receipt)
    await memory.forget(again.memory_id, hard=True)
    with pytest.raises(NotFoundError, match="erased since"):
        await send("key-3", "Remark 3.")
    async with keeps.database.scoped(memory.scope) as tx:
        commits = await tx.fetch(
            Statement(
                "commits",
                "SELECT count(DISTINCT xmin::text) AS number FROM keeps.idempotency_keys WHERE tenant_id = $1",
            ),
            tenant,
        )
    assert commits[0]["number"] <= 10, "they were gathered"
