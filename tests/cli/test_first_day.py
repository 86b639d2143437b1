"""What a new user meets on the first day: prompts, files, wrong words."""

from __future__ import annotations

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
    assert "Nothing is known" in cli("context", "hello", "--user", "prompted").stderr
    cli("say", "s", "I'm allergic to peanuts, and please answer in short bullet points.", "--user", "prompted")
    small_talk = cli("context", "hello", "--user", "prompted")
    assert "allergic to peanuts" in small_talk.stdout
    assert "Nothing is known" not in small_talk.stdout + small_talk.stderr
    cli("say", "s", "My brother Tom restores clocks in Bergen.", "--user", "prompted")
    both = cli("context", "What does my brother Tom restore?", "--user", "prompted").stdout
    always, _, found = both.partition("# For this question")
    assert "# Always" in always
    assert "allergic to peanuts" in always
    assert "restores clocks" in found
    as_json = cli.json("context", "hello", "--user", "prompted")
    assert as_json["stable"].startswith("<!--")
