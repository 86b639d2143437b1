"""`keeps hook`: payloads of coding agents, replayed against a background process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keeps.base.text.credentials import REMOVED
from keeps.doors.cli.background import running, stop
from tests.cli.test_cli import Cli, kept_running
from tests.coding.written import PASSWORD, claude, claude_session, codex_session, line, repository, vscode_session

ENTRY = [sys.executable, "-m", "keeps.doors.cli.start", "hook"]
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("hooks")
    with kept_running(home):
        cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
        cli("up")
        yield cli
        stop(home)


def hook(cli: Cli, event: str, payload: object, *options: str) -> subprocess.CompletedProcess[str]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return subprocess.run(
        [*ENTRY, event, *options], input=text, env=cli.environment, capture_output=True, text=True, check=True
    )


def context(cli: Cli, event: str, payload: object, user: str, containing: str) -> str:
    """Return the context that a hook answers, once it contains a text: a busy machine may miss the time limit."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        output = hook(cli, event, payload, "--user", user).stdout
        if output and containing in output:
            answer = json.loads(output)
            if event == "sessionStart":
                assert set(answer) == {"additional_context"}
                return answer["additional_context"]
            assert set(answer) == {"hookSpecificOutput"}
            assert answer["hookSpecificOutput"]["hookEventName"] == event
            return answer["hookSpecificOutput"]["additionalContext"]
        assert time.monotonic() < deadline, f"no answer with {containing!r}: {output}"


def stored(cli: Cli, user: str, count: int) -> list[dict[str, Any]]:
    """Return the memories of a user, once there are that many."""
    deadline = time.monotonic() + WAIT_SECONDS
    while len(items := cli.json("list", "--user", user, "--limit", "100")["items"]) < count:
        assert time.monotonic() < deadline, f"{len(items)} of {count} stored"
    return items


def claude_payloads(session: str, folder: Path, transcript: Path) -> list[dict[str, Any]]:
    """Twelve events of Claude Code, in the order of a session."""
    common = {
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": str(folder),
        "permission_mode": "default",
    }
    ask = "How do we store amounts?"
    return [
        common | {"hook_event_name": "SessionStart", "source": "startup", "model": "claude-x"},
        common | {"hook_event_name": "UserPromptSubmit", "prompt": ask},
        common | {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "Done."},
        common | {"hook_event_name": "UserPromptSubmit", "prompt": "/compact"},
        common | {"hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": ""},
        common | {"hook_event_name": "SessionStart", "source": "compact"},
        common | {"hook_event_name": "Stop", "stop_hook_active": True},
        common | {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
        common | {"hook_event_name": "SessionStart", "source": "resume"},
        common | {"hook_event_name": "UserPromptSubmit", "prompt": ""},
        common | {"hook_event_name": "SessionStart", "source": "clear"},
        common | {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
    ]


def codex_payloads(session: str, folder: Path, transcript: Path) -> list[dict[str, Any]]:
    """Twelve events of Codex, in the order of a session."""
    common = {
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": str(folder),
        "model": "gpt-x",
        "permission_mode": "default",
    }
    turn = common | {"turn_id": "019d036d-c7fa-72d2-b6fd-78878bfe34e4"}
    stop_event = turn | {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": None}
    return [
        common | {"hook_event_name": "SessionStart", "source": "startup"},
        turn | {"hook_event_name": "UserPromptSubmit", "prompt": "How often does the queue retry?"},
        stop_event,
        turn | {"hook_event_name": "UserPromptSubmit", "prompt": "ü" * 20_000},
        stop_event | {"stop_hook_active": True},
        turn | {"hook_event_name": "PreCompact", "trigger": "auto"},
        common | {"hook_event_name": "SessionStart", "source": "compact"},
        stop_event | {"transcript_path": None},
        common | {"hook_event_name": "SessionStart", "source": "resume"},
        common | {"hook_event_name": "SessionStart", "source": "clear"},
        turn | {"hook_event_name": "PreCompact", "trigger": "manual"},
        stop_event,
    ]


@pytest.mark.parametrize(
    ("user", "write", "payloads", "turns", "ask", "words"),
    [
        ("claude", claude_session, claude_payloads, 5, "How do we store amounts of the ledger?", "integers of cents"),
        ("codex", codex_session, codex_payloads, 4, "How often does the queue retry?", "five times with jitter"),
    ],
)
def test_a_session_is_stored_once_and_known_in_the_next(
    cli: Cli, tmp_path: Path, user: str, write: Any, payloads: Any, turns: int, ask: str, words: str
) -> None:
    folder, transcript = repository(tmp_path / "repo"), tmp_path / "s.jsonl"
    line(transcript, *write("first", folder))
    for payload in payloads("first", folder, transcript):
        done = hook(cli, payload["hook_event_name"], payload, "--user", user)
        assert done.stderr == ""
        assert "systemMessage" not in done.stdout
    items = stored(cli, user, turns)
    messages = [item for item in items if item["namespace"].startswith("project/")]
    assert len(messages) == turns
    assert {item["valid_from"][:10] for item in messages} <= {"2026-11-03", "2026-11-04"}
    assert PASSWORD not in json.dumps(items)
    assert REMOVED in json.dumps(items)
    later = {"session_id": "second", "transcript_path": None, "cwd": str(folder), "prompt": ask}
    answer = context(cli, "UserPromptSubmit", later, user, words)
    assert answer.startswith("<!-- keeps:context -->")
    assert words in context(cli, "SessionStart", later | {"source": "startup"}, user, words)
    own = hook(cli, "UserPromptSubmit", later | {"session_id": "first"}, "--user", user).stdout
    assert words not in own


def gemini_payloads(session: str, folder: Path) -> list[dict[str, Any]]:
    """Events of Gemini CLI, which has the messages in `AfterAgent`."""
    common = {"session_id": session, "transcript_path": str(folder / "session.json"), "cwd": str(folder)}

    def event(name: str, minute: int, **fields: Any) -> dict[str, Any]:
        return common | {"hook_event_name": name, "timestamp": f"2026-11-06T07:{minute:02}:00.000Z"} | fields

    # In a run without a terminal, the context of SessionStart is part of the prompt.
    added = "<hook_context>&lt;!-- keeps:context --&gt;\nold memory\n&lt;!-- /keeps:context --&gt;</hook_context>\n\n"
    prompt = f"{added}We decided to log in UTC. token={PASSWORD}"
    answer = "All times are in UTC now."
    after = event("AfterAgent", 2, prompt=prompt, prompt_response=answer, stop_hook_active=False)
    return [
        event("SessionStart", 0, source="startup"),
        event("BeforeAgent", 1, prompt=prompt),
        after,
        after,
        event("AfterAgent", 3, prompt=prompt, prompt_response="[no response text]", stop_hook_active=True),
    ]


def cursor_payloads(session: str, folder: Path) -> list[dict[str, Any]]:
    """Events of Cursor, which has a hook for each message."""
    common = {"conversation_id": session, "generation_id": "", "model": "x", "cursor_version": "3.7.21"}
    common |= {"workspace_roots": [str(folder)], "user_email": None, "transcript_path": None}
    turn = common | {"generation_id": "019d036d-c7fa-72d2-b6fd-78878bfe34e4"}
    ask = turn | {"hook_event_name": "beforeSubmitPrompt", "attachments": []}
    ask["prompt"] = f"We decided to log in UTC. token={PASSWORD}"
    answer = turn | {"hook_event_name": "afterAgentResponse", "text": "All times are in UTC now."}
    start = {"session_id": session, "is_background_agent": False, "composer_mode": "agent"}
    return [common | start | {"hook_event_name": "sessionStart"}, ask, ask, answer, answer]


def vscode_payloads(session: str, folder: Path) -> list[dict[str, Any]]:
    """Events of VS Code, whose transcript has the messages."""
    transcript = folder.parent / "transcripts" / f"{session}.jsonl"
    transcript.parent.mkdir()
    line(transcript, *vscode_session(session, folder))
    common = {"timestamp": "2026-11-05T08:30:00.000Z", "sessionId": session, "transcript_path": str(transcript)}
    common["cwd"] = str(folder)
    stop_event = common | {"hookEventName": "Stop", "stop_hook_active": False}
    compact = common | {"hookEventName": "PreCompact", "trigger": "auto"}
    return [common | {"hookEventName": "SessionStart", "source": "new"}, compact, stop_event, stop_event]


@pytest.mark.parametrize(
    ("agent", "payloads", "turns", "start"),
    [
        ("gemini-cli", gemini_payloads, 2, "SessionStart"),
        ("cursor", cursor_payloads, 2, "sessionStart"),
        ("vscode", vscode_payloads, 4, "SessionStart"),
    ],
)
def test_sessions_of_other_agents_are_stored_once_and_known_in_the_next(
    cli: Cli, tmp_path: Path, agent: str, payloads: Any, turns: int, start: str
) -> None:
    folder = repository(tmp_path / "repo")
    events = payloads("first", folder)
    for payload in events:
        event = payload.get("hook_event_name") or payload["hookEventName"]
        assert hook(cli, event, payload, "--user", agent).stderr == ""
    items = stored(cli, agent, turns)
    assert len(items) == turns
    assert {item["metadata"]["agent"] for item in items} == {agent}
    assert {item["session_id"] for item in items} == {"first"}
    texts = {item["content"] for item in items}
    assert {f"We decided to log in UTC. token={REMOVED}", "All times are in UTC now."} <= texts
    assert PASSWORD not in json.dumps(items)
    assert "old memory" not in json.dumps(items)
    if agent == "vscode":
        assert {"run_in_terminal `make test` ran: 3 failed", "replace_string_in_file `/x/log.py` succeeded"} <= texts
    if agent != "cursor":
        assert all(item["valid_from"].startswith("2026-11-0") for item in items)
    later = events[0] | ({"session_id": "second"} if agent != "vscode" else {"sessionId": "second"})
    answer = context(cli, start, later, agent, "log in UTC")
    assert "All times are in UTC now." in answer


def test_messages_in_payloads_are_stored_by_a_process_that_is_started(
    made_home: Callable[..., Path], tmp_path: Path
) -> None:
    home = made_home("told")
    cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
    folder = repository(tmp_path / "repo")
    (_, ask, *_) = cursor_payloads("first", folder)
    try:
        assert hook(cli, "beforeSubmitPrompt", ask | {"prompt": "I live in Leeds."}).stdout == ""
        texts = {(item["namespace"].partition("/")[0], item["content"]) for item in stored(cli, "default", 2)}
        assert texts == {("project", "I live in Leeds."), ("facts", "I live in Leeds.")}
    finally:
        stop(home)


def test_memory_of_a_project_stays_in_it_but_facts_about_the_user_do_not(cli: Cli, tmp_path: Path) -> None:
    one, other = repository(tmp_path / "one"), repository(tmp_path / "other")
    transcript = tmp_path / "s.jsonl"
    line(
        transcript,
        claude("p1", one, 1, "user", "We decided to deploy the billing service with Nomad."),
        claude("p1", one, 2, "user", "I live in Leeds."),
    )
    payload = {"session_id": "p1", "transcript_path": str(transcript), "cwd": str(one)}
    hook(cli, "Stop", payload, "--user", "two")
    stored(cli, "two", 3)
    ask = {"session_id": "p2", "cwd": str(one), "prompt": "How do we deploy the billing service?"}
    assert "Nomad" in context(cli, "UserPromptSubmit", ask, "two", "Nomad")
    start = context(cli, "SessionStart", ask | {"cwd": str(other)}, "two", "Leeds")
    assert "Nomad" not in start
    where = ask | {"cwd": str(other), "prompt": "Do I live in Leeds with Nomad?"}
    assert "Nomad" not in context(cli, "UserPromptSubmit", where, "two", "Leeds")


def test_an_agent_adds_to_the_memory_of_its_project(cli: Cli, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo")
    start = context(cli, "SessionStart", {"session_id": "n1", "cwd": str(folder)}, "adds", "namespace")
    (namespace,) = re.findall(r'namespace "(project/\w{16})"', start)
    cli("remember", "The release is built on Fridays.", "--namespace", namespace, "--user", "adds")
    ask = {"session_id": "n2", "cwd": str(folder), "prompt": "When is the release built?"}
    assert "Fridays" in context(cli, "UserPromptSubmit", ask, "adds", "Fridays")


def test_a_growing_transcript_is_read_from_its_last_position(cli: Cli, tmp_path: Path) -> None:
    folder, transcript = repository(tmp_path / "repo"), tmp_path / "s.jsonl"
    payload = {"session_id": "g1", "transcript_path": str(transcript), "cwd": str(folder)}
    line(transcript, claude("g1", folder, 1, "user", "The first question about parsers."))
    with transcript.open("a") as file:
        file.write('{"type": "user", "half')
    hook(cli, "Stop", payload, "--user", "grows")
    (first,) = stored(cli, "grows", 1)
    cli("forget", first["memory_id"], "--user", "grows")
    with transcript.open("a") as file:
        file.write('": 1}\n')
    line(transcript, claude("g1", folder, 2, "user", "The second question about lexers."))
    hook(cli, "Stop", payload, "--user", "grows")
    (second,) = stored(cli, "grows", 1)
    assert "second" in second["content"]


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[1]", '{"cwd": 5, "prompt": ["x"]}', "[" * 100_000, '{"cwd": "/nowhere"}']
)
@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "AfterAgent", "afterAgentResponse"])
def test_a_wrong_payload_is_ignored(cli: Cli, event: str, text: str) -> None:
    done = hook(cli, event, text, "--user", "wrong")
    assert (done.stdout, done.stderr) == ("", "")


def test_an_unknown_event_does_not_stop_the_agent(cli: Cli) -> None:
    assert "unknown event" in hook(cli, "PostToolUse", "{}").stderr


def test_without_background_process_one_is_started(made_home: Callable[..., Path], tmp_path: Path) -> None:
    home = made_home("started")
    cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
    folder, transcript = repository(tmp_path / "repo"), tmp_path / "s.jsonl"
    line(transcript, claude("d1", folder, 1, "user", "The parser is written by hand."))
    payload = {"session_id": "d1", "transcript_path": str(transcript), "cwd": str(folder)}
    try:
        assert hook(cli, "SessionEnd", payload).stdout == ""
        (item,) = stored(cli, "default", 1)
        assert item["content"] == "The parser is written by hand."
    finally:
        assert running(home)
        stop(home)


def test_nothing_heavy_is_loaded(cli: Cli) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom keeps.doors.cli.hook_client import run\nassert run(sys.argv[1:])\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    payload = json.dumps({"session_id": "x", "cwd": "/nowhere", "prompt": "What is there?"})
    done = subprocess.run(
        [sys.executable, "-c", code, "UserPromptSubmit"],
        input=payload,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split() if not name.startswith("_")}
    assert loaded - sys.stdlib_module_names <= {"keeps", "keeps_client"}
    assert not loaded & {"asyncio", "subprocess"}
