"""tools: the tools that agents could call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.markup import escape

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Tool

tools_app = typer.Typer(help="Tools that agents could call. Keeps does not call them.", no_args_is_help=True)
Private = Annotated[bool, typer.Option("--private", help="Only for this user; else for the tenant.")]


def register(app: typer.Typer) -> None:
    for command in (add, search, remove):
        tools_app.command()(targeted(command))
    tools_app.command("import")(targeted(import_tools))
    tools_app.command("list")(targeted(list_tools))
    app.add_typer(tools_app, name="tools")


def add(
    name: Annotated[str, typer.Argument(help="What agents call it.")],
    purpose: Annotated[str, typer.Option(help="What it is good for, in a sentence.")],
    when_to_use: Annotated[str | None, typer.Option("--when", help="When to use it.")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="File with the JSON Schema of its input.")] = None,
    auth: Annotated[str | None, typer.Option(help="A hint at how one is let in; never a secret.")] = None,
    private: Private = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Tell agents of a tool."""

    async def work() -> None:
        taken = None if schema is None else _read(schema)
        async with target.memory() as memory:
            made = await memory.add_tool(
                name,
                purpose=purpose,
                when_to_use=when_to_use,
                input_schema=taken,
                auth=auth,
                visibility="private" if private else "tenant",
            )
        if as_json:
            print_json(made.model_dump(mode="json"))
        else:
            out.print(f"agents are told of [bold]{escape(made.name)}[/]")

    run(work)


def import_tools(
    file: Annotated[Path, typer.Argument(help="An OpenAPI 3 document, as JSON or YAML.")],
    prefix: Annotated[str | None, typer.Option(help="Goes before each name.")] = None,
    private: Private = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Tell agents of each operation of an OpenAPI 3 document."""

    async def work() -> None:
        document = _read(file)
        async with target.memory() as memory:
            with err.status("storing …"):
                done = await memory.import_tools(document, prefix=prefix, visibility="private" if private else "tenant")
        if as_json:
            print_json(done.model_dump(mode="json"))
            return
        out.print(f"agents are told of {len(done.names)} tools")
        for each in done.left_out:
            out.print(f"   [yellow]{escape(each)}[/]")

    run(work)


def list_tools(
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 1,000.")] = 100,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List the tools, by name."""

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.list_tools(limit=limit)
        _print(found, as_json=as_json)

    run(work)


def search(
    query: Annotated[str, typer.Argument(help="What is to be done.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")] = 5,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show the tools that fit best, best first."""

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.search_tools(query, limit=limit)
        _print(found, as_json=as_json)

    run(work)


def remove(name: Annotated[str, typer.Argument(help="As `keeps tools list` prints it.")], *, target: Target) -> None:
    """Remove a tool."""

    async def work() -> None:
        async with target.memory() as memory:
            await memory.remove_tool(name)
        out.print(f"agents are no longer told of {escape(name)}")

    run(work)


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        document = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ValidationFailedError(f"{str(file)!r} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, yaml.YAMLError):
        raise ValidationFailedError(f"{str(file)!r} is neither JSON nor YAML") from None
    if not isinstance(document, dict):
        raise ValidationFailedError(f"{str(file)!r} holds no object")
    return document


def _print(found: list[Tool], *, as_json: bool) -> None:
    if as_json:
        print_json([tool.model_dump(mode="json") for tool in found])
        return
    if not found:
        out.print("No tools. [dim]`keeps tools add` or `keeps tools import` adds some.[/]")
    for tool in found:
        when = f"  [dim]{escape(tool.when_to_use)}[/]" if tool.when_to_use else ""
        out.print(f"[bold]{escape(tool.name)}[/]: {escape(tool.purpose)}{when}", highlight=False)
