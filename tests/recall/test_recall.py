"""Recall on the real database with the real model."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.indexing import service as indexing
from keeps.memory.indexing.service import Indexer
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.service import RecallService
from keeps.models.embedder import Embedding, QueryEmbedding
from keeps_client.errors import UnavailableError, ValidationFailedError
from keeps_client.models import Explanation, Hit
from keeps_client.models.recall import WEAK_RELEVANCE


def contents(result: Any) -> list[str]:
    return [hit.memory.content for hit in result.hits]


async def test_memory_is_found_without_shared_words(memory: LocalMemory) -> None:
    for text in (
        "Alice is allergic to peanuts.",
        "The car is parked on the third floor.",
        "Her favourite painter is Kandinsky.",
    ):
        await memory.remember(text)
    assert contents(await memory.recall("what food is dangerous for her?", limit=1)) == [
        "Alice is allergic to peanuts."
    ]
    assert contents(await memory.recall("where is the vehicle?", limit=1)) == ["The car is parked on the third floor."]


async def test_rare_words_and_other_scripts_are_found(memory: LocalMemory) -> None:
    texts = [
        "Ticket ZX-4471-Q is waiting for review.",
        "我喜欢喝乌龙茶",
        "قهوتي بدون سكر",
        "Der Schlüssel liegt unter der Fußmatte.",
        "Order 66 was shipped.",
    ]
    await memory.remember_many([{"content": text} for text in texts])
    for query, expected in (("4471", 0), ("乌龙茶", 1), ("سكر", 2), ("schlussel", 3), ("shipping order", 4)):
        assert contents(await memory.recall(query, limit=1)) == [texts[expected]], query


async def test_only_answers_are_relevant(memory: LocalMemory) -> None:
    answers = {
        "Where does Alice work?": "Alice works for Nordwind in Oslo.",
        "what's my sister called?": "My sister is called Tove and lives in Bergen.",
        "when do we ship version 2?": "We decided to ship version 2 in March.",
        "What breed is Bob's dog?": "Bob's dog is a corgi named Biscuit.",
        "Is the office open on May 17?": "The office is closed on the 17th of May.",
    }
    await memory.remember_many([{"content": each} for each in answers.values()], index="now")
    for query, answer in answers.items():
        kept = await memory.recall(query, min_relevance=WEAK_RELEVANCE, explain=True)
        assert contents(kept)[0] == answer
        assert kept.hits[0].relevance is not None
        assert not kept.nothing_known
    least = min([(await memory.recall(query)).hits[0].relevance or 0.0 for query in answers])
    for query in ("What is the capital of Peru?", "Write a haiku.", "What was our revenue in Q3?"):
        found = await memory.recall(query)
        assert all(hit.relevance is not None and hit.relevance < min(0.6, least) for hit in found.hits), query
        assert found.hits, "nothing is left out by default"


async def test_unread_script_is_scored_by_words(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": text} for text in ("株価は三千円です", "猫が好きです", "My cat is grey.")])
    hits = (await memory.recall("株価はいくらですか")).hits
    assert hits[0].memory.content == "株価は三千円です"
    assert 0 < (hits[0].relevance or 0) < 1
    assert all((hit.relevance or 0.0) < WEAK_RELEVANCE for hit in hits[1:])


async def test_misspelt_name_finds_memory(memory: LocalMemory) -> None:
    await memory.remember_many(
        [
            {"content": f"{name} called about the invoice."}
            for name in ("Przybylski", "Anderson", "Okonkwo", "Lindqvist")
        ]
    )
    assert contents(await memory.recall("Przybilsky", limit=1)) == ["Przybylski called about the invoice."]


async def test_memory_without_vector_is_found_by_words(
    app_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    async with Keeps.open(database_url=app_url, embedder=_Broken()) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        receipt = await memory.remember("The zeppelin leaves at dawn.", index="later")
        assert receipt.indexed is False
        result = await memory.recall("zeppelin")
        assert (contents(result), result.partial, result.failed_providers) == (
            ["The zeppelin leaves at dawn."],
            True,
            ["embedder"],
        )
        assert result.hits[0].tier == "persistent"
        assert (await memory.remember("The vector follows when the model is back.")).indexed is False
        assert (await keeps.status()).pending >= 1


async def test_index_catches_up_by_itself(memory: LocalMemory, keeps: Keeps) -> None:
    receipts = await memory.remember_many(
        [{"content": f"The {animal} sleeps."} for animal in ("fox", "bear", "owl")], index="later"
    )
    assert {receipt.indexed for receipt in receipts} == {False}
    await keeps.service(Indexer).settle(memory.scope)
    assert {hit.tier for hit in (await memory.recall("sleeping animals")).hits} == {"indexed"}


async def test_speaker_and_neighbouring_turns_improve_rank(memory: LocalMemory) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    turns = [
        ("Ann", "Where did you go last summer?"),
        ("Ben", "To a small island, two weeks."),
        ("Ann", "Sounds lovely."),
        ("Ben", "I dislike cities."),
    ]
    fillers = [("Ann", "The printer is broken again."), ("Ben", "I fixed the printer."), ("Ann", "Lunch at one?")]
    for session, said in (("one", turns), ("two", fillers)):
        await memory.remember_many(
            [
                {
                    "content": text,
                    "kind": "episodic",
                    "session_id": session,
                    "metadata": {"speaker": who},
                    "valid_from": start + timedelta(minutes=n),
                }
                for n, (who, text) in enumerate(said)
            ]
        )
    result = await memory.recall("Where did Ben go last summer?", limit=2, explain=True)
    assert "To a small island, two weeks." in contents(result)
    parts = {part.name for part in result.hits[0].explanation.parts}
    assert {"tokens", "vector", "text", "neighbours"} <= parts


async def test_explanation_adds_up_to_score(memory: LocalMemory) -> None:
    await memory.remember_many(
        [{"content": f"Fact number {n} about rivers and lakes.", "importance": n / 10} for n in range(10)]
    )
    result = await memory.recall("rivers", explain=True)
    for hit in result.hits:
        assert hit.score == pytest.approx(sum(part.points for part in hit.explanation.parts))
        assert all(part.points == pytest.approx(part.weight * part.normalised) for part in hit.explanation.parts)
    assert result.hits[0].explanation.matched_terms == ["river"]
    assert (await memory.recall("rivers")).hits[0].explanation is None


async def test_hit_lists_its_matched_terms(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": text} for text in ("A red kettle.", "A red boat.", "The train leaves.")])
    found = await memory.recall("the red kettle", explain=True)
    told = {hit.memory.content: hit.explanation.matched_terms for hit in found.hits}
    assert told == {"A red kettle.": ["red", "kettl"], "A red boat.": ["red"], "The train leaves.": []}


async def test_matched_word_makes_no_other_hit_relevant(memory: LocalMemory) -> None:
    """One word is found whole, so the best hit says nothing of the others."""
    texts = ("Alice is allergic to peanuts.", "I take my tea with lemon.", "Bob plays chess on Sundays.")
    await memory.remember_many([{"content": text} for text in texts])
    for question, expected in (("peanuts", 0), ("tea lemon", 1), ("nuts", 0)):
        found = await memory.recall(question)
        relevant = [hit.memory.content for hit in found.hits if hit.relevance >= WEAK_RELEVANCE]
        assert relevant == [texts[expected]], (question, relevant)


async def test_question_cache_reveals_no_other_users_questions(keeps: Keeps, tenant: str) -> None:
    alice, bob = (keeps.memory(Scope(tenant, name)) for name in ("alice", "bob"))
    asked: list[str] = []
    embed_query = keeps.service(RecallService)._embedder.embed_query

    async def counted(text: str) -> QueryEmbedding:
        asked.append(text)
        return await embed_query(text)

    keeps.service(RecallService)._embedder.embed_query = counted
    try:
        for memory in (alice, alice, bob):
            await memory.recall("Where is the harbour?")
    finally:
        keeps.service(RecallService)._embedder.embed_query = embed_query
    assert asked == ["Where is the harbour?"] * 2, "once for each user"


async def test_long_question_is_searched_by_its_beginning(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": text} for text in ("The zebra sleeps.", "The walrus sleeps.")])
    found = await memory.recall("the zebra " + "and so on and so forth " * 400 + "the walrus", explain=True)
    assert [each for hit in found.hits for each in hit.explanation.matched_terms] == ["zebra"]


async def test_second_stage_is_optional(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": text} for text in ("The harbour is busy.", "The market is busy.")])
    for rerank, expected in ((None, True), (False, False)):
        hits = (await memory.recall("harbour", rerank=rerank, explain=True)).hits
        assert any(part.name == "tokens" for part in hits[0].explanation.parts) is expected
        assert hits[0].memory.content == "The harbour is busy."


async def test_stated_preference_answers_advice_question(memory: LocalMemory) -> None:
    await memory.remember_many(
        [
            {"content": text}
            for text in (
                "I never fly, planes frighten me.",
                "The flight to Madrid was cancelled.",
                "Spain won the cup.",
                "Madrid is sunny.",
            )
        ]
    )
    hits = (await memory.recall("What is the best way to get to Spain?", explain=True)).hits
    lifted = {
        hit.memory.content: part.points for hit in hits for part in hit.explanation.parts if part.name == "stated"
    }
    assert lifted.keys() == {"I never fly, planes frighten me."}
    hits = (await memory.recall("When did Spain win?", explain=True)).hits
    assert not any(part.name == "stated" for hit in hits for part in hit.explanation.parts)


async def test_key_in_question_finds_memory(memory: LocalMemory) -> None:
    await memory.remember_many(
        [{"content": f"value {n}", "namespace": "config", "key": f"setting-{n}"} for n in range(20)]
    )
    assert contents(await memory.recall("config/setting-7", limit=1)) == ["value 7"]
    assert contents(await memory.recall("setting-9", namespace="config", limit=1)) == ["value 9"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kinds": ["procedural"]}, {"c"}),
        ({"layers": ["short_term"]}, {"b"}),
        ({"content_types": ["note"]}, {"a"}),
        ({"agent_id": "planner"}, {"b"}),
        ({"session_id": "s1"}, {"b"}),
        ({"namespace": "n"}, {"a"}),
        ({"tags": ["x", "y"]}, {"a", "c"}),
        ({"tags": ["x", "y"], "tags_match": "all"}, {"a"}),
        ({"min_importance": 0.8}, {"c"}),
        ({"since": datetime(2026, 2, 1, tzinfo=UTC)}, {"b", "c"}),
        ({"until": datetime(2026, 2, 1, tzinfo=UTC)}, {"a", "d"}),
        ({"since": datetime(2026, 2, 1)}, {"b", "c"}),
        ({"scope": "shared"}, {"d"}),
        ({"scope": "own"}, {"a", "b", "c"}),
        ({}, {"a", "b", "c", "d"}),
    ],
)
async def test_recall_accepts_filters(
    memory: LocalMemory, keeps: Keeps, tenant: str, arguments: dict[str, Any], expected: set[str]
) -> None:
    await memory.remember_many(
        [
            {
                "content": "a tulip",
                "content_type": "note",
                "namespace": "n",
                "tags": ("x", "y"),
                "importance": 0.2,
                "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
            },
            {
                "content": "b tulip",
                "kind": "episodic",
                "agent_id": "planner",
                "session_id": "s1",
                "importance": 0.3,
                "valid_from": datetime(2026, 2, 1, tzinfo=UTC),
            },
            {
                "content": "c tulip",
                "kind": "procedural",
                "tags": ("y",),
                "importance": 0.9,
                "valid_from": datetime(2026, 3, 1, tzinfo=UTC),
            },
        ]
    )
    await keeps.memory(Scope(tenant, "bob")).remember(
        "d tulip", visibility="tenant", importance=0.1, valid_from=datetime(2026, 1, 15, tzinfo=UTC)
    )
    found = {text[0] for text in contents(await memory.recall("tulip", **arguments))}
    assert found == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "x" * 10_001},
        {"query": "\x00"},
        {"limit": 0},
        {"limit": 201},
        {"kinds": ["working"]},
        {"kinds": "semantic"},
        {"scope": "everything"},
        {"providers": ["mem9"]},
        {"tags": ["a\nb"]},
        {"min_importance": 2},
    ],
)
async def test_invalid_questions_are_refused(memory: LocalMemory, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailedError):
        await memory.recall(**{"query": "x", **arguments})


@pytest.mark.parametrize("query", ["?", "!!!", "the of and", "😀", "' OR 1=1; --", "a" * 10_000, "\u202eabc", "%_\\"])
async def test_odd_questions_get_an_answer(memory: LocalMemory, query: str) -> None:
    await memory.remember("Something to find.")
    assert len((await memory.recall(query)).hits) <= 1


async def test_empty_memory_returns_no_hits(memory: LocalMemory) -> None:
    result = await memory.recall("anything")
    assert (result.hits, result.partial) == ([], False)


async def test_limit_sets_number_of_hits(memory: LocalMemory) -> None:
    await memory.remember_many(
        [{"content": f"Sheep number {n} jumps over the fence."} for n in range(250)], index="now"
    )
    for limit in (1, 10, 100, 200):
        hits = (await memory.recall("sheep", limit=limit)).hits
        assert len({hit.memory.memory_id for hit in hits}) == limit
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True) or limit > 1


async def test_frequent_word_does_not_hide_rare_one(app_url: str, tenant: str) -> None:
    from keeps.base.settings import Settings
    from keeps.bootstrap import open_keeps

    async with await open_keeps(Settings(home=Path("/"), database_url=app_url, embedder="none")) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember_many([{"content": f"river report {n}"} for n in range(120)])
        await memory.remember("river otter")
        assert contents(await memory.recall("otter in the river", limit=1)) == ["river otter"]
        assert len((await memory.recall("river", limit=200)).hits) == 121
        found = await memory.recall("otter in the river", limit=200, explain=True)
        assert (len(found.hits), found.hits[0].explanation.matched_terms) == (121, ["otter", "river"])


async def test_accesses_are_counted_without_changing_memory(
    memory: LocalMemory, keeps: Keeps, server: Any, tenant: str
) -> None:
    import asyncpg

    receipt = await memory.remember("Count me.")
    for _ in range(3):
        await memory.recall("count me")
    await keeps.service(AccessBuffer).flush()
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    counted = await connection.fetchval("SELECT access_count FROM keeps.memory_access WHERE tenant_id = $1", tenant)
    await connection.close()
    assert counted == 3
    assert (await memory.get(receipt.memory_id)).version == 1


async def test_two_models_coexist_until_reindex(app_url: str, keeps: Keeps, memory: LocalMemory, tenant: str) -> None:
    await memory.remember("The lighthouse keeper has a parrot.")
    async with Keeps.open(database_url=app_url, embedder=_Tiny()) as other:
        changed = other.memory(Scope(tenant, "alice"))
        assert contents(await changed.recall("lighthouse")) == ["The lighthouse keeper has a parrot."]
        assert await other.service(Indexer).index_user(Scope(tenant, "alice")) == 1
        assert (await changed.recall("lighthouse")).hits[0].tier == "indexed"
    assert (await memory.recall("bird owner by the sea", limit=1)).hits[0].tier == "indexed"


async def test_recall_works_during_many_writes(memory: LocalMemory) -> None:
    await memory.remember("The anchor.")
    answers = await asyncio.gather(
        *(memory.remember(f"noise {n}", index="later") for n in range(60)),
        *(memory.recall("anchor", limit=3) for _ in range(30)),
    )
    assert all(contents(answer)[0] == "The anchor." for answer in answers[60:])


class _Broken:
    model, dimensions = "all-MiniLM-L6-v2", 384

    async def embed(self, texts: list[str]) -> list[Embedding]:
        if not texts:
            return []
        raise UnavailableError("the model is away")

    async def embed_query(self, text: str) -> QueryEmbedding:
        raise UnavailableError("the model is away")

    async def close(self) -> None: ...


class _Behind:
    """The real model, that has not come to embedding what is stored."""

    model, dimensions = "all-MiniLM-L6-v2", 384

    def __init__(self, real: Any) -> None:
        self._real = real
        self.behind = False

    async def embed(self, texts: list[str]) -> list[Embedding]:
        if self.behind and texts:
            raise UnavailableError("the model is away")
        return await self._real.embed(texts)

    async def embed_query(self, text: str) -> QueryEmbedding:
        return await self._real.embed_query(text)

    async def close(self) -> None: ...


async def test_unindexed_and_indexed_memories_are_found(
    app_url: str, shared: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    embedder = _Behind(shared)
    async with Keeps.open(database_url=app_url, embedder=embedder) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        for number in range(12):
            await memory.remember(f"Machine room {number} has a serial cable and a number on its door.")
        await memory.remember("Alice gets a rash from peanuts.")
        embedder.behind = True
        await memory.remember("Machine 217 was serviced by Tove; its serial number is SN-1718423.", index="later")
        await memory.remember("What is it that she is for, and who is her best for all of it?", index="later")
        found = await memory.recall("What is the serial number of machine 217?", limit=1)
        assert "SN-1718423" in contents(found)[0]
        assert contents(await memory.recall("What food is dangerous for her?", limit=1)) == [
            "Alice gets a rash from peanuts."
        ]


class _Tiny:
    model, dimensions = "tiny-8", 8

    async def embed(self, texts: list[str]) -> list[Embedding]:
        return [Embedding((await self.embed_query(text)).sentence, None) for text in texts]

    async def embed_query(self, text: str) -> QueryEmbedding:
        vector = np.random.default_rng(len(text)).normal(size=8).astype(np.float32)
        return QueryEmbedding((vector / np.linalg.norm(vector)).astype(np.float32), None, ())

    async def close(self) -> None: ...


async def test_misspelt_name_is_found(memory: LocalMemory) -> None:
    names = "Melanie Caroline Albendazole Gwyneth Björn Nordwind Al-Rashid Mélusine O'Brien Xi Kowalczyk".split()
    for number, name in enumerate(names):
        await memory.remember(f"Note {number}: {name.upper() if number % 2 else name}, who likes hens.", index="later")
    asked = {"melaine": 0, "carolina": 1, "albendasol": 2, "gwynet": 3, "bjorm": 4, "norwind": 5, "kowalcyk": 10}
    for word, number in asked.items():
        found = await memory.recall(word, scope="persistent", limit=1)
        assert contents(found)[0].startswith(f"Note {number}:"), word


async def test_passage_offsets_ignore_speaker(memory: LocalMemory) -> None:
    long = (
        "My name is long. " + "We sat there and said nothing at all. " * 40 + "The password of the cellar is Swordfish."
    )
    receipt = await memory.remember(long, kind="episodic", metadata={"speaker": "Zoë"}, index="now")
    (hit,) = (await memory.recall("What is the password of the cellar?")).hits
    assert hit.passage is not None
    assert hit.passage.end == len(long)
    await memory.update(receipt.memory_id, content=long + " It was changed to Haddock.")
    (hit,) = (await memory.recall("What is the password of the cellar?")).hits
    assert hit.passage is None or long[: hit.passage.end]


async def test_answer_beside_matching_question_ranks_higher(memory: LocalMemory) -> None:
    said = ["How was the cello lesson with Ms Petrova on Monday?", "Quite hard, my fingers hurt.", "Oh, I am sorry."]
    for place, text in enumerate(said):
        moment = datetime(2026, 1, 1, 12, place, tzinfo=UTC)
        await memory.remember(text, kind="episodic", session_id="s1", valid_from=moment, index="now")
    for number in range(20):
        await memory.remember(f"The weather of day {number} was fine.", kind="episodic", session_id="s2", index="now")
    hits = (await memory.recall("What happened at the cello lesson?", explain=True, limit=30)).hits
    parts = {hit.memory.content: {part.name: part.points for part in _parts(hit)} for hit in hits}
    assert {hit.memory.content for hit in hits[:2]} == {*said[:2]}
    assert parts[said[1]]["neighbours"] > 1.5 * parts[said[2]]["neighbours"]


def _parts(hit: Hit) -> list[Explanation.Part]:
    return [] if hit.explanation is None else hit.explanation.parts


async def test_forgotten_and_archived_memories_appear_in_no_arm(memory: LocalMemory) -> None:
    company = await memory.add_entity("Zorblax")
    texts = ("Zorblax hired Ann.", "Zorblax moved to Bonn.", "Zorblax was sold.")
    for number, text in enumerate(texts):
        told = await memory.remember(text, namespace="ns", key=f"k{number}", index="now")
        await memory.add_mention(told.memory_id, company.entity_id)
        if number == 1:
            await memory.forget(told.memory_id)
    for query in ("Zorblax", "ns/k1"):
        for providers in (None, ["postgres", "graph"]):
            found = await memory.recall(query, providers=providers)
            assert texts[1] not in [hit.memory.content for hit in found.hits], (query, providers)
    found = await memory.recall("Zorblax", providers=["postgres", "graph"])
    assert {hit.memory.content for hit in found.hits} >= {texts[0], texts[2]}


async def test_long_texts_of_short_sentences_are_fast(memory: LocalMemory) -> None:
    """The watchdog of the event loop fails this test where they do."""
    for number in range(3):
        await memory.remember(f"{number}. " + "a. b. c. " * 2_000, index="now")
    hits = (await memory.recall("what about a, b and c?", limit=50)).hits
    assert all(hit.passage is not None and hit.passage.end <= len(hit.memory.content) for hit in hits)


async def test_many_different_words_are_fast(memory: LocalMemory) -> None:
    random = np.random.default_rng(4)
    for _ in range(8):
        letters = random.choice(list("abcdefghijklmnopqrstuvwxyz"), (4_000, 8))
        await memory.remember(" ".join(map("".join, letters)), index="later")
    await memory.recall("qqwxyza zzkwvup jjqxwyv", scope="persistent")


@pytest.mark.parametrize(
    ("content", "question"),
    [("I live in Leeds.", "Where does she live?"), ("I do prenatal yoga on Thursday evenings.", "Who does yoga?")],
)
async def test_the_only_memory_answers_a_question_with_its_word(
    keeps: Keeps, tenant: str, content: str, question: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(content)
    answer = await memory.recall(question)
    assert not answer.nothing_known
    assert (answer[0].relevance or 0) > 0.25
    assert (await memory.recall("What is the capital of Peru?")).nothing_known
