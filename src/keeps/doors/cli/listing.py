"""The first page of the command line: all commands, and the options before them.

It imports nothing, so that help takes no longer than Python. Tests compare it with the commands.
"""

from __future__ import annotations

HELP = "One memory for AI agents: isolated by the database, searchable without an LLM."
OPTIONS = {
    "-V, --version": "Print the version.",
    "--config PATH": "Settings file, in place of keeps.toml. [KEEPS_CONFIG]",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it.",
    "-h, --help": "Show this message and exit.",
}
PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Memory": {
        "demo": (
            "demo",
            "Show what Keeps does with three months of conversations.",
        ),
        "remember": ("memories", "Store one memory."),
        "recall": ("memories", "Search memories."),
        "list": ("memories", "List memories, newest first or in another order."),
        "get": ("memories", "Show one memory completely."),
        "update": ("memories", "Correct or change a memory."),
        "forget": ("memories", "Hide a memory at once. You can restore it for 30 days."),
        "restore": ("memories", "Restore a forgotten memory."),
        "why": ("why", "Show what a memory came from, and what changed it."),
        "why-not": ("why", "Show at which step a question lost a memory."),
        "inbox": ("inbox", "Memories that wait for a decision: list, approve, drop."),
        "history": ("memories", "Show all changes of a memory, oldest first."),
        "spaces": ("spaces", "Spaces: memory that several users or agents share."),
        "share": ("sharing", "Share a memory: store a copy in a space, or for another agent."),
        "unshare": ("sharing", "Forget the copy of a memory that was shared."),
    },
    "Conversations": {
        "say": ("conversations", "Store a message of a conversation."),
        "context": ("conversations", "Print the context for a prompt, within a token budget."),
        "notes": (
            "conversations",
            "Show the notes of a conversation.",
        ),
        "end": ("conversations", "End a conversation."),
        "requests": ("requests", "The log of recalls and contexts: list, show."),
        "insights": (
            "conversations",
            "Show statistics of your memories.",
        ),
        "costs": ("costs", "Show what models cost, and the budgets."),
    },
    "Knowledge and data": {
        "documents": ("documents", "Documents that agents can search and cite."),
        "databases": ("databases", "Databases that agents can query."),
        "sources": ("conversations", "Sources that agents can look up."),
        "graph": ("graph", "The graph: entities, edges and paths."),
        "import": ("importing", "Import chats, memories of other products, notes, or an export."),
        "export": ("importing", "Export a tenant's data, or a user's for other products."),
        "events": ("proof", "The event log: read, verify, export, anchor, replay, retire."),
        "audit": ("conversations", "Check the quality of stored memories."),
        "scan": ("scan", "Find keys, tokens and passwords in a user's memories."),
    },
    "Agents": {
        "mcp": (
            "mcp",
            "Serve memory over the Model Context Protocol (MCP).",
        ),
        "setup": ("setup", "Connect a coding agent to Keeps."),
        "hook": ("hook", "Answer a hook of a coding agent."),
        "providers": ("providers", "Memory providers: list, read, write, rebuild, check."),
        "tools": ("tools", "Tools that agents could call. Keeps does not call them."),
        "call": ("calls", "Run any operation by its name."),
    },
    "Run": {
        "serve": ("serving", "Serve HTTP."),
        "ui": ("serving", "Open the console in a browser."),
        "up": ("up", "Start the background process that makes commands fast."),
        "down": ("up", "Stop the background process."),
        "status": (
            "running",
            "Show what is stored, and the state of the index.",
        ),
        "doctor": (
            "running",
            "Check the installation and explain how to fix problems.",
        ),
        "worker": (
            "jobs",
            "Run background jobs until Ctrl-C.",
        ),
        "migrate": ("running", "Bring the database to the newest schema."),
        "reindex": ("running", "Create missing vectors, for example after changing the model."),
        "models": ("models", "Sentence encoders and rerankers: list, measure, change."),
        "backup": ("backups", "Backups of the embedded database."),
    },
    "Administer": {
        "tenants": ("freezing", "Tenants: list, users, quota, erase, move, freeze."),
        "keys": ("administration", "API keys of a tenant: create, list, revoke."),
        "token": ("serving", "Create a development token, signed with KEEPS_JWT_SECRET."),
        "certificates": ("proof", "Certificates of erasures: verify, key."),
        "webhooks": ("log", "Webhooks: add, list, delete, retry."),
        "secrets": ("databases", "Keys that encrypt the credentials of databases."),
        "jobs": ("jobs", "The worker's queue: status, dead letters, retry."),
        "run-job": ("jobs", "Run a job now, due or not, and print its result."),
        "operations": ("jobs", "Changes by background jobs: list, show, undo."),
        "cells": ("cells", "Several PostgreSQL servers, each with its own tenants."),
    },
}
"""The commands by their place on the first page: the module of each, and what it does."""
COMMANDS = {name: module_and_line for panel in PANELS.values() for name, module_and_line in panel.items()}


def first_page(*, bold: bool = False) -> str:
    """Return the text of `keeps --help`."""
    start, end = ("\033[1m", "\033[0m") if bold else ("", "")
    lines = [f"{start}Usage:{end} keeps [OPTIONS] COMMAND [ARGS]...", "", HELP, "", f"{start}Options{end}"]
    lines += [f"  {name:<20}  {line}" for name, line in OPTIONS.items()]
    for panel, commands in PANELS.items():
        lines += ["", f"{start}{panel}{end}", *(f"  {name:<10}  {line}" for name, (_, line) in commands.items())]
    return "\n".join([*lines, "", "`keeps COMMAND --help` shows the arguments and options of a command."])
