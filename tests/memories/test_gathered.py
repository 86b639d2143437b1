"""What several users of a tenant write at once goes in one statement, and each row is held against its own user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from keeps.base.clock import new_id, utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.memories import store
from keeps.memory.memories.answers import RECEIPT
from keeps.memory.memories.types import new_row
from keeps.store.db.repeats import Request, repeatable, save_answers_of_users
from keeps.store.db.statements import Statement
from keeps.store.db.transaction import Tx
from keeps_client.errors import ConflictError, KeepsError, NotFoundError
from keeps_client.models import NewMemory, Receipt
from tests.conftest import admin
from tests.writing import in_write

USERS = ("alice", "bob", "carol", "dan")


@pytest.fixture
async def users(keeps: Keeps, tenant: str) -> list[LocalMemory]:
    """Memories of several users, who are known already."""
    found = [keeps.memory(Scope(tenant, user)) for user in USERS]
    for each in found:
        await each.remember("Hello.", index="later")
    return found


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each statement brings that acts for several users."""
    seen: list[int] = []
    inner = Tx.fetch_for_many

    async def counted(self: Tx, statement: Statement, *values: object) -> list[Any]:
        if statement.name == "memories_insert":
            seen.append(len(cast("Sequence[object]", values[1])))
        return await inner(self, statement, *values)

    monkeypatch.setattr(Tx, "fetch_for_many", counted)
    return seen


def sent(key: str, body: str, work: Callable[[], Awaitable[Receipt]]) -> Awaitable[Receipt]:
    async def send() -> Receipt:
        with repeatable(Request(key, body.encode())):
            return await work()

    return send()


async def test_batched_writes_belong_to_their_users(
    users: list[LocalMemory], commits: list[int], keeps: Keeps, tenant: str, server: Any
) -> None:
    receipts = await asyncio.gather(
        *(users[n % 4].remember(f"{USERS[n % 4]} keeps note {n}.") for n in range(120)),
        users[1].remember("Everybody may read this.", visibility="tenant"),
        users[2].remember("A skill.", kind="procedural", agent_id="a"),
    )
    assert max(commits) > 30, "they go together"
    assert {each.status for each in receipts} == {"created"}
    assert [each.memory.user_id for each in receipts[:4]] == list(USERS)
    for number, memory in enumerate(users):
        own = {each.memory_id for each in receipts[number:120:4]}
        listed = {each.memory_id for each in (await memory.list(limit=100)).items if "keeps note" in each.content}
        assert listed == own
        hits = (await memory.recall("keeps note 7", limit=50)).hits
        assert {hit.memory.user_id for hit in hits} <= {USERS[number], "bob"}
        assert (await memory.recall("everybody may read", limit=1)).hits[0].memory_id == receipts[120].memory_id
    async with admin(server, "keeps_test") as connection:
        counted = await connection.fetchrow(
            "SELECT count(*) = max(sequence) AS gapless, count(*) FILTER (WHERE type = 'memory.written') AS written,"
            " count(*) = count(DISTINCT event_id) AS different, bool_and(data #>> '{memory,user_id}' = user_id"
            " AND subject = data #>> '{memory,memory_id}')"
            " FILTER (WHERE type = 'memory.written') AS own FROM keeps.events WHERE tenant_id = $1",
            tenant,
        )
        assert counted is not None
        assert tuple(counted) == (True, 126, True, True), "numbers without gaps, each event its user's"
        places = await connection.fetch(
            "SELECT audience, array_agg(place ORDER BY place) AS places, min(next_place) AS next"
            " FROM keeps.memory_words JOIN keeps.audience_words USING (tenant_id, audience, life)"
            " WHERE tenant_id = $1 GROUP BY audience",
            tenant,
        )
        for row in places:
            assert row["places"] == list(range(row["next"])), row["audience"]


async def test_each_row_is_checked_for_its_user(keeps: Keeps, users: list[LocalMemory], tenant: str) -> None:
    """Also in a batch, and whichever row it is: as `keeps_app`, by the policies."""
    alice, bob = users[0].scope, users[1].scope
    rows = {
        each: store.written(new_row(NewMemory(content="Mine."), each, new_id(), utc_now())) for each in (alice, bob)
    }
    for place in range(3):
        asking = [bob] * place + [alice] + [bob] * (2 - place)
        asked = [
            store.written(new_row(NewMemory(content=f"Row {number}."), bob, new_id(), utc_now())) for number in range(3)
        ]

        async def stored(tx: Tx, asked: Any = asked, asking: Any = asking) -> set[Any]:
            return await store.insert_many(tx, asked, "", asking)

        with pytest.raises(KeepsError, match="another user"):
            await in_write(keeps.database, bob, stored)

    async def swapped(tx: Tx) -> set[Any]:
        return await store.insert_many(tx, [rows[alice], rows[bob]], "", [bob, alice])

    with pytest.raises(KeepsError, match="another user"):
        await in_write(keeps.database, alice, swapped)
    for memory in users[:2]:
        assert [each.content for each in (await memory.list()).items] == ["Hello."]


async def test_agent_binding_applies_in_batches(keeps: Keeps, users: list[LocalMemory], tenant: str) -> None:
    mine = Scope(tenant, "alice", agent_id="mine", agent_bound=True)
    skills = [
        store.written(
            new_row(NewMemory(content="A skill.", kind="procedural", agent_id="other"), mine, new_id(), utc_now())
        ),
        store.written(new_row(NewMemory(content="A fact."), users[1].scope, new_id(), utc_now())),
    ]

    async def stored(tx: Tx) -> set[Any]:
        return await store.insert_many(tx, skills, "", [mine, users[1].scope])

    with pytest.raises(KeepsError, match="another user"):
        await in_write(keeps.database, users[0].scope, stored)
    assert len((await users[1].list()).items) == 1


async def test_batch_does_not_leave_last_user_set(keeps: Keeps, users: list[LocalMemory]) -> None:
    alice, bob = users[0].scope, users[1].scope
    new = store.written(new_row(NewMemory(content="Bob's."), bob, new_id(), utc_now()))

    async def work(tx: Tx) -> int:
        await store.insert_many(tx, [new], "", [bob])
        with pytest.raises(AssertionError, match="no user"):
            await store.get(tx, new.row.memory_id)
        await tx.become(alice)
        return len(await store.get_many(tx, [new.row.memory_id]))

    assert await in_write(keeps.database, alice, work) == 0, "it is alice's transaction again"


async def test_conflicting_writes_in_batch_get_own_answers(users: list[LocalMemory], commits: list[int]) -> None:
    first = await users[0].remember("old", namespace="n", key="k", index="later")
    answers = await asyncio.gather(
        *(memory.remember(f"new of {name}", index="later") for memory, name in zip(users, USERS, strict=True)),
        users[0].remember("newer", namespace="n", key="k", index="later"),
        users[1].remember("Hello.", index="later"),
        users[2].remember("v", namespace="n", key="k", if_version=0, index="later"),
        users[2].remember("w", namespace="n", key="k", if_version=5, index="later"),
        users[2].remember("x", namespace="n", key="never", if_version=3, index="later"),
        users[3].remember("The same.", index="later"),
        users[3].remember("The same.", index="later"),
        return_exceptions=True,
    )
    assert commits, "they go together"
    *created, newer, again, expected, refused, absent, one, two = answers
    assert [cast("Receipt", each).status for each in created] == ["created"] * 4
    assert isinstance(newer, Receipt)
    assert (newer.status, newer.memory_id, newer.memory.version) == ("updated", first.memory_id, 2)
    assert isinstance(again, Receipt)
    assert again.status == "unchanged"
    assert isinstance(expected, Receipt)
    assert expected.status == "created"
    assert isinstance(refused, ConflictError)
    assert isinstance(absent, ConflictError), "a version of what is not there"
    assert isinstance(one, Receipt)
    assert isinstance(two, Receipt)
    assert ({one.status, two.status}, one.memory_id) == ({"created", "unchanged"}, two.memory_id)


async def test_repeated_requests_run_once(users: list[LocalMemory], commits: list[int]) -> None:
    def send(number: int, key: str, content: str) -> Awaitable[Receipt]:
        return sent(key, content, lambda: users[number].remember(content, index="later"))

    before = await asyncio.gather(*(send(number, "same", f"Said by {USERS[number]}.") for number in range(4)))
    assert commits, "they go together"
    assert len({each.memory_id for each in before}) == 4, "a key is of one user"
    again, other, new, twice, once_more = await asyncio.gather(
        send(0, "same", "Said by alice."),
        send(1, "same", "Something else."),
        send(2, "next", "New."),
        send(3, "twice", "Sent twice."),
        send(3, "twice", "Sent twice."),
        return_exceptions=True,
    )
    assert isinstance(again, Receipt)
    assert (again.memory_id, again.status) == (before[0].memory_id, "created")
    assert isinstance(other, ConflictError), "one that conflicts fails alone"
    assert isinstance(new, Receipt)
    assert isinstance(twice, Receipt)
    assert isinstance(once_more, Receipt)
    assert twice.memory_id == once_more.memory_id
    assert [each.content for each in (await users[1].list()).items] == ["Said by bob.", "Hello."]
    await users[0].forget(before[0].memory_id, hard=True)
    gone, fine = await asyncio.gather(
        send(0, "same", "Said by alice."), send(1, "later", "Later."), return_exceptions=True
    )
    assert isinstance(gone, NotFoundError), "what was erased does not come back by a request that is sent again"
    assert isinstance(fine, Receipt)
    assert [each.content for each in (await users[0].list()).items] == ["Hello."]


async def test_expired_answers_are_removed(
    users: list[LocalMemory], tenant: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.memory.memories.writer.random.choice", lambda done: done[0])

    def send(number: int, key: str) -> Awaitable[Receipt]:
        return sent(key, key, lambda: users[number].remember(f"{key} {number}", index="later"))

    await asyncio.gather(send(0, "old"), send(1, "old"), send(2, "old"))
    async with admin(server, "keeps_test") as connection:
        await connection.execute(
            "UPDATE keeps.idempotency_keys SET created_at = now() - interval '25 hours' WHERE tenant_id = $1", tenant
        )
        await asyncio.gather(*(send(number, f"new {number}") for number in range(4)))
        left = await connection.fetch(
            "SELECT user_id, idempotency_key FROM keeps.idempotency_keys WHERE tenant_id = $1", tenant
        )
    kept = {(row["user_id"], row["idempotency_key"]) for row in left}
    assert {(name, f"new {number}") for number, name in enumerate(USERS)} <= kept
    assert sum(key == "old" for _, key in kept) < 3, "of one user each time"


async def test_answer_is_stored_for_its_user(keeps: Keeps, users: list[LocalMemory]) -> None:
    receipt = await users[1].remember("Bob's.", index="later")

    async def kept(tx: Tx) -> bool:
        return await save_answers_of_users(tx, [(users[1].scope, Request("k", b"h"), receipt)], RECEIPT)

    assert await in_write(keeps.database, users[0].scope, kept)
    assert not await in_write(keeps.database, users[0].scope, kept), "it was answered before"

    async def seen(tx: Tx) -> int:
        rows = await tx.fetch(Statement("kept", "SELECT user_id FROM keeps.idempotency_keys"))
        return len(rows)

    assert await in_write(keeps.database, users[0].scope, seen) == 0
    assert await in_write(keeps.database, users[1].scope, seen) == 1


async def test_first_of_two_requests_with_a_key_wins(users: list[LocalMemory]) -> None:
    """Whoever else writes at the same moment."""

    def send(content: str) -> Awaitable[Receipt]:
        return sent("k", content, lambda: users[0].remember(content, index="later"))

    _, first, second, *_ = await asyncio.gather(
        users[3].remember("While it is written, the others gather.", index="later"),
        send("Hello."),
        send("Another."),
        *(each.remember("At once.", index="later") for each in users),
        return_exceptions=True,
    )
    assert isinstance(first, Receipt)
    assert first.status == "unchanged"
    assert isinstance(second, ConflictError)
