"""Conversations word for word, with their state: the same in process, by the async client and by the sync client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.events.service import EventService
from keeps_client import MemoryClient
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import NewTranscriptEntry
from tests.serving import token

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def said(number: int, **entry: Any) -> NewTranscriptEntry:
    return NewTranscriptEntry(entry_id=f"e{number}", at=NOON + timedelta(minutes=number), entry={"n": number, **entry})


@pytest.mark.sync_client
async def test_transcript_round_trips_verbatim(memory: Any) -> None:
    begun = await memory.create_transcript("app/é 🐴", transcript_id="a/b c", state={"k": None}, user_state={"u": [1]})
    assert (begun.version, begun.entry_count, begun.state, begun.user_state) == (1, 0, {"k": None}, {"u": [1]})
    entries = [said(1, text="žluťoučký 🐴", deep={"a": [1, None, True, 0.1]}), said(2), said(3)]
    done = await memory.append_to_transcript("app/é 🐴", "a/b c", entries, state={"k": 2}, shared_state={"s": "all"})
    assert (done.appended, done.entry_count, done.version, done.updated_at) == (3, 3, 2, entries[2].at)
    read = await memory.get_transcript("app/é 🐴", "a/b c")
    assert [(each.position, each.entry_id, each.at, each.entry) for each in read.entries] == [
        (position, each.entry_id, each.at, each.entry) for position, each in enumerate(entries, 1)
    ]
    assert (read.state, read.user_state, read.shared_state) == ({"k": 2}, {"u": [1]}, {"s": "all"})
    state = await memory.get_app_state("app/é 🐴")
    assert (state.user_state, state.shared_state) == ({"u": [1]}, {"s": "all"})
    assert (await memory.recall("žluťoučký")).hits == [], "it is no memory"


async def test_transcript_parts_are_readable(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")
    await memory.append_to_transcript("app", "t", [said(number) for number in range(1, 6)])

    async def ids(**which: Any) -> list[str]:
        return [each.entry_id for each in (await memory.get_transcript("app", "t", **which)).entries]

    assert await ids(last=2) == ["e4", "e5"]
    assert await ids(last=0) == []
    assert await ids(last=9) == ["e1", "e2", "e3", "e4", "e5"]
    assert await ids(since=NOON + timedelta(minutes=4)) == ["e4", "e5"]
    assert await ids(since=NOON + timedelta(minutes=2), last=3) == ["e3", "e4", "e5"]
    first = await memory.get_transcript("app", "t", limit=2)
    assert first.next_after == 2
    assert await ids(after=first.next_after) == ["e3", "e4", "e5"]


async def test_long_transcripts_are_paged(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")
    for number in range(1, 4):
        await memory.append_to_transcript("app", "t", [said(number, text="x" * 3_000_000)])
    first = await memory.get_transcript("app", "t")
    assert ([each.position for each in first.entries], first.next_after) == ([1, 2], 2)
    rest = await memory.get_transcript("app", "t", after=2)
    assert ([each.position for each in rest.entries], rest.next_after) == ([3], None)


async def test_resent_entry_is_stored_once(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")
    await memory.append_to_transcript("app", "t", [said(1)])
    again = await memory.append_to_transcript("app", "t", [said(1)], state={"k": 1})
    assert (again.appended, again.entry_count, again.version) == (0, 1, 2)
    other = await memory.append_to_transcript("app", "t", [said(1, more=True)])
    assert (other.appended, other.entry_count) == (1, 2), "another content is another entry"


async def test_taken_id_is_refused(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t", state={"k": 1})
    with pytest.raises(ConflictError, match="already exists"):
        await memory.create_transcript("app", transcript_id="t", state={"k": 2})
    assert (await memory.get_transcript("app", "t")).state == {"k": 1}
    assert (await memory.create_transcript("other", transcript_id="t")).state == {}


async def test_concurrent_appends_lose_nothing(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")

    async def append(number: int) -> None:
        await memory.append_to_transcript(
            "app",
            "t",
            [said(number)],
            state={f"k{number}": 1},
            user_state={f"u{number}": 1},
            shared_state={"s": 1},
        )

    await asyncio.gather(*map(append, range(1, 21)))
    read = await memory.get_transcript("app", "t")
    assert sorted(each.entry_id for each in read.entries) == sorted(f"e{number}" for number in range(1, 21))
    assert [each.position for each in read.entries] == list(range(1, 21))
    assert (len(read.state), len(read.user_state), read.version) == (20, 20, 21)


async def test_stale_writer_gets_conflict(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")
    results = await asyncio.gather(
        *(
            memory.append_to_transcript("app", "t", [said(number)], state={"k": number}, expected_version=1)
            for number in range(1, 6)
        ),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in results) == ["Appended"] + ["ConflictError"] * 4
    read = await memory.get_transcript("app", "t")
    assert (read.entry_count, read.state) == (1, {"k": read.entries[0].entry["n"]})


async def test_transcripts_are_listed_by_update_time(memory: Any) -> None:
    for name, minute in (("new", 9), ("old", 1), ("middle", 5)):
        await memory.create_transcript("app", transcript_id=name, state={"name": name}, at=NOON)
        await memory.append_to_transcript("app", name, [said(minute)])
    await memory.create_transcript("another app", transcript_id="hidden")
    first = await memory.list_transcripts("app", limit=2)
    second = await memory.list_transcripts("app", limit=2, cursor=first.next_cursor)
    assert [(each.transcript_id, each.state["name"]) for each in (*first, *second)] == [
        (name, name) for name in ("old", "middle", "new")
    ]
    assert second.next_cursor is None
    assert (await memory.list_transcripts("nothing")).items == []


async def test_deleted_transcript_is_absent_from_log(
    memory: Any, log_of: Callable[[], Awaitable[str]], keeps: Keeps, tenant: str
) -> None:
    await memory.create_transcript("app", transcript_id="t", state={"k": "swordfish"}, user_state={"u": "mine"})
    await memory.append_to_transcript("app", "t", [said(1, text="swordfish")], state={"k": "swordfish again"})
    assert "swordfish" in await log_of()
    await memory.delete_transcript("app", "t")
    assert "swordfish" not in await log_of()
    for work in (
        memory.get_transcript("app", "t"),
        memory.delete_transcript("app", "t"),
        memory.append_to_transcript("app", "t", [said(2)]),
    ):
        with pytest.raises(NotFoundError):
            await work
    begun = await memory.create_transcript("app", transcript_id="t")
    assert (begun.state, begun.user_state, begun.entries) == ({}, {"u": "mine"}, [])
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []


@pytest.mark.parametrize(
    ("app", "fields", "wrong"),
    [
        ("", {}, "app"),
        ("a" * 201, {}, "app"),
        ("app", {"transcript_id": ""}, "transcript_id"),
        ("app", {"transcript_id": "a\x00b"}, "NUL"),
        ("app", {"state": {"k": "a\x00b"}}, "NUL"),
        ("app", {"state": {"": 1}}, "state"),
        ("app", {"state": {"k": "x" * 300_000}}, "256 KiB"),
    ],
)
async def test_invalid_entry_is_refused_by_field(memory: Any, app: str, fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationFailedError, match=wrong):
        await memory.create_transcript(app, **fields)


async def test_state_size_is_limited(memory: Any) -> None:
    await memory.create_transcript("app", transcript_id="t")
    with pytest.raises(ValidationFailedError, match="4 MiB"):
        for number in range(20):
            await memory.append_to_transcript("app", "t", state={f"k{number}": "x" * 250_000})
    assert (await memory.get_transcript("app", "t")).version == 17


async def test_replay_restores_transcripts(memory: Any, keeps: Keeps, tenant: str) -> None:
    await memory.create_transcript("app", state={"null": None})
    await memory.create_transcript("app", transcript_id="t", state={"null": None, "k": 1}, user_state={"n": None})
    await memory.append_to_transcript(
        "app", "t", [said(1), NewTranscriptEntry(entry_id="null", entry=None)], state={"k": 2}
    )
    found = await keeps.service(EventService).verify(Scope(tenant, "alice"))
    assert (found.differences, found.compared["transcripts"]) == ([], 2)
    assert (found.compared["transcript_entries"], found.compared["transcript_values"]) == (2, 4)
    assert (await memory.get_transcript("app", "t")).entries[1].entry is None


async def test_transcripts_are_separate_except_for_administrators(keeps: Keeps, tenant: str, secured_url: str) -> None:
    for user in ("anna", "bea", "carl"):
        own = keeps.memory(Scope(tenant, user))
        for number in range(2):
            await own.create_transcript(
                "app", transcript_id=f"t{number}", state={"who": user}, shared_state={"x": user}
            )
    async with MemoryClient(secured_url, token=token(tenant, "anna")) as anna:
        assert {each.user_id for each in await anna.list_transcripts("app")} == {"anna"}
        assert (await anna.get_transcript("app", "t0")).state == {"who": "anna"}
        assert (await anna.get_app_state("app")).shared_state == {"x": "carl"}
        with pytest.raises(ForbiddenError):
            await anna.admin.list_transcripts("app")
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        found: list[tuple[str, str]] = []
        cursor = None
        while True:
            page = await root.admin.list_transcripts("app", limit=4, cursor=cursor)
            found += [(each.user_id, str(each.state["who"])) for each in page]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == [(user, user) for user in ("anna", "anna", "bea", "bea", "carl", "carl")]


async def test_agent_token_reads_its_own_transcripts(keeps: Keeps, tenant: str) -> None:
    user = keeps.memory(Scope(tenant, "alice"))
    await user.create_transcript("app", transcript_id="a", agent_id="scout", state={"k": 1}, user_state={"u": 1})
    await user.append_to_transcript("app", "a", [said(1)], state={"l": 2})
    scout = keeps.memory(Scope(tenant, "alice", agent_id="scout", agent_bound=True))
    read = await scout.get_transcript("app", "a")
    assert (read.state, len(read.entries)) == ({"k": 1, "l": 2}, 1)
    other = keeps.memory(Scope(tenant, "alice", agent_id="other", agent_bound=True))
    with pytest.raises(NotFoundError):
        await other.get_transcript("app", "a")
    assert (await other.list_transcripts("app")).items == []
    assert [each for each in await other.events() if each.type.startswith("transcript")] == []
    assert (await other.get_app_state("app")).user_state == {"u": 1}, "the user's state is for all their agents"
    with pytest.raises(ConflictError):
        await other.create_transcript("app", transcript_id="a")


async def test_append_with_create_starts_transcript(memory: Any) -> None:
    with pytest.raises(NotFoundError):
        await memory.append_to_transcript("app", "t", [said(1)])
    done = await asyncio.gather(
        *(memory.append_to_transcript("app", "t", [said(n)], state={f"k{n}": n}, create=True) for n in range(1, 9))
    )
    assert sorted(each.entry_count for each in done) == list(range(1, 9))
    read = await memory.get_transcript("app", "t")
    assert (len(read.entries), read.state) == (8, {f"k{n}": n for n in range(1, 9)})
    with pytest.raises(ConflictError):
        await memory.append_to_transcript("app", "t", [said(9)], create=True, expected_version=0)
    with pytest.raises(NotFoundError):
        await memory.append_to_transcript("app", "another", [said(9)], create=True, expected_version=3)
    assert (await memory.append_to_transcript("app", "new", [said(1)], create=True, expected_version=0)).appended == 1


async def test_concurrent_removals_return_different_entries(
    memory: Any, log_of: Callable[[], Awaitable[str]], keeps: Keeps, tenant: str
) -> None:
    await memory.create_transcript("app", transcript_id="t", state={"k": 1})
    await memory.append_to_transcript("app", "t", [said(n, text=f"swordfish {n}") for n in range(1, 6)])
    removing = [memory.remove_last_entry("app", "t") for _ in range(7)]
    appending = [memory.append_to_transcript("app", "t", [said(n)]) for n in range(10, 15)]
    done = await asyncio.gather(*removing, *appending)
    removed = [each.entry.entry_id for each in done[:7] if each.entry is not None]
    left = await memory.get_transcript("app", "t")
    ids = [each.entry_id for each in left.entries]
    assert sorted(removed + ids) == sorted(f"e{n}" for n in (*range(1, 6), *range(10, 15)))
    assert [each.position for each in left.entries] == list(range(1, left.entry_count + 1))
    for each in removed:
        assert f"swordfish {each[1:]}" not in await log_of()
    again = await memory.append_to_transcript("app", "t", [said(1, text="swordfish 1")], create=True)
    assert again.entry_count == left.entry_count + (0 if "e1" in ids else 1)
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []


async def test_cleared_transcript_keeps_state(
    memory: Any, log_of: Callable[[], Awaitable[str]], keeps: Keeps, tenant: str
) -> None:
    await memory.create_transcript("app", transcript_id="t", state={"k": 1}, user_state={"u": 2})
    await memory.append_to_transcript("app", "t", [said(n, text="swordfish") for n in range(1, 4)])
    cleared = await memory.clear_transcript("app", "t")
    assert (cleared.entry_count, cleared.version) == (0, 3)
    assert (await memory.clear_transcript("app", "t")).version == 3, "there was nothing left to remove"
    assert (await memory.remove_last_entry("app", "t")).entry is None
    read = await memory.get_transcript("app", "t")
    assert (read.entries, read.state, read.user_state) == ([], {"k": 1}, {"u": 2})
    assert "swordfish" not in await log_of()
    assert (await memory.append_to_transcript("app", "t", [said(1)])).entry_count == 1
    assert (await keeps.service(EventService).verify(Scope(tenant, "alice"))).differences == []
    for removal in (memory.clear_transcript("app", "none"), memory.remove_last_entry("app", "none")):
        with pytest.raises(NotFoundError):
            await removal


async def test_shared_state_cannot_lock_others_out(memory: Any, keeps: Keeps, tenant: str) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await memory.create_transcript("app", transcript_id="t", shared_state={"k": 1})
    big = "x" * 250_000
    with pytest.raises(ValidationFailedError, match="shared_state"):
        for number in range(30):
            await bob.append_to_transcript("app", "b", shared_state={f"b{number}": big}, create=True)
    with pytest.raises(ValidationFailedError, match="shared_state"):
        for number in range(30):
            await bob.store(f"c{number}", big, "app:app")
    with pytest.raises(ValidationFailedError, match="shared_state"):
        for number in range(30):
            await bob.append_to_list(f"d{number}", big, "app:app")
    read = await memory.get_transcript("app", "t")
    assert read.shared_state["b0"] == big
    assert len(str(read.shared_state)) < 5 << 20
