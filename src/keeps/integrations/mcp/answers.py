"""Answers of tools: few tokens, and a cursor to the rest. Errors are sentences that a model can act on."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, PrivateAttr, ValidationError

from keeps.base.telemetry.logs import log
from keeps.integrations import memory_tools, sentences
from keeps.integrations.arguments import ToolArguments, WrongArgumentsError, problems_of
from keeps.integrations.budgets import MOST_TOKENS, SHOWN_CHARACTERS, fitting, start_of, tokens
from keeps.integrations.memory_tools import Budget, Done, Lean, Memories, Text, WrongIdError, found, lean_schema
from keeps_client.errors import KeepsError

__all__ = [
    "MOST_TOKENS",
    "SHOWN_CHARACTERS",
    "Budget",
    "Done",
    "Memories",
    "Text",
    "fitting",
    "found",
    "start_of",
    "tokens",
]
Parameters = ParamSpec("Parameters")
UNKNOWN_CURSOR = "cursor: unknown value. Omit it to start over."


class Whole(Lean):
    """One memory."""

    id: str
    text: str
    kind: str
    since: str
    importance: float
    version: int
    key: str | None = None
    tags: list[str] | None = None
    superseded_by: str | None = None
    forgotten: bool | None = None
    next_cursor: str | None = None


class Built(Lean):
    text: str
    tokens: int


class Entities(Lean):
    entities: list[dict[str, Any]]
    relations: list[dict[str, Any]]
    next_cursor: str | None = None
    note: str | None = None


class Rows(Lean):
    sql: str
    columns: list[str]
    rows: list[list[Any]]
    row_count: int
    cut: bool | None = None
    next_cursor: str | None = None


def answer(value: Lean) -> CallToolResult:
    """Return a result with the value as data and as the same JSON in text, without absent fields."""
    data = value.model_dump(mode="json", exclude_none=True)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


_OFFSET = re.compile(rb"at:([0-9]{1,12})")


def offset_of(cursor: str | None) -> int:
    """Return the offset of a cursor; 0 without one. Raises ToolError for an unknown cursor."""
    if cursor is None:
        return 0
    try:
        match = _OFFSET.fullmatch(base64.urlsafe_b64decode(cursor.encode() + b"=="))
    except ValueError:
        match = None
    if match is None:
        raise ToolError(UNKNOWN_CURSOR)
    return int(match[1])


def cursor_of(offset: int) -> str:
    return base64.urlsafe_b64encode(f"at:{offset}".encode()).decode().rstrip("=")


def helpful(work: Callable[Parameters, Awaitable[CallToolResult]]) -> Callable[Parameters, Awaitable[CallToolResult]]:
    """Decorate a tool: turn errors of Keeps into sentences that say what to do instead."""

    @functools.wraps(work)
    async def asked(*arguments: Parameters.args, **named: Parameters.kwargs) -> CallToolResult:
        try:
            return await work(*arguments, **named)
        except (KeepsError, WrongIdError) as error:
            raise ToolError(sentence(error)) from None

    return asked


def sentence(error: KeepsError | WrongIdError) -> str:
    """Return an error as a sentence for a model. Errors that only an operator can fix are logged, too."""
    if isinstance(error, sentences.FOR_OPERATORS):
        log().warning("an MCP call failed without memory", error=error.code)
    return memory_tools.sentence(
        error,
        finders="recall or list_memories",
        conflict="Read it again with get_memory, then decide again.",
    )


class LenientMetadata(FuncMetadata):
    """Arguments converted by `ToolArguments`.

    The SDK's own conversion of JSON in strings takes a text such as "[1]" for a list even if the argument is a text.
    """

    _arguments: ToolArguments = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._arguments = ToolArguments(self.arg_model)

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return data

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return super().validate_arguments(self._arguments.convert(arguments_to_validate))


class Helpful(Tool):
    """A tool whose errors say which arguments are wrong, and which exist."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as wrong:
                    problems = WrongArgumentsError(problems_of(wrong))
                case WrongArgumentsError() as wrong:
                    problems = wrong
                case _:
                    raise
            raise ToolError(f"{self.name} was not called: {problems}. Correct that and call again.") from None


def tool(
    work: Callable[..., Awaitable[CallToolResult]],
    title: str,
    *,
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
) -> Tool:
    """Return a tool whose declaration costs few tokens: it has no titles of fields.

    Args:
        reads: It changes nothing.
        destroys: It may lose data.
        repeats: Repeated calls have no further effect.
    """
    hints = ToolAnnotations(read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats or reads)
    made = Helpful.from_function(helpful(work), title=title, annotations=hints)
    declared = made.fn_metadata
    made.fn_metadata = LenientMetadata(
        arg_model=declared.arg_model,
        output_schema=declared.output_schema,
        output_model=declared.output_model,
        wrap_output=declared.wrap_output,
    )
    made.parameters = lean_schema(made.parameters)
    if made.output_schema is not None:
        object.__setattr__(made, "output_schema", lean_schema(made.output_schema))  # a cached property
    return made


Cursor = Annotated[str | None, Field(max_length=2_000)]
