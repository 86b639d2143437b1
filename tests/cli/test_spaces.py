"""Spaces on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli, kept_running

WINE = "The wine lies in the third row."


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    """A home whose server runs, with a space of Alice's that has a memory."""
    home = made_home("spaces")
    with kept_running(home):
        cli = Cli(home, KEEPS_USER_ID="alice")
        cli("spaces", "create", "cellar", "--title", "Wines")
        cli("spaces", "add-member", "cellar", "rita", "--role", "reader")
        cli("remember", WINE, "--space", "cellar")
        yield cli


def test_empty_states_and_errors_say_the_next_step(cli: Cli) -> None:
    nothing = cli("spaces", "list", "--user", "zoe").stdout
    assert "User zoe is a member of no space." in nothing
    assert "keeps spaces create NAME" in nothing
    missing = cli("list", "--space", "attic", code=1).stderr
    assert "no space 'attic' that you are a member of" in missing
    assert "`keeps spaces list`" in missing
    cli("spaces", "create", "empty")
    assert 'keeps remember "Alice is allergic to peanuts." --space empty' in cli("list", "--space", "empty").stdout


def test_members_work_in_a_space(cli: Cli) -> None:
    assert WINE in cli("recall", "wine row").stdout
    assert WINE in cli("recall", "wine row", "--spaces", "cellar", "--user", "rita").stdout
    assert WINE not in cli("recall", "wine row", "--spaces", "").stdout
    assert WINE not in cli("recall", "wine row", "--user", "zoe").stdout
    assert WINE in cli("list", "--space", "cellar").stdout
    assert WINE not in cli("list").stdout
    assert WINE in cli("context", "Where does the wine lie?", "--space", "cellar").stdout
    cli("say", "talk", "The port lies below.", "--space", "cellar")
    assert cli.json("notes", "talk", "--space", "cellar")["message_count"] == 1
    assert cli.json("notes", "talk") is None
    assert "only read" in cli("remember", "Rita was here.", "--space", "cellar", "--user", "rita", code=1).stderr


def test_a_space_is_managed(cli: Cli) -> None:
    assert "title of cellar is “Wine”" in cli("spaces", "rename", "cellar", "Wine").stdout
    assert "agent cook is a writer" in cli("spaces", "add-member", "cellar", "cook", "--agent-member").stdout
    shown = cli("spaces", "show", "cellar").stdout
    assert all(name in shown for name in ("Wine", "alice", "curator", "rita", "reader", "cook", "agent"))
    cli("spaces", "remove-member", "cellar", "cook", "--agent-member")
    assert "cook" not in cli("spaces", "show", "cellar").stdout
    assert "keeps spaces unarchive cellar" in cli("spaces", "archive", "cellar").stderr
    assert "archived" in cli("remember", "More.", "--space", "cellar", code=1).stderr
    cli("spaces", "unarchive", "cellar")
    (listed,) = [space for space in cli.json("spaces", "list") if space["space_id"] == "cellar"]
    assert (listed["title"], listed["members"], listed["role"]) == ("Wine", 2, "curator")
    assert "cellar" in cli("spaces", "list", "--all", "--user", "zoe").stdout


def test_a_space_is_exported(cli: Cli, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in cli("spaces", "export", "cellar").stdout.splitlines()]
    assert {line["type"] for line in lines} >= {"memory", "space", "space_member"}
    assert {line["row"]["user_id"] for line in lines} == {"(space) cellar"}
    file = tmp_path / "cellar.jsonl"
    cli("spaces", "export", "cellar", str(file))
    assert "already exists" in cli("spaces", "export", "cellar", str(file), code=1).stderr
    assert cli.json("import", str(file))["failed"] == 0
    assert "keeps spaces export cellar" in cli("export", "--space", "cellar", code=2).stderr


def test_erasing_a_space_asks_first(cli: Cli) -> None:
    cli("spaces", "create", "attic")
    cli("remember", "A trunk stands in the attic.", "--space", "attic")
    assert "Erase the space attic" in cli("spaces", "erase", "attic", code=1).stdout
    assert "attic" in cli("spaces", "list").stdout
    erased = cli("spaces", "erase", "attic", "--yes").stdout
    assert "erased: space attic" in erased
    assert "nothing is left" in erased
    assert "attic" not in cli("spaces", "list").stdout
    assert cli.json("events", "verify")["equal"]
