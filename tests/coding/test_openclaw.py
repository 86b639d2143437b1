"""The plugin for OpenClaw, run by Node.js with the events that OpenClaw 2026.9 gives to hooks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keeps.base.text.credentials import REMOVED
from keeps.doors.cli.agents import AGENTS, Written
from keeps.doors.cli.background import stop
from keeps.doors.cli.openclaw import FOLDER
from tests.cli.test_cli import Cli, kept_running
from tests.coding.test_hooks import WAIT_SECONDS, stored
from tests.coding.written import PASSWORD

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="needs Node.js")
RUN = """
import plugin from "./index.js";
const handlers = {};
plugin.register({ on: (name, handler) => (handlers[name] = handler) });
const answers = [];
for (const [name, event, ctx] of JSON.parse(process.argv[2])) answers.push((await handlers[name](event, ctx)) ?? null);
console.log(JSON.stringify(answers));
"""
Call = tuple[str, dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("openclaw")
    with kept_running(home):
        cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
        cli("up")
        yield cli
        stop(home)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    command = tmp_path / "keeps"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m keeps.doors.cli.start "$@"\n')
    command.chmod(0o700)
    for file in AGENTS["openclaw"]:
        if FOLDER in file.user:
            (tmp_path / Path(file.user).name).write_text(file.change("", Written(str(command))))
    (tmp_path / "run.mjs").write_text(RUN)
    return tmp_path


def call(cli: Cli, plugin: Path, user: str, *calls: Call) -> list[Any]:
    command = [NODE, str(plugin / "run.mjs"), json.dumps(calls)]
    done = subprocess.run(
        command, cwd=plugin, env=cli.environment | {"KEEPS_USER_ID": user}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def turn(folder: Path, session: str, prompt: str, answer: str, **fields: Any) -> tuple[Call, Call]:
    """The events of a turn. The messages end with what the model was sent, which has the context."""
    context = {"runId": f"run-{session}", "sessionKey": "agent:main:main", "sessionId": session}
    context |= {"workspaceDir": str(folder), "trigger": "user"} | fields
    sent = f"{prompt}\n<!-- keeps:context -->\nold memory\n<!-- /keeps:context -->"
    messages = [
        {"role": "user", "content": [{"type": "text", "text": sent}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": answer}]},
        {"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {}}]},
    ]
    return (
        ("before_prompt_build", {"prompt": sent, "currentUserMessage": prompt, "messages": []}, context),
        ("agent_end", {"runId": context["runId"], "messages": messages, "success": True}, context),
    )


def test_turns_are_stored_and_known_in_the_next_session(cli: Cli, plugin: Path) -> None:
    first = turn(plugin, "s1", f"The heating runs at 21 degrees. token={PASSWORD}", "Noted.")
    call(cli, plugin, "owner", *first)
    call(cli, plugin, "owner", *first)
    items = stored(cli, "owner", 2)
    assert {item["content"] for item in items} == {f"The heating runs at 21 degrees. token={REMOVED}", "Noted."}
    assert {item["metadata"]["agent"] for item in items} == {"openclaw"}
    assert PASSWORD not in json.dumps(items)
    ask, _ = turn(plugin, "s2", "At how many degrees does the heating run?", "")
    deadline = time.monotonic() + WAIT_SECONDS
    while "21 degrees" not in ((answer := call(cli, plugin, "owner", ask)[0]) or {}).get("appendContext", ""):
        assert time.monotonic() < deadline, answer
    assert set(answer) == {"appendContext"}


@pytest.mark.parametrize(
    "fields",
    [
        {"sessionKey": "agent:main:telegram:group:-100"},
        {"sessionKey": None},
        {"trigger": "heartbeat"},
        {"inputProvenance": {"kind": "inter_session"}},
    ],
)
def test_other_conversations_neither_see_nor_fill_the_memory(cli: Cli, plugin: Path, fields: dict[str, Any]) -> None:
    cli("remember", "The heating runs at 21 degrees.", "--user", "private")
    asked, ended = turn(plugin, "s1", "At how many degrees does the heating run?", "At 21.", **fields)
    assert call(cli, plugin, "private", asked, ended) == [None, None]
    own, _ = turn(plugin, "s2", "Is there more?", "")
    call(cli, plugin, "private", own)
    assert len(stored(cli, "private", 1)) == 1


def test_without_the_command_the_agent_goes_on(cli: Cli, plugin: Path) -> None:
    (plugin / "keeps").unlink()
    assert call(cli, plugin, "gone", *turn(plugin, "s1", "Is anybody there?", "Yes.")) == [None, None]
