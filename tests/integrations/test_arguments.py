"""The usual mistakes of models, through every tool of every door: understood, or answered with the argument's name."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from google.adk.tools.function_tool import FunctionTool
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as McpToolError
from mcp.server.mcpserver.exceptions import UnexpectedToolError

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.adk import KeepsTools
from keeps.integrations.adk.tools import NOT_THE_MODELS
from keeps.integrations.arguments import ToolArguments, WrongArgumentsError, memory_id_in, places_in
from keeps.integrations.claude import KeepsAsyncMemoryTool
from keeps.integrations.claude_commands import COMMANDS
from keeps.integrations.mcp import graph_server, memory_server

ALICE = "alice"


@dataclass(frozen=True, slots=True)
class Door:
    """One tool: its name, the schema of its arguments, and how a model calls it: the answer, and whether it worked."""

    name: str
    schema: Mapping[str, Any]
    call: Callable[[Any], Awaitable[tuple[str, bool]]]


def adk_doors(tools: KeepsTools) -> Iterator[Door]:
    context: Any = SimpleNamespace(
        user_id=ALICE, agent_name="butler", session=SimpleNamespace(app_name="app", id="s1", user_id=ALICE)
    )

    def door(tool: FunctionTool) -> Door:
        async def call(arguments: Any) -> tuple[str, bool]:
            said = await tool.run_async(args=arguments, tool_context=context)
            assert isinstance(said, str)
            return said, not said.startswith(("Nothing was done", "There is no", "nothing", "Give memory_id"))

        schema = ToolArguments.of_function(inspect.unwrap(tool.func), without=NOT_THE_MODELS)._schema  # noqa: SLF001
        return Door(tool.name, schema, call)

    yield from map(door, tools.tools)


async def mcp_doors(server: MCPServer[Any]) -> list[Door]:
    def door(name: str, schema: Mapping[str, Any]) -> Door:
        async def call(arguments: Any) -> tuple[str, bool]:
            try:
                result: Any = await server.call_tool(name, arguments)
            except UnexpectedToolError as error:
                raise AssertionError(f"{name} failed") from error
            except McpToolError as error:
                return str(error), False
            return "".join(getattr(each, "text", "") for each in result.content), True

        return Door(name, schema, call)

    managed = server._tool_manager.list_tools()  # noqa: SLF001  the schema with its bounds
    return [door(each.name, each.fn_metadata.arg_model.model_json_schema(by_alias=True)) for each in managed]


def claude_doors(tool: KeepsAsyncMemoryTool) -> Iterator[Door]:
    def door(command: str) -> Door:
        async def call(arguments: Any) -> tuple[str, bool]:
            given = {"command": command, **arguments} if isinstance(arguments, dict) else arguments
            try:
                return str(await tool.call(given)), True
            except ToolError as error:
                return str(error), False

        schema = COMMANDS[command].model_json_schema()
        inner = {name: each for name, each in schema["properties"].items() if name != "command"}
        required = [name for name in schema["required"] if name != "command"]
        return Door(command, {**schema, "properties": inner, "required": required}, call)

    yield from map(door, COMMANDS)


@pytest.fixture
async def doors(keeps: Keeps, tenant: str) -> AsyncIterator[list[Door]]:
    memory = keeps.memory(Scope(tenant, ALICE))
    adk = KeepsTools(keeps, tenant_id=tenant)
    claude = KeepsAsyncMemoryTool(keeps, user_id=ALICE, tenant_id=tenant)
    yield [
        *adk_doors(adk),
        *await mcp_doors(memory_server(lambda: memory)),
        *await mcp_doors(graph_server(lambda: memory)),
        *claude_doors(claude),
    ]
    await adk.close()
    await claude.close()


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        return root["$defs"][schema["$ref"].rpartition("/")[2]]
    some = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return resolved(some[0], root) if len(some) == 1 else schema


def right(name: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """A value that fits, so that one mistake at a time is made."""
    schema = resolved(schema, root)
    match schema.get("type"):
        case "string" if "enum" in schema:
            return schema["enum"][0]
        case "string":
            return "/memories/notes" if "path" in name else "notes"
        case "integer":
            return 1
        case "array":
            return [right(name, schema["items"], root)]
        case "object":
            return {each: right(each, inner, root) for each, inner in schema.get("properties", {}).items()}
        case _:
            return None


def least(door: Door) -> dict[str, Any]:
    return {name: right(name, door.schema["properties"][name], door.schema) for name in door.schema.get("required", ())}


NUL, HALF = "a\x00b", "a\ud800b"
WRONG: dict[str, list[Any]] = {
    "string": [["a"], {"a": 1}, True, NUL, HALF],
    "integer": ["many", [1], {"a": 1}, True, float("nan"), float("inf"), "1.5e999"],
    "number": ["very", [0.5], {"a": 1}, True, float("nan"), float("-inf"), "nan", "1e999"],
    "boolean": ["perhaps", [True], {"a": 1}, 2],
    "array": [True, "['a']", [["a"]], [NUL], [HALF], [None], "a, b"],
    "object": ["a", 5, ["a"], {"a": NUL}, {HALF: 1}],
}


async def test_a_wrong_value_is_answered_with_its_name(doors: list[Door], keeps: Keeps, tenant: str) -> None:
    asked = 0
    for door in doors:
        for name, declared in door.schema["properties"].items():
            kind = resolved(declared, door.schema)["type"]
            for value in WRONG[kind]:
                said, done = await door.call({**least(door), name: value})
                assert not done, (door.name, name, value, said)
                assert name in said, (door.name, name, value, said)
                said.encode()
                asked += 1
    assert asked > 300
    memory = keeps.memory(Scope(tenant, ALICE))
    assert len(await memory.list()) == 0
    assert len(await memory.list_entities()) == 0


async def test_names_that_are_missing_or_unknown_are_told(doors: list[Door]) -> None:
    for door in doors:
        for name in door.schema.get("required", ()):
            for arguments in (
                {each: value for each, value in least(door).items() if each != name},
                {**least(door), name: None},
            ):
                said, done = await door.call(arguments)
                assert not done, (door.name, arguments, said)
                assert name in said, (door.name, arguments, said)
        for unknown in ("user_id", "tenant", "self", "tool_context", "x" * 500, HALF, ""):
            said, done = await door.call({**least(door), unknown: "bob"})
            assert not done, (door.name, unknown)
            assert "unknown argument" in said
            assert all(name in said for name in list(door.schema["properties"])[:3])
        for nothing in ([], "text", 5):
            said, done = await door.call(nothing)
            assert not done, (door.name, nothing)


def spelt(value: Any) -> Any:
    """The same value as models write it: numbers for digits and the other way round, JSON in strings, nothing in
    words."""
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return f" {value} "
        case list() | dict():
            return json.dumps(value)
        case None:
            return "null"
        case _:
            return value


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


async def test_what_can_only_mean_one_thing_is_understood(doors: list[Door], tenant: str) -> None:
    for door in doors:
        wanted = least(door)
        for name, declared in door.schema["properties"].items():
            if name not in door.schema.get("required", ()):
                wanted[name] = None
                if "default" in declared and declared["default"] is not None:
                    wanted[name] = declared["default"]
        plain = {name: value for name, value in wanted.items() if value is not None}
        before, _ = await door.call(plain)
        for arguments in (
            {name: spelt(value) for name, value in wanted.items()},
            {camel(name): value for name, value in wanted.items()},
            {name.upper().replace("_", "-"): value for name, value in wanted.items()},
            {"input": plain},
            {"arguments": json.dumps(plain)},
        ):
            said, _ = await door.call(arguments)
            assert "was not called" not in said, (door.name, arguments, said)
            assert "unknown argument" not in said, (door.name, arguments, said)
            assert "must be" not in said, (door.name, arguments, said)
        assert before


Reading = Callable[..., dict[str, Any]]


@pytest.fixture
def reading() -> Reading:
    async def tool(
        text: str,
        memory_id: str | None = None,
        tags: list[str] | None = None,
        share: float = 0.5,
        count: int = 1,
        sure: bool = False,
        properties: dict[str, Any] | None = None,
    ) -> str: ...

    return ToolArguments.of_function(tool, without=()).read


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ({"text": 123}, {"text": "123"}),
        ({"text": 1.5}, {"text": "1.5"}),
        ({"text": '["a"]'}, {"text": '["a"]'}),
        ({"text": ""}, {"text": ""}),
        ({"text": "null"}, {"text": "null"}),
        ({"memory_id": "null"}, {"memory_id": None}),
        ({"memory_id": ""}, {"memory_id": None}),
        ({"memory_id": '{"a": 1}'}, {"memory_id": '{"a": 1}'}),
        ({"memoryId": "a", "memory_id": None}, {"memory_id": "a"}),
        ({"tags": "food"}, {"tags": ["food"]}),
        ({"tags": 5}, {"tags": ["5"]}),
        ({"tags": [1, "b"]}, {"tags": ["1", "b"]}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"tags": ""}, {"tags": None}),
        ({"tags": "None"}, {"tags": None}),
        ({"tags": []}, {"tags": []}),
        ({"share": "0.7"}, {"share": 0.7}),
        ({"share": ".7"}, {"share": 0.7}),
        ({"share": None}, {"share": 0.5}),
        ({"count": "10"}, {"count": 10}),
        ({"count": "10.0"}, {"count": 10}),
        ({"count": 10.0}, {"count": 10}),
        ({"count": ""}, {"count": 1}),
        ({"sure": "true"}, {"sure": True}),
        ({"sure": "False"}, {"sure": False}),
        ({"sure": "no"}, {"sure": False}),
        ({"sure": 0}, {"sure": False}),
        ({"sure": 1.0}, {"sure": True}),
        ({"properties": '{"a": [1]}'}, {"properties": {"a": [1]}}),
    ],
)
def test_conversions(reading: Reading, given: dict[str, Any], understood: dict[str, Any]) -> None:
    read = reading({"text": "x", **given})
    assert {name: read[name] for name in understood} == understood


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"memoryId": "a", "memory_id": "b"}, "memory_id appears twice"),
        ({"tags": "a, b"}, 'tags: give a list, such as ["a", …]'),
        ({"tags": ["a", " "]}, "tags.1: must not be empty"),
        ({"count": 1.5}, "count: "),
        ({"count": "1.5"}, "count: must be a whole number"),
        ({"sure": "maybe"}, "sure: must be true or false, not 'maybe'"),
        ({"properties": {"a": {"b": [NUL]}}}, "properties.a.b.0: contains a NUL"),
        ({"properties": {"a": HALF}}, "properties.a: contains half of a surrogate pair"),
    ],
)
def test_refusals(reading: Reading, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongArgumentsError) as wrong:
        reading({"text": "x", **given})
    assert said in str(wrong.value)
    assert len(str(wrong.value)) < 500


def test_deep_arguments_are_refused(reading: Reading) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(WrongArgumentsError):
        reading({"text": "x", "properties": {"a": deep}})
    with pytest.raises(WrongArgumentsError):
        reading({"text": "x", "tags": "[" * 100_000})
    while isinstance(deep, list):  # or freeing it would be as deep
        deep = deep[0]


UUID_TEXT = "0190aaaa-0000-7000-8000-00000000000a"


@pytest.mark.parametrize(
    "text", [UUID_TEXT, UUID_TEXT.upper(), f"id {UUID_TEXT}", f"(id: {UUID_TEXT})", f'"{UUID_TEXT}"']
)
def test_an_id_is_read_with_what_is_around_it(text: str) -> None:
    assert str(memory_id_in(text)) == UUID_TEXT


@pytest.mark.parametrize("text", ["memory-12", "", "conversation/" + UUID_TEXT, "12", f"{UUID_TEXT} {UUID_TEXT}"])
def test_what_is_no_id_is_none(text: str) -> None:
    assert memory_id_in(text) is None


def test_places_of_a_name_with_slashes() -> None:
    assert list(places_in("a/b/c")) == [("a", "b/c"), ("a/b", "c")]
    assert list(places_in("plain")) == []


async def test_ids_as_answers_show_them(doors: list[Door]) -> None:
    by_name = {door.name: door for door in doors}
    await by_name["remember"].call({"content": "Two hens.", "namespace": "animals", "key": "hens/two"})
    for text in ("animals/hens/two", "memory://animals/hens/two"):
        said, done = await by_name["get_memory"].call({"memory_id": text})
        assert done == text.startswith("animals"), said
    memory_id = json.loads((await by_name["get_memory"].call({"memory_id": "animals/hens/two"}))[0])["id"]
    for text in (f"id {memory_id}", f"memory://{memory_id}", memory_id.upper()):
        assert (await by_name["update_memory"].call({"memory_id": text, "importance": "0.9"}))[1]
    for text in ("memory-12", "hens", "conversation/none"):
        said, done = await by_name["get_memory"].call({"memory_id": text})
        assert not done
        assert "memory_id" in said
        assert "recall or list_memories" in said
    said, done = await by_name["forget"].call({"memory_id": "animals/hens/two", "hard": "false"})
    assert done
    assert "30 days" in said


async def test_a_flat_call_of_a_list_of_objects_is_understood(doors: list[Door]) -> None:
    by_name = {door.name: door for door in doors}
    said, done = await by_name["create_entities"].call({"name": "Ada", "entityType": "hen", "observations": ["Sings"]})
    assert done, said
    said, done = await by_name["create_relations"].call(
        {"relations": {"from": "Ada", "to": "Eve", "relation_type": "likes"}}
    )
    assert done, said
    assert "likes" in (await by_name["open_nodes"].call({"names": "Ada"}))[0]


@pytest.mark.parametrize("given", [None, {}, {"command": "read"}, {"command": 5}, {"path": "/memories"}, "text"])
async def test_a_command_that_is_none_is_told_which_there_are(keeps: Keeps, tenant: str, given: Any) -> None:
    tool = KeepsAsyncMemoryTool(keeps, user_id=ALICE, tenant_id=tenant)
    with pytest.raises(ToolError, match="command"):
        await tool.call(given)
    assert "0B" not in await tool.call({"command": "View", "path": "/memories", "view_range": None})
    await tool.close()
