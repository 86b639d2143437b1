"""Pydantic AI: the tools of a model, and the context before its run, with the package's own agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from examples.pydantic_ai_agent import main
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.pydantic_ai import KeepsContext, KeepsToolset
from keeps_client.errors import ForbiddenError
from tests.serving import token

HENS = "Alice keeps two hens called Ada and Grace."
PEANUTS = "Alice is allergic to peanuts."


@dataclass
class Deps:
    user_id: str


def user_of(ctx: Any) -> str:
    return ctx.deps.user_id


class Script:
    """A model that makes calls one after another, and what it was sent."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls = list(calls)
        self.requests: list[list[ModelMessage]] = []
        self.info: AgentInfo | None = None
        self.model = FunctionModel(self.answer)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(messages)
        self.info = info
        if self.calls:
            return ModelResponse(parts=[ToolCallPart(*self.calls.pop(0))])
        return ModelResponse(parts=[TextPart("Noted.")])

    @property
    def results(self) -> list[Any]:
        """The results of the tools that the model got."""
        parts = [part for message in self.requests[-1] for part in message.parts]
        return [part.content for part in parts if isinstance(part, ToolReturnPart)]

    def sent(self, request: int, kind: type[Any]) -> list[Any]:
        """The content of the parts of a kind in a request."""
        parts: list[Any] = [part for message in self.requests[request] for part in message.parts]
        return [part.content for part in parts if isinstance(part, kind)]


@pytest.fixture
async def tools(place: dict[str, Any]) -> Any:
    toolset = KeepsToolset(user_id=user_of, **place)
    yield toolset
    await toolset.close()


@pytest.fixture
async def context(place: dict[str, Any]) -> Any:
    capability = KeepsContext(user_id=user_of, **place)
    yield capability
    await capability.close()


async def test_model_remembers_recalls_and_forgets(tools: KeepsToolset, keeps: Keeps, tenant: str) -> None:
    script = Script(
        ("remember", {"content": PEANUTS, "tags": "diet", "importance": "0.9", "namespace": "health", "key": "nuts"}),
        ("recall", {"query": "What must she not eat?"}),
        ("forget", {"memoryId": "health/nuts"}),
        ("recall", {"query": "What must she not eat?"}),
    )
    await Agent(script.model, deps_type=Deps, toolsets=[tools]).run("Go.", deps=Deps("alice"))
    stored, recalled, forgotten, nothing = script.results
    assert stored["status"] == "created"
    assert [(hit["text"], hit["key"], hit["tags"]) for hit in recalled["memories"]] == [
        (PEANUTS, "health/nuts", ["diet"])
    ]
    assert (forgotten["status"], forgotten["note"]) == ("forgotten", "It can be restored for 30 days.")
    assert nothing == {"memories": [], "note": "No memory matches. Fewer conditions may find more."}
    memory = await keeps.memory(Scope(tenant, "alice")).restore(stored["id"])
    assert memory.status == "restored"
    assert tools.failures == {}


async def test_tools_are_declared_in_few_tokens(tools: KeepsToolset) -> None:
    script = Script()
    await Agent(script.model, deps_type=Deps, toolsets=[tools]).run("Go.", deps=Deps("alice"))
    assert script.info is not None
    declared = {tool.name: tool.parameters_json_schema for tool in script.info.function_tools}
    assert list(declared) == ["remember", "recall", "forget"]
    assert [schema["required"] for schema in declared.values()] == [["content"], ["query"], ["memory_id"]]
    names = {name for schema in declared.values() for name in schema["properties"]}
    assert not {"user_id", "tenant_id", "memory", "hard"} & names
    assert "long-term memory" in str(script.info.instructions)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (("remember", {"content": "a\x00b"}), "contains a NUL character"),
        (("remember", {"content": "x" * 60_000}), "Nothing was done: content"),
        (("remember", {"content": ""}), "Nothing was done: content: must not be empty"),
        (("remember", {"content": "x", "hard": True}), "remember was not called"),
        (("recall", {"limit": 3}), "recall was not called: query"),
        (("forget", {"memory_id": "the hens"}), "is not an id"),
        (("forget", {"memory_id": "0" * 32}), "Use an id that recall"),
    ],
)
async def test_wrong_calls_are_answered_in_a_sentence(
    keeps: Keeps, tenant: str, call: tuple[str, Any], answer: str
) -> None:
    tools = KeepsToolset(keeps, user_id="alice", tenant_id=tenant)
    script = Script(call)
    await Agent(script.model, toolsets=[tools]).run("Go.")
    assert answer in str(script.requests[-1][-1])
    assert tools.failures == {}


async def test_large_and_strange_texts_are_stored_once(tools: KeepsToolset, keeps: Keeps, tenant: str) -> None:
    texts = ["žluťoučký 🐴 👩‍👩‍👧", "x" * 49_000]
    script = Script(*(("remember", {"content": text}) for text in [*texts, texts[0]]))
    await Agent(script.model, deps_type=Deps, toolsets=[tools]).run("Go.", deps=Deps("alice"))
    assert [result["status"] for result in script.results] == ["created", "created", "unchanged"]
    stored = await keeps.memory(Scope(tenant, "alice")).list()
    assert {memory.content for memory in stored} == set(texts)


async def test_context_is_added_for_the_model_alone(context: KeepsContext, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(PEANUTS, importance=0.9)
    await memory.remember(HENS)
    script = Script(("look", {}))
    agent = Agent(script.model, deps_type=Deps, capabilities=[context], system_prompt="Be brief.")
    agent.tool_plain(name="look")(lambda: "seen")
    done = await agent.run("What are the hens called?", deps=Deps("alice"))
    for request in range(2):
        system, prompts = script.sent(request, SystemPromptPart), script.sent(request, UserPromptPart)
        assert system[0] == "Be brief."
        assert PEANUTS.removesuffix(".") in "\n".join(system[1:])
        assert prompts[-1] == "What are the hens called?"
        assert "Ada and Grace" in "\n".join(map(str, prompts[:-1]))
    assert "Ada" not in str(done.all_messages())
    assert "peanuts" not in str(done.all_messages())
    await agent.run("And their names?", deps=Deps("alice"), message_history=done.all_messages())
    prompts = script.sent(-1, UserPromptPart)
    assert (prompts[0], prompts[-1]) == ("What are the hens called?", "And their names?")
    await agent.run("What are the hens called?", deps=Deps("bob"))
    assert "Ada" not in str(script.requests[-1])


async def test_users_and_tenants_are_apart(place: dict[str, Any], tenant: str) -> None:
    other = {**place, "tenant_id": f"{tenant}-2"}
    places = ((place, "alice"), (place, "bob"), (other, "alice"))
    for given, user in places:
        tools, context = KeepsToolset(user_id=user_of, **given), KeepsContext(user_id=user_of, **given)
        script = Script(("recall", {"query": "hens"}), ("remember", {"content": f"I keep hens, says {user}."}))
        agent = Agent(script.model, deps_type=Deps, toolsets=[tools], capabilities=[context])
        await agent.run("What do I know about hens?", deps=Deps(user))
        assert script.results[0]["memories"] == []
        assert "I keep hens" not in str(script.requests[0])
        await tools.close()
        await context.close()


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    credential = token(tenant, "alice", "writer")
    tools = KeepsToolset(secured_url, user_id="bob", token=credential)
    script = Script(("recall", {"query": "hens"}))
    await Agent(script.model, toolsets=[tools]).run("Go.")
    assert "not allowed" in str(script.requests[-1][-1])
    assert tools.failures == {"recall": 1}
    await tools.close()
    context = KeepsContext(secured_url, user_id="bob", token=credential)
    with pytest.raises(ForbiddenError):
        await Agent(script.model, capabilities=[context]).run("Go.")
    await context.close()


async def test_run_without_its_user_is_refused(keeps: Keeps, tenant: str) -> None:
    tools = KeepsToolset(keeps, user_id=lambda ctx: ctx.deps, tenant_id=tenant)
    script = Script(("recall", {"query": "hens"}))
    with pytest.raises(ValueError, match="does not name its user"):
        await Agent(script.model, toolsets=[tools]).run("Go.")


async def test_agent_goes_on_while_memory_is_away() -> None:
    away: dict[str, Any] = {"keeps": "http://127.0.0.1:9", "tenant_id": "acme", "user_id": "alice"}
    tools, context = KeepsToolset(**away), KeepsContext(**away)
    script = Script(("remember", {"content": HENS}))
    done = await Agent(script.model, toolsets=[tools], capabilities=[context]).run("Go.")
    assert done.output == "Noted."
    assert "Memory cannot be reached right now" in str(script.requests[-1][-1])
    assert (tools.failures, context.failures) == ({"remember": 1}, {"context": 1})
    await tools.close()
    await context.close()


@pytest.mark.parametrize(
    "prompt", ["", " \x00 ", "🐴" * 20_000, ["Look at", ImageUrl("https://x.example/a.png")], None]
)
async def test_any_prompt_has_a_context_or_none(context: KeepsContext, prompt: Any) -> None:
    script = Script()
    history = [ModelRequest(parts=[UserPromptPart("Hello.")])] if prompt is None else None
    agent = Agent(script.model, deps_type=Deps, capabilities=[context])
    assert (await agent.run(prompt, deps=Deps("alice"), message_history=history)).output == "Noted."
    assert context.failures == {}


@pytest.fixture
def home(made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("pydantic_ai")))
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow_step("a database of its own is made")
def test_agent_runs_without_await(home: None) -> None:
    tools = KeepsToolset(user_id="alice")
    script = Script(("remember", {"content": HENS}), ("recall", {"query": "hens"}))
    Agent(script.model, toolsets=[tools]).run_sync("Go.")
    tools.close_now()
    assert script.results[1]["memories"][0]["text"] == HENS


@pytest.mark.slow_step("a database of its own is made")
def test_the_example(home: None) -> None:
    script = Script(("remember", {"content": "The guest is allergic to peanuts."}))
    assert main(script.model) == ["Noted.", "Noted."]
    assert "allergic to peanuts" not in str(script.sent(0, SystemPromptPart))
    assert "allergic to peanuts" in str(script.requests[-1])
    assert len(script.sent(-1, ToolReturnPart)) == 0, "the second run has no message of the first"
