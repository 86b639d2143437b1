"""External tools: a registry of what an agent could call, and when. Keeps does not call them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Text, Wire
from keeps_client.models.memories import Receipt, Visibility
from keeps_client.models.names import Name

MAX_SCHEMA, MAX_DOCUMENT = 20_000, 2_000_000


def _small(schema: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(schema)) > MAX_SCHEMA:
        raise ValueError(f"must be at most {MAX_SCHEMA:,} characters of JSON")
    return schema


def _not_huge(document: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(document)) > MAX_DOCUMENT:
        raise ValueError(f"must be at most {MAX_DOCUMENT:,} characters of JSON")
    return document


Schema = Annotated[dict[str, JsonValue], AfterValidator(_small)]
Sentence = Annotated[Text, StringConstraints(min_length=1, max_length=500)]


class NewTool(Wire):
    """A tool. `input_schema`: JSON Schema of its input; `auth`: how to authenticate, in words, never a secret."""

    name: Name
    purpose: Sentence
    when_to_use: Sentence | None = None
    input_schema: Schema | None = None
    auth: Annotated[Text, StringConstraints(min_length=1, max_length=200)] | None = None
    visibility: Visibility = "tenant"


class Tool(Wire):
    """A stored tool. `score`: set in a search."""

    name: str
    purpose: str
    when_to_use: str | None = None
    input_schema: dict[str, Any] | None = None
    auth: str | None = None
    visibility: Visibility
    memory_id: UUID
    updated_at: datetime
    score: float | None = None


class ToolImport(Wire):
    """An OpenAPI 3 document: each of its operations becomes a tool. `prefix` goes before each name."""

    openapi: Annotated[dict[str, JsonValue], AfterValidator(_not_huge)]
    prefix: Name | None = None
    visibility: Visibility = "tenant"


class ToolsImported(Wire):
    """The names of the stored tools, and those left out, with the reason."""

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class ToolName(Wire):
    name: Id


class ToolQuery(Wire):
    """`query`: the task; the best tools come first. Without it, all tools by name."""

    query: Annotated[Text, Field(min_length=1, max_length=2_000)] | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


ADD_TOOL = Endpoint(
    "add_tool",
    "POST",
    "/v1/tools",
    "admin",
    "tools",
    Tool,
    "Register a tool for agents: its purpose, when to use it, its input.",
    body=NewTool,
    status=201,
)
IMPORT_TOOLS = Endpoint(
    "import_tools",
    "POST",
    "/v1/openapi",
    "admin",
    "tools",
    ToolsImported,
    "Register each operation of an OpenAPI 3 document as a tool; references may only point inside the document.",
    body=ToolImport,
)
LIST_TOOLS = Endpoint(
    "list_tools",
    "GET",
    "/v1/tools",
    "reader",
    "tools",
    list[Tool],
    "List the tools by name; with `query`, the best ones, best first.",
    params=ToolQuery,
)
REMOVE_TOOL = Endpoint(
    "remove_tool",
    "DELETE",
    "/v1/tools/{name}",
    "admin",
    "tools",
    Receipt,
    "Remove a tool.",
    params=ToolName,
)
