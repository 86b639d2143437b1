"""`keeps hook` by way of the background process, without loading the command.

An agent waits for its hooks, so an answer comes within ANSWER_SECONDS or not at all, and a failure is silent. What has
to be stored is handed to the background process, which reads the transcript itself.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.settings import load_settings
from keeps.doors.cli.background import Background, background_of
from keeps_client.errors import KeepsError

ANSWERED = ("SessionStart", "UserPromptSubmit")
STORED = ("PreCompact", "Stop", "SessionEnd")
"""Events after which the transcript is read."""
TOLD = ("AfterAgent", "beforeSubmitPrompt", "afterAgentResponse", "agent_end")
"""Events of Gemini CLI, Cursor and OpenClaw whose input has the messages."""
SAME = {"BeforeAgent": "UserPromptSubmit", "sessionStart": "SessionStart"}
"""Names of events in Gemini CLI and Cursor."""
EVENTS = (*ANSWERED, *STORED, *TOLD, *SAME)
ANSWER_SECONDS, LEAST_SECONDS = 0.28, 0.05
MOST_BYTES, MOST_CHARACTERS, MOST_TOLD = 4 << 20, 10_000, 100_000
PATH = "/hooks/"
DELIVERY = "keeps.doors.cli.hook_delivery"
_FIELDS = ("session_id", "transcript_path", "cwd", "source", "generation_id", "timestamp", "stop_hook_active")
_TEXTS = ("prompt", "prompt_response", "text")
_NAMES = {"sessionId": "session_id", "conversation_id": "session_id"}
"""Names of fields in VS Code and Cursor."""
_ID = re.compile(r"[A-Za-z0-9_.:@/+-]{1,64}")
_OPTIONS = ("--home", "--tenant", "--user", "--agent")


@dataclass(frozen=True, slots=True)
class Hook:
    """A call of a hook. `event`: as the agent calls it."""

    event: str
    home: str | None
    headers: Mapping[str, str]


def run(arguments: Sequence[str]) -> bool:
    """Answer `keeps hook`, from its arguments. Return False if they are for the command, such as `--help`."""
    hook = hook_of(arguments)
    if hook is None:
        return False
    try:
        answer = _answer(hook, sys.stdin.buffer.read(MOST_BYTES))
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except (KeepsError, OSError, ValueError, RecursionError):
        pass  # Memory is an addition: its failure must not stop the agent.
    return True


def hook_of(arguments: Sequence[str]) -> Hook | None:
    """Return the hook in arguments and environment; None if it is not a plain call."""
    event, *rest = arguments or ("",)
    values = dict(zip(rest[::2], rest[1::2], strict=False))
    if event not in EVENTS or len(rest) % 2 or not values.keys() <= set(_OPTIONS):
        return None
    headers = {
        "X-Tenant-ID": values.get("--tenant", os.environ.get("KEEPS_TENANT_ID") or DEFAULT_TENANT_ID),
        "X-User-ID": values.get("--user", os.environ.get("KEEPS_USER_ID") or DEFAULT_USER_ID),
    }
    if agent := values.get("--agent", os.environ.get("KEEPS_AGENT_ID") or ""):
        headers["X-Agent-ID"] = agent
    if not all(map(_ID.fullmatch, headers.values())):
        return None
    return Hook(event, values.get("--home", os.environ.get("KEEPS_HOME") or None), headers)


def background_for(hook: Hook) -> Background | None:
    """Return the background process for a hook; None if the settings allow none."""
    return background_of(load_settings(home=None if hook.home is None else Path(hook.home)))


def send(door: socket.socket, hook: Hook, payload: Mapping[str, Any]) -> None:
    """Send a hook to the background process. `http.client` would take a fifth of the time of the whole hook to load."""
    body = json.dumps(payload).encode()
    fields = {**hook.headers, "Host": "localhost", "Connection": "close", "Content-Length": str(len(body))}
    lines = [
        f"POST {PATH}{SAME.get(hook.event, hook.event)} HTTP/1.1",
        *(f"{name}: {text}" for name, text in fields.items()),
    ]
    door.sendall("\r\n".join([*lines, "", ""]).encode("ascii") + body)


def context_of(door: socket.socket) -> str | None:
    """Return the context of the answer; None if it has none, or is not whole."""
    answer = b""
    while data := door.recv(65_536):
        answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    return json.loads(body).get("context") if head.split(b" ")[1:2] == [b"200"] else None


def _answer(hook: Hook, data: bytes) -> dict[str, Any] | None:
    """Return the output of a hook, from its input; None for no output."""
    values = json.loads(data)
    if not isinstance(values, dict):
        return None
    background = background_for(hook)
    if background is None:
        return None
    payload = _payload(hook.event, values)
    door = background.connect()
    if door is None:
        _deliver(hook, payload)
        return None
    door.settimeout(max(LEAST_SECONDS, ANSWER_SECONDS - _age()))
    with door:
        send(door, hook, payload)
        # The background process stores without this one.
        context = context_of(door) if SAME.get(hook.event, hook.event) in ANSWERED else None
    return _output(hook.event, context) if context else None


def _payload(event: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an event's input that the background process needs, under Claude Code's names."""
    payload = {name: values[name] for name in _FIELDS if isinstance(values.get(name), str | bool)}
    for name, known_as in _NAMES.items():
        if isinstance(values.get(name), str):
            payload.setdefault(known_as, values[name])
    roots = values.get("workspace_roots")
    if isinstance(roots, list) and roots and isinstance(roots[0], str):
        payload.setdefault("cwd", roots[0])
    payload.setdefault("cwd", os.getcwd())  # noqa: PTH109  pathlib's returns the same
    most = MOST_TOLD if event in TOLD else MOST_CHARACTERS
    if SAME.get(event, event) not in STORED:
        payload.update({name: values[name][:most] for name in _TEXTS if isinstance(values.get(name), str)})
    return payload


def _output(event: str, context: str) -> dict[str, Any]:
    """Return the output that gives a context to the model: Cursor has its own form."""
    if event == "sessionStart":
        return {"additional_context": context}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def _deliver(hook: Hook, payload: Mapping[str, Any]) -> None:
    """Let another process start the background process and hand it what there is to store."""
    import subprocess

    process = subprocess.Popen(  # noqa: S603  this interpreter and a module of ours
        [sys.executable, "-m", DELIVERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin as stream:
        stream.write(json.dumps([hook.event, hook.home, dict(hook.headers), payload]).encode())


def _age() -> float:
    """Return the seconds since this process started; on other systems than Linux an estimate."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123  twice as fast
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.1
