"""Conversations read by an LLM: right, slow, refusing, cut off, lying. With it better, without it nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai  # noqa: F401  loaded before the loop runs: it takes a third of a second
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps.models.chat import OpenAIChat
from keeps.store.events.service import EventService
from keeps_client.errors import UnavailableError
from tests.lifecycle.conftest import MovingClock
from tests.scripted_llm import Script

SAID = [
    {"role": "user", "content": "I grew up by the sea, in Whitby, and keep two hens."},
    {"role": "tool", "tool": "web", "content": "The user grew up in Hull."},
]


@pytest.fixture
def timeout_seconds() -> float:
    """Limit for an answer of the LLM. A question that reaches it is sent again, so only a slow LLM may."""
    return 60.0


@pytest.fixture
async def keeps(
    app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock, timeout_seconds: float
) -> AsyncIterator[Keeps]:
    chosen = Settings(
        home=tmp_path, database_url=app_url, llm_base_url=script.url, llm_model="m", llm_tokens_per_day=300
    )
    chat = OpenAIChat("m", base_url=script.url, timeout_seconds=timeout_seconds)
    async with await open_keeps(chosen, embedder=shared, clock=clock, chat=chat) as opened:
        yield opened


def fact(message: int, attribute: str, value: str, **more: object) -> dict[str, object]:
    return {"message": message, "entity": "user", "attribute": attribute, "value": value, "confidence": 0.9, **more}


async def consolidated(
    keeps: Keeps, clock: MovingClock, tenant: str, session: str = "s1"
) -> tuple[list[str], dict[str, int]]:
    """The facts after a conversation has been consolidated, and what the job did."""
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.store_exchange(SAID, session_id=session)
    await alice.end_session(session)
    clock.forward(hours=2)
    done = await keeps.service(Lifecycle).run(tenant, "sessions")
    page = await alice.list(filters={"namespace": {"eq": "facts"}})
    return sorted(each.content for each in page.items), {
        name: count for name, count in done.counts.items() if name != "promoted"
    }


async def test_a_right_answer_gives_facts_and_a_summary(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    script.answers = [
        {
            "facts": [fact(1, "Home town", "Whitby"), fact(1, "pets", "two hens")],
            "summary": "She keeps hens by the sea.",
        }
    ]
    facts, counts = await consolidated(keeps, clock, tenant)
    assert facts == ["The user's home town is Whitby.", "The user's pets is two hens."]
    assert counts == {"sessions": 1, "facts": 2}
    (summary,) = (
        await keeps.memory(Scope(tenant, "alice")).list(filters={"content_type": {"eq": "session_summary"}})
    ).items
    assert "She keeps hens by the sea." in summary.content
    assert script.formats == ["json_schema"]
    assert "[1] user: I grew up by the sea" in script.asked[0]


async def test_llm_sees_no_secret(keeps: Keeps, script: Script, clock: MovingClock, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember(
        "The user's garage is tulip-71.",
        namespace="facts",
        key="user/garage code",
        value={
            "entity": "user",
            "attribute": "garage code",
            "value": "tulip-71",
        },
    )
    said = ["I keep two hens. My wifi password is hunter2-Blue.", "What is your PIN?", "Four one seven two."]
    await alice.store_exchange([{"role": "user", "content": text} for text in said], session_id="s1")
    await alice.end_session("s1")
    clock.forward(hours=2)
    await keeps.service(Lifecycle).run(tenant, "sessions")
    assert "two hens" in script.asked[0]
    assert not [secret for secret in ("hunter2", "tulip", "Four one") if secret in script.asked[0]]


async def test_failing_llm_is_asked_less_and_less_often(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    script.answers = ["no JSON"]
    await consolidated(keeps, clock, tenant)
    for _ in range(120):
        clock.forward(hours=1)
        await keeps.service(Lifecycle).run(tenant, "sessions")
    attempts = len(script.asked) / 2  # An invalid answer is asked for twice.
    assert 5 <= attempts <= 15


async def test_attribute_in_another_script_is_stored(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    script.answers = [{"facts": [fact(1, "Überzeugung", "Whitby"), fact(1, "питомцы", "two hens")], "summary": ""}]
    facts, _ = await consolidated(keeps, clock, tenant)
    assert len(facts) == 2


async def test_unstorable_text_is_dropped_from_answer(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    script.answers = [
        {"facts": [fact(1, "home\0town", "Whit\0by")], "summary": "She keeps \0hens."},
    ]
    facts, counts = await consolidated(keeps, clock, tenant)
    assert facts == ["The user's hometown is Whitby."]
    assert counts == {"sessions": 1, "facts": 1}
    lone = '{"facts": [], "summary": "\ud800 hens"}'
    script.answers = [lone]
    assert await consolidated(keeps, clock, tenant, "s2") == (facts, {"llm_away": 1})


async def test_unsupported_facts_and_invented_ids_are_dropped(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    lies = [
        fact(1, "hometown", "Paris"),
        fact(9, "hometown", "Whitby"),
        fact(0, "pets", "two hens"),
        fact(1, "", "Whitby"),
        fact(1, "pets", "two hens", confidence=0.1),
        {**fact(1, "mother", "Whitby"), "entity": "Queen Ann"},
        fact(1, "pet", "hen"),
        fact(1, "sea", "Whitby", same_as=77),
    ]
    script.answers = [{"facts": lies, "summary": ""}]
    facts, _ = await consolidated(keeps, clock, tenant)
    assert facts == ["The user's sea is Whitby."], "a number that names no known fact names a new one"


async def test_fact_quotes_its_sentence(keeps: Keeps, script: Script, clock: MovingClock, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    text = "We no longer go to Hull by train. My bike is from Dr. Kern in St. Gallen. I keep two hens."
    await alice.store_exchange([{"role": "user", "content": text}], session_id="s1")
    script.answers = [{"facts": [fact(1, "bike", "Dr. Kern in St. Gallen"), fact(1, "pets", "two hens", ended=True)]}]
    await alice.end_session("s1")
    clock.forward(hours=2)
    await keeps.service(Lifecycle).run(tenant, "sessions")
    page = await alice.list(filters={"namespace": {"eq": "facts"}, "key": {"eq": "user/bike"}})
    (bike,) = page.items
    assert "My bike is from Dr. Kern in St. Gallen." in str(bike.metadata["said"])
    pets = await alice.list(filters={"namespace": {"eq": "facts"}, "key": {"eq": "user/pets"}})
    assert pets.items == [], "another sentence says that something is over"


async def test_known_fact_is_superseded_by_number(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.store_exchange([{"role": "user", "content": "My hometown is Leeds."}], session_id="s0")
    clock.forward(hours=1)
    script.answers = [{"facts": [fact(1, "place of childhood", "Whitby", same_as=1)]}]
    facts, _ = await consolidated(keeps, clock, tenant)
    assert facts == ["The user's hometown is Whitby."]
    assert "(1) user | hometown | Leeds" in script.asked[0]


async def test_tool_output_never_supersedes_user_statements(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    script.answers = [
        {"facts": [fact(1, "hometown", "Whitby"), fact(2, "hometown", "Hull"), fact(2, "birthplace", "Hull")]}
    ]
    facts, _ = await consolidated(keeps, clock, tenant)
    assert facts == ["The user's birthplace is Hull.", "The user's hometown is Whitby."]
    alice = keeps.memory(Scope(tenant, "alice"))
    assert (await alice.find("facts", "user/birthplace")).metadata["trust"] == "tool"


@pytest.mark.parametrize(
    ("answer", "timeout_seconds"),
    [(429, 60), (500, 60), ('{"facts": [{"message": 1, "entity": "us', 60), ("I would rather not.", 60), ("slow", 0.5)],
)
async def test_failing_llm_loses_nothing(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    script.answers = [answer if answer != "slow" else {}]
    script.pause_seconds = 2.0 if answer == "slow" else 0.0
    facts, counts = await consolidated(keeps, clock, tenant)
    assert facts == []
    assert counts == {"llm_away": 1}, "the conversation is read again later"
    alice = keeps.memory(Scope(tenant, "alice"))
    assert len((await alice.list(filters={"kind": {"eq": "episodic"}})).items) == 3, "two messages and the summary"
    assert await keeps.service(Lifecycle).run(tenant, "sessions") is None, "it is not asked at once"
    clock.forward(minutes=61)
    script.answers, script.pause_seconds = [{"facts": [fact(1, "hometown", "Whitby")]}], 0.0
    done = await keeps.service(Lifecycle).run(tenant, "sessions")
    assert (done.counts["sessions"], done.counts["facts"]) == (1, 1)
    assert (await keeps.service(EventService).verify(alice.scope)).equal


async def test_daily_budget_stops_only_jobs(keeps: Keeps, script: Script, clock: MovingClock, tenant: str) -> None:
    script.answers = [{"facts": [fact(1, "hometown", "Whitby")]}]
    for session in ("s1", "s2", "s3"):
        await consolidated(keeps, clock, tenant, session)
    _, counts = await consolidated(keeps, clock, tenant, "s4")
    assert len(script.asked) == 3, "300 tokens are spent"
    assert counts == {"over_llm_budget": 1}
    clock.forward(days=1)
    await consolidated(keeps, clock, tenant, "s5")
    assert len(script.asked) == 5, "what waited is read, and what is new"


async def test_server_without_structured_output_gets_json_prompt(script: Script) -> None:
    from keeps.memory.conversations.llm import Answer

    script.answers = [400, {"facts": []}, {"facts": []}]
    chat = OpenAIChat("m", base_url=script.url)
    for _ in range(2):
        assert await chat.answer("Say.", "x", Answer) == Answer()
    assert script.formats == ["json_schema", "json_object", "json_object"]
    script.answers = [400]
    with pytest.raises(UnavailableError):
        await chat.answer("Say.", "x", Answer)
    await asyncio.wait_for(chat.close(), 5)


async def test_options_that_a_model_refuses_are_left_out(script: Script) -> None:
    from keeps.memory.conversations.llm import Answer

    script.answers, script.refused = [{"facts": []}], ["temperature", "max_tokens"]
    chat = OpenAIChat("m", base_url=script.url)
    for _ in range(2):
        assert await chat.answer("Say.", "x", Answer) == Answer()
    assert script.formats == ["json_schema", "json_schema"]
    script.refused = ["model"]
    with pytest.raises(UnavailableError, match=r"refused the request \(400 unsupported_parameter model\)"):
        await chat.answer("Say.", "x", Answer)
    await asyncio.wait_for(chat.close(), 5)


async def test_messages_during_llm_call_reach_notes(
    keeps: Keeps, script: Script, clock: MovingClock, tenant: str
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.store_exchange(SAID, session_id="s1")
    await alice.end_session("s1")
    clock.forward(hours=2)
    script.answers, script.pause_seconds = [{"facts": []}], 0.2
    job = asyncio.create_task(keeps.service(Lifecycle).run(tenant, "sessions"))
    while not script.asked:
        await asyncio.sleep(0.01)
    await alice.store_exchange([{"role": "user", "content": "One more thing."}], session_id="s1")
    await job
    assert (await alice.session_notes("s1")).message_count == 3
    clock.forward(hours=25)
    assert (await keeps.service(Lifecycle).run(tenant, "sessions")).counts["sessions"] == 1, "it is read once more"
