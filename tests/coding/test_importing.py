"""`keeps import` of transcripts: the same memories as by hooks, and each once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli, kept_running
from tests.coding.test_hooks import hook, stored
from tests.coding.written import PASSWORD, claude, claude_session, codex_session, line, repository


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("transcripts")
    with kept_running(home):
        yield Cli(home)


def test_decisions_of_imported_sessions_are_recalled(cli: Cli, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo")
    claude, codex = tmp_path / "projects" / "-x" / "s1.jsonl", tmp_path / "sessions" / "2026" / "rollout-1.jsonl"
    for file, entries in ((claude, claude_session("s1", folder)), (codex, codex_session("c1", folder))):
        file.parent.mkdir(parents=True)
        line(file, *entries)
    for place, form in ((tmp_path / "projects", "claude-code"), (tmp_path / "sessions", "codex")):
        first = cli.json("import", str(place), "--format", form)
        assert first["statuses"].keys() == {"created"}
        assert cli.json("import", str(place), "--format", form)["statuses"].keys() == {"unchanged"}
    answer = cli.json("recall", "What did we decide about amounts of the ledger?")
    assert "integers of cents" in answer["hits"][0]["memory"]["content"]
    answer = cli.json("recall", "What did we decide about the queue?", "-n", "3")
    assert any("five times with jitter" in hit["memory"]["content"] for hit in answer["hits"])
    items = cli.json("list", "--limit", "100")["items"]
    assert len({item["namespace"] for item in items}) == 1
    assert PASSWORD not in json.dumps(items)


def test_facts_about_the_user_are_learnt(cli: Cli, tmp_path: Path) -> None:
    folder, transcript = repository(tmp_path / "repo"), tmp_path / "s3.jsonl"
    said = ("I live in Leeds.", "Always answer in French.", "Bob is allergic to peanuts.")
    line(transcript, *(claude("s3", folder, number, "user", text) for number, text in enumerate(said, 1)))
    learnt = cli("import", str(transcript), "--format", "claude-code", "--user", "learns").stdout
    assert "3 created · 1 fact learnt" in " ".join(learnt.split())
    assert cli.json("import", str(transcript), "--format", "claude-code", "--user", "learns")["facts"] == 0
    items = cli.json("list", "--namespace", "facts", "--user", "learns")["items"]
    assert [(item["content"], item["valid_from"][:10]) for item in items] == [("I live in Leeds.", "2026-11-03")]


def test_what_hooks_stored_is_not_stored_again(cli: Cli, tmp_path: Path) -> None:
    background = Cli(cli.home, KEEPS_BACKGROUND_SECONDS="100")
    folder, transcript = repository(tmp_path / "repo"), tmp_path / "rollout.jsonl"
    line(transcript, *codex_session("c2", folder))
    payload = {"session_id": "c2", "transcript_path": str(transcript), "cwd": str(folder)}
    try:
        background("up")
        hook(background, "Stop", payload, "--user", "hooked")
        count = len(stored(background, "hooked", 4))
    finally:
        background("down")
    imported = cli.json("import", str(transcript), "--format", "codex", "--user", "hooked")
    assert imported["statuses"] == {"unchanged": count}
