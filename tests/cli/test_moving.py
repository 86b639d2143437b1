"""Moving in and out by the command line, between homes and through a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli
from tests.cli.test_service import Served
from tests.importing import exports

TENANT = ("--tenant", "moving")
WHO = ("--user", "alice")
TEXT = "One\u2028two\u2029three\x85four"


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Cli:
    return Cli(made_home("moving-out"))


@pytest.fixture(scope="module")
def served(made_home: Callable[..., Path]) -> Iterator[Served]:
    service = Served(Cli(made_home("moving-in")))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def _filled(cli: Cli) -> None:
    cli("remember", TEXT, "--namespace", "n", "--key", TEXT, *WHO, *TENANT)
    cli("remember", "Alice is allergic to peanuts.", *WHO, *TENANT)
    cli("graph", "add", "Alice", "--type", "person", *WHO, *TENANT)
    cli("call", "create_plan", "plan_id=p", "goal_event=trip", *WHO, *TENANT)


def _exported(cli: Cli, place: Path, form: str, *options: str) -> bytes:
    who = () if form == "jsonl" else WHO
    cli("export", str(place), "--format", form, *who, *options)
    files = [place] if place.is_file() else sorted(place.rglob("*.md"))
    return b"".join(file.relative_to(place).as_posix().encode() + file.read_bytes() for file in files)


@pytest.mark.usefixtures("_filled")
@pytest.mark.parametrize("form", ["jsonl", "mem0", "okf", "mcp-memory"])
def test_exports_come_back_as_the_same_bytes(
    cli: Cli, made_home: Callable[..., Path], served: Served, tmp_path: Path, form: str
) -> None:
    name = {"jsonl": "out.jsonl", "mem0": "out.json", "okf": "out", "mcp-memory": "memory.jsonl"}[form]
    places = [tmp_path / str(number) / name for number in range(3)]
    for place in places:
        place.parent.mkdir()
    who = () if form == "jsonl" else WHO
    there = TENANT if form == "jsonl" else ("--tenant", f"moving-{form}")
    first = _exported(cli, places[0], form, *TENANT)
    assert TEXT.encode() in first
    empty = Cli(made_home(f"empty-{form}"))
    for place, options in zip(places[1:], (TENANT, ("--url", served.url, *there)), strict=True):
        empty("import", str(places[0]), *who, *options)
        assert _exported(empty, place, form, *options) == first


def test_report_counts_what_was_read(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(exports.CHATGPT))
    who = ("--tenant", "report", "--user", "bob")
    planned = cli.json("import", str(path), "--dry-run", *who)
    assert (planned["read"], planned["stored"], planned["known"], planned["refused"]) == (6, 4, 0, 2)
    first = cli.json("import", str(path), *who)
    assert [place["place"] for place in first["rejected"]] == ["conversations.json[1]", "conversations.json[2]"]
    again = cli.json("import", str(path), *who)
    assert (again["read"], again["stored"], again["known"], again["refused"]) == (6, 0, 4, 2)


def test_unknown_format_lists_the_formats(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"?")
    assert "chatgpt, claude" in cli("import", str(path), code=2).stderr
    assert "chatgpt, claude" in cli("import", str(path), "--format", "nonsense", code=2).stderr
    assert "jsonl, markdown, okf" in cli("export", "out", "--format", "nonsense", code=2).stderr
