"""Expired memories end with all that was derived from them, and an installation reports ends and lengths."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings, load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.lifecycle.gist import NAMESPACE
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.db.statements import Statement
from keeps_client.errors import ValidationFailedError
from tests.lifecycle.conftest import MovingClock

TOLD = "My sister Anna lives in Oslo, and her train leaves at 7:45 on Monday."


async def test_gist_expires_with_its_message(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    for session, days in (("s1", 40), ("s2", None)):
        await alice.remember(
            f"{TOLD} ({session})",
            kind="episodic",
            content_type="message",
            role="user",
            session_id=session,
            importance=0.3,
            ttl_days=days,
        )
    clock.forward(days=20)
    await living.service(Lifecycle).run(tenant, "decay")
    gists = {each.session_id: each for each in (await alice.list(filters={"namespace": {"eq": NAMESPACE}})).items}
    assert gists["s1"].expires_at == clock.now + timedelta(days=20)
    assert gists["s2"].expires_at is None
    clock.forward(days=21)
    assert "Anna" in " ".join(hit.memory.content for hit in (await alice.recall("train at 7:45", session_id="s2")).hits)
    assert not (await alice.recall("train at 7:45", session_id="s1", include_archived=True)).hits


async def test_week_summary_expires_with_first_entry(living: Keeps, clock: MovingClock, tenant: str) -> None:
    agent = living.memory(Scope(tenant, "alice", "gardener"))
    for day in range(6):
        await agent.remember(
            f"Watered the tomatoes; bed {day} must be weeded by Friday.",
            kind="episodic",
            content_type="daily_log",
            ttl_days=60 + day if day % 2 else None,
        )
        clock.forward(hours=20)
    first = clock.now - timedelta(hours=100) + timedelta(days=61)
    clock.forward(days=20)
    await living.service(Lifecycle).run(tenant, "decay")
    assert (await living.service(Lifecycle).run(tenant, "consolidation")).counts == {"summarised": 1}
    (summary,) = (await agent.list(filters={"content_type": {"eq": "summary"}})).items
    assert summary.expires_at == first


async def test_merged_memory_lives_as_long_as_any_source(living: Keeps, clock: MovingClock, tenant: str) -> None:
    alice = living.memory(Scope(tenant, "alice"))
    await alice.remember("On Fridays Alice hikes in the hills.", ttl_days=400)
    kept = await alice.remember("Well, Alice hikes in the hills on Fridays.", ttl_days=30)
    clock.forward(days=1)
    assert (await living.service(Lifecycle).run(tenant, "consolidation")).counts == {"merged": 1}
    assert (await alice.get(kept.memory_id)).expires_at == clock.now + timedelta(days=399)


async def test_settings_limit_length_and_ttl(
    app_url: str, shared: Any, tmp_path: Path, clock: MovingClock, tenant: str
) -> None:
    settings = Settings(
        home=tmp_path, database_url=app_url, max_content_characters=200, default_ttl_days=10, cleanup_interval_hours=6
    )
    async with await open_keeps(settings, embedder=shared, clock=clock) as keeps:
        alice = keeps.memory(Scope(tenant, "alice"))
        long = "word " * 50
        for attempt in (
            alice.remember(long),
            alice.remember_many([{"content": "short"}, {"content": long}]),
            alice.store_exchange([{"role": "user", "content": long}], session_id="s1"),
            alice.update((await alice.remember("Alice lives in Leeds.")).memory_id, content=long),
        ):
            with pytest.raises(ValidationFailedError, match=r"250 characters.* 200 .*KEEPS_MAX_CONTENT_CHARACTERS"):
                await attempt
        (home,) = (await alice.list()).items
        assert home.expires_at == clock.now + timedelta(days=10)
        for ttl_days in (1_000, 1):
            await alice.remember("Alice has a dog.", namespace="n", key=f"dog{ttl_days}", ttl_days=ttl_days)
            again = await alice.remember("Alice has two dogs.", namespace="n", key=f"dog{ttl_days}")
            assert again.memory.expires_at == clock.now + timedelta(days=10), "a new value has an end of its own"
            await alice.forget(namespace="n", key=f"dog{ttl_days}", hard=True)
        lasting = await alice.remember("Alice was born in York.", ttl_days=1_000)
        assert (await alice.get(lasting.memory_id)).expires_at == clock.now + timedelta(days=1_000)
        clock.forward(days=11)
        await alice.remember("The offer ends.", expires_at=clock.now + timedelta(hours=1))
        done = await keeps.service(Lifecycle).run(tenant, "expiry")
        assert done.counts == {"expired": 1}
        async with keeps.database.scoped(alice.scope) as tx:
            row = await tx.fetch_row(DUE, tenant)
        assert row is not None
        assert row["due_at"] == clock.now + timedelta(hours=6)


async def test_repeated_text_restarts_default_ttl(
    app_url: str, shared: Any, tmp_path: Path, clock: MovingClock, tenant: str
) -> None:
    settings = Settings(home=tmp_path, database_url=app_url, default_ttl_days=365)
    async with await open_keeps(settings, embedder=shared, clock=clock) as keeps:
        alice = keeps.memory(Scope(tenant, "alice"))
        keyed = {"namespace": "papers", "key": "passport"}

        async def tell(**given: Any) -> list[Any]:
            texts = [("The passport is in the safe.", {}), ("The visa is in the safe.", keyed)]
            return [await alice.remember(text, **place, **given) for text, place in texts]

        await tell()
        clock.forward(hours=1)
        assert [each.status for each in await tell()] == ["unchanged"] * 2
        clock.forward(days=360)
        assert [each.memory.expires_at for each in await tell()] == [clock.now + timedelta(days=365)] * 2
        given = await alice.remember("The code is 4711.", ttl_days=5)
        clock.forward(days=3)
        assert (await alice.remember("The code is 4711.")).memory.expires_at == given.memory.expires_at


DUE = Statement("due", "SELECT due_at FROM keeps.tenant_jobs WHERE tenant_id = $1 AND job = 'expiry'")


def test_settings_of_length_and_ttl_are_read(tmp_path: Path) -> None:
    found = load_settings(
        {
            "KEEPS_MAX_CONTENT_CHARACTERS": "20000",
            "KEEPS_DEFAULT_TTL_DAYS": "365",
            "KEEPS_CLEANUP_INTERVAL_HOURS": "12",
        },
        home=tmp_path,
    )
    assert (found.max_content_characters, found.default_ttl_days, found.cleanup_interval_hours) == (20_000, 365, 12)
    assert load_settings({}, home=tmp_path).default_ttl_days is None
    with pytest.raises(ValidationFailedError, match="KEEPS_MAX_CONTENT_CHARACTERS"):
        load_settings({"KEEPS_MAX_CONTENT_CHARACTERS": "50001"}, home=tmp_path)
