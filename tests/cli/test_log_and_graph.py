"""events, webhooks, graph, providers and conversations, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli, kept_running


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    """A home whose server runs."""
    home = made_home("log")
    with kept_running(home):
        held = Cli(home)
        held.environment["KEEPS_EMBEDDER"] = "none"
        yield held


def test_events_are_listed_verified_and_replayed(cli: Cli) -> None:
    cli("remember", "Alice lives in Leeds.", "--namespace", "p", "--key", "home")
    before = cli.json("events", "list")[-1]["time"]
    cli("remember", "Alice lives in Lisbon.", "--namespace", "p", "--key", "home")
    assert "memory.written" in cli("events", "list").stdout
    assert [event["type"] for event in cli.json("events", "list", "--type", "memory.sup*")] == ["memory.superseded"]
    assert "equal" in cli("events", "verify").stdout
    assert cli.json("events", "verify")["equal"] is True
    assert {row["table"]: row["rows"] for row in cli.json("events", "replay", "--until", before)}["memories"] == 1
    assert "rebuilt in schema again" in cli("events", "replay", "--into", "again").stdout
    assert "exists" in cli("events", "replay", "--into", "again", code=2).stderr
    assert "name the schema" in cli("events", "replay", "--into", "keeps; DROP", code=2).stderr
    assert "0 events" in cli("events", "retire", "--older-than-days", "100").stdout
    assert "No events" in cli("events", "list", "--tenant", "empty").stdout
    (hit,) = cli.json("recall", "where does Alice live", "--as-of", before)["hits"]
    assert hit["memory"]["content"] == "Alice lives in Leeds."
    assert "Nothing was stored" in cli("recall", "where does Alice live", "--as-of", "2020-01-01").stdout


def test_follow_prints_what_happens(cli: Cli) -> None:
    program = [sys.executable, "-c", "from keeps.doors.cli.main import main; main()"]
    cli("remember", "Tea at four.", "--tenant", "followed")
    following = subprocess.Popen(
        [*program, "events", "follow", "--after", "0", "--json", "--tenant", "followed"],
        env=os.environ | cli.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert following.stdout is not None
    cli("remember", "Tea at five.", "--tenant", "another")
    event = json.loads(following.stdout.readline())
    assert (event["sequence"], event["tenantid"]) == (1, "followed")
    following.terminate()
    following.wait(30)
    following.stdout.close()


def test_verification_says_where_rows_differ(cli: Cli) -> None:
    tampering = (
        "import asyncio, asyncpg\nfrom keeps import Keeps\nasync def main():\n    async with Keeps.open() as keeps:\n  "
        '      connection = await asyncpg.connect(keeps.admin_url)\n        await connection.execute("UPDATE'
        " keeps.memories SET importance = 0.1 WHERE tenant_id = 'tampered'\")\n        await"
        " connection.close()\nasyncio.run(main())\n"
    )
    cli("remember", "The code is swordfish.", "--tenant", "tampered")
    subprocess.run([sys.executable, "-c", tampering], env=os.environ | cli.environment, check=True, timeout=100)
    shown = cli("events", "verify", "--tenant", "tampered", code=1).stdout
    assert "different" in shown
    assert "differs, in importance" in shown
    assert "swordfish" not in shown


def test_a_graph_from_the_shell(cli: Cli) -> None:
    assert "No entities" in cli("graph", "list", "--user", "nobody").stdout
    cli("graph", "add", "Alice", "--type", "person", "--alias", "Al", "--properties", '{"born": 1990}')
    cli("graph", "add", "Bob", "--type", "person")
    cli("graph", "add", "Acme", "--type", "org")
    for name in ("Al", "bob"):
        cli("graph", "link", name, "works_at", "acme", "--exclusive")
    assert "Alice ─works_at→ Acme" in cli("graph", "show", "Al").stdout
    pattern = ("--pattern", "person -works_at-> org <-works_at- person")
    assert "Alice ─works_at→ Acme ←works_at─ Bob" in cli("graph", "traverse", "Alice", *pattern).stdout
    assert "Acme" in cli("graph", "traverse", "Alice").stdout
    assert len(cli.json("graph", "path", "Alice", "Bob")["paths"][0]) == 3
    cli("remember", "Yesterday Maria Santos met Bob.")
    assert "new entities" in cli("graph", "read").stdout
    assert "Maria Santos met Bob" in cli("graph", "mentions", "Bob").stdout
    undo = cli("graph", "merge", "Bob", "Maria Santos").stderr
    assert "Maria Santos" in cli("graph", "unmerge", undo.split()[-1]).stdout
    cli("graph", "delete", "Maria Santos")
    assert "no entity is named" in cli("graph", "show", "Maria Santos", code=1).stderr
    assert "JSON object" in cli("graph", "add", "X", "--properties", "[1]", code=2).stderr
    assert "path_pattern" in cli("graph", "traverse", "Alice", "--pattern", "nonsense ->", code=2).stderr


def test_providers_from_the_shell(cli: Cli, tmp_path: Path) -> None:
    names = {each["provider_id"] for each in cli.json("providers", "list")}
    assert {"working", "markdown", "postgres", "vector", "graph"} <= names
    assert "profile" in cli("providers", "append", "My name is Ann. I met Bob in Porto.").stdout
    cli("providers", "put", "markdown", "plan", '{"a": 1}', "--value-json", "--type", "event")
    assert cli.json("providers", "read", "markdown", "plan")["value"] == {"a": 1}
    assert "plan is deleted" in cli("providers", "delete", "markdown", "plan").stdout
    assert "derived" in cli("providers", "put", "vector", "k", "v", code=1).stderr
    assert "no provider" in cli("providers", "read", "nobody", "k", code=1).stderr
    assert "rebuilt" in cli("providers", "rebuild", "vector").stdout
    assert set(cli.json("providers", "check", "working", "markdown")["markdown"].values()) == {"ok"}
    cli("remember", "Ann keeps two hens.")
    cli("export", str(tmp_path / "out"), "--format", "markdown")
    assert "created" in cli("import", str(tmp_path / "out"), "--user", "zoe").stdout


def test_webhooks_from_the_shell(cli: Cli) -> None:
    assert "No webhooks" in cli("webhooks", "list").stdout
    assert "not a public address" in cli("webhooks", "add", "http://127.0.0.1/", code=2).stderr
    assert cli("webhooks", "add", "https://example.com/x", "--type", "memory.*").stdout.startswith("whsec_")
    (held,) = cli.json("webhooks", "list")
    assert "No failures" in cli("webhooks", "failures", held["webhook_id"]).stdout
    assert "is active again" in cli("webhooks", "retry", held["webhook_id"]).stdout
    assert "is removed" in cli("webhooks", "delete", held["webhook_id"]).stdout


def test_a_conversation_from_its_first_message_to_the_prompt_of_the_next(cli: Cli) -> None:
    assert "I live in Leeds." in cli("say", "s1", "I live in Leeds.", "--user", "nora").stdout
    assert "1 message" in cli("notes", "s1", "--user", "nora").stdout
    assert "I live in Leeds." in cli("context", "where does the user live?", "--user", "nora").stdout
    assert cli.json("insights", "--user", "nora")["by_namespace"]["facts"] == 1
    assert "promotion" in cli("run-job", "dreaming", code=2).stderr
