"""Jobs over a tenant: what fades, what is promoted, what expires; and taking it back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.memories.types import MemoryRow
from keeps.memory.operations.service import QUERIES, Change, OperationService, record
from keeps.memory.recall import store as recall_store
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.conditions import Selection
from keeps.memory.transfer.erasure import TenantService
from keeps.part import Run
from keeps.store.db.session import Tx
from keeps.store.db.statements import Statement
from keeps.store.events.service import EventService
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import Memory
from tests.lifecycle.conftest import MovingClock
from tests.writing import in_write

SMALL_TALK = "The weather is rather grey over the harbour today."
ALLERGY = "Alice is allergic to peanuts and must never eat them."


async def whole(memory: LocalMemory) -> list[Memory]:
    """What is stored, without how it fades: that moves with the clock."""
    return [each.model_copy(update={"life": None}) for each in (await memory.list(limit=200)).items]


async def test_unread_memory_is_archived_after_a_week(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    talk = await alice.remember(SMALL_TALK, kind="episodic", importance=0.5)
    fact = await alice.remember("Alice lives in Leeds.")
    clock.forward(days=6)
    assert await living.service(Lifecycle).run(tenant, "decay") is None
    life = (await alice.get(talk.memory_id)).life
    assert life is not None
    assert life.retention is not None
    assert 0.3 < life.retention < 0.4
    assert timedelta(days=1) < life.fades_at - clock.now < timedelta(days=1, hours=1)
    assert (await alice.get(fact.memory_id)).life.retention is None
    clock.forward(days=2)
    done = await living.service(Lifecycle).run(tenant, "decay")
    assert done.counts == {"archived": 1}
    assert (await alice.get(talk.memory_id)).archived_at == clock.now
    assert (await alice.get(fact.memory_id)).archived_at is None, "long-term memories do not fade"
    current = (await alice.recall("weather at the harbour", include_archived=False)).hits
    assert [hit.memory_id for hit in current] == [fact.memory_id]
    found = await alice.recall("weather at the harbour", include_archived=True, limit=1)
    assert found.hits[0].memory.memory_id == talk.memory_id, "archived is not forgotten"
    assert (await alice.history(talk.memory_id))[-1].type == "memory.archived"


async def archive(keeps: Keeps, clock: MovingClock, tenant: str) -> None:
    clock.forward(days=60)
    while await keeps.service(Lifecycle).run(tenant, "decay") is not None:
        pass


async def test_weak_answer_searches_archive(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    faded = await alice.remember("Lena broke her wrist skating.", kind="episodic", importance=0.1)
    await archive(living, clock, tenant)
    await alice.remember("The boiler was replaced.")
    hit, *_ = (await alice.recall("How did Lena hurt herself?")).hits
    assert hit.memory_id == faded.memory_id
    assert hit.memory.archived_at is not None
    assert all(
        other.memory_id != faded.memory_id
        for other in (await alice.recall("How did Lena hurt herself?", include_archived=False)).hits
    )
    assert "broke her wrist" in (await alice.context("How did Lena hurt herself?")).text


async def test_archive_without_memories_is_not_searched(
    living: Keeps, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[str, ...]] = []
    inner = recall_store.postings

    def seen(tx: Tx, words: list[str], selection: Selection, *more: Any, whole: bool) -> Any:
        searched.append(selection.lives)
        return inner(tx, words, selection, *more, whole=whole)

    monkeypatch.setattr(recall_store, "postings", seen)
    alice = living.memory(Scope(tenant, "alice"))
    await alice.remember("The boiler was replaced.")
    await alice.recall("How did Lena hurt herself?")
    assert set(searched) == {("current",)}
    await alice.remember("Lena broke her wrist skating.", kind="episodic", importance=0.1)
    await archive(living, clock, tenant)
    await alice.recall("How did Lena hurt herself?")
    assert set(searched) == {("current",), ("current", "archived")}


async def test_clear_answer_does_not_search_archive(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    faded = await alice.remember("Lena skates on Sundays at the rink.", kind="episodic", importance=0.1)
    await archive(living, clock, tenant)
    current = await alice.remember("Lena skates on Fridays at the rink.")
    hits = (await alice.recall("When does Lena skate at the rink?")).hits
    assert [hit.memory_id for hit in hits] == [current.memory_id]
    both = (await alice.recall("When does Lena skate at the rink?", include_archived=True)).hits
    assert [hit.memory_id for hit in both] == [current.memory_id, faded.memory_id]


async def test_relevant_archived_memory_is_revived(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice, bob = living.memory(Scope(tenant, "alice")), living.memory(Scope(tenant, "bob"))
    talk = {"kind": "episodic", "importance": 0.1}
    wrist = await alice.remember("Lena broke her wrist skating.", **talk)
    rain = await alice.remember("It rained on the tent all night.", **talk)
    shared = await bob.remember("Otto broke his ankle skating.", visibility="tenant", **talk)
    await archive(living, clock, tenant)
    await alice.recall("Who broke a wrist skating?", explain=True)
    await living.service(AccessBuffer).flush()
    assert (await alice.get(wrist.memory_id)).archived_at is not None, "an explanation is no use of the memory"
    await alice.recall("Who broke a wrist skating?")
    await living.service(AccessBuffer).flush()
    assert (await alice.get(wrist.memory_id)).archived_at is None
    assert (await alice.history(wrist.memory_id))[-1].type == "memory.restored"
    assert (await alice.get(rain.memory_id)).archived_at is not None, "what is irrelevant stays archived"
    assert (await bob.get(shared.memory_id)).archived_at is not None, "a reader cannot change another user's memory"
    assert await living.service(Lifecycle).run(tenant, "decay") is None, "a revived memory is fresh"


async def test_reader_does_not_revive_owners_memory(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice, bob = living.memory(Scope(tenant, "alice")), living.memory(Scope(tenant, "bob"))
    otto = await bob.remember("Otto broke his ankle skating.", kind="episodic", importance=0.1, visibility="tenant")
    await bob.recall("Who broke an ankle skating?")  # counted while current
    await archive(living, clock, tenant)
    await alice.recall("Who broke an ankle skating?")
    await living.service(AccessBuffer).flush()
    assert (await bob.get(otto.memory_id)).archived_at is not None


async def test_revival_has_time_of_access(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    wrist = await alice.remember("Lena broke her wrist skating.", kind="episodic", importance=0.1)
    await archive(living, clock, tenant)
    archived = clock.now
    clock.forward(days=2)
    await alice.recall("Who broke a wrist skating?")
    await living.service(AccessBuffer).flush()
    restored = (await alice.history(wrist.memory_id))[-1]
    assert (restored.type, restored.time) == ("memory.restored", clock.now)
    before = await alice.recall("Who broke a wrist skating?", as_of=archived, include_archived=False)
    assert before.hits == [], "the past stays as it was"


async def test_irrelevant_hits_keep_fading(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    talk = await alice.remember("It rained on the tent all night.", kind="episodic", importance=0.5)
    await alice.recall("What is the capital of Mongolia?")
    await living.service(AccessBuffer).flush()
    assert (await alice.get(talk.memory_id)).life.access_count == 0


async def test_reading_delays_fading(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    await alice.remember(SMALL_TALK, kind="episodic", importance=0.5)
    clock.forward(days=6)
    await alice.recall("weather at the harbour")
    await living.service(AccessBuffer).flush()
    clock.forward(days=2)
    assert await living.service(Lifecycle).run(tenant, "decay") is None


async def test_identity_is_promoted_but_not_small_talk(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    kept = await alice.remember(ALLERGY, kind="episodic", role="user")
    talk = await alice.remember(SMALL_TALK, kind="episodic", role="user")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    assert done.counts == {"promoted": 1}
    assert (await alice.get(kept.memory_id)).layer == "long_term"
    assert (await alice.get(talk.memory_id)).layer == "short_term"
    assert await living.service(Lifecycle).run(tenant, "promotion") is None, "running again changes nothing"


@pytest.mark.meaning
async def test_fading_memories_are_reviewed_by_meaning(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    words = "ok team voted, we stay on the monolith and split out billing only"
    decided = await alice.remember(words, kind="episodic", role="user")
    talk = await alice.remember("the seagulls are screaming outside again", kind="episodic", role="user")
    given = await alice.remember(f"{words}!", kind="episodic", role="user", importance=0.3)
    clock.forward(days=20)
    done = await living.service(Lifecycle).run(tenant, "decay")
    assert done is not None
    assert done.counts == {"archived": 2, "promoted": 1}
    assert (await alice.get(decided.memory_id)).layer == "long_term"
    for faded in (talk, given):
        assert (await alice.get(faded.memory_id)).archived_at == clock.now, "who gave an importance is believed"
    await alice.undo(done.operation_id)
    assert (await alice.get(decided.memory_id)).layer == "short_term"
    assert await living.service(Lifecycle).run(tenant, "decay") is None, "what was undone is left alone"


async def test_expired_memory_is_forgotten_then_removed(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    kept = await alice.remember("The door code is 4711.", ttl_days=1)
    clock.forward(days=2)
    assert (await living.service(Lifecycle).run(tenant, "expiry")).counts == {"expired": 1}
    assert (await alice.get(kept.memory_id)).deleted_at == clock.now
    clock.forward(days=29)
    assert await living.service(Lifecycle).run(tenant, "expiry") is None
    clock.forward(days=2)
    assert (await living.service(Lifecycle).run(tenant, "expiry")).counts == {"removed": 1}
    with pytest.raises(NotFoundError):
        await alice.get(kept.memory_id)
    assert (await living.service(EventService).verify(alice.scope)).equal


@pytest.mark.meaning
async def test_undo_restores_every_row_exactly(living: Keeps, clock: MovingClock, tenant: str) -> None:
    users = [living.memory(Scope(tenant, name)) for name in ("alice", "bob")]
    for user in users:
        await user.remember_many(
            [{"content": f"Remark {number} on the weather.", "kind": "episodic"} for number in range(250)]
        )
    before = [await whole(user) for user in users]
    clock.forward(days=30)
    done = await living.service(Lifecycle).run(tenant, "decay")
    assert done.counts == {"archived": 500}
    assert done.undoable
    changed = await users[0].operation(done.operation_id)
    assert len(changed.changes) == 250, "of others' memories nothing is shown"
    undone = await users[1].undo(done.operation_id)
    assert (undone.status, undone.counts) == ("undone", {"archived": 500, "undone": 500})
    assert [await whole(user) for user in users] == before
    assert (await living.service(EventService).verify(users[0].scope)).equal
    assert (await users[1].undo(done.operation_id)).undone_at == undone.undone_at, "undoing twice is once"


async def test_undo_keeps_later_changes(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    kept = await alice.remember(ALLERGY, kind="episodic")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    await alice.forget(kept.memory_id)
    await alice.restore(kept.memory_id)
    assert (await alice.undo(done.operation_id)).counts == {"promoted": 1, "undone": 1}
    other = await alice.remember("My daughter Mia is allergic to nuts.", kind="episodic", importance=1.0)
    clock.forward(hours=2)
    again = await living.service(Lifecycle).run(tenant, "promotion")
    assert (await alice.get(kept.memory_id)).layer == "short_term", "what was taken back is not done again"
    await alice.forget(other.memory_id, hard=True)
    assert (await alice.undo(again.operation_id)).counts == {"promoted": 1}, "what is gone stays gone"


async def test_undo_removes_no_changed_rows(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    made = await alice.remember("A summary that a job made.")
    row = MemoryRow.of(await alice.get(made.memory_id))
    run = Run(new_id(), tenant, "consolidation", clock.now)
    await in_write(living.database, alice.scope, lambda tx: record(tx, run, [Change(None, row)]))
    run.counts["gists"] += 1
    await living.service(OperationService).finish(run, None)
    await alice.update(made.memory_id, content="A summary that Alice corrected.")
    assert (await alice.undo(run.operation_id)).counts == {"gists": 1, "changed_since": 1}
    assert (await alice.get(made.memory_id)).content == "A summary that Alice corrected."


async def test_old_operation_cannot_be_undone(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    await alice.remember(ALLERGY, kind="episodic")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    clock.forward(days=31)
    with pytest.raises(ConflictError, match="older than 30 days"):
        await alice.undo(done.operation_id)


async def test_another_tenant_sees_and_undoes_nothing(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    await alice.remember(ALLERGY, kind="episodic")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    mallory = living.memory(Scope(f"{tenant}-other", "alice"))
    assert (await mallory.operations()).items == []
    for attempt in (mallory.operation, mallory.undo):
        with pytest.raises(NotFoundError):
            await attempt(done.operation_id)
    assert [each.operation_id for each in (await alice.operations(job="promotion")).items] == [done.operation_id]


async def test_unknown_job_error_lists_jobs(living: Keeps, tenant: str) -> None:
    with pytest.raises(ValidationFailedError, match="promotion"):
        await living.service(Lifecycle).run(tenant, "dreaming")


async def test_forged_changes_write_nothing_else(living: Keeps, clock: MovingClock, tenant: str) -> None:
    """What raw SQL might put into the changes of an operation: other fields, other users."""
    alice, bob = (living.memory(Scope(tenant, name)) for name in ("alice", "bob"))
    mine = (await alice.remember(ALLERGY, kind="episodic")).memory
    his = (await bob.remember("Bob's own.")).memory
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    forged = {"content": "Forged.", "visibility": "tenant", "user_id": "bob", "memory_id": str(his.memory_id)}

    async def forge(tx: Tx) -> None:
        await tx.execute(
            QUERIES["operation_changes_insert"],
            tenant,
            done.operation_id,
            [mine.memory_id],
            [json.dumps(forged)],
            [json.dumps({"layer": "long_term"})],
            "alice",
        )
        await tx.execute(
            Statement("forge", "UPDATE keeps.operation_changes SET before = $1::jsonb"), json.dumps(forged)
        )

    await in_write(living.database, alice.scope, forge)
    undone = await bob.undo(done.operation_id)
    assert undone.counts == {"promoted": 1}
    assert (await alice.get(mine.memory_id)).content == ALLERGY
    assert (await bob.get(his.memory_id)).content == "Bob's own."


async def test_restored_expired_memory_is_visible(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    kept = await alice.remember("The code of the door is 4711.", ttl_days=1)
    clock.forward(days=2)
    await living.service(Lifecycle).run(tenant, "expiry")
    assert len(await alice.list()) == 0
    assert (await alice.restore(kept.memory_id)).status == "restored"
    assert [each.memory_id for each in (await alice.list()).items] == [kept.memory_id]
    assert (await living.service(EventService).verify(alice.scope)).equal


async def test_sources_do_not_grow_stale(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    await alice.add_source("metrics", kind="database", purpose="Users and orders by day")
    clock.forward(days=400)
    assert await living.service(Lifecycle).run(tenant, "consolidation") is None


async def test_erasure_removes_user_from_undo(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice, bob = (living.memory(Scope(tenant, name, roles=frozenset({"admin"}))) for name in ("alice", "bob"))
    await alice.remember(ALLERGY, kind="episodic")
    clock.forward(hours=2)
    done = await living.service(Lifecycle).run(tenant, "promotion")
    assert (await bob.undo(done.operation_id)).undone_by == "bob"
    await bob.remember("so that there is a Bob")
    await living.service(TenantService).erase_user(bob.scope, "bob")
    assert (await alice.operation(done.operation_id)).undone_by == ""


async def test_archived_memory_is_not_found_by_unknown_word(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    kept = await alice.remember("we put up the nordwind tent there, nice", kind="episodic", importance=0.1)
    clock.forward(days=40)
    await living.service(Lifecycle).run(tenant, "decay")
    for query in ("nordwind", "nordwint", "where is the nordwind tent?"):
        assert kept.memory_id not in [
            hit.memory.memory_id for hit in (await alice.recall(query, include_archived=False)).hits
        ]
        hits = (await alice.recall(query, include_archived=True)).hits
        assert kept.memory_id in [hit.memory.memory_id for hit in hits]
