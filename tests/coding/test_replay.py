"""A whole session with Claude Code and with Codex: twelve events each, with a transcript that grows between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from keeps.base.text.credentials import REMOVED
from keeps.doors.cli.background import stop
from keeps.sources.coding.sessions import HEADING
from tests.cli.test_cli import Cli, kept_running
from tests.coding.test_hooks import context, hook, stored
from tests.coding.written import PASSWORD, claude, codex_lines, line, repository

DECIDED = "We decided to store amounts of the ledger as integers of cents."
SECRET = f"The queue runs at amqp://app:{PASSWORD}@queue.example/shop and retries five times."
COMPACTED = "This session is being continued. Summary: nothing."
BROKEN = ["", "{", "[]", "null", '{"prompt": 1, "cwd": [], "transcript_path": {}}', "[" * 50_000, "\x00\xff"]


@dataclass(frozen=True, slots=True)
class Step:
    """An event, its fields, and the lines that the agent writes before it. `expects`: words of the context."""

    event: str
    fields: dict[str, Any]
    lines: Sequence[dict[str, Any]] = ()
    expects: str = ""


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("replayed")
    with kept_running(home):
        cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
        cli("up")
        yield cli
        stop(home)


def claude_steps(session: str, folder: Path, added: Callable[[], str]) -> Iterator[Step]:
    """Claude Code writes the contexts of hooks into its transcript, as reminders in the user's message."""

    def said(number: int, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
        return claude(session, folder, number, kind, content, **fields)

    def tool(number: int, name: str, arguments: dict[str, Any], output: str) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output, "is_error": False}
        return [said(number, "assistant", [call]), said(number + 1, "user", [result])]

    yield Step("SessionStart", {"source": "startup"}, expects="namespace")
    ask = "How do we store amounts of the ledger?"
    yield Step("UserPromptSubmit", {"prompt": ask}, expects="integers of cents")
    reminder = f"<system-reminder>\nUserPromptSubmit hook additional context: {added()}\n</system-reminder>"
    answer = said(4, "assistant", [{"type": "text", "text": "As integers of cents."}])
    files = tool(2, "Read", {"file_path": "/x/.env"}, f"DB_PASSWORD={PASSWORD}")
    yield Step("Stop", {"stop_hook_active": False}, [said(1, "user", f"{ask}\n{reminder}"), *files, answer])
    yield Step("UserPromptSubmit", {"prompt": SECRET})
    run = tool(6, "Bash", {"command": f"curl -u app:{PASSWORD} localhost"}, "noise\n200 OK")
    yield Step("Stop", {"stop_hook_active": False}, [said(5, "user", SECRET), *run])
    yield Step("Stop", {"stop_hook_active": True})
    yield Step("PreCompact", {"trigger": "manual", "custom_instructions": ""})
    compacted = said(8, "user", f"{COMPACTED} {added()}", isCompactSummary=True)
    yield Step("SessionStart", {"source": "compact"}, [compacted], expects="namespace")
    yield Step("UserPromptSubmit", {"prompt": "I live in Leeds."})
    yield Step("Stop", {"stop_hook_active": False}, [said(9, "user", [{"type": "text", "text": "I live in Leeds."}])])
    yield Step("PreCompact", {"trigger": "auto", "custom_instructions": ""})
    yield Step("SessionEnd", {"reason": "prompt_input_exit"}, [said(10, "user", "<command-name>/exit</command-name>")])


def codex_steps(session: str, folder: Path, added: Callable[[], str]) -> Iterator[Step]:
    """Codex writes the contexts of hooks as messages of the developer. It has no event at the end of a session."""
    entry, message = codex_lines()
    start = entry(0, "session_meta", id=session, cwd=str(folder), originator="codex_cli_rs", cli_version="0.140.0")
    turn = {"turn_id": "019d036d-c7fa-72d2-b6fd-78878bfe34e4"}
    end = turn | {"stop_hook_active": False, "last_assistant_message": None}
    yield Step("SessionStart", {"source": "startup"}, [start], expects="namespace")
    ask = "How do we store amounts of the ledger?"
    yield Step("UserPromptSubmit", turn | {"prompt": ask}, expects="integers of cents")
    answers = [message(1, "user", ask), message(2, "developer", added())]
    yield Step("Stop", end, [*answers, message(3, "assistant", "As integers of cents.")])
    yield Step("UserPromptSubmit", turn | {"prompt": SECRET})
    command = json.dumps({"cmd": f"curl -u app:{PASSWORD} localhost"})
    run = [
        entry(5, "response_item", type="function_call", name="exec_command", arguments=command, call_id="call_1"),
        entry(
            6,
            "response_item",
            type="function_call_output",
            call_id="call_1",
            output="Process exited with code 0\nOutput:\nnoise\n200 OK",
        ),
    ]
    yield Step("Stop", end, [message(4, "user", SECRET), *run])
    yield Step("Stop", end | {"stop_hook_active": True})
    yield Step("PreCompact", turn | {"trigger": "manual"})
    yield Step("SessionStart", {"source": "compact"}, [entry(7, "compacted", message=COMPACTED)], expects="namespace")
    yield Step("UserPromptSubmit", turn | {"prompt": "I live in Leeds."})
    yield Step("Stop", end, [message(8, "user", f"I live in Leeds.{added()}")])
    yield Step("PreCompact", turn | {"trigger": "auto"})
    yield Step("Stop", end | {"transcript_path": None})


@pytest.mark.parametrize(("agent", "steps"), [("claude-code", claude_steps), ("codex", codex_steps)])
def test_twelve_events_of_a_session(cli: Cli, tmp_path: Path, agent: str, steps: Any) -> None:
    folder, transcript, earlier = repository(tmp_path / "repo"), tmp_path / "s1.jsonl", tmp_path / "s0.jsonl"
    line(earlier, claude("s0", folder, 1, "user", DECIDED))
    common = {"cwd": str(folder), "permission_mode": "default", "model": "x"}
    before = common | {"session_id": "s0", "transcript_path": str(earlier)}
    assert hook(cli, "Stop", before, "--user", agent).returncode == 0
    stored(cli, agent, 1)

    contexts: list[str] = []
    events: list[str] = []
    for step in steps("s1", folder, lambda: contexts[-1]):
        line(transcript, *step.lines)
        payload = common | {"session_id": "s1", "transcript_path": str(transcript)} | step.fields
        payload["hook_event_name"] = step.event
        if step.expects:
            contexts.append(context(cli, step.event, payload, agent, step.expects))
        else:
            assert hook(cli, step.event, payload, "--user", agent).stderr == ""
        events.append(step.event)
    assert len(events) == 12
    assert set(events) >= {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop"}

    command = f"curl -u app:{REMOVED} localhost"
    name = "Bash" if agent == "claude-code" else "exec_command"
    expected = [
        ("facts", "I live in Leeds."),
        ("project", "As integers of cents."),
        ("project", "How do we store amounts of the ledger?"),
        ("project", "I live in Leeds."),
        ("project", SECRET.replace(PASSWORD, REMOVED)),
        ("project", DECIDED),
        ("project", f"{name} `{command}` succeeded: 200 OK"),
    ]
    items = stored(cli, agent, len(expected))
    assert sorted((item["namespace"].partition("/")[0], item["content"]) for item in items) == sorted(expected)
    written = json.dumps(items)
    for absent in (PASSWORD, HEADING, "keeps:context", COMPACTED):
        assert absent not in written

    later = common | {"session_id": "s2", "transcript_path": None, "prompt": "How often does the queue retry?"}
    answer = context(cli, "UserPromptSubmit", later, agent, "retries five times")
    assert PASSWORD not in answer
    assert "Leeds" in context(cli, "SessionStart", later | {"source": "startup"}, agent, "Leeds")


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"])
def test_broken_payloads_do_not_stop_the_agent(cli: Cli, event: str) -> None:
    for text in BROKEN:
        done = hook(cli, event, text, "--user", "broken")
        assert (done.returncode, done.stderr) == (0, "")
    assert cli.json("list", "--user", "broken")["items"] == []
