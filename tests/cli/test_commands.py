"""The list of commands, and `keeps call`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from keeps.doors.cli import lazy
from keeps.doors.cli.lazy import SYNONYMS
from keeps.doors.cli.listing import COMMANDS, OPTIONS, first_page
from keeps.doors.cli.main import app
from keeps_client.endpoints import ENDPOINTS
from tests.cli.test_cli import Cli, kept_running


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    """A home whose server runs."""
    home = made_home("calls")
    with kept_running(home):
        yield Cli(home)


def test_each_line_of_help_begins_its_command() -> None:
    group: Any = typer.main.get_command(app)
    for name, (_, line) in COMMANDS.items():
        text = re.sub(r"\s+", " ", group.get_command(None, name).help)
        assert text.startswith(line), name


def test_each_module_of_commands_is_listed() -> None:
    folder = Path(__file__).parents[2] / "src" / "keeps" / "doors" / "cli"
    defining = {path.stem for path in folder.glob("*.py") if "\napp = typer.Typer()" in path.read_text()}
    assert defining == {module for module, _ in COMMANDS.values()}


def test_first_page_lists_the_options() -> None:
    group: Any = typer.main.get_command(app)
    listed = {name for options in OPTIONS for name in re.findall(r"--[\w-]+", options)}
    assert listed == {name for option in group.params for name in option.opts if name.startswith("--")} | {"--help"}
    assert max(map(len, first_page().splitlines())) <= 80


@pytest.mark.parametrize("arguments", ["", "-h", "--help", "help", "-V", "--version", "version"])
def test_help_and_version_load_no_library(arguments: str) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom keeps.doors.cli.start import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments.split()], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "keeps" in loaded
    assert loaded - sys.stdlib_module_names == {"keeps"}
    assert not loaded & {"asyncio", "inspect", "json", "logging"}


def test_a_misspelt_command_is_suggested(cli: Cli) -> None:
    assert "remember" in cli("rembember", "x", code=2).stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("search tea", "'recall'"),
        ("ask tea", "'recall' or 'context'"),
        ("add tea", "'remember'"),
        ("delete 1", "'forget'"),
        ("rm 1", "'forget'"),
        ("ls", "'list'"),
        ("start", "'up' or 'serve'"),
        ("keys new x", "'create'"),
        ("documents rm x", "'delete'"),
        ("webhooks ls", "'list'"),
    ],
)
def test_a_command_is_suggested_by_its_meaning(cli: Cli, words: str, meant: str) -> None:
    shown = " ".join(cli(*words.split(), code=2).stderr.replace("│", "").split())
    assert f"Did you mean {meant}" in shown


def test_synonyms_name_commands() -> None:
    top: Any = typer.main.get_command(app)
    names = {
        name for each in COMMANDS for name in getattr(top.get_command(None, each), "commands", ())
    } | COMMANDS.keys()
    assert [name for meant in SYNONYMS.values() for name in meant if name not in names] == []


@pytest.mark.parametrize(
    "words",
    [
        "-h",
        "help",
        "recall -h",
        "help recall",
        "keys -h",
        "keys help create",
        "keys create -h",
        "keys make -h",
        "sources remove -h",
    ],
)
def test_help_is_found(cli: Cli, words: str) -> None:
    assert "Usage:" in cli(*words.split()).stdout
    if "recall" in words:
        assert "--as-of" in cli(*words.split()).stdout


@pytest.mark.parametrize("words", ["version", "-V", "--version"])
def test_version_is_found(cli: Cli, words: str) -> None:
    assert cli(words).stdout.startswith("keeps ")


def test_an_operation_is_called_by_its_name(cli: Cli) -> None:
    made = cli.json("call", "create_session", "session_id=s1", "name=17", 'metadata={"a": [1]}')
    assert (made["name"], made["metadata"]) == ("17", {"a": [1]})
    assert cli.json("call", "list_sessions", "limit=5")["items"][0]["session_id"] == "s1"
    assert cli.json("call", "remember", 'body={"content": "Tea at four."}')["status"] == "created"
    assert '"session_id": "s1"' in cli("call", "get_session", "session_id=s1").stdout
    assert cli("call", "get_session", "session_id=nobody", code=1).stderr.startswith("not_found")


def test_a_call_says_what_is_missing_or_unknown(cli: Cli) -> None:
    assert "get_plan needs plan_id: keeps call get_plan plan_id=…" in cli("call", "get_plan", code=2).stderr
    assert "takes no 'plan'; it takes plan_id" in cli("call", "get_plan", "plan=1", code=2).stderr
    assert "did you mean get_plan" in cli("call", "get_plam", code=2).stderr
    assert "limit" in cli("call", "list_sessions", "limit=many", code=2).stderr
    assert "is not key=value" in cli("call", "get_plan", "p1", code=2).stderr


def test_operations_and_their_fields_are_listed(cli: Cli) -> None:
    assert {each["name"] for each in cli.json("call")} == {each.name for each in ENDPOINTS}
    fields = {each["name"]: each for each in cli.json("call", "get_plan", "--fields")}
    assert fields["plan_id"]["required"]
    assert "plan_id" in cli("call", "get_plan", "--fields").stdout


def test_benchmarks_are_commands_of_a_checkout_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    group: Any = typer.main.get_command(app)
    assert "bench" not in group.list_commands(None)
    monkeypatch.setattr(lazy, "CHECKOUT", tmp_path)
    assert group.get_command(None, "bench") is None
    monkeypatch.undo()
    assert {"quality", "speed", "recall"} <= set(group.get_command(None, "bench").commands)


def test_an_ended_fact_is_shown_as_no_longer_true(cli: Cli) -> None:
    cli("say", "s", "I work at Acme.")
    shown = cli("say", "s", "I no longer work at Acme. I joined Globex.").stdout
    assert "fact no longer true: “I work at Acme" in shown
    assert "fact created: “I joined Globex" in shown
