"""The list of all commands: where each is defined, and its line in `keeps --help`.

A command's module is loaded when it is used: help needs none of them. A test compares the lines with the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "demo",
        "Store three months of conversations, ask, explain, correct, forget, and try to look over the wall.",
    ),
    "serve": ("serving", "Serve HTTP."),
    "ui": ("serving", "Open the console in a browser: the memories, why they are found, what changed."),
    "token": ("serving", "Make a development token, signed with KEEPS_JWT_SECRET."),
    "mcp": (
        "mcp",
        "Serve memory over the Model Context Protocol, on standard input and output: the command to put into a client.",
    ),
    "remember": ("memories", "Store one memory."),
    "recall": ("memories", "Ask a question."),
    "list": ("memories", "List memories, newest first or in another order."),
    "get": ("memories", "Show one memory completely."),
    "update": ("memories", "Correct or change a memory."),
    "forget": ("memories", "Forget a memory: hidden now, restorable for 30 days."),
    "restore": ("memories", "Bring back a forgotten memory."),
    "history": ("memories", "Show everything that happened to a memory, oldest first."),
    "context": ("conversations", "Print the context for a prompt: Markdown within a budget of tokens."),
    "say": ("conversations", "Store a message of a conversation; print the facts that were found in it."),
    "notes": (
        "conversations",
        "Show the notes of a conversation: summary, decisions, action items, the last messages.",
    ),
    "end": ("conversations", "End a conversation: its summary is stored now, its important parts in an hour."),
    "insights": (
        "conversations",
        "Show statistics of your own memory: totals, growth, use, decay ahead, junk, storage, index lag.",
    ),
    "import": ("importing", "Import chats, LoCoMo, Markdown folders, plain text, or an export."),
    "export": (
        "importing",
        "Write a tenant's data as JSON lines: memories, graph, sessions, plans, task contexts, working memory.",
    ),
    "worker": (
        "jobs",
        "Run background jobs until Ctrl-C: sessions, promotion, decay, consolidation, expiry, the index.",
    ),
    "run-job": ("jobs", "Run a job now, due or not, and print its result."),
    "status": (
        "running",
        "Show the stored data, the state of the index, and the users of the server (as they were before this command).",
    ),
    "doctor": ("running", "Check everything that can be wrong, and say how to fix it; at --url what the server shows."),
    "migrate": ("running", "Bring the database to the newest schema."),
    "reindex": ("running", "Make the missing vectors, as after a change of the embedding model."),
    "call": ("calls", "Run any operation by its name: keeps call get_plan plan_id=p1"),
    "documents": ("documents", "Documents: what can be looked up, and cited."),
    "databases": ("databases", "Databases that can be asked: live data."),
    "secrets": ("databases", "The keys that credentials of databases are kept under."),
    "tools": ("tools", "Tools that agents could call. Keeps does not call them."),
    "sources": ("conversations", "What can be looked up, as agents are told: add, list, remove."),
    "audit": ("conversations", "Looks at what a memory keeps."),
    "graph": ("graph", "The graph: entities, edges, and the ways between them."),
    "providers": ("providers", "Memory providers: list, read and write, rebuild, check."),
    "events": ("log", "The log of events: read, follow, verify, replay, retire."),
    "webhooks": ("log", "Where events are sent: add, list, remove, retry."),
    "operations": ("jobs", "What background jobs did to a tenant: list, show, undo."),
    "jobs": ("jobs", "The worker's queue: what waits, dead letters, retry."),
    "keys": ("administration", "API keys of a tenant: make, list, revoke."),
    "tenants": ("cells", "Tenants: list, users, quota, erase; and erasure of a user."),
    "cells": ("cells", "Several PostgreSQLs, each with tenants of its own: list, add, weight, drain, remove."),
    "backup": ("backups", "Backups of the embedded database: on, create, list, verify, restore, prune, off."),
    "models": ("models", "Sentence encoders and rerankers: which there are, what one costs, and how to change."),
    "bench": ("bench", "Measure recall quality and speed (needs a checkout of the repository)."),
}


SYNONYMS: dict[str, tuple[str, ...]] = {
    "add": ("remember", "make", "import"),
    "ask": ("recall", "context", "search"),
    "cat": ("get", "show"),
    "chat": ("say", "context"),
    "create": ("remember", "make", "add"),
    "delete": ("forget", "remove", "revoke", "erase"),
    "drop": ("forget", "remove", "delete", "erase"),
    "dump": ("export", "backup"),
    "edit": ("update",),
    "erase": ("forget", "remove", "delete"),
    "find": ("recall", "search"),
    "forget": ("remove", "delete"),
    "get": ("show", "read"),
    "health": ("doctor", "status"),
    "info": ("status", "show"),
    "init": ("demo", "remember", "serve"),
    "load": ("import",),
    "log": ("events", "history"),
    "ls": ("list",),
    "new": ("remember", "make", "add", "create"),
    "prompt": ("context",),
    "put": ("remember", "add"),
    "query": ("recall", "search", "databases"),
    "read": ("get", "show"),
    "remove": ("forget", "delete", "revoke", "erase"),
    "rm": ("forget", "remove", "delete", "revoke", "erase"),
    "run": ("serve", "worker", "run-job"),
    "save": ("remember", "say"),
    "search": ("recall",),
    "server": ("serve",),
    "set": ("remember", "update"),
    "show": ("get", "list", "context"),
    "start": ("serve", "worker"),
    "stats": ("insights", "status"),
    "store": ("remember",),
    "undo": ("restore", "operations"),
    "undelete": ("restore",),
    "up": ("serve",),
    "upgrade": ("migrate",),
    "users": ("tenants",),
    "web": ("ui",),
    "write": ("remember", "say"),
}
"""Commands by words that people try for them; a group suggests those that it has."""


class Group(TyperGroup):
    """A group with `help`, which suggests commands by what a word means, else by how it is spelt."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `help COMMAND` as `COMMAND --help`."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed, or fail with a suggestion."""
        names = self.list_commands(ctx)
        if args[0] not in names and (meant := [name for name in SYNONYMS.get(args[0].lower(), ()) if name in names]):
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
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed, or suggest those with a similar name."""
        if args[0] not in COMMANDS:
            self._list_lines()
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the lines of COMMANDS."""
        self._list_lines()
        super().format_help(ctx, formatter)

    def _list_lines(self) -> None:
        self.commands.update((name, TyperCommand(name, help=line)) for name, (_, line) in COMMANDS.items())
