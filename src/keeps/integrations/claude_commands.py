"""Reads commands of Claude's memory tool as a model writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from anthropic.lib.tools import ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from pydantic import BaseModel, create_model

from keeps.integrations.arguments import ToolArguments, WrongArgumentsError

COMMANDS: Mapping[str, type[BaseModel]] = {
    "view": BetaMemoryTool20250818ViewCommand,
    "create": BetaMemoryTool20250818CreateCommand,
    "str_replace": BetaMemoryTool20250818StrReplaceCommand,
    "insert": BetaMemoryTool20250818InsertCommand,
    "delete": BetaMemoryTool20250818DeleteCommand,
    "rename": BetaMemoryTool20250818RenameCommand,
}
_ARGUMENTS = {command: ToolArguments(model) for command, model in COMMANDS.items()}
_FIELDS: dict[str, Any] = {name: (Any, ...) for model in COMMANDS.values() for name in model.model_fields}
_ANY_COMMAND = ToolArguments(create_model("memory", **{**_FIELDS, "command": (Literal[tuple(COMMANDS)], ...)}))
NAMES = {"key": "path", "content": "file_text", "value": "file_text"}
"""The commands' names of fields that have other names in Keeps."""


def understood(given: object) -> dict[str, Any]:
    """Return a command with the arguments that the SDK expects. Raises ToolError."""
    try:
        named = _ANY_COMMAND.convert(given)
        return _arguments_of(named.get("command")).read(named)
    except WrongArgumentsError as error:
        raise ToolError(f"Nothing was done: {error}. Correct that and call again.") from None


def _arguments_of(command: object) -> ToolArguments:
    if isinstance(command, str) and command in _ARGUMENTS:
        return _ARGUMENTS[command]
    raise WrongArgumentsError([f"command: must be one of {', '.join(_ARGUMENTS)}"])
