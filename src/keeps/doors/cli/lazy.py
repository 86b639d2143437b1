"""The group of all commands, whose modules are loaded when they are used."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from keeps.doors.cli.listing import COMMANDS, PANELS, first_page

CHECKOUT = Path(__file__).parents[4]
"""The folder of the repository, if Keeps runs from one."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "add": ("remember", "create", "import"),
    "ask": ("recall", "context", "search"),
    "cat": ("get", "show"),
    "chat": ("say", "context"),
    "create": ("remember", "add"),
    "delete": ("forget", "revoke", "erase"),
    "drop": ("forget", "delete", "revoke", "erase"),
    "dump": ("export", "backup"),
    "edit": ("update",),
    "erase": ("forget", "delete"),
    "find": ("recall", "search"),
    "forget": ("delete",),
    "get": ("show", "read"),
    "health": ("doctor", "status"),
    "info": ("status", "show"),
    "init": ("demo", "remember", "serve"),
    "load": ("import",),
    "log": ("events", "history"),
    "ls": ("list",),
    "new": ("remember", "add", "create"),
    "prompt": ("context",),
    "put": ("remember", "add"),
    "query": ("recall", "search", "databases"),
    "read": ("get", "show"),
    "remove": ("forget", "revoke", "erase"),
    "rm": ("forget", "delete", "revoke", "erase"),
    "run": ("serve", "worker", "run-job"),
    "save": ("remember", "say"),
    "search": ("recall",),
    "server": ("serve",),
    "set": ("remember", "update"),
    "show": ("get", "list", "context"),
    "start": ("up", "serve", "worker"),
    "stop": ("down",),
    "stats": ("insights", "status"),
    "store": ("remember",),
    "undo": ("restore", "operations"),
    "undelete": ("restore",),
    "upgrade": ("migrate",),
    "users": ("tenants",),
    "web": ("ui",),
    "write": ("remember", "say"),
}
"""Commands by words that people try for them; a group suggests those that it has."""


FORMER = {"make": "create", "remove": "delete"}
"""Names of commands in a group that still work under their former names."""


class Group(TyperGroup):
    """A group with `help`, which suggests commands by what a word means, else by how it is spelt."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or by its former one."""
        found = super().get_command(ctx, cmd_name)
        return super().get_command(ctx, FORMER.get(cmd_name, "")) if found is None else found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `help COMMAND` as `COMMAND --help`."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed, or fail with a suggestion."""
        names = self.list_commands(ctx)
        if self.get_command(ctx, args[0]) is None and (
            meant := [name for name in SYNONYMS.get(args[0].lower(), ()) if name in names]
        ):
            quoted = " or ".join(f"'{name}'" for name in meant)
            ctx.fail(f"No such command '{args[0]}'. Did you mean {quoted}?")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """The group of all commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `version` as `--version`."""
        return super().parse_args(ctx, ["--version", *args[1:]] if args[:1] == ["version"] else args)

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a command, and load its module if it is used."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            module, line = COMMANDS[cmd_name]
            loaded: Any = get_group(import_module(f"keeps.doors.cli.{module}").app).commands[cmd_name]
            loaded.help = loaded.help or line
            self.commands[cmd_name] = loaded
        if cmd_name == "bench" and (CHECKOUT / "benchmarks" / "commands.py").is_file():
            sys.path.insert(0, str(CHECKOUT))
            self.commands[cmd_name] = get_group(import_module("benchmarks.commands").bench)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed, or suggest those with a similar name."""
        if args[0] not in COMMANDS:
            self._list_lines()
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Print the first page."""
        typer.echo(first_page(bold=sys.stdout.isatty()))

    def _list_lines(self) -> None:
        self.commands.update(
            (name, TyperCommand(name, help=line, rich_help_panel=panel))
            for panel, commands in PANELS.items()
            for name, (_, line) in commands.items()
        )
