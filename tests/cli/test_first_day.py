"""What a new user meets on the first day: prompts, files, wrong words."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli, kept_running


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("first-day")
    with kept_running(home):
        yield Cli(home)


def test_context_prints_what_a_prompt_needs(cli: Cli) -> None:
    assert "No memory helps" in cli("context", "hello", "--user", "prompted").stderr
    cli("say", "s", "I'm allergic to peanuts, and please answer in short bullet points.", "--user", "prompted")
    small_talk = cli("context", "hello", "--user", "prompted")
    assert "allergic to peanuts" in small_talk.stdout
    assert "No memory helps" not in small_talk.stdout + small_talk.stderr
    cli("say", "s", "My brother Tom restores clocks in Bergen.", "--user", "prompted")
    both = cli("context", "What does my brother Tom restore?", "--user", "prompted").stdout
    always, _, found = both.partition("# For this question")
    assert "# Always" in always
    assert "allergic to peanuts" in always
    assert "restores clocks" in found
    as_json = cli.json("context", "hello", "--user", "prompted")
    assert as_json["stable"].startswith("<!--")


def test_export_names_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    who = ("--tenant", "exported", "--user", "alice")
    cli("say", "s", "I live in Leeds.", *who)
    file = tmp_path / "all.jsonl"
    assert re.search(r"2 memories, .*1 session", cli("export", str(file), "--tenant", "exported").stderr)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    piped = cli("export", "-", "--tenant", "exported")
    assert piped.stdout == file.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl"]
    file.write_text("precious")
    assert "--force" in cli("export", str(file), "--tenant", "exported", code=1).stderr
    cli("export", str(file), "--tenant", "exported", "--force")
    assert "Leeds" in file.read_text()


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (("--tenant", "exported", "--user", "alice"), 2, "--only-user alice"),
        (("--tenant", "nosuch"), 1, "tenant nosuch has no data to export"),
        (("--tenant", "exported", "--only-user", "nobody"), 1, "user nobody of tenant exported"),
        (("--tenant", "exported", "--user", "nobody", "--format", "markdown"), 1, "user nobody of tenant exported"),
    ],
)
def test_export_of_nothing_writes_no_file(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], code: int, expected: str
) -> None:
    cli("remember", "Something.", "--tenant", "exported", "--user", "alice")
    assert expected in cli("export", str(tmp_path / "out"), *options, code=code).stderr
    assert list(tmp_path.iterdir()) == []


def test_import_counts_lines_that_differ(cli: Cli, tmp_path: Path) -> None:
    who = ("--tenant", "edited", "--user", "alice")
    for text in ("Alice lives in Leeds.", "Alice rows on Sundays."):
        cli("remember", text, *who)
    cli("call", "create_plan", "plan_id=p", "goal_event=trip", *who)
    cli("call", "set_plan_state", "plan_id=p", "key=k", "value=1", *who)
    file = tmp_path / "all.jsonl"
    cli("export", str(file), "--tenant", "edited")
    again = cli("import", str(file), "--tenant", "edited")
    assert "0 stored · 4 unchanged · 0 failed" in again.stdout
    file.write_text(file.read_text().replace("lives in Leeds", "lives in York").replace('"value": 1', '"value": 2'))
    for options in ((), ("--dry-run",)):
        edited = cli("import", str(file), "--tenant", "edited", *options)
        assert "2 unchanged · 2 different" in edited.stdout
        assert "keeps forget ID --hard" in edited.stderr
    (leeds,) = [each for each in cli.json("list", *who)["items"] if "Leeds" in each["content"]]
    cli("forget", leeds["memory_id"], "--hard", *who)
    assert "1 stored" in cli("import", str(file), "--tenant", "edited").stdout
    assert "York" in cli("list", *who).stdout
    assert "omit it" in cli("import", str(file), *who, code=2).stderr


def test_beginning_of_an_id_is_enough(cli: Cli, tmp_path: Path) -> None:
    who = ("--tenant", "ids", "--user", "alice")
    whole = cli.json("remember", "My passport is in the desk.", *who)["memory_id"]
    begins = whole[:13]
    assert "passport" in cli("get", begins, *who).stdout
    assert cli.json("update", begins.upper(), "--tag", "papers", *who)["memory_id"] == whole
    assert cli.json("forget", begins, *who)["status"] == "forgotten"
    assert "memory.deleted" in cli("history", begins, *who).stdout
    assert cli.json("restore", begins, *who)["status"] == "restored"
    assert "give the full id" in cli("forget", "passport", *who, code=2).stderr
    assert "give the full id" in cli("get", whole[:7], *who, code=2).stderr
    assert "none of your memories" in cli("get", "00000000", *who, code=1).stderr
    assert "none of your memories" in cli("get", begins, "--tenant", "ids", "--user", "bob", code=1).stderr
    file = tmp_path / "ids.jsonl"
    cli("export", str(file), "--tenant", "ids")
    other = whole[:-1] + ("1" if whole[-1] == "0" else "0")
    line = re.sub(r'"content_hash": "[^"]*", ', "", file.read_text())
    file.write_text(line.replace(whole, other).replace("passport", "ticket"))
    assert "1 stored" in cli("import", str(file), "--tenant", "ids").stdout
    assert "several ids start with" in cli("forget", whole[:8], *who, code=2).stderr


def test_unknown_user_is_named(cli: Cli) -> None:
    cli("remember", "One.", "--tenant", "peopled", "--user", "alice")
    for words in (("list",), ("recall", "tea")):
        shown = cli(*words, "--tenant", "peopled", "--user", "nobody").stdout
        assert "user nobody of tenant peopled has no memories" in shown
        assert "keeps tenants users" in shown
    assert cli("tenants", "users", "--tenant", "peopled").stdout.splitlines() == ["alice"]
    assert "No users in tenant nosuch" in cli("tenants", "users", "--tenant", "nosuch").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("recall", "   "), "question is empty"),
        (("recall", "?"), "question is empty"),
        (("documents", "search", "?"), "question is empty"),
        (("tools", "search", " "), "question is empty"),
        (("context", " "), "message is empty"),
        (("recall", "tea", "--as-of", "last Tuesday"), "yesterday"),
        (("get", "00000000", "--as-of", "soon"), "yesterday"),
        (("backup", "verify", "--at", "soon"), "yesterday"),
    ],
)
def test_what_is_no_question_or_time_is_refused(cli: Cli, words: tuple[str, ...], expected: str) -> None:
    assert expected in cli(*words, code=2).stderr


@pytest.mark.parametrize("option", ["--since", "--until", "--as-of", "--valid-at"])
def test_times_may_be_relative(cli: Cli, option: str) -> None:
    for time in ("yesterday", "today", "3d", "2w", "2026-11-27", "2026-11-27T09:30:00Z"):
        cli("recall", "tea", option, time)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("recall x --limit 0", "--limit: "),
        ("recall x --kind wrong", "--kind: "),
        ("remember x --ttl-days -1", "--ttl-days: "),
        ("recall x --min-relevance 2", "--min-relevance: "),
        ("context x --section foo", "--section: "),
        ("list --limit 999", "--limit: "),
        ("keys revoke foo", "KEY_ID: "),
        ("forget", "--namespace and --key"),
    ],
)
def test_messages_name_flags(cli: Cli, words: str, expected: str) -> None:
    assert expected in cli(*words.split(), code=2).stderr
