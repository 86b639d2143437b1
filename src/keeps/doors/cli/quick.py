"""`keeps recall` by way of a running background process, without loading the command.

Loading the models and the parser of options takes ten times as long as the recall. This sends the same request and
prints the same output for a plain question. The command does the rest: other options, an error, no hit.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.settings import load_settings
from keeps.doors.cli.background import background_of
from keeps_client.errors import KeepsError

SECONDS = 5.0
"""Time limit of a recall. The command, which comes next, waits longer."""
MOST_HITS = 200
ELSEWHERE = ("KEEPS_URL", "KEEPS_TOKEN")
_ID = re.compile(r"[A-Za-z0-9_.:@/+-]{1,64}")
_VALUES = {"-n": "limit", **{f"--{name}": name for name in ("limit", "tenant", "user", "agent", "home")}}
"""Options with a value."""


@dataclass(frozen=True, slots=True)
class Question:
    """A plain `keeps recall`."""

    query: str
    limit: int
    home: str | None
    headers: dict[str, str]
    as_json: bool


def recall(arguments: Sequence[str]) -> bool:
    """Answer `keeps recall`, given its arguments. Return False, with nothing printed, if the command must do it."""
    question = question_of(arguments)
    if question is None or sys.stdout.encoding.lower() != "utf-8":
        return False
    answer = _ask(question)
    if answer is None or not answer["hits"] or answer["partial"]:
        return False
    if question.as_json:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    else:
        _print(answer)
    return True


def question_of(arguments: Sequence[str]) -> Question | None:
    """Return the question in arguments and environment; None if it is not plain."""
    values: dict[str, str] = {}
    words: list[str] = []
    as_json = False
    rest = iter(arguments)
    for word in rest:
        if word in _VALUES:
            values[_VALUES[word]] = next(rest, "")
        elif word == "--json":
            as_json = True
        else:
            words.append(word)
    if len(words) != 1 or not words[0].strip() or words[0].startswith("-") or any(map(os.environ.get, ELSEWHERE)):
        return None
    limit = values.get("limit", "10")
    home = values.get("home", os.environ.get("KEEPS_HOME") or None)
    headers = {
        "X-Tenant-ID": values.get("tenant", os.environ.get("KEEPS_TENANT_ID") or DEFAULT_TENANT_ID),
        "X-User-ID": values.get("user", os.environ.get("KEEPS_USER_ID") or DEFAULT_USER_ID),
    }
    if agent := values.get("agent", os.environ.get("KEEPS_AGENT_ID") or ""):
        headers["X-Agent-ID"] = agent
    is_plain = (
        re.fullmatch("[0-9]{1,3}", limit)
        and 1 <= int(limit) <= MOST_HITS
        and all(map(_ID.fullmatch, headers.values()))
        and (home is None or home.strip())
    )
    return Question(words[0], int(limit), home, headers, as_json) if is_plain else None


def _ask(question: Question) -> dict[str, Any] | None:
    """Return the answer of the background process; None if there is none."""
    try:
        background = background_of(load_settings(home=None if question.home is None else Path(question.home)))
        door = None if background is None else background.connect()
        if door is None:
            return None
        door.settimeout(SECONDS)
        body = json.dumps({"query": question.query, "limit": question.limit}).encode()
        return _answer(door, body, {**question.headers, "Content-Type": "application/json", "Connection": "close"})
    except (KeepsError, OSError, HTTPException, ValueError):
        return None


def _answer(door: socket.socket, body: bytes, headers: dict[str, str]) -> dict[str, Any] | None:
    connection = HTTPConnection("localhost")
    connection.sock = door
    try:
        connection.request("POST", "/v1/recall", body, headers)
        response = connection.getresponse()
        return json.loads(response.read()) if response.status == 200 else None
    finally:
        connection.close()


def _print(answer: dict[str, Any]) -> None:
    from keeps.doors.cli.consoles import err
    from keeps.doors.cli.hits import note_of, print_hits

    result: Any = SimpleNamespace(**{**answer, "hits": [_hit(hit) for hit in answer["hits"]]})
    print_hits(result, "")
    err.print(f"[dim]{note_of(result)}[/]")


def _hit(hit: dict[str, Any]) -> SimpleNamespace:
    memory = {**hit["memory"], "valid_from": datetime.fromisoformat(hit["memory"]["valid_from"])}
    passage = hit["passage"]
    return SimpleNamespace(
        **{
            **hit,
            "memory": SimpleNamespace(**memory),
            "passage": None if passage is None else SimpleNamespace(**passage),
        }
    )
