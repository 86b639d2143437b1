"""Turns of the transcripts that Claude Code, Codex and VS Code write. Pure.

A transcript has one JSON object a line and only grows. Lines of Codex have a `payload`, those of VS Code `data`, those
of Claude Code a `uuid`.
Of tools only a short outcome stays. Text that the agent or Keeps added to a message, and secrets, are removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from keeps.base.text.credentials import without_credentials
from keeps.sources.coding.projects import Project

Agent = Literal["claude-code", "codex", "cursor", "gemini-cli", "openclaw", "vscode"]
MOST_CHARACTERS, MOST_READ = 8_000, 100_000
"""Characters of a turn that are stored, and that are searched for secrets before the rest is left out."""
OUTCOME_CHARACTERS, COMMAND_CHARACTERS = 200, 160
MOST_TOOLS = 500
"""Number of last tool calls whose result is recognised."""
_COMMANDS = frozenset("bash shell shell_command local_shell exec_command container.exec run_in_terminal".split())
_EDITS = frozenset(
    "edit write multiedit notebookedit apply_patch create_file replace_string_in_file insert_edit_into_file"
    " edit_notebook_file".split()
)
_ADDED = re.compile(
    r"<!-- keeps:context|<(?:system-reminder|environment_context|user_instructions|permissions instructions"
    r"|turn_aborted|local-command-stdout|local-command-caveat|command-name|command-message|command-args|ide_opened_file"
    r"|ide_selection|INSTRUCTIONS|hook_context)>"
)
_INSTRUCTIONS = "# AGENTS.md instructions"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, or the outcome of a tool. `key`: stable, of the transcript's own ids; `remote`: of the repository."""

    key: str
    role: Literal["user", "assistant", "tool"]
    text: str
    at: datetime | None
    session_id: str
    folder: str
    agent: Agent
    tool: str | None = None
    remote: str | None = None


@dataclass(slots=True)
class TranscriptReader:
    """Reads lines in order. `line`: number of lines before the next; the other fields follow from earlier lines."""

    session_id: str = ""
    folder: str = ""
    line: int = 0
    remote: str | None = None
    _tools: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def turns(self, line: str) -> list[Turn]:
        """Return the turns of a line. A line that is not JSON, or has no message, has none."""
        self.line += 1
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return []
        if not isinstance(entry, dict):
            return []
        entry = cast("dict[str, Any]", entry)
        if isinstance(entry.get("payload"), dict):
            parts = self._codex(entry)
        else:
            parts = self._vscode(entry) if isinstance(entry.get("data"), dict) else self._claude(entry)
        return [turn for turn in parts if turn.text]

    def _claude(self, entry: Mapping[str, Any]) -> Iterator[Turn]:
        message, uuid = entry.get("message"), entry.get("uuid")
        self.folder = string_of(entry.get("cwd")) or self.folder
        self.session_id = string_of(entry.get("sessionId")) or self.session_id
        hidden = any(entry.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage"))
        if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict) or not uuid or hidden:
            return
        content = cast("dict[str, Any]", message).get("content")
        at = time_of(entry.get("timestamp"))
        parts = cast("list[Any]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
        blocks = [cast("dict[str, Any]", part) for part in parts if isinstance(part, dict)]
        text = "\n\n".join(string_of(block.get("text")) for block in blocks if block.get("type") == "text")
        yield self._turn(str(uuid), entry["type"], text, at, "claude-code")
        for block in blocks:
            if block.get("type") == "tool_use":
                self._call(string_of(block.get("id")), string_of(block.get("name")), block.get("input"))
            elif block.get("type") == "tool_result":
                call, failed = string_of(block.get("tool_use_id")), bool(block.get("is_error"))
                yield from self._outcome(f"{uuid}/{call}", call, _text(block.get("content")), failed, at, "claude-code")

    def _codex(self, entry: Mapping[str, Any]) -> Iterator[Turn]:
        payload: dict[str, Any] = entry["payload"]
        kind, form, at = entry.get("type"), payload.get("type"), time_of(entry.get("timestamp"))
        if kind in ("session_meta", "turn_context"):
            self.folder = string_of(payload.get("cwd")) or self.folder
        if kind == "session_meta":
            self.session_id = self.session_id or string_of(payload.get("id"))  # A fork repeats that of its parent.
            git = payload.get("git")
            self.remote = (string_of(git.get("repository_url")) or None) if isinstance(git, dict) else None
        if kind != "response_item":
            return
        key = f"{self.session_id}/{self.line}"
        if form == "message" and payload.get("role") in ("user", "assistant"):
            text = _text(payload.get("content"))
            if not text.lstrip().startswith(_INSTRUCTIONS):
                yield self._turn(key, payload["role"], text, at, "codex")
        elif form in ("function_call", "custom_tool_call", "local_shell_call"):
            arguments = payload.get("arguments") or payload.get("input") or payload.get("action")
            self._call(string_of(payload.get("call_id")), string_of(payload.get("name")) or "shell", _parsed(arguments))
        elif form in ("function_call_output", "custom_tool_call_output"):
            output = _parsed(payload.get("output"))
            failed, text = _codex_result(output)
            yield from self._outcome(key, string_of(payload.get("call_id")), text, failed, at, "codex")

    def _vscode(self, entry: Mapping[str, Any]) -> Iterator[Turn]:
        data: dict[str, Any] = entry["data"]
        kind, key, at = entry.get("type"), entry.get("id"), time_of(entry.get("timestamp"))
        if kind == "session.start":
            self.session_id = string_of(data.get("sessionId")) or self.session_id
            context = data.get("context")
            self.folder = (string_of(context.get("cwd")) if isinstance(context, dict) else "") or self.folder
        elif kind in ("user.message", "assistant.message") and isinstance(key, str):
            role = "user" if kind == "user.message" else "assistant"
            yield self._turn(key, role, string_of(data.get("content")), at, "vscode")
        elif kind == "tool.execution_start":
            self._call(string_of(data.get("toolCallId")), string_of(data.get("toolName")), data.get("arguments"))
        elif kind == "tool.execution_complete" and isinstance(key, str):
            result = data.get("result")
            output = string_of(result.get("content")) if isinstance(result, dict) else ""
            # A command that exits with an error is a successful call of the tool.
            failed = True if data.get("success") is False else None
            yield from self._outcome(key, string_of(data.get("toolCallId")), output, failed, at, "vscode")

    def _call(self, call: str, name: str, arguments: object) -> None:
        """Remember what a tool was called with."""
        if len(self._tools) >= MOST_TOOLS:
            self._tools.pop(next(iter(self._tools)))
        self._tools[call] = name, _called_with(name, arguments)

    def _outcome(
        self, key: str, call: str, output: str, failed: bool | None, at: datetime | None, agent: Agent
    ) -> Iterator[Turn]:
        """Yield the outcome of a command or an edit; other tools only read. `failed`: None if it is not known."""
        name, argument = self._tools.pop(call, ("", ""))
        kind = name.lower()
        if kind not in _COMMANDS | _EDITS:
            return
        last = next((line.strip() for line in reversed(output[-4_000:].splitlines()) if line.strip()), "")
        detail = f": {shortened(without_credentials(last), OUTCOME_CHARACTERS)}" if last and kind in _COMMANDS else ""
        state = "failed" if failed else "ran" if failed is None and kind in _COMMANDS else "succeeded"
        text = f"{name} `{argument}` {state}{detail}"
        yield Turn(key, "tool", text, at, self.session_id, self.folder, agent, name, self.remote)

    def _turn(self, key: str, role: Literal["user", "assistant"], text: str, at: datetime | None, agent: Agent) -> Turn:
        return Turn(key, role, turn_text(text), at, self.session_id, self.folder, agent, remote=self.remote)


def turn_text(text: str) -> str:
    """Return a message as it is stored: without secrets and added text, and not longer than MOST_CHARACTERS."""
    return shortened(without_credentials(_own(text[:MOST_READ])).strip(), MOST_CHARACTERS)


def memory_of(turn: Turn, project: Project) -> dict[str, Any]:
    """Return the memory of a turn, as the arguments of `remember`."""
    memory: dict[str, Any] = {
        "content": turn.text,
        "kind": "episodic",
        "content_type": "tool_result" if turn.role == "tool" else "message",
        "namespace": project.namespace,
        "key": turn.key[:255],
        "role": turn.role,
        "source": f"tool:{turn.tool}"[:255] if turn.tool else turn.agent,
        "metadata": {"project": project.name, "agent": turn.agent},
    }
    if turn.session_id:
        memory["session_id"] = turn.session_id[:255]
    if turn.at is not None:
        memory["valid_from"] = turn.at
    if turn.role == "tool":
        memory["importance"] = 0.2
    return memory


def _own(text: str) -> str:
    """Return a message without what the agent or Keeps added to it. An unclosed mark stays."""
    parts: list[str] = []
    begin = place = 0
    unclosed: set[str] = set()
    while (match := _ADDED.search(text, place)) is not None:
        opening, place = match[0], match.end()
        closing = "<!-- /keeps:context -->" if opening.startswith("<!") else f"</{opening[1:]}"
        end = -1 if closing in unclosed else text.find(closing, place)
        if end < 0:
            unclosed.add(closing)
            continue
        parts.append(text[begin : match.start()])
        begin = place = end + len(closing)
    return "".join((*parts, text[begin:]))


def _called_with(name: str, arguments: object) -> str:
    if not isinstance(arguments, dict):
        text = string_of(arguments)
        files = re.findall(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,200})$", text[:MOST_READ], re.MULTILINE)
        return shortened(without_credentials(", ".join(files) if files else text), COMMAND_CHARACTERS)
    values = cast("dict[str, Any]", arguments)
    names = (
        ("command", "cmd", "script")
        if name.lower() in _COMMANDS
        else ("file_path", "filePath", "notebook_path", "path", "input")
    )
    value = next((values[key] for key in names if values.get(key)), "")
    if isinstance(value, list):
        value = " ".join(map(str, cast("list[Any]", value)))
    if name == "apply_patch":
        return _called_with(name, value)
    return shortened(without_credentials(string_of(value)[:MOST_READ]), COMMAND_CHARACTERS)


def _codex_result(output: object) -> tuple[bool, str]:
    """Return whether a tool of Codex failed, and its output."""
    if not isinstance(output, dict):
        text = _text(output)
        code = re.search(r"^(?:Process exited with code|Exit code:) (\d+)", text[:500], re.MULTILINE)
        return code is not None and code[1] != "0", text
    result = cast("dict[str, Any]", output)
    metadata = result.get("metadata")
    code: object = cast("dict[str, Any]", metadata).get("exit_code") if isinstance(metadata, dict) else None
    return bool(code) or result.get("success") is False, _text(result.get("output") or result.get("content"))


def _parsed(value: object) -> object:
    if isinstance(value, str) and value[:1] == "{":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _text(content: object) -> str:
    """Return the text of content: a string, or a list of parts with text."""
    if isinstance(content, list):
        parts = (
            cast("dict[str, Any]", part).get("text") for part in cast("list[Any]", content) if isinstance(part, dict)
        )
        return "\n\n".join(part for part in map(string_of, parts) if part)
    return string_of(content)


def string_of(value: object) -> str:
    """Return a text as PostgreSQL can store it; "" for another value."""
    return value.replace("\0", "").encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def time_of(value: object) -> datetime | None:
    """Return a time with its zone; None for another value."""
    try:
        moment = datetime.fromisoformat(string_of(value))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def shortened(text: str, most: int) -> str:
    """Return the text, cut at a number of characters."""
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"
