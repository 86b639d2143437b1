"""Turns of transcripts: what is stored of a line, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keeps.base.text.credentials import REMOVED
from keeps.sources.coding.projects import Project
from keeps.sources.coding.transcripts import TranscriptReader, Turn, memory_of
from keeps_client.models import NewMemory
from tests.coding.written import PASSWORD, claude, claude_session, codex_session, texts

FOLDER = Path("/work/ledger")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["type", "message", "content", "uuid", "payload", "role", "text", "id", "name", "input", "output"]
)


def read(entries: list[dict[str, Any]]) -> list[Turn]:
    reader = TranscriptReader()
    return [turn for entry in entries for turn in reader.turns(json.dumps(entry))]


def test_turns_of_claude_code() -> None:
    turns = read(claude_session("s1", FOLDER))
    assert texts(turns) == [
        ("user", "We decided to store amounts of the ledger as integers of cents."),
        ("assistant", "Then I change the column type."),
        ("tool", f"Bash `pytest -q tests/ledger` failed: 2 failed, 7 passed; DB_PASSWORD={REMOVED}"),
        ("tool", "Edit `/x/ledger.py` succeeded"),
        ("user", f"I prefer tabs. The database is postgresql://app:{REMOVED}@db.example/shop"),
    ]
    assert turns[0].at is not None
    assert turns[0].at.isoformat() == "2026-11-03T10:01:00+00:00"
    assert {(turn.session_id, turn.folder, turn.agent) for turn in turns} == {("s1", str(FOLDER), "claude-code")}


def test_turns_of_codex() -> None:
    turns = read(codex_session("c1", FOLDER, "git@github.example:acme/queue.git"))
    assert texts(turns) == [
        ("user", "We decided that the queue retries five times with jitter."),
        (
            "tool",
            f"exec_command `curl -H 'Authorization: Bearer {REMOVED}' localhost` failed: curl: (7) Failed to connect",
        ),
        ("tool", "apply_patch `src/queue.py` succeeded"),
        ("assistant", "The queue now retries five times."),
    ]
    assert {(turn.session_id, turn.remote, turn.agent) for turn in turns} == {
        ("c1", "git@github.example:acme/queue.git", "codex")
    }


def test_keys_are_unique_and_repeat_with_the_transcript() -> None:
    for entries in (claude_session("s1", FOLDER), codex_session("c1", FOLDER)):
        keys = [turn.key for turn in read(entries)]
        assert len(set(keys)) == len(keys)
        assert [turn.key for turn in read(entries)] == keys


def test_no_secret_and_no_tool_output_is_left() -> None:
    turns = read(claude_session("s1", FOLDER)) + read(codex_session("c1", FOLDER))
    everything = "\n".join(turn.text for turn in turns)
    for text in (PASSWORD, "detail detail", "the whole file", "private thoughts", "old memory", "do this"):
        assert text not in everything


def test_long_text_is_shortened_after_secrets_are_removed() -> None:
    text = "x" * 7_990 + f" postgresql://app:{PASSWORD}@db.example/shop " + "y" * 50_000
    (turn,) = read([claude("s1", FOLDER, 1, "user", text)])
    assert len(turn.text) <= 8_000
    assert PASSWORD[:6] not in turn.text


@given(st.dictionaries(NAMES, JSON) | JSON, st.sampled_from(["user", "assistant", "response_item", "session_meta"]))
def test_any_line_is_read(value: object, kind: str) -> None:
    reader, project = TranscriptReader("s"), Project("project/x", "x")
    for entry in (value, {"type": kind, "uuid": "u", "message": value}, {"type": kind, "payload": {"content": value}}):
        for turn in reader.turns(json.dumps(entry)):
            NewMemory.model_validate(memory_of(turn, project))
    assert reader.line == 3
