"""A plain recall is answered without loading the command, and like the command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keeps.doors.cli import quick
from keeps.doors.cli.background import running, stop
from tests.cli.test_cli import Cli, kept_running

QUICK = "from keeps.doors.cli.quick import recall; done = recall(sys.argv[1:])"
COMMAND = "from keeps.doors.cli.main import main; sys.argv.insert(1, 'recall'); main()"
LOADED = "import sys\nbefore = set(sys.modules)\n{}\nprint(done, *sorted(set(sys.modules) - before), file=sys.stderr)"


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("quick")
    with kept_running(home):
        cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
        for content in ("Bob grows [bold]mangoes[/] in Malmö.", "Bob grows figs, " + "and figs, " * 40 + "since 2020."):
            cli("remember", content, "--tag", "garden")
        yield cli
        stop(home)


def run(cli: Cli, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=cli.environment, capture_output=True, text=True, check=True
    )


def comparable(text: str) -> str:
    """Return output without what depends on the time."""
    return re.sub(
        r"\"(score|took_ms|points|raw|access_count)\": [-\d.e]+|\"last_accessed_at\": [^,\n]+|[\d.]+ ms|-?\d\.\d\d  ",
        "",
        text,
    )


@pytest.mark.parametrize("options", [(), ("-n", "1"), ("--json",), ("--user", "default", "--json")])
def test_output_is_that_of_the_command(cli: Cli, options: tuple[str, ...]) -> None:
    arguments = "What does Bob grow?", *options
    answered = run(cli, f"import sys\n{QUICK}\nassert done", *arguments)
    wanted = run(cli, f"import sys\n{COMMAND}", *arguments)
    assert comparable(answered.stdout) == comparable(wanted.stdout)
    assert comparable(answered.stderr) == comparable(wanted.stderr)
    assert "mangoes" in answered.stdout or "figs" in answered.stdout


def test_no_library_but_rich_is_loaded(cli: Cli) -> None:
    done, *modules = run(cli, LOADED.format(QUICK), "What does Bob grow?").stderr.splitlines()[-1].split()
    assert done == "True"
    loaded = {name.partition(".")[0] for name in modules if not name.startswith("_")}
    assert loaded - sys.stdlib_module_names <= {"keeps", "keeps_client", "rich"}
    assert not loaded & {"asyncio", "subprocess"}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        ("two", "questions"),
        ("tea", "--as-of", "yesterday"),
        ("tea", "--limit=3"),
        ("tea", "-n", "many"),
        ("tea", "-n", "0"),
        ("tea", "-n", "201"),
        ("tea", "-n"),
        ("--help",),
        ("tea", "--user", "Zoë"),
        ("tea", "--user", "a\r\nX-Tenant-ID: other"),
        ("tea", "--home", " "),
    ],
)
def test_other_arguments_are_left_to_the_command(arguments: tuple[str, ...]) -> None:
    assert quick.question_of(arguments) is None


def test_a_server_is_left_to_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quick.question_of(("tea",)) is not None
    monkeypatch.setenv("KEEPS_URL", "http://127.0.0.1:9")
    assert quick.question_of(("tea",)) is None


def test_without_an_answer_nothing_is_printed(cli: Cli) -> None:
    for arguments in (("tea", "--user", "nobody"), ("tea", "--home", "/nowhere/at/all")):
        answered = run(cli, f"import sys\n{QUICK}\nassert not done", *arguments)
        assert (answered.stdout, answered.stderr) == ("", "")
    assert len(running(cli.home)) == 1
