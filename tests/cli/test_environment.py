"""Commands with a misspelt home, an unknown variable, or a server in the environment."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keeps.store.db.embedded import EmbeddedPostgres
from tests.cli.test_cli import Cli, kept_running


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("environment")
    with kept_running(home):
        yield Cli(home)


READING = "recall tea,list,export,insights,jobs status,cells list,doctor,events list,keys list"


@pytest.mark.parametrize("words", READING.split(","))
def test_misspelt_home_is_no_new_database(cli: Cli, tmp_path: Path, words: str) -> None:
    wrong = tmp_path / "hoem"
    assert "no Keeps home at" in cli(*words.split(), "--home", str(wrong), code=1).stderr
    assert "no Keeps home at" in cli(*words.split(), code=1, KEEPS_HOME=str(wrong)).stderr
    assert not wrong.exists()


def test_home_is_taken_for_a_typo_of_the_one_beside_it(cli: Cli) -> None:
    wrong = cli.home.with_name(cli.home.name[:-1])
    shown = cli("list", "--home", str(wrong), code=1).stderr
    assert f"no Keeps home at {wrong}: did you mean {cli.home}?" in shown
    assert "`keeps remember`" in shown
    assert not wrong.exists()


def test_first_memory_says_that_a_database_is_made(cli: Cli, new_home: Callable[..., Path]) -> None:
    new = new_home("first")
    assert f"creating a new database in {new}" in cli("remember", "One.", "--home", str(new)).stderr
    assert "a new database" not in cli("remember", "Two.", "--home", str(new)).stderr


@pytest.mark.parametrize("name", ["KEEPS_BAKERY", "KEEPS_EMBEDER", "KEEPS_LOGLEVEL"])
def test_unknown_variable_is_refused(cli: Cli, name: str) -> None:
    assert f"{name} is not a setting" in cli("list", code=2, **{name: "x"}).stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("KEEPS_HOEM", "KEEPS_HOME"),
        ("KEEPS_TENANT", "KEEPS_TENANT_ID"),
        ("KEEPS_USER", "KEEPS_USER_ID"),
        ("KEEPS_AUHT", "KEEPS_AUTH"),
        ("KEEPS_DATABASE", "KEEPS_DATABASE_URL"),
        ("KEEPS_TOKN", "KEEPS_TOKEN"),
    ],
)
def test_nearest_variable_is_named(cli: Cli, name: str, meant: str) -> None:
    assert f"{name} is not a setting; did you mean {meant}?" in cli("list", code=2, **{name: "x"}).stderr
    by_url = {name: "x", "KEEPS_URL": "http://127.0.0.1:9"}
    assert f"did you mean {meant}?" in cli("list", code=2, **by_url).stderr


def test_export_replaces_nothing_and_is_private(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "acme.jsonl"
    cli("remember", "Private.", "--tenant", "acme")
    cli("export", str(file), "--tenant", "acme")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("precious")
    assert "--overwrite" in cli("export", str(file), "--tenant", "acme", code=1).stderr
    assert file.read_text() == "precious"
    cli("export", str(file), "--tenant", "acme", "--overwrite")
    assert "Private." in file.read_text()
    folder = tmp_path / "folder"
    cli("export", str(folder), "--format", "markdown", "--tenant", "acme")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    cli("export", "/dev/null", "--tenant", "acme")


async def test_status_and_doctor_ask_the_server(server_url: str, tenant: str, tmp_path: Path) -> None:
    away = Cli(tmp_path / "none", KEEPS_URL=server_url, KEEPS_TENANT_ID=tenant)
    report = await asyncio.to_thread(away.json, "status")
    assert (report["server"], report["memories"]) == (server_url, 0)
    checks = await asyncio.to_thread(away.json, "doctor")
    assert {each["name"]: each["state"] for each in checks} == dict.fromkeys(("server", "database", "access"), "ok")
    assert not (tmp_path / "none").exists()


def test_server_that_is_away_fails_the_doctor(cli: Cli) -> None:
    assert "does not answer" in cli("doctor", code=1, KEEPS_URL="http://127.0.0.1:9").stdout
    assert "unavailable" in cli("status", code=1, KEEPS_URL="http://127.0.0.1:9").stderr


def test_command_on_the_database_says_that_a_server_is_not_used(cli: Cli) -> None:
    assert "KEEPS_URL is ignored" in cli("jobs", "status", KEEPS_URL="http://127.0.0.1:9").stderr


def test_key_is_bound_to_a_user_only_on_request(cli: Cli) -> None:
    assert cli.json("keys", "create", "web-app", KEEPS_USER_ID="alice")["user_id"] is None
    assert cli.json("keys", "create", "web-app", "--for-user", "bob", KEEPS_USER_ID="alice")["user_id"] == "bob"


async def test_status_fails_until_the_schema_is_there(server: EmbeddedPostgres, tmp_path: Path) -> None:
    """Pods wait for the schema by this."""
    cli = Cli(tmp_path / "none")
    done = await asyncio.to_thread(cli, "status", code=1, KEEPS_DATABASE_URL=server.url("keeps_app", "postgres"))
    assert "keeps migrate" in done.stderr
    await asyncio.to_thread(cli, "status", KEEPS_DATABASE_URL=server.url("keeps_app"))
