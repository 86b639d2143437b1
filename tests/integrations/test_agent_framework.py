"""Microsoft Agent Framework: the context of a user, and the history of sessions, with the package's own agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    InMemoryHistoryProvider,
    Message,
)
from examples.agent_framework_agent import main

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.agent_framework import KeepsContextProvider, KeepsHistoryProvider
from keeps_client.errors import ForbiddenError, KeepsError, UnavailableError
from tests.serving import token

PEANUTS = "I'm allergic to peanuts. Please remember that."


class Scripted(BaseChatClient[Any]):
    """A model with fixed answers, and what it was asked."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[list[Message]] = []
        self.instructions: list[str] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Any:
        self.asked.append(list(messages))
        self.instructions.append(str(options.get("instructions") or ""))
        answer = self.answers.pop(0) if self.answers else "Noted."
        if stream:
            return self._build_response_stream(self._updates(answer))
        return self._whole(answer)

    async def _whole(self, answer: str) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [answer])])

    async def _updates(self, answer: str) -> AsyncIterator[ChatResponseUpdate]:
        for word in answer.split(" "):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])

    def texts(self, request: int = -1) -> list[str]:
        return [message.text for message in self.asked[request]]


def user_of(session: AgentSession) -> str:
    return session.state["user_id"]


def session_of(user: str, session_id: str | None = None) -> AgentSession:
    session = AgentSession(session_id=session_id)
    session.state["user_id"] = user
    return session


def texts_of(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(str(message.role), message.text) for message in messages]


@pytest.fixture
async def context(place: dict[str, Any]) -> AsyncIterator[KeepsContextProvider]:
    async with KeepsContextProvider(user_id=user_of, **place) as provider:
        yield provider


@pytest.fixture
async def history(place: dict[str, Any]) -> AsyncIterator[KeepsHistoryProvider]:
    async with KeepsHistoryProvider(user_id="alice", **place) as provider:
        yield provider


async def test_agent_learns_in_one_session_and_knows_in_another(
    context: KeepsContextProvider, keeps: Keeps, tenant: str
) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Alice keeps two hens called Ada and Grace.")
    client = Scripted()
    agent = Agent(client, instructions="Be brief.", context_providers=[context])
    await agent.run(PEANUTS, session=session_of("alice", "monday"))
    await agent.run("Plan a dinner for me and my hens.", session=session_of("alice", "tuesday"))
    seen = "\n".join([client.instructions[-1], *client.texts()])
    assert client.instructions[-1].startswith("Be brief.")
    assert "allergic to peanuts" in seen
    assert "Ada and Grace" in seen
    assert client.texts()[-1] == "Plan a dinner for me and my hens."
    await agent.run("Plan a dinner for me and my hens.", session=session_of("bob"))
    assert "peanuts" not in "\n".join([client.instructions[-1], *client.texts()])
    assert context.failures == {}


async def test_context_is_not_learned_again(context: KeepsContextProvider, keeps: Keeps, tenant: str) -> None:
    agent = Agent(Scripted(), context_providers=[context, InMemoryHistoryProvider()])
    session = session_of("alice")
    for text in (PEANUTS, "Plan a dinner.", "And a lunch."):
        await agent.run(text, session=session)
    contents = [memory.content for memory in (await keeps.memory(Scope(tenant, "alice")).list(limit=100)).items]
    assert sum("allergic to peanuts" in text for text in contents) == 2, "the message and its fact"
    assert contents.count("Plan a dinner.") == 1


async def test_learning_can_be_turned_off(keeps: Keeps, tenant: str) -> None:
    async with KeepsContextProvider(keeps, user_id="alice", tenant_id=tenant, learn=False) as context:
        await Agent(Scripted(), context_providers=[context]).run(PEANUTS)
    assert len((await keeps.memory(Scope(tenant, "alice")).list()).items) == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_agent_reads_the_history_of_its_session(place: dict[str, Any], *, stream: bool) -> None:
    async def say(text: str, user: str) -> list[str]:
        """Each run has its own provider and session, as after a restart."""
        async with KeepsHistoryProvider(user_id=user_of, **place) as history:
            agent = Agent(client, context_providers=[history])
            if stream:
                await agent.run(text, session=session_of(user, "s"), stream=True).get_final_response()
            else:
                await agent.run(text, session=session_of(user, "s"))
        return client.texts()

    client = Scripted("Hello!", "York, you said.")
    assert await say("I live in York.", "alice") == ["I live in York."]
    assert await say("Where do I live?", "alice") == ["I live in York.", "Hello!", "Where do I live?"]
    assert await say("Where do I live?", "bob") == ["Where do I live?"]


async def test_messages_come_back_as_they_are(history: KeepsHistoryProvider) -> None:
    said = [
        Message("system", ["Be brief."]),
        Message(
            "user", ["žluťoučký 🐴 \x00 \ud800", Content.from_uri("https://x.example/a.png", media_type="image/png")]
        ),
        Message("assistant", [Content.from_function_call("c", "look", arguments='{"a": 1}')], message_id="m1"),
        Message("tool", [Content.from_function_result("c", result={"hens": 2})]),
        Message("assistant", [], author_name="chef", additional_properties={"x": [1, None]}),
    ]
    await history.save_messages("s/1", said[:2])
    await history.save_messages("s/1", [])
    await history.save_messages("s/1", said[2:])
    assert [message.to_dict() for message in await history.get_messages("s/1")] == [m.to_dict() for m in said]
    assert await history.get_messages("other") == []
    await history.save_messages(None, said[:1])
    assert texts_of(await history.get_messages(None)) == [("system", "Be brief.")]
    await history.clear("s/1")
    await history.clear("s/1")
    assert await history.get_messages("s/1") == []


async def test_more_messages_than_one_write_takes(history: KeepsHistoryProvider) -> None:
    said = [Message("user", [f"{number} {'x' * 5_000}"]) for number in range(1_100)]
    await history.save_messages("long", said)
    assert texts_of(await history.get_messages("long")) == texts_of(said)


async def test_message_that_is_too_large_is_refused_whole(history: KeepsHistoryProvider) -> None:
    with pytest.raises(KeepsError):
        await history.save_messages("s", [Message("user", ["Hello."]), Message("user", ["x" * 5_000_000])])
    assert await history.get_messages("s") == []


@pytest.mark.parametrize("seed", range(6))
async def test_repeated_messages_are_stored_as_the_frameworks_own_provider_does(
    history: KeepsHistoryProvider, seed: int
) -> None:
    pick = random.Random(seed)
    own, state = InMemoryHistoryProvider(), {}
    said: list[Message] = []
    for _ in range(12):
        role, text = pick.choice(("user", "assistant")), pick.choice(("ok", "yes", "no"))
        message = Message(role, [text], message_id=pick.choice((None, None, f"m{pick.randrange(4)}")))
        said.append(message)
        given = pick.choice((said[-1:], said[-2:], said[:], said[-3:-1]))
        await own.save_messages("s", given, state=state)
        await history.save_messages("s", given)
        assert texts_of(await history.get_messages("s")) == texts_of(await own.get_messages("s", state=state))


async def test_two_that_save_at_once_lose_none(history: KeepsHistoryProvider) -> None:
    await asyncio.gather(
        *(history.save_messages("s", [Message("user", [str(n)], message_id=str(n))]) for n in range(8))
    )
    assert sorted(message.text for message in await history.get_messages("s")) == [str(n) for n in range(8)]


async def test_users_tenants_and_apps_are_apart(place: dict[str, Any], tenant: str) -> None:
    others = (
        {**place, "user_id": "bob"},
        {**place, "user_id": "alice", "tenant_id": f"{tenant}-2"},
        {**place, "user_id": "alice", "app": "other"},
    )
    async with KeepsHistoryProvider(user_id="alice", **place) as history:
        await history.save_messages("s", [Message("user", ["I live in York."])])
        for given in others:
            async with KeepsHistoryProvider(**given) as other:
                assert await other.get_messages("s") == []
                await other.clear("s")
        assert len(await history.get_messages("s")) == 1
    client = Scripted()
    async with KeepsContextProvider(user_id="alice", **place) as context:
        await Agent(client, context_providers=[context]).run(PEANUTS)
    for given in others[:2]:
        async with KeepsContextProvider(**given) as context:
            await Agent(client, context_providers=[context]).run("What am I allergic to?")
            assert "peanuts" not in client.instructions[-1] + str(client.texts())


async def test_session_without_its_user_is_refused(keeps: Keeps, tenant: str) -> None:
    def unknown(session: AgentSession) -> str:
        return session.state.get("user_id", "")

    for provider in (
        KeepsHistoryProvider(keeps, user_id=unknown, tenant_id=tenant),
        KeepsContextProvider(keeps, user_id=unknown, tenant_id=tenant),
    ):
        with pytest.raises(ValueError, match="does not name its user"):
            await Agent(Scripted(), context_providers=[provider]).run("Hello.")
    history = KeepsHistoryProvider(keeps, user_id=unknown, tenant_id=tenant)
    with pytest.raises(ValueError, match="does not name its user"):
        await history.get_messages("s")
    assert await history.get_messages("s", state={"user_id": "alice"}) == []


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    given: dict[str, Any] = {"user_id": "bob", "token": token(tenant, "alice", "writer")}
    for provider in (KeepsHistoryProvider(secured_url, **given), KeepsContextProvider(secured_url, **given)):
        async with provider:
            with pytest.raises(ForbiddenError):
                await Agent(Scripted(), context_providers=[provider]).run("Hello.")


async def test_agent_goes_on_without_context_but_not_without_its_history() -> None:
    away: dict[str, Any] = {"keeps": "http://127.0.0.1:9", "tenant_id": "acme", "user_id": "alice"}
    async with KeepsContextProvider(**away) as context, KeepsHistoryProvider(**away) as history:
        done = await Agent(Scripted(), context_providers=[context]).run("Hello.")
        assert done.text == "Noted."
        assert context.failures == {"context": 1, "store_exchange": 1}
        with pytest.raises(UnavailableError):
            await Agent(Scripted(), context_providers=[history]).run("Hello.")
        with pytest.raises(UnavailableError):
            await history.save_messages("s", [Message("user", ["Hello."])])


@pytest.mark.parametrize("text", ["", " ", "\x00", "a\x00b \ud800", "🐴" * 30_000, "x" * 120_000])
async def test_any_message_is_answered(context: KeepsContextProvider, text: str) -> None:
    agent = Agent(Scripted(), context_providers=[context])
    assert (await agent.run(text, session=session_of("alice"))).text == "Noted."
    assert context.failures == {}


@pytest.mark.slow_step("a database of its own is made")
def test_the_example(made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("agent_framework")))
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    client = Scripted("Noted.", "No peanuts.")
    assert asyncio.run(main(client)) == ["Noted.", "No peanuts."]
    assert "peanuts" not in client.instructions[0]
    assert "peanuts" in client.instructions[1] + str(client.texts()[:-1])
