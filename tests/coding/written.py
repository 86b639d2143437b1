"""Transcripts and hook payloads in the shapes that the agents document and write."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

PASSWORD = "Tr0ub4dor" + "andthree3"
"""A made-up password, which no memory may contain."""


def line(path: Path, *entries: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


def claude(session: str, folder: Path, number: int, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """A line of Claude Code's transcript."""
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-x", "stop_reason": None}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": str(folder),
        "sessionId": session,
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": str(uuid5(NAMESPACE_URL, f"{session}/{number}")),
        "timestamp": f"2026-11-03T10:{number:02}:00.000Z",
        **fields,
    }


def claude_session(session: str, folder: Path) -> list[dict[str, Any]]:
    """A session: two prompts, a command that fails, an edit, and lines that are no turns."""
    return [
        {"type": "summary", "summary": "Ledger", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        claude(session, folder, 1, "user", "We decided to store amounts of the ledger as integers of cents."),
        claude(session, folder, 2, "user", "<local-command-stdout>noise</local-command-stdout>", isMeta=True),
        claude(
            session,
            folder,
            3,
            "assistant",
            [
                {"type": "thinking", "thinking": "private thoughts", "signature": "x"},
                {"type": "text", "text": "Then I change the column type."},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest -q tests/ledger"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": {"file_path": "/x/ledger.py"}},
                {"type": "tool_use", "id": "toolu_3", "name": "Read", "input": {"file_path": "/x/.env"}},
            ],
        ),
        claude(
            session,
            folder,
            4,
            "user",
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "is_error": True,
                    "content": f"collected 9 items\n{'detail ' * 500}\n2 failed, 7 passed; DB_PASSWORD={PASSWORD}",
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "The file"}]},
                {"type": "tool_result", "tool_use_id": "toolu_3", "content": "the whole file"},
            ],
            toolUseResult={"stdout": "x"},
        ),
        claude(
            session,
            folder,
            5,
            "user",
            f"I prefer tabs. The database is postgresql://app:{PASSWORD}@db.example/shop"
            "<!-- keeps:context -->\nold memory\n<!-- /keeps:context -->"
            "<system-reminder>do this</system-reminder>",
        ),
        claude(session, folder, 6, "assistant", [{"type": "text", "text": "Subagent"}], isSidechain=True),
    ]


def codex_lines() -> tuple[Callable[..., dict[str, Any]], Callable[[int, str, str], dict[str, Any]]]:
    """Return functions that make a line of Codex's rollout, and one with a message."""

    def entry(number: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-11-04T09:{number:02}:00.000Z", "type": kind, "payload": payload}

    def message(number: int, role: str, text: str) -> dict[str, Any]:
        form = "output_text" if role == "assistant" else "input_text"
        return entry(number, "response_item", type="message", role=role, content=[{"type": form, "text": text}])

    return entry, message


def codex_session(session: str, folder: Path, remote: str | None = None) -> list[dict[str, Any]]:
    """A rollout of Codex with a prompt, an answer, a command and an edit."""
    entry, message = codex_lines()
    patch = "*** Begin Patch\n*** Update File: src/queue.py\n@@\n-a\n+b\n*** End Patch"
    return [
        entry(
            0,
            "session_meta",
            id=session,
            cwd=str(folder),
            originator="codex_cli_rs",
            cli_version="0.140.0",
            git={"commit_hash": "0" * 40, "branch": "main", "repository_url": remote},
        ),
        message(1, "developer", "<permissions instructions>sandbox</permissions instructions>"),
        message(2, "user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>rules</INSTRUCTIONS>"),
        message(3, "user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
        entry(4, "turn_context", cwd=str(folder), model="gpt-x"),
        message(5, "user", "We decided that the queue retries five times with jitter."),
        entry(5, "event_msg", type="user_message", message="We decided that the queue retries five times with jitter."),
        entry(6, "response_item", type="reasoning", summary=[], encrypted_content="x"),
        entry(
            7,
            "response_item",
            type="function_call",
            name="exec_command",
            arguments=json.dumps({"cmd": f"curl -H 'Authorization: Bearer {PASSWORD}' localhost"}),
            call_id="call_1",
        ),
        entry(
            8,
            "response_item",
            type="function_call_output",
            call_id="call_1",
            output="Chunk ID: 1\nProcess exited with code 7\nOutput:\ncurl: (7) Failed to connect",
        ),
        entry(9, "response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id="call_2"),
        entry(
            10,
            "response_item",
            type="custom_tool_call_output",
            call_id="call_2",
            output=json.dumps({"output": "Success. Updated", "metadata": {"exit_code": 0}}),
        ),
        message(11, "assistant", "The queue now retries five times."),
    ]


def vscode_session(session: str, folder: Path) -> list[dict[str, Any]]:
    """A transcript of VS Code's agent with a prompt, a command, an edit and an answer."""
    entries: list[dict[str, Any]] = []

    def entry(kind: str, **data: Any) -> None:
        identity = str(uuid5(NAMESPACE_URL, f"{session}/{len(entries)}"))
        parent = entries[-1]["id"] if entries else None
        moment = f"2026-11-05T08:{len(entries):02}:00.000Z"
        entries.append({"type": kind, "data": data, "id": identity, "timestamp": moment, "parentId": parent})

    start = {"sessionId": session, "version": 1, "producer": "copilot-agent", "vscodeVersion": "1.128.0"}
    entry("session.start", **start, startTime="2026-11-05T08:00:00.000Z", context={"cwd": str(folder)})
    entry("user.message", content=f"We decided to log in UTC. token={PASSWORD}", attachments=[])
    entry("assistant.turn_start", turnId="0.0")
    entry("assistant.message", messageId="m1", content="", toolRequests=[], reasoningText="private thoughts")
    entry("tool.execution_start", toolCallId="c1", toolName="run_in_terminal", arguments={"command": "make test"})
    entry("tool.execution_complete", toolCallId="c1", success=True, result={"content": "noise\n3 failed"})
    edited = {"filePath": "/x/log.py", "oldString": "a", "newString": "b"}
    entry("tool.execution_start", toolCallId="c2", toolName="replace_string_in_file", arguments=edited)
    entry("tool.execution_complete", toolCallId="c2", success=True, result={"content": "edited"})
    entry("tool.execution_start", toolCallId="c3", toolName="read_file", arguments={"filePath": "/x/.env"})
    entry("tool.execution_complete", toolCallId="c3", success=True, result={"content": "the whole file"})
    entry("assistant.message", messageId="m2", content="All times are in UTC now.", toolRequests=[])
    entry("assistant.turn_end", turnId="0.0")
    return entries


def repository(folder: Path, *, commit: bool = True) -> Path:
    """Make a git repository."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Begin {folder}")
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def texts(turns: Iterable[Any]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]
