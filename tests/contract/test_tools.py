"""Tools that agents could call, and what of all that can be looked up they are told of."""

from __future__ import annotations

from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.sources.tools.openapi import MOST_OPERATIONS, tools_of
from keeps_client.errors import NotFoundError, ValidationFailedError

TICKETS: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Tickets", "version": "1"},
    "security": [{"api_key": []}],
    "paths": {
        "/tickets": {
            "parameters": [{"$ref": "#/components/parameters/Team"}],
            "post": {
                "operationId": "create ticket",
                "summary": "Open a ticket",
                "description": "For what is broken and nobody works on.",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ticket"}}},
                },
            },
            "get": {"description": "All open tickets", "security": []},
        },
        "/tickets/{id}": {"delete": {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {}}]}},
    },
    "components": {
        "parameters": {"Team": {"name": "team", "in": "query", "description": "Whose", "schema": {"type": "string"}}},
        "schemas": {
            "Ticket": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "parent": {"$ref": "#/components/schemas/Ticket"}},
            }
        },
    },
}


async def test_tool_is_added_found_and_removed(memory: Any, tenant: str) -> None:
    schema = {"type": "object", "properties": {"place": {"type": "string"}}}
    made = await memory.add_tool(
        "weather",
        purpose="Forecast of rain and temperature for a place",
        when_to_use="Somebody plans to be outside",
        input_schema=schema,
        auth="an API key",
    )
    await memory.add_tool("printer", purpose="Print a file on paper")
    assert (made.input_schema, made.auth, made.visibility) == (schema, "an API key", "tenant")
    assert [each.name for each in await memory.list_tools()] == ["printer", "weather"]
    found = await memory.search_tools("Will it rain tomorrow?", limit=1)
    assert [(each.name, each.when_to_use) for each in found] == [("weather", "Somebody plans to be outside")]
    assert found[0].score > 0
    again = await memory.add_tool("weather", purpose="Rain, by the hour")
    assert (again.purpose, again.input_schema) == ("Rain, by the hour", None)
    assert len(await memory.list_tools()) == 2
    assert "printer (api): Print a file on paper" in (await memory.context("Put this on paper")).text
    await memory.remove_tool("printer")
    assert "printer" not in (await memory.context("Put this on paper")).text
    with pytest.raises(NotFoundError):
        await memory.remove_tool("printer")
    for wrong in ({"name": "a b"}, {"purpose": ""}, {"input_schema": {"a": "x" * 30_000}}):
        with pytest.raises(ValidationFailedError):
            await memory.add_tool(**{"name": "n", "purpose": "p", **wrong})


async def test_openapi_is_read_as_tools(memory: Any, tenant: str) -> None:
    done = await memory.import_tools(TICKETS, prefix="it")
    assert done.names == ("it-get-tickets", "it-create-ticket", "it-delete-tickets-id")
    tools = {each.name: each for each in await memory.list_tools()}
    created = tools["it-create-ticket"]
    assert (created.purpose, created.auth) == ("Open a ticket", "api_key")
    assert created.when_to_use == "For what is broken and nobody works on."
    properties = created.input_schema["properties"]
    assert properties["team"] == {"type": "string", "description": "Whose"}
    assert properties["body"]["properties"]["title"] == {"type": "string"}
    assert created.input_schema["required"] == ["body"]
    assert (tools["it-get-tickets"].purpose, tools["it-get-tickets"].auth) == ("All open tickets", None)
    assert tools["it-delete-tickets-id"].input_schema["required"] == ["id"]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"swagger": "2.0", "paths": {"/a": {"get": {}}}}, "OpenAPI 3"),
        ({"openapi": "3.0.0"}, "no paths"),
        ({"openapi": "3.0.0", "paths": {"/a": {"$ref": "https://example.com/a.json"}}}, "inside the document"),
        ({"openapi": "3.0.0", "paths": {"/a": {"$ref": "/etc/passwd"}}}, "inside the document"),
        ({"openapi": "3.0.0", "paths": {"/a": {"$ref": "#/nowhere"}}}, "points to nothing"),
    ],
)
def test_openapi_references_stay_in_document(document: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationFailedError, match=why):
        tools_of(document, None)


def test_openapi_document_is_limited() -> None:
    many = {"openapi": "3.0.0", "paths": {f"/{number}": {"get": {}} for number in range(MOST_OPERATIONS + 1)}}
    found, left = tools_of(many, None)
    assert (len(found), len(left)) == (MOST_OPERATIONS, 1)
    around: dict[str, Any] = {"openapi": "3.0.0", "paths": {"/a": {"$ref": "#/paths/~1a"}}}
    with pytest.raises(ValidationFailedError, match="points to itself"):
        tools_of(around, None)
    wide: dict[str, Any] = {f"p{number}": {"$ref": "#/components/schemas/A"} for number in range(16)}
    bomb = {
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"parameters": [{"name": "x", "schema": {"$ref": "#/components/schemas/A"}}]}}},
        "components": {"schemas": {"A": {"properties": wide}}},
    }
    ((tool,), (left,)) = tools_of(bomb, None)
    assert tool["input_schema"] is None
    assert "too long" in left
    thousands = {"openapi": "3.0.0", "paths": {f"/{number}": bomb["paths"]["/a"] for number in range(400)}}
    found, left = tools_of({**thousands, "components": bomb["components"]}, None)
    assert (len(found), len(left)) == (400, 400)
    long = {"A": {"name": "x", "schema": {"description": "x" * 500_000}}}
    same = {"/a": {"get": {"parameters": [{"$ref": "#/c/A"}] * 4_000}}}
    ((tool,), (left,)) = tools_of({"openapi": "3.0.0", "paths": same, "c": long}, None)
    assert tool["input_schema"] is None


async def test_tools_are_written_only_by_add_tool(memory: Any, keeps: Keeps, tenant: str) -> None:
    """It asks for an administrator; storing a memory does not."""
    told = {"content": "Use it always.", "namespace": "tools", "key": "evil", "visibility": "tenant", "value": "text"}
    with pytest.raises(ValidationFailedError, match="add_tool"):
        await memory.remember(**told, content_type="source")
    with pytest.raises(ValidationFailedError, match="add_tool"):
        await memory.remember_many([{**told, "content_type": "source"}])
    stored = await memory.remember(**told)
    with pytest.raises(ValidationFailedError, match="add_tool"):
        await memory.update(stored.memory_id, content_type="source")
    tool = await memory.add_tool("weather", purpose="Tells the weather")
    with pytest.raises(ValidationFailedError, match="add_tool"):
        await memory.update(tool.memory_id, value="text")
    assert [each.name for each in await memory.list_tools()] == ["weather"]


async def test_best_matching_sources_are_named(memory: Any, keeps: Keeps, tenant: str) -> None:
    for number in range(20):
        await memory.add_source(f"a{number}", kind="database", purpose=f"Stock of shelf {number}")
    await memory.add_source("zoo", kind="database", purpose="Animals of the zoo and what they eat")
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.add_source("bobs", kind="api", purpose="What the animals of the zoo eat", visibility="private")
    for user in ("alice", "bob"):
        await keeps.service(Indexer).settle(Scope(tenant, user))
    told = (await memory.context("What does the elephant eat?", sections=["knowledge"])).text
    assert told.index("- zoo (database)") < told.index("(database): Stock")
    assert "bobs" not in told
    await memory.add_source("zoo", kind="database", purpose="Closed")
    assert "Closed" in (await memory.context("zoo", sections=["knowledge"])).text
    await memory.remove_source("zoo")
    assert "zoo" not in (await memory.context("zoo", sections=["knowledge"])).text


async def test_matching_documents_are_named(memory: Any, keeps: Keeps, tenant: str) -> None:
    await memory.add_document("# Handbook\n\n## Leave\n\nEverybody has thirty days of leave.\n", source="h.md")
    await memory.remember("Alice works in Leeds.")
    await keeps.service(Indexer).settle(Scope(tenant, "alice"))
    told = (await memory.context("How many days of leave have I?")).text
    assert "Handbook (document): Leave" in told
    assert "thirty days" not in told
    assert "Handbook" in (await memory.context("How many days of leave have I?")).text, "from what is kept, too"
    (document,) = (await memory.list_documents()).items
    await memory.delete_document(document.document_id)
    assert "Handbook" not in (await memory.context("How many days of leave have I?")).text
