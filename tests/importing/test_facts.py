"""Facts that an import of conversations learns: at their own times, in any order, and once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.conversations.batches import FACTS_OF_A_BATCH
from keeps.sources.importing.formats import read
from keeps.sources.importing.service import run_import
from keeps_client import MemoryClient

ALLERGIES: list[tuple[int | None, str]] = [
    (2020, "I'm allergic to peanuts."),
    (2021, "I'm allergic to shrimp."),
    (2022, "I'm no longer allergic to peanuts."),
]


def at(year: int) -> datetime:
    return datetime(year, 5, 1, 12, tzinfo=UTC)


def conversation(identity: str, *messages: tuple[str, int | None, str]) -> dict[str, Any]:
    """A conversation of role, year and text."""
    return {
        "id": f"conversation number {identity}",
        "messages": [
            {"role": role, "content": text, **({"timestamp": at(year).isoformat()} if year else {})}
            for role, year, text in messages
        ],
    }


def write(folder: Path, name: str, *conversations: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, conversations)))
    return path


def said(year: int | None, text: str) -> dict[str, Any]:
    return conversation(f"{year} {text}", ("user", year, text))


async def facts(memory: Any) -> dict[str, str]:
    """Return the facts that are true now, by key."""
    page = await memory.list(filters={"namespace": {"eq": "facts"}}, limit=200)
    return {fact.key: fact.content for fact in page.items if fact.valid_to is None}


async def import_each(memory: Any, folder: Path, statements: Sequence[tuple[int | None, str]]) -> None:
    """Import each statement as a file of its own."""
    for number, (year, text) in enumerate(statements):
        summary = await run_import(memory, read(write(folder, f"{number}.jsonl", said(year, text)), "chat"))
        assert summary.rejected == []


async def test_import_learns_facts_at_the_time_of_their_messages(memory: LocalMemory, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "chats.jsonl",
        conversation("2", ("user", 2025, "I live in Porto."), ("assistant", 2025, "I'm allergic to nothing.")),
        conversation("1", ("user", 2024, "I live in Leeds."), ("user", 2024, "I'm allergic to peanuts.")),
        conversation("3", ("tool", 2026, "I live in Rome."), ("user", 2026, "What is a monad?")),
    )
    dry = await run_import(memory, read(path), dry_run=True)
    assert (dry.facts, await facts(memory)) == (3, {})
    summary = await run_import(memory, read(path))
    assert (summary.read, summary.stored, summary.facts) == (6, 6, 3)
    assert await facts(memory) == {
        "user/allergy/peanuts": "I'm allergic to peanuts.",
        "user/residence": "I live in Porto.",
    }
    residence = await memory.find("facts", "user/residence")
    assert residence is not None
    assert (residence.valid_from, residence.source, residence.session_id) == (
        at(2025),
        "extraction",
        "conversation number 2",
    )
    hits = (await memory.recall("What am I allergic to?", layers=["long_term"])).hits
    assert hits[0].memory.content == "I'm allergic to peanuts."
    older = await memory.list(filters={"superseded_by": {"eq": str(residence.memory_id)}})
    assert [(fact.content, fact.valid_from, fact.valid_to) for fact in older.items] == [
        ("I live in Leeds.", at(2024), at(2025))
    ]


async def test_importing_again_learns_nothing_and_forgotten_facts_stay_forgotten(
    memory: LocalMemory, tmp_path: Path
) -> None:
    first, second = said(2024, "I live in Leeds."), said(2025, "I'm allergic to peanuts.")
    path = write(tmp_path, "chats.jsonl", first)
    assert (await run_import(memory, read(path))).facts == 1
    await memory.forget(namespace="facts", key="user/residence")
    again = await run_import(memory, read(path))
    assert (again.statuses, again.facts, await facts(memory)) == ({"unchanged": 1}, 0, {})
    summary = await run_import(memory, read(write(tmp_path, "chats.jsonl", first, second)))
    assert (summary.statuses, summary.facts) == ({"unchanged": 1, "created": 1}, 1)
    assert list(await facts(memory)) == ["user/allergy/peanuts"]


@pytest.mark.parametrize("text", ["I'm allergic to peanuts.", "I no longer live in Leeds."])
async def test_forgetting_a_message_forgets_its_facts(memory: LocalMemory, tmp_path: Path, text: str) -> None:
    await run_import(memory, read(write(tmp_path, "chats.jsonl", said(2024, text))))
    (message,) = (await memory.list(filters={"namespace": {"eq": "import"}})).items
    everything = {"namespace": {"eq": "facts"}, "superseded_by": {"exists": False}}
    before = (await memory.list(filters=everything)).items
    assert [fact.content for fact in before] == [text]
    await memory.forget(message.memory_id)
    assert (await memory.list(filters=everything)).items == []


LEEDS, PORTO, NOT_LEEDS, NOT_PORTO = (
    "I live in Leeds.",
    "I live in Porto.",
    "I no longer live in Leeds.",
    "I no longer live in Porto.",
)
ORDERS: dict[str, tuple[list[tuple[int | None, str]], str | None]] = {
    "replaced": ([(2020, LEEDS), (2022, PORTO), (2024, "I live in Rome.")], "I live in Rome."),
    "ended": ([(2020, LEEDS), (2022, NOT_LEEDS)], None),
    "ended and again": ([(2020, LEEDS), (2022, NOT_LEEDS), (2024, LEEDS)], LEEDS),
    "said again": ([(2020, LEEDS), (2022, PORTO), (2024, LEEDS)], LEEDS),
    "other value ended": ([(2020, LEEDS), (2021, PORTO), (2022, NOT_LEEDS)], PORTO),
    "last one ended": ([(2020, LEEDS), (2021, PORTO), (2022, NOT_PORTO)], None),
    "ended, then another": ([(2020, LEEDS), (2021, NOT_LEEDS), (2022, PORTO)], PORTO),
    "said twice, then ended": ([(2020, LEEDS), (2021, LEEDS), (2022, NOT_LEEDS)], None),
}
"""Statements in the order of their times, and the residence that is true in the end."""


@pytest.mark.parametrize("name", ORDERS)
async def test_order_of_imports_does_not_matter(keeps: Keeps, tenant: str, tmp_path: Path, name: str) -> None:
    statements, residence = ORDERS[name]
    for number, order in enumerate(itertools.permutations(statements)):
        memory = keeps.memory(Scope(tenant, f"u{number}"))
        await import_each(memory, tmp_path, order)
        assert (await facts(memory)).get("user/residence") == residence, order


async def test_end_of_one_of_several_values_ends_that_one(keeps: Keeps, tenant: str, tmp_path: Path) -> None:
    for number, order in enumerate(itertools.permutations(ALLERGIES)):
        memory = keeps.memory(Scope(tenant, f"u{number}"))
        await import_each(memory, tmp_path, order)
        assert await facts(memory) == {"user/allergy/shrimp": "I'm allergic to shrimp."}, order


async def test_order_in_a_file_does_not_matter(memory: LocalMemory, tmp_path: Path) -> None:
    path = write(tmp_path, "chats.jsonl", *(said(year, text) for year, text in reversed(ORDERS["ended"][0])))
    await run_import(memory, read(path))
    assert await facts(memory) == {}
    (ended,) = (await memory.list(filters={"key": {"eq": "user/residence"}, "valid_to": {"gt": "2000-01-01"}})).items
    assert (ended.content, ended.valid_from, ended.valid_to) == ("I live in Leeds.", at(2020), at(2022))


async def test_old_conversations_do_not_change_what_was_said_since(memory: LocalMemory, tmp_path: Path) -> None:
    await memory.store_exchange([{"role": "user", "content": "I live in Rome."}], session_id="live")
    await import_each(memory, tmp_path, [(2024, "I live in Leeds."), (2025, "I no longer live in Rome.")])
    assert await facts(memory) == {"user/residence": "I live in Rome."}
    await memory.store_exchange([{"role": "user", "content": "I no longer live in Rome."}], session_id="live")
    assert await facts(memory) == {}


async def test_messages_without_a_time_replace_no_dated_fact(memory: LocalMemory, tmp_path: Path) -> None:
    undated = [(None, "I live in Leeds."), (None, "I live in Porto."), (None, "I'm allergic to peanuts.")]
    await import_each(memory, tmp_path, undated)
    learnt = {"user/residence": "I live in Porto.", "user/allergy/peanuts": "I'm allergic to peanuts."}
    assert await facts(memory) == learnt
    await memory.store_exchange([{"role": "user", "content": "I live in Rome."}], session_id="live")
    for text in (LEEDS, PORTO, NOT_PORTO):
        await import_each(memory, tmp_path, [(None, f"{text[:-1]}!")])
    assert await facts(memory) == learnt | {"user/residence": "I live in Rome."}


async def test_batch_of_many_facts_is_divided(memory: LocalMemory, tmp_path: Path) -> None:
    text = " ".join(f"I'm allergic to substance{{0}}x{n}." for n in range(5))
    chats = [said(2024, text.format(number)) for number in range(FACTS_OF_A_BATCH // 4)]
    summary = await run_import(memory, read(write(tmp_path, "chats.jsonl", *chats)))
    assert (summary.stored, summary.rejected) == (len(chats), [])
    assert summary.facts == 5 * len(chats)


async def test_import_through_a_server_learns_the_same(
    memory: LocalMemory, server_url: str, tenant: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "chats.jsonl", *(said(year, text) for year, text in ALLERGIES))
    async with MemoryClient(server_url, tenant_id=tenant, user_id="bob") as client:
        here, there = await run_import(memory, read(path)), await run_import(client, read(path))
        assert (here.facts, here.statuses) == (there.facts, there.statuses)
        assert await facts(memory) == await facts(client) == {"user/allergy/shrimp": "I'm allergic to shrimp."}


async def test_learnt_facts_and_ends_survive_an_export(server_url: str, tenant: str, tmp_path: Path) -> None:
    statements = [*ORDERS["ended, then another"][0], *ALLERGIES, (2019, PORTO)]
    async with (
        MemoryClient(server_url, tenant_id=tenant, user_id="alice") as first,
        MemoryClient(server_url, tenant_id=f"{tenant}-2", user_id="alice") as second,
    ):
        await import_each(first, tmp_path, statements)
        lines = await first.admin.export_lines()
        summary = await second.admin.import_lines(lines)
        assert (summary.stored, summary.failed) == (len(lines), 0)
        assert [line.replace(f"{tenant}-2", tenant) for line in await second.admin.export_lines()] == lines
        assert await facts(second) == await facts(first)
        await import_each(second, tmp_path, [(2018, LEEDS)])
        assert (await facts(second))["user/residence"] == PORTO
