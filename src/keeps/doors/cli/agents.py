"""Coding agents: where their settings are, and what Keeps writes into them. Pure, except for the paths."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keeps.doors.cli import jsonc, openclaw
from keeps_client.errors import ConflictError, ValidationFailedError

NAME = "keeps"
VERSION = {"version": 1}
"""Version of the files of hooks of Cursor and VS Code."""
_CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
_GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent")
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")
_VSCODE_EVENTS = ("SessionStart", "PreCompact", "Stop")
_OURS = re.compile(r"""(?:^|[/\\\s'"])keeps(?:\.exe)?['"]? hook \w""")
_BEGIN, _END = "# keeps: begin", "# keeps: end"


@dataclass(frozen=True, slots=True)
class Written:
    """The command that agents run. `arguments`: scope options for it."""

    command: str
    arguments: Sequence[str] = ()

    @property
    def server(self) -> dict[str, Any]:
        """Return the MCP entry."""
        return {"command": self.command, "args": ["mcp", *self.arguments]}

    def hook(self, event: str) -> str:
        return shlex.join([self.command, "hook", event, *self.arguments])


Change = Callable[[str, Written | None], str]
"""Returns the text of a settings file with the entries of Keeps, or without them for None."""


@dataclass(frozen=True, slots=True)
class File:
    """A settings file. `user` and `project`: its place below the home and below a project; "" if it has none."""

    user: str
    project: str
    change: Change
    variable: str | None = None
    """Environment variable that names the agent's folder instead."""

    def path(self, home: Path, project: Path | None) -> Path | None:
        if project is not None:
            return project / self.project if self.project else None
        folder = os.environ.get(self.variable) if self.variable else None
        return Path(folder) / Path(self.user).name if folder else home / self.user


def _server(*path: str, **fields: str) -> Change:
    """Return the change of an MCP entry in JSON."""

    def change(text: str, written: Written | None) -> str:
        return _json(text, (*path, NAME), None if written is None else {**fields, **written.server})

    return change


def _hooks(events: Sequence[str], timeout: int) -> Change:
    """Return the change of hooks in JSON, in groups of a matcher and commands."""

    def group(command: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    def change(text: str, written: Written | None) -> str:
        return _with_hooks(text, events, written, group)

    return change


def _plain_hooks(events: Sequence[str], **fields: Any) -> Change:
    """Return the change of hooks in a JSON file of their own, with a version, and without groups."""

    def hook(command: str) -> dict[str, Any]:
        return {**fields, "command": command}

    def change(text: str, written: Written | None) -> str:
        if written is not None and _is_only(text, {}):
            text = jsonc.with_member("{}\n", ("version",), VERSION["version"])
        changed = _with_hooks(text, events, written, hook)
        return "" if changed != text and _is_only(changed, VERSION) else changed

    return change


def _with_hooks(
    text: str, events: Sequence[str], written: Written | None, hook: Callable[[str], dict[str, Any]]
) -> str:
    """Return the text with the hooks of Keeps, or without them for None."""
    commands = {event: written.hook(event) for event in events} if written is not None else {}
    if commands == _our_commands(text):
        return text
    text = _without_hooks(text)
    for event, command in commands.items():
        text = jsonc.with_item(text or "{}\n", ("hooks", event), hook(command))
    return text


def _whole(made: Callable[[str, Sequence[str]], str]) -> Change:
    """Return the change of a file that only Keeps writes."""

    def change(text: str, written: Written | None) -> str:
        if text and openclaw.MADE not in text:
            if written is None:
                return text
            raise ConflictError("exists, and Keeps did not write it; move it away")
        return "" if written is None else made(written.command, written.arguments)

    return change


def _plugin(text: str, written: Written | None) -> str:
    """Change the plugin's entry in OpenClaw's settings, and its place in the list of allowed ones, if there is one."""
    text = _json(text, ("plugins", "entries", NAME), None if written is None else openclaw.ENTRY)
    allowed = jsonc.find(jsonc.parse(text), ("plugins", "allow")) if text else None
    if allowed is None or allowed.items is None:
        return text
    ours = next((item for item in allowed.items if item.value(text) == NAME), None)
    if written is not None and ours is None:
        return jsonc.with_item(text, ("plugins", "allow"), NAME)
    return jsonc.without(text, allowed, ours) if written is None and ours is not None else text


def _is_only(text: str, value: dict[str, Any]) -> bool:
    """Return whether a text is empty, or has this value and no comment."""
    return not text.strip() or ("/" not in text and jsonc.parse(text).value(text) == value)


def _both(*changes: Change) -> Change:
    def change(text: str, written: Written | None) -> str:
        for part in changes:
            text = part(text, written)
        return text

    return change


def _json(text: str, path: Sequence[str], value: Any) -> str:
    if value is not None:
        stored = jsonc.find(jsonc.parse(text or "{}"), path)
        is_same = stored is not None and stored.value(text) == value
        return text if is_same else jsonc.with_member(text or "{}\n", path, value)
    if not text:
        return text
    parent = jsonc.find(jsonc.parse(text), path[:-1])
    child = jsonc.find(parent, path[-1:])
    if parent is None or child is None:
        return text
    text = jsonc.without(text, parent, child)
    return _without_empty(text, path[:-1])


def _our_commands(text: str) -> dict[str, str]:
    """Return the commands of Keeps in hooks, by event."""
    return {event: _commands_in(group.value(text))[0] for event, _, group in _our_groups(text)}


def _without_hooks(text: str) -> str:
    """Return the text without the groups of hooks that only run Keeps."""
    while groups := _our_groups(text):
        event, array, group = groups[0]
        text = _without_empty(jsonc.without(text, array, group), ("hooks", event))
    return text


def _commands_in(group: Any) -> list[str]:
    """Return the commands of a group of hooks, or of a hook without a group."""
    hooks = group.get("hooks", [group]) if isinstance(group, dict) else []
    return [str(hook.get("command")) if isinstance(hook, dict) else "" for hook in hooks]


def _our_groups(text: str) -> list[tuple[str, jsonc.Node, jsonc.Node]]:
    """Return the groups of hooks that only run Keeps: the event, the array and the group."""
    hooks = jsonc.find(jsonc.parse(text), ("hooks",)) if text else None
    groups: list[tuple[str, jsonc.Node, jsonc.Node]] = []
    for event, array in (hooks.members or {}).items() if hooks else ():
        for group in array.items or ():
            commands = _commands_in(group.value(text))
            if commands and all(map(_OURS.search, commands)):
                groups.append((event, array, group))
    return groups


def _without_empty(text: str, path: Sequence[str]) -> str:
    """Return the text without the objects and arrays on a path that have become empty."""
    while path:
        root = jsonc.parse(text)
        parent, child = jsonc.find(root, path[:-1]), jsonc.find(root, path)
        if parent is None or child is None or child.children or "/" in text[child.start : child.end]:
            break
        text, path = jsonc.without(text, parent, child), path[:-1]
    return text


def _without_block(text: str) -> str:
    """Return TOML without the block of Keeps, and without the empty line before it."""
    before, begin, rest = text.partition(f"{_BEGIN}\n")
    _, end, after = rest.partition(f"{_END}\n")
    if not (begin and end):
        return text
    return (before[:-1] if before.endswith("\n\n") else before) + after


def _codex_server(text: str, written: Written | None) -> str:
    """Change the MCP entry in TOML: a block at the end, which TOML allows without touching the rest."""
    rest = _without_block(text)
    try:
        settings = tomllib.loads(rest)
    except tomllib.TOMLDecodeError as error:
        raise ValidationFailedError(f"not valid TOML: {error}") from None
    if written is None:
        return rest
    if NAME in settings.get("mcp_servers", {}):
        raise ConflictError(f"[mcp_servers.{NAME}] exists; remove it, or keep it and use --project elsewhere")
    arguments = ", ".join(json.dumps(argument) for argument in written.server["args"])
    block = f"{_BEGIN}\n[mcp_servers.{NAME}]\ncommand = {json.dumps(written.command)}\nargs = [{arguments}]\n{_END}\n"
    return f"{rest.rstrip(chr(10))}\n\n{block}" if rest.strip() else block


def _code_folder() -> str:
    return "Library/Application Support/Code/User" if sys.platform == "darwin" else ".config/Code/User"


AGENTS: dict[str, tuple[File, ...]] = {
    "claude-code": (
        File(".claude.json", ".mcp.json", _server("mcpServers", type="stdio"), "CLAUDE_CONFIG_DIR"),
        File(".claude/settings.json", ".claude/settings.json", _hooks(_CLAUDE_EVENTS, 5), "CLAUDE_CONFIG_DIR"),
    ),
    "codex": (
        File(".codex/config.toml", ".codex/config.toml", _codex_server, "CODEX_HOME"),
        File(".codex/hooks.json", ".codex/hooks.json", _hooks(_CLAUDE_EVENTS[:-1], 5), "CODEX_HOME"),
    ),
    "cursor": (
        File(".cursor/mcp.json", ".cursor/mcp.json", _server("mcpServers")),
        File(".cursor/hooks.json", ".cursor/hooks.json", _plain_hooks(_CURSOR_EVENTS)),
    ),
    "gemini-cli": (
        File(
            ".gemini/settings.json",
            ".gemini/settings.json",
            _both(_server("mcpServers"), _hooks(_GEMINI_EVENTS, 5_000)),
        ),
    ),
    "openclaw": (
        File(".openclaw/openclaw.json", "", _both(_server("mcp", "servers"), _plugin)),
        *(File(f"{openclaw.FOLDER}/{name}", "", _whole(made)) for name, made in openclaw.FILES.items()),
    ),
    "vscode": (
        File(f"{_code_folder()}/mcp.json", ".vscode/mcp.json", _server("servers", type="stdio")),
        File(
            ".copilot/hooks/keeps.json",
            ".github/hooks/keeps.json",
            _plain_hooks(_VSCODE_EVENTS, type="command", timeout=5),
        ),
    ),
}
