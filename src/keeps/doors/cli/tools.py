"""tools: the tools that agents could call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, group, lines
from keeps.doors.cli.context import err
from keeps.doors.cli.parsers import check_question
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Tool
    from keeps_client.models.memories import Visibility

app = typer.Typer()
tools = group()
app.add_typer(tools, name="tools")
NO_TOOLS = "No tools. [dim]`keeps tools add` or `keeps tools import` adds some.[/]"
Private = Annotated[bool, typer.Option("--private", help="Only for this user. Default: for the tenant.")]


@command(tools, may_make=True)
async def add(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="Name that agents use.")],
    purpose: Annotated[str, typer.Option(help="Purpose, in one sentence.")],
    when_to_use: Annotated[str | None, typer.Option("--when", help="When to use it.")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="File with the JSON Schema of its input.")] = None,
    auth: Annotated[str | None, typer.Option(help="How to authenticate, in words; never a secret.")] = None,
    private: Private = False,
) -> Answer:
    """Add a tool, so that agents can find it."""
    tool = await memory.add_tool(
        name,
        purpose=purpose,
        when_to_use=when_to_use,
        input_schema=None if schema is None else _read(schema),
        auth=auth,
        visibility=_visibility(private),
    )
    return Answer(tool, f"agents can now look up [bold]{escape(tool.name)}[/]")


@command(tools, "import")
async def import_tools(
    memory: Memory,
    file: Annotated[Path, typer.Argument(help="An OpenAPI 3 document, as JSON or YAML.")],
    prefix: Annotated[str | None, typer.Option(help="Prefix of each name.")] = None,
    private: Private = False,
) -> Answer:
    """Add each operation of an OpenAPI 3 document as a tool."""
    document = _read(file)
    with err.status("storing …"):
        done = await memory.import_tools(document, prefix=prefix, visibility=_visibility(private))
    left_out = "".join(f"\n   [yellow]{escape(each)}[/]" for each in done.left_out)
    return Answer(done, f"agents can now look up {len(done.names)} tools{left_out}")


@command(tools, "list")
async def list_tools(
    memory: Memory, limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 1,000.")] = 100
) -> Answer:
    """List the tools, by name."""
    return lines(await memory.list_tools(limit=limit), _line, empty=NO_TOOLS)


@command(tools)
async def search(
    memory: Memory,
    query: Annotated[str, typer.Argument(help="The agent's task.", callback=check_question)],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 100.")] = 5,
) -> Answer:
    """Show the tools that fit best, best first."""
    return lines(await memory.search_tools(query, limit=limit), _line, empty=NO_TOOLS)


@command(tools)
async def delete(
    memory: Memory, name: Annotated[str, typer.Argument(help="Name that `keeps tools list` prints.")]
) -> str:
    """Delete a tool."""
    await memory.remove_tool(name)
    return f"agents no longer see {escape(name)}"


def _visibility(private: bool) -> Visibility:
    return "private" if private else "tenant"


def _line(tool: Tool) -> str:
    when = f"  [dim]{escape(tool.when_to_use)}[/]" if tool.when_to_use else ""
    return f"[bold]{escape(tool.name)}[/]: {escape(tool.purpose)}{when}"


def _read(file: Path) -> dict[str, Any]:
    import yaml

    try:
        text = file.read_text(encoding="utf-8")
        document = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ValidationFailedError(f"{str(file)!r} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, yaml.YAMLError):
        raise ValidationFailedError(f"{str(file)!r} is neither JSON nor YAML") from None
    if not isinstance(document, dict):
        raise ValidationFailedError(f"{str(file)!r} does not contain an object")
    return document
