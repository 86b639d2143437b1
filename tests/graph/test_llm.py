"""An LLM behind OpenAI's API, scripted: right, lying, cut off, refusing, away. With it better, without it nothing is
lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.models.chat import OpenAIChat
from keeps.store.events.service import EventService
from keeps_client.errors import NotConfiguredError, UnavailableError
from tests.scripted_llm import Script

TEXT = "Alice works at Acme in Lisbon."


@pytest.fixture
async def keeps(app_url: str, shared: Any, tmp_path: Path, script: Script) -> AsyncIterator[Keeps]:
    chosen = Settings(home=tmp_path, database_url=app_url, llm_base_url=script.url, llm_model="m")
    async with await open_keeps(chosen, embedder=shared) as opened:
        yield opened


async def read(keeps: Keeps, tenant: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Types by name, and edges, after reading one text."""
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(TEXT)
    assert (await memory.read_entities()).memories == 1
    entities = (await memory.list_entities(limit=200)).items
    names = {each.entity_id: each.name for each in entities}
    edges = [edge for each in entities for edge in await memory.get_relations(each.entity_id, direction="outgoing")]
    return {each.name: each.entity_type for each in entities}, [
        (names[edge.source_id], edge.relation_type, names[edge.target_id]) for edge in edges
    ]


async def test_a_right_answer_gives_types_and_edges(keeps: Keeps, script: Script, tenant: str) -> None:
    script.answers = [
        {
            "entities": [
                {"text": 1, "name": "Alice", "type": "Person"},
                {"text": 1, "name": "Acme", "type": "organisation"},
            ],
            "relations": [{"text": 1, "source": "Alice", "target": "Acme", "type": "works at"}],
        }
    ]
    types, edges = await read(keeps, tenant)
    assert types == {
        "Alice": "person",
        "Acme": "organisation",
        "Lisbon": "name",
    }, "what the LLM left out, the rules found"
    assert edges == [("Alice", "works_at", "Acme")]
    assert script.asked == [f"[1] {TEXT}"], "texts have small numbers, no ids"
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.read_entities(again=True)
    assert len(await memory.get_relations((await memory.list_entities(name="Alice")).items[0].entity_id)) == 1
    assert (await keeps.service(EventService).verify(memory.scope)).differences == []


async def test_llm_sees_no_secret(keeps: Keeps, script: Script, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember("Anna Weiss lives in Kyoto. Her door code is 4711-X.")
    await alice.read_entities()
    assert "Kyoto" in script.asked[0]
    assert "4711" not in script.asked[0]


async def test_lies_are_left_out(keeps: Keeps, script: Script, tenant: str) -> None:
    script.answers = [
        {
            "entities": [
                {"text": 1, "name": "Mallory"},
                {"text": 7, "name": "Alice"},
                {"text": 1, "name": "Acme", "type": "'; DROP"},
            ],
            "relations": [
                {"text": 1, "source": "Acme", "target": "Mallory", "type": "owns"},
                {"text": 1, "source": "Acme", "target": "Acme", "type": "x"},
            ],
        }
    ]
    types, edges = await read(keeps, tenant)
    assert (set(types), edges) == ({"Acme", "Lisbon"}, [])
    assert types["Acme"] == "drop"


@pytest.mark.parametrize(
    "answers",
    [['{"entities": [{"te'], ["no JSON at all"], [{"entities": "x"}], [401], [400], [""]],
)
async def test_without_a_usable_answer_the_rules_go_on(
    keeps: Keeps, script: Script, tenant: str, answers: list[Any]
) -> None:
    script.answers = answers
    types, edges = await read(keeps, tenant)
    assert (set(types), edges) == ({"Acme", "Lisbon"}, [])


async def test_a_second_try_and_busy_servers_help(keeps: Keeps, script: Script, tenant: str) -> None:
    script.answers = [
        429,
        'Sure! ```json\n{"entities": [{"text": 1,',
        '```json\n{"entities": [{"text": 1, "name": "Alice", "type": "person"}]}\n```',
    ]
    types, _ = await read(keeps, tenant)
    assert types["Alice"] == "person"
    assert len(script.asked) == 3


async def test_the_markdown_pipeline_asks_it_too(keeps: Keeps, script: Script, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    script.answers = [
        {
            "statements": [
                {"category": "profile", "text": "Alice works at Acme."},
                {"category": "profile", "text": "Acme lies in Lisbon."},
            ]
        }
    ]
    assert [each.value for each in await memory.append_markdown(TEXT)] == [
        "Alice works at Acme.",
        "Acme lies in Lisbon.",
    ]
    script.answers = ["nonsense"]
    assert [each.value for each in await memory.append_markdown("We met Bob.")] == ["We met Bob."]


async def test_llm_failure_is_reported(script: Script) -> None:
    from keeps.memory.graph.extraction import ExtractedGraph

    chat = OpenAIChat("m", base_url=script.url)
    for answer, error, words in (
        (401, NotConfiguredError, "KEEPS_LLM_API_KEY"),
        (400, UnavailableError, "refused the request"),
        ("x", UnavailableError, "twice"),
    ):
        script.answers = [answer]
        with pytest.raises(error, match=words):
            await chat.answer("do", "this", ExtractedGraph)
    await chat.close()
