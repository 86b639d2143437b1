"""Signs that a process keeps: never older than what a transaction reads, never somebody else's, not for long."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from keeps.base.cache.ttl_cache import TtlCache
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall import caches, store
from keeps.memory.recall.service import RecallService
from keeps.memory.transfer.erasure import TenantService
from tests.conftest import until
from tests.recall.test_words import Made, texts


@pytest.fixture
async def made(app_url: str) -> AsyncIterator[Keeps]:
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        yield keeps


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of rows of signs that each reading asked for."""
    asked: list[int] = []
    inner = store.sign_parts

    def counted(tx: object, held: object, model: object, firsts: list[int]) -> object:
        asked.append(len(firsts))
        return inner(tx, held, model, firsts)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "sign_parts", counted)
    return asked


async def test_cached_signs_follow_changes(made: Keeps, tenant: str, read: list[int]) -> None:
    memory = made.memory(Scope(tenant, "alice"))
    said = texts(1_600, 8)
    receipts = await memory.remember_many([{"content": text} for text in said[:1_000]], index="now")
    for text in said[:20]:
        assert (await memory.recall(text, scope="indexed", limit=1)).hits[0].memory.content == text
    assert read == [1]
    await memory.remember_many([{"content": text} for text in said[1_000:]], index="now")
    assert (await memory.recall(said[1_100], scope="indexed", limit=1)).hits[0].memory.content == said[1_100]
    await memory.forget(receipts[7].memory_id)
    found = (await memory.recall(said[7], scope="indexed", limit=5)).hits
    assert said[7] not in [hit.memory.content for hit in found]
    await memory.restore(receipts[7].memory_id)
    assert (await memory.recall(said[7], scope="indexed", limit=1)).hits[0].memory.content == said[7]


async def test_cache_is_separate_for_each_audience(made: Keeps, tenant: str, read: list[int]) -> None:
    alice, bob, elsewhere = Scope(tenant, "alice"), Scope(tenant, "bob"), Scope(f"{tenant}-2", "alice")
    said = texts(600, 9)
    await made.memory(alice).remember_many([{"content": text} for text in said], index="now")
    assert (await made.memory(alice).recall(said[3], scope="indexed")).hits
    for other in (bob, elsewhere):
        assert not (await made.memory(other).recall(said[3], scope="indexed")).hits
    await made.memory(alice).remember_many(
        [{"content": f"all {text}", "visibility": "tenant"} for text in said], index="now"
    )
    for scope in (alice, bob):
        found = await made.memory(scope).recall(f"all {said[3]}", scope="indexed", limit=1)
        assert found.hits[0].memory.content == f"all {said[3]}"
    assert len(read) == 2


async def test_misspelt_word_ignores_words_of_other_agents(made: Keeps, tenant: str) -> None:
    alice = Scope(tenant, "alice", agent_id="one")
    said = [{"content": f"przybylski was there {n}", "kind": "episodic"} for n in range(600)]
    await made.memory(alice).remember_many(said, index="later")
    assert (await made.memory(alice).recall("przybilsky", scope="persistent")).hits
    bound = made.memory(Scope(tenant, "alice", agent_id="two", agent_bound=True))
    assert not (await bound.recall("przybilsky", scope="persistent")).hits
    words = made.service(RecallService)._caches[1]._kept._entries  # noqa: SLF001
    assert {key[3]: len(entry.value[1].words) > 0 for key, entry in words.items() if key[0] == tenant} == {
        "": True,
        "two": False,
    }


async def test_erased_data_leaves_cache(made: Keeps, tenant: str) -> None:
    alice = made.memory(Scope(tenant, "alice"))
    receipts = await alice.remember_many([{"content": text} for text in texts(600, 10)], index="now")
    held = made.service(RecallService)._caches[0]._kept  # noqa: SLF001
    for erase in (
        lambda: alice.forget(receipts[0].memory_id, hard=True),
        lambda: made.service(TenantService).erase_user(alice.scope, "alice"),
    ):
        await alice.recall("w1 w2")
        assert held.get((tenant, "alice", "current", "main")) is not None
        await erase()
        assert held.get((tenant, "alice", "current", "main")) is None


async def test_oversized_entries_are_read_in_parts(made: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = made.memory(Scope(tenant, "alice"))
    said = texts(1_600, 11)
    for part in (said[:800], said[800:]):
        await memory.remember_many([{"content": text} for text in part], index="now")
    monkeypatch.setattr(caches, "ROOM_BYTES", 1_000)
    for text in (said[0], said[1_030], said[1_599]):
        assert (await memory.recall(text, scope="indexed", limit=1)).hits[0].memory.content == text


async def test_unused_cache_entries_expire() -> None:
    held: TtlCache[str, int] = TtlCache(room=10, seconds=0.05)
    held.put("a", 1, 4)
    held.put("b", 2, 4)
    held.put("too large", 3, 11)
    assert (held.get("a"), held.get("b"), held.get("too large")) == (1, 2, None)
    held.get("a")
    held.put("c", 3, 4)
    assert (held.get("a"), held.get("b"), held.get("c")) == (1, None, 3)
    await until(lambda: len(held) == 0, "entries that nobody uses")
    aging: TtlCache[str, int] = TtlCache(room=10, seconds=0.2, renewed=False)
    aging.put("a", 1)
    assert aging.get("a") == 1
    await until(lambda: aging.get("a") is None, "an entry that is used, and grows old all the same")
